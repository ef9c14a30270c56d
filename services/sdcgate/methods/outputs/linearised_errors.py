"""Standard errors of moments, Gini indices, Lorenz curves and shares below percentiles, by linearisation.

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


def skewnesses(sample: Sample, found: Moments) -> Estimates:
    """The skewness of groups with its errors.

    With z the standardised deviations and g their mean third power, the linearised variable of g is
    (z^3 - g - 3 z - 3/2 g (z^2 - 1)) / sum(w): the delta method for m_3 / m_2^1.5, as in Cramer, Mathematical
    Methods of Statistics (1946), 27.7 and 28.4. The correction for n is a constant.
    """
    z, n = _standardised(sample, found), sample.records_of_groups.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        third = sample.sums(sample.counted * z**3) / sample.sums(sample.counted)
        own = third[sample.groups]
        derivative = z**3 - own - 3 * z - 1.5 * own * (z**2 - 1)
        return _of_moment(sample, found.skewness, derivative, np.sqrt(n * (n - 1)) / (n - 2))


def kurtoses(sample: Sample, found: Moments) -> Estimates:
    """The excess kurtosis of groups with its errors.

    With k the mean fourth power of z and g the third, the linearised variable of k is
    (z^4 - k - 4 g z - 2 k (z^2 - 1)) / sum(w), as for `skewnesses`.
    """
    z, n = _standardised(sample, found), sample.records_of_groups.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = sample.sums(sample.counted)
        third, fourth = (sample.sums(sample.counted * z**power) / total for power in (3, 4))
        own = fourth[sample.groups]
        derivative = z**4 - own - 4 * third[sample.groups] * z - 2 * own * (z**2 - 1)
        share = (n - 1) * (n + 1) / ((n - 2) * (n - 3))
        return _of_moment(sample, found.kurtosis, derivative, share)


def lorenz_ordinates(sample: Sample, found: Percentiles) -> tuple[Estimates, ...]:
    """The ordinates of the Lorenz curve of groups with their errors, a point each.

    The linearised variable of the share L of the total T that is held up to the value q is
    ((y - q) 1(y <= q) + p q - L y) / T, p being the share of the population up to q. Source: Kovacevic and
    Binder, Variance estimation for measures of income inequality and polarization: the estimating equations
    approach (1997), Journal of Official Statistics 13; Beach and Davidson (1983), Review of Economic Studies
    50.
    """
    weights, values, groups = sample.counted, sample.values, sample.groups
    people, total = sample.sums(weights), sample.sums(weights * values)
    estimates = []
    for point in range(len(found.points)):
        at, held = found.values[:, point][groups], found.lorenz[:, point]
        below = values <= at
        with np.errstate(divide="ignore", invalid="ignore"):
            share = sample.sums(weights * below) / people
            derivative = np.where(below, values - at, 0.0) + share[groups] * at - held[groups] * values
            linearised = weights * derivative / total[groups]
        finite = np.where(np.isfinite(linearised), linearised, 0.0)
        one = estimates_of(sample, held, finite)
        there = np.isfinite(held) & (total > 0)
        errors = np.where(there, one.standard_errors, np.nan)
        estimates.append(Estimates(np.where(there, one.values, np.nan), errors, one.degrees_of_freedom))
    return tuple(estimates)


def lorenz_error_bounds(sample: Sample, found: Percentiles, coalition: int) -> tuple[ClosestBound, ...]:
    """How closely errors of a Lorenz curve bound outermost values: of all, and of either side of a point.

    Beside the sum up to a point its error tells the sum of squares there, so that all below and all above are
    judged as their variances would be. Of those between two points both percentiles bound values anyway.
    """
    plain = sample.plain
    bounds = [*moment_bounds(plain, 2, coalition)]
    for place, fact in enumerate(found.facts()):
        at, there = found.values[:, place], np.isfinite(found.values[:, place])
        beyond = np.full(len(at), np.inf)
        sides = [_of_run(plain, low, high, coalition) for low, high in ((-beyond, at), (at, beyond))]
        bounds.append(ClosestBound(fact.name, np.where(there, np.minimum(*sides), np.inf)))
    return tuple(bounds)


def _of_run(sample: Sample, low: FloatArray, high: FloatArray, coalition: int) -> FloatArray:
    """How closely the variance of the values above one and up to another tells their outermost."""
    values, groups = sample.values, sample.groups
    inside = (values > low[groups]) & (values <= high[groups])
    if not inside.any():
        return np.full(sample.number_of_groups, np.inf)
    run = Sample(values[inside], groups[inside], sample.units[inside], sample.number_of_groups)
    (bound,) = moment_bounds(run, 2, coalition)
    found: FloatArray = np.where(run.records_of_groups > 0, bound.closeness, np.inf)
    return found


def _standardised(sample: Sample, found: Moments) -> FloatArray:
    """Deviations of records over the root of their weighted mean square."""
    deviations = sample.values - found.means[sample.groups]
    total = sample.sums(sample.counted)
    with np.errstate(divide="ignore", invalid="ignore"):
        second = sample.sums(sample.counted * deviations**2) / total
        scaled: FloatArray = deviations / np.sqrt(second)[sample.groups]
    return scaled


def _of_moment(sample: Sample, values: FloatArray, derivative: FloatArray, share: FloatArray) -> Estimates:
    """A moment with the error of a multiple of what has this derivative by the records' weights."""
    total = sample.sums(sample.counted)[sample.groups]
    linearised = sample.counted * share[sample.groups] * derivative / total
    found = estimates_of(sample, values, np.where(np.isfinite(linearised), linearised, 0.0))
    there = np.isfinite(values)
    return Estimates(values, np.where(there, found.standard_errors, np.nan), found.degrees_of_freedom)


def gini_indices(sample: Sample, indices: FloatArray) -> Estimates:
    """Gini indices of groups, shape (groups,), with their errors."""
    linearised = _gini_linearised(sample, indices, _gini_sums(sample))
    return estimates_of(sample, indices, np.where(np.isfinite(linearised), linearised, 0.0))


def gini_error_bounds(sample: Sample, coalition: int) -> tuple[ClosestBound, ...]:
    """How closely a Gini index with its error bounds the outermost values, as the variance and of itself.

    The error is the sum of squares of the linearised variable: of the largest value y that is (1 - G) y less
    mean (1 + G), about, so that it bounds y more closely, by the share of both, than itself.
    """
    plain = sample.plain
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
