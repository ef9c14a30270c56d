"""What means and sums over several windows of records tell together, by adding and subtracting them.

A window's mean is a sum over its records. A combination of several is a sum over those records whose parts
do not cancel. Where these are of few units it tells of them, though each window has units enough. A
percentile's window is a mean of units, each of which counts once; a step of a survival curve, or what lies
below a point of a Lorenz curve, a sum over records.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.households import Households
from sdcgate.methods.outputs.sparse_combinations import (
    NOTHING,
    TooMany,
    components,
    independent_columns,
    light_combinations,
    systematic,
    vanishing,
)
from sdcgate.methods.tables.sensitivity import CLOSE

MOST_COMBINATIONS = 10_000
"""Combinations of windows that have to do with each other that are looked at: of more some tell of few."""


@dataclass(frozen=True, slots=True)
class ToldOfFew:
    """A combination of windows that tells of few."""

    windows: frozenset[int]
    """Their places."""
    looked_at: bool = True
    """False where there were too many combinations of the windows to tell which do."""


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Records of one value: which of them are in a window makes no difference to its sum, only how many."""

    kinds: IntArray = field(repr=False)
    """The value's place of each record, -1 where it has one of its own; shape (records,)."""
    many: BoolArray = field(repr=False)
    """Whether so many have the value, in windows or not, that they are not few; shape (values,)."""


@dataclass(frozen=True, slots=True, eq=False)
class _Members:
    """Who has records in runs, and how many must be told of."""

    units: csr_array = field(repr=False)
    """1 where a unit has a record in a run, shape (runs, units)."""
    homes: csr_array = field(repr=False)
    """Shape (runs, households)."""
    shares: FloatArray = field(repr=False)
    """What each household counts."""
    minimum: int
    fewest_homes: float

    def few(self, told: BoolArray) -> BoolArray:
        """Which combinations, (combinations, runs), have somebody and too few, shape (combinations,)."""
        counts = ((told @ self.units) > 0).sum(axis=1)
        few: BoolArray = counts < self.minimum
        if self.fewest_homes > 0:
            few |= ((told @ self.homes) > 0) @ self.shares < self.fewest_homes * (1 - CLOSE)
        few &= counts > 0
        return few

    def weights(self) -> FloatArray:
        """Of runs, such that no set of runs weighs more than it has members; shape (kinds, runs)."""
        # Who is in several runs counts a part in each, so that nobody counts more than once.
        kinds = [self.units @ (1 / np.maximum(self.units.sum(axis=0), 1))]
        if self.fewest_homes > 0:
            kinds.append(self.homes @ (self.shares / np.maximum(self.homes.sum(axis=0), 1)))
        return np.array(kinds)

    def limits(self) -> FloatArray:
        """What few members weigh less than, by one kind at least; shape (kinds,)."""
        return np.array([self.minimum - 0.5, self.fewest_homes][: 1 + (self.fewest_homes > 0)])

    def of(self, runs: IntArray) -> "_Members":
        """Of some runs."""
        return replace(self, units=self.units[runs], homes=self.homes[runs])


def told_of_few(
    windows: Sequence[IntArray],
    units: IntArray,
    minimum: int,
    homes: Households | None = None,
    fewest_homes: float = 0.0,
    sums: Sequence[bool] | None = None,
    earlier: int = 0,
    weights: Sequence[FloatArray | None] | None = None,
    alike: Alike | None = None,
) -> tuple[ToldOfFew, ...]:
    """Combinations of windows' means that are sums over one to `minimum` - 1 units, or few households.

    All combinations are looked at. One of few units cancels wherever many are in the same windows: only such
    combinations are left. Where there are too many of these it is taken for granted that all tell of few.

    Args:
        windows: the records of each window, by their places in `units`.
        units: the unit of each record; in a window's mean each unit counts once.
        minimum: how many units there must be.
        homes: households of the records of `units`; None where none are asked.
        fewest_homes: how many of these there must be.
        sums: which windows are sums over their records in place of means; none unless given.
        earlier: how many of the windows, the first ones, have left: what these tell by themselves is known.
        weights: by which the values of a sum are weighted, of all records; None of one that is not.
        alike: records of the same values, of which those of one window cancel others of another.

    Returns:
        Such combinations: one at least if there is any. A window that follows from those before it is only
        in those in which it takes the place of another one.
    """
    are_sums = [False] * len(windows) if sums is None else sums
    parts, run, records = _runs(
        windows, units, are_sums, [None] * len(windows) if weights is None else weights
    )
    many = np.zeros(len(parts), dtype=np.bool_)
    if alike is not None:
        parts, run, many = _added_up(parts, run, alike.kinds[records], alike.many)
    kept, everything = independent_columns(parts), parts
    parts, since = parts[:, kept], int(np.searchsorted(kept, earlier))
    if since == len(kept):
        return ()
    # Without households those of the units, of whom none are asked.
    living = Households(units, np.ones(int(units.max(initial=-1)) + 1)) if homes is None else homes
    who, lives = units[records], living.holders[records]
    few = _held(run, who, np.ones(int(who.max(initial=-1)) + 1), len(parts)) < minimum
    few |= _held(run, lives, living.shares, len(parts)) < fewest_homes * (1 - CLOSE)
    few &= ~many
    basis = vanishing(parts[~few])
    if not basis.shape[1]:
        return ()
    left = parts[few] @ basis
    taken = systematic(left, independent_columns(left.T))
    if taken is None:
        # Some combination is nearly nothing, and not quite: of whom it is cannot be told.
        return (ToldOfFew(frozenset(kept.tolist()), looked_at=False),)
    left, taken = left @ taken, basis @ taken
    left[np.abs(left) <= NOTHING] = 0.0
    inside, place = few[run], np.cumsum(few) - 1
    rows = place[run[inside]]
    units_of, homes_of = _occurring(rows, who[inside]), _occurring(rows, lives[inside], len(living.shares))
    members = _Members(units_of, homes_of, living.shares, minimum, fewest_homes)
    told: dict[ToldOfFew, None] = {}
    seen = list[FloatArray]()
    for rows, columns in components(left):
        if _taking_part(taken[since:, columns]).any():
            some, looked_at = _few_told(left[np.ix_(rows, columns)], members.of(rows), taken[:, columns])
            some = some[_taking_part(some[:, since:]).any(axis=1)]
            told |= {ToldOfFew(frozenset(kept[_taking_part(own)].tolist()), looked_at): None for own in some}
            seen += [some] if looked_at and len(some) else []
    if seen:
        told |= dict.fromkeys(_in_place_of_the_last(np.vstack(seen), everything, kept))
    return tuple(told)


