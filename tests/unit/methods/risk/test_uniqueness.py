"""Uniqueness: what the estimators say of populations that are known here."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.uniqueness import (
    gamma_model,
    lognormal_model,
    poisson_dirichlet_model,
    sizes_of,
    theta_u,
)


def sample_of(population, fraction, rng):
    """A Bernoulli sample of a population of F_k persons a key: its keys, and their true F_k."""
    persons = np.repeat(np.arange(len(population)), population)
    taken = persons[rng.random(len(persons)) < fraction]
    keys = group_keys(taken[:, None])
    return keys, population[taken[keys.first]]


def truth(keys, population):
    uniques = keys.counts == 1
    return {
        "pr_pu_given_su": np.mean(population[uniques] == 1),
        "theta_s": np.mean(1 / population[uniques]),
        "theta_u": uniques.sum() / population[uniques].sum(),
    }


def test_sizes_are_how_many_keys_have_how_many_records():
    keys = group_keys(np.array([[1], [1], [2], [3], [3], [3], [4]]))
    sizes, numbers = sizes_of(keys)
    assert (sizes.tolist(), numbers.tolist()) == ([1, 2, 3], [2, 1, 1])


def test_theta_u_of_equal_weights_is_skinner_and_elliots_formula():
    counts = [1] * 30 + [2] * 10 + [3] * 4
    keys = group_keys(np.repeat(np.arange(len(counts)), counts)[:, None])
    found = theta_u(keys, np.full(sum(counts), 20.0))
    assert found.value == pytest.approx(30 / (30 + 2 * 19 * 10))
    variance = 4 * 19**2 * 10 + 6 * 19**2 * 4 + 2 * 19 * 10
    assert found.standard_error == pytest.approx(found.value**2 / 30 * variance**0.5)


def test_theta_u_of_unequal_weights_takes_the_mean_weight_of_keys_of_two():
    keys = group_keys(np.array([[0], [1], [1], [2], [2], [3]]))
    found = theta_u(keys, np.array([5.0, 3.0, 7.0, 2.0, 4.0, 100.0]))
    assert found.value == pytest.approx(2 / (2 + 2 * (4.0 - 1.0) * 2))


def test_theta_u_is_unbiased_and_its_interval_covers_under_unequal_sampling():
    rng = np.random.default_rng(5)
    population = rng.poisson(rng.gamma(0.3, 30.0, 3000))
    persons = np.repeat(np.arange(len(population)), population)
    inclusion = rng.uniform(0.02, 0.3, len(persons))
    errors, covered = [], []
    for _ in range(300):
        chosen = rng.random(len(persons)) < inclusion
        keys = group_keys(persons[chosen][:, None])
        found = theta_u(keys, 1.0 / inclusion[chosen])
        uniques = keys.counts == 1
        true = uniques.sum() / population[persons[chosen][keys.first[uniques]]].sum()
        errors.append((found.value - true) / found.standard_error)
        low, high = found.interval
        covered.append(low <= true <= high)
    assert abs(np.mean(errors)) < 0.25
    assert np.std(errors) == pytest.approx(1.0, abs=0.15)
    assert np.mean(covered) > 0.9


@pytest.mark.parametrize("model", [gamma_model, lognormal_model])
def test_each_model_finds_its_own_population(model):
    rng = np.random.default_rng(3)
    normal = model is lognormal_model
    means = np.exp(rng.normal(-1.0, 2.0, 40_000)) if normal else rng.gamma(0.2, 25.0, 40_000)
    keys, population = sample_of(rng.poisson(means), 0.1, rng)
    found = model(*sizes_of(keys), 0.1)
    for name, value in truth(keys, population).items():
        assert getattr(found, name) == pytest.approx(value, rel=0.12), name
    sizes, numbers = sizes_of(keys)
    assert found.expected_sizes[0] == pytest.approx(numbers[sizes == 1][0], rel=0.02)


def test_a_population_seated_one_by_one_is_found_by_pitmans_model():
    rng = np.random.default_rng(8)
    theta, alpha, blocks, persons = 40.0, 0.5, [], []
    for seated in range(20_000):
        if rng.random() < (theta + alpha * len(blocks)) / (theta + seated):
            persons.append(len(blocks))
            blocks.append(1)
        else:
            # A person of random age sits with a random earlier one, less the discount of each block.
            while True:
                block = persons[rng.integers(seated)]
                if rng.random() < 1 - alpha / blocks[block]:
                    break
            persons.append(block)
            blocks[block] += 1
    keys, population = sample_of(np.array(blocks), 0.2, rng)
    found = poisson_dirichlet_model(*sizes_of(keys), 0.2)
    parameters = dict(found.parameters)
    assert parameters["alpha"] == pytest.approx(alpha, abs=0.05)
    for name, value in truth(keys, population).items():
        assert getattr(found, name) == pytest.approx(value, rel=0.1), name
    assert found.population_uniques == pytest.approx(sum(block == 1 for block in blocks), rel=0.1)


def test_a_census_leaves_nothing_to_estimate():
    keys = group_keys(np.array([[0], [1], [1], [2]]))
    assert theta_u(keys, np.ones(4)).value == 1.0
    for model in (gamma_model, poisson_dirichlet_model):
        found = model(np.array([1, 2, 3]), np.array([5, 3, 1]), 1.0)
        assert (found.pr_pu_given_su, found.theta_s, found.theta_u) == pytest.approx((1.0, 1.0, 1.0))


def test_without_sample_uniques_no_one_can_be_matched_to_one():
    keys = group_keys(np.array([[0], [0]]))
    assert theta_u(keys, np.array([9.0, 9.0])).value == 0.0


@pytest.mark.parametrize("weights", [[0.5, 3.0], [np.nan, 3.0], [np.inf, 3.0], [2.0]])
def test_weights_that_are_no_inverse_probabilities_are_refused(weights):
    keys = group_keys(np.array([[0], [1]]))
    with pytest.raises(ValueError, match="weights: must be"):
        theta_u(keys, np.array(weights))


@pytest.mark.parametrize(
    ("sizes", "numbers", "fraction", "message"),
    [
        ([], [], 0.1, "there must be keys"),
        ([0, 1], [3, 4], 0.1, "must be at least 1"),
        ([1], [4], 0.0, "fraction"),
        ([1], [4], 1.5, "fraction"),
        ([1], [4], float("nan"), "fraction"),
    ],
)
def test_impossible_arguments_are_refused(sizes, numbers, fraction, message):
    for model in (gamma_model, lognormal_model, poisson_dirichlet_model):
        with pytest.raises(ValueError, match=message):
            model(np.array(sizes, dtype=np.int64), np.array(numbers, dtype=np.int64), fraction)


def test_fewer_possible_keys_than_occur_are_refused():
    with pytest.raises(ValueError, match="cells: must be at least the 8 keys"):
        gamma_model(np.array([1, 2]), np.array([5, 3]), 0.1, cells=7)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 200), min_size=3, max_size=8, unique=True),
    st.floats(0.01, 0.9),
    st.randoms(use_true_random=False),
)
def test_measures_are_probabilities_in_their_order(sizes, fraction, random):
    """Alone in the population is rarer than a correct match; the mean of 1/F is at least 1 over the mean."""
    sizes = np.array(sorted({1, *sizes}), dtype=np.int64)
    numbers = np.array([random.randint(1, 400) for _ in sizes], dtype=np.int64)
    for model in (gamma_model, lognormal_model, poisson_dirichlet_model):
        try:
            found = model(sizes, numbers, fraction)
        except ArithmeticError:
            continue
        assert 0 <= found.pr_pu <= found.pr_pu_given_su <= found.theta_s * (1 + 1e-9) <= 1 + 1e-9
        assert found.theta_u <= found.theta_s * (1 + 1e-6)
