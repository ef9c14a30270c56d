"""What true counts a published table leaves possible, when each published value hides some of them.

Whoever knows by how much a count may have been changed knows an interval for each cell, and that the true
table adds up: together that may be narrower than the interval alone (the audit of Fischetti and Salazar 2001,
Management Science 47, with intervals in place of suppressed cells). As for patterns (`witnesses`), what is
possible is shown by complete tables of whole numbers; the true one is always the first.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import (
    Axis,
    BoolArray,
    FloatArray,
    IntArray,
    Relations,
    additive_relations,
    number_of_cells,
)
from sdcgate.methods.tables.problem import Proof
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
    axes: tuple[Axis, ...], true: IntArray, known: Intervals, asked: BoolArray, width: int, seconds: float
) -> FeasibleCounts:
    """Whether each cell that is asked for may have counts `width` apart.

    Whoever sees the table is taken to know that each count lies in its interval and that counts add up along
    every axis. Shapes (cells,).

    Raises ValueError where shapes do not fit, or where the true table is not among those that are possible.
    """
    count = number_of_cells(axes)
    if any(column.shape != (count,) for column in (true, known.lower, known.upper, asked)):
        raise ValueError(f"must be one value for each of {count} cells")
    relations = additive_relations(axes)
    if not _possible(relations, true.astype(np.float64), known):
        raise ValueError("the true counts must add up and lie within what is known of them")
    search = _Search(relations, known, true)
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


def _possible(relations: Relations, values: FloatArray, known: Intervals) -> bool:
    """Whether a table adds up exactly and lies within the intervals."""
    if np.any((values < known.lower) | (values > known.upper)):
        return False
    if not len(relations):
        return True
    sums = np.add.reduceat(values[relations.children], relations.offsets[:-1])
    return bool(np.all(sums == values[relations.parents]))


class _Search:
    """The tables that are known to be possible, and programs that find more."""

    def __init__(self, relations: Relations, known: Intervals, true: IntArray) -> None:
        self._relations, self._known = relations, known
        self.lower, self.upper = true.copy(), true.copy()
        rows = _additive_rows(relations)
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
        whole = np.rint(found)
        if np.abs(found - whole).max() > WHOLE or not _possible(self._relations, whole, self._known):
            return False
        counts = whole.astype(np.int64)
        np.minimum(self.lower, counts, out=self.lower)
        np.maximum(self.upper, counts, out=self.upper)
        return True


def _additive_rows(relations: Relations) -> Rows:
    rows = Rows()
    zeros = np.zeros(len(relations))
    rows.start(zeros, zeros)
    rows.put(np.repeat(np.arange(len(relations)), np.diff(relations.offsets)), relations.children, 1.0)
    rows.put(np.arange(len(relations)), relations.parents, -1.0)
    return rows
