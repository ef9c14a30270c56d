"""Combinations of windows' means, and how few units they are sums over."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.cells import IntArray
from sdcgate.methods.outputs import window_spans
from sdcgate.methods.outputs.window_spans import Alike, ToldOfFew, told_of_few

ONE_RECORD_EACH = np.arange(100)


def windows(*runs: Sequence[int]) -> list[np.ndarray]:
    return [np.array(run, dtype=np.int64) for run in runs]


def test_windows_that_are_moved_by_one_unit_tell_of_two() -> None:
    moved = windows(range(95, 99), range(94, 98))

    assert told_of_few(moved, ONE_RECORD_EACH, 3)
    assert not told_of_few(moved, ONE_RECORD_EACH, 2)


def test_windows_apart_tell_of_no_fewer_than_one_of_them() -> None:
    apart = windows(range(10), range(10, 20), range(40, 52))
    assert not told_of_few(apart, ONE_RECORD_EACH, 10)
    assert told_of_few(apart, ONE_RECORD_EACH, 11)


def test_three_windows_tell_of_fewer_units_than_any_two() -> None:
    """Each two differ by ten units; the first less the second and the third is twice five."""
    first, second = range(10), range(5, 15)
    third = [*range(5), *range(10, 15)]
    three = windows(first, second, third)

    for pair in combinations(three, 2):
        assert not told_of_few(pair, ONE_RECORD_EACH, 10)
    assert told_of_few(three, ONE_RECORD_EACH, 6)


def test_a_window_that_has_left_before_tells_nothing_new() -> None:
    assert not told_of_few(windows(range(10), range(10)), ONE_RECORD_EACH, 10)
    assert not told_of_few([], ONE_RECORD_EACH, 10)


def test_units_are_counted_and_not_records() -> None:
    """Five records of one unit in one window, and others of it in another."""
    units = np.array([0] * 5 + [*range(1, 10)])
    overlapping = windows(range(14), range(5, 14))

    assert told_of_few(overlapping, units, 11)
    assert told_of_few(windows(range(5)), units, 2)


def test_a_window_that_would_take_the_place_of_the_last_one_is_told_at_the_same_time() -> None:
    """The second tells of one with the first; so does the fourth, the second and the third together."""
    second, third = range(21), range(30, 50)
    some = windows(range(20), second, third, [*second, *third])

    told = told_of_few(some, ONE_RECORD_EACH, 10, sums=[True] * 4)
    assert {one.windows for one in told} == {frozenset({0, 1}), frozenset({0, 2, 3})}
    assert {
        one.windows for one in told_of_few([some[0], *some[2:]], ONE_RECORD_EACH, 10, sums=[True] * 3)
    } == {frozenset({0, 1, 2})}


def kept_by_turns(some: list[np.ndarray], minimum: int) -> tuple[list[int], int]:
    """Windows left where the last of each combination that tells of few goes, and after how many turns."""
    left, turns = [*range(len(some))], 0
    while told := told_of_few(
        [some[place] for place in left], ONE_RECORD_EACH, minimum, sums=[True] * len(left)
    ):
        gone, turns = set[int](), turns + 1
        for one in sorted(told, key=lambda one: max(one.windows)):
            if not gone & one.windows:
                gone.add(max(one.windows))
        left = [place for number, place in enumerate(left) if number not in gone]
    return left, turns


@given(st.lists(st.sets(st.integers(0, 11), min_size=1), min_size=2, max_size=9), st.integers(2, 4))
def test_windows_that_take_the_place_of_others_go_in_fewer_turns_and_are_the_same(some, minimum) -> None:
    some = windows(*map(sorted, some))
    kept, turns = kept_by_turns(some, minimum)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(window_spans, "_in_place_of_the_last", lambda *_: ())
        one_by_one, more_turns = kept_by_turns(some, minimum)
    assert kept == one_by_one
    assert turns <= more_turns


def test_records_of_one_value_cancel_whoever_they_are() -> None:
    """Five and six of twenty zeros, and five and four of others: what is left of both is five people's."""
    some = windows([*range(5), *range(20, 25)], [*range(10, 16), *range(20, 24)])
    kinds = np.where(ONE_RECORD_EACH < 20, 0, -1)

    assert not told_of_few(some, ONE_RECORD_EACH, 10)
    assert told_of_few(some, ONE_RECORD_EACH, 10, alike=Alike(kinds, np.array([True])))
    assert not told_of_few(some, ONE_RECORD_EACH, 5, alike=Alike(kinds, np.array([True])))


def test_too_many_windows_that_overlap_are_taken_to_tell() -> None:
    rng = np.random.default_rng(1)
    many = [np.flatnonzero(rng.random(100) < 0.5) for _ in range(30)]
    assert told_of_few(many, ONE_RECORD_EACH, 21) == (ToldOfFew(frozenset(range(30)), looked_at=False),)
    # In one of two disjoint bases half of those told of would be, in one of three a third.
    assert not told_of_few(many, ONE_RECORD_EACH, 4)


def test_but_not_where_many_are_in_the_same_windows() -> None:
    """Each run between two ends is of two; of what does not cancel there are so many at least."""
    many = windows(*(range(start, start + 30) for start in range(0, 60, 2)))
    assert not told_of_few(many, ONE_RECORD_EACH, 2)
    assert told_of_few(many, ONE_RECORD_EACH, 5)


def test_in_a_sum_each_record_of_a_unit_counts() -> None:
    """Ten units with two records each, but for one: sums over all and over nine differ by a record."""
    units = np.array([*range(10), *range(9)])
    two = windows(range(19), [*range(9), *range(10, 19)])
    assert told_of_few(two, units, 2, sums=[True, True])
    means = windows(range(19), range(9), range(10, 19))
    assert told_of_few(means, units, 2, sums=[True, True, True])


