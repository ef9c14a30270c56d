"""The audit of a pattern of withheld cells, as an intruder would try it.

What he can exclude is decided by linear and integer programs; what he cannot, by witnesses that anybody can
check. First many cells are tried at once; what is left is settled cell by cell.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.quantities import quantities_of
from sdcgate.methods.tables.search import Search
from sdcgate.methods.tables.settling import settle
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.sweeping import sweep
from sdcgate.methods.tables.witnesses import (
    Witnesses,
    as_witnesses,
    needed,
    no_tables,
    no_witnesses,
    verify,
)


@dataclass(frozen=True, slots=True)
class Leak:
    """A quantity of a withheld cell that the intruder can bound too narrowly, and his bounds."""

    cell: int
    quantity: int
    lower: float = field(repr=False)
    upper: float = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """What an audit found: `unprotected` are withheld cells too narrow or not proved, shape (cells,).

    `leaks` say of those that are shown to be too narrow what can be worked out; quantities have the numbers
    of the intruder's programs.
    """

    proof: Proof
    witnesses: Witnesses = field(repr=False)
    unprotected: BoolArray = field(repr=False)
    leaks: tuple[Leak, ...] = field(default=(), repr=False)


def audit(problem: Problem, withheld: BoolArray, time_limit: float) -> Audit:
    """Audit a pattern, shape (cells,), within `time_limit` seconds.

    PROVED if witnesses prove every withheld cell, REFUTED if some cell is shown to be too narrow, UNPROVED
    in all other cases. Raises ValueError if the pattern does not have one flag a cell.
    """
    if np.shape(withheld) != (len(problem.facts),):
        raise ValueError(f"withheld: {np.shape(withheld)} flags for {len(problem.facts)} cells")
    return audited(problem, withheld, Deadline(time_limit))


def audited(problem: Problem, withheld: BoolArray, deadline: Deadline) -> Audit:
    """As `audit`, until a deadline."""
    search = Search(problem, withheld, no_tables(problem))
    if not search.hopeless and search.withheld.any():
        sweep(search, deadline)
        while not deadline.over and len(left := search.unsettled()):
            settle(search, int(left[0, 0]), int(left[0, 1]), deadline)
    return verdict(search)


def verdict(search: Search) -> Audit:
    """The finding of a search, its witnesses verified once more as anybody would."""
    problem, withheld = search.problem, search.withheld
    witnesses = no_witnesses(problem)
    if not search.hopeless:
        witnesses = as_witnesses(problem, withheld, needed(problem, withheld, search.tables))
    unprotected = verify(problem, withheld, witnesses)
    if not unprotected.any():
        return Audit(Proof.PROVED, witnesses, unprotected)
    refuted = bool((search.refuted & unprotected).any())
    leaks = tuple(_leak(search, *pair) for pair in sorted(search.leaks, key=lambda pair: pair[::-1]))
    return Audit(Proof.REFUTED if refuted else Proof.UNPROVED, witnesses, unprotected, leaks)


def _leak(search: Search, quantity: int, cell: int) -> Leak:
    """What can be worked out of a quantity that is too narrow."""
    down, up = search.leaks[quantity, cell]
    truth = float(quantities_of(search.problem.facts)[quantity, cell])
    return Leak(cell, quantity, truth - down, truth + up)
