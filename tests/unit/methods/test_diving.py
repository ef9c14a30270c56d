"""Whole numbers from linear programs: what is found keeps to the rows, and is whole."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables.diving import dive
from sdcgate.methods.tables.solver import Deadline, Program, Rows


def odd_circle(tops):
    """Three columns, any two of which are at most some number together: halves at the best corner."""
    rows = Rows()
    first = rows.start(np.full(3, -np.inf), np.array(tops, dtype=float))
    for row, pair in enumerate([(0, 1), (1, 2), (0, 2)]):
        rows.put(np.full(2, first + row), np.array(pair), 1.0)
    return Program(rows, 3)


def test_halves_become_whole_numbers():
    ones, bounds = np.ones(3), (np.zeros(3), np.full(3, 5.0))
    program = odd_circle([3, 3, 3])
    assert program.maximise(ones, *bounds, Deadline(20)).tolist() == [1.5, 1.5, 1.5]
    found = dive(program, ones, bounds, Deadline(20), np.ones(3, dtype=bool))
    assert sorted(found.tolist()) == [1.0, 1.0, 2.0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=3, max_size=3), st.lists(st.integers(1, 4), min_size=3, max_size=3)
)
def test_what_is_found_is_whole_and_keeps_to_the_rows(tops, gains):
    bounds = np.zeros(3), np.full(3, 4.0)
    found = dive(odd_circle(tops), np.array(gains, dtype=float), bounds, Deadline(20), np.ones(3, dtype=bool))
    assert found is not None
    assert np.array_equal(found, np.rint(found))
    assert np.all((found >= 0) & (found <= 4))
    assert found[0] + found[1] <= tops[0]
    assert found[1] + found[2] <= tops[1]
    assert found[0] + found[2] <= tops[2]


def test_columns_that_need_not_be_whole_stay_as_they_are():
    found = dive(
        odd_circle([3, 3, 3]),
        np.ones(3),
        (np.zeros(3), np.full(3, 5.0)),
        Deadline(20),
        np.zeros(3, dtype=bool),
    )
    assert found.tolist() == [1.5, 1.5, 1.5]


def test_the_sum_of_two_columns_can_be_what_is_whole():
    rows = Rows()
    first = rows.start(np.array([-np.inf]), np.array([2.5]))
    rows.put(np.full(2, first), np.array([0, 1]), 1.0)
    bounds = np.zeros(2), np.array([1.0, 4.0])
    cost = np.array([2.0, 1.0])
    found = dive(Program(rows, 2), cost, bounds, Deadline(20), np.ones(1, dtype=bool), parts=2)
    assert found.tolist() == [2.0]


def test_without_time_nothing_is_found():
    bounds = np.zeros(3), np.full(3, 5.0)
    assert dive(odd_circle([3, 3, 3]), np.ones(3), bounds, Deadline(0), np.ones(3, dtype=bool)) is None
