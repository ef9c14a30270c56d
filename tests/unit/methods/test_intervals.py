"""Intervals of withheld values against another intruder."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intruder_by_scipy import Intruder
from made_tables import axis, counts, facts, flags, problem, with_margins
from sdcgate.methods.tables.intervals import withheld_intervals
from sdcgate.methods.tables.solver import Deadline


def ends(of, withheld, seconds=10.0):
    found = withheld_intervals(of, withheld, Deadline(seconds))
    return {(one.quantity, one.cell): (one.lower, one.upper) for one in found}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), zeros=st.booleans())
def test_in_two_dimensions_they_are_the_intruders_own(seed, zeros):
    rng = np.random.default_rng(seed)
    of = counts(rng.integers(0, 9, (3, 3)), zeros_withheld=zeros)
    withheld = (rng.random(16) < 0.5) & ((of.facts.records > 0) | zeros)
    intruder = Intruder(of, withheld)
    for (quantity, cell), (lower, upper) in ends(of, withheld).items():
        least, most = intruder.interval(quantity, cell)
        if np.isinf(most):
            # It has no end; the other intruder does not tell the other one then.
            assert upper is None
        else:
            assert (lower, upper) == pytest.approx((least, most), abs=1e-6)


def test_sums_have_theirs_and_an_open_side_none():
    axes = [axis("a", "01"), axis("b", "01")]
    records = with_margins(np.array([[2, 6], [7, 8]]))
    sums = with_margins(np.array([[20.0, 5.0], [9.0, 40.0]]))
    of = problem(axes, facts(records, records, {"x": sums.reshape(-1)}))
    found = ends(of, flags(of, 0, 1, 3, 4))
    assert found[0, 0] == (1, 7)
    assert found[2, 0] == pytest.approx((0, 25))
    everything = ends(of, np.ones(9, dtype=np.bool_))
    assert everything[0, 8] == (4, None)
    assert everything[2, 8][1] is None


def test_without_time_no_end_is_known():
    of = counts([[2, 6], [7, 8]])
    assert set(ends(of, flags(of, 0, 1, 3, 4), 0.0).values()) == {(None, None)}


def test_what_is_known_has_no_interval():
    of = counts([[2, 6], [7, 8]])
    of = counts([[2, 6], [7, 8]], known=flags(of, 0))
    assert (0, 0) not in ends(of, flags(of, 0, 1, 3, 4))


def test_an_end_of_nothing_is_written_without_a_sign():
    of = counts([[2, 6], [7, 8]], zeros_withheld=True)
    found = ends(of, flags(of, 0, 1, 3, 4))
    assert str(found[0, 0][0]) == "0.0"
