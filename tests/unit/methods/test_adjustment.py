"""Controlled tabular adjustment: far enough where it must be, near elsewhere, and never off the sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from made_tables import axis, counts, facts, problem, with_margins
from sdcgate.methods.cells import Axis, leaf_cells
from sdcgate.methods.tables.adjusting import Adjustment, with_adjustment
from sdcgate.methods.tables.adjustment import Demands, Weighting, controlled_adjustment
from sdcgate.methods.tables.controlled_rounding import Found
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.protection_levels import Levels
from sdcgate.methods.tables.solver import Best, Program
from sdcgate.methods.tables.utility import table_utility

SHAPES = st.sampled_from([(2, 3), (4, 4), (2, 2, 3)])
INNER = SHAPES.flatmap(lambda shape: arrays.arrays(np.int64, shape, elements=st.integers(0, 20)))
WEIGHTINGS = st.sampled_from([Weighting.UNIT, Weighting.RELATIVE, Weighting.ROOT])
EXAMPLE = np.array([[20, 24, 28], [38, 38, 40], [40, 39, 42]])


def axes_of(shape):
    return tuple(axis(f"d{place}", list(map(str, range(size)))) for place, size in enumerate(shape))


def example(seconds=60, level=5.0, **demands):
    """The table of the tau-ARGUS manual: cell 6, of value 40, must move by 5."""
    values = with_margins(EXAMPLE).reshape(-1).astype(np.float64)
    unsafe = np.arange(16) == 6
    levels = Levels(np.full(16, level), np.full(16, level))
    return controlled_adjustment(axes_of((3, 3)), values, levels, unsafe, seconds, demands=Demands(**demands))


def bound(cell, value):
    released = np.full(16, np.nan)
    released[cell] = value
    return released


@settings(max_examples=40, deadline=None)
@given(INNER, WEIGHTINGS, st.booleans(), st.integers(1, 4))
def test_unsafe_cells_move_far_enough_zeros_stay_and_the_table_adds_up(inner, weighting, whole, level):
    axes, values = axes_of(inner.shape), with_margins(inner).reshape(-1).astype(np.float64)
    unsafe = (values > 0) & (values < 4)
    levels = Levels(np.full(len(values), float(level)), np.minimum(values, level))
    found = controlled_adjustment(axes, values, levels, unsafe, 10, weighting, whole=whole)
    assert found.found is Found.OPTIMAL
    change = found.values - values
    assert np.all((change >= level - 1e-6) | (-change >= np.minimum(values, level) - 1e-6) | ~unsafe)
    assert np.all(found.values[values == 0] == 0)
    assert found.values.min() >= 0
    assert table_utility(axes, values, found.values).broken_relations == 0
    assert not (whole and np.any(found.values % 1))
    assert found.least_distance <= found.distance + 1e-9


@pytest.mark.parametrize(
    ("weighting", "weight"),
    [
        (Weighting.UNIT, np.ones_like),
        (Weighting.RELATIVE, np.reciprocal),
        (Weighting.ROOT, lambda values: 1 / np.sqrt(values)),
    ],
)
def test_the_distance_is_weighted_as_asked(weighting, weight):
    values = with_margins(EXAMPLE).reshape(-1).astype(np.float64)
    five = np.full(16, 5.0)
    found = controlled_adjustment(
        axes_of((3, 3)), values, Levels(five, five), np.arange(16) == 6, 10, weighting
    )
    assert found.distance == pytest.approx((weight(values) * np.abs(found.values - values)).sum())


def test_every_level_of_a_hierarchy_adds_up():
    region = Axis("region", "region", ("a1", "a2", "b1", "b2", "a", "b", "_T"), (4, 4, 5, 5, 6, 6, -1))
    inner = np.array([[3, 1], [4, 4], [2, 2], [7, 1]], dtype=np.float64)
    rows = np.vstack([inner, inner[:2].sum(axis=0), inner[2:].sum(axis=0), inner.sum(axis=0)])
    values = np.column_stack([rows, rows.sum(axis=1)]).reshape(-1)
    axes = (region, axis("sex", "12"))
    one = np.ones(len(values))
    found = controlled_adjustment(axes, values, Levels(one, one), values == 1, 10, whole=True)
    # The two ones, and the two other cells of their rows or the rows' totals, and four totals of regions.
    assert (found.found, found.distance) == (Found.OPTIMAL, 8.0)
    assert table_utility(axes, values, found.values).broken_relations == 0


def test_sums_may_be_negative_and_stay_on_their_side_of_zero_only_where_they_are_not():
    values = with_margins(np.array([[-300.25, 1250.5], [80.0, 999.75]])).reshape(-1)
    unsafe = values == 80.0
    levels = Levels(np.full(9, 100.0), np.full(9, 100.0))
    found = controlled_adjustment(axes_of((2, 2)), values, levels, unsafe, 10)
    assert found.found is Found.OPTIMAL
    assert found.values[unsafe] == pytest.approx([180.0])  # Down would be below 0.


def test_totals_stay_where_their_share_is_nothing():
    found = example(margin_share=0.0)
    margins = ~leaf_cells(axes_of((3, 3)))
    np.testing.assert_array_equal(
        found.values[margins], with_margins(EXAMPLE).reshape(-1)[margins].astype(np.float64)
    )


def test_other_cells_stay_within_their_share():
    found = example(cell_share=0.07)
    values = with_margins(EXAMPLE).reshape(-1)
    others = np.arange(16) != 6
    assert found.found is Found.OPTIMAL
    assert np.all(np.abs(found.values - values)[others] <= 0.07 * values[others] + 1e-9)
    assert found.distance >= 20


def test_no_more_cells_change_than_may():
    found = example(moved_share=4 / 16)
    assert found.found is Found.OPTIMAL
    assert np.count_nonzero(np.abs(found.values - with_margins(EXAMPLE).reshape(-1)) > 1e-9) <= 4
    assert example(moved_share=3 / 16).found is Found.INFEASIBLE


@pytest.mark.parametrize("wanted", [0.93, 0.95])
def test_the_correlation_is_as_asked_and_no_nearer_table_has_it(wanted):
    free, found = example(margin_share=0.0), example(margin_share=0.0, correlation=wanted)
    assert free.correlation < wanted <= found.correlation + 1e-9
    assert (found.found, found.distance) == (Found.OPTIMAL, pytest.approx(20))
    inner = leaf_cells(axes_of((3, 3)))
    again = np.corrcoef(found.values[inner], with_margins(EXAMPLE).reshape(-1)[inner])[0, 1]
    assert found.correlation == pytest.approx(again)


@pytest.mark.parametrize(
    ("demands", "blamed"),
    [
        ({"margin_share": 0.0, "correlation": 0.96}, ("margin_share", "correlation")),
        ({"upper": np.full(16, 500.0), "cell_share": 0.001}, ("cell_share",)),
        ({"most_change": 4.0}, ("most_change",)),
        ({"released": bound(6, 41.0)}, ("released",)),
        ({"released": bound(6, 41.0), "moved_share": 0.1}, ()),
    ],
)
def test_where_there_is_no_table_the_demand_that_stands_in_the_way_is_named(demands, blamed):
    found = example(**demands)
    assert (found.found, found.values, found.too_strict) == (Found.INFEASIBLE, None, blamed)


def test_a_cell_that_can_move_neither_way_is_named():
    found = example(released=bound(6, 41.0))
    np.testing.assert_array_equal(np.flatnonzero(found.stuck), [6])


@settings(max_examples=20, deadline=None)
@given(INNER, st.data())
def test_what_has_left_binds(inner, data):
    axes, values = axes_of(inner.shape), with_margins(inner).reshape(-1).astype(np.float64)
    unsafe = (values > 0) & (values < 4)
    levels = Levels(np.full(len(values), 2.0), np.minimum(values, 2.0))
    first = controlled_adjustment(axes, values, levels, unsafe, 10, whole=True)
    cells = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=4))
    released = np.full(len(values), np.nan)
    released[cells] = first.values[cells]
    demands = Demands(released=released)
    again = controlled_adjustment(axes, values, levels, unsafe, 10, demands=demands, whole=True)
    np.testing.assert_array_equal(again.values[cells], first.values[cells])
    assert again.distance == pytest.approx(first.distance)


def test_without_time_nothing_is_found_and_nothing_is_claimed():
    found = example(seconds=0.0)
    assert (found.found, found.values, found.least_distance) == (Found.UNKNOWN, None, 0.0)


def test_what_a_solver_calls_a_solution_is_added_up_again(monkeypatch):
    wrong = np.zeros(33)
    wrong[6] = 1.0
    monkeypatch.setattr(Program, "best", lambda *_: Best(wrong, 0.0, infeasible=False))
    monkeypatch.setattr(Program, "maximise", lambda *_: wrong)
    found = example()
    assert (found.found, found.values) == (Found.UNKNOWN, None)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"values": np.arange(9.0)}, "add up"),
        ({"values": np.full(9, np.nan)}, "finite"),
        ({"values": np.zeros(4)}, "one value for each of 9 cells"),
        ({"levels": Levels(np.zeros(9), np.ones(9))}, "above 0 on both sides"),
        ({"levels": Levels(np.full(9, np.inf), np.ones(9))}, "levels must be finite"),
        ({"weighting": Weighting.UNSPECIFIED}, "weighting"),
        ({"demands": Demands(margin_share=-0.1)}, "margin_share must be finite and not negative"),
        ({"demands": Demands(correlation=1.5)}, "correlation must be from -1 to 1"),
        ({"demands": Demands(correlation=0.5)}, "no meaning"),
        ({"demands": Demands(released=np.full(9, np.inf))}, "released must be finite"),
        ({"demands": Demands(lower=np.full(9, np.nan))}, "lower must be numbers"),
        ({"values": 1.5 * with_margins(np.ones((2, 2))).reshape(-1), "whole": True}, "whole numbers"),
    ],
)
def test_what_makes_no_sense_is_an_error(changed, message):
    said = {
        "values": with_margins(np.ones((2, 2))).reshape(-1).astype(np.float64),
        "levels": Levels(np.ones(9), np.ones(9)),
        "must_move": np.arange(9) == 0,
        "seconds": 1,
    }
    with pytest.raises(ValueError, match=message):
        controlled_adjustment(axes_of((2, 2)), **(said | changed))


@settings(max_examples=40, deadline=None)
@given(INNER, st.integers(2, 5), st.sampled_from([None, 0.5]))
def test_no_small_count_stays_small_and_every_unsafe_one_is_settled(inner, minimum, share):
    of = counts(inner, count_width=1)
    true = of.facts.records
    unsafe = (true > 0) & (true < minimum)
    method = Adjustment(Weighting.UNIT, minimum=minimum, demands=Demands(cell_share=share))
    found = with_adjustment(of, unsafe, method, 10)
    if found.adjusted.values is None:
        assert found.adjusted.found is Found.INFEASIBLE
        assert (found.facts, found.proof) == ((), Proof.UNPROVED)
        return
    published = found.facts[0].values
    assert not np.any((published > 0) & (published < minimum) & unsafe)
    assert np.abs(published - true).max(initial=0) <= 2 * minimum
    assert found.proof in (Proof.PROVED, Proof.REFUTED)
    assert (found.proof is Proof.PROVED) == (not found.unprotected.any())


@settings(max_examples=25, deadline=None)
@given(
    arrays.arrays(np.int64, (2, 2), elements=st.integers(0, 6)),
    st.integers(1, 4),
    st.sampled_from([None, 0.0, 0.3]),
    st.sampled_from([None, 0.4]),
)
def test_what_is_proved_is_what_all_tables_that_the_method_allows_say(inner, width, margin_share, cell_share):
    of, minimum, reach = counts(inner, count_width=width), 3, 4
    true = of.facts.records
    unsafe = (true > 0) & (true < minimum)
    demands = Demands(most_change=float(reach), margin_share=margin_share, cell_share=cell_share)
    found = with_adjustment(of, unsafe, Adjustment(Weighting.UNIT, minimum=minimum, demands=demands), 10)
    if found.proof is not Proof.PROVED:
        return
    published = found.facts[0].values
    grid = np.stack(np.meshgrid(*[np.arange(12)] * 4, indexing="ij"), axis=-1).reshape(-1, 2, 2)
    rows = np.concatenate([grid, grid.sum(axis=2, keepdims=True)], axis=2)
    tables = np.concatenate([rows, rows.sum(axis=1, keepdims=True)], axis=1).reshape(-1, 9)
    change = np.abs(tables - published)
    small = (tables > 0) & (tables < minimum)
    allowed = (change <= reach) & ((tables > 0) | (published == 0))
    allowed &= ~small | (published == 0) | (published >= minimum)
    if margin_share is not None:
        margins = np.isin(np.arange(9), [2, 5, 6, 7, 8])
        allowed &= ~margins | (change <= margin_share * tables + 1e-9)
    if cell_share is not None:
        allowed &= small | (change <= cell_share * tables + 1e-9)
    possible = tables[allowed.all(axis=1)]
    assert np.all(np.ptp(possible, axis=0)[unsafe] >= width)


def test_counts_below_totals_that_nobody_may_change_are_not_hidden():
    # 1 and 8 in a column whose total is published as it is: whoever knows that sees 9 = 0 + 9 or 3 + 6.
    of = counts([[1], [8]])
    demands = Demands(margin_share=0.0, cell_share=0.0)
    found = with_adjustment(
        of, of.facts.records == 1, Adjustment(Weighting.UNIT, minimum=3, demands=demands), 5
    )
    assert found.adjusted.found is Found.INFEASIBLE


def proof_of(inner, width, weighting=Weighting.UNIT, **demands):
    """Of the first cell, which alone is asked about."""
    of = counts(inner, count_width=width)
    unsafe = np.arange(len(of.facts)) == 0
    method = Adjustment(weighting, minimum=3, demands=Demands(**demands))
    return with_adjustment(of, unsafe, method, 10).proof


def test_nobody_is_thought_to_believe_in_a_greater_change_than_the_most():
    released = np.full(9, np.nan)
    released[0] = 3.0
    # Behind the 3 is a count from 1 to 5, for zeros stay and 2 is the most.
    said = {"most_change": 2.0, "released": released}
    assert proof_of([[1, 9], [9, 9]], 4, **said) is Proof.PROVED
    assert proof_of([[1, 9], [9, 9]], 5, **said) is Proof.REFUTED


def test_totals_that_stay_tell_what_their_parts_can_be():
    # The row's true total of 3 is published: its first count is at most 3, whatever the most change is.
    said = {"most_change": 4.0, "margin_share": 0.0}
    assert proof_of([[2, 1], [9, 7]], 2, **said) is Proof.PROVED
    assert proof_of([[2, 1], [9, 7]], 4, **said) is Proof.REFUTED


def test_safe_cells_that_stay_near_tell_what_unsafe_ones_can_be():
    # 20 of 20 in the row: the true total is 20 or 21, the other count the same.
    said = {"weighting": Weighting.RELATIVE, "cell_share": 0.05}
    assert proof_of([[1, 20], [20, 20]], 1, **said) is Proof.PROVED
    assert proof_of([[1, 20], [20, 20]], 2, **said) is Proof.REFUTED


def test_of_few_changes_or_a_correlation_nothing_is_proved():
    of = counts([[1, 8], [9, 7]])
    for demands in (Demands(correlation=0.5), Demands(moved_share=1.0)):
        method = Adjustment(Weighting.UNIT, minimum=3, demands=demands)
        found = with_adjustment(of, of.facts.records == 1, method, 5)
        assert found.proof is Proof.UNPROVED
        assert found.facts


def test_unsafe_sums_move_by_the_levels_of_the_problem():
    sums = with_margins(np.array([[100.0, 20.0], [30.0, 400.0]])).reshape(-1)
    records = with_margins(np.full((2, 2), 5)).reshape(-1)
    of = problem(
        [axis("a", "12"), axis("b", "12")],
        facts(records, records, {"x": sums}),
        upper_levels=np.where(sums == 100.0, 30.0, 0.0)[None],
        lower_levels=np.where(sums == 100.0, 40.0, 0.0)[None],
    )
    found = with_adjustment(of, sums == 100.0, Adjustment(Weighting.UNIT, 0), 10)
    assert found.facts[0].fact == "sums of x"
    assert found.facts[0].values[sums == 100.0] == pytest.approx([130.0])
    assert (found.proof, found.unchecked) == (Proof.UNPROVED, ("sums of x",))


def test_small_counts_that_nobody_called_unsafe_are_hidden_too():
    of = counts([[1, 8], [9, 7]], count_width=5)
    nothing = np.zeros(9, dtype=np.bool_)
    demands = Demands(most_change=2.0)
    found = with_adjustment(of, nothing, Adjustment(Weighting.UNIT, minimum=3, demands=demands), 5)
    assert found.facts[0].values[0] in (0, 3)
    assert (found.proof, np.flatnonzero(found.unprotected).tolist()) == (Proof.REFUTED, [0])


def test_counts_without_a_minimum_are_refused():
    of = counts([[1, 8], [9, 7]])
    with pytest.raises(ValueError, match=r"adjustment.minimum must be from 2"):
        with_adjustment(of, of.facts.records == 1, Adjustment(Weighting.UNIT), 5)
