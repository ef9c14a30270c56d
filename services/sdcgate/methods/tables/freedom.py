"""In which directions a table can move while its sums stay, by linear algebra alone.

Bounds and integers are left out, so that what is found fixed is fixed, and what is found free need not be.
Where two cells always move in proportion, who is told one of them can compute the other: the test that
Gaussian elimination makes (Langsrud, Privacy in Statistical Databases, 2024).
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.problem import Equations, Problem

TOLERANCE = 1e-9
MOST_CELLS = 700
"""Larger patterns are not looked at: finding their directions would take longer than it saves."""


class Freedom:
    """The orthogonal projection on the moves of some cells that keep all equations, cells told step by step.

    `projection[i, j]` is how far cell j goes with cell i in the shortest move with i; cell i is fixed where
    the diagonal is zero. Without cells, or with more than MOST_CELLS, nothing is ever found.
    """

    def __init__(self, equations: Equations, cells: IntArray, watched: BoolArray) -> None:
        self.cells = cells if len(cells) <= MOST_CELLS else cells[:0]
        self._watched = watched[self.cells]
        place = np.full(len(watched), -1, dtype=np.int64)
        place[self.cells] = np.arange(len(self.cells))
        self._place = place
        kept = place[equations.cells] >= 0
        matrix = np.zeros((len(equations), len(self.cells)))
        matrix[equations.rows[kept], place[equations.cells[kept]]] = equations.signs[kept]
        sizes, directions = np.linalg.eigh(matrix.T @ matrix)
        free = directions[:, sizes <= TOLERANCE * max(1.0, sizes.max(initial=0.0))]
        self._projection: FloatArray = free @ free.T

    def gives_away(self, cell: int) -> bool:
        """Whether one of the watched cells that still moves would not, were this cell told."""
        place = int(self._place[cell])
        if place < 0:
            return False
        diagonal = np.diag(self._projection)
        own = diagonal[place]
        with_it = self._projection[place]
        fixed = diagonal * own - with_it * with_it <= TOLERANCE * own
        fixed &= self._watched & (diagonal > TOLERANCE)
        fixed[place] = False
        return bool(own > TOLERANCE and fixed.any())

    def tell(self, cell: int) -> None:
        """Fix a cell, which is then not watched any more."""
        place = int(self._place[cell])
        if place < 0:
            return
        self._watched[place] = False
        with_it = self._projection[place].copy()
        if with_it[place] > TOLERANCE:
            self._projection -= np.outer(with_it, with_it) / with_it[place]


def superfluous(problem: Problem, withheld: BoolArray, candidates: IntArray, most: int) -> BoolArray:
    """Candidates, tried in their order, that could be told together without giving away a withheld cell.

    One flag a cell, at most so many of them. Bounds, integers and widths may speak against them still.
    """
    unknown = problem.unknown_quantities(withheld)
    quantities = [(problem.equations, unknown[0])]
    for measure, equations in enumerate(problem.sum_equations):
        mask = unknown[2 + measure]
        if not any(_same(equations, known) and np.array_equal(mask, other) for known, other in quantities):
            quantities.append((equations, mask))
    directions = [Freedom(equations, np.flatnonzero(mask), withheld) for equations, mask in quantities]
    told = np.zeros_like(withheld)
    for cell in (int(candidate) for candidate in candidates):
        if told.sum() >= most:
            break
        if not any(one.gives_away(cell) for one in directions):
            told[cell] = True
            for one in directions:
                one.tell(cell)
    return told


def _same(one: Equations, other: Equations) -> bool:
    return one is other or (
        np.array_equal(one.cells, other.cells)
        and np.array_equal(one.signs, other.signs)
        and np.array_equal(one.starts, other.starts)
    )
