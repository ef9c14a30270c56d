"""What the ledger refuses to do, and why. None of these texts holds a withheld value."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdcgate.ledger.records import StoredSummary


class LedgerError(Exception):
    """Something that the ledger refuses; nothing was recorded."""


class HeadMoved(LedgerError):
    """Others appended to the source since it was audited: audit what is new, then try again."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the source has releases up to sequence {current}; audit them too and try again")
        self.current = current


class AlreadyAnswered(LedgerError):
    """The same canonical query under the same policy has an answer: give that one."""

    def __init__(self, query_id: str) -> None:
        super().__init__(f"query {query_id} asked the same and was answered; its answer stands")
        self.query_id = query_id


class AllowanceSpent(LedgerError):
    """A question would cost more than is left of one of its allowances.

    Args:
        place: Which of the allowances.
        queries: Questions that were asked of it.
        cells: Cells that were asked of it.
    """

    def __init__(self, place: int, queries: int, cells: int) -> None:
        super().__init__("the question costs more than is left of its allowance")
        self.place = place
        self.queries = queries
        self.cells = cells


class AlreadyRegistered(LedgerError):
    """This version of the dataset is registered."""


class NotReferred(LedgerError):
    """The query does not exist, was never referred, or was reviewed already."""


class TooManyComments(LedgerError):
    """The query has as many comments as it may have."""


class SelfReview(LedgerError):
    """Nobody reviews what he asked himself."""


class UnknownKey(LedgerError):
    """There is no API key with this id."""


class NotPending(LedgerError):
    """The admission does not exist, or was decided or withdrawn already."""


class ContentRemoved(LedgerError):
    """What is asked for was removed under retention; that it was there, and its digest, stay on record."""

    def __init__(self, sequence: int, event: int, query: "StoredSummary | None" = None) -> None:
        super().__init__(
            f"the content of event {sequence} was removed under retention, as event {event} records; "
            "certificates of it verify as before"
        )
        self.sequence = sequence
        self.event = event
        self.query = query
        """What is still known of it, where it was a query."""


class HoldsChanged(LedgerError):
    """Legal holds were added or released meanwhile: look anew at what may be removed."""


class UnknownHold(LedgerError):
    """There is no such legal hold, or it was released already."""


class LedgerUnavailable(LedgerError):
    """The database or the second place of the heads does not answer; trying again may help."""


class LedgerDamaged(LedgerError):
    """What is stored is not what was signed; it is not used. `sdcgate ledger verify` names the places."""


class LedgerTruncated(LedgerDamaged):
    """Heads were signed that the database no longer has: nothing is appended until this is acknowledged."""


class SchemaUnknown(LedgerError):
    """The database is not at the migration that this version of sdcgate works with."""
