"""Sums of powers: what they are, and when they surely leave every value open."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.outputs.power_sums import closest, power_sums, surely_apart
from sdcgate.methods.outputs.sample import Sample

UNITS = np.array([0, 0, 1, 2, 3])
TWO_GROUPS = Sample(np.array([1.0, 2.0, 3.0, -4.0, 5.0]), np.array([0, 0, 0, 1, 1]), UNITS, 2)


def test_sums_are_those_of_each_record_and_the_largest_that_of_a_unit() -> None:
    found = power_sums(TWO_GROUPS, 3, coalition=1)

    assert found.totals.tolist() == [6, 1]
    assert found.sums.tolist() == [1 + 8 + 27, -64 + 125]
    assert found.absolute_sums.tolist() == [36, 189]
    assert found.largest.tolist() == [27, 125]
    assert (found.units.tolist(), found.records.tolist()) == ([2, 2], [3, 2])


@given(
    values=st.lists(st.integers(0, 40), min_size=4, max_size=40),
    outlier=st.integers(0, 200),
    order=st.sampled_from([2, 3, 4]),
    coalition=st.integers(0, 2),
    share=st.floats(0.0, 1.0),
)
def test_what_is_surely_apart_is_apart(values, outlier, order, coalition, share) -> None:
    """The bound without the values never says more than the values do."""
    numbers = np.array([*values, outlier], dtype=np.float64)
    sample = Sample(numbers, np.zeros(len(numbers), dtype=np.int64), np.arange(len(numbers)), 1)
    exact = [Fraction(int(number)) for number in numbers]
    squares = float(sum(x * x for x in exact) - sum(exact) ** 2 / len(exact))
    apart = surely_apart(
        np.array([squares]),
        np.array([float(len(numbers))]),
        np.array([numbers.max()]),
        order,
        share,
        coalition,
    )

    if apart[0]:
        assert closest(sample, order, coalition)[0] > share


@pytest.mark.parametrize(("order", "sure"), [(2, True), (3, True), (4, False), (6, False)])
def test_many_values_of_wide_spread_are_surely_apart(order, sure) -> None:
    """But for fourth moments: beside all lower ones they tell that there are two values."""
    numbers = np.tile([0.0, 100.0], 500)
    squares = np.array([((numbers - 50) ** 2).sum()])
    found = surely_apart(squares, np.array([1000.0]), np.array([100.0]), order, 0.1, 4)
    assert found.tolist() == [sure]


@pytest.mark.parametrize("squares", [np.nan, -1.0, 0.0])
def test_what_is_not_known_is_not_apart(squares) -> None:
    found = surely_apart(np.array([squares]), np.array([100.0]), np.array([1.0]), 2, 0.1, 2)
    assert not found.any()
