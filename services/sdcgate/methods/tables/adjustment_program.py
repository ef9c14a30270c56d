"""The mixed integer program of controlled tabular adjustment.

Castro 2006, Minimum-distance controlled perturbation methods for large-scale tabular data protection, EJOR
171, section 2: a value becomes a + u - d; of a cell that must move a binary says whether it moves up, by its
upper level or more, or down, by its lower level or more; what parts move by, their totals move by.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray, Relations
from sdcgate.methods.tables.solver import Best, Deadline, Program, Rows

EXACT = 1e-6
"""By how much, as a share of the unit, a solution may miss a bound or a sum and still be taken."""


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """How far cells may and must move, shape (cells,) each.

    `up` and `down` are the most; cells in `moved` go up by at least `least_up`, or down by at least
    `least_down`. Cells in `fixed` change by exactly `change`, and the rooms say nothing of them.
    """

    up: FloatArray = field(repr=False)
    down: FloatArray = field(repr=False)
    moved: BoolArray = field(repr=False)
    least_up: FloatArray = field(repr=False)
    least_down: FloatArray = field(repr=False)
    fixed: BoolArray = field(repr=False)
    change: FloatArray = field(repr=False)

    @property
    def may_rise(self) -> BoolArray:
        """Cells that can go up by their upper level; of those that must move."""
        rises: BoolArray = self.moved & np.where(
            self.fixed, self.change >= self.least_up, self.up >= self.least_up
        )
        return rises

    @property
    def may_fall(self) -> BoolArray:
        """Cells that can go down by their lower level; of those that must move."""
        falls: BoolArray = self.moved & np.where(
            self.fixed, -self.change >= self.least_down, self.down >= self.least_down
        )
        return falls

    @property
    def stuck(self) -> BoolArray:
        """Cells that must move and can by themselves do neither."""
        stuck: BoolArray = self.moved & ~self.may_rise & ~self.may_fall
        return stuck


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """The sum of `slopes` times changes is at least `least`; slopes have shape (cells,)."""

    slopes: FloatArray = field(repr=False)
    least: float


class AdjustmentProgram:
    """Columns: steps up and down of all cells, which of the moved cells go up, and, if their number is
    limited, which cells change. `weights` are what a change of one costs."""

    def __init__(
        self,
        relations: Relations,
        moves: Moves,
        weights: FloatArray,
        whole: bool,
        most_changed: int | None,
        cuts: tuple[Cut, ...] = (),
    ) -> None:
        self._moves, self._whole = moves, whole
        self._moving = np.flatnonzero(moves.moved)
        cells, moving = len(weights), len(self._moving)
        self._flags = 0 if most_changed is None else cells
        self._columns = 2 * cells + moving + self._flags
        self._costs = np.concatenate([weights, weights, np.zeros(moving + self._flags)])
        self._rows = Rows()
        _add_up(self._rows, relations, cells)
        self._levels()
        if most_changed is not None:
            self._count_changes(most_changed)
        for cut in cuts:
            row = self._rows.start(np.array([cut.least]), np.array([np.inf]))
            columns = np.arange(2 * cells)
            self._rows.put(np.full(2 * cells, row), columns, np.concatenate([cut.slopes, -cut.slopes]))

    def _levels(self) -> None:
        """Whoever goes up goes up by the level and not down; whoever goes down likewise."""
        moves, moving = self._moves, self._moving
        cells, count = len(moves.up), len(moving)
        if not count:
            return
        places, directions = np.arange(count), 2 * cells + np.arange(count)
        up, down = (
            np.where(moves.fixed, np.abs(moves.change), room)[moving] for room in (moves.up, moves.down)
        )
        zero, infinite = np.zeros(count), np.full(count, np.inf)
        for step, level, room, upwards in (
            (moving, moves.least_up[moving], up, True),
            (moving + cells, moves.least_down[moving], down, False),
        ):
            sign = 1.0 if upwards else -1.0
            first = self._rows.start(zero if upwards else level, infinite)
            self._rows.put(first + places, step, 1.0)
            self._rows.put(first + places, directions, -sign * level)
            first = self._rows.start(-infinite, zero if upwards else room)
            self._rows.put(first + places, step, 1.0)
            self._rows.put(first + places, directions, -sign * room)

    def _count_changes(self, most: int) -> None:
        """No more than so many cells change."""
        moves, cells = self._moves, len(self._moves.up)
        first = self._columns - cells
        every = np.arange(cells)
        room = np.where(moves.fixed, np.abs(moves.change), np.maximum(moves.up, moves.down))
        row = self._rows.start(np.full(cells, -np.inf), np.zeros(cells))
        for step in (every, every + cells):
            self._rows.put(row + every, step, 1.0)
        self._rows.put(row + every, first + every, -room)
        row = self._rows.start(np.array([-np.inf]), np.array([float(most)]))
        self._rows.put(np.full(cells, row), first + every, 1.0)

    def best(self, deadline: Deadline, rising: BoolArray | None = None, nearest: bool = True) -> Best:
        """The nearest table that is found in time; changes of all cells are its values.

        With `rising`, shape (moved cells,), the directions are given. Without `nearest` any table will do.
        Its bound is of the negative distance.
        """
        cells = len(self._moves.up)
        lower, upper = self._bounds(rising)
        costs = -self._costs if nearest else np.zeros(self._columns)
        whole = np.arange(self._columns) >= 2 * cells
        if self._whole:
            whole[: 2 * cells] = True
        if rising is not None and not self._whole and not self._flags:
            values = Program(self._rows, self._columns).maximise(costs, lower, upper, deadline)
            found = Best(values, np.inf, infeasible=False)
        else:
            found = Program(self._rows, self._columns, whole).best(costs, lower, upper, deadline)
        if found.values is None:
            return found
        steps = found.values[: 2 * cells].reshape(2, cells)
        change = np.rint(steps[0] - steps[1]) if self._whole else steps[0] - steps[1]
        return Best(np.where(self._moves.fixed, self._moves.change, change), found.bound, infeasible=False)

    def _bounds(self, rising: BoolArray | None) -> tuple[FloatArray, FloatArray]:
        moves, moving = self._moves, self._moving
        up = np.where(moves.fixed, np.maximum(moves.change, 0), moves.up)
        down = np.where(moves.fixed, np.maximum(-moves.change, 0), moves.down)
        least = np.where(~moves.may_fall[moving], 1.0, 0.0)
        most = np.where(~moves.may_rise[moving], 0.0, 1.0)
        if rising is not None:
            least, most = np.maximum(least, rising), np.minimum(most, rising)
        fixed = [np.where(moves.fixed, side, 0.0) for side in (up, down)]
        unchanged, changed = np.zeros(self._flags), np.ones(self._flags)
        return np.concatenate([*fixed, least, unchanged]), np.concatenate([up, down, most, changed])


def _add_up(rows: Rows, relations: Relations, cells: int) -> None:
    """A total moves by what its parts move by."""
    if not len(relations):
        return
    nothing = np.zeros(len(relations))
    first = rows.start(nothing, nothing)
    of_totals = first + np.arange(len(relations))
    of_parts = np.repeat(of_totals, np.diff(relations.offsets))
    for block, sign in ((0, 1.0), (cells, -1.0)):
        rows.put(of_parts, relations.children + block, sign)
        rows.put(of_totals, relations.parents + block, -sign)


def balanced_directions(relations: Relations, moves: Moves) -> BoolArray:
    """Which of the moved cells should go up, shape (moved cells,): each to where it evens out its lines most.

    The greatest levels first, in turn up and down where nothing else speaks (Dandekar and Cox 2002,
    Synthetic tabular data: an alternative to complementary cell suppression).
    """
    moving = np.flatnonzero(moves.moved)
    rises, falls = moves.may_rise, moves.may_fall
    lines: dict[int, list[int]] = {int(cell): [] for cell in moving}
    of_parts = np.repeat(np.arange(len(relations)), np.diff(relations.offsets))
    chosen = np.flatnonzero(moves.moved[relations.children])
    for row, cell in zip(of_parts[chosen].tolist(), relations.children[chosen].tolist(), strict=True):
        lines[cell].append(row)
    uneven = np.zeros(len(relations))
    sizes: IntArray = np.argsort(-np.maximum(moves.least_up, moves.least_down)[moving], kind="stable")
    rising = np.zeros(len(moving), dtype=np.bool_)
    for turn, place in enumerate(sizes.tolist()):
        cell = int(moving[place])
        of_cell = lines[cell]
        up, down = moves.least_up[cell], moves.least_down[cell]
        gain = float(np.abs(uneven[of_cell] + up).sum() - np.abs(uneven[of_cell] - down).sum())
        rising[place] = rises[cell] and (not falls[cell] or gain < 0 or (gain == 0 and turn % 2 == 0))
        uneven[of_cell] += up if rising[place] else -down
    return rising
