"""First approvals of referred queries, where a policy wants two pairs of eyes; events of the ledger."""

from dataclasses import dataclass, field

from sqlalchemy import Connection, bindparam, select

from sdcgate.ledger import reading
from sdcgate.ledger.errors import LedgerDamaged, NotReferred
from sdcgate.ledger.events import APPROVAL, NOTE, Draft, attach
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.schema import approvals, events

_APPROVAL = (
    select(events)
    .join(approvals, approvals.c.sequence == events.c.sequence)
    .where(approvals.c.query_id == bindparam("query_id"))
)
_DONE = select(approvals.c.sequence).where(approvals.c.query_id == bindparam("query_id"))


@dataclass(frozen=True, slots=True)
class Approval:
    """A checker approved a query that another one must approve as well."""

    query_id: str
    reviewer: str
    author: str
    """The key."""
    note: str = field(repr=False)
    exception: bool = False


class Approvals:
    """Records first approvals and reads them back."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def of(self, query_id: str) -> Approval | None:
        """The first approval of a query, where there is one.

        Raises:
            LedgerDamaged: it is not what was signed.
        """
        with self._ledger.reading() as connection:
            row = connection.execute(_APPROVAL, {"query_id": query_id}).mappings().one_or_none()
            if row is None:
                return None
            event = reading.read_event(dict(row), self._ledger.key_ring)
            body = event.body
            if body["kind"] != APPROVAL or body["query"] != query_id:
                raise LedgerDamaged("an approval is of another query; run: sdcgate ledger verify")
            note = reading.words(connection, self._ledger.key_ring, event, NOTE)
            return Approval(query_id, body["reviewer"], body["author"], note, body["exception"])

    def append(self, approval: Approval) -> None:
        """Record a first approval.

        Raises:
            NotReferred: somebody else approved it a moment ago.
        """

        def check(connection: Connection) -> None:
            if connection.scalar(_DONE, {"query_id": approval.query_id}) is not None:
                raise NotReferred(f"query {approval.query_id} was approved by another checker a moment ago")

        fields = {
            "query": approval.query_id,
            "reviewer": approval.reviewer,
            "author": approval.author,
            "note": "",
            "exception": approval.exception,
        }
        self._ledger.append(Draft(APPROVAL, fields, attach(note=approval.note.encode())), check)
