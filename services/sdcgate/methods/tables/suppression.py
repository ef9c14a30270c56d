"""Complementary (secondary) suppression: which cells to withhold beside the unsafe ones, and the proof.

For each cell that is not yet protected the cheapest move of the table is sought that changes it by the
required width and leaves all that is known as it is; the cells that it moves are withheld. This is the
linear relaxation of Kelly, Golden and Assad (Networks 22, 1992), with the costs of cells already withheld
set to zero, as Fischetti and Salazar use it to begin with (Management Science 47, 2001). The audit then
says what real numbers overlooked (integers, units, sums), more is withheld where it does, and at last what
turns out to be superfluous is given back.
"""

from copy import copy
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.audit import MARGIN, Search
from sdcgate.methods.tables.freedom import superfluous
from sdcgate.methods.tables.intruder import RECORDS, SUMS, UNITS, Possibilities
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.solver import INFINITY, Deadline
from sdcgate.methods.tables.witnesses import (
    Tables,
    Witnesses,
    agreeing,
    agreeing_tables,
    no_tables,
    reach,
    required,
)

MOVED = 1e-7
THRIFTY_EFFORT = 100.0
"""Effort, about milliseconds, up to which a move that needs cells is compared with one up and one down."""
LEAST_EFFORT, EFFORT_SHARE = 150.0, 0.25
"""Effort, about milliseconds, that is spent on giving back cells in any case, and as a share of what the
pattern took: they are few and small, and somebody waits."""
FEW = 6
"""Quantities of cells that are settled one by one without a sweep before."""
SECOND_EFFORT = 95.0
"""What took more effort is grown in one order only, the rest in two, and the cheaper is taken."""
SEARCH_EFFORT = 100.0
"""Up to this effort patterns without one of the cells beside are tried as well."""
ANSWERING, ANSWERING_SHARE = 0.03, 0.1
"""Seconds, and at most share of the time, that are kept for choosing and verifying witnesses."""


@dataclass(frozen=True, slots=True, eq=False)
class Protection:
    """A pattern and its proof.

    `withheld` are the unsafe cells and those withheld beside them, `unprotected` those for which no
    protection was found or proved, each shape (cells,); `cost` is the records in cells withheld beside the
    unsafe ones, `price` what these cost.
    """

    withheld: BoolArray
    proof: Proof
    witnesses: Witnesses = field(repr=False)
    unprotected: BoolArray = field(repr=False)
    cost: int = field(default=0, repr=False)
    price: float = field(default=0.0, repr=False)


def protect(
    problem: Problem,
    unsafe: BoolArray,
    time_limit: float,
    known_witnesses: Witnesses | None = None,
    thorough: bool = False,
) -> Protection:
    """Find a pattern that withholds the unsafe cells, shape (cells,), and prove it in `time_limit` seconds.

    Cells that are known, and empty cells unless zeros may be withheld, are never withheld beside the unsafe
    ones. `known_witnesses` are of a pattern that these cells go beyond: what they prove need not be proved
    again; those that do not agree are left out. `thorough` spends all of the time on withholding less, if it
    takes that long; a little is spent on it in any case. Only a pattern whose proof is PROVED may leave.
    Raises ValueError if `unsafe` does not have one flag a cell.
    """
    if np.shape(unsafe) != (len(problem.facts),):
        raise ValueError(f"unsafe: {np.shape(unsafe)} flags for {len(problem.facts)} cells")
    deadline = Deadline(time_limit - min(ANSWERING, ANSWERING_SHARE * time_limit))
    pattern = Pattern(problem, unsafe.astype(np.bool_))
    tables = no_tables(problem)
    if known_witnesses is not None:
        tables = agreeing_tables(problem, pattern.unsafe, known_witnesses)
    best = _protected(pattern, deadline, tables, thorough)
    if best.proof is Proof.PROVED and (deadline.effort > SECOND_EFFORT or len(tables)):
        return best
    best = min(best, _protected(pattern.afresh(largest_first=True), deadline), key=_worth)
    tried: BoolArray = pattern.unsafe
    while best.proof is Proof.PROVED and deadline.effort < SEARCH_EFFORT and not deadline.over:
        beside = np.flatnonzero(best.withheld & ~tried)
        if len(beside) == 0:
            break
        shown = beside[np.argmax(problem.prices[beside])]
        tried = tried | (np.arange(len(tried)) == shown)
        best = min(best, _protected(pattern.afresh(shown=int(shown)), deadline), key=_worth)
    return best


