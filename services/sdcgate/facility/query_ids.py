"""Ids of queries: ULIDs of the moment at which the answer is seen, so that newer ones sort after older."""

from datetime import UTC, datetime

from ulid import ULID

PREFIX = "q-"
LENGTH = 26
STAMP = 10
"""Characters of an id, and those of them that spell the moment."""


def new_query_id(moment: datetime) -> str:
    """An id for a query whose answer is seen at a moment. It tells that moment, to the millisecond."""
    return f"{PREFIX}{ULID.from_datetime(moment)}"


def latest_id(moment: datetime) -> str:
    """The last id, in their order, of all whose answers are seen by a moment."""
    stamp = str(ULID.from_datetime(moment))[:STAMP]
    return f"{PREFIX}{stamp}{'Z' * (LENGTH - STAMP)}"


def moment_of(query: str) -> datetime:
    """When the answer was seen first.

    Raises:
        ValueError: it is no id of a query.
    """
    return ULID.from_str(query.removeprefix(PREFIX)).datetime.astimezone(UTC)
