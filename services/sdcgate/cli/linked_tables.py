"""Tables of one file that `sdcgate protect` withholds cells of, together where there are several."""

from collections.abc import Sequence
from dataclasses import replace

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.cheaper import ordinary_effort
from sdcgate.methods.tables.exact_suppression import protect_exactly
from sdcgate.methods.tables.linking import joint_flags, link
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.proved_pattern import Protection
from sdcgate.methods.tables.suppression import protect


def withhold(
    tables: Sequence[Problem], unsafe: Sequence[BoolArray], seconds: float, exact: bool
) -> list[Protection]:
    """One pattern for all tables, told table by table; its witnesses, costs and prices are those of all.

    Raises ValueError where the tables do not go together.
    """
    if len(tables) == 1:
        return [_withhold(tables[0], unsafe[0], seconds, exact)]
    linked = link(tables)
    found = _withhold(linked.problem, joint_flags(unsafe, linked.places), seconds, exact)
    return [
        replace(found, withheld=found.withheld[places], unprotected=found.unprotected[places])
        for places in linked.places
    ]


def _withhold(problem: Problem, unsafe: BoolArray, seconds: float, exact: bool) -> Protection:
    if exact:
        return protect_exactly(problem, unsafe, seconds)
    return protect(problem, unsafe, seconds, effort=ordinary_effort(len(unsafe)))
