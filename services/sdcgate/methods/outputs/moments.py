"""Variance, skewness and kurtosis of groups, and how closely they tell the value farthest from the mean.

Who knows mean, variance and number of records knows the sum of squares; with skewness and kurtosis the sums
of the third and fourth powers. Of two populations that differ by one unit, the difference of these sums is
that unit's value: no rule on one group prevents it, only the rules on populations and their differences do.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
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
    the one that is estimated. Higher moments bound by the root of their sum. `name` begins the bounds' names.
    Source: Samuelson, How deviant can you be? (1968), Journal of the American Statistical Association 63.
    """
    orders = [(order, label) for order, label in _LABELS.items() if order <= highest]
    found = []
    for target in _ends(sample):
        known = _known(sample, target, coalition)
        found.append([_closeness(sample, target, known, order) for order, _ in orders])
    return tuple(
        ClosestBound(f"{name}{label}", np.minimum(*closeness))
        for (_, label), closeness in zip(orders, zip(*found, strict=True), strict=True)
    )


_LABELS = {2: "variance", 3: "skewness", 4: "kurtosis"} | {order: f"power {order}" for order in (5, 6, 7, 8)}


def _ends(sample: Sample) -> tuple[IntArray, IntArray]:
    """Records with the least and the greatest value of each group, -1 of an empty one."""
    order = np.lexsort((sample.values, sample.groups))
    ends = np.cumsum(sample.records_of_groups)
    occupied = sample.records_of_groups > 0
    first = order[np.minimum(ends - sample.records_of_groups, len(order) - 1)]
    return np.where(occupied, first, -1), np.where(occupied, order[ends - 1], -1)


def _deviations(sample: Sample) -> FloatArray:
    counts = np.maximum(sample.records_of_groups, 1)
    return sample.values - (sample.sums(sample.values) / counts)[sample.groups]


def _known(sample: Sample, target: IntArray, coalition: int) -> BoolArray:
    """Records of the units beside the target's that add most to the squared deviations, shape (records,)."""
    groups, _, of_records = sample.unit_groups
    held = sample.unit_sums(_deviations(sample) ** 2)
    held[of_records[target[target >= 0]]] = -1
    ranked = np.lexsort((-held, groups))
    starts = np.searchsorted(groups[ranked], np.arange(sample.number_of_groups))
    rank = np.arange(len(groups)) - starts[groups[ranked]]
    members = np.zeros(len(groups), dtype=np.bool_)
    members[ranked] = rank < coalition
    known: BoolArray = (members & (held >= 0))[of_records]
    return known


def _closeness(sample: Sample, target: IntArray, known: BoolArray, order: int) -> FloatArray:
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
    value = sample.values[target]
    own = np.abs(value - means)
    apart = left * np.abs(sample.values - means[sample.groups])
    widest = _largest(sample, apart)
    sums = sample.sums((apart / np.where(widest > 0, widest, 1.0)[sample.groups]) ** order)
    reach = widest * (room * sums) ** (1 / order)
    return np.where(target >= 0, beyond(reach, own, value), 0.0)


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
