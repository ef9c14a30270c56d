"""How the ledger stands: where it ends, and which queries wait for an output checker."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from sdcgate.ledger.events import read_body, timestamp_of
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.schema import events, queries, reviews

_NEWEST = select(events.c.sequence, events.c.body).order_by(events.c.sequence.desc()).limit(1)
_REFERRED = (
    select(queries.c.dataset, func.count(), func.min(queries.c.decided_at))
    .outerjoin(reviews, reviews.c.query_id == queries.c.query_id)
    .where(queries.c.verdict == "REFERRED", reviews.c.sequence.is_(None))
    .group_by(queries.c.dataset)
    .order_by(queries.c.dataset)
)


@dataclass(frozen=True, slots=True)
class Referred:
    """Queries on a dataset that wait for a checker."""

    dataset: str
    queries: int
    oldest: datetime
    """When the one that waits longest was recorded."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The ledger at a moment."""

    events: int
    newest: datetime | None
    """When the newest event was recorded; None where there is none."""
    referred: tuple[Referred, ...]


def standing(ledger: Ledger) -> Standing:
    """How the ledger stands. Nothing is verified: this is for watching, not for deciding.

    Raises:
        LedgerUnavailable: the database does not answer.
    """
    with ledger.reading() as connection:
        sequence, newest = _newest(connection)
        referred = tuple(
            Referred(dataset, number, timestamp_of(oldest))
            for dataset, number, oldest in connection.execute(_REFERRED)
        )
    return Standing(sequence, newest, referred)


def _newest(connection: Connection) -> tuple[int, datetime | None]:
    row = connection.execute(_NEWEST).one_or_none()
    if row is None:
        return 0, None
    try:
        return row.sequence, timestamp_of(read_body(row.body)["recorded_at"])
    except (ValueError, KeyError):
        # Its number is right all the same; that it was damaged is for `sdcgate ledger verify` to tell.
        return row.sequence, None
