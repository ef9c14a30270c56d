"""Rounding: how near, how fair, and what remains hidden."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from made_tables import axis, with_margins
from sdcgate.methods.cells import Axis, leaf_cells
from sdcgate.methods.tables.controlled_rounding import Found, controlled_rounding
from sdcgate.methods.tables.rounding import (
    behind_nearest,
    behind_neighbours,
    behind_small_counts,
    interval_classes,
    nearest_multiples,
    random_multiples,
)
from sdcgate.methods.tables.small_counts import small_count_rounding
from sdcgate.methods.tables.solver import Best, Program
from sdcgate.methods.tables.utility import table_utility

SHAPES = st.sampled_from([(2, 3), (4, 4), (2, 2, 3)])
# Two ones in each line that has any, of which base 2 wants one: a cycle of odd length forbids it.
IMPOSSIBLE = np.array(
    [
        [[0, 0, 0], [0, 1, 1], [0, 1, 1]],
        [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
        [[0, 1, 1], [1, 1, 0], [1, 0, 1]],
    ]
)


def axes_of(shape):
    return tuple(axis(f"d{place}", list(map(str, range(size)))) for place, size in enumerate(shape))


def tables(most=20):
    return SHAPES.flatmap(
        lambda shape: arrays.arrays(np.int64, shape, elements=st.integers(0, most)).map(
            lambda inner: (axes_of(shape), with_margins(inner).reshape(-1).astype(np.float64))
        )
    )


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(2, 7))
def test_a_controlled_table_adds_up_keeps_multiples_and_is_within_one_base(table, base):
    axes, values = table
    found = controlled_rounding(axes, values, base, 10)
    assert found.found is Found.OPTIMAL
    assert not np.any(found.values % base)
    assert table_utility(axes, values, found.values).broken_relations == 0
    assert np.all(np.abs(found.values - values) < base * found.steps)
    assert np.all(found.values[values == 0] == 0)
    if found.steps == 1:
        kept = values % base == 0
        np.testing.assert_array_equal(found.values[kept], values[kept])
    assert found.least_distance == pytest.approx(found.distance) == np.abs(found.values - values).sum()


def test_where_no_controlled_table_exists_the_nearest_beyond_one_base_is_given():
    values = with_margins(IMPOSSIBLE).reshape(-1).astype(np.float64)
    found = controlled_rounding(axes_of((3, 3, 3)), values, 2, 10)
    assert (found.found, found.steps) == (Found.OPTIMAL, 2)
    assert np.abs(found.values - values).max() < 4
    assert table_utility(axes_of((3, 3, 3)), values, found.values).broken_relations == 0


def test_a_hierarchy_adds_up_at_every_level():
    region = Axis("region", "region", ("a1", "a2", "b1", "b2", "a", "b", "_T"), (4, 4, 5, 5, 6, 6, -1))
    inner = np.array([[3, 1], [4, 4], [2, 2], [7, 1]], dtype=np.float64)
    rows = np.vstack([inner, inner[:2].sum(axis=0), inner[2:].sum(axis=0), inner.sum(axis=0)])
    values = np.column_stack([rows, rows.sum(axis=1)]).reshape(-1)
    axes = (region, axis("sex", "12"))
    found = controlled_rounding(axes, values, 5, 10)
    assert (found.found, found.steps) == (Found.OPTIMAL, 1)
    assert table_utility(axes, values, found.values).broken_relations == 0


def test_magnitudes_and_negative_values_are_rounded_too():
    values = with_margins(np.array([[1250.5, -300.25], [80.0, 999.75]])).reshape(-1)
    found = controlled_rounding(axes_of((2, 2)), values, 100.0, 10)
    assert (found.found, found.steps) == (Found.OPTIMAL, 1)
    assert np.abs(found.values - values).max() < 100
    assert table_utility(axes_of((2, 2)), values, found.values).broken_relations == 0


@settings(max_examples=30, deadline=None)
@given(tables(), st.data())
def test_what_has_left_already_binds(table, data):
    axes, values = table
    first = controlled_rounding(axes, values, 3, 10)
    cells = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=4))
    released = np.full(len(values), np.nan)
    released[cells] = first.values[cells]
    again = controlled_rounding(axes, values, 3, 10, released)
    np.testing.assert_array_equal(again.values[cells], first.values[cells])
    assert again.distance == pytest.approx(first.distance)


def test_released_values_that_no_table_agrees_with_are_reported():
    released = np.full(9, np.nan)
    released[0] = 300.0
    values = with_margins(np.array([[1, 1], [1, 1]])).reshape(-1).astype(np.float64)
    found = controlled_rounding(axes_of((2, 2)), values, 3, 10, released)
    assert (found.found, found.values) == (Found.INFEASIBLE, None)


def test_a_released_value_farther_than_one_base_needs_a_second_step():
    values = with_margins(np.array([[1, 4], [2, 2]])).reshape(-1).astype(np.float64)
    released = np.full(9, np.nan)
    released[0] = 6.0
    found = controlled_rounding(axes_of((2, 2)), values, 3, 10, released)
    assert (found.found, found.steps, found.values[0]) == (Found.OPTIMAL, 2, 6.0)


def test_a_multiple_that_has_left_as_another_one_moves_by_a_step():
    values = with_margins(np.array([[3, 4], [2, 2]])).reshape(-1).astype(np.float64)
    released = np.full(9, np.nan)
    released[0] = 6.0
    found = controlled_rounding(axes_of((2, 2)), values, 3, 10, released)
    assert (found.found, found.steps, found.values[0]) == (Found.OPTIMAL, 2, 6.0)


def test_a_zero_stays_zero_whatever_has_left():
    values = with_margins(np.array([[0, 4], [2, 2]])).reshape(-1).astype(np.float64)
    released = np.full(9, np.nan)
    released[0] = 3.0
    assert controlled_rounding(axes_of((2, 2)), values, 3, 10, released).found is Found.INFEASIBLE


def test_what_a_solver_calls_a_solution_is_added_up_again(monkeypatch):
    wrong = np.array([1.0, *[0.0] * 26])
    monkeypatch.setattr(Program, "best", lambda *_: Best(wrong, 0.0, infeasible=False))
    values = with_margins(np.array([[1, 1], [1, 1]])).reshape(-1).astype(np.float64)
    found = controlled_rounding(axes_of((2, 2)), values, 3, 10)
    assert (found.found, found.values) == (Found.UNKNOWN, None)


def test_without_time_nothing_is_found_and_nothing_is_claimed():
    values = with_margins(np.ones((3, 3))).reshape(-1)
    found = controlled_rounding(axes_of((3, 3)), values, 3, 0.0)
    assert (found.found, found.values) == (Found.UNKNOWN, None)


@pytest.mark.parametrize(
    ("values", "base", "released", "message"),
    [
        (np.ones(9), 3, None, "must add up"),
        (np.full(9, np.nan), 3, None, "finite"),
        (np.zeros(9), 0, None, "base"),
        (np.zeros(9), np.inf, None, "base"),
        (np.zeros(8), 3, None, "9 cells"),
        (np.zeros(9), 3, np.full(9, 1.0), "multiples"),
    ],
)
def test_what_cannot_be_rounded_is_an_error(values, base, released, message):
    with pytest.raises(ValueError, match=message):
        controlled_rounding(axes_of((2, 2)), values, base, 1, released)


@given(st.integers(0, 10**9), st.integers(2, 100))
def test_the_nearest_multiple_is_at_most_half_a_base_away_and_its_interval_holds_the_count(count, base):
    rounded = nearest_multiples(np.array([float(count)]), base)
    assert rounded[0] % base == 0
    assert abs(rounded[0] - count) <= base / 2
    behind = behind_nearest(rounded, base)
    assert behind.lower[0] <= count <= behind.upper[0]
    edges = np.array([behind.lower[0], behind.upper[0]])
    np.testing.assert_array_equal(nearest_multiples(edges, base), rounded.repeat(2))
    beyond = nearest_multiples(np.array([behind.upper[0] + 1]), base)
    assert beyond[0] == rounded[0] + base


def test_random_rounding_has_no_bias():
    keys = np.random.default_rng(8).integers(0, 2**64, 200_000, dtype=np.uint64)
    rounded = random_multiples(np.full(200_000, 7.0), 5, keys)
    assert set(rounded) == {5.0, 10.0}
    assert rounded.mean() == pytest.approx(7.0, abs=0.02)


@given(st.integers(0, 10**6), st.integers(2, 20), st.integers(0, 2**64 - 1))
def test_random_rounding_keeps_multiples_stays_within_one_base_and_repeats_itself(count, base, key):
    counts, keys = np.array([float(count)]), np.array([key], dtype=np.uint64)
    rounded = random_multiples(counts, base, keys)
    assert rounded[0] % base == 0
    assert abs(rounded[0] - count) < base
    assert random_multiples(counts, base, keys)[0] == rounded[0]
    behind = behind_neighbours(rounded, base)
    assert behind.lower[0] <= count <= behind.upper[0]


def test_behind_what_goes_several_steps_is_no_zero_unless_it_is_one():
    behind = behind_neighbours(np.array([0.0, 2.0, 6.0]), 2, 2)
    assert behind.lower.tolist() == [0, 1, 3]
    assert behind.upper.tolist() == [3, 5, 9]
    each = behind_neighbours(np.array([4.0, 4.0]), 2, np.array([1, 2]))
    assert each.lower.tolist() == [3, 1]
    assert each.upper.tolist() == [5, 7]


def test_intervals_are_classes_of_one_base():
    classes = interval_classes(np.array([0.0, 4.0, 5.0, 14.0]), 5)
    assert classes.lower.tolist() == [0, 0, 5, 10]
    assert classes.upper.tolist() == [4, 4, 9, 14]


@settings(max_examples=40, deadline=None)
@given(tables(most=6), st.integers(2, 5))
def test_no_small_count_is_published_where_only_margins_are(table, base):
    axes, values = table
    margins = ~leaf_cells(axes)
    found = small_count_rounding(axes, values.astype(np.int64), base, 10, margins)
    assert found.found is Found.OPTIMAL
    assert not np.any(margins & (found.values > 0) & (found.values < base))
    everything = small_count_rounding(axes, values.astype(np.int64), base, 10)
    assert found.distance <= everything.distance


@settings(max_examples=40, deadline=None)
@given(tables(most=6), st.integers(2, 5))
def test_after_small_count_rounding_no_small_count_is_left_and_the_table_adds_up(table, base):
    axes, values = table
    counts = values.astype(np.int64)
    found = small_count_rounding(axes, counts, base, 10)
    assert found.found is Found.OPTIMAL
    assert not np.any((found.values > 0) & (found.values < base))
    large = leaf_cells(axes) & (counts >= base)
    np.testing.assert_array_equal(found.values[large], counts[large])
    assert table_utility(axes, values, found.values).broken_relations == 0
    behind = behind_small_counts(found.values, leaf_cells(axes), base)
    assert np.all((behind.lower <= counts) & (counts <= behind.upper))


def test_without_time_small_counts_go_to_the_nearest_and_nothing_is_claimed():
    counts = with_margins(np.array([[1, 2], [4, 9]])).reshape(-1)
    found = small_count_rounding(axes_of((2, 2)), counts, 5, 0.0)
    assert (found.found, found.least_distance) == (Found.FEASIBLE, 0.0)
    np.testing.assert_array_equal(found.values, with_margins(np.array([[0, 0], [5, 9]])).reshape(-1))
    margins = ~leaf_cells(axes_of((2, 2)))
    assert small_count_rounding(axes_of((2, 2)), counts, 5, 0.0, margins).found is Found.UNKNOWN


@pytest.mark.parametrize(
    ("counts", "base", "message"),
    [(np.ones(9), 3, "add up"), (np.full(9, -1), 3, "none negative"), (np.zeros(9), 1, "at least 2")],
)
def test_what_has_no_small_counts_to_round_is_an_error(counts, base, message):
    with pytest.raises(ValueError, match=message):
        small_count_rounding(axes_of((2, 2)), counts.astype(np.int64), base, 1)
