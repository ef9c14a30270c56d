"""PSUs linked to areas, held against enumeration of all worlds, SciPy's distributions and closed forms."""

from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from scipy.stats import norm

from sdcgate.methods.risk.individual import individual_risk
from sdcgate.methods.risk.psu_linkage import (
    link_psus,
    link_psus_one_to_one,
    psu_figures,
    risk_with_areas,
)

ENROLMENT = np.array([[310.0], [314.0], [322.0], [498.0], [502.0]])
"""Pupils of five schools."""


@pytest.mark.parametrize(("rounding", "error"), [(0.0, 3.0), (10.0, 3.0), (0.003, 3.0), (1e-5, 40.0)])
def test_the_posterior_is_bayes_rule_with_scipys_distributions(rounding, error):
    figures = np.array([[311.0], [500.0], [420.0]])
    prior = np.array([1.0, 2.0, 1.0, 4.0, 1.0])
    found = link_psus(figures, ENROLMENT, error, rounding, prior)
    for psu, figure in enumerate(figures[:, 0]):
        if rounding > 0.1:
            law = norm(ENROLMENT[:, 0], error)
            low, high = figure - rounding / 2, figure + rounding / 2
            near = np.where(
                ENROLMENT[:, 0] < figure, law.sf(low) - law.sf(high), law.cdf(high) - law.cdf(low)
            )
        else:
            near = norm.pdf(figure, ENROLMENT[:, 0], error)
        expected = prior * near / (prior * near).sum()
        np.testing.assert_allclose(found.posterior[psu], expected, rtol=1e-6, atol=1e-12)


def test_without_noise_the_posterior_is_the_share_of_the_worlds_that_fit():
    """All ways in which three PSUs can lie in five schools, counted."""
    figures, rounding = np.array([[310.0], [320.0], [500.0]]), 10.0
    found = link_psus(figures, ENROLMENT, rounding=rounding)
    counts, worlds = np.zeros((3, 5)), 0
    for world in product(range(5), repeat=3):
        if (np.abs(ENROLMENT[list(world), 0] - figures[:, 0]) <= rounding / 2).all():
            worlds += 1
            counts[range(3), world] += 1
    np.testing.assert_allclose(found.posterior, counts / worlds, atol=1e-15)
    assert found.ties.tolist() == [2, 1, 2]
    assert found.expected_matches == pytest.approx(0.5 + 1 + 0.5)


def test_all_at_once_is_the_likeliest_of_all_assignments():
    rng = np.random.default_rng(7)
    for _ in range(20):
        areas = rng.normal(0, 1, (5, 2))
        linkage = link_psus(areas[rng.permutation(5)[:4]] + rng.normal(0, 0.7, (4, 2)), areas, 0.7)
        best = max(permutations(range(5), 4), key=lambda at: linkage.posterior[range(4), at].prod())
        assert link_psus_one_to_one(linkage).tolist() == list(best)


