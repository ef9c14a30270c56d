"""Density-based risk of continuous and mixed keys: units that cannot be confused with enough others.

A number identifies by being far from others, not by being rare: nearly every turnover is unique. A unit is
safe where enough units of the same categories lie in its neighbourhood. Sources: Handbook on SDC, 3.2.3 and
3.8.2 (Community Innovation Survey); Ichim (2006, 2009); Ester, Kriegel, Sander and Xu (1996) for clusters by
density.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.positions import at_positions
from sdcgate.methods.risk.keys import Keys, group_keys
from sdcgate.methods.risk.linkage import distinct_points

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

Heed = Callable[[], None]
_EDGE = 1.0 + 1e-9
"""As far as the rounding of value / width goes, a difference of the width is within it."""
_ENTRIES = 2_000_000
"""Neighbours that are held at once."""
_PLACES = 4096
"""Places whose neighbours are counted without a look whether anybody waits for them."""


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """How crowded the neighbourhood of each unit is, shape (units,)."""

    neighbours: IntArray = field(repr=False)
    """Other units of its categories that are in the neighbourhood."""
    reach: FloatArray = field(repr=False)
    """How many times as wide it must be to hold the minimum; infinite where its categories do not."""
    isolated: BoolArray = field(repr=False)
    """Fewer neighbours than the minimum."""
    outside: BoolArray = field(repr=False)
    """Isolated, and no neighbour of a unit that is not: outside of all clusters."""


@dataclass(frozen=True, slots=True, eq=False)
class LargestUnits:
    """Units that everybody knows, for they are the largest of their categories."""

    ranks: IntArray = field(repr=False)
    """Rank by absolute value within the categories, 1 the largest, ties alike, shape (units, numbers)."""
    shares: FloatArray = field(repr=False)
    """Share of the categories' sum of absolute values, 0 where that is, shape (units, numbers)."""
    among: BoolArray = field(repr=False)
    """Whether the unit is among the largest in some number, shape (units,)."""


def neighbourhoods(
    numbers: FloatArray,
    widths: FloatArray,
    minimum: int,
    categories: IntArray | None = None,
    heed: Heed | None = None,
) -> Density:
    """How many units lie within `widths` of each unit in every number and have its categories.

    `numbers` (units, numbers) finite, at least one; `widths` (numbers,) above 0, in their units; a difference
    of exactly the width is within it. For a deviation of a share s of the value pass logarithms and ln(1 +
    s). `minimum` is how many others a unit must be confused with, at least 1. `categories` are codes (units,
    variables), -1 missing and a category. By k-d trees, one a combination of categories. `heed` is called
    before each part: it may raise to end the work.

    Raises ValueError for wrong shapes, values that are not finite, widths or a minimum out of range.
    """
    values, keys = _checked(numbers, categories)
    limits = np.asarray(widths, dtype=np.float64)
    if limits.shape != (values.shape[1],) or not (np.isfinite(limits) & (limits > 0)).all():
        raise ValueError("widths must be one finite number above 0 for each of the numbers")
    if minimum < 1:
        raise ValueError("minimum must be at least 1")
    with np.errstate(over="ignore"):
        points = values / limits
    if not np.isfinite(points).all():
        raise ValueError("widths are too small for the numbers")
    count = len(points)
    found = Density(
        np.zeros(count, dtype=np.int64),
        np.full(count, np.inf),
        np.ones(count, dtype=np.bool_),
        np.ones(count, dtype=np.bool_),
    )
    for units in _groups(keys):
        _fill(points[units], units, minimum, found, heed)
    return found


def largest_units(numbers: FloatArray, count: int, categories: IntArray | None = None) -> LargestUnits:
    """Units that are among the `count` largest of their categories in some number, equal values included.

    Arguments as in `neighbourhoods`. A unit of 0 is never among the largest. Raises ValueError as it does.
    """
    values, keys = _checked(numbers, categories)
    if count < 1:
        raise ValueError("count must be at least 1")
    ranks = np.zeros(values.shape, dtype=np.int64)
    shares = np.zeros(values.shape)
    for units in _groups(keys):
        sizes = np.abs(values[units])
        for place, column in enumerate(sizes.T):
            ordered = np.sort(column)
            ranks[units, place] = len(column) - np.searchsorted(ordered, column, "right") + 1
        largest = sizes.max(axis=0)
        scaled = np.divide(sizes, largest, out=np.zeros_like(sizes), where=largest > 0)
        total = scaled.sum(axis=0)
        shares[units] = np.divide(scaled, total, out=np.zeros_like(scaled), where=total > 0)
    among = ((ranks <= count) & (values != 0)).any(axis=1)
    return LargestUnits(ranks, shares, among)


