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
    """How closely moments from the second to the `highest` (2, 3 or 4) bound the value farthest out.

    With S the sum of n squared deviations, no value lies farther from the mean than sqrt(S (n - 1) / n).
    Other units of the group, `coalition` of them, take their own values out first: those that add most beside
    the one that is estimated. Higher moments bound by the root of their sum. `name` begins the bounds' names.
    Source: Samuelson, How deviant can you be? (1968), Journal of the American Statistical Association 63.
    """
    farthest, known = _farthest_and_known(sample, coalition)
    bounds = [ClosestBound(f"{name}variance", _second(sample, farthest, known))]
    bounds += [
        ClosestBound(f"{name}{label}", _higher(sample, farthest, known, order))
        for order, label in ((3, "skewness"), (4, "kurtosis"))
        if order <= highest
    ]
    return tuple(bounds)


def _deviations(sample: Sample) -> FloatArray:
    counts = np.maximum(sample.records_of_groups, 1)
    return sample.values - (sample.sums(sample.values) / counts)[sample.groups]


def _farthest_and_known(sample: Sample, coalition: int) -> tuple[IntArray, BoolArray]:
    """Each group's record farthest from the mean (-1 of an empty one), and whether records are known."""
    squares = _deviations(sample) ** 2
    order = np.lexsort((squares, sample.groups))
    ends = np.searchsorted(sample.groups[order], np.arange(sample.number_of_groups), side="right")
    farthest = np.where(sample.records_of_groups > 0, order[ends - 1], -1)
    groups, _, of_records = sample.unit_groups
    held = sample.unit_sums(squares)
    held[of_records[farthest[farthest >= 0]]] = -1
    ranked = np.lexsort((-held, groups))
    starts = np.searchsorted(groups[ranked], np.arange(sample.number_of_groups))
    rank = np.arange(len(groups)) - starts[groups[ranked]]
    members = np.zeros(len(groups), dtype=np.bool_)
    members[ranked] = rank < coalition
    return farthest, (members & (held >= 0))[of_records]


def _second(sample: Sample, farthest: IntArray, known: BoolArray) -> FloatArray:
    """Closeness by the sum of squares, without the records that the coalition knows."""
    left = np.where(known, 0.0, 1.0)
    n = sample.sums(left)
    means = sample.sums(left * sample.values) / np.maximum(n, 1)
    squares = sample.sums(left * (sample.values - means[sample.groups]) ** 2)
    reach = np.sqrt(squares * np.maximum(n - 1, 0) / np.maximum(n, 1))
    return _closeness(reach, np.abs(sample.values[farthest] - means), sample.values[farthest], farthest)


def _higher(sample: Sample, farthest: IntArray, known: BoolArray, order: int) -> FloatArray:
    deviations = np.abs(_deviations(sample))
    own = deviations[farthest]
    shares = deviations / np.where(own > 0, own, 1.0)[sample.groups]
    reach = own * sample.sums(np.where(known, 0.0, shares**order)) ** (1 / order)
    return _closeness(reach, own, sample.values[farthest], farthest)


def _closeness(reach: FloatArray, own: FloatArray, value: FloatArray, farthest: IntArray) -> FloatArray:
    """How far the bound is from the value, as a share of it, or of its deviation where that is larger."""
    scale = np.maximum(np.abs(value), own)
    closeness: FloatArray = np.maximum(reach - own, 0.0) / np.where(scale > 0, scale, 1.0)
    return np.where(farthest >= 0, closeness, 0.0)