def test_of_two_areas_the_right_one_is_taken_as_often_as_the_normal_law_says():
    """Areas d apart and errors of s: right with Phi(d / 2s), the textbook's rate of a linear rule."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 100_000)
    areas = np.array([[0.0], [1.5]])
    found = link_psus(areas[truth] + rng.normal(0, 1.0, (len(truth), 1)), areas, 1.0)
    share = found.right(truth).mean()
    assert share == pytest.approx(norm.cdf(0.75), abs=0.005)
    assert found.expected_matches / len(truth) == pytest.approx(norm.cdf(0.75), abs=0.005)


def test_the_odds_of_two_areas_are_the_logistic_function():
    found = link_psus(np.array([[0.2]]), np.array([[0.0], [1.0]]), 0.5)
    odds = np.exp((0.8**2 - 0.2**2) / (2 * 0.25))
    assert found.posterior[0, 0] == pytest.approx(odds / (1 + odds), rel=1e-12)


def test_the_risk_is_the_share_of_the_worlds_in_which_the_record_is_the_target():
    """Two areas that fit one PSU, with 2 and 5 people of the target's key; each drawn alike from its area.

    A world: the PSU's area, and which of its people with the key the record is. The target is one person of
    the first area: he is the record in the worlds of P(area) / 2 of the weight.
    """
    linkage = link_psus(np.array([[5.0]]), np.array([[4.8], [5.4]]), 0.4)
    worlds = [
        (linkage.posterior[0, area] / keyed, (area, person))
        for area, keyed in ((0, 2), (1, 5))
        for person in range(keyed)
    ]
    assert sum(weight for weight, _ in worlds) == pytest.approx(1.0)
    target = sum(weight for weight, who in worlds if who == (0, 0))
    codes, psus = np.array([[0], [1], [1]]), np.array([0, 0, 0])
    # One of the two is in the file: f = 1, p = 1/2.
    found = risk_with_areas(
        codes, psus, np.array([2.0, 1.0, 1.0]), linkage.of_areas(np.array([0])), np.array([4.0])
    )
    by_negative_binomial = sum(0.5 * 0.5 ** (size - 1) / size for size in range(1, 200))
    assert found.within[0] == pytest.approx(by_negative_binomial, rel=1e-12)
    assert found.with_area[0] == pytest.approx(
        max(target * 2 * by_negative_binomial, found.without[0]), rel=1e-12
    )


def test_standard_errors_of_means_are_those_of_repeated_samples():
    """1,000 samples of 4 schools by 25 pupils; the mean of the estimated variances is that of the means."""
    rng = np.random.default_rng(11)
    psus = np.repeat(np.arange(4), 25)
    weights = np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 20)
    means, errors = [], []
    for _ in range(1_000):
        found = psu_figures(psus, rng.normal(10.0, 2.0, (100, 1)), weights)
        means.append(found.means[:, 0])
        errors.append(found.errors[:, 0] ** 2)
    assert np.mean(errors) == pytest.approx(np.var(means), rel=0.07)
    # sum w^2 / (sum w)^2 = 5 * 55 / 75^2 a PSU
    assert np.mean(errors) == pytest.approx(4.0 * 275 / 75**2, rel=0.02)


def test_people_are_as_often_matched_as_their_areas_probability_over_those_with_their_key_says():
    """A made population of 40 areas of 60 people, 20 people of each drawn. An intruder takes the likeliest
    area, then one of its people with the key. The individual risk within areas, which knows
    only the sample, is an eighth too low here: few share a key, as page which-estimate.md tells."""
    rng = np.random.default_rng(5)
    hits, told, estimated = 0.0, 0.0, 0.0
    for _ in range(80):
        rates = rng.normal(0.0, 1.0, (40, 1))
        key = rng.integers(0, 30, (40, 60))
        drawn = rng.permutation(40)
        linkage = link_psus(rates[drawn] + rng.normal(0.0, 0.05, (40, 1)), rates, 0.05)
        taken = np.array([rng.permutation(60)[:20] for _ in drawn])
        codes = key[drawn[:, None], taken].reshape(-1, 1)
        psus = np.repeat(np.arange(40), 20)
        chance = linkage.best_probability
        people = (key[drawn[psus]] == codes).sum(axis=1)
        hits += (linkage.right(drawn)[psus] / people).sum()
        told += (chance[psus] / people).sum()
        risk = risk_with_areas(codes, psus, np.full(800, 3.0), chance, np.full(40, 60.0))
        estimated += (chance[psus] * risk.within).sum()
    assert told == pytest.approx(hits, rel=0.05)
    assert estimated == pytest.approx(7 / 8 * told, rel=0.02)


def test_the_individual_risk_is_the_hypergeometric_one_of_units_drawn_alike():
    """f of n with key k: E(1/F) by the negative binomial is its sum, here to 400 terms."""
    f, p = 3, 0.25
    terms = sum(comb(size - 1, f - 1) * p**f * (1 - p) ** (size - f) / size for size in range(f, 400))
    codes = np.array([[0], [0], [0], [1]])
    found = risk_with_areas(codes, np.zeros(4, dtype=np.int64), np.full(4, 7.0), np.ones(1), np.array([16.0]))
    assert found.within[0] == pytest.approx(terms, rel=1e-12)
    assert found.within[0] == individual_risk(np.array([3]), np.array([0.25]))[0]
