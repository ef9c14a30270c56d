"""The tables that an intruder cannot exclude, as a linear program over deviations from the true one.

Only cells that he does not know have columns. The quantities of a cell are its records, its units (where
they do not follow the records) and its sums, each sum divided by the measure's scale.
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.diving import dive
from sdcgate.methods.tables.problem import Equations, Problem
from sdcgate.methods.tables.quantities import RECORDS, SUMS, UNITS, quantities_of
from sdcgate.methods.tables.solver import FEASIBILITY, INFINITY, Best, Deadline, Program, Rows

MANY_CELLS = 400
"""From so many cells on, few of which a cheapest table moves, it is found sooner from the true one than from
the last one found."""
POLISHING, POLISHED = 4, 1e-11
BLUR = 1e-12
"""Share of a count by which a bound of it may be off before it is rounded to a whole number."""
WIDE_BOUND = 100.0
"""Sums are searched within bounds that are at most this many times the largest mean of a cell.

Searching less than is possible is safe, and keeps magnitudes sane.
"""


class Possibilities:
    """All tables that agree with what is known under a pattern, in some of their quantities.

    Without records among the quantities, records and units stay as `bounds` is told. Cells that are `given`,
    shape (unknown cells,), stay as they are in truth, as though they were known.
    """

    def __init__(self, problem: Problem, withheld: BoolArray, quantities: tuple[int, ...]) -> None:
        self.problem = problem
        self.withheld = withheld
        self.quantities = quantities
        self.cells: IntArray = np.flatnonzero(problem.unknown(withheld))
        self._hidden = problem.unknown_quantities(withheld)
        self._known = ~self._hidden[list(quantities)][:, self.cells]
        self.given: BoolArray = np.zeros(len(self.cells), dtype=np.bool_)
        self._place = np.full(len(problem.facts), -1, dtype=np.int64)
        self._place[self.cells] = np.arange(len(self.cells))
        self.scales = [
            problem.scale(m, problem.unknown(withheld)) for m in range(len(problem.facts.measures))
        ]
        columns = len(quantities) * self.size
        self._least, self._most = np.full(columns, -INFINITY), np.full(columns, INFINITY)
        self._rows = self._constraints()
        always = self.bounds() if RECORDS in quantities else self._of_known()
        self._least, self._most = self._rows.reduce(*always, RECORDS in quantities)
        if len(problem.told):
            self._round_counts()
        self._linear: Program | None = None
        self._integer: Program | None = None
        self._folded: Program | None = None
        self._whole_folded: Program | None = None

    @property
    def size(self) -> int:
        """Number of unknown cells."""
        return len(self.cells)

    def block(self, quantity: int) -> slice:
        """Columns of a quantity, in the order of `cells`."""
        position = self.quantities.index(quantity)
        return slice(position * self.size, (position + 1) * self.size)

    def bounds(self, moved: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Least and greatest deviations, each shape (columns,); `moved` are the records' where given."""
        lower = np.full(len(self.quantities) * self.size, -INFINITY)
        upper = np.full(len(self.quantities) * self.size, INFINITY)
        facts, cells = self.problem.facts, self.cells
        floors = self.problem.floors(self.withheld)[cells]
        for quantity in self.quantities:
            columns = self.block(quantity)
            if quantity == RECORDS:
                least = floors
                for measure in range(len(facts.measures)):
                    least = np.maximum(least, self.problem.missing(measure)[cells])
                lower[columns] = least - facts.records[cells]
            elif quantity == UNITS:
                lower[columns] = floors - facts.units[cells]
            elif RECORDS not in self.quantities:
                measure = quantity - SUMS
                valid = facts.measures[measure].valid_records[cells] + (0 if moved is None else moved)
                low, high, _ = record_bounds(self.problem, measure)
                truth = facts.measures[measure].sums[cells]
                lower[columns] = np.where(valid > 0, low * valid - truth, -truth) / self.scales[measure]
                upper[columns] = np.where(valid > 0, high * valid - truth, -truth) / self.scales[measure]
        if RECORDS not in self.quantities and moved is None:
            # The true table is always possible, whatever rounding says.
            lower, upper = np.minimum(lower, 0.0), np.maximum(upper, 0.0)
        fixed = (self._known | self.given).reshape(-1)
        lower[fixed], upper[fixed] = 0.0, 0.0
        return np.maximum(lower, self._least), np.minimum(upper, self._most)

    def beside_true_sums(self) -> tuple[FloatArray, FloatArray]:
        """As `bounds`, with records beside which no sum of a cell has to be another one."""
        lower, upper = self.bounds()
        columns, facts = self.block(RECORDS), self.problem.facts
        for measure, own in enumerate(facts.measures):
            valid, truth = own.valid_records[self.cells], own.sums[self.cells]
            low, high, _ = record_bounds(self.problem, measure)
            least, most = np.where(truth != 0, 1.0, 0.0), np.full(self.size, INFINITY)
            # Beside a bound that is next to nothing infinitely many: no limit, or none but the true counts.
            with np.errstate(over="ignore"):
                for bound, is_low in ((low, True), (high, False)):
                    if bound != 0 and (bound > 0) != is_low:
                        least = np.maximum(least, truth / bound)
                    elif bound != 0:
                        most = np.minimum(most, truth / bound)
            # The true counts are possible, whatever rounding says.
            lower[columns] = np.maximum(lower[columns], np.minimum(np.ceil(least) - valid, 0.0))
            upper[columns] = np.minimum(upper[columns], np.maximum(np.floor(most) - valid, 0.0))
        return lower, upper

    def _of_known(self) -> tuple[FloatArray, FloatArray]:
        """Least and greatest deviations whatever the records: none of what is known."""
        known = self._known.reshape(-1)
        return np.where(known, 0.0, -INFINITY), np.where(known, 0.0, INFINITY)

    def maximise(
        self, cost: FloatArray, bounds: tuple[FloatArray, FloatArray], deadline: Deadline
    ) -> FloatArray | None:
        """The best table, integer or not: deviations of shape (columns,), or None."""
        if self._linear is None:
            self._linear = Program(self._rows, len(cost))
        return self._linear.maximise(cost, *bounds, deadline)

    def maximise_integer(
        self, cost: FloatArray, bounds: tuple[FloatArray, FloatArray], deadline: Deadline
    ) -> FloatArray | None:
        """The best table whose records and units are integers: deviations of shape (columns,), or None."""
        return self._whole_program(presolve=not len(self.problem.told)).maximise(cost, *bounds, deadline)

    def best_integer(
        self, cost: FloatArray, bounds: tuple[FloatArray, FloatArray], deadline: Deadline
    ) -> Best:
        """The best such table that is found in time, and a bound of what any other comes to."""
        return self._whole_program(presolve=False).best(cost, *bounds, deadline)

    def _whole_program(self, presolve: bool) -> Program:
        """The integer program, made once.

        Presolve (HiGHS 1.15) was seen to cut off a table that just keeps to rows of real coefficients.
        """
        if self._integer is None:
            whole = np.repeat([quantity < SUMS for quantity in self.quantities], self.size)
            self._integer = Program(self._rows, len(whole), whole, presolve=presolve)
        return self._integer

    def reach(
        self,
        aims: FloatArray,
        widths: FloatArray,
        bounds: tuple[FloatArray, FloatArray],
        deadline: Deadline,
        whole: bool = False,
    ) -> FloatArray | None:
        """A table in which many columns move by their width at once: deviations of shape (columns,), or None.

        `aims` are 1 (up), -1 (down) or 0 (anything). What is beyond a width earns nothing: each column is
        the sum of one that earns and ends at its width, and of one that goes on from there. A `whole` table
        is one of integers, and not the very best.
        """
        (lower, upper), up, down = bounds, aims > 0, aims < 0
        first_lower = np.where(down, np.minimum(upper, np.maximum(lower, -widths)), lower)
        first_upper = np.where(up, np.maximum(lower, np.minimum(upper, widths)), upper)
        rest_lower, rest_upper = np.zeros(len(aims)), np.zeros(len(aims))
        rest_lower[down] = lower[down] - first_lower[down]
        rest_upper[up] = upper[up] - first_upper[up]
        first, rest = (first_lower, first_upper), (rest_lower, rest_upper)
        gain = np.divide(aims, widths, out=np.zeros(len(aims)), where=widths > 0)
        return self._maximise_in_two(gain, np.zeros(len(aims)), first, rest, deadline, whole=whole)

    def cheapest(
        self,
        costs: FloatArray | tuple[FloatArray, FloatArray],
        bounds: tuple[FloatArray, FloatArray],
        deadline: Deadline,
    ) -> FloatArray | None:
        """The table that costs least, or None: each column pays for what it moves, both ways alike or not."""
        lower, upper = bounds
        up, down = costs if isinstance(costs, tuple) else (costs, costs)
        ups = (np.maximum(lower, 0.0), np.maximum(upper, 0.0))
        downs = (np.minimum(lower, 0.0), np.minimum(upper, 0.0))
        return self._maximise_in_two(-up, down, ups, downs, deadline, afresh=self.size > MANY_CELLS)

    def _maximise_in_two(
        self,
        gain: FloatArray,
        more_gain: FloatArray,
        first: tuple[FloatArray, FloatArray],
        second: tuple[FloatArray, FloatArray],
        deadline: Deadline,
        afresh: bool = False,
        whole: bool = False,
    ) -> FloatArray | None:
        """The best table whose columns are each the sum of two, with gains and bounds of their own."""
        size = len(gain)
        lower, upper = (np.concatenate(pair) for pair in zip(first, second, strict=True))
        cost = np.concatenate([gain, more_gain])
        linear = self._folded or self._fold(size, whole=False)
        if whole:
            every = np.ones(size, dtype=np.bool_)
            found = dive(linear, cost, (lower, upper), deadline, every, parts=2)
            if found is not None:
                return found
        program = (self._whole_folded or self._fold(size, whole=True)) if whole else linear
        values = program.maximise(cost, lower, upper, deadline, afresh)
        return None if values is None else values[:size] + values[size:]

    def _fold(self, size: int, whole: bool) -> Program:
        """The program with each column twice, kept for the next time."""
        folded = Rows(count=self._rows.count, lower=self._rows.lower, upper=self._rows.upper)
        for shift in (0, size):
            folded.rows += self._rows.rows
            folded.columns += [columns + shift for columns in self._rows.columns]
            folded.values += self._rows.values
        if whole:
            self._whole_folded = Program(folded, 2 * size, np.ones(2 * size, dtype=np.bool_), rough=True)
            return self._whole_folded
        self._folded = Program(folded, 2 * size)
        return self._folded

    def at_search_bound(self, values: FloatArray) -> bool:
        """Whether some sum of a table lies at a bound that is not known of it, but only of the search."""
        moved = values[self.block(RECORDS)] if RECORDS in self.quantities else np.zeros(self.size)
        for measure in (quantity - SUMS for quantity in self.quantities if quantity >= SUMS):
            facts, scale = self.problem.facts.measures[measure], self.scales[measure]
            low, high, _ = record_bounds(self.problem, measure)
            valid = facts.valid_records[self.cells] + moved
            sums = facts.sums[self.cells] + values[self.block(SUMS + measure)] * scale
            room = WIDE_BOUND * FEASIBILITY * scale
            filled = valid > FEASIBILITY
            if facts.lower_bound != low and np.any(filled & (sums <= low * valid + room)):
                return True
            if facts.upper_bound != high and np.any(filled & (sums >= high * valid - room)):
                return True
        return False

    def away_from_search_bounds(self) -> FloatArray:
        """The cost of a table whose sums are far from bounds that are not known of them, shape (columns,)."""
        cost = np.zeros(len(self.quantities) * self.size)
        for quantity in self.quantities:
            if quantity >= SUMS:
                facts = self.problem.facts.measures[quantity - SUMS]
                low, high, _ = record_bounds(self.problem, quantity - SUMS)
                cost[self.block(quantity)] = float(facts.lower_bound != low) - float(
                    facts.upper_bound != high
                )
        return cost

    def _round_counts(self) -> None:
        """Bounds of counts as whole numbers, which no solver's tolerance can undo."""
        for quantity in (RECORDS, UNITS):
            if quantity in self.quantities:
                columns = self.block(quantity)
                truth = quantities_of(self.problem.facts)[quantity, self.cells]
                room = FEASIBILITY + BLUR * np.abs(truth)
                self._least[columns] = np.ceil(self._least[columns] - room)
                self._most[columns] = np.floor(self._most[columns] + room)

    def polished(self, values: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Deviations with what a solver's tolerance left of the equations removed.

        Of a single quantity, or of all where `lower` and `upper` hold the counts.
        """
        matrix, least, most = self._dense_rows()
        values = np.clip(values, lower, upper)
        for _ in range(POLISHING):
            sums = matrix @ values
            left = sums - np.clip(sums, least, most)
            if np.abs(left).max(initial=0.0) <= POLISHED:
                break
            free = (values > lower) & (values < upper)
            rows = (left != 0) | (least == most)
            values[free] -= np.linalg.lstsq(matrix[rows][:, free], left[rows])[0]
            values = np.clip(values, lower, upper)
        return values

    def _dense_rows(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Everything that sums must add up to or agree with, and between what it lies."""
        rows = Rows()
        for quantity in self.quantities:
            self._add_up(rows, self.problem.equations_of(quantity), self.block(quantity).start)
        self._as_published(rows)
        matrix = np.zeros((rows.count, len(self.quantities) * self.size))
        for lines, columns, values in zip(rows.rows, rows.columns, rows.values, strict=True):
            np.add.at(matrix, (lines, columns), values)
        return matrix, np.concatenate(rows.lower), np.concatenate(rows.upper)

    def _constraints(self) -> Rows:
        rows = Rows()
        for quantity in self.quantities:
            self._add_up(rows, self.problem.equations_of(quantity), self.block(quantity).start)
        if UNITS in self.quantities:
            self._units_within_records(rows)
            self._units_within_parts(rows)
        if RECORDS in self.quantities:
            for quantity in self.quantities:
                if quantity >= SUMS:
                    self._sums_within_bounds(rows, quantity - SUMS)
        self._as_published(rows)
        return rows

    def _add_up(self, rows: Rows, equations: Equations, offset: int) -> None:
        """Deviations cancel out in every equation."""
        kept = self._place[equations.cells] >= 0
        used, number = np.unique(equations.rows[kept], return_inverse=True)
        first = rows.start(np.zeros(len(used)), np.zeros(len(used)))
        rows.put(first + number, offset + self._place[equations.cells[kept]], equations.signs[kept])

    def _as_published(self, rows: Rows) -> None:
        """Published ratios, rounded values and bounds of cells.

        Rows of quantities that are no columns here are left out where counts are columns, so that more seems
        possible; where they are none all other quantities stay as they are in truth.
        """
        told = self.problem.told
        if not len(told):
            return
        position = np.full(len(self._hidden), -1, dtype=np.int64)
        position[list(self.quantities)] = np.arange(len(self.quantities))
        hidden = self._hidden[told.quantities, told.cells]
        column = hidden & (position[told.quantities] >= 0)
        kept = np.bincount(told.rows[column], minlength=len(told)) > 0
        if RECORDS in self.quantities:
            kept &= np.bincount(told.rows[hidden & ~column], minlength=len(told)) == 0
        column &= kept[told.rows]
        scales = np.array([1.0, 1.0, *self.scales])
        values = told.factors * scales[told.quantities]
        sizes = np.zeros(len(told))
        np.maximum.at(sizes, told.rows[column], np.abs(values[column]))
        fall, rise = told.room(quantities_of(self.problem.facts))
        first = rows.start(fall[kept] / sizes[kept], rise[kept] / sizes[kept])
        line = first + np.cumsum(kept) - 1
        of, at = told.rows[column], position[told.quantities[column]] * self.size
        rows.put(line[of], at + self._place[told.cells[column]], values[column] / sizes[of])

    def _units_within_records(self, rows: Rows) -> None:
        """units <= records <= most * units in each cell, where a unit has so many there at most."""
        facts, most = self.problem.facts, self.problem.most_in_cells[self.cells]
        records, units = facts.records[self.cells], facts.units[self.cells]
        each = np.arange(self.size)
        record_columns, unit_columns = self.block(RECORDS).start + each, self.block(UNITS).start + each
        free = np.full(self.size, -INFINITY)
        first = rows.start(free, (records - units).astype(np.float64))
        rows.put(first + each, unit_columns, 1.0)
        rows.put(first + each, record_columns, -1.0)
        first = rows.start(free, (most * units - records).astype(np.float64))
        rows.put(first + each, record_columns, 1.0)
        rows.put(first + each, unit_columns, -most.astype(np.float64))

    def _units_within_parts(self, rows: Rows) -> None:
        """max(parts) <= parent <= sum(parts) where units do not add up."""
        relations, units = self.problem.unit_bounds, self.problem.facts.units
        if len(relations) == 0:
            return
        sizes = np.diff(relations.offsets)
        parents, parts = np.repeat(relations.parents, sizes), relations.children
        touched = (self._place[parents] >= 0) | (self._place[parts] >= 0)
        slack = (units[parents] - units[parts])[touched].astype(np.float64)
        first = rows.start(-slack, np.full(len(slack), INFINITY))
        each = first + np.arange(len(slack))
        self._put_units(rows, each, parents[touched], 1.0)
        self._put_units(rows, each, parts[touched], -1.0)
        sums = np.add.reduceat(units[parts], relations.offsets[:-1]) - units[relations.parents]
        first = rows.start(-sums.astype(np.float64), np.full(len(sums), INFINITY))
        line = first + np.arange(len(sums))
        self._put_units(rows, np.repeat(line, sizes), parts, 1.0)
        self._put_units(rows, line, relations.parents, -1.0)

    def _put_units(self, rows: Rows, lines: IntArray, cells: IntArray, value: float) -> None:
        kept = self._place[cells] >= 0
        rows.put(lines[kept], self.block(UNITS).start + self._place[cells[kept]], value)

    def _sums_within_bounds(self, rows: Rows, measure: int) -> None:
        """low * valid records <= sum <= high * valid records in each cell."""
        facts, scale = self.problem.facts.measures[measure], self.scales[measure]
        low, high, _ = record_bounds(self.problem, measure)
        truth, valid = facts.sums[self.cells], facts.valid_records[self.cells]
        each = np.arange(self.size)
        sums, records = self.block(SUMS + measure).start + each, self.block(RECORDS).start + each
        first = rows.start(np.minimum(0.0, (low * valid - truth) / scale), np.full(self.size, INFINITY))
        rows.put(first + each, sums, 1.0)
        rows.put(first + each, records, -low / scale)
        first = rows.start(np.full(self.size, -INFINITY), np.maximum(0.0, (high * valid - truth) / scale))
        rows.put(first + each, sums, 1.0)
        rows.put(first + each, records, -high / scale)


def record_bounds(problem: Problem, measure: int) -> tuple[float, float, bool]:
    """Bounds of a record's value within which sums are searched, and whether these are all that is known.

    An open or very wide side is closed at WIDE_BOUND times the largest mean of a cell.
    """
    facts = problem.facts.measures[measure]
    some = facts.valid_records > 0
    means = np.abs(facts.sums[some]) / facts.valid_records[some]
    limit = WIDE_BOUND * (float(means.max(initial=0.0)) or 1.0)
    low = -limit if facts.lower_bound is None else max(facts.lower_bound, -limit)
    high = limit if facts.upper_bound is None else min(facts.upper_bound, limit)
    return min(low, high), max(low, high), (low, high) == (facts.lower_bound, facts.upper_bound)
