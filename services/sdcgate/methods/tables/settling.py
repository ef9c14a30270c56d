"""One quantity of one withheld cell settled: tables that prove it wide enough, or that there are none.

Its smallest and greatest possible value decide (the intruder's problem of Fischetti and Salazar, Management
Science 47, 2001), with integers wherever real numbers do not settle it.
"""

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.tables.directions import directions
from sdcgate.methods.tables.intruder import Possibilities, record_bounds
from sdcgate.methods.tables.quantities import RECORDS, SUMS
from sdcgate.methods.tables.search import INTEGRAL, MARGIN, Search
from sdcgate.methods.tables.solver import Deadline

TURNS = 3


def settle(search: Search, quantity: int, cell: int, deadline: Deadline, integers: bool = True) -> None:
    """Try to prove one quantity of one cell, or show that it is too narrow, by integers too if told.

    What is found is entered in the search.
    """
    search.tried[quantity, cell] = True
    stages = [stage for stage in _stages(search, quantity) if integers or not stage[1]]
    moves = _Settling(search, quantity, cell, deadline).too_narrow(stages)
    if moves is not None:
        search.refute(quantity, cell, moves)


def _stages(search: Search, quantity: int) -> list[tuple[Possibilities, bool]]:
    """Programs that settle a quantity, each with whether counts must be integers; the quick one first."""
    counts = search.model(*search.counts)
    if not search.measures:
        return [(counts, False), (counts, True)]
    whole = search.everything()
    first = counts if quantity < SUMS else search.model(quantity)
    return [(first, False), (whole, False), (whole, True)]


