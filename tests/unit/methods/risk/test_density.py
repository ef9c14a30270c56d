"""Density: neighbours within widths, isolated units, units outside of clusters, the largest units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdcgate.methods.risk.density import largest_units, neighbourhoods


@st.composite
def files(draw):
    units = draw(st.integers(1, 25))
    numbers = draw(arrays(np.float64, (units, 2), elements=st.integers(-6, 6).map(float)))
    return numbers, draw(arrays(np.int64, (units, 1), elements=st.integers(-1, 1)))


@given(files(), st.sampled_from([0.3, 1.0, 2.0]), st.integers(1, 4))
def test_neighbours_are_those_of_a_comparison_of_all_pairs(file, width, minimum):
    numbers, categories = file
    widths = np.array([width, 2 * width])
    found = neighbourhoods(numbers, widths, minimum, categories)
    same = categories == categories.T
    away = (np.abs(numbers[:, None] - numbers[None]) / widths).max(axis=2)
    near = (away <= 1 + 1e-9) & same & ~np.eye(len(numbers), dtype=bool)
    assert found.neighbours.tolist() == near.sum(axis=1).tolist()
    isolated = near.sum(axis=1) < minimum
    assert found.isolated.tolist() == isolated.tolist()
    assert found.outside.tolist() == (isolated & ~(near & ~isolated).any(axis=1)).tolist()
    for unit in range(len(numbers)):
        others = np.sort(np.delete(away[unit], unit)[np.delete(same[unit], unit)])
        expected = others[minimum - 1] if len(others) >= minimum else np.inf
        assert found.reach[unit] == pytest.approx(expected, abs=1e-12)


@given(files(), st.integers(1, 4))
def test_the_largest_units_are_those_that_fewer_exceed(file, count):
    numbers, categories = file
    found = largest_units(numbers, count, categories)
    for unit in range(len(numbers)):
        group = np.abs(numbers[categories[:, 0] == categories[unit, 0]])
        own = np.abs(numbers[unit])
        exceeded = (group > own).sum(axis=0)
        assert found.ranks[unit].tolist() == (exceeded + 1).tolist()
        assert found.among[unit] == ((exceeded < count) & (own > 0)).any()
        total = group.sum(axis=0)
        expected = np.divide(own, total, out=np.zeros(2), where=total > 0)
        np.testing.assert_allclose(found.shares[unit], expected, atol=1e-12)


def test_an_enterprise_far_from_a_cluster_is_at_risk_and_one_at_its_edge_is_not():
    turnover = np.array([[100.0], [101.0], [102.0], [103.0], [104.5], [900.0]])
    found = neighbourhoods(turnover, np.array([1.5]), 2)
    assert found.isolated.tolist() == [True, False, False, False, True, True]
    assert found.outside.tolist() == [False, False, False, False, False, True]
    assert found.reach[5] == pytest.approx((900 - 103) / 1.5)


def test_logarithms_make_the_width_a_share_of_the_value():
    turnover = np.array([[10.0], [10.9], [1000.0], [1090.0]])
    found = neighbourhoods(np.log(turnover), np.array([np.log(1.1)]), 1)
    assert not found.isolated.any()


def test_who_is_alone_in_his_categories_is_isolated_whatever_the_width():
    found = neighbourhoods(np.array([[1.0], [1.0]]), np.array([1e9]), 1, np.array([[0], [1]]))
    assert found.isolated.all()
    assert found.reach.tolist() == [np.inf, np.inf]


def test_many_equal_units_are_neighbours_of_each_other_at_once():
    found = neighbourhoods(np.zeros((300_000, 1)), np.ones(1), 5)
    assert set(found.neighbours.tolist()) == {299_999}
    assert not found.isolated.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: neighbourhoods(np.array([[np.nan]]), np.ones(1), 1), "numbers must be finite"),
        (lambda: neighbourhoods(np.zeros((0, 1)), np.ones(1), 1), "at least one"),
        (lambda: neighbourhoods(np.ones((2, 1)), np.zeros(1), 1), "widths"),
        (lambda: neighbourhoods(np.ones((2, 1)), np.array([np.inf]), 1), "widths"),
        (lambda: neighbourhoods(np.ones((2, 1)), np.ones(2), 1), "widths"),
        (lambda: neighbourhoods(np.ones((2, 1)), np.ones(1), 0), "minimum"),
        (lambda: neighbourhoods(np.ones((2, 1)), np.ones(1), 1, np.array([[0]])), "a row a unit"),
        (lambda: largest_units(np.ones((2, 1)), 0), "count"),
    ],
)
def test_what_has_no_neighbourhood_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
