"""Errors of skewness, kurtosis and Lorenz curves: exact derivatives, published formulas, replication."""

from collections.abc import Callable
from fractions import Fraction
from math import exp, log
from statistics import NormalDist

import numpy as np
import pytest

from published_samples import sample_of
from sdcgate.methods.outputs.linearised_errors import kurtoses, lorenz_ordinates, skewnesses
from sdcgate.methods.outputs.means import estimates_of
from sdcgate.methods.outputs.moments import moments
from sdcgate.methods.outputs.percentiles import percentiles
from sdcgate.methods.outputs.sample import Design, Sample
from sdcgate.methods.outputs.statistic_rules import PercentileUnits
from sdcgate.methods.rules import Consequence

RULE = PercentileUnits(10, 10, Consequence.PROTECT)
STEP = Fraction(1, 10**20)
"""Of a weight: the squares of central differences are left out, 40 digits behind the point."""
Powers = tuple[Fraction, ...]
OF_POWERS: dict[str, Callable[[Powers], Fraction]] = {
    # the square of skewness without its sign, as roots are no fractions; kurtosis as it is
    "skewness": lambda m: m[3] ** 2 / m[2] ** 3,
    "kurtosis": lambda m: m[4] / m[2] ** 2,
}


def central(values: list[Fraction], weights: list[Fraction]) -> Powers:
    total = sum(weights)
    mean = sum(w * y for w, y in zip(weights, values, strict=True)) / total
    return tuple(
        sum(w * (y - mean) ** power for w, y in zip(weights, values, strict=True)) / total
        for power in range(5)
    )


def derivatives(values: list[Fraction], weights: list[Fraction], of: Callable[[Powers], Fraction]):
    """By each weight, times the weight, of exact fractions."""
    found = []
    for place, weight in enumerate(weights):
        ends = []
        for sign in (1, -1):
            moved = [*weights]
            moved[place] = weight + sign * STEP
            ends.append(of(central(values, moved)))
        found.append(float(weight * (ends[0] - ends[1]) / (2 * STEP)))
    return np.array(found)


@pytest.mark.parametrize("design", ["none", "weights", "clusters"])
@pytest.mark.parametrize("name", ["skewness", "kurtosis"])
def test_errors_are_those_of_derivatives_in_exact_fractions(name: str, design: str) -> None:
    rng = np.random.default_rng(2)
    values, n = rng.lognormal(2, 0.6, 36).round(3), 36
    weights = np.ones(n) if design == "none" else rng.uniform(1, 4, n).round(2)
    drawn = Design(strata=np.arange(n) % 2, clusters=np.arange(n) // 3) if design == "clusters" else Design()
    sample = sample_of(values, weights=weights, design=drawn)
    exact_values, exact_weights = ([Fraction(str(one)) for one in column] for column in (values, weights))
    told = moments(sample)
    linearised = derivatives(exact_values, exact_weights, OF_POWERS[name])
    if name == "skewness":
        m = central(exact_values, exact_weights)
        plain = float(m[3]) / float(m[2]) ** 1.5
        linearised = linearised / (2 * plain) * np.sqrt(n * (n - 1)) / (n - 2)
    else:
        linearised = linearised * (n - 1) * (n + 1) / ((n - 2) * (n - 3))
    expected = estimates_of(sample, getattr(told, name), linearised)
    found = (skewnesses if name == "skewness" else kurtoses)(sample, told)
    assert found.values == pytest.approx(getattr(told, name))
    assert found.standard_errors == pytest.approx(expected.standard_errors, rel=1e-10)
    assert found.degrees_of_freedom.tolist() == expected.degrees_of_freedom.tolist()
    if design == "none":
        apart = linearised - linearised.mean()
        assert found.standard_errors[0] ** 2 == pytest.approx(n / (n - 1) * np.sum(apart**2), rel=1e-10)


def test_of_normal_values_they_are_cramers() -> None:
    """Cramer (1946), 29.3: 6/n and 24/n; of quantiles of a normal distribution."""
    n = 100_000
    places = (np.arange(n) + 0.5) / n
    sample = sample_of(np.array([NormalDist(50, 9).inv_cdf(place) for place in places]))
    told = moments(sample)
    assert skewnesses(sample, told).standard_errors[0] == pytest.approx(np.sqrt(6 / n), rel=0.002)
    assert kurtoses(sample, told).standard_errors[0] == pytest.approx(np.sqrt(24 / n), rel=0.01)


@pytest.mark.parametrize("point", [0.1, 0.25, 0.5, 0.75, 0.9])
def test_of_exponential_values_errors_of_a_lorenz_curve_are_beach_and_davidsons(point: float) -> None:
    """Beach and Davidson (1983), theorem 1, with the moments of an exponential distribution below q."""
    q = -log(1 - point)
    first, second = 1 - exp(-q) * (1 + q), 2 - exp(-q) * (q * q + 2 * q + 2)
    gamma = first / point
    spread = second / point - gamma**2
    own = point * (spread + (1 - point) * (q - gamma) ** 2)
    with_all = point * (spread + (q - gamma) * (1 - gamma))
    variance = own + first**2 - 2 * first * with_all
    n = 50_000
    incomes = -np.log(1 - (np.arange(n) + 0.5) / n)
    sample = sample_of(incomes)
    found = percentiles(sample, RULE)
    told = lorenz_ordinates(sample, found)[found.points.index(point)]
    assert told.values[0] == pytest.approx(point + (1 - point) * log(1 - point), abs=1e-4)
    assert told.standard_errors[0] == pytest.approx(np.sqrt(variance / n), rel=0.005)


def test_errors_of_a_lorenz_curve_are_as_wide_as_it_varies() -> None:
    """Three hundred samples of sixty weighted clusters in two strata."""
    ordinates, errors = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        cluster = np.repeat(np.arange(60), 12)
        incomes = np.exp(rng.normal(10, 0.5, len(cluster)) + rng.normal(0, 0.3, 60)[cluster])
        sample = sample_of(
            incomes,
            weights=rng.uniform(1, 4, len(cluster)),
            design=Design(strata=cluster % 2, clusters=cluster),
        )
        found = percentiles(sample, RULE)
        told = lorenz_ordinates(sample, found)
        ordinates.append([one.values[0] for one in told])
        errors.append([one.standard_errors[0] for one in told])
    between = np.std(ordinates, axis=0, ddof=1)
    assert np.sqrt(np.mean(np.square(errors), axis=0)) == pytest.approx(between, rel=0.13)


def test_a_group_that_does_not_vary_has_neither_figure_nor_error() -> None:
    sample = Sample(
        np.append(np.full(40, 5.0), np.arange(1.0, 41.0)), np.repeat([0, 1], 40), np.arange(80), 2
    )
    told = moments(sample)
    for found in (skewnesses(sample, told), kurtoses(sample, told)):
        assert np.isnan([found.values[0], found.standard_errors[0]]).all()
        assert np.isfinite([found.values[1], found.standard_errors[1]]).all()
