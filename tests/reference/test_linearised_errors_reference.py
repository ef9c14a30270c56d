"""Errors of variances, Gini indices and percentiles: published figures, closed forms and replication."""

from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from published_samples import ice_cream, sample_of
from sdcgate.methods.outputs.inequality import gini
from sdcgate.methods.outputs.linearised_errors import (
    gini_indices,
    share_errors,
    standard_deviations,
    variances,
)
from sdcgate.methods.outputs.moments import moments
from sdcgate.methods.outputs.percentile_errors import percentile_errors
from sdcgate.methods.outputs.percentiles import percentiles
from sdcgate.methods.outputs.sample import Design, Sample
from sdcgate.methods.outputs.statistic_rules import PercentileUnits
from sdcgate.methods.rules import Consequence

RULE = PercentileUnits(10, 10, Consequence.PROTECT)


def jackknife(values: np.ndarray, of: Callable[[np.ndarray], float]) -> float:
    """The variance by leaving out one after the other (Efron and Stein 1981)."""
    n = len(values)
    found = np.array([of(np.delete(values, place)) for place in range(n)])
    return float((n - 1) / n * np.sum((found - found.mean()) ** 2))


def jackknife_of_clusters(sample: Sample, of: Callable[[Sample], float]) -> float:
    """The variance by leaving out one cluster after the other, those of its stratum weighing more (JKn)."""
    strata, clusters = sample.design.strata, sample.design.clusters
    weights, found = sample.counted, 0.0
    whole = of(sample)
    for stratum in np.unique(strata):
        members = np.unique(clusters[strata == stratum])
        for cluster in members:
            left = clusters != cluster
            heavier = np.where(strata == stratum, weights * len(members) / (len(members) - 1), weights)
            part = Sample(
                sample.values[left],
                sample.groups[left],
                sample.units[left],
                1,
                heavier[left],
                Design(strata[left], clusters[left]),
            )
            found += (len(members) - 1) / len(members) * (of(part) - whole) ** 2
    return found


def gini_of(values: np.ndarray) -> float:
    return float(gini(sample_of(values)).values[0])


