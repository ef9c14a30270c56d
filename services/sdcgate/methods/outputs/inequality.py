"""Inequality and concentration: Gini, Lorenz curve, Herfindahl index and concentration ratios of groups."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.moments import moment_bounds
from sdcgate.methods.outputs.percentiles import Percentiles, unknown_share
from sdcgate.methods.outputs.sample import Sample, added
from sdcgate.methods.outputs.statistic_facts import ClosestBound, ImpliedCells, largest_of_groups
from sdcgate.methods.positions import FactsError
from sdcgate.methods.tables.column_checks import where


@dataclass(frozen=True, slots=True, eq=False)
class Inequality:
    """An index of each group, and how closely it bounds the largest value, each shape (groups,).

    NaN where a group is empty or its values sum to 0.
    """

    values: FloatArray = field(repr=False)
    bounds: tuple[ClosestBound, ...]


def gini(sample: Sample, coalition: int = 1) -> Inequality:
    """The Gini index of the records: twice the area between Lorenz curve and diagonal.

    With the total it bounds the largest value x_1, least unequal where all others are equal: with n records,
    total S and c_1, c_2, .. known to a coalition of m, x_1 is at most
    (G n S + (m + 1)(S - sum(c)) - sum((n - 1 - 2j) c_j)) / (n + m). Source: Gini as in Cowell, Measuring
    Inequality (2011), 2.

    Raises:
        FactsError: a value is below 0; the index means nothing then.
    """
    _not_negative(sample)
    order = np.lexsort((sample.values, sample.groups))
    groups, values, weights = sample.groups[order], sample.values[order], sample.counted[order]
    starts = np.searchsorted(groups, np.arange(sample.number_of_groups))
    with np.errstate(divide="ignore", invalid="ignore"):
        people, total = sample.sums(sample.counted), sample.sums(sample.counted * sample.values)
        held = _running(weights * values, groups, starts) / total[groups]
        before = held - weights * values / total[groups]
        steps = weights / people[groups] * (held + before)
        indices = 1 - added(groups, steps, sample.number_of_groups)
    indices = np.where(total > 0, indices, np.nan)
    return Inequality(indices, (_gini_bound(sample, coalition),))


def _running(amounts: FloatArray, groups: IntArray, starts: IntArray) -> FloatArray:
    """Running sums within groups; `amounts` are ordered by group."""
    sums = np.cumsum(amounts)
    before: FloatArray = np.concatenate([np.zeros(1), sums])[starts]
    running: FloatArray = sums - before[groups]
    return running


def _gini_bound(sample: Sample, coalition: int) -> ClosestBound:
    """How closely the index of the records without weights bounds the largest."""
    n = sample.records_of_groups.astype(np.float64)
    largest = largest_of_groups(sample.groups, sample.values, sample.number_of_groups, coalition + 1)
    ordered = np.lexsort((sample.values, sample.groups))
    starts = np.searchsorted(sample.groups[ordered], np.arange(sample.number_of_groups))
    rank = np.arange(len(ordered)) - starts[sample.groups[ordered]] + 1
    groups, values = sample.groups[ordered], sample.values[ordered]
    # n S G, from the ranks of the values.
    pairs = added(groups, (2 * rank - n[groups] - 1) * values, sample.number_of_groups)
    known = largest[:, 1:]
    members = known.shape[1]
    own = (n[:, np.newaxis] - 1 - 2 * np.arange(1, members + 1)) * known
    rest = sample.sums(sample.values) - known.sum(axis=1)
    most = (pairs + (members + 1) * rest - own.sum(axis=1)) / np.maximum(n + members, 1)
    first = np.where(largest[:, 0] > 0, largest[:, 0], 1.0)
    return ClosestBound("gini", np.maximum(most - largest[:, 0], 0.0) / first)


@dataclass(frozen=True, slots=True, eq=False)
class LorenzCurve:
    """Points of the Lorenz curve of groups, at the percentiles that they have."""

    points: tuple[float, ...]
    """Shares of the population, ascending."""
    shares: FloatArray = field(repr=False)
    """Shares of the total that they hold, shape (groups, points); NaN where the percentile may not leave."""


def lorenz_curve(sample: Sample, found: Percentiles) -> LorenzCurve:
    """The Lorenz curve at the windows of the percentiles: sums over the same runs of units as these.

    Raises:
        FactsError: a value is below 0; shares mean nothing then.
    """
    _not_negative(sample)
    return LorenzCurve(found.points, found.lorenz)


def lorenz_bounds(sample: Sample, found: Percentiles, coalition: int) -> tuple[ClosestBound, ...]:
    """How closely the sums beside each point of a Lorenz curve tell their largest unit's value, at worst.

    Points of a curve, the total and the means of windows, which leave as percentiles, tell the sum of every
    run between two windows, before the first and after the last. Which points leave is not known yet. So of
    a point each run counts that may be beside it, whatever others are kept back, without the windows within.
    In what a run up to the greatest value holds nobody has less than the mean of the window before him, so
    that of the others it is uncertain only how much more they have.
    """
    worst = np.full(found.values.shape, np.inf)
    for group, members in enumerate(sample.members):
        points = np.flatnonzero(found.available[group])
        if len(points):
            order = members[np.argsort(sample.values[members], kind="stable")]
            starts = found.before[group, points]
            ends = starts + found.window_records[group, points]
            parts = [*zip([0, *ends.tolist()], [*starts.tolist(), len(order)], strict=True)]
            least = [0.0, *found.values[group, points].tolist()]
            worst[group, points] = _beside_points(sample, order, parts, least, coalition)
    return tuple(ClosestBound(fact.name, worst[:, place]) for place, fact in enumerate(found.facts()))


def _beside_points(
    sample: Sample, order: IntArray, parts: list[tuple[int, int]], least: list[float], coalition: int
) -> FloatArray:
    """The worst closeness of all runs that begin or end at each point.

    `parts` lie between the windows, `least` is what everybody knows that values of each part are at least.
    """
    values, own = sample.values[order], _looked_at(sample.units[order], parts, coalition + 1)
    _, units = np.unique(sample.units[order[own]], return_inverse=True)
    number, amounts = int(units.max(initial=-1)) + 1, (values, np.zeros_like(values))
    for part, floor in zip(parts, least, strict=True):
        amounts[1][slice(*part)] = np.maximum(values[slice(*part)] - floor, 0.0)
    ranges = [slice(*np.searchsorted(own, part)) for part in parts]
    rest = np.array([[one[slice(*part)].sum() for part in parts] for one in amounts])
    rest -= [[one[own[among]].sum() for among in ranges] for one in amounts]
    worst = np.full(len(parts) + 1, np.inf)
    for first in range(len(parts)):
        (held, more), there = np.zeros((2, number)), np.zeros(number, dtype=np.bool_)
        for last in range(first, len(parts)):
            among = ranges[last]
            held += np.bincount(units[among], values[own[among]], number)
            more += np.bincount(units[among], amounts[1][own[among]], number)
            there[units[among]] = True
            others, beyond = rest[:, first : last + 1].sum(axis=1)
            closeness = unknown_share(held[there], coalition, others=others)
            if last == len(parts) - 1 and closeness < np.inf:
                closeness = unknown_share(more[there], coalition, held[there], beyond)
            # After the window before its first part, and before the one after its last.
            at = [first, last + 1]
            worst[at] = np.minimum(worst[at], closeness)
    return worst[1:-1]


def _looked_at(units: IntArray, parts: list[tuple[int, int]], largest: int) -> IntArray:
    """Places of records that may be of the largest or the least unit of a run of ordered ones.

    Units of several records, and of each part the first and the last ones: the others count as a sum alone.
    """
    _, places, records = np.unique(units, return_inverse=True, return_counts=True)
    looked_at = records[places] > 1
    for start, end in parts:
        looked_at[start : min(start + 1, end)] = True
        looked_at[max(end - largest, start) : end] = True
    return np.flatnonzero(looked_at)


def herfindahl(sample: Sample, coalition: int = 1) -> Inequality:
    """The Herfindahl index: the sum of the squared shares of units in their group's total.

    With the total it is the sum of squares of the units' values, and bounds the largest as a variance does.
    Weights are not used: shares are those of the units that are there. Source: Hirschman, The paternity of an
    index (1964), American Economic Review 54.

    Raises:
        FactsError: a value is below 0.
    """
    _not_negative(sample)
    groups, units, _ = sample.unit_groups
    held = sample.unit_sums(sample.values)
    totals = added(groups, held, sample.number_of_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = held / totals[groups]
        indices = added(groups, shares**2, sample.number_of_groups)
    of_units = Sample(held, groups, units, sample.number_of_groups)
    bounds = (ClosestBound("herfindahl", bound.closeness) for bound in moment_bounds(of_units, 2, coalition))
    return Inequality(np.where(totals > 0, indices, np.nan), tuple(bounds))


@dataclass(frozen=True, slots=True, eq=False)
class ConcentrationRatios:
    """Shares that the n largest units hold of their group's total, shape (groups,)."""

    values: FloatArray = field(repr=False)
    implied: ImpliedCells
    """The n largest and all others: the table that the ratio is a share of."""
    among: BoolArray = field(repr=False)
    """Records of the n largest, whose sum is a cell's of its own as that of all others is, (records,)."""


