"""Log-linear models on populations that are known here."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.loglinear import (
    LARGE_MEAN,
    all_two_way,
    criteria,
    fit,
    hierarchical,
    inverse_moments,
    key_table,
    main_effects,
    risk,
)


def people(count, shape, dependence, rng):
    """A population whose key variables hang together in pairs, as much as `dependence` says."""
    hidden = rng.normal(size=count)
    columns = []
    for categories in shape:
        value = dependence * hidden + rng.normal(size=count)
        cuts = np.quantile(value, np.cumsum(rng.dirichlet(np.full(categories, 2.0)))[:-1])
        columns.append(np.searchsorted(cuts, value))
    return np.column_stack(columns)


def truth(population, chosen, table):
    keys = group_keys(population)
    size = keys.counts[keys.group][chosen][table.keys.first]
    single = table.keys.counts == 1
    return (size[single] == 1).sum(), (1 / size[single]).sum()


def test_independent_variables_are_fitted_by_their_main_effects():
    rng = np.random.default_rng(1)
    population = people(100_000, (3, 8, 10, 12), 0.0, rng)
    chosen = rng.random(100_000) < 0.03
    table = key_table(population[chosen], fraction=0.03)
    model = fit(table, main_effects(4))
    found = risk(table, model)
    tau_1, tau_2 = truth(population, chosen, table)
    assert found.tau_2 == pytest.approx(tau_2, abs=4 * found.variance**0.5 + 0.05 * tau_2)
    assert found.tau_1 == pytest.approx(tau_1, abs=5 + 0.3 * tau_1)
    assert criteria(table, model).fits


def test_dependence_that_a_model_leaves_out_shows_in_the_criteria():
    """Underfitting overstates the risk; so say the criteria, and the richer model is nearer to the truth."""
    rng = np.random.default_rng(2)
    population = people(200_000, (4, 8, 10, 12), 2.0, rng)
    chosen = rng.random(200_000) < 0.05
    table = key_table(population[chosen], fraction=0.05)
    _, tau_2 = truth(population, chosen, table)
    simple, rich = fit(table, main_effects(4)), fit(table, all_two_way(4))
    assert criteria(table, simple).standardised_2 > 5
    assert criteria(table, simple).bias_2 > 0
    assert abs(risk(table, rich).tau_2 - tau_2) < abs(risk(table, simple).tau_2 - tau_2)


def test_criterion_b2_and_its_squares_are_the_sums_over_all_possible_keys():
    """Written out: P(f = 1) [-h'(f - mu)/pi + h''((f - mu)^2 - f)/(2 pi^2)], h = (1 - e^-t)/t."""
    rng = np.random.default_rng(8)
    fraction = 0.05
    table = key_table(people(3_000, (4, 6, 9), 1.5, rng), fraction=fraction)
    model = fit(table, main_effects(3))
    counts = np.zeros(table.shape).reshape(-1)
    counts[table.cells] = table.keys.counts
    mu = model.table
    t = (1 - fraction) * mu / fraction
    slope = (1 - fraction) * (np.exp(-t) * (1 + t) - 1) / t**2
    curve = (1 - fraction) ** 2 * (2 - np.exp(-t) * (t**2 + 2 * t + 2)) / t**3
    linear, quadratic = counts - mu, (counts - mu) ** 2 - counts
    added = mu * np.exp(-mu) * (-slope * linear / fraction + curve * quadratic / (2 * fraction**2))
    found = criteria(table, model)
    assert found.bias_2 == pytest.approx(added.sum(), rel=1e-9)
    assert found.squares_2 == pytest.approx((added**2).sum(), rel=1e-9)


def test_margins_are_met_and_the_start_of_a_simpler_model_saves_passes():
    rng = np.random.default_rng(3)
    table = key_table(people(5_000, (3, 4, 5), 1.5, rng), fraction=0.5)
    simple = fit(table, main_effects(3))
    rich = fit(table, all_two_way(3), start=simple, tolerance=1e-6)
    counts = np.zeros(table.shape)
    counts.reshape(-1)[table.cells] = table.keys.counts
    means = rich.table.reshape(table.shape)
    for axis in range(3):
        np.testing.assert_allclose(means.sum(axis), counts.sum(axis), atol=1e-5)
    np.testing.assert_allclose(rich.means, fit(table, all_two_way(3), tolerance=1e-6).means, rtol=1e-4)


def test_the_saturated_model_is_the_table_itself():
    rng = np.random.default_rng(4)
    table = key_table(people(300, (3, 4), 1.0, rng), fraction=0.1)
    np.testing.assert_allclose(fit(table, [(0, 1)]).means, table.keys.counts, rtol=1e-12)


def test_a_pseudo_fit_is_of_the_population_where_one_group_is_sampled_more():
    rng = np.random.default_rng(5)
    population = people(200_000, (2, 8, 10, 8), 0.0, rng)
    inclusion = np.where(population[:, 1] < 4, 0.02, 0.2)
    chosen = rng.random(200_000) < inclusion
    table = key_table(population[chosen], 1.0 / inclusion[chosen])
    _, tau_2 = truth(population, chosen, table)
    weighted = risk(table, fit(table, main_effects(4), pseudo=True))
    by_design = table.keys.counts / table.population
    poisson = risk(table, fit(table, main_effects(4)), by_design)
    assert weighted.tau_2 == pytest.approx(tau_2, rel=0.1)
    assert poisson.tau_2 == pytest.approx(tau_2, rel=0.1)
    blind = risk(table, fit(table, main_effects(4)))
    assert abs(blind.tau_2 - tau_2) > abs(weighted.tau_2 - tau_2)


def test_missing_is_a_category():
    table = key_table(np.array([[0, -1], [1, 0], [0, 0]]), fraction=0.5)
    assert table.shape == (2, 2)


def test_generators_keep_what_no_other_implies_and_every_main_effect():
    assert hierarchical([(1, 0), (0,), (0, 1)], 3) == ((0, 1), (2,))
    assert all_two_way(1) == ((0,),)
    with pytest.raises(ValueError, match="0 to 2"):
        hierarchical([(0, 3)], 3)


@pytest.mark.parametrize(
    ("codes", "options", "message"),
    [
        (np.zeros((0, 2), dtype=np.int64), {"fraction": 0.1}, "at least one record"),
        (np.zeros((2, 2), dtype=np.int64), {}, "one of them"),
        (np.zeros((2, 2), dtype=np.int64), {"fraction": 0.0}, "above 0"),
        (np.zeros((2, 2), dtype=np.int64), {"fraction": float("nan")}, "above 0"),
        (np.zeros((2, 2), dtype=np.int64), {"weights": np.array([1.0, np.nan])}, "weights"),
        (np.full((2, 4), 999), {"fraction": 0.1}, "span 1000000000000 cells"),
        (np.zeros((2, 2)), {"fraction": 0.1}, "must be integers"),
    ],
)
def test_what_cannot_be_fitted_is_refused(codes, options, message):
    with pytest.raises(ValueError, match=message):
        key_table(codes, **options)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 500), st.floats(0, 1e5))
