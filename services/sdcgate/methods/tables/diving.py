"""Whole numbers from linear programs: a solution is rounded little by little, and mended after each step.

Fractional diving (Achterberg, Constraint Integer Programming, TU Berlin, 2007, chapter 9): the columns
that are nearest to whole numbers are held there, and the program is solved again from the last basis, until
all are whole. It may fail where there are solutions, and finds some that are not the best; it is far quicker
than branching.
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.solver import Deadline, Program

NEAR = 1e-6
SHARE = 0.25
"""Share of the fractional columns that are held at once; those nearest to a whole number."""
MOST_STEPS = 60


def dive(
    program: Program,
    cost: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    deadline: Deadline,
    whole: BoolArray,
    parts: int = 1,
) -> FloatArray | None:
    """A solution of a linear program with whole numbers, shape (quantities,); None where none was found.

    Args:
        program: the linear program.
        cost: what is maximised, a bit less than it could be; shape (columns,).
        bounds: least and greatest value of each column; those of whole quantities must be whole.
        deadline: when to give up.
        whole: which quantities must be whole, shape (quantities,).
        parts: how many columns each quantity is the sum of, one block of columns after the other.
    """
    lower, upper = bounds
    lower, upper = lower.copy(), upper.copy()
    values = program.maximise(cost, lower, upper, deadline)
    share = SHARE
    for _ in range(MOST_STEPS):
        if values is None:
            return None
        sums = values.reshape(parts, -1).sum(axis=0)
        near = np.rint(sums)
        off = np.where(whole, np.abs(sums - near), 0.0)
        fractional = np.flatnonzero(off > NEAR)
        if len(fractional) == 0:
            rounded: FloatArray = np.where(whole, near, sums)
            return rounded
        nearest = fractional[np.argsort(off[fractional], kind="stable")]
        chosen = nearest[: max(1, int(share * len(nearest)))]
        before = lower.copy(), upper.copy()
        _hold(lower, upper, chosen, near[chosen], parts)
        found = program.maximise(cost, lower, upper, deadline)
        if found is None:
            # Held too much at once, or at the wrong side.
            lower, upper = before
            first = nearest[:1]
            other = near[first] if len(chosen) > 1 else 2 * np.floor(sums[first]) + 1 - near[first]
            _hold(lower, upper, first, other, parts)
            share /= 4
            found = program.maximise(cost, lower, upper, deadline)
        values = found
    return None


def _hold(lower: FloatArray, upper: FloatArray, which: np.ndarray, sums: FloatArray, parts: int) -> None:
    """Hold sums of columns at values that their bounds allow: the first part goes as far as it can."""
    size = len(lower) // parts
    left = sums.copy()
    for part in range(parts):
        columns = part * size + which
        mine = np.clip(left, lower[columns], upper[columns])
        lower[columns] = upper[columns] = mine
        left = left - mine
