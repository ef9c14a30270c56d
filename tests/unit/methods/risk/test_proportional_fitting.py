"""Proportional fitting over smaller tables ends where the plain one does, and says when it does not end."""

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.risk.loglinear import all_two_way, fit, key_table, main_effects
from sdcgate.methods.risk.proportional_fitting import Margin, proportional_fit


def plain(counts, generators, rounds):
    """Margin after margin over the whole table."""
    means = np.ones(counts.shape)
    for _ in range(rounds):
        for generator in generators:
            others = tuple(axis for axis in range(counts.ndim) if axis not in generator)
            wanted, sums = counts.sum(others, keepdims=True), means.sum(others, keepdims=True)
            means = means * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
    return means


def margins_of(counts, generators):
    codes = np.indices(counts.shape).reshape(counts.ndim, -1).T
    return [Margin.of_keys(one, counts.shape, codes, counts.reshape(-1)) for one in generators]


SHAPES = st.lists(st.integers(1, 5), min_size=2, max_size=4) | st.lists(
    st.integers(2, 3), min_size=5, max_size=7
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), SHAPES, st.integers(1, 12))
def test_the_fit_is_that_of_margins_one_after_the_other(seed, shape, number):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(20.0, shape) + 5.0
    some = [one for size in (1, 2, 3, 4) for one in combinations(range(len(shape)), size)]
    generators = [some[place] for place in rng.permutation(len(some))[:number]]
    means = np.ones(counts.size)
    found = proportional_fit(means, tuple(shape), margins_of(counts, generators), 1e-9, 3000)
    assert found.converged
    np.testing.assert_allclose(means.reshape(shape), plain(counts, generators, 200), rtol=1e-7)


def test_cells_that_a_margin_rules_out_are_empty():
    counts = np.array([[[4.0, 0.0], [1.0, 2.0]], [[0.0, 0.0], [3.0, 5.0]]])
    means = np.ones(8)
    proportional_fit(means, counts.shape, margins_of(counts, [(0, 1), (1, 2), (0, 2)]), 1e-9, 500)
    assert np.isfinite(means).all()
    assert means.reshape(2, 2, 2)[1, 0].tolist() == [0.0, 0.0]
    assert means.reshape(2, 2, 2)[0, 0, 1] == 0.0


@pytest.mark.parametrize(("order", "passes"), [(1, 2), (2, 3), (3, 4)])
@pytest.mark.parametrize("shape", [(6, 6, 6, 6, 6, 6), (2, 30, 5, 7, 12, 16)])
def test_margins_of_r_variables_take_about_r_plus_one_passes_over_the_whole_table(order, passes, shape):
    generators = list(combinations(range(6), order))
    counts = np.random.default_rng(1).poisson(2.0, shape) + 0.1
    found = proportional_fit(np.ones(prod(shape)), shape, margins_of(counts, generators), 0.0, 3)
    per_round = (found.visits - prod(shape)) / 3 / prod(shape)
    assert passes <= per_round < 1.6 * passes
    assert not found.converged


def test_a_fit_whose_work_is_bounded_says_that_it_has_not_ended():
    codes = np.random.default_rng(2).integers(0, 6, (300, 5)) ** 2 // 6
    table = key_table(codes, fraction=0.1)
    whole = fit(table, all_two_way(5))
    short = fit(table, all_two_way(5), most_visits=3 * 6 * prod(table.shape))
    assert whole.converged
    assert whole.deviation <= 0.01
    assert not short.converged
    assert short.deviation > 0.01
    assert 1 <= short.rounds < whole.rounds


def test_one_round_is_always_made():
    table = key_table(np.array([[0, 1], [1, 0], [1, 1]]), fraction=0.1)
    model = fit(table, main_effects(2), most_visits=0.0)
    assert model.rounds == 1
    assert model.table.sum() == pytest.approx(3.0)
