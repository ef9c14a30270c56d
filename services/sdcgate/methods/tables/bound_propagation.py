"""How far each count can move at most, by its equations one at a time: quick, and no narrower than the truth.

In an equation what a cell can move is bounded by what all the others can (bound propagation; Fourier 1826, in
presolvers since Brearley, Mitra and Williams, Mathematical Programming 8, 1975).
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.problem import Problem

MOST_ROUNDS = 20


def record_ranges(problem: Problem, withheld: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Least and greatest deviation of the records of each cell under a pattern, shape (cells,) each.

    Every table that an intruder cannot exclude lies between them.
    """
    unknown = problem.unknown_quantities(withheld)[0]
    floors = problem.floors(withheld)
    lower = np.where(unknown, floors - problem.facts.records, 0).astype(np.float64)
    upper = np.where(unknown, np.inf, 0.0)
    equations = problem.equations
    if len(equations) == 0:
        return lower, upper
    cells, signs, rows, count = equations.cells, equations.signs, equations.rows, len(equations)
    for _ in range(MOST_ROUNDS):
        ends = (
            np.where(signs > 0, lower[cells], -upper[cells]),
            np.where(signs > 0, upper[cells], -lower[cells]),
        )
        least, most = (_of_others(end, rows, count) for end in ends)
        # signs * moved = -(what the others move)
        least, most = -most, -least
        new_lower, new_upper = lower.copy(), upper.copy()
        np.maximum.at(new_lower, cells, np.where(signs > 0, least, -most))
        np.minimum.at(new_upper, cells, np.where(signs > 0, most, -least))
        if np.array_equal(new_lower, lower) and np.array_equal(new_upper, upper):
            break
        lower, upper = new_lower, new_upper
    return lower, upper


def _of_others(ends: FloatArray, rows: np.ndarray, count: int) -> FloatArray:
    """For each entry the sum of the others of its row; infinite where one of them is."""
    finite = np.isfinite(ends)
    sums = np.bincount(rows, np.where(finite, ends, 0.0), count)
    open_ends = np.bincount(rows, ~finite, count)
    others = sums[rows] - np.where(finite, ends, 0.0)
    infinite = open_ends[rows] - ~finite > 0
    # All infinite ends of one side have one sign.
    sign = np.sign(ends[~finite][0]) if (~finite).any() else 1.0
    return np.where(infinite, sign * np.inf, others)
