"""Smoothing along ordered variables, on populations that are known here."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.risk.individual import individual_risk
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.loglinear import fit, inverse_moments, key_table, main_effects, risk
from sdcgate.methods.risk.negative_binomial import negative_binomial_risk
from sdcgate.methods.risk.neighbourhoods import KeyField, Neighbourhood
from sdcgate.methods.risk.smoothing import smooth, smoothed_risk


def curved(count, ordinal, nominal, rng):
    """People of four classes, whose ordered values scatter about a middle of their own."""
    of_class = rng.choice(4, count, p=[0.4, 0.3, 0.2, 0.1])
    columns = []
    for categories in ordinal:
        middle, spread = rng.uniform(0.15, 0.85, 4) * categories, rng.uniform(0.06, 0.15, 4) * categories
        columns.append(np.clip(np.rint(rng.normal(middle[of_class], spread[of_class])), 0, categories - 1))
    for categories in nominal:
        chances = rng.dirichlet(np.ones(categories), 4).cumsum(axis=1)
        columns.append((rng.random(count)[:, None] > chances[of_class]).sum(axis=1).clip(max=categories - 1))
    return np.column_stack(columns).astype(np.int64)


def true_matches(people, chosen):
    keys, own = group_keys(people), group_keys(people[chosen])
    sizes = keys.counts[keys.group][chosen][own.first][own.counts == 1]
    return (sizes == 1).sum(), (1 / sizes).sum()


@pytest.mark.parametrize("seed", range(3))
def test_a_curved_density_is_followed_where_independence_is_far_off(seed):
    rng = np.random.default_rng(seed)
    people = curved(150_000, (60, 16, 8), (2, 5), rng)
    chosen = rng.random(len(people)) < 0.03
    tau_1, tau_2 = true_matches(people, chosen)
    found = smoothed_risk(smooth(people[chosen], (0, 1, 2), fraction=0.03))
    table = key_table(people[chosen], fraction=0.03)
    independent = risk(table, fit(table, main_effects(5)))
    by_design = individual_risk(table.keys.counts, np.full(len(table.keys), 0.03))
    assert found.tau_2 == pytest.approx(tau_2, rel=0.15)
    assert abs(found.tau_2 - tau_2) < abs(independent.tau_2 - tau_2)
    assert abs(found.tau_2 - tau_2) < abs(by_design[table.keys.counts == 1].sum() - tau_2)
    assert found.tau_1 == pytest.approx(tau_1, rel=0.4)
    assert found.found_uniques == (table.keys.counts == 1).sum()
    assert found.expected_uniques == pytest.approx(found.found_uniques, rel=0.03)


def test_without_dispersion_and_neighbours_it_is_the_log_linear_model_of_independence():
    rng = np.random.default_rng(4)
    codes = curved(3000, (9, 7), (3,), rng)
    codes[rng.random(codes.shape) < 0.02] = -1
    found = smooth(codes, (0, 1), fraction=0.1, neighbourhoods=(), dispersion=0.0)
    table = key_table(codes, fraction=0.1)
    model = fit(table, main_effects(3), tolerance=1e-9)
    expected = risk(table, model)
    np.testing.assert_allclose(found.means, model.means, rtol=1e-12)
    of_file = smoothed_risk(found)
    np.testing.assert_allclose(of_file.risks, expected.risks, rtol=1e-11)
    assert of_file.tau_1 == pytest.approx(expected.tau_1, rel=1e-11)
    assert of_file.tau == pytest.approx(expected.tau, rel=1e-11)


def test_with_a_prior_that_outweighs_everything_it_is_independence_too():
    codes = curved(2000, (9, 7), (3,), np.random.default_rng(5))
    plain = smooth(codes, (0, 1), fraction=0.1, neighbourhoods=(), dispersion=0.0)
    strong = smooth(codes, (0, 1), fraction=0.1, neighbourhoods=(Neighbourhood(2, 2, 1e12),), dispersion=0.0)
    np.testing.assert_allclose(strong.means, plain.means, rtol=1e-8)
    assert smoothed_risk(strong).tau_2 == pytest.approx(smoothed_risk(plain).tau_2, rel=1e-9)


def test_with_infinite_dispersion_it_is_the_individual_risk():
    rng = np.random.default_rng(6)
    codes = curved(2000, (9, 7), (3,), rng)
    weights = rng.uniform(5, 50, 2000)
    found = smoothed_risk(smooth(codes, (0,), weights, dispersion=np.inf))
    keys = group_keys(codes)
    p = keys.counts / np.bincount(keys.group, weights)
    np.testing.assert_allclose(found.risks, individual_risk(keys.counts, p), rtol=1e-12)


@settings(max_examples=50)
@given(
    st.integers(1, 300),
    st.floats(1e-4, 1e5),
    st.floats(1e-6, 0.999),
)
def test_both_ends_of_the_dispersion_are_the_two_models_that_it_lies_between(count, mean, inclusion):
    counts, pi = np.array([count]), np.array([inclusion])

    def at(dispersion):
        return negative_binomial_risk(counts, np.array([mean]), np.array([dispersion]), pi)[1]

    poisson = inverse_moments(counts, (1.0 - pi) * mean)[0]
    np.testing.assert_allclose(at(0.0), poisson, rtol=1e-12)
    np.testing.assert_allclose(at(1e-16), poisson, rtol=1e-10)
    np.testing.assert_allclose(at(np.inf), individual_risk(counts, pi), rtol=1e-12)
    np.testing.assert_allclose(at(1e30), individual_risk(counts, pi), rtol=1e-10)


@settings(max_examples=50)
@given(st.integers(1, 50), st.floats(1e-3, 1e4), st.floats(0, 1e3), st.floats(1e-4, 1.0))
def test_a_risk_is_a_probability_and_no_larger_than_one_over_f(count, mean, dispersion, inclusion):
    unique, risks = (
        one[0]
        for one in negative_binomial_risk(
            np.array([count]), np.array([mean]), np.array([dispersion]), np.array([inclusion])
        )
    )
    assert 0 < risks <= 1 / count * (1 + 1e-12)
    assert unique == 0 if count > 1 else unique <= risks * (1 + 1e-12)


def test_sums_over_neighbours_are_those_of_each_key_against_each():
    rng = np.random.default_rng(7)
    codes = np.unique(rng.integers(-1, 6, (300, 3)), axis=0)
    keys = group_keys(np.repeat(codes, rng.integers(1, 4, len(codes)), axis=0))
    own = np.repeat(codes, 1, axis=0)
    field = KeyField.of(keys, own, [0, 2])
    sums = field.sums(np.arange(len(own)), 2)
    weights = np.array([1.0, 1 - 1 / 9, 1 - 4 / 9])
    # The axes stand as the field has them: the longest first, equally long ones in their order.
    ordered, group = own[field.order][:, [0, 2]], own[field.order][:, 1]
    for row in range(0, len(own), 5):
        away = ordered - ordered[row]
        near = (group == group[row]) & (np.abs(away) <= 2).all(axis=1)
        near &= ((ordered < 0) == (ordered[row] < 0)).all(axis=1)
        near[row] = False
        mass = weights[np.abs(away[near])].prod(axis=1) * field.counts[near]
        expected = [mass.sum(), mass @ weights[np.abs(away[near])].prod(axis=1)]
        for axis in range(2):
            expected += [mass @ away[near, axis], mass @ away[near, axis] ** 2]
        np.testing.assert_allclose(sums[row], expected, atol=1e-12)


def test_missing_is_near_to_missing_only():
    codes = np.array([[-1, 0]] * 3 + [[0, 0]] * 5 + [[1, 0]] * 7)
    found = smooth(codes, (0,), fraction=0.1, neighbourhoods=(Neighbourhood(1, 0, 0.0),))
    # Nothing is near to the missing ones, so that independence stands: 15 records, 3/15 of them.
    assert found.means[0] == pytest.approx(3.0)
    assert found.means[1] == pytest.approx(5.0)


def test_what_has_no_neighbour_has_a_mean_that_is_not_known():
    codes = np.array([[0, 0], [9, 1], [9, 1], [8, 1]])
    found = smooth(codes, (0,), fraction=0.25, neighbourhoods=(Neighbourhood(1, 0, 0.0),), dispersion=0.0)
    assert found.dispersions.tolist()[0] == np.inf
    assert smoothed_risk(found).risks[0] == pytest.approx(individual_risk(np.array([1]), np.array([0.25]))[0])


def test_a_file_without_structure_wants_no_neighbourhood():
    codes = np.random.default_rng(8).integers(0, (10, 8), (4000, 2))
    found = smooth(codes, (0, 1), fraction=0.1)
    assert found.neighbourhoods == ()
    assert found.bandwidth is None


def test_unequal_inclusion_is_taken_from_the_weights():
    rng = np.random.default_rng(9)
    people = curved(300_000, (40, 12), (4,), rng)
    inclusion = np.where(people[:, 2] < 2, 0.01, 0.1)
    chosen = rng.random(len(people)) < inclusion
    found = smoothed_risk(smooth(people[chosen], (0, 1), 1.0 / inclusion[chosen]))
    assert found.tau_2 == pytest.approx(true_matches(people, chosen)[1], rel=0.2)


def test_a_census_is_risky_as_it_stands():
    found = smoothed_risk(smooth(np.array([[0], [1], [1]]), (0,), fraction=1.0))
    assert found.risks.tolist() == [1.0, 0.5]
    assert (found.tau_1, found.tau_2, found.tau) == (1.0, 1.0, 2.0)


@pytest.mark.parametrize("codes", [np.zeros((50, 2), int), np.full((5, 2), -1), np.arange(20)[:, None]])
def test_files_without_variety_have_finite_risks(codes):
    found = smoothed_risk(smooth(codes, (0,), fraction=0.1))
    assert np.all((found.risks > 0) & (found.risks <= 1))
    assert np.isfinite(found.standardised)


@pytest.mark.parametrize("highest", [4, 99])
def test_hundreds_of_ordered_keys_are_no_harm(highest):
    """Expected counts fall below what a number can be, and chances of uniques come near to 1."""
    codes = np.random.default_rng(0).integers(-1, highest, (600, 200))
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        found = smoothed_risk(smooth(codes, range(200), fraction=0.01))
    assert found.tau_2 == pytest.approx(600, rel=1e-3)
    assert np.isfinite(found.standardised)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ordinal": ()}, "at least one key variable"),
        ({"ordinal": (2,)}, "0 to 1"),
        ({"fraction": 0.0}, "above 0"),
        ({"weights": np.ones(3)}, "one of them"),
        ({"dispersion": -1.0}, "at least 0"),
        ({"dispersion": float("nan")}, "at least 0"),
        ({"codes": np.zeros((0, 2), int)}, "at least one record"),
        ({"codes": np.zeros((3, 2))}, "must be integers"),
    ],
)
def test_what_cannot_be_smoothed_is_refused(wrong, message):
    given_ = {"codes": np.zeros((3, 2), int), "ordinal": (0,), "fraction": 0.1, **wrong}
    with pytest.raises(ValueError, match=message):
        smooth(**given_)


@pytest.mark.parametrize("wrong", [(0, 0, 1.0), (1, 3, 1.0), (1, 0, -1.0), (1, 0, np.nan), (None, 1, 1.0)])
def test_neighbourhoods_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        Neighbourhood(*wrong)


def test_wrong_figures_of_keys_are_refused_together():
    one = np.ones(1)
    with pytest.raises(ValueError, match=r"counts .*; means .*; dispersions .*; inclusion"):
        negative_binomial_risk(np.zeros(1, int), 0 * one, -one, 2 * one)


def test_the_narrowest_neighbourhood_is_the_bandwidth():
    codes = curved(20_000, (30, 12), (), np.random.default_rng(10))
    found = smooth(codes, (0, 1), fraction=0.1)
    widths = [one.width for one in found.neighbourhoods]
    assert found.bandwidth == widths[-1] == min(widths)
    assert list(product(widths)) == sorted(product(widths), reverse=True)
