"""An intruder written independently of the product, with scipy's solvers, to attack published tables."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from sdcgate.methods.cells import TOTAL, cell_codes

# Greater than any figure of the tests' tables has to be.
FAR = 1e5


def table_equations(axes, along=None):
    """All sums of a flat table: each total along one axis, of some, is the sum of the axis's other codes."""
    codes = cell_codes(axes)
    lookup = {tuple(cell): position for position, cell in enumerate(codes.T)}
    rows = []
    for cell, position in lookup.items():
        for place, axis in enumerate(axes):
            if axis.codes[cell[place]] == TOTAL and (along is None or place in along):
                row = np.zeros(len(lookup))
                row[position] = -1
                for code in range(len(axis.codes) - 1):
                    row[lookup[(*cell[:place], code, *cell[place + 1 :])]] = 1
                rows.append(row)
    return np.array(rows).reshape(len(rows), len(lookup))


class Intruder:
    """Everything published as one integer program over records, units and sums of every cell."""

    def __init__(self, problem, withheld):
        facts, cells = problem.facts, len(problem.facts)
        self.cells, self.measures = cells, len(facts.measures)
        self.columns = cells * (2 + self.measures)
        unknown = (withheld | problem.absent) & ~problem.known
        floor = np.where(withheld & ~problem.absent & (not problem.zeros_withheld), 1, 0)
        true = [facts.records, facts.units, *(measure.sums for measure in facts.measures)]
        least = [floor, floor] + [np.full(cells, -np.inf)] * self.measures
        self.lower = np.concatenate([np.where(unknown, low, x) for low, x in zip(least, true, strict=True)])
        self.upper = np.concatenate([np.where(unknown, np.inf, x) for x in true])
        self.rows, self.low, self.high = [], [], []
        equations = table_equations(problem.axes)
        for known in problem.known_sums:
            row = np.zeros(cells)
            row[known] = 1
            equations = np.vstack([equations, row])
        varying = set() if problem.units_additive else problem.varying_axes
        varying = set(range(len(problem.axes))) if varying is None else varying
        of_units = table_equations(problem.axes, set(range(len(problem.axes))) - varying)
        for block, x in enumerate(true):
            add_up = equations if block != 1 or problem.units_additive else of_units
            self._put({block: add_up}, add_up @ x, add_up @ x)
        each = np.eye(cells)
        self._put({0: each, 1: -each}, np.zeros(cells), np.full(cells, np.inf))
        self._put({1: problem.records_per_unit * each, 0: -each}, np.zeros(cells), np.full(cells, np.inf))
        self._units_of_parts(table_equations(problem.axes, varying))
        for number, measure in enumerate(facts.measures):
            # All records of the tests' tables that are attacked have their measures.
            assert np.array_equal(measure.valid_records, facts.records)
            if measure.lower_bound is not None:
                bound = {2 + number: each, 0: -measure.lower_bound * each}
                self._put(bound, np.full(cells, -1e-9), np.full(cells, np.inf))
            if measure.upper_bound is not None:
                bound = {2 + number: each, 0: -measure.upper_bound * each}
                self._put(bound, np.full(cells, -np.inf), np.full(cells, 1e-9))

    def _units_of_parts(self, equations):
        for row in equations:
            parent = (row < 0).astype(float)
            self._put({1: row[None]}, [0], [np.inf])
            for part in np.flatnonzero(row > 0):
                one = np.zeros(len(row))
                one[part] = 1
                self._put({1: (parent - one)[None]}, [0], [np.inf])

    def _put(self, blocks, low, high):
        rows = np.zeros((len(low), self.columns))
        for block, matrix in blocks.items():
            rows[:, block * self.cells : (block + 1) * self.cells] += matrix
        self.rows.append(rows)
        self.low.append(np.asarray(low, dtype=float))
        self.high.append(np.asarray(high, dtype=float))

    def width(self, quantity, cell):
        """How wide he knows records (0), units (1) or a measure's sum (2 and up) of a cell: exact to 1e-6."""
        lower, upper = self.interval(quantity, cell)
        return upper - lower

    def interval(self, quantity, cell):
        """Between what he knows it to lie."""
        ends = []
        for direction in (1.0, -1.0):
            cost = np.zeros(self.columns)
            cost[quantity * self.cells + cell] = direction
            found = self._least(cost, self.lower, self.upper)
            endless = found.status in (3, 4)
            if found.status == 2:
                # SciPy 1.17 called programs infeasible that have no end, and that the true table keeps to.
                found = self._least(cost, np.maximum(self.lower, -FAR), np.minimum(self.upper, FAR))
                endless = found.status == 0 and abs(found.fun) > FAR / 10
            if endless:
                return -np.inf, np.inf
            assert found.status == 0, found.message
            ends.append(found.fun)
        return ends[0], -ends[1]

    def _least(self, cost, lower, upper):
        return milp(
            cost,
            constraints=LinearConstraint(
                np.vstack(self.rows), np.concatenate(self.low), np.concatenate(self.high)
            ),
            bounds=Bounds(lower, upper),
            integrality=np.repeat([1, 1] + [0] * self.measures, self.cells),
            # With presolve SciPy 1.17 cut off a table that agrees with everything, and called it optimal.
            options={"presolve": False},
        )
