"""Between what figures lie that are told with so many significant digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.facility.statistic_ratios import rounding_ends
from sdcgate.wire.models import significant


@pytest.mark.parametrize(
    ("value", "digits", "low", "high"),
    [
        (0.2083333, 3, 0.2075, 0.2085),
        (0.0, 3, 0.0, 0.0),
        (-4.26, 2, -4.35, -4.25),
        # Just below a power of ten the last digit is worth a tenth.
        (0.1, 2, 0.0995, 0.105),
        (1.0, 4, 0.99995, 1.0005),
        (-10.0, 2, -10.5, -9.95),
    ],
)
def test_the_ends_are_half_a_unit_of_the_last_digit_away_on_either_side(value, digits, low, high):
    found = [float(ends[0]) for ends in rounding_ends(np.array([value]), digits)]
    assert found == pytest.approx([low, high])


@given(st.floats(1e-6, 1e6), st.integers(1, 7), st.sampled_from((-1.0, 1.0)))
def test_what_is_inside_is_told_so_and_what_is_outside_is_told_otherwise(size, digits, sign):
    told = significant(sign * size, digits)
    low, high = (float(ends[0]) for ends in rounding_ends(np.array([told]), digits))
    assert low - 1e-9 * size <= sign * size <= high + 1e-9 * size
    for share in (0.01, 0.99):
        assert significant(low + share * (high - low), digits) == told
    for outside in (low - 0.01 * (high - low), high + 0.01 * (high - low)):
        assert significant(outside, digits) != told