def _in_place_of_the_last(told: FloatArray, parts: FloatArray, kept: IntArray) -> Iterator[ToldOfFew]:
    """Combinations in which a window that follows from others takes the place of the last one.

    They tell the same once that one does not leave, and would be found one after the other. Of several
    combinations with the same last window the one of fewest windows will do.

    Args:
        told: what combinations take of the windows kept, shape (combinations, windows kept).
        parts: all windows, shape (runs, windows).
        kept: places of those that do not follow from ones before them.
    """
    others = np.setdiff1d(np.arange(parts.shape[1]), kept)
    follows = np.linalg.lstsq(parts[:, kept], parts[:, others])[0]
    shortest: dict[int, FloatArray] = {}
    for own in told[np.argsort(-_taking_part(told).sum(axis=1), kind="stable")]:
        shortest[int(np.flatnonzero(_taking_part(own)).max())] = own
    for last, own in shortest.items():
        for place in np.flatnonzero(_taking_part(follows[last])).tolist():
            instead = own - own[last] / follows[last, place] * follows[:, place]
            instead[last] = 0.0
            windows = kept[_taking_part(instead)].tolist()
            yield ToldOfFew(frozenset((*windows, int(others[place]))))


def _held(run: IntArray, holders: IntArray, shares: FloatArray, runs: int) -> FloatArray:
    """What the holders with a record in each run are together, each of which is a share; shape (runs,)."""
    span = len(shares)
    pairs = np.unique(run * span + holders)
    return np.bincount(pairs // max(span, 1), shares[pairs % max(span, 1)], runs).astype(np.float64)


def _taking_part(weights: FloatArray) -> BoolArray:
    """Which windows have a weight in a combination, of shape (windows, combinations)."""
    some: BoolArray = np.abs(weights) > NOTHING
    return some


def _few_told(parts: FloatArray, members: _Members, weights: FloatArray) -> tuple[FloatArray, bool]:
    """What combinations of columns that are of few, none of which follows from others, take of the windows.

    Shape (combinations, windows). Of all that have to do with the columns where there are too many
    combinations: then False.
    """
    of_runs, limits = members.weights(), members.limits()
    try:
        combined = light_combinations(parts, of_runs, limits, MOST_COMBINATIONS)
    except TooMany:
        return np.abs(weights).max(axis=1)[None], False
    told = np.abs(combined @ parts.T) > NOTHING
    light = ((told @ of_runs.T) < limits).any(axis=1)
    few = combined[light][members.few(told[light])]
    taken: FloatArray = (weights @ few.T).T
    return taken, True


def _occurring(rows: IntArray, columns: IntArray, size: int | None = None) -> csr_array:
    """1 where a row and a column occur together, be it several times."""
    shape = (int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1 if size is None else size)
    found = csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    found.data[:] = 1.0
    return found


def _runs(
    windows: Sequence[IntArray],
    units: IntArray,
    sums: Sequence[bool],
    weighted: Sequence[FloatArray | None],
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
    for number, (window, is_sum, heavy) in enumerate(zip(windows, sums, weighted, strict=True)):
        places = place[window]
        bits[places, number // 8] |= np.uint8(1 << (number % 8))
        weights = np.ones(len(window)) if is_sum else _of_mean(units[window])
        if heavy is not None:
            weights = weights * heavy[window] / heavy.max()
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


def _added_up(
    parts: FloatArray, run: IntArray, kinds: IntArray, many: BoolArray
) -> tuple[FloatArray, IntArray, BoolArray]:
    """Runs of which those of one value are a single one, with the weights of all its records together.

    With the run of each record, and which runs are of a value that many have.
    """
    shared = kinds >= 0
    apart, own = np.unique(run[~shared], return_inverse=True)
    there, value = np.unique(kinds[shared], return_inverse=True)
    counts = csr_array((np.ones(len(value)), (value, run[shared])), shape=(len(there), len(parts)))
    together = counts @ parts
    together /= np.maximum(np.abs(together).max(axis=1, initial=0.0, keepdims=True), 1.0)
    found = np.empty_like(run)
    found[~shared], found[shared] = own, len(apart) + value
    enough = np.concatenate([np.zeros(len(apart), dtype=np.bool_), many[there]])
    return np.concatenate([parts[apart], together]), found, enough


def _of_mean(units: IntArray) -> FloatArray:
    """What each record counts where units count once."""
    _, own, counts = np.unique(units, return_inverse=True, return_counts=True)
    weights: FloatArray = 1 / counts[own]
    return weights