def _worth(found: Protection) -> tuple[bool, float]:
    """Proved ones before others, then the cheaper."""
    return found.proof is not Proof.PROVED, found.price


def _protected(
    pattern: "Pattern", deadline: Deadline, tables: Tables | None = None, thorough: bool = False
) -> Protection:
    """Grow one pattern, prove it, and give back what is superfluous; `tables` are possible ones."""
    began = deadline.effort
    search = _proved_pattern(pattern, no_tables(pattern.problem) if tables is None else tables, deadline)
    if not search.narrow().any():
        spent = deadline.effort - began
        enough = INFINITY if thorough else deadline.effort + max(EFFORT_SHARE * spent, LEAST_EFFORT)
        pattern, search = _given_back(pattern, search, enough, deadline)
    found = search.verdict()
    beside = pattern.withheld & ~pattern.unsafe
    return Protection(
        withheld=pattern.withheld,
        proof=found.proof,
        witnesses=found.witnesses,
        unprotected=found.unprotected,
        cost=int(pattern.problem.facts.records[beside].sum()),
        price=float(pattern.problem.prices[beside].sum()),
    )


class Pattern:
    """A growing pattern, and the cheapest moves by which it grows."""

    def __init__(self, problem: Problem, unsafe: BoolArray, largest_first: bool = False) -> None:
        self.problem = problem
        self.largest_first = largest_first
        self.unsafe = unsafe
        self.withheld = unsafe.copy()
        self.moves: list[FloatArray] = []
        self.closed = False
        self.thorough = True
        filled = (problem.facts.records > 0) | problem.zeros_withheld
        self._costs = problem.prices
        self._could_be: BoolArray = (filled | unsafe) & ~problem.absent
        self._may_be = self._could_be
        self._models: dict[tuple[int, ...], Possibilities] = {}

    def afresh(self, largest_first: bool = False, shown: int | None = None) -> "Pattern":
        """The unsafe cells alone, to be grown in another order or without one cell."""
        other = copy(self)
        other.largest_first = largest_first
        other.withheld, other.moves = self.unsafe.copy(), []
        if shown is not None:
            other._may_be = self._could_be & (np.arange(len(self.unsafe)) != shown)
        return other

    def without(self, shown: BoolArray) -> "Pattern":
        """This pattern less some cells, which grows by no others than these."""
        smaller = copy(self)
        smaller.withheld = self.withheld & ~shown
        smaller._may_be = self.withheld
        smaller.thorough = int(shown.sum()) == 1
        smaller.moves = [move for move in self.moves if not self._moved(move)[shown].any()]
        return smaller

    def alone(self) -> "Pattern":
        """This pattern, never to grow: its programs leave out all other cells."""
        closed = copy(self)
        closed._could_be = closed._may_be = self.withheld
        closed._models = {}
        closed.closed = True
        return closed

    def grow(self, tables: Tables, deadline: Deadline) -> None:
        """Withhold what protects the counts of all withheld cells against real-valued intruders.

        Units are left to the audit where they add up: what moves records moves them as a rule. `tables` are
        possible as the pattern is.
        """
        counts = (RECORDS,)
        width = float(self.problem.count_width)
        highest, lowest = reach(self.problem, tables)
        spread = np.stack([lowest[: len(counts)], highest[: len(counts)]])
        for move in self.moves:
            spread[0], spread[1] = np.minimum(spread[0], move[:1]), np.maximum(spread[1], move[:1])
        tried = np.zeros((len(counts), len(self.withheld)), dtype=np.bool_) | self.problem.known
        while not deadline.over and not np.array_equal(self.withheld, self._may_be):
            narrow = self.withheld & (spread[1] - spread[0] < width - MOVED) & ~tried
            if not narrow.any():
                return
            urgency = narrow * self._costs if self.largest_first else narrow
            quantity, cell = np.unravel_index(np.argmax(urgency), narrow.shape)
            tried[quantity, cell] = True
            for move in self.widen(counts, counts[quantity], int(cell), deadline):
                spread[0], spread[1] = np.minimum(spread[0], move), np.maximum(spread[1], move)

    def widen(
        self,
        quantities: tuple[int, ...],
        quantity: int,
        cell: int,
        deadline: Deadline,
        barred: BoolArray | None = None,
    ) -> list[FloatArray]:
        """Withhold what widens a quantity of a cell most cheaply, without moving barred cells.

        One move by the whole width, up or down, or one up and one down that share it; none if there is none.
        Where levels are required of both sides, moves by both. The moves are deviations of the quantities,
        shape (quantities, cells) each.
        """
        width, above, below = self._needs(quantity, cell)
        ways = [
            moves
            for steps in _steps(width, above, below)
            if (moves := self._moves(quantities, quantity, cell, steps, deadline, barred))
        ]
        thrifty = self.closed or deadline.effort < THRIFTY_EFFORT
        if not ways or (thrifty and min(map(self._cost, ways)) > 0):
            up = float(np.ceil(width / 2)) if quantity < SUMS else width / 2
            if up < width and above <= up and below <= width - up:
                shared = self._moves(quantities, quantity, cell, (up, up - width), deadline, barred)
                ways += [shared] if shared else []
        if not ways:
            return []
        moves = min(ways, key=self._cost)
        for move in moves:
            self.withheld |= self._moved(move)
            if max(quantities) < SUMS:
                self.moves.append(move)
        return moves

    def _moves(
        self,
        quantities: tuple[int, ...],
        quantity: int,
        cell: int,
        steps: tuple[float, ...],
        deadline: Deadline,
        barred: BoolArray | None,
    ) -> list[FloatArray]:
        """The cheapest moves that change a quantity of a cell by one step after the other; or none."""
        if quantities not in self._models:
            self._models[quantities] = Possibilities(self.problem, self._could_be, quantities)
        model = self._models[quantities]
        if self.problem.known_quantities[quantity, cell]:
            return []
        shown = ~(self._may_be | self.problem.absent)
        model.given = (shown if barred is None else shown | barred)[model.cells]
        free = self.withheld | self.problem.absent
        column = model.block(quantity).start + int(np.searchsorted(model.cells, cell))
        found: list[FloatArray] = []
        for step in steps:
            lower, upper = model.bounds()
            if not lower[column] <= step <= upper[column]:
                return []
            lower[column] = upper[column] = step
            costs = np.tile(np.where(free, 0.0, self._costs)[model.cells], len(quantities))
            values = model.cheapest(costs, (lower, upper), deadline)
            if values is None:
                return []
            move = np.zeros((len(quantities), len(self.withheld)))
            move[:, model.cells] = values.reshape(len(quantities), -1)
            found.append(move)
            free = free | self._moved(move)
        return found

    def _moved(self, move: FloatArray) -> BoolArray:
        """Cells that have to be withheld for a move."""
        moved: BoolArray = np.any(np.abs(move) > MOVED, axis=0) & ~self.problem.absent
        return moved

    def _cost(self, moves: list[FloatArray]) -> float:
        """Costs of the cells to withhold beside those that are."""
        moved = np.logical_or.reduce([self._moved(move) for move in moves])
        return float(self._costs[moved & ~self.withheld].sum())

    def _needs(self, quantity: int, cell: int) -> tuple[float, float, float]:
        """Required width of a quantity of a cell, and levels above and below, in the program's units."""
        if quantity < SUMS:
            return float(self.problem.count_width), 0.0, 0.0
        needed = required(self.problem, self.withheld)
        scale = self.problem.scale(quantity - SUMS, self.problem.unknown(self._could_be))
        sides = (needed.widths, needed.above, needed.below)
        width, above, below = (float(side[quantity, cell]) / scale for side in sides)
        # A level may be all that a public bound leaves room for: no farther.
        return (1 + 2 * MARGIN) * width, above, below


def _steps(width: float, above: float, below: float) -> list[tuple[float, ...]]:
    """Moves that together reach levels above and below and lie a width apart, each way of doing so."""
    if not above and not below:
        return [(width,), (-width,)]
    if above + below >= width:
        return [tuple(step for step in (above, -below) if step)]
    ways = [(width - below, -below), (above, above - width)]
    return [tuple(step for step in way if step) for way in ways]


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
    while not deadline.over and deadline.effort < enough:
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
