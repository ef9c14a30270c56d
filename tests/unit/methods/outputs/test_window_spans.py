"""Combinations of windows' means, and how few units they are sums over."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.outputs.window_spans import tells_of_few

ONE_RECORD_EACH = np.arange(100)


def windows(*runs: Sequence[int]) -> list[np.ndarray]:
    return [np.array(run, dtype=np.int64) for run in runs]


def test_windows_that_are_moved_by_one_unit_tell_of_two() -> None:
    moved = windows(range(95, 99), range(94, 98))

    assert tells_of_few(moved, ONE_RECORD_EACH, 3)
    assert not tells_of_few(moved, ONE_RECORD_EACH, 2)


def test_windows_apart_tell_of_no_fewer_than_one_of_them() -> None:
    apart = windows(range(10), range(10, 20), range(40, 52))
    assert not tells_of_few(apart, ONE_RECORD_EACH, 10)
    assert tells_of_few(apart, ONE_RECORD_EACH, 11)


def test_three_windows_tell_of_fewer_units_than_any_two() -> None:
    """Each two differ by ten units; the first less the second and the third is twice five."""
    first, second = range(10), range(5, 15)
    third = [*range(5), *range(10, 15)]
    three = windows(first, second, third)

    for pair in combinations(three, 2):
        assert not tells_of_few(pair, ONE_RECORD_EACH, 10)
    assert tells_of_few(three, ONE_RECORD_EACH, 6)


def test_a_window_that_has_left_before_tells_nothing_new() -> None:
    assert not tells_of_few(windows(range(10), range(10)), ONE_RECORD_EACH, 10)
    assert not tells_of_few([], ONE_RECORD_EACH, 10)


def test_units_are_counted_and_not_records() -> None:
    """Five records of one unit in one window, and others of it in another."""
    units = np.array([0] * 5 + [*range(1, 10)])
    overlapping = windows(range(14), range(5, 14))

    assert tells_of_few(overlapping, units, 11)
    assert tells_of_few(windows(range(5)), units, 2)


def test_too_many_windows_that_overlap_are_taken_to_tell() -> None:
    rng = np.random.default_rng(1)
    many = [np.flatnonzero(rng.random(100) < 0.5) for _ in range(30)]
    assert tells_of_few(many, ONE_RECORD_EACH, 2)
    assert not tells_of_few(many[:5], ONE_RECORD_EACH, 2)


def test_but_not_where_many_are_in_the_same_windows() -> None:
    """Each run between two ends is of two; of what does not cancel there are so many at least."""
    many = windows(*(range(start, start + 30) for start in range(0, 60, 2)))
    assert not tells_of_few(many, ONE_RECORD_EACH, 2)
    assert tells_of_few(many, ONE_RECORD_EACH, 5)


def test_in_a_sum_each_record_of_a_unit_counts() -> None:
    """Ten units with two records each, but for one: sums over all and over nine differ by a record."""
    units = np.array([*range(10), *range(9)])
    two = windows(range(19), [*range(9), *range(10, 19)])
    assert tells_of_few(two, units, 2, sums=[True, True])
    means = windows(range(19), range(9), range(10, 19))
    assert tells_of_few(means, units, 2, sums=[True, True, True])


def test_a_window_that_two_others_make_up_hides_neither() -> None:
    """Its weights are thirds and twelfths, which no number of digits holds."""
    units = np.array([0, 0, 1, 2, 3, 4, 5])
    assert tells_of_few(windows([0, 1, 2, 3, 5, 6], [4], range(7)), units, 2)


@given(
    st.lists(st.sets(st.integers(0, 6), min_size=1), min_size=1, max_size=4),
    st.integers(1, 7),
)
def test_every_combination_is_found_that_trying_all_groups_of_units_finds(members, minimum) -> None:
    units = np.array([0, 0, 1, 2, 3, 4, 5])
    chosen = [np.array(sorted(one), dtype=np.int64) for one in members]
    weights = np.zeros((len(units), len(chosen)))
    for number, window in enumerate(chosen):
        for record in window:
            weights[record, number] = 1 / (np.count_nonzero(units[window] == units[record]))

    def told(group: tuple[int, ...]) -> bool:
        """Whether some combination cancels for all but a group, and does not for it."""
        outside = weights[~np.isin(units, group)]
        return bool(np.linalg.matrix_rank(outside) < np.linalg.matrix_rank(weights))

    few = [group for size in range(1, minimum) for group in combinations(range(6), size)]
    assert tells_of_few(chosen, units, minimum) == any(map(told, few))


@pytest.mark.parametrize("minimum", [3, 10])
def test_windows_of_a_hundred_units_are_told_apart_in_time(minimum) -> None:
    assert tells_of_few(windows(range(100), range(1, 100)), ONE_RECORD_EACH, minimum)


def test_windows_of_records_differ_by_others_than_those_of_units() -> None:
    """One unit has a record in each of two windows; the third is the sum of these and of one unit more."""
    units = np.array([0, 0, *range(1, 22)])
    parts = windows([0, *range(2, 12)], [1, *range(12, 22)], [0, 1, *range(2, 23)])

    assert tells_of_few(parts, units, 2, sums=[True] * 3)
    assert not tells_of_few(parts, units, 2)