def concentration_ratios(sample: Sample, n: int) -> ConcentrationRatios:
    """CR_n: what the n largest units hold of their group's total.

    With the total it is the sum of a cell of n units, and that of the others; of CR_n and CR_(n+1) the
    difference is one unit's share, so a policy has one n. NaN where a group's total is 0.

    Raises:
        FactsError: a value is below 0.
    """
    _not_negative(sample)
    groups, _, of_records = sample.unit_groups
    held = sample.unit_sums(sample.values)
    largest = largest_of_groups(groups, held, sample.number_of_groups, n)
    totals = sample.sums(sample.values)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(totals > 0, largest.sum(axis=1) / totals, np.nan)
    units = sample.units_of_groups
    cells = np.stack([np.minimum(units, n), np.maximum(units - n, 0)], axis=1)
    order = np.lexsort((-held, groups))
    rank = np.empty(len(groups), dtype=np.int64)
    rank[order] = np.arange(len(groups)) - np.searchsorted(groups, groups[order])
    others = (rank >= n)[of_records].astype(np.int64)
    homes = sample.households_at(2 * sample.groups + others, cells.size)
    implied = ImpliedCells(f"CR{n}", cells, None if homes is None else homes.reshape(cells.shape))
    return ConcentrationRatios(ratios, implied, others == 0)


def _not_negative(sample: Sample) -> None:
    if problems := list(where("values", sample.values < 0, "must not be negative: shares of a total are")):
        raise FactsError(problems)
