"""Controlled rounding: a table of multiples of a base that still adds up.

Each value becomes a multiple next to it, multiples stay (zero-restricted), and the sum of the changes is as
small as can be: an integer program, whose linear relaxation is integral in two dimensions (Cox and Ernst
1982, Controlled Rounding, INFOR 20; Salazar-Gonzalez 2006, Controlled Rounding and Cell Perturbation,
Mathematical Programming 105). In three dimensions there may be no such table (Causey, Cox and Ernst 1985,
Applications of Transportation Theory to Statistical Problems, JASA 80); then the nearest one is sought that
goes farther.
"""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import Axis, FloatArray, additive_relations, number_of_cells
from sdcgate.methods.tables.rounding import MULTIPLE, floors
from sdcgate.methods.tables.solver import Deadline, Program, Rows

MOST_STEPS = 10
"""How many bases a rounded value may be away from the true one before none is sought."""


class Found(IntEnum):
    """What is known of a table that was sought; the numbers are the wire's."""

    UNSPECIFIED = 0
    OPTIMAL = 1
    """No other table is nearer."""
    FEASIBLE = 2
    """Time was over before it was shown that none is nearer."""
    INFEASIBLE = 3
    """There is none."""
    UNKNOWN = 4
    """Time was over before one was found."""


@dataclass(frozen=True, slots=True, eq=False)
class ControlledTable:
    """A rounded table, shape (cells,); none where `found` is INFEASIBLE or UNKNOWN."""

    found: Found
    values: FloatArray | None = field(repr=False)
    steps: int
    """Every value is less than so many bases from the true one; 1 is proper controlled rounding."""
    distance: float
    """Sum of absolute changes over all cells, margins too."""
    least_distance: float
    """No table within these steps is nearer than this."""


def controlled_rounding(
    axes: tuple[Axis, ...],
    values: FloatArray,
    base: float,
    seconds: float,
    released: FloatArray | None = None,
) -> ControlledTable:
    """The nearest additive table of multiples of the base.

    `values`, shape (cells,), must add up. `released`, where given, are values that have left already and
    bind, NaN where none has. Where no table within one base exists, steps are added until there is one; then
    multiples may move too, but no zero.

    Raises ValueError for a bad base, values that are not finite or do not add up, released values that are no
    multiples.
    """
    table = _Table(axes, values, base, released)
    deadline = Deadline(seconds)
    for steps in range(1, MOST_STEPS + 1):
        result = table.round(steps, deadline)
        if result.found is not Found.INFEASIBLE:
            return result
    return ControlledTable(Found.INFEASIBLE, None, MOST_STEPS, np.inf, np.inf)


class _Table:
    """The integer program of a table: columns are the step up to the upper neighbour, then steps beyond it,
    then steps below the lower neighbour, each for all cells."""

    def __init__(
        self, axes: tuple[Axis, ...], values: FloatArray, base: float, released: FloatArray | None
    ) -> None:
        cells = number_of_cells(axes)
        if values.shape != (cells,) or (released is not None and released.shape != (cells,)):
            raise ValueError(f"must be one value for each of {cells} cells")
        self._values, self._base = values, base
        self._whole, self._remainders = floors(values, base)
        self._released = None if released is None else _bound_steps(released, base, self._whole)
        relations = additive_relations(axes)
        self._relations = relations
        off = self._gaps(values)
        if np.any(np.abs(off) > MULTIPLE * max(base, np.abs(values).max(initial=0.0))):
            raise ValueError("values must add up")
        self._program = self._additive(cells)

    def _gaps(self, values: FloatArray) -> FloatArray:
        """By how much each total exceeds the sum of its parts."""
        relations = self._relations
        if not len(relations):
            return np.zeros(0)
        sums = np.add.reduceat(values[relations.children], relations.offsets[:-1])
        gaps: FloatArray = values[relations.parents] - sums
        return gaps

    def _additive(self, cells: int) -> Program:
        """The rows: the steps of the parts make up for what the floors of parts and parent differ by."""
        children, parents = self._relations.children, self._relations.parents
        gap = self._gaps(self._whole)
        rows = Rows()
        rows.start(gap, gap)
        of_parents = np.arange(len(parents))
        of_parts = np.repeat(of_parents, np.diff(self._relations.offsets))
        for block, sign in enumerate((1.0, 1.0, -1.0)):
            rows.put(of_parts, children + block * cells, sign)
            rows.put(of_parents, parents + block * cells, -sign)
        return Program(rows, 3 * cells, np.ones(3 * cells, dtype=np.bool_))

    def round(self, steps: int, deadline: Deadline) -> ControlledTable:
        """The nearest table in which every value is less than `steps` bases from the true one."""
        up = (self._remainders > 0).astype(np.float64)
        farther = np.where(self._values == 0, 0.0, float(steps - 1))
        # A value that is not negative stays so.
        down = np.where(self._values >= 0, np.minimum(farther, self._whole), farther)
        upper = np.concatenate([up, farther, down])
        lower = np.zeros(len(upper))
        if self._released is not None:
            bound = ~np.isnan(self._released)
            wanted = np.where(bound, self._released, 0.0)
            first = np.clip(wanted, 0, up)
            parts = [first, np.maximum(wanted - first, 0), np.maximum(-wanted, 0)]
            fixed = np.concatenate(parts)
            if np.any(fixed[np.tile(bound, 3)] > upper[np.tile(bound, 3)]):
                return ControlledTable(Found.INFEASIBLE, None, steps, np.inf, np.inf)
            lower = np.where(np.tile(bound, 3), fixed, lower)
            upper = np.where(np.tile(bound, 3), fixed, upper)
        return self._solved(steps, lower, upper, deadline)

    def _solved(
        self, steps: int, lower: FloatArray, upper: FloatArray, deadline: Deadline
    ) -> ControlledTable:
        cells = len(self._values)
        base, rest = self._base, self._remainders
        # To the lower neighbour it is the remainder; each step up changes that, each step beyond adds a base.
        costs = np.concatenate([base - 2 * rest, np.full(2 * cells, base)])
        best = self._program.best(-costs, lower, upper, deadline)
        if best.values is None:
            found = Found.INFEASIBLE if best.infeasible else Found.UNKNOWN
            return ControlledTable(found, None, steps, np.inf, np.inf if best.infeasible else 0.0)
        steps_taken = np.rint(best.values)
        up, farther, down = steps_taken.reshape(3, cells)
        multiples = self._whole + up + farther - down
        outside = (steps_taken < lower) | (steps_taken > upper)
        if outside.any() or self._gaps(multiples).any():
            # The solver's tolerances are not ours: what does not add up exactly is no controlled table.
            return ControlledTable(Found.UNKNOWN, None, steps, np.inf, 0.0)
        rounded = base * multiples
        distance = float(np.abs(rounded - self._values).sum())
        least = max(0.0, float(rest.sum()) - best.bound)
        proved = distance - least <= MULTIPLE * max(base, distance)
        return ControlledTable(
            Found.OPTIMAL if proved else Found.FEASIBLE, rounded, steps, distance, min(least, distance)
        )


def _bound_steps(released: FloatArray, base: float, whole: FloatArray) -> FloatArray:
    """How many steps above the lower neighbour released values are, NaN where none has left."""
    multiples = released / base
    nearest = np.rint(multiples)
    if np.any(np.abs(multiples - nearest) > MULTIPLE):
        raise ValueError("released values must be multiples of the base")
    steps: FloatArray = nearest - whole
    return steps
