"""Complementary (secondary) suppression: which cells to withhold beside the unsafe ones, and the proof.

For each cell that is not yet protected the cheapest move of the table is sought that changes it by the
required width and leaves all that is known as it is; the cells that it moves are withheld. This is the
linear relaxation of Kelly, Golden and Assad (Networks 22, 1992), with the costs of cells already withheld
set to zero, as Fischetti and Salazar use it to begin with (Management Science 47, 2001). The audit then
says what real numbers overlooked (integers, units, sums), more is withheld where it does, and at last what
turns out to be superfluous is given back.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.audit import Audit, Search
from sdcgate.methods.tables.freedom import superfluous
from sdcgate.methods.tables.intruder import RECORDS, SUMS, UNITS
from sdcgate.methods.tables.pattern import Pattern
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.solver import INFINITY, Deadline
from sdcgate.methods.tables.widest import Widest, widest
from sdcgate.methods.tables.witnesses import (
    Tables,
    Witnesses,
    agreeing,
    agreeing_tables,
    no_tables,
    no_witnesses,
)

LEAST_EFFORT, EFFORT_SHARE = 150.0, 0.25
"""Effort, about milliseconds, that is spent on giving back cells in any case, and as a share of what the
pattern took: they are few and small, and somebody waits."""
FEW = 6
"""Quantities of cells that are settled one by one without a sweep before."""
SECOND_EFFORT = 95.0
"""What took more effort is grown in one order only, the rest in two, and the cheaper is taken."""
SEARCH_EFFORT = 100.0
"""Up to this effort patterns without one of the cells beside are tried as well."""
SPARE_SHARE, LEAST_SHARE = 0.5, 0.05
"""Effort, as shares of the milliseconds allowed, up to which a cheaper pattern is looked for, and that is
spent on giving back cells of the widest one: less than there is time for, so that a busy machine ends it."""
ANSWERING, ANSWERING_SHARE = 0.03, 0.1
"""Seconds, and at most share of the time, that are kept for choosing and verifying witnesses."""


@dataclass(frozen=True, slots=True, eq=False)
class Protection:
    """A pattern and its proof.

    `withheld` are the unsafe cells and those withheld beside them, `unprotected` those for which no
    protection was found or proved, each shape (cells,); `cost` is the records in cells withheld beside the
    unsafe ones, `price` what these cost. No pattern that could be proved has a price below `least_price`,
    which is 0 where that was not looked into. `in_time` is False where the clock ended the search: with more
    time a pattern may be found.
    """

    withheld: BoolArray
    proof: Proof
    witnesses: Witnesses = field(repr=False)
    unprotected: BoolArray = field(repr=False)
    cost: int = field(default=0, repr=False)
    price: float = field(default=0.0, repr=False)
    least_price: float = field(default=0.0, repr=False)
    in_time: bool = True

    @property
    def gap(self) -> float:
        """By which share of its price the pattern could be cheaper at most."""
        return max(0.0, 1 - self.least_price / self.price) if self.price else 0.0

    @property
    def optimal(self) -> bool:
        """Whether no pattern that could be proved is cheaper."""
        return self.proof is Proof.PROVED and self.least_price >= self.price


def protect(
    problem: Problem,
    unsafe: BoolArray,
    time_limit: float,
    known_witnesses: Witnesses | None = None,
    thorough: bool = False,
    left: float = INFINITY,
) -> Protection:
    """Find a pattern that withholds the unsafe cells, shape (cells,), and prove it in `time_limit` seconds.

    Cells that are known, and empty cells unless zeros may be withheld, are never withheld beside the unsafe
    ones. `known_witnesses` are of a pattern that these cells go beyond: what they prove need not be proved
    again; those that do not agree are left out. Only a pattern whose proof is PROVED may leave; REFUTED says
    that there is none for these cells.

    What is found depends on the time limit, and not on how fast the machine is: a search that the clock ends,
    of which no more than `left` seconds may be left, is UNPROVED, and not `in_time`. But `thorough` spends
    all of the time on withholding less, if it takes that long, and the best pattern found by then counts.

    Raises ValueError if `unsafe` does not have one flag a cell.
    """
    seconds = min(time_limit, left)
    seconds -= min(ANSWERING, ANSWERING_SHARE * seconds)
    deadline = Deadline(seconds, SPARE_SHARE * 1000 * time_limit)
    found = best_in_time(problem, unsafe, deadline, known_witnesses, thorough)
    if not deadline.missed or (thorough and found.proof is not Proof.UNPROVED):
        return found
    return replace(
        found,
        proof=Proof.UNPROVED,
        witnesses=no_witnesses(problem),
        unprotected=found.withheld,
        in_time=False,
    )


def best_in_time(
    problem: Problem,
    unsafe: BoolArray,
    deadline: Deadline,
    known_witnesses: Witnesses | None = None,
    thorough: bool = False,
) -> Protection:
    """As `protect`, but the best pattern found before the deadline, wherever that ended the search."""
    if np.shape(unsafe) != (len(problem.facts),):
        raise ValueError(f"unsafe: {np.shape(unsafe)} flags for {len(problem.facts)} cells")
    pattern = Pattern(problem, unsafe.astype(np.bool_))
    tables = no_tables(problem)
    if known_witnesses is not None:
        tables = agreeing_tables(problem, pattern.unsafe, known_witnesses)
    impossible = _impossible(pattern, tables, deadline)
    if impossible is not None:
        return impossible
    best = _protected(pattern, deadline, tables, thorough)
    if best.proof is Proof.PROVED and (
        deadline.effort > min(SECOND_EFFORT, deadline.spare / 2) or len(tables)
    ):
        return best
    best = min(best, _protected(pattern.afresh(largest_first=True), deadline), key=_worth)
    if best.proof is not Proof.PROVED:
        return _from_above(pattern.afresh(), best, deadline)
    tried: BoolArray = pattern.unsafe
    while deadline.effort < min(SEARCH_EFFORT, deadline.spare) and not deadline.over:
        beside = np.flatnonzero(best.withheld & ~tried)
        if len(beside) == 0:
            break
        shown = beside[np.argmax(problem.prices[beside])]
        tried = tried | (np.arange(len(tried)) == shown)
        best = min(best, _protected(pattern.afresh(shown=int(shown)), deadline), key=_worth)
    return best


def _impossible(pattern: Pattern, tables: Tables, deadline: Deadline) -> Protection | None:
    """Begin to grow a pattern; what is known if that shows that there is none."""
    pattern.grow(tables, deadline)
    if not pattern.stuck:
        return None
    found = widest(pattern.problem, pattern.unsafe, tables, deadline, pattern.stuck)
    return _not_protected(pattern, found) if found.impossible else None


def _not_protected(pattern: Pattern, found: Widest) -> Protection:
    return protection(pattern.problem, pattern.unsafe, found.withheld, found.search.verdict())


def _from_above(pattern: Pattern, best: Protection, deadline: Deadline) -> Protection:
    """Withhold all that can be, and give back what the proof can do without; or show that there is none."""
    found = widest(pattern.problem, pattern.unsafe, no_tables(pattern.problem), deadline)
    if found.impossible:
        return _not_protected(pattern, found)
    if not found.proved:
        return replace(best, proof=Proof.UNPROVED)
    pattern.withheld = found.withheld
    most = min(LEAST_EFFORT, LEAST_SHARE / SPARE_SHARE * deadline.spare)
    given, search = _given_back(pattern, found.search, deadline.effort + most, deadline)
    return protection(pattern.problem, pattern.unsafe, given.withheld, search.verdict())


def _worth(found: Protection) -> tuple[bool, float]:
    """Proved ones before others, then the cheaper."""
    return found.proof is not Proof.PROVED, found.price


def _protected(
    pattern: Pattern, deadline: Deadline, tables: Tables | None = None, thorough: bool = False
) -> Protection:
    """Grow one pattern, prove it, and give back what is superfluous; `tables` are possible ones."""
    began = deadline.effort
    search = _proved_pattern(pattern, no_tables(pattern.problem) if tables is None else tables, deadline)
    if not search.narrow().any():
        spent = deadline.effort - began
        enough = min(deadline.effort + max(EFFORT_SHARE * spent, LEAST_EFFORT), deadline.spare)
        pattern, search = _given_back(pattern, search, INFINITY if thorough else enough, deadline)
    return protection(pattern.problem, pattern.unsafe, pattern.withheld, search.verdict())


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
    )


def repaired(problem: Problem, unsafe: BoolArray, withheld: BoolArray, deadline: Deadline) -> Protection:
    """A pattern, shape (cells,), with more withheld until it is proved, and with what it can do without given
    back."""
    pattern = Pattern(problem, unsafe)
    pattern.withheld = withheld | unsafe
    return _protected(pattern, deadline)


def _proved_pattern(pattern: Pattern, tables: Tables, deadline: Deadline) -> Search:
    """Grow the pattern until the audit proves it or nothing is left to try; `tables` are possible ones."""
    search = _searched(pattern, tables, deadline)
    tried: set[tuple[int, int]] = set()
    while not search.hopeless and not deadline.over:
        left = search.unsettled()
        if len(left) == 0:
            break
        quantity, cell = (int(number) for number in left[0])
        search.settle(quantity, cell, deadline, integers=pattern.thorough)
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
    pattern.grow(tables, deadline)
    search = Search(pattern.problem, pattern.withheld, tables)
    search.offer(pattern.moves, deadline)
    if len(search.unsettled()) > FEW:
        search.sweep(deadline)
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


def _given_back(
    pattern: Pattern, search: Search, enough: float, deadline: Deadline
) -> tuple[Pattern, Search]:
    """Give back cells that the proof can do without, the dearest first.

    As many are given back at once as linear algebra does not speak against, and those that turn out to be
    needed are withheld again. These are tried once more, fewer at a time, until each was tried alone or the
    effort is `enough`.
    """
    pattern = pattern.alone()
    problem, needed, most = pattern.problem, pattern.unsafe, len(pattern.withheld)
    while deadline.effort < enough and not deadline.over:
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
        fewer.sweep(deadline)
    smaller.grow(fewer.tables, deadline)
    if np.array_equal(smaller.withheld, pattern.withheld):
        return pattern, search
    tables = fewer.tables
    proved = _proved_pattern(smaller, tables, deadline)
    if proved.narrow().any() or np.array_equal(smaller.withheld, pattern.withheld):
        return pattern, search
    return smaller, proved
