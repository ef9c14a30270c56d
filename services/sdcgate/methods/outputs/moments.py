"""Variance, skewness and kurtosis of groups, and how closely they tell the value farthest from the mean.

Who knows mean, variance and number of records knows the sum of squares; with skewness and kurtosis the sums
of the third and fourth powers. Of two populations that differ by one unit, the difference of these sums is
that unit's value: no rule on one group prevents it, only the rules on populations and their differences do.

Where units have several records they are judged by their totals as well: an error and a Herfindahl index tell
the squares of these, and the squares of records bound them. With m records a unit the k-th power of a unit's
total deviation is at most m^(k-1) times the sum of its records' (power means), so that no moment of records
bounds a total more closely than the same moment of totals does where all units have as many.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.moments_together import farthest, recurrence_of
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import ClosestBound


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Moments of groups, each shape (groups,); NaN where a group has too few records or no variance."""

    means: FloatArray = field(repr=False)
    variances: FloatArray = field(repr=False)
    skewness: FloatArray = field(repr=False)
    kurtosis: FloatArray = field(repr=False)
    """Excess over the normal distribution's."""

    @property
    def standard_deviations(self) -> FloatArray:
        """Square roots of the variances."""
        deviations: FloatArray = np.sqrt(self.variances)
        return deviations


def moments(sample: Sample) -> Moments:
    """Estimates of the population's moments from weighted ones.

    With m_k = sum(w d^k) / sum(w), d the deviations from the weighted mean, and n records: n / (n - 1) m_2
    is the variance; skewness G_1 and excess kurtosis G_2 are m_3 / m_2^1.5 and m_4 / m_2^2 - 3 with the usual
    corrections for n. Without weights they are those of pandas. Source: Joanes and Gill, Comparing measures
    of sample skewness and kurtosis (1998), The Statistician 47.
    """
    weights, n = sample.counted, sample.records_of_groups.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = sample.sums(weights)
        means = sample.sums(weights * sample.values) / total
        deviations = sample.values - means[sample.groups]
        # Deviations in units of the largest keep fourth powers finite.
        scale = _largest(sample, np.abs(deviations))
        scaled = deviations / np.where(scale > 0, scale, 1.0)[sample.groups]
        second, third, fourth = (sample.sums(weights * scaled**power) / total for power in (2, 3, 4))
        varied = second > 0
        variances = np.where(n > 1, n / (n - 1) * second * scale**2, np.nan)
        skewness = np.sqrt(n * (n - 1)) / (n - 2) * third / second**1.5
        kurtosis = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (fourth / second**2 - 3) + 6)
    return Moments(
        means,
        variances,
        np.where(varied & (n > 2), skewness, np.nan),
        np.where(varied & (n > 3), kurtosis, np.nan),
    )


def _largest(sample: Sample, values: FloatArray) -> FloatArray:
    largest = np.zeros(sample.number_of_groups)
    np.maximum.at(largest, sample.groups, values)
    return largest


def moment_bounds(
    sample: Sample, highest: int, coalition: int = 1, name: str = ""
) -> tuple[ClosestBound, ...]:
    """How closely moments from the second to the `highest`, 8 at most, bound the greatest or least value.

    With S the sum of n squared deviations, no value lies farther from the mean than sqrt(S (n - 1) / n).
    Other units of the group, `coalition` of them, take their own values out first: those that add most beside
    the one that is estimated. Higher moments bound by the root of their sum, and all up to the fourth
    together (`moments_together`). Where units have several records
    the nearer one counts of the bounds of records and of units' totals. `name` begins the bounds' names.
    Source: Samuelson, How deviant can you be? (1968), Journal of the American Statistical Association 63.
    """
    labels = {order: label for order, label in _LABELS.items() if order <= highest}
    found = _bounds(sample, [*labels], coalition, sample.values)
    if has_several_records(sample):
        of_units = _of_units(sample, sample.values)
        found = np.minimum(found, _bounds(of_units, [*labels], coalition, of_units.values))
    return tuple(
        ClosestBound(f"{name}{label}", one) for label, one in zip(labels.values(), found, strict=True)
    )


