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

    units: FloatArray = field(repr=False)
    """1 where a unit has a record in a run, shape (runs, units)."""
    homes: FloatArray = field(repr=False)
    """Shape (runs, households)."""
    shares: FloatArray = field(repr=False)
    """What each household counts."""
    minimum: int
    fewest_homes: float

    def few(self, told: BoolArray) -> BoolArray:
        """Which combinations, (combinations, runs), have somebody and too few, shape (combinations,)."""
        # In floating point, as that is multiplied at once.
        of_runs = told.astype(np.float64)
        counts = (of_runs @ self.units > 0).sum(axis=1)
        few: BoolArray = counts < self.minimum
        if self.fewest_homes > 0:
            homes = (of_runs @ self.homes > 0) @ self.shares
            few |= homes < self.fewest_homes * (1 - CLOSE)
        few &= counts > 0
        return few

    def of(self, runs: IntArray) -> "_Members":
        """Of some runs, with who is in any of them."""
        units, homes = self.units[runs], self.homes[runs]
        living = homes.any(axis=0)
        return replace(
            self,
            units=units[:, units.any(axis=0)],
            homes=homes[:, living],
            shares=self.shares[living],
        )


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
    who, lives = units[records], living.holders[records]
    few = _held(run, who, np.ones(int(who.max(initial=-1)) + 1), len(parts)) < minimum
    few |= _held(run, lives, living.shares, len(parts)) < fewest_homes * (1 - CLOSE)
    left = _reduced(parts[few] @ _cancelling(parts[~few]))
    # There are not many in those: as many as a few runs of a few have.
    inside, place = few[run], np.cumsum(few) - 1
    own, _ = _members(place[run[inside]], who[inside], int(few.sum()))
    homes_of, which = _members(place[run[inside]], lives[inside], int(few.sum()))
    members = _Members(own, homes_of, living.shares[which], minimum, fewest_homes)
    return any(
        _told_of_few(left[np.ix_(rows, columns)], members.of(rows)) for rows, columns in _components(left)
    )


def _held(run: IntArray, holders: IntArray, shares: FloatArray, runs: int) -> FloatArray:
    """What the holders with a record in each run are together, each of which is a share; shape (runs,)."""
    span = len(shares)
    pairs = np.unique(run * span + holders)
    return np.bincount(pairs // max(span, 1), shares[pairs % max(span, 1)], runs).astype(np.float64)


def _cancelling(parts: FloatArray) -> FloatArray:
    """A basis of the combinations in which some runs cancel, shape (windows, combinations)."""
    if not len(parts):
        return np.eye(parts.shape[1])
    # There are more runs than windows: their triangle has the same combinations, and is smaller.
    _, sizes, directions = np.linalg.svd(np.linalg.qr(parts, mode="r"))
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
    return bool(members.few(np.abs(combined) > NOTHING).any())


def _members(run: IntArray, holders: IntArray, runs: int) -> tuple[FloatArray, IntArray]:
    """Whether holders have a record in runs, shape (runs, holders), of those that occur; and these."""
    which, who = np.unique(holders, return_inverse=True)
    members = np.zeros((runs, len(which)))
    members[run, who] = 1.0
    return members, which


def _runs(
    windows: Sequence[IntArray], units: IntArray, sums: Sequence[bool]
) -> tuple[FloatArray, IntArray, IntArray]:
    """Records in the same windows with the same weight: weights (runs, windows), up to a factor for each.

    With the run of each record that lies in any, and its place. A bit says whether a record is in a window:
    there may be a million.
    """
    inside = np.zeros(len(units), dtype=np.bool_)
    for window in windows:
        inside[window] = True
    records, place = np.flatnonzero(inside), np.cumsum(inside) - 1
    bits = np.zeros((len(records), len(windows) // 8 + 1), dtype=np.uint8)
    uneven: dict[int, FloatArray] = {}
    for number, (window, is_sum) in enumerate(zip(windows, sums, strict=True)):
        places = place[window]
        bits[places, number // 8] |= np.uint8(1 << (number % 8))
        weights = np.ones(len(window)) if is_sum else _of_mean(units[window])
        if (weights != 1).any():
            uneven[number] = np.zeros(len(records))
            uneven[number][places] = weights.round(12)
    rows = bits.view(np.dtype((np.void, bits.shape[1]))).reshape(-1)
    _, run = np.unique(rows, return_inverse=True)
    for column in uneven.values():
        values, kinds = np.unique(column, return_inverse=True)
        _, run = np.unique(run * len(values) + kinds, return_inverse=True)
    _, first = np.unique(run, return_index=True)
    parts = np.unpackbits(bits[first], axis=1, bitorder="little")[:, : len(windows)].astype(np.float64)
    for number, column in uneven.items():
        parts[:, number] = column[first]
    return parts, run, records


def _of_mean(units: IntArray) -> FloatArray:
    """What each record counts where units count once."""
    _, own, counts = np.unique(units, return_inverse=True, return_counts=True)
    weights: FloatArray = 1 / counts[own]
    return weights