class _Settling:
    """A quantity of a cell that is moved up and down in one program after the other."""

    def __init__(self, search: Search, quantity: int, cell: int, deadline: Deadline) -> None:
        self._search = search
        self._quantity, self._cell = quantity, cell
        self._deadline = deadline

    @property
    def _narrow(self) -> bool:
        """Whether the tables found so far do not prove it."""
        return bool(self._search.narrow()[self._quantity, self._cell])

    def too_narrow(self, stages: list[tuple[Possibilities, bool]]) -> tuple[float, float] | None:
        """Try to widen it; its greatest moves down and up where a stage shows that to be impossible.

        The first stage of a sum leaves all counts as they are, so that what it shows is not the last word.
        """
        for model, integers in stages:
            last_word = RECORDS in model.quantities
            if self._quantity >= SUMS and last_word and not integers:
                self._refit()
            ends, farther = [], False
            for direction in (1.0, -1.0):
                if not self._narrow:
                    return None
                bounds, cost = self._aim_at(model, direction)
                if integers and self._search.holed:
                    farther |= not self._widen(model, bounds, cost)
                maximise = model.maximise_integer if integers else model.maximise
                values = maximise(cost, bounds, self._deadline)
                if values is None:
                    return None
                ends.append(float(cost @ values))
                farther |= self._may_go_farther(model, values, integers)
                found = len(self._search.tables)
                self._enter(model, values, cost)
                if len(self._search.tables) == found and not integers:
                    self._move(model, direction * ends[-1])
            if not self._narrow:
                return None
            if last_word and not farther and self._shows_narrow(model, ends):
                return self._in_full(model, ends)
        return None

    def _place(self, model: Possibilities) -> int:
        """Its cell's place among the cells of a program."""
        return int(np.searchsorted(model.cells, self._cell))

    def _column(self, model: Possibilities) -> int:
        """Its column in a program."""
        return int(model.block(self._quantity).start) + self._place(model)

    def _refit(self) -> None:
        """Move a sum as far as it goes beside the counts of the tables with most and fewest records there."""
        search, measure = self._search, self._quantity - SUMS
        model = search.model(self._quantity)
        order = np.argsort(search.tables.records[:, self._cell], kind="stable")
        tables = search.tables.chosen(order[[-1, 0]] if len(order) else order)
        aim = np.zeros(model.size)
        for records, units in zip(tables.records, tables.units, strict=True):
            changes = [records - search.problem.facts.records, units - search.problem.facts.units]
            moved = np.concatenate([change[model.cells] for change in changes[: len(search.counts)]])
            for direction in (1.0, -1.0):
                if self._narrow:
                    aim[self._place(model)] = direction
                    search.add_counts(moved, self._deadline, (measure, aim))

    def _enter(self, model: Possibilities, values: FloatArray, cost: FloatArray) -> None:
        """Enter a solution; where it is a sum that is moved, as far as it goes beside these counts."""
        aimed = None
        if self._quantity >= SUMS:
            aimed = self._quantity - SUMS, cost[model.block(self._quantity)]
        self._search.enter(model, values, self._deadline, aimed)

    def _move(self, model: Possibilities, step: float) -> None:
        """Move a count by the whole part of a step, and all others as little as possible.

        A vertex of few moves is integer as a rule where that of any others is not.
        """
        step = float(np.trunc(step + np.sign(step) * INTEGRAL))
        if self._quantity >= SUMS or step == 0:
            return
        lower, upper = model.bounds()
        column = self._column(model)
        lower[column] = upper[column] = step
        found = len(self._search.tables)
        for turn in range(TURNS):
            # Costs that differ lead to other vertices where the first is none of integers.
            costs = 1.0 + 0.5 * turn * directions(len(lower), turn)
            values = model.cheapest(np.maximum(costs, 0.1), (lower, upper), self._deadline)
            if values is not None:
                self._search.enter(model, values, self._deadline)
            if values is None or len(self._search.tables) > found:
                return

    def _aim_at(
        self, model: Possibilities, direction: float
    ) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
        """Bounds and cost for one end; no farther than it needs to go."""
        lower, upper = model.bounds()
        column, width = self._column(model), self._width(model)
        lower[column], upper[column] = max(lower[column], -width), min(upper[column], width)
        cost = np.zeros(len(lower))
        cost[column] = direction
        return (lower, upper), cost

    def _width(self, model: Possibilities) -> float:
        """As far as it need move, in the units of the program's columns."""
        if self._quantity < SUMS:
            return float(self._search.problem.count_width)
        return float(self._search.sum_steps(self._quantity - SUMS)[self._place(model)])

    def _widen(self, model: Possibilities, bounds: tuple[FloatArray, FloatArray], cost: FloatArray) -> bool:
        """Let its column go as far as real numbers do, in place: whole ones may reach that, nothing before.

        Returns whether they end anywhere; if not it may go on beyond what is looked at.
        """
        values = model.maximise(cost, model.bounds(), self._deadline)
        if values is None or model.at_search_bound(values):
            return False
        column, end = self._column(model), float(cost @ values)
        if cost[column] > 0:
            bounds[1][column] = max(bounds[1][column], np.ceil(end))
        else:
            bounds[0][column] = min(bounds[0][column], -np.ceil(end))
        return True

    def _may_go_farther(self, model: Possibilities, values: FloatArray, integers: bool) -> bool:
        """Whether a best table may be best only because sums are searched within narrower bounds than known.

        Real numbers could only go on from such a bound; of integers nothing follows from where they are.
        """
        if integers:
            measures = [quantity - SUMS for quantity in model.quantities if quantity >= SUMS]
            return not all(record_bounds(model.problem, measure)[2] for measure in measures)
        return model.at_search_bound(values)

    def _shows_narrow(self, model: Possibilities, ends: list[float]) -> bool:
        """Whether the greatest moves up and down together are less than the width, or one than its level."""
        if self._quantity < SUMS:
            moves = sum(float(np.floor(end + INTEGRAL)) for end in ends)
            return moves < float(self._search.problem.count_width)
        place, scale = (self._quantity, self._cell), model.scales[self._quantity - SUMS]
        need = self._search.required
        width = (1 + MARGIN) * float(need.widths[place]) / scale
        levels = [float(side[place]) / scale * (1 - MARGIN) for side in (need.above, need.below)]
        return sum(ends) < width * (1 - 2 * MARGIN) or any(np.array(ends) < levels)

    def _in_full(self, model: Possibilities, ends: list[float]) -> tuple[float, float]:
        """Greatest moves down and up: whole numbers of counts, and sums in their own units."""
        up, down = ends
        if self._quantity < SUMS:
            return float(np.floor(down + INTEGRAL)), float(np.floor(up + INTEGRAL))
        scale = model.scales[self._quantity - SUMS]
        return max(down, 0.0) * scale, max(up, 0.0) * scale
