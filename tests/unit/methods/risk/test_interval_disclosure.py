"""Interval disclosure: original values near their masked values, by standard deviation and by rank."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdcgate.methods.risk.interval_disclosure import Interval, interval_disclosure

values = arrays(np.float64, st.tuples(st.integers(2, 15), st.integers(1, 3)), elements=st.integers(-9, 9))


@given(values, st.floats(0.01, 1.0), st.randoms(use_true_random=False))
def test_more_is_inside_a_wider_interval_and_all_where_nothing_is_masked(original, width, random):
    masked = original[random.sample(range(len(original)), len(original))]
    for interval in Interval:
        narrow = interval_disclosure(original, masked, width / 2, interval)
        wide = interval_disclosure(original, masked, width, interval)
        assert (narrow.inside <= wide.inside).all()
        assert wide.of_records <= wide.of_variables.min() + 1e-12
        assert interval_disclosure(original, original, width, interval).of_records == 1.0


def test_rank_intervals_run_between_masked_values():
    masked = np.array([[10.0], [20.0], [30.0], [40.0], [50.0]])
    original = np.array([[21.0], [9.0], [40.0], [51.0], [40.0]])
    found = interval_disclosure(original, masked, 0.2, Interval.RANK)
    assert found.inside[:, 0].tolist() == [False, False, True, False, True]
    assert (found.of_values, found.of_variables.tolist()) == (0.4, [0.4])


def test_an_original_value_on_the_bound_is_inside():
    found = interval_disclosure(
        np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]]), 0.5**0.5, Interval("rank")
    )
    assert found.inside[:, 0].tolist() == [False, True]


@pytest.mark.parametrize(
    ("original", "masked", "width", "message"),
    [
        ([[1.0]], [[1.0, 2.0]], 0.1, "same shape"),
        ([[np.nan]], [[1.0]], 0.1, "original must be finite"),
        ([[1.0]], [[np.inf]], 0.1, "masked must be finite"),
        ([[1.0]], [[1.0]], 0.0, "width"),
        ([[1.0]], [[1.0]], float("nan"), "width"),
        ([[1.0]], [[1.0]], 1.5, "by rank at most 1"),
        ([], [], 0.1, "at least one"),
    ],
)
def test_what_has_no_interval_is_refused(original, masked, width, message):
    with pytest.raises(ValueError, match=message):
        interval_disclosure(np.array(original), np.array(masked), width, Interval.RANK)
