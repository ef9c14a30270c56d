"""Whether a query has no review yet: asked in the transaction that records something about it."""

from sqlalchemy import Connection, bindparam, select

from sdcgate.ledger.errors import NotReferred
from sdcgate.ledger.schema import reviews

_REVIEWED = select(reviews.c.sequence).where(reviews.c.query_id == bindparam("query_id"))


def require_undecided(connection: Connection, query_id: str) -> None:
    """Refuse what comes after a review.

    Raises:
        NotReferred: the query was reviewed a moment ago.
    """
    if connection.scalar(_REVIEWED, {"query_id": query_id}) is not None:
        raise NotReferred(f"query {query_id} was reviewed a moment ago")
