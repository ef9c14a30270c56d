"""What means and sums over several windows of records tell together, by adding and subtracting them.

A window's mean is a sum over its records. A combination of several is a sum over those records whose parts
do not cancel. Where these are of few units it tells of them, though each window has units enough. A
percentile's window is a mean of units, each of which counts once; a step of a survival curve, or what lies
below a point of a Lorenz curve, a sum over records.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from math import comb

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.households import Households
from sdcgate.methods.tables.sensitivity import CLOSE

MOST_SUBSETS = 20_000
"""Sets of runs that are made to cancel, before it is taken for granted that few units are told of."""
NOTHING = 1e-9
"""Parts that are smaller than this cancel."""


@dataclass(frozen=True, slots=True, eq=False)
class _Members:
    """Who has records in runs, and how many must be told of."""

    units: IntArray = field(repr=False)
    """Shape (runs, units)."""
    homes: IntArray = field(repr=False)
    """Shape (runs, households)."""
    shares: FloatArray = field(repr=False)
    """What each household counts."""
    minimum: int
    fewest_homes: float

    def few(self, told: IntArray) -> BoolArray:
        """Which combinations, (combinations, runs), have somebody and too few, shape (combinations,)."""
        counts = (told @ self.units > 0).sum(axis=1)
        homes = (told @ self.homes > 0) @ self.shares
        few: BoolArray = (counts < self.minimum) | (homes < self.fewest_homes * (1 - CLOSE))
        few &= counts > 0
        return few

    def of(self, runs: IntArray) -> "_Members":
        """Of some runs."""
        return replace(self, units=self.units[runs], homes=self.homes[runs])


def tells_of_few(
    windows: Sequence[IntArray],
    units: IntArray,
    minimum: int,
    homes: Households | None = None,
    fewest_homes: float = 0.0,
    sums: Sequence[bool] | None = None,
) -> bool:
    """Whether some combination of windows' means is a sum over one to `minimum` - 1 units, or few households.

    All combinations are looked at. One of few units cancels wherever many are in the same windows: only such
    combinations are left, and they fall into those that have no records in common (the components of a
    matroid: Oxley, Matroid Theory, 2011, section 4.1). Among these the ones with the fewest records are, up
    to a factor, determined by the records that cancel in them: with rank r they contain r - 1 independent
    records, so every set of r - 1 runs of records that lie in the same windows is tried (the circuits:
    section 1.1). True where that would be too many.

    Args:
        windows: the records of each window, by their places in `units`.
        units: the unit of each record; in a window's mean each unit counts once.
        minimum: how many units there must be.
        homes: households of the records of `units`; None where none are asked.
        fewest_homes: how many of these there must be.
        sums: which windows are sums over their records in place of means; none unless given.
    """
    parts, run, records = _runs(windows, units, [False] * len(windows) if sums is None else sums)
    # Without households those of the units, of whom none are asked.
    living = Households(units, np.ones(int(units.max(initial=-1)) + 1)) if homes is None else homes
    own, _ = _members(run, units[records], len(parts))
    homes_of, which = _members(run, living.holders[records], len(parts))
    members = _Members(own, homes_of, living.shares[which], minimum, fewest_homes)
    few = members.few(np.eye(len(parts), dtype=np.int64))
    left, members = _reduced(parts[few] @ _cancelling(parts[~few])), members.of(np.flatnonzero(few))
    return any(
        _told_of_few(left[np.ix_(rows, columns)], members.of(rows)) for rows, columns in _components(left)
    )


def _cancelling(parts: FloatArray) -> FloatArray:
    """A basis of the combinations in which some runs cancel, shape (windows, combinations)."""
    if not len(parts):
        return np.eye(parts.shape[1])
    _, sizes, directions = np.linalg.svd(parts)
    basis: FloatArray = directions[int((sizes > NOTHING).sum()) :].T
    return basis


def _reduced(parts: FloatArray) -> FloatArray:
    """Combinations of the same columns, of which each has a row that no other has; shape (runs, rank)."""
    left, kept = parts.T.copy(), 0
    while kept < len(left):
        rest = np.abs(left[kept:])
        if not rest.size or rest.max() <= NOTHING:
            break
        row, column = divmod(int(rest.argmax()), rest.shape[1])
        left[[kept, kept + row]] = left[[kept + row, kept]]
        left[kept] /= left[kept, column]
        factors = left[:, column].copy()
        factors[kept] = 0.0
        left -= np.outer(factors, left[kept])
        left[np.abs(left) <= NOTHING] = 0.0
        kept += 1
    return left[:kept].T


def _components(parts: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows and columns that have to do with each other, in the form of `_reduced`."""
    runs, rank = parts.shape
    rows, columns = np.nonzero(parts)
    size = (runs + rank, runs + rank)
    graph = coo_array((np.ones(len(rows)), (rows, columns + runs)), shape=size)
    number, labels = connected_components(graph, directed=False)
    for label in range(number):
        own = np.flatnonzero(labels[runs:] == label)
        if len(own):
            yield np.flatnonzero(labels[:runs] == label), own


def _told_of_few(parts: FloatArray, members: _Members) -> bool:
    """Whether a combination of columns, none of which follows from others, is of somebody and too few."""
    runs, rank = parts.shape
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
    return bool(members.few((np.abs(combined) > NOTHING).astype(np.int64)).any())


def _members(run: IntArray, holders: IntArray, runs: int) -> tuple[IntArray, IntArray]:
    """Whether holders have a record in runs, shape (runs, holders), of those that occur; and these."""
    which, who = np.unique(holders, return_inverse=True)
    members = np.zeros((runs, len(which)), dtype=np.int64)
    members[run, who] = 1
    return members, which


def _runs(
    windows: Sequence[IntArray], units: IntArray, sums: Sequence[bool]
) -> tuple[FloatArray, IntArray, IntArray]:
    """Records in the same windows with the same weight: weights (runs, windows).

    With the run of each record that lies in any, and its place.
    """
    records, places = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *windows]), return_inverse=True)
    weights = np.zeros((len(records), len(windows)))
    start = 0
    for number, (window, is_sum) in enumerate(zip(windows, sums, strict=True)):
        # Up to a factor, which tells nothing.
        weights[places[start : start + len(window)], number] = 1.0 if is_sum else _of_mean(units[window])
        start += len(window)
    first, of_records = _alike(weights.round(12))
    return weights[first], of_records, records


def _of_mean(units: IntArray) -> FloatArray:
    """What each record counts where units count once."""
    _, own, counts = np.unique(units, return_inverse=True, return_counts=True)
    weights: FloatArray = 1 / counts[own]
    return weights


def _alike(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """The first of each kind of equal rows, and the kind of each row."""
    plain = np.isin(rows, (0.0, 1.0)).all(axis=0)
    bits = np.packbits(rows[:, plain] > 0, axis=1)
    long = np.ascontiguousarray(np.pad(bits, ((0, 0), (0, 1)))).view(np.dtype((np.void, bits.shape[1] + 1)))
    _, kinds = np.unique(long.reshape(-1), return_inverse=True)
    for column in rows[:, ~plain].T:
        values, places = np.unique(column, return_inverse=True)
        _, kinds = np.unique(kinds * len(values) + places, return_inverse=True)
    _, first = np.unique(kinds, return_index=True)
    return first, kinds
