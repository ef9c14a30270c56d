"""Intervals of withheld values against another intruder."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intruder_by_scipy import Intruder
from made_tables import axis, counts, facts, flags, problem, with_margins
from sdcgate.methods.cells import Axis
from sdcgate.methods.tables.intervals import withheld_intervals
from sdcgate.methods.tables.published_figures import FactOfCells, PublishedRatios
from sdcgate.methods.tables.quantities import RECORDS, SUMS
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


def test_a_sum_that_follows_has_its_ends_though_other_sums_have_none():
    """Without totals of b nothing bounds what is hidden of one column; of the other the parts are shown."""
    axes = [axis("a", "01"), Axis("b", "b", ("0", "1"), (-1, -1))]
    records, sums = np.array([2, 8, 3, 5, 5, 13]), np.array([51.0, 243.0, 78.0, 113.0, 129.0, 356.0])
    of = problem(axes, facts(records, records, {"x": sums}))
    found = ends(of, flags(of, 1, 4, 5))
    assert found[2, 4] == pytest.approx((129, 129))
    assert found[2, 1] == (0, None)
    assert found[2, 5] == (pytest.approx(113), None)


def test_a_count_has_its_least_beside_sums_that_go_down_for_ever():
    axes = [axis("a", "01"), Axis("b", "b", ("0", "1"), (-1, -1))]
    records = np.array([3, 8, 2, 12, 5, 20])
    sums = {"x": np.array([60.0, 78.0, 32.0, 60.0, 92.0, 138.0])}
    cells = np.array([1, 2])
    means = PublishedRatios(
        FactOfCells(SUMS, cells),
        FactOfCells(RECORDS, cells),
        np.array([10.0, 16.0]),
        np.array([0.5, 0.5]),
        1.0,
    )
    of = problem(axes, facts(records, records, sums, bounds={"x": (-10.0, None)}), published=(means,))
    found = ends(of, flags(of, 1, 3, 5))
    assert found[0, 1] == (1, None)


def test_counts_are_bounded_by_sums_that_are_known_of_values_with_bounds():
    records, sums = np.array([4, 12, 16]), np.array([8.0, 14.0, 22.0])
    of = problem(
        [axis("a", "01")],
        facts(records, records, {"x": sums}, bounds={"x": (1.0, 2.0)}),
        known_measures=np.ones((1, 3), dtype=np.bool_),
    )
    found = ends(of, flags(of, 0, 1))
    assert found == {(RECORDS, 0): (4, 8), (RECORDS, 1): (8, 12)}
