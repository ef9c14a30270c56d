"""Sums of functions of a measure, and how closely they tell its outermost values beside its sum.

Who knows number and sum of values, and the sum of a convex or concave function f of them, knows the sum of
their gaps, f less its tangent at the mean (Jensen 1906, Acta Mathematica 30), as he knows squared deviations
from a variance. No value is farther out than where the gaps are used up: of the others, who share the rest of
the sum, they are least where these are equal. Of squares that is the bound of Samuelson (1968).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.bisection import last_possible
from sdcgate.methods.outputs.moments import has_several_records, known_beside, outermost
from sdcgate.methods.outputs.power_sums import PowerSums, closest, summed
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.transformations import TRANSFORMATIONS


@dataclass(frozen=True, slots=True)
class _Gap:
    """How far a function of x lies from its tangent at a mean, by the share r of it: of x + shift, both."""

    of_share: Callable[[FloatArray], FloatArray]
    """Convex, 0 at a share of 1, in some unit; written so that shares near 1 keep their digits."""
    shift: float = 0.0


def _of_logarithm(share: FloatArray) -> FloatArray:
    found: FloatArray = (share - 1.0) - np.log1p(share - 1.0)
    return found


def _of_root(share: FloatArray) -> FloatArray:
    found: FloatArray = ((share - 1.0) / (np.sqrt(share) + 1.0)) ** 2
    return found


def _of_inverse(share: FloatArray) -> FloatArray:
    found: FloatArray = (share - 1.0) ** 2 / share
    return found


_GAPS: Mapping[str, _Gap] = MappingProxyType(
    {
        "log": _Gap(_of_logarithm),
        "log1p": _Gap(_of_logarithm, 1.0),
        "sqrt": _Gap(_of_root),
        "inverse": _Gap(_of_inverse),
    }
)
FUNCTIONS = frozenset(_GAPS)
"""Transformations whose sums are judged here, and not as sums of powers."""


def function_sums(sample: Sample, function: str, order: int, coalition: int) -> PowerSums:
    """Sums of f(x)^order over the records of each group, and what they tell beside count and sum of x.

    Args:
        sample: the values x, within what the function is defined for.
        function: one of `FUNCTIONS`.
        order: 1, or 2 where the sum of f(x) is told as well.
        coalition: as in `closeness_of_function`.
    """
    values = TRANSFORMATIONS[function].evaluate(sample.values) ** order
    closeness = closeness_of_function(sample, function, order, coalition)
    return replace(summed(sample, values, order, closeness), function=function)


def closeness_of_function(sample: Sample, function: str, order: int, coalition: int) -> FloatArray:
    """The least share of a value by which it stays open, shape (groups,); infinite of no records.

    Known are number and sum of the values and of f of them; with an `order` of 2 the sum of f squared, too.
    Greatest and least are bounded, of the least its inverse; of `log1p` both with 1 added. A least value of 0
    is as open as the root of the sum of gaps is larger than that of what it needs. Where units have several
    records the nearer one counts of the bounds of records and of units' totals. `coalition` units beside the
    one that is estimated put together what they know. What cannot be computed is NaN.
    """
    gap = _GAPS[function]
    if TRANSFORMATIONS[function].outside(sample.values).any():
        return np.full(sample.number_of_groups, np.nan)
    shifted = sample.with_values(sample.values + gap.shift)
    found = _of_both_ends(shifted, lambda target, own: _by_gaps(shifted, gap, target, own, coalition))
    if order > 1 and gap.of_share is _of_logarithm:
        logarithms = shifted.with_values(np.log(shifted.values))
        found += _of_both_ends(
            shifted, lambda target, own: _by_squares_of_logarithms(logarithms, target, own, coalition)
        )
    elif order > 1 and function == "inverse":
        variance = closest(sample.with_values(1.0 / sample.values), 2, coalition)
        found.append(np.where(sample.records_of_groups > 0, variance, np.inf))
    # Roots squared are the values, whose sum is known anyhow. A NaN of one bound is one of all.
    closeness: FloatArray = np.min(found, axis=0)
    return closeness


def closest_told(sample: Sample, function: str, order: int, coalition: int) -> FloatArray:
    """The least closeness of sums of a function, or of powers where none is named, up to an order."""
    if function:
        return closeness_of_function(sample, function, order, coalition)
    return closest(sample, order, coalition)


_Bound = Callable[[IntArray, BoolArray], FloatArray]
"""By how much a bound lies beyond values, shape (2, groups), on either side: of some records' mean, `target`
one of each group's, -1 where there is none, and `own` all of them, shape (records,)."""


