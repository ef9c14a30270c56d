"""What true counts a published table leaves possible, when each published value hides some of them.

Whoever knows by how much a count may have been changed knows an interval for each cell, and that the true
table adds up: together that may be narrower than the interval alone (the audit of Fischetti and Salazar 2001,
Management Science 47, with intervals in place of suppressed cells). As for patterns (`witnesses`), what is
possible is shown by complete tables of whole numbers; the true one is always the first.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.problem import Equations, Proof
from sdcgate.methods.tables.rounding import Intervals
from sdcgate.methods.tables.solver import Deadline, Program, Rows

WHOLE = 1e-6
"""By how much a solution may miss whole numbers and still be one of them."""
SWEEPS = 8
"""Programs that move all cells at once, each in other directions, before cells are taken one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class FeasibleCounts:
    """What is possible: tables are known in which cells have the counts `lower` and `upper`, shape (cells,).

    `proof` is about the cells that were asked for: PROVED where each of them can be either of two counts at
    least the width apart, REFUTED where one cannot; `unprotected` are those of which it is not shown.
    """

    proof: Proof
    lower: IntArray = field(repr=False)
    upper: IntArray = field(repr=False)
    unprotected: BoolArray = field(repr=False)


def feasible_counts(
    equations: Equations, true: IntArray, known: Intervals, asked: BoolArray, width: int, seconds: float
) -> FeasibleCounts:
    """Whether each cell that is asked for may have counts `width` apart.

    Whoever sees the table is taken to know that each count lies in its interval, and the value of each of the
    equations: that parts add up to totals, and sums known from elsewhere. Shapes (cells,).

    Raises ValueError where shapes do not fit, or where a true count is not within its interval.
    """
    count = len(true)
    if any(column.shape != (count,) for column in (true, known.lower, known.upper, asked)):
        raise ValueError(f"must be one value for each of {count} cells")
    if np.any((true < known.lower) | (true > known.upper)):
        raise ValueError("the true counts must lie within what is known of them")
    found = _moved_alone(equations, true, known)
    if not np.any(asked & (found[1] - found[0] < width)):
        return FeasibleCounts(Proof.PROVED, *found, np.zeros(count, dtype=np.bool_))
    search = _Search(equations, known, true, *found)
    deadline = Deadline(seconds)
    search.sweep(asked, width, deadline)
    refuted = False
    for cell in search.narrow(asked, width).tolist():
        if search.upper[cell] - search.lower[cell] < width:
            most = search.settle(cell, width, deadline)
            refuted |= most is not None and most < width
    narrow = np.zeros(count, dtype=np.bool_)
    narrow[search.narrow(asked, width)] = True
    proof = Proof.REFUTED if refuted else Proof.UNPROVED if narrow.any() else Proof.PROVED
    return FeasibleCounts(proof, search.lower, search.upper, narrow)


def _moved_alone(equations: Equations, true: IntArray, known: Intervals) -> tuple[IntArray, IntArray]:
    """Least and greatest counts in tables in which one inner cell and all its totals move by the same.

    That needs no program: the cell can move as far as the least that it and its totals may.
    """
    rows = equations.rows
    total = equations.signs < 0
    summed = np.zeros(len(equations), dtype=np.bool_)
    summed[rows[total]] = True
    fixed = equations.cells[~summed[rows]]
    parts = ~total & summed[rows]
    of_part = np.zeros(len(equations), dtype=np.int64)
    of_part[rows[total]] = equations.cells[total]
    children, parents = equations.cells[parts], of_part[rows[parts]]
    above, below = np.floor(known.upper) - true, true - np.ceil(known.lower)
    above[fixed] = below[fixed] = 0
    up, down = (_of_inner_cells(room.astype(np.int64), children, parents) for room in (above, below))
    return true - down, true + up


def _of_inner_cells(room: IntArray, children: IntArray, parents: IntArray) -> IntArray:
    """By how much each cell moves with the inner cell beneath it that has most room, its totals' included."""
    least = room.copy()
    while True:
        before = least.copy()
        np.minimum.at(least, children, least[parents])
        if np.array_equal(least, before):
            break
    inner = np.ones(len(room), dtype=np.bool_)
    inner[parents] = False
    most = np.where(inner, least, 0)
    while True:
        before = most.copy()
        np.maximum.at(most, parents, most[children])
        if np.array_equal(most, before):
            return most


class _Search:
    """The tables that are known to be possible, and programs that find more."""

    def __init__(
        self, equations: Equations, known: Intervals, true: IntArray, lower: IntArray, upper: IntArray
    ) -> None:
        self._equations, self._known = equations, known
        self._sides = equations.residuals(true[None])[0]
        self.lower, self.upper = lower, upper
        rows = Rows()
        rows.start(self._sides.astype(np.float64), self._sides.astype(np.float64))
        rows.put(equations.rows, equations.cells, equations.signs)
        every = np.ones(len(true), dtype=np.bool_)
        self._linear = Program(rows, len(true))
        self._rough = Program(rows, len(true), every, rough=True)
        self._integer = Program(rows, len(true), every)

    def narrow(self, asked: BoolArray, width: int) -> IntArray:
        """Cells that are asked for and not yet wide enough."""
        return np.flatnonzero(asked & (self.upper - self.lower < width))

    def sweep(self, asked: BoolArray, width: int, deadline: Deadline) -> None:
        """Move all cells that are not wide enough at once, in directions that vary."""
        for turn in range(SWEEPS):
            narrow = self.narrow(asked, width)
            if not len(narrow):
                return
            cost = np.zeros(len(asked))
            cost[narrow] = np.random.default_rng(turn).choice([-1.0, 1.0], len(narrow))
            known = self._known
            found = self._linear.maximise(cost, known.lower, known.upper, deadline)
            if found is None or not self._note(found):
                rough = self._rough.maximise(cost, known.lower, known.upper, deadline)
                if rough is not None:
                    self._note(rough)

    def settle(self, cell: int, width: int, deadline: Deadline) -> float | None:
        """Widen one cell as far as needed.

        Returns how wide it is or can be at most; None where that was not found in time.
        """
        most = 0.0
        for direction in (1.0, -1.0):
            cost = np.zeros(len(self.lower))
            cost[cell] = direction
            known = self._known
            found = self._linear.maximise(cost, known.lower, known.upper, deadline)
            if found is None:
                return None
            if not self._note(found):
                best = self._integer.best(cost, known.lower, known.upper, deadline)
                if best.values is None:
                    return None
                self._note(best.values)
                most += best.bound
            else:
                most += direction * float(np.rint(found[cell]))
            if self.upper[cell] - self.lower[cell] >= width:
                return float(width)
        return most

    def _note(self, found: FloatArray) -> bool:
        """Keep a solution if it is a possible table of whole numbers; says whether it is."""
        counts = np.rint(found).astype(np.int64)
        outside = (counts < self._known.lower) | (counts > self._known.upper)
        if np.abs(found - counts).max() > WHOLE or outside.any():
            return False
        if np.any(self._equations.residuals(counts[None])[0] != self._sides):
            return False
        np.minimum(self.lower, counts, out=self.lower)
        np.maximum(self.upper, counts, out=self.upper)
        return True
