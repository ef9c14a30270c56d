"""A pattern of withheld cells that grows, and the cheapest moves by which it grows."""

from copy import copy

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.intruder import Possibilities
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.quantities import RECORDS, SUMS
from sdcgate.methods.tables.search import MARGIN, Search
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.sweeping import sweep
from sdcgate.methods.tables.witnesses import Tables, reach, required

MOVED = 1e-7
THRIFTY_EFFORT = 100.0
"""Effort, about milliseconds, up to which a move that needs cells is compared with one up and one down."""
MANY_NARROW = 500
"""Cells from which on those that a pattern protects as it is are found by sweeps, and not one by one."""


class Pattern:
    """A growing pattern: the unsafe cells at first, shape (cells,).

    It grows by what cells cost, or by `prices` where they are given.
    """

    def __init__(
        self,
        problem: Problem,
        unsafe: BoolArray,
        largest_first: bool = False,
        prices: FloatArray | None = None,
    ) -> None:
        self.problem = problem
        self.largest_first = largest_first
        self.unsafe = unsafe
        self.withheld = unsafe.copy()
        self.moves: list[FloatArray] = []
        self.stuck: list[int] = []
        self.closed = False
        self.thorough = True
        self._costs = problem.prices if prices is None else prices
        self._could_be: BoolArray = (could_be_withheld(problem) | unsafe) & ~problem.absent
        self._may_be = self._could_be
        self._models: dict[tuple[int, ...], Possibilities] = {}

    def afresh(self, largest_first: bool = False, shown: int | None = None) -> "Pattern":
        """The unsafe cells alone, to be grown in another order or without one cell."""
        other = copy(self)
        other.largest_first = largest_first
        other.withheld, other.moves, other.stuck = self.unsafe.copy(), [], []
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

    def grow(self, tables: Tables, deadline: Deadline) -> Tables:
        """Withhold what protects the counts of all withheld cells against real-valued intruders.

        Units are left to the audit where they add up: what moves records moves them as a rule. `tables` are
        possible as the pattern is; returns them with those that were found on the way.
        """
        counts = (RECORDS,)
        width = float(self.problem.count_width)
        highest, lowest = reach(self.problem, tables)
        spread = np.stack([lowest[: len(counts)], highest[: len(counts)]])
        for move in self.moves:
            spread[0], spread[1] = np.minimum(spread[0], move[:1]), np.maximum(spread[1], move[:1])
        tried = np.zeros((len(counts), len(self.withheld)), dtype=np.bool_) | self.problem.known
        step, next_sweep, swept = 0, 0, np.zeros_like(self.withheld)
        # Counts that are known are moved by nothing.
        others = self._may_be & ~self.problem.known
        while not deadline.over and (others & ~self.withheld).any():
            narrow = self.withheld & (spread[1] - spread[0] < width - MOVED) & ~tried
            if not narrow.any():
                break
            if narrow.sum() > MANY_NARROW and step >= next_sweep and not np.array_equal(swept, self.withheld):
                # The more seldom, the more of the cells need others beside them.
                next_sweep, swept = 2 * step + 1, self.withheld.copy()
                search = Search(self.problem, self.withheld, tables)
                search.lowest[:1], search.highest[:1] = spread
                if search.hopeless:
                    break  # no pattern that goes beyond this one can be proved
                sweep(search, deadline, sums=False)
                tables, spread = search.tables, np.stack([search.lowest[:1], search.highest[:1]])
                continue
            step += 1
            urgency = narrow * self._costs if self.largest_first else narrow
            quantity, cell = np.unravel_index(np.argmax(urgency), narrow.shape)
            tried[quantity, cell] = True
            moves = self.widen(counts, counts[quantity], int(cell), deadline)
            if not moves and not deadline.over:
                self.stuck.append(int(cell))
            for move in moves:
                spread[0], spread[1] = np.minimum(spread[0], move), np.maximum(spread[1], move)
        return tables

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
            priced = _by_step(costs, lower, upper, abs(step)) if len(quantities) == 1 else costs
            values = model.cheapest(priced, (lower, upper), deadline)
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


def _by_step(
    costs: FloatArray, lower: FloatArray, upper: FloatArray, size: float
) -> tuple[FloatArray, FloatArray]:
    """What each step up and down costs: who can carry only part of a move costs as much for that part."""
    shares = [np.where(room > 0, np.minimum(room, size), size) / size for room in (upper, -lower)]
    return costs / shares[0], costs / shares[1]


def could_be_withheld(problem: Problem) -> BoolArray:
    """Cells that may be withheld beside unsafe ones, shape (cells,); what is known protects for nothing."""
    filled: BoolArray = (problem.facts.records > 0) | problem.zeros_withheld
    return filled & ~problem.absent
