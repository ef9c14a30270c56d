"""Ids of queries: ULIDs of the moment at which the answer is seen, so that newer ones sort after older."""

from datetime import UTC, datetime

from ulid import ULID

PREFIX = "q-"


def new_query_id(moment: datetime) -> str:
    """An id for a query whose answer is seen at a moment. It tells that moment, to the millisecond."""
    return f"{PREFIX}{ULID.from_datetime(moment)}"


def moment_of(query: str) -> datetime:
    """When the answer was seen first.

    Raises:
        ValueError: it is no id of a query.
    """
    return ULID.from_str(query.removeprefix(PREFIX)).datetime.astimezone(UTC)