def test_a_window_that_two_others_make_up_hides_neither() -> None:
    """Its weights are thirds and twelfths, which no number of digits holds."""
    units = np.array([0, 0, 1, 2, 3, 4, 5])
    assert told_of_few(windows([0, 1, 2, 3, 5, 6], [4], range(7)), units, 2)


def told_by_trying_all_groups(chosen: list[IntArray], units: IntArray, minimum: int) -> bool:
    """Whether some combination vanishes for all but a group of few units, and not for it."""
    weights = np.zeros((len(units), len(chosen)))
    for number, window in enumerate(chosen):
        for record in window:
            weights[record, number] = 1 / (np.count_nonzero(units[window] == units[record]))
    rank = np.linalg.matrix_rank(weights)
    few = (group for size in range(1, minimum) for group in combinations(np.unique(units).tolist(), size))
    return any(np.linalg.matrix_rank(weights[~np.isin(units, group)]) < rank for group in few)


@given(
    st.lists(st.sets(st.integers(0, 6), min_size=1), min_size=1, max_size=4),
    st.integers(1, 7),
)
def test_every_combination_is_found_that_trying_all_groups_of_units_finds(members, minimum) -> None:
    units = np.array([0, 0, 1, 2, 3, 4, 5])
    chosen = [np.array(sorted(one), dtype=np.int64) for one in members]
    assert bool(told_of_few(chosen, units, minimum)) == told_by_trying_all_groups(chosen, units, minimum)


@given(
    st.lists(
        st.tuples(st.integers(0, 15), st.integers(1, 16), st.sets(st.integers(0, 15), max_size=2)),
        min_size=2,
        max_size=10,
    ),
    st.integers(2, 4),
)
def test_among_windows_without_a_few_every_combination_is_found(intervals, minimum) -> None:
    chosen = [
        np.array(sorted(set(range(first, min(first + size, 16))) - without), dtype=np.int64)
        for first, size, without in intervals
    ]
    units = np.arange(16) // 2 * 2 + np.arange(16) % 2 * (np.arange(16) > 7)
    assert bool(told_of_few(chosen, units, minimum)) == told_by_trying_all_groups(chosen, units, minimum)


def test_of_three_windows_the_two_are_named_that_differ_by_few() -> None:
    three = windows(range(40), range(50, 90), range(2, 40))
    assert told_of_few(three, ONE_RECORD_EACH, 3) == (ToldOfFew(frozenset({0, 2})),)
    assert told_of_few(three, ONE_RECORD_EACH, 3, earlier=2) == (ToldOfFew(frozenset({0, 2})),)


def test_what_earlier_windows_tell_by_themselves_is_known() -> None:
    three = windows(range(40), range(2, 40), range(20, 60))
    assert told_of_few(three, ONE_RECORD_EACH, 3, earlier=1) == (ToldOfFew(frozenset({0, 1})),)
    assert told_of_few(three, ONE_RECORD_EACH, 3, earlier=2) == ()


def test_a_window_that_follows_from_those_before_it_is_in_no_combination() -> None:
    halves = windows(range(20), range(20, 40), range(40), range(1, 20))
    assert told_of_few(halves, ONE_RECORD_EACH, 3) == (ToldOfFew(frozenset({0, 3})),)


@given(
    st.lists(st.sets(st.integers(0, 11), min_size=1), min_size=2, max_size=7),
    st.integers(1, 4),
    st.integers(0, 6),
)
def test_each_combination_that_is_named_tells_of_few_and_without_its_last_window_none_is_left(
    members, minimum, earlier
) -> None:
    units = np.arange(12)
    chosen = [np.array(sorted(one), dtype=np.int64) for one in members]
    standing = list(range(len(chosen)))
    while found := told_of_few([chosen[one] for one in standing], units, minimum, earlier=earlier):
        for told in found:
            assert max(told.windows) >= earlier
            assert told_of_few([chosen[standing[place]] for place in told.windows], units, minimum)
        last = {max(told.windows) for told in found}
        standing = [one for place, one in enumerate(standing) if place not in last]
    if not told_of_few([chosen[one] for one in standing[:earlier]], units, minimum):
        assert not told_of_few([chosen[one] for one in standing], units, minimum)


@pytest.mark.parametrize("minimum", [3, 10])
def test_windows_of_a_hundred_units_are_told_apart_in_time(minimum) -> None:
    assert told_of_few(windows(range(100), range(1, 100)), ONE_RECORD_EACH, minimum)


def test_windows_of_records_differ_by_others_than_those_of_units() -> None:
    """One unit has a record in each of two windows; the third is the sum of these and of one unit more."""
    units = np.array([0, 0, *range(1, 22)])
    parts = windows([0, *range(2, 12)], [1, *range(12, 22)], [0, 1, *range(2, 23)])

    assert told_of_few(parts, units, 2, sums=[True] * 3)
    assert not told_of_few(parts, units, 2)


def test_sums_with_and_without_weights_tell_of_those_who_weigh_more() -> None:
    twice, weights = windows(range(20), range(20)), np.where(np.arange(20) < 3, 2.0, 1.0)
    assert told_of_few(twice, ONE_RECORD_EACH, 4, sums=[True, True], weights=[None, weights])
    assert not told_of_few(twice, ONE_RECORD_EACH, 3, sums=[True, True], weights=[None, weights])
    assert not told_of_few(twice, ONE_RECORD_EACH, 4, sums=[True, True], weights=[weights, weights])
