"""What means over several windows of records tell together, by adding and subtracting them.

A window's mean is a sum over its records. A combination of several is a sum over those records whose parts
do not cancel. Where these are of few units it tells of them, though each window has units enough.
"""

from collections.abc import Sequence
from itertools import combinations, islice
from math import comb

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray

MOST_SUBSETS = 20_000
"""Sets of runs that are made to cancel, before it is taken for granted that few units are told of."""
NOTHING = 1e-9
"""Parts that are smaller than this cancel."""


def tells_of_few(windows: Sequence[IntArray], units: IntArray, minimum: int) -> bool:
    """Whether some combination of windows' means is a sum over one to `minimum` - 1 units.

    All combinations are looked at. Those with the fewest records are, up to a factor, determined by the
    records that cancel in them: with windows of rank r these contain r - 1 independent records, so every set
    of r - 1 runs of records that lie in the same windows is tried (the circuits of a matroid: Oxley, Matroid
    Theory, 2011, section 1.1). True where that would be too many.

    Args:
        windows: the records of each window, by their places in `units`.
        units: the unit of each record; in a window's mean each unit counts once.
        minimum: how many units there must be.
    """
    parts, members = _runs(windows, units)
    parts = _independent(parts)
    runs, rank = parts.shape
    if not rank:
        return False
    if comb(runs, rank - 1) > MOST_SUBSETS:
        return True
    if rank == 1:
        combined = parts.T
    else:
        chosen = np.array(list(islice(combinations(range(runs), rank - 1), MOST_SUBSETS)))
        _, sizes, directions = np.linalg.svd(parts[chosen])
        # Where less than r - 1 are independent others are, with which they are tried as well.
        single = sizes[:, -1] > NOTHING
        combined = directions[single, -1] @ parts.T
    told: BoolArray = np.abs(combined) > NOTHING
    counts = (told.astype(np.int64) @ members > 0).sum(axis=1)
    return bool(((counts > 0) & (counts < minimum)).any())


def _runs(windows: Sequence[IntArray], units: IntArray) -> tuple[FloatArray, IntArray]:
    """Records in the same windows with the same weight: weights (runs, windows) and units (runs, units)."""
    records, places = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *windows]), return_inverse=True)
    weights = np.zeros((len(records), len(windows)))
    start = 0
    for number, window in enumerate(windows):
        _, own, counts = np.unique(units[window], return_inverse=True, return_counts=True)
        weights[places[start : start + len(window)], number] = 1 / (counts[own] * len(counts))
        start += len(window)
    _, first, of_records = np.unique(weights.round(12), axis=0, return_index=True, return_inverse=True)
    runs = weights[first]
    _, who = np.unique(units[records], return_inverse=True)
    members = np.zeros((len(runs), int(who.max(initial=-1)) + 1), dtype=np.int64)
    members[of_records.reshape(-1), who] = 1
    return runs, members


def _independent(parts: FloatArray) -> FloatArray:
    """Columns of which none follows from those before it."""
    kept: list[int] = []
    for column in range(parts.shape[1]):
        if np.linalg.matrix_rank(parts[:, [*kept, column]], tol=NOTHING) > len(kept):
            kept.append(column)
    return parts[:, kept]
