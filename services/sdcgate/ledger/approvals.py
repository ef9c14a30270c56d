"""First approvals of referred queries, where a policy wants two pairs of eyes; events of the ledger.

A query has several where the earlier ones were taken back; the last one stands, unless it was taken back too.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import Connection, bindparam, exists, select

from sdcgate.ledger import reading
from sdcgate.ledger.credentials import Caller
from sdcgate.ledger.errors import LedgerDamaged, NotReferred
from sdcgate.ledger.events import APPROVAL, APPROVAL_TAKEN_BACK, NOTE, Draft, attach
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.schema import approvals, approvals_taken_back, events
from sdcgate.ledger.undecided import require_undecided

_LAST = (
    select(events)
    .join(approvals, approvals.c.sequence == events.c.sequence)
    .where(approvals.c.query_id == bindparam("query_id"))
    .order_by(approvals.c.sequence.desc())
    .limit(1)
)
_TAKEN_BACK = select(
    exists().where(
        approvals_taken_back.c.query_id == bindparam("query_id"),
        approvals_taken_back.c.sequence > bindparam("sequence"),
    )
)


@dataclass(frozen=True, slots=True)
class Approval:
    """A checker approved a query that another one must approve as well."""

    query_id: str
    reviewer: str
    author: str
    """The key."""
    note: str = field(repr=False)
    exception: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """The last first approval of a query, and whether it was taken back."""

    approval: Approval
    taken_back: bool
    sequence: int


class Approvals:
    """Records first approvals, and that they are taken back; reads them back."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def of(self, query_id: str) -> Approval | None:
        """The first approval of a query that stands, where there is one; raises as `last_of`."""
        with self._ledger.reading() as connection:
            standing = self._standing(connection, query_id)
        return None if standing is None else standing.approval

    def still_of_another(self, caller: Caller, query_id: str) -> Callable[[Connection], None]:
        """Makes sure, where a second checker's approval is recorded, that a first one's still stands.

        It raises NotReferred where that was taken back a moment ago, or is of the same person or key.
        """

        def check(connection: Connection) -> None:
            last = self._standing(connection, query_id)
            if last is None or caller.is_who(last.approval.reviewer, last.approval.author):
                raise NotReferred(f"the first approval of query {query_id} was taken back a moment ago")

        return check

    def last_of(self, query_id: str) -> Standing | None:
        """The last first approval of a query, where there is one.

        Raises:
            LedgerDamaged: it is not what was signed.
        """
        with self._ledger.reading() as connection:
            return self._last_of(connection, query_id)

    def _standing(self, connection: Connection, query_id: str) -> Standing | None:
        last = self._last_of(connection, query_id)
        return None if last is None or last.taken_back else last

    def _last_of(self, connection: Connection, query_id: str) -> Standing | None:
        row = connection.execute(_LAST, {"query_id": query_id}).mappings().one_or_none()
        if row is None:
            return None
        event = reading.read_event(dict(row), self._ledger.key_ring)
        body = event.body
        if body["kind"] != APPROVAL or body["query"] != query_id:
            raise LedgerDamaged("an approval is of another query; run: sdcgate ledger verify")
        note = reading.words(connection, self._ledger.key_ring, event, NOTE)
        approval = Approval(query_id, body["reviewer"], body["author"], note, body["exception"])
        where = {"query_id": query_id, "sequence": event.sequence}
        return Standing(approval, bool(connection.scalar(_TAKEN_BACK, where)), event.sequence)

    def append(self, approval: Approval, instead_of: Standing | None = None) -> None:
        """Record a first approval; `instead_of` is one that stands but does not count.

        Raises:
            NotReferred: somebody else approved or decided it a moment ago.
        """

        def check(connection: Connection) -> None:
            require_undecided(connection, approval.query_id)
            last = self._standing(connection, approval.query_id)
            if last is not None and (instead_of is None or last.sequence != instead_of.sequence):
                raise NotReferred(f"query {approval.query_id} was approved by another checker a moment ago")

        fields = {
            "query": approval.query_id,
            "reviewer": approval.reviewer,
            "author": approval.author,
            "note": "",
            "exception": approval.exception,
        }
        self._ledger.append(Draft(APPROVAL, fields, attach(note=approval.note.encode())), check)

    def take_back(self, standing: Standing, author: str, note: str) -> None:
        """Record that a checker, with the key `author`, takes his first approval back.

        Raises:
            NotReferred: it does not stand any more, or the query was decided a moment ago.
        """

        def check(connection: Connection) -> None:
            require_undecided(connection, query_id)
            last = self._standing(connection, query_id)
            if last is None or last.sequence != standing.sequence:
                raise NotReferred(f"the approval of query {query_id} was taken back a moment ago")

        query_id, reviewer = standing.approval.query_id, standing.approval.reviewer
        fields = {"query": query_id, "reviewer": reviewer, "author": author, "note": ""}
        self._ledger.append(Draft(APPROVAL_TAKEN_BACK, fields, attach(note=note.encode())), check)
