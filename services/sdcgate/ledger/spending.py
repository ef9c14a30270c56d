"""What questions have cost: counted from the decisions of a source since a moment, whatever was decided.

A question costs one query and the cells that it asks for, so that what is left tells nothing of any answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from sdcgate.ledger.errors import AllowanceSpent
from sdcgate.ledger.events import timestamp_text
from sdcgate.ledger.schema import queries


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be asked of a source from a moment on, by one researcher, for one project, or by anybody."""

    source: str
    since: datetime
    researcher: str | None = None
    """Counts this one's questions only."""
    project: str | None = None
    """Counts this one's questions only."""
    queries: int | None = None
    """How many questions; None is no limit."""
    cells: int | None = None
    """How many cells; None is no limit."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What questions have cost."""

    queries: int = 0
    cells: int = 0

    def allows(self, allowance: Allowance, cells: int) -> bool:
        """Whether one more question, of so many cells, stays within an allowance."""
        return (allowance.queries is None or self.queries + 1 <= allowance.queries) and (
            allowance.cells is None or self.cells + cells <= allowance.cells
        )


def spent(connection: Connection, allowance: Allowance, newest: str | None = None) -> Spent:
    """What the questions that an allowance counts have cost, up to the id `newest` of a query.

    Ids sort by the moment at which answers are seen.
    """
    statement = select(func.count(), func.coalesce(func.sum(queries.c.cells), 0)).where(
        queries.c.source == allowance.source,
        queries.c.decided_at >= timestamp_text(allowance.since),
        queries.c.cells.is_not(None),
    )
    if allowance.researcher is not None:
        statement = statement.where(queries.c.researcher == allowance.researcher)
    if allowance.project is not None:
        statement = statement.where(queries.c.project == allowance.project)
    if newest is not None:
        statement = statement.where(queries.c.query_id <= newest)
    number, cells = connection.execute(statement).one()
    return Spent(int(number), int(cells))


def require_allowed(connection: Connection, allowances: Sequence[Allowance], cells: int) -> None:
    """See, inside the transaction that records it, that a question stays within all allowances.

    Raises:
        AllowanceSpent: it does not.
    """
    for place, allowance in enumerate(allowances):
        found = spent(connection, allowance)
        if not found.allows(allowance, cells):
            raise AllowanceSpent(place, found.queries, found.cells)
