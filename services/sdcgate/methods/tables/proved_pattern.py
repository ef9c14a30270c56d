"""A pattern that is grown and audited until it is proved, and then loses what it can do without."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.audit import Audit, Leak, verdict
from sdcgate.methods.tables.freedom import superfluous
from sdcgate.methods.tables.pattern import Pattern
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.quantities import RECORDS, SUMS, UNITS
from sdcgate.methods.tables.search import Search
from sdcgate.methods.tables.settling import settle
from sdcgate.methods.tables.solver import INFINITY, Deadline
from sdcgate.methods.tables.sweeping import sweep
from sdcgate.methods.tables.witnesses import Tables, Witnesses, agreeing, no_tables

LEAST_EFFORT, EFFORT_SHARE = 150.0, 0.25
"""Effort, about milliseconds, that is spent on giving back cells in any case, and as a share of what the
pattern took: they are few and small, and somebody waits."""
LONGEST = 3.0
"""That effort is exceeded by a try that it began, until it is so many times as much."""
FEW = 6
"""Quantities of cells that are settled one by one without a sweep before."""


@dataclass(frozen=True, slots=True, eq=False)
class Protection:
    """A pattern and its proof.

    `withheld` are the unsafe cells and those withheld beside them, `unprotected` those for which no
    protection was found or proved, each shape (cells,); `cost` is the records in cells withheld beside the
    unsafe ones, `price` what these cost. No pattern that could be proved has a price below `least_price`,
    which is 0 where that was not looked into. `in_time` is False where the clock ended the search: with more
    time a pattern may be found. Where there is no pattern `leaks` say what of the unsafe cells is too narrow
    though all is withheld that may be.
    """

    withheld: BoolArray
    proof: Proof
    witnesses: Witnesses = field(repr=False)
    unprotected: BoolArray = field(repr=False)
    cost: int = field(default=0, repr=False)
    price: float = field(default=0.0, repr=False)
    least_price: float = field(default=0.0, repr=False)
    in_time: bool = True
    leaks: tuple[Leak, ...] = field(default=(), repr=False)

    @property
    def gap(self) -> float:
        """By which share of its price the pattern could be cheaper at most."""
        return max(0.0, 1 - self.least_price / self.price) if self.price else 0.0

    @property
    def optimal(self) -> bool:
        """Whether no pattern that could be proved is cheaper."""
        return self.proof is Proof.PROVED and self.least_price >= self.price


def grown(
    pattern: Pattern, deadline: Deadline, tables: Tables | None = None, thorough: bool = False
) -> Protection:
    """Grow one pattern, prove it, and give back what is superfluous; `tables` are possible ones."""
    began = deadline.effort
    search = _proved(pattern, no_tables(pattern.problem) if tables is None else tables, deadline)
    if not search.narrow().any():
        spent = deadline.effort - began
        enough = min(deadline.effort + max(EFFORT_SHARE * spent, LEAST_EFFORT), deadline.spare)
        pattern, search = given_back(pattern, search, INFINITY if thorough else enough, deadline)
    return protection(pattern.problem, pattern.unsafe, pattern.withheld, verdict(search))


def protection(problem: Problem, unsafe: BoolArray, withheld: BoolArray, found: Audit) -> Protection:
    """A pattern of which an audit has found this, with what it costs."""
    beside = withheld & ~unsafe
    return Protection(
        withheld=withheld,
        proof=found.proof,
        witnesses=found.witnesses,
        unprotected=found.unprotected,
        cost=int(problem.facts.records[beside].sum()),
        price=float(problem.prices[beside].sum()),
        leaks=tuple(leak for leak in found.leaks if unsafe[leak.cell]),
    )


def repaired(
    problem: Problem,
    unsafe: BoolArray,
    withheld: BoolArray,
    deadline: Deadline,
    prices: FloatArray | None = None,
    thorough: bool = False,
) -> Protection:
    """A pattern, shape (cells,), with more withheld until it is proved, and with what it can do without given
    back.

    It is audited before it grows: moves that it is grown by tell less of a cell than its bounds. It grows by
    `prices` where they are given. `thorough` gives back what it can until the deadline.
    """
    pattern = Pattern(problem, unsafe, prices=prices)
    pattern.withheld = withheld | unsafe
    search = Search(problem, pattern.withheld, no_tables(problem))
    if not search.hopeless:
        sweep(search, deadline)
        while not deadline.over and len(left := search.unsettled()):
            settle(search, int(left[0, 0]), int(left[0, 1]), deadline, integers=False)
    return grown(pattern, deadline, search.tables, thorough)


def _proved(pattern: Pattern, tables: Tables, deadline: Deadline) -> Search:
    """Grow the pattern until the audit proves it or nothing is left to try; `tables` are possible ones."""
    search = _searched(pattern, tables, deadline)
    tried: set[tuple[int, int]] = set()
    while not search.hopeless and not deadline.over:
        left = search.unsettled()
        if len(left) == 0:
            break
        quantity, cell = (int(number) for number in left[0])
        settle(search, quantity, cell, deadline, integers=pattern.thorough)
        if not search.narrow()[quantity, cell] or deadline.over:
            continue
        before = pattern.withheld.copy()
        if not _widen(pattern, quantity, cell, tried, deadline):
            break
        if not np.array_equal(before, pattern.withheld):
            search = _searched(pattern, search.tables, deadline)
        elif pattern.closed:
            break
    return search


def _searched(pattern: Pattern, tables: Tables, deadline: Deadline) -> Search:
    """Grow the pattern and begin its audit."""
    tables = pattern.grow(tables, deadline)
    search = Search(pattern.problem, pattern.withheld, tables)
    if search.hopeless:
        return search
    search.offer(pattern.moves, deadline)
    if len(search.unsettled()) > FEW:
        sweep(search, deadline)
    return search


def _widen(
    pattern: Pattern, quantity: int, cell: int, tried: set[tuple[int, int]], deadline: Deadline
) -> bool:
    """Withhold more for a quantity of a cell that the audit found too narrow.

    First the cheapest way; if that needs no new cell, one that bars all cells withheld already. Returns False
    if no pattern can protect the cell.
    """
    before = pattern.withheld.copy()
    own = () if pattern.problem.units_follow else (UNITS,)
    counts = (RECORDS, *own)
    ways = [counts] if quantity < SUMS else [(quantity,), (*counts, quantity)]
    if (quantity, cell) not in tried:
        tried.add((quantity, cell))
        if not any(pattern.widen(quantities, quantity, cell, deadline) for quantities in ways):
            return False
    barred = pattern.withheld.copy()
    barred[cell] = False
    for quantities in ways:
        if np.array_equal(before, pattern.withheld):
            pattern.widen(quantities, quantity, cell, deadline, barred)
    return True


def given_back(pattern: Pattern, search: Search, enough: float, deadline: Deadline) -> tuple[Pattern, Search]:
    """Give back cells that the proof can do without, the dearest first.

    As many are given back at once as linear algebra does not speak against, and those that turn out to be
    needed are withheld again. These are tried once more, fewer at a time, until each was tried alone or the
    effort is `enough`; a try ends with some more, as of large patterns one took longer than all before it.
    """
    pattern, left = pattern.alone(), enough - deadline.effort
    deadline = deadline.within(LONGEST * left)
    problem, needed, most = pattern.problem, pattern.unsafe, len(pattern.withheld)
    while deadline.effort < left and not deadline.over:
        beside = np.flatnonzero(pattern.withheld & ~needed)
        dearest = beside[np.argsort(-problem.prices[beside], kind="stable")]
        given = superfluous(problem, pattern.withheld, dearest, most)
        if not given.any():
            break
        smaller, proved = _less(pattern, search, given, deadline)
        again = given if smaller is pattern else smaller.withheld & given
        if given.sum() == 1:
            needed = needed | again
        most = max(1, int(again.sum()) // 2) if again.any() else 2 * most
        pattern, search = smaller, proved
    return pattern, search


def _less(pattern: Pattern, search: Search, given: BoolArray, deadline: Deadline) -> tuple[Pattern, Search]:
    """Give back some cells but for those that are needed; the pattern as it was if that cannot be proved."""
    problem, smaller = pattern.problem, pattern.without(given)
    tables = search.tables.chosen(agreeing(problem, smaller.withheld, search.tables))
    fewer = Search(problem, smaller.withheld, tables)
    if given.sum() > 1:
        sweep(fewer, deadline)
    tables = smaller.grow(fewer.tables, deadline)
    if np.array_equal(smaller.withheld, pattern.withheld):
        return pattern, search
    proved = _proved(smaller, tables, deadline)
    if proved.narrow().any() or np.array_equal(smaller.withheld, pattern.withheld):
        return pattern, search
    return smaller, proved