def ratio_error_bounds(sample: Sample, denominators: FloatArray, coalition: int = 1) -> ClosestBound:
    """How closely the error of a ratio R bounds the greatest or least total of a unit.

    It tells the squares of units' totals of y - R x, x being `denominators`, shape (records,): 1 of a mean.
    Who knows a unit's own denominator is as close to its total as to that deviation.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = sample.sums(sample.values) / sample.sums(denominators)
    ratios = np.where(np.isfinite(ratios), ratios, 0.0)
    apart = _of_units(sample, sample.values - ratios[sample.groups] * denominators)
    return ClosestBound("error", _bounds(apart, [2], coalition, sample.unit_sums(sample.values))[0])


def has_several_records(sample: Sample) -> bool:
    """Whether any unit has several records in a group."""
    return len(sample.unit_groups[0]) < len(sample.values)


def _of_units(sample: Sample, per_record: FloatArray) -> Sample:
    """Each unit of each group as one record with its total."""
    groups, units, _ = sample.unit_groups
    return Sample(sample.unit_sums(per_record), groups, units, sample.number_of_groups)


def _bounds(sample: Sample, orders: list[int], coalition: int, values: FloatArray) -> FloatArray:
    """By order the closeness of the nearer end, shape (orders, groups), as shares of `values`, (records,)."""
    found = []
    for target, sign in zip(outermost(sample), (-1, 1), strict=True):
        known = known_beside(sample, target, coalition)
        alone = [_closeness(sample, target, known, order, values) for order in orders]
        if TOGETHER in orders:
            together = _together(sample, target, known, sign, values)
            alone[orders.index(TOGETHER)] = np.minimum(alone[orders.index(TOGETHER)], together)
        found.append(alone)
    nearer: FloatArray = np.min(found, axis=0)
    return nearer


TOGETHER = 4
"""The moment up to which all are told together: of higher ones errors tell one equation."""
_LABELS = {2: "variance", 3: "skewness", 4: "kurtosis"} | {order: f"power {order}" for order in (5, 6, 7, 8)}


def outermost(sample: Sample) -> tuple[IntArray, IntArray]:
    """Records with the least and the greatest value of each group, -1 of an empty one."""
    order = np.lexsort((sample.values, sample.groups))
    ends = np.cumsum(sample.records_of_groups)
    occupied = sample.records_of_groups > 0
    first = order[np.minimum(ends - sample.records_of_groups, len(order) - 1)]
    return np.where(occupied, first, -1), np.where(occupied, order[ends - 1], -1)


def _deviations(sample: Sample) -> FloatArray:
    counts = np.maximum(sample.records_of_groups, 1)
    return sample.values - (sample.sums(sample.values) / counts)[sample.groups]


def known_beside(
    sample: Sample, target: IntArray, coalition: int, adds: FloatArray | None = None
) -> BoolArray:
    """Records of the units beside the target's that add most, shape (records,).

    `adds` is what each record does, shape (records,); None: to the squared deviations.
    """
    groups, _, of_records = sample.unit_groups
    held = sample.unit_sums(_deviations(sample) ** 2 if adds is None else adds)
    held[of_records[target[target >= 0]]] = -1
    ranked = np.lexsort((-held, groups))
    starts = np.searchsorted(groups[ranked], np.arange(sample.number_of_groups))
    rank = np.arange(len(groups)) - starts[groups[ranked]]
    members = np.zeros(len(groups), dtype=np.bool_)
    members[ranked] = rank < coalition
    known: BoolArray = (members & (held >= 0))[of_records]
    return known


def _closeness(
    sample: Sample, target: IntArray, known: BoolArray, order: int, values: FloatArray
) -> FloatArray:
    """How far the bound lies beyond the target, as a share of its value, or of its deviation where larger."""
    left = np.where(known, 0.0, 1.0)
    n = np.maximum(sample.sums(left), 1)
    if order == 2:
        # Sum and sum of squares without the coalition are known, and so is the mean of the others.
        means = sample.sums(left * sample.values) / n
        room = (n - 1) / n
    else:
        means = sample.sums(sample.values) / np.maximum(sample.records_of_groups, 1)
        room = np.ones(len(n))
    own = np.abs(sample.values[target] - means)
    apart = left * np.abs(sample.values - means[sample.groups])
    widest = _largest(sample, apart)
    sums = sample.sums((apart / np.where(widest > 0, widest, 1.0)[sample.groups]) ** order)
    reach = widest * (room * sums) ** (1 / order)
    return np.where(target >= 0, beyond(reach, own, values[target]), 0.0)


def _together(
    sample: Sample, target: IntArray, known: BoolArray, sign: int, values: FloatArray
) -> FloatArray:
    """As `_closeness`, of all moments up to the fourth together; `sign` is that of the target's end."""
    left = np.where(known, 0.0, 1.0)
    means = sample.sums(left * sample.values) / np.maximum(sample.sums(left), 1)
    apart = left * (sample.values - means[sample.groups])
    widest = _largest(sample, np.abs(apart))
    scaled = apart / np.where(widest > 0, widest, 1.0)[sample.groups]
    recurrence = recurrence_of(sample.with_values(scaled), left, TOGETHER // 2)
    recurrence = recurrence if sign > 0 else recurrence.reflected
    own = sign * scaled[target]
    reach = widest * farthest(recurrence, own)
    return np.where(target >= 0, beyond(reach, widest * own, values[target]), 0.0)


def beyond(reach: FloatArray, own: FloatArray, value: FloatArray) -> FloatArray:
    """How far bounds lie beyond values, as shares of these, or of their deviations where larger.

    Args:
        reach: how far from the mean a value can lie at most, shape (groups,).
        own: how far it lies.
        value: the value itself.
    """
    scale = np.maximum(np.abs(value), own)
    closeness: FloatArray = np.maximum(reach - own, 0.0) / np.where(scale > 0, scale, 1.0)
    return closeness
