"""Standard errors of variances, deviations, Gini indices and shares below percentiles, by linearisation.

A statistic of weighted sums has, to the first order, the error of the total of its *linearised variable*: its
derivative by the weight of each record, times that weight. Source: Deville, Variance estimation for complex
statistics and estimators: linearization and residual techniques (1999), Survey Methodology 25; Binder and
Kovacevic, Estimating some measures of income inequality from survey data: an application of the estimating
equations approach (1995), Survey Methodology 21; Woodruff, Confidence intervals for medians and other
position measures (1952), Journal of the American Statistical Association 47.
"""

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.means import Estimates, estimates_of
from sdcgate.methods.outputs.moments import Moments, moment_bounds
from sdcgate.methods.outputs.percentiles import Percentiles
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import ClosestBound, largest_of_groups


def variances(sample: Sample, found: Moments) -> Estimates:
    """The variances of groups with their errors; the linearised variable is n / (n - 1) (d^2 - m_2) / sum(w).

    d are the deviations from the weighted mean, of which the derivative is 0; m_2 = sum(w d^2) / sum(w).
    """
    weights, n = sample.counted, sample.records_of_groups.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = sample.sums(weights)
        squares = (sample.values - found.means[sample.groups]) ** 2
        second = sample.sums(weights * squares) / total
        share = n / (n - 1) / total
        linearised = weights * share[sample.groups] * (squares - second[sample.groups])
    return estimates_of(sample, found.variances, np.where(np.isfinite(linearised), linearised, 0.0))


def standard_deviations(sample: Sample, found: Moments) -> Estimates:
    """The deviations of groups with their errors: those of the variances over twice the deviations."""
    squared, deviations = variances(sample, found), found.standard_deviations
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = squared.standard_errors / (2 * deviations)
    errors = np.where(squared.standard_errors == 0, 0.0, errors)
    return Estimates(deviations, errors, squared.degrees_of_freedom)


def gini_indices(sample: Sample, indices: FloatArray) -> Estimates:
    """Gini indices of groups, shape (groups,), with their errors."""
    linearised = _gini_linearised(sample, indices, _gini_sums(sample))
    return estimates_of(sample, indices, np.where(np.isfinite(linearised), linearised, 0.0))


def gini_error_bounds(sample: Sample, coalition: int) -> tuple[ClosestBound, ...]:
    """How closely a Gini index with its error bounds the outermost values, as the variance and of itself.

    The error is the sum of squares of the linearised variable: of the largest value y that is (1 - G) y less
    mean (1 + G), about, so that it bounds y more closely, by the share of both, than itself.
    """
    plain = Sample(sample.values, sample.groups, sample.units, sample.number_of_groups)
    count, held = _gini_sums(plain)
    with np.errstate(divide="ignore", invalid="ignore"):
        totals, people = plain.sums(plain.values), plain.records_of_groups.astype(np.float64)
        indices = np.where(totals > 0, 2 * plain.sums(plain.values * count) / (people * totals) - 1, 0.0)
        scaled = _gini_linearised(plain, indices, (count, held)) * totals[plain.groups]
        largest = largest_of_groups(plain.groups, plain.values, plain.number_of_groups, 1)[:, 0]
        steepness = (1 - indices) * largest
        at_most = largest_of_groups(plain.groups, np.abs(scaled), plain.number_of_groups, 1)[:, 0]
        share = np.where(steepness > 0, np.minimum(at_most / steepness, 1.0), 1.0)
    finite = plain.with_values(np.where(np.isfinite(scaled), scaled, 0.0))
    (own,) = moment_bounds(finite, 2, coalition)
    bound = ClosestBound("gini error", own.closeness * np.where(np.isfinite(share), share, 0.0))
    return *moment_bounds(plain, 2, coalition), bound


def share_errors(sample: Sample, found: Percentiles) -> FloatArray:
    """Errors of the shares of the population up to each percentile's value, shape (groups, points).

    NaN where a group has no such percentile. Source: Woodruff (1952); Sarndal, Swensson and Wretman, Model
    Assisted Survey Sampling (1992), 5.11.
    """
    errors = np.full(found.values.shape, np.nan)
    for point in range(len(found.points)):
        values = found.values[:, point]
        there = np.isfinite(values)
        if there.any():
            below = sample.values <= np.where(there, values, np.inf)[sample.groups]
            with np.errstate(divide="ignore", invalid="ignore"):
                people = sample.sums(sample.counted)
                shares = sample.sums(sample.counted * below) / people
                linearised = sample.counted * (below - shares[sample.groups]) / people[sample.groups]
            errors[there, point] = estimates_of(sample, shares, linearised).standard_errors[there]
    return errors


def _gini_linearised(sample: Sample, indices: FloatArray, sums: tuple[FloatArray, FloatArray]) -> FloatArray:
    """The derivative of the index by each record's weight, times the weight, shape (records,).

    With N and T the sums of weights and of w y, C and H, the `sums`, those of all below a record and half of
    its equals: (2 (y C + T - H) / T - (G + 1) (1 + N y / T)) / N.
    """
    count, held = sums
    groups, values = sample.groups, sample.values
    with np.errstate(divide="ignore", invalid="ignore"):
        people, total = (sample.sums(sample.counted * of)[groups] for of in (np.ones(len(values)), values))
        own = 2 * (values * count + total - held) / total
        derivative = (own - (indices[groups] + 1) * (1 + people * values / total)) / people
    linearised: FloatArray = sample.counted * derivative
    return linearised


def _gini_sums(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Weights, and weights times values, of all in a record's group below it and half of its equals."""
    order = np.lexsort((sample.values, sample.groups))
    groups, values, weights = sample.groups[order], sample.values[order], sample.counted[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (groups[1:] != groups[:-1]) | (values[1:] != values[:-1])
    run = np.cumsum(begins) - 1
    first_of_group = np.searchsorted(groups, np.arange(sample.number_of_groups))
    found = []
    for amounts in (weights, weights * values):
        running = np.concatenate([np.zeros(1), np.cumsum(amounts)])
        of_run = np.bincount(run, amounts)
        below = running[np.flatnonzero(begins)][run] - running[first_of_group][groups]
        middle = np.empty(len(order))
        middle[order] = below + of_run[run] / 2
        found.append(middle)
    return found[0], found[1]
