"""An intruder who has a published table and nothing else: what stands in its cells, and what everybody knows.

Built for the tests alone, with SciPy's integer programs: nothing of the product is used.
"""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack


@dataclass
class Published:
    """A table as it leaves: withheld figures are NaN. Cells are row-major over the codes of all axes.

    `parents[axis][code]` is the code that a code is part of, -1 for totals. Of a measure everybody knows the
    least and greatest value of a record, infinite where there is none.
    """

    parents: list[list[int]]
    counts: np.ndarray
    sums: np.ndarray | None
    marked_are_not_empty: bool
    lowest: float = -np.inf
    highest: float = np.inf
    shape: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.shape = tuple(len(axis) for axis in self.parents)


class PublishedIntruder:
    """All tables that look like the published one, as one program: counts first, then sums."""

    def __init__(self, table: Published) -> None:
        self.cells = int(np.prod(table.shape))
        blocks = 1 if table.sums is None else 2
        self.columns = blocks * self.cells
        withheld = np.isnan(table.counts)
        least = np.where(withheld, 1.0 if table.marked_are_not_empty else 0.0, table.counts)
        most = np.where(withheld, np.inf, table.counts)
        equations = self._sums(table)
        if table.sums is None:
            self.lower, self.upper = least, most
            self.constraints = LinearConstraint(equations, 0, 0)
        else:
            hidden = np.isnan(table.sums)
            self.lower = np.concatenate([least, np.where(hidden, -np.inf, table.sums)])
            self.upper = np.concatenate([most, np.where(hidden, np.inf, table.sums)])
            self._with_sums(table, equations, hidden)
        self._seen = np.full(self.columns, np.inf), np.full(self.columns, -np.inf)
        self.whole = np.repeat([1] + [0] * (blocks - 1), self.cells)

    def _sums(self, table: Published) -> csr_array:
        """A row for each code with parts and each way of choosing the codes of all other axes."""
        rows, columns, values, count = [], [], [], 0
        for place, parents in enumerate(table.parents):
            others = [range(size) for axis, size in enumerate(table.shape) if axis != place]
            for code in range(len(parents)):
                parts = [part for part, parent in enumerate(parents) if parent == code]
                if not parts:
                    continue
                for rest in product(*others):
                    for one, value in [(code, -1.0), *((part, 1.0) for part in parts)]:
                        index = (*rest[:place], one, *rest[place:])
                        rows.append(count)
                        columns.append(int(np.ravel_multi_index(index, table.shape)))
                        values.append(value)
                    count += 1
        return csr_array((values, (rows, columns)), shape=(count, self.cells))

    def _with_sums(self, table: Published, equations: csr_array, hidden: np.ndarray) -> None:
        """Sums add up as counts do, but for what floating point erred, and keep to their bounds."""
        none = csr_array(equations.shape)
        matrices = [csr_array(np.hstack([equations.toarray(), none.toarray()]))]
        matrices.append(csr_array(np.hstack([none.toarray(), equations.toarray()])))
        room = 1e-9 * max(1.0, float(np.nanmax(np.abs(table.sums), initial=0.0)))
        rows = equations.shape[0]
        low, high = [np.zeros(rows), np.full(rows, -room)], [np.zeros(rows), np.full(rows, room)]
        chosen = np.eye(self.cells)[hidden]
        for bound, ends in ((table.lowest, (-room, np.inf)), (table.highest, (-np.inf, room))):
            if np.isfinite(bound):
                matrices.append(csr_array(np.hstack([-bound * chosen, chosen])))
                low.append(np.full(len(chosen), ends[0]))
                high.append(np.full(len(chosen), ends[1]))
        self.constraints = LinearConstraint(vstack(matrices), np.concatenate(low), np.concatenate(high))

    def interval(self, cell: int, of_sum: bool = False) -> tuple[float, float]:
        """Between what he knows a count, or a sum, of a cell to lie."""
        return -self._greatest(cell, of_sum, -1.0), self._greatest(cell, of_sum, 1.0)

    def seen(self, cell: int, of_sum: bool = False) -> tuple[float, float]:
        """Between what it lies in tables that he found so far: each looks like the published one."""
        place = cell + self.cells * of_sum
        return self._seen[0][place], self._seen[1][place]

    def look(self, cell: int, counts: np.ndarray) -> None:
        """Look how far a sum goes beside these counts of all cells, which is quicker than beside any."""
        bounds = Bounds(self.lower.copy(), self.upper.copy())
        bounds.lb[: self.cells] = bounds.ub[: self.cells] = counts
        for way in (1.0, -1.0):
            self._solve(cell + self.cells, way, bounds)

    def _greatest(self, cell: int, of_sum: bool, way: float) -> float:
        """The greatest value in a direction, infinite where nothing ends it."""
        return self._solve(cell + self.cells * of_sum, way, Bounds(self.lower, self.upper))

    def _solve(self, column: int, way: float, bounds: Bounds) -> float:
        cost = np.zeros(self.columns)
        cost[column] = -way
        found = milp(
            cost,
            constraints=self.constraints,
            bounds=bounds,
            integrality=self.whole,
            options={"presolve": False},
        )
        if found.status in (3, 4):
            return np.inf
        if found.status != 0:
            raise AssertionError(found.message)
        self._seen = np.minimum(self._seen[0], found.x), np.maximum(self._seen[1], found.x)
        return -float(found.fun)