def drawn(seed: int, clusters: int = 60, size: int = 12) -> Sample:
    """Incomes in clusters of two strata with weights, alike within clusters."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), size)
    incomes = np.exp(rng.normal(10, 0.5, len(cluster)) + rng.normal(0, 0.3, clusters)[cluster])
    weights = rng.uniform(1, 4, len(cluster))
    return sample_of(incomes, weights=weights, design=Design(strata=cluster % 2, clusters=cluster))


def test_the_jackknife_used_here_gives_the_published_figure() -> None:
    """Gini and its jackknife variance of six values after Ogwang (2000), printed at Cross Validated 21868."""
    values = np.array([1.0, 2, 2, 3, 4, 99])
    assert gini_of(values) == pytest.approx(0.7462462, abs=5e-8)
    assert jackknife(values, gini_of) == pytest.approx(0.1696173, abs=5e-8)


def test_the_error_of_a_gini_index_is_that_of_the_closed_form() -> None:
    """Davidson, Reliable inference for the Gini index (2009), Journal of Econometrics 150, equation 18."""
    incomes = np.sort(np.random.default_rng(1).lognormal(10, 0.8, 400))
    n, index = len(incomes), gini_of(incomes)
    ranks = (np.arange(1, n + 1) - 0.5) / n
    held = (np.cumsum(incomes) - incomes / 2) / n
    z = -(index + 1) * incomes + 2 * (ranks * incomes - held)
    closed = np.sum((z - z.mean()) ** 2) / (n * incomes.mean()) ** 2
    found = gini_indices(sample_of(incomes), np.array([index]))
    assert found.standard_errors[0] ** 2 == pytest.approx(closed * n / (n - 1), rel=1e-10)


def test_errors_of_simple_samples_are_those_of_the_jackknife() -> None:
    """Berger (2008), Journal of Official Statistics 24: both agree in large samples."""
    incomes = np.random.default_rng(2).lognormal(10, 0.6, 1500)
    sample = sample_of(incomes)
    of_gini = gini_indices(sample, gini(sample).values).standard_errors[0]
    of_variance = variances(sample, moments(sample)).standard_errors[0]
    of_deviation = standard_deviations(sample, moments(sample)).standard_errors[0]
    assert of_gini == pytest.approx(jackknife(incomes, gini_of) ** 0.5, rel=0.01)
    assert of_variance == pytest.approx(jackknife(incomes, lambda x: x.var(ddof=1)) ** 0.5, rel=0.02)
    assert of_deviation == pytest.approx(jackknife(incomes, lambda x: x.std(ddof=1)) ** 0.5, rel=0.02)


def test_errors_of_weighted_stratified_clusters_are_those_of_the_jackknife() -> None:
    sample = drawn(3)
    of_gini = gini_indices(sample, gini(sample).values).standard_errors[0]
    of_variance = variances(sample, moments(sample)).standard_errors[0]
    by_gini = jackknife_of_clusters(sample, lambda part: gini(part).values[0])
    by_variance = jackknife_of_clusters(sample, lambda part: moments(part).variances[0])
    assert of_gini == pytest.approx(by_gini**0.5, rel=0.03)
    assert of_variance == pytest.approx(by_variance**0.5, rel=0.06)
    simple = Sample(sample.values, sample.groups, sample.units, 1, sample.weights)
    assert of_gini > 1.05 * gini_indices(simple, gini(simple).values).standard_errors[0]


def test_the_error_of_a_variance_of_normal_values_is_that_of_theory() -> None:
    """The variance of s^2 is 2 sigma^4 / (n - 1) (Cramer 1946, 27.4)."""
    n = 4000
    values = np.array([NormalDist(50, 7).inv_cdf((at + 0.5) / n) for at in range(n)])
    sample = sample_of(values)
    found = variances(sample, moments(sample))
    assert found.values[0] == pytest.approx(49, rel=0.005)
    assert found.standard_errors[0] == pytest.approx(49 * (2 / (n - 1)) ** 0.5, rel=0.01)


def test_the_error_of_the_share_below_is_that_of_sas() -> None:
    """SURVEYMEANS, ice cream study: the share that spends less than 10, simple and stratified by grade."""
    grade, spending = ice_cream()
    students, counted = np.array([1824, 1025, 1151]), np.bincount(grade)
    simple = sample_of(spending, design=Design(fractions=np.array([40 / 4000])))
    design = Design(strata=grade, fractions=counted / students)
    stratified = sample_of(spending, weights=(students / counted)[grade], design=design)
    median = replace(RULE, points=(0.5,))
    for sample, published in ((simple, 0.078761), (stratified, 0.058424)):
        at_nine = replace(percentiles(sample, median), values=np.array([[9.0]]))
        assert share_errors(sample, at_nine)[0, 0] == pytest.approx(published, abs=1e-6)


def test_errors_of_percentiles_of_normal_values_are_those_of_theory() -> None:
    """sqrt(p (1 - p) / n) / f (Cramer 1946, 28.5), but for the curve through the percentiles that leave."""
    n, normal = 20000, NormalDist(100, 10)
    sample = sample_of(np.array([normal.inv_cdf((at + 0.5) / n) for at in range(n)]))
    found = percentiles(sample, RULE)
    errors = percentile_errors(replace(found, share_errors=share_errors(sample, found)))[0]
    assert np.isnan(errors[[0, -1]]).all()
    for point, error in list(zip(found.points, errors, strict=True))[2:-2]:
        theory = (point * (1 - point) / n) ** 0.5 / normal.pdf(normal.inv_cdf(point))
        assert error == pytest.approx(theory, rel=0.05), point


def test_errors_of_percentiles_are_the_spread_of_repeated_samples() -> None:
    """Weighted samples of two strata and clusters: mean error against deviation of 300 estimates."""
    told, expected = [], []
    for seed in range(300):
        sample = drawn(1000 + seed, clusters=40, size=10)
        found = percentiles(sample, RULE)
        told.append(found.values[0])
        expected.append(percentile_errors(replace(found, share_errors=share_errors(sample, found)))[0])
    points, errors = np.array(found.points), np.array(expected)
    for point in (0.25, 0.5, 0.75):
        at = int(np.flatnonzero(points == point)[0])
        there = np.isfinite(errors[:, at])
        assert there.mean() > 0.95
        spread = np.nanstd([values[at] for values in told])
        assert errors[there, at].mean() == pytest.approx(spread, rel=0.12), point
