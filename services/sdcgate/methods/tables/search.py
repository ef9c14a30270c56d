"""The search for witnesses of a pattern of withheld cells: tables found so far, and what they leave open.

Deviations from the true table that solve an intruder's program become complete tables here: counts must be
integers, and sums are found that go with them. Only tables that agree with all that is known are entered.
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.intruder import Possibilities
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.quantities import RECORDS, SUMS, UNITS
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.witnesses import Tables, agreeing, reach, required, true_sums

INTEGRAL = 1e-6
"""By how much a count of a solution may be off a whole number that it is taken for."""
MARGIN = 1e-2
"""By how much more than required sums are moved, so that rounding does not undo a proof."""
MULTIPLES = (1, 2, 3, 4, 6)
MOST_AT_ONCE = 2_000_000
"""Cells of all tables that are written out at once."""


class Search:
    """A search for witnesses of one pattern, begun with tables that are known to be possible."""

    def __init__(self, problem: Problem, withheld: BoolArray, tables: Tables) -> None:
        self.problem = problem
        self.withheld = withheld.astype(np.bool_)
        self.tables = tables
        self.required = required(problem, self.withheld)
        self._farthest = self.required.farthest
        self.highest, self.lowest = reach(problem, tables)
        """Greatest and least deviation of the tables, shape (2 + measures, cells) each."""
        self.refuted: BoolArray = self.withheld & problem.wholly_known
        """Withheld cells that are shown to be too narrow."""
        self.leaks = {
            (quantity, int(cell)): (0.0, 0.0)
            for cell in np.flatnonzero(self.refuted)
            for quantity in range(SUMS + len(problem.facts.measures))
            if quantity != UNITS or not problem.units_follow
        }
        """How far the quantities that are too narrow can move down and up, at most, by (quantity, cell)."""
        self.tried = np.zeros_like(self._farthest, dtype=np.bool_)
        """What was tried to be settled, whatever came of it; shape (2 + measures, cells)."""
        self._asked = self.withheld & ~problem.wholly_known
        self.hopeless = bool(problem.unbounded(self.withheld)) or bool(
            np.any(problem.facts.units < problem.floors(self.withheld))
        )
        """Whether no table at all would prove anything."""
        own = () if problem.units_follow else (UNITS,)
        self.counts = (RECORDS, *own)
        """Records, and units where they do not follow these."""
        self.measures = tuple(range(len(problem.facts.measures)))
        self._models: dict[tuple[int, ...], Possibilities] = {}
        self.holed = len(problem.told) > 0
        """Whether a count may be possible that lies beyond one that is not."""
        self._coupled = problem.told.couples(problem.unknown_quantities(self.withheld))

    def narrow(self) -> BoolArray:
        """What is not yet wide enough, shape (2 + measures, cells); known cells are left out."""
        narrow: BoolArray = self.required.unmet(self.highest, self.lowest) & self._asked
        return narrow

    def spread(self) -> float:
        """How wide all counts are known to be together, none wider than required."""
        rows = list(self.counts)
        wide = np.minimum(self.highest - self.lowest, self.required.widths)[rows]
        return float(wide[:, self._asked].sum())

    def unsettled(self) -> IntArray:
        """What is narrow and was not tried yet, as pairs (quantity, cell)."""
        pairs: IntArray = np.argwhere(self.narrow() & ~self.tried & ~self.refuted)
        return pairs

    def refute(self, quantity: int, cell: int, moves: tuple[float, float]) -> None:
        """Enter a quantity of a withheld cell that is too narrow, and its greatest moves down and up."""
        self.refuted[cell] = True
        self.leaks[quantity, cell] = moves

    def refute_records(self, cells: BoolArray, ranges: tuple[FloatArray, FloatArray]) -> None:
        """Enter withheld cells of which the records are known to be too narrow, shape (cells,).

        `ranges` are the least and the greatest deviation of each cell's records.
        """
        self.refuted |= cells & self.withheld
        lower, upper = ranges
        for cell in np.flatnonzero(cells & self.withheld).tolist():
            self.leaks.setdefault((RECORDS, cell), (-float(lower[cell]), float(upper[cell])))

    def model(self, *quantities: int) -> Possibilities:
        """The program over these quantities, made once."""
        if quantities not in self._models:
            self._models[quantities] = Possibilities(self.problem, self.withheld, quantities)
        return self._models[quantities]

    def everything(self) -> Possibilities:
        """The program over counts and all measures."""
        return self.model(*self.counts, *(SUMS + measure for measure in self.measures))

    def sum_steps(self, measure: int) -> FloatArray:
        """As far as sums need move, shape (unknown cells,), in the units of the program's columns."""
        model = self.model(SUMS + measure)
        farthest: FloatArray = self._farthest[SUMS + measure, model.cells]
        return (1 + MARGIN) * farthest / model.scales[measure]

    def offer(self, moves: list[FloatArray], deadline: Deadline) -> None:
        """Enter moves of counts, deviations of shape (1 or 2, cells), where they prove something.

        Units move as the records where they are not told apart. Many of large tables are entered some at a
        time, until the deadline.
        """
        cells = self.model(*self.counts).cells
        told = [move[[0, -1]][: len(self.counts)] for move in moves]
        wholes = [self._whole(move[:, cells].reshape(-1)) for move in told]
        changes = [whole for whole in wholes if whole is not None]
        at_once = max(1, MOST_AT_ONCE // len(self.withheld))
        for first in range(0, len(changes), at_once):
            if first and deadline.over:
                return
            self._offer(np.array(changes[first : first + at_once]), deadline)

    def _offer(self, changes: IntArray, deadline: Deadline) -> None:
        """Enter changed counts of the unknown cells, shape (tables, counts of cells)."""
        tables = self._with_true_sums(changes)
        agree = agreeing(self.problem, self.withheld, tables)
        self.add(tables.chosen(agree))
        for change in changes[~agree] if self.measures else ():
            self.add_counts(change, deadline)

    def _with_true_sums(self, changes: IntArray) -> Tables:
        """Tables with changed counts of the unknown cells, shape (tables, counts of cells), and true sums."""
        cells, problem = self.model(*self.counts).cells, self.problem
        changes = changes.reshape(len(changes), len(self.counts), -1)
        records = np.tile(problem.facts.records, (len(changes), 1))
        units = np.tile(problem.facts.units, (len(changes), 1))
        records[:, cells] += changes[:, 0]
        units[:, cells] += changes[:, -1]
        return Tables(records, units, np.tile(true_sums(problem)[:, None], (1, len(changes), 1)))

    def enter(
        self,
        model: Possibilities,
        values: FloatArray,
        deadline: Deadline,
        aimed: tuple[int, FloatArray] | None = None,
    ) -> bool:
        """Enter a solution of a program with counts, or of one measure alone; counts must be integers.

        Sums that go with counts are found as by `add_counts`. Returns whether the table proves anything new.
        """
        if RECORDS not in model.quantities:
            return self._add_sums(model, model.quantities[0] - SUMS, values)
        counts = self._whole(values[: len(self.counts) * model.size])
        return counts is not None and self.add_counts(counts, deadline, aimed)

    def add_counts(
        self, moved: IntArray, deadline: Deadline, aimed: tuple[int, FloatArray] | None = None
    ) -> bool:
        """Enter a table of counts, moved by shape (counts of unknown cells,), with sums that fit.

        `aimed` is a measure, and what to maximise of it, shape (unknown cells,). Returns whether the table
        proves anything new.
        """
        if self._coupled:
            return self._add_jointly(moved, aimed, deadline)
        cells, tables = self.model(*self.counts).cells, self._with_true_sums(moved[None])
        for measure in self.measures:
            aim = aimed[1] if aimed is not None and measure == aimed[0] else None
            fitting = self._fitting_sums(measure, moved[: len(cells)], aim, deadline)
            if fitting is None:
                return False
            tables.sums[measure, 0, cells] = fitting
        return self.add(tables)

    def _add_jointly(self, moved: IntArray, aimed: tuple[int, FloatArray] | None, deadline: Deadline) -> bool:
        """As `add_counts`, where published ratios tie sums to counts or to each other: all sums at once."""
        model = self.everything()
        lower, upper = model.bounds()
        lower[: len(moved)] = upper[: len(moved)] = moved
        cost = np.zeros(len(lower))
        if aimed is not None:
            measure, aim = aimed
            cost[model.block(SUMS + measure)] = aim
        values = model.maximise(cost, (lower, upper), deadline)
        if values is None:
            return False
        values = model.polished(values, lower, upper)
        tables = self._with_true_sums(moved[None])
        for number in self.measures:
            sums = values[model.block(SUMS + number)] * model.scales[number]
            tables.sums[number, 0, model.cells] += sums
        return self.add(tables)

    def _fitting_sums(
        self, measure: int, moved: IntArray, aim: FloatArray | None, deadline: Deadline
    ) -> FloatArray | None:
        """Sums of the unknown cells that go with changed records: the true ones if nothing is aimed at."""
        model = self.model(SUMS + measure)
        truth = self.problem.facts.measures[measure].sums[model.cells]
        lower, upper = model.bounds(moved)
        if aim is None and np.all((lower <= 0) & (upper >= 0)):
            return truth
        cost = np.zeros(len(moved)) if aim is None else aim
        if aim is not None:
            limit = 2 * self.sum_steps(measure)
            near = (aim != 0) & (not self.holed)
            lower = np.where(near, np.maximum(lower, -limit), lower)
            upper = np.where(near, np.minimum(upper, limit), upper)
        values = model.maximise(cost, (lower, upper), deadline)
        return (
            None if values is None else truth + model.polished(values, lower, upper) * model.scales[measure]
        )

    def _add_sums(self, model: Possibilities, measure: int, values: FloatArray) -> bool:
        """Enter a table with the true counts and a measure's sums moved, in the program's units."""
        facts, sums = self.problem.facts, true_sums(self.problem)
        sums[measure, model.cells] += model.polished(values, *model.bounds()) * model.scales[measure]
        return self.add(Tables(facts.records[None], facts.units[None], sums[:, None]))

    def add(self, tables: Tables) -> bool:
        """Enter tables that agree with what is known and widen a narrow cell; whether that proves one."""
        if len(tables) == 0 or not np.all(agreeing(self.problem, self.withheld, tables)):
            return False
        narrow, added = self.narrow(), np.zeros(len(tables), dtype=np.bool_)
        for table in range(len(tables)):
            highest, lowest = reach(self.problem, tables.chosen(np.array([table])))
            highest, lowest = np.maximum(self.highest, highest), np.minimum(self.lowest, lowest)
            if np.any((highest - lowest > self.highest - self.lowest)[self.narrow()]):
                added[table], self.highest, self.lowest = True, highest, lowest
        self.tables = self.tables.joined(tables.chosen(added))
        return bool(np.any(narrow & ~self.narrow()))

    def _whole(self, moved: FloatArray) -> IntArray | None:
        """Moves of all counts as integers, or None. Units alone that are none are moved as the records.

        Fractions are multiplied out where that is possible: what cancels out does so many times over.
        """
        records = slice(len(moved) // len(self.counts))
        for times in MULTIPLES:
            near = np.rint(times * moved)
            integral = np.abs(times * moved - near) <= times * INTEGRAL
            if integral.all():
                return near.astype(np.int64)
            if integral[records].all():
                return np.tile(near[records], len(self.counts)).astype(np.int64)
        return None
