"""Linkage to the population in the shape of Israel CBS's Table 2, and Bayes' rule by SciPy's densities."""

import numpy as np
import pytest

from sdcgate.methods.risk.population_linkage import link_to_population, measurement_error_risk
from shlomo_tables import table_2


def test_a_file_with_the_margins_of_table_2_has_its_figures():
    sample, keys, people = table_2()
    found = link_to_population(sample[:, None], keys[:, None], people)
    assert (found.sample_keys, found.sample_uniques) == (9_838, 6_031)
    assert (found.population_keys, found.population_uniques) == (107_663, 32_004)
    assert round(100 * found.share_of_population_uniques, 1) == 29.7
    assert (found.matched, found.unmatched, found.one_to_one) == (5_669, 362, 101)
    assert found.expected_matches == pytest.approx(411.5, rel=1e-12)
    assert found.expected_matches_with_unmatched == pytest.approx(411.5 * 6_031 / 5_669)


@pytest.mark.parametrize("outside", [0, 7, 5_000])
def test_probabilities_are_bayes_rule_with_scipys_densities(outside):
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(4)
    original = rng.multivariate_normal([10, -3], [[4, 1], [1, 2]], 60)
    error = np.array([[0.3, 0.1], [0.1, 0.2]])
    masked = original + rng.multivariate_normal([0, 0], error, 60)
    found = measurement_error_risk(original, masked, error, outside)
    anybody = multivariate_normal(masked.mean(axis=0), np.cov(masked.T, bias=True)).pdf(masked)
    for person in range(60):
        weight = multivariate_normal(original[person], error).pdf(masked) / anybody
        assert found.correct[person] == pytest.approx(weight[person] / (weight.sum() + outside), rel=1e-9)
        assert found.best[person] == weight.argmax()


def test_two_people_in_one_dimension_have_the_logistic_probability():
    """x = z = -1 and 1, errors of variance s: both are as common, so that the odds are exp(2/s)."""
    original = np.array([[-1.0], [1.0]])
    found = measurement_error_risk(original, original, np.array([[0.5]]))
    assert found.correct.tolist() == pytest.approx([1 / (1 + np.exp(-4.0))] * 2, rel=1e-12)