def _fill(points: FloatArray, units: IntArray, minimum: int, found: Density, heed: Heed | None) -> None:
    """Write what is found for the units of one combination of categories; equal points are looked at once."""
    from scipy.spatial import cKDTree

    keys = distinct_points(points)
    places = points[keys.first]
    within = _within(places, keys.counts, heed)
    isolated = within - 1 < minimum
    outside = isolated.copy()
    if isolated.any() and not isolated.all():
        away = cKDTree(places[~isolated]).query(places[isolated], p=np.inf)[0]
        outside[isolated] = away > _EDGE
    found.neighbours[units] = within[keys.group] - 1
    found.isolated[units] = isolated[keys.group]
    found.outside[units] = outside[keys.group]
    if len(units) > minimum:
        found.reach[units] = _reach(places, keys.counts, minimum + 1)[keys.group]


def _within(places: FloatArray, counts: IntArray, heed: Heed | None) -> IntArray:
    """Units within the neighbourhood of each place, those at the place among them."""
    from scipy.spatial import cKDTree

    single = counts == 1
    units = np.zeros(len(places), dtype=np.int64)
    if single.any():
        units += _numbers_within(cKDTree(places[single]), places, heed)
    if not single.all():
        several, repeated = cKDTree(places[~single]), counts[~single]
        hits = np.cumsum(_numbers_within(several, places, heed))
        for part in np.split(np.arange(len(places)), np.flatnonzero(np.diff(hits // _ENTRIES)) + 1):
            if heed is not None:
                heed()
            found = several.query_ball_point(places[part], _EDGE, p=np.inf)
            units[part] += [repeated[near].sum() for near in found]
    return units


def _numbers_within(tree: "cKDTree", places: FloatArray, heed: Heed | None) -> IntArray:
    """How many of a tree's places lie within the neighbourhood of each place, part by part."""
    found = []
    for begin in range(0, len(places), _PLACES):
        if heed is not None:
            heed()
        part = places[begin : begin + _PLACES]
        found.append(tree.query_ball_point(part, _EDGE, p=np.inf, return_length=True))
    return np.concatenate(found).astype(np.int64)


def _reach(places: FloatArray, counts: IntArray, needed: int) -> FloatArray:
    """Distance within which each place has the needed number of units, its own among them."""
    from scipy.spatial import cKDTree

    tree, reach = cKDTree(places), np.zeros(len(places))
    nearest = list(range(1, min(needed, len(places)) + 1))
    for part in np.array_split(np.arange(len(places)), len(places) * len(nearest) // _ENTRIES + 1):
        away, at = tree.query(places[part], k=nearest, p=np.inf)
        enough = (np.cumsum(counts[at], axis=1) >= needed).argmax(axis=1)
        reach[part] = away[np.arange(len(part)), enough]
    return reach


def _groups(keys: Keys) -> list[IntArray]:
    """The units of each combination of categories."""
    order = np.argsort(keys.group, kind="stable")
    return np.split(order, np.cumsum(keys.counts)[:-1])


def _checked(numbers: FloatArray, categories: IntArray | None) -> tuple[FloatArray, Keys]:
    """Numbers and the groups of the categories. Raises ValueError where they are not usable."""
    values = np.asarray(numbers)
    if values.ndim != 2 or values.dtype.kind not in "iuf" or not values.size:
        raise ValueError("numbers must be of the shape (units, numbers), at least one of each")
    values = values.astype(np.float64)
    wrong = at_positions(np.asarray(~np.isfinite(values).all(axis=1)), "numbers must be finite")
    if wrong:
        raise ValueError(wrong[0])
    codes = np.zeros((len(values), 1), dtype=np.int64) if categories is None else categories
    if len(codes) != len(values):
        raise ValueError("categories must have a row a unit")
    return values, group_keys(codes)
