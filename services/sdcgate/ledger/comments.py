"""Comments of checkers on referred queries; events of the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from sdcgate.ledger import reading
from sdcgate.ledger.errors import LedgerDamaged, TooManyComments
from sdcgate.ledger.events import COMMENT, TEXT, Draft, attach, timestamp_of
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.schema import comments, events
from sdcgate.ledger.undecided import require_undecided

MOST = 200
"""Comments that a query may have, so that opening it stays cheap."""

_COMMENTS = (
    select(events)
    .join(comments, comments.c.sequence == events.c.sequence)
    .where(comments.c.query_id == bindparam("query_id"))
    .order_by(events.c.sequence)
)
_NUMBER = select(func.count()).where(comments.c.query_id == bindparam("query_id"))


@dataclass(frozen=True, slots=True)
class Comment:
    """What a checker wrote of a query."""

    query_id: str
    reviewer: str
    author: str
    """The key."""
    text: str = field(repr=False)
    to_researcher: bool = False
    """Whether the researcher reads it, too."""


class Comments:
    """Records comments and reads them back."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def of(self, query_id: str) -> list[tuple[Comment, datetime]]:
        """The comments on a query with the moments at which they were recorded, the oldest first.

        The text of one that was removed under retention is empty.

        Raises:
            LedgerDamaged: one is not what was signed.
        """
        with self._ledger.reading() as connection:
            return self._of(connection, query_id)

    def _of(self, connection: Connection, query_id: str) -> list[tuple[Comment, datetime]]:
        rows = connection.execute(_COMMENTS, {"query_id": query_id}).mappings().all()
        return [self._comment(connection, dict(row), query_id) for row in rows]

    def written(self, comment: Comment) -> datetime | None:
        """When the same person wrote the same of the query; None where he did not. Raises as `of`."""
        with self._ledger.reading() as connection:
            return self._written(connection, comment)

    def _written(self, connection: Connection, comment: Comment) -> datetime | None:
        return next(
            (moment for one, moment in self._of(connection, comment.query_id) if _same(one, comment)), None
        )

    def _comment(
        self, connection: Connection, row: Mapping[str, Any], query_id: str
    ) -> tuple[Comment, datetime]:
        event = reading.read_event(row, self._ledger.key_ring)
        body = event.body
        if body["kind"] != COMMENT or body["query"] != query_id:
            raise LedgerDamaged("a comment is on another query; run: sdcgate ledger verify")
        text = reading.words(connection, self._ledger.key_ring, event, TEXT)
        comment = Comment(query_id, body["reviewer"], body["author"], text, body["to_researcher"])
        return comment, timestamp_of(body["recorded_at"])

    def append(self, comment: Comment) -> datetime:
        """Record a comment, unless the same person wrote the same of the query; returns when it was recorded.

        Raises:
            NotReferred: the query was reviewed a moment ago.
            TooManyComments: it has as many as it may have.
        """

        def check(connection: Connection) -> None:
            moment = self._written(connection, comment)
            if moment is not None:
                raise _AlreadyWritten(moment)
            require_undecided(connection, comment.query_id)
            if connection.execute(_NUMBER, {"query_id": comment.query_id}).scalar_one() >= MOST:
                raise TooManyComments(f"query {comment.query_id} has {MOST} comments, and may have no more")

        fields = {
            "query": comment.query_id,
            "reviewer": comment.reviewer,
            "author": comment.author,
            "text": "",
            "to_researcher": comment.to_researcher,
        }
        draft = Draft(COMMENT, fields, attach(text=comment.text.encode()))
        try:
            return self._ledger.append(draft, check)[0].recorded_at
        except _AlreadyWritten as earlier:
            return earlier.moment


class _AlreadyWritten(Exception):
    """The comment is in the ledger: whoever sent it did not hear so."""

    def __init__(self, moment: datetime) -> None:
        super().__init__()
        self.moment = moment


def _same(one: Comment, other: Comment) -> bool:
    """Whether two comments on a query are one that was sent twice, be it with another key."""
    return (one.reviewer, one.text, one.to_researcher) == (other.reviewer, other.text, other.to_researcher)