def _of_both_ends(sample: Sample, bound: _Bound) -> list[FloatArray]:
    """The least and the greatest of records and, where units have several, of units' totals."""
    every = np.arange(len(sample.values))
    ends = []
    for side, target in enumerate(outermost(sample)):
        ends.append((side, target, np.isin(every, target)))
    if has_several_records(sample):
        groups, units, of_records = sample.unit_groups
        totals = Sample(sample.unit_sums(sample.values), groups, units, sample.number_of_groups)
        first = np.unique(of_records, return_index=True)[1]
        for side, pair in enumerate(outermost(totals)):
            target = np.where(pair >= 0, first[pair], -1)
            ends.append((side, target, np.isin(of_records, pair[pair >= 0])))
    found = []
    for side, target, own in ends:
        apart = bound(target, own)[side]
        found.append(np.where(target >= 0, np.maximum(apart, 0.0), np.inf))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Left:
    """Who is left of groups beside a coalition, each shape (groups,)."""

    records: FloatArray
    of_target: FloatArray
    """Records of the one that is estimated, with how many of them her mean is of."""
    mean: FloatArray
    own: FloatArray
    """The mean of the target's records."""
    there: BoolArray
    """Who is left, shape (records,)."""


def _left(sample: Sample, target: IntArray, own: BoolArray, held: FloatArray, coalition: int) -> _Left:
    """Without the units beside the target's of whom `held`, shape (records,), is largest."""
    there = ~known_beside(sample, target, coalition, held)
    records, of_target = sample.sums(there.astype(np.float64)), sample.sums(own.astype(np.float64))
    mean = sample.sums(np.where(there, sample.values, 0.0)) / np.maximum(records, 1.0)
    mine = sample.sums(np.where(own, sample.values, 0.0)) / np.maximum(of_target, 1.0)
    return _Left(records, of_target, mean, mine, there)


def _by_gaps(sample: Sample, gap: _Gap, target: IntArray, own: BoolArray, coalition: int) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        every = sample.sums(sample.values) / np.maximum(sample.records_of_groups, 1)
        of_all = _gaps(sample, gap, every)
        left = _left(sample, target, own, of_all, coalition)
        known = sample.sums(np.where(left.there, _gaps(sample, gap, left.mean), 0.0))
        share = np.where(left.mean > 0, left.own / left.mean, 1.0)
        most = left.records / np.maximum(left.of_target, 1.0)

        def needed(at: FloatArray) -> FloatArray:
            others = left.records - left.of_target
            rest = np.maximum(left.records - left.of_target * at, 0.0) / others
            return left.of_target * gap.of_share(at) + others * gap.of_share(rest)

        def possible(at: FloatArray) -> BoolArray:
            found: BoolArray = needed(at) <= known
            return found

        greatest = last_possible(possible, share, np.maximum(most, share)) / share - 1.0
        least = share / last_possible(possible, share, np.zeros(len(share))) - 1.0
        nothing = np.sqrt(known / needed(np.zeros(len(share)))) - 1.0
        # Of nobody but the target the mean is all that there is to know.
        alone = left.records <= left.of_target
        valid = np.isfinite(known) & (left.mean >= 0)
        both = np.stack([np.where(share > 0, least, nothing), greatest])
        return np.where(valid, np.where(alone | (known <= 0), 0.0, both), np.nan)


def _gaps(sample: Sample, gap: _Gap, mean: FloatArray) -> FloatArray:
    """Of each record about its group's mean, shape (records,)."""
    of_records = mean[sample.groups]
    return gap.of_share(np.where(of_records > 0, sample.values / of_records, 1.0))


def _by_squares_of_logarithms(
    logarithms: Sample, target: IntArray, own: BoolArray, coalition: int
) -> FloatArray:
    """By Samuelson's bound on logarithms, as shares of the values, or of units' geometric means."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        every = logarithms.sums(logarithms.values) / np.maximum(logarithms.records_of_groups, 1)
        held = (logarithms.values - every[logarithms.groups]) ** 2
        left = _left(logarithms, target, own, held, coalition)
        squares = np.where(left.there, (logarithms.values - left.mean[logarithms.groups]) ** 2, 0.0)
        others = np.maximum(left.records - left.of_target, 0.0)
        room = others / (left.records * np.maximum(left.of_target, 1.0))
        reach = np.sqrt(room * logarithms.sums(squares)) - np.abs(left.own - left.mean)
        apart = np.expm1(np.maximum(reach, 0.0))
        return np.stack([apart, apart])