def test_the_mean_inverse_lies_between_its_bounds(count, mean):
    """Jensen's 1/(f + m) below, 1/f above, and the square at least the square of the mean."""
    first, second = inverse_moments(np.array([count]), np.array([mean]))
    assert 1 / (count + mean) * (1 - 1e-12) <= first[0] <= 1 / count * (1 + 1e-12)
    assert first[0] ** 2 * (1 - 1e-12) <= second[0] <= first[0] / count * (1 + 1e-12)


def test_a_census_is_risky_as_it_stands():
    table = key_table(np.array([[0], [1], [1]]), fraction=1.0)
    found = risk(table, fit(table, main_effects(1)))
    assert found.risks.tolist() == [1.0, 0.5]
    assert (found.tau_1, found.tau_2, found.tau) == (1.0, 1.0, 2.0)
    assert criteria(table, fit(table, main_effects(1))).fits


@pytest.mark.parametrize("count", [1, 2, 300, 20_000])
def test_summed_and_integrated_moments_meet(count):
    means = np.array([np.nextafter(LARGE_MEAN, 0.0), np.nextafter(LARGE_MEAN, np.inf)])
    for moments in inverse_moments(np.array([count, count]), means):
        assert moments[1] == pytest.approx(moments[0], rel=1e-12)


def test_common_keys_of_a_thin_sample_take_no_more_memory_than_rare_ones():
    """A mean of a million has 18,000 likely values: 20,000 such keys once took gigabytes, and a minute."""
    means = np.geomspace(1e3, 1e6, 20_000)
    tracemalloc.start()
    first, second = inverse_moments(np.ones(len(means), dtype=np.int64), means)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(first, -np.expm1(-means) / means, rtol=1e-13)
    assert np.all(second > first**2)
    assert most < 5_000_000
