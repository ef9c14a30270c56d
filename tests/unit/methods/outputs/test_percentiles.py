from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.outputs.distributions import box_plot, density, histogram
from sdcgate.methods.outputs.extremes import instead
from sdcgate.methods.outputs.percentiles import Percentiles, _Group, percentiles
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_rules import PercentileUnits
from sdcgate.methods.rules import Consequence

RULE = PercentileUnits(10, 10, Consequence.REFUSE)


def found(values, units=None, rule=RULE, groups=None, weights=None) -> Percentiles:
    values = np.asarray(values, dtype=np.float64)
    groups = np.zeros(len(values), dtype=np.int64) if groups is None else groups
    units = np.arange(len(values)) if units is None else units
    return percentiles(Sample(values, groups, units, int(groups.max()) + 1, weights), rule)


def released(percentile: Percentiles, group: int = 0) -> dict[float, float]:
    return {
        point: value
        for point, value in zip(percentile.points, percentile.values[group].tolist(), strict=True)
        if not np.isnan(value)
    }


lists = st.integers(min_value=1, max_value=150).flatmap(
    lambda number: st.tuples(
        st.lists(st.floats(-1e6, 1e6).map(lambda value: value + 0.0), min_size=number, max_size=number),
        st.lists(st.integers(0, max(number // 2, 1)), min_size=number, max_size=number),
    )
)


@given(lists, st.integers(2, 12), st.booleans())
def test_what_is_released_has_a_window_and_sides_of_at_least_the_threshold(drawn, threshold, several):
    values, units = np.array(drawn[0]), np.array(drawn[1])
    units = units if several else np.arange(len(values))
    rule = PercentileUnits(threshold, threshold, Consequence.REFUSE)
    before = found(values, units, rule)
    for point in released(before):
        place = before.points.index(point)
        assert before.window_units[0, place] >= threshold
        assert before.side_units[0, place] >= threshold


@given(st.integers(30, 120), st.integers(2, 10), st.randoms(use_true_random=False))
def test_a_unit_that_moves_within_its_rank_moves_a_percentile_by_a_threshold_part_at_most(
    number, threshold, random
):
    values = np.cumsum([random.uniform(1, 5) for _ in range(number)])
    rule = PercentileUnits(threshold, threshold, Consequence.REFUSE)
    unit = random.randrange(number)
    moved = values.copy()
    moved[unit] += 0.9
    change = np.abs(found(moved, rule=rule).values[0] - found(values, rule=rule).values[0])
    assert np.nanmax(change, initial=0) <= 0.9 / threshold + 1e-9


@given(st.lists(st.floats(0, 1, exclude_min=True), min_size=30, max_size=90, unique=True))
def test_a_released_percentile_lies_between_records_and_is_none_of_them_unless_enough_share_it(drawn):
    """Values without rational relations: a mean of several can only be one of them if all are the same."""
    values = np.sqrt(np.arange(2, len(drawn) + 2)) + np.pi * np.array(sorted(drawn))
    assert not set(released(found(values)).values()) & set(values.tolist())


def test_a_percentile_that_enough_units_share_is_their_value():
    values = [0.0] * 40 + list(range(1, 21))
    assert released(found(values))[0.5] == 0.0


def test_a_percentile_that_nine_share_is_not_their_value():
    values = [*range(20), *[50.5] * 9, *range(100, 120)]
    assert released(found(values))[0.5] != 50.5


def test_a_group_with_too_few_units_on_a_side_has_no_median():
    assert released(found(np.arange(29.0))) == {}
    assert list(released(found(np.arange(30.0)))) == [0.5]


def test_windows_of_a_group_never_share_a_unit_nor_leave_few_between_them():
    number = 400
    windows = []
    percentile = found(np.arange(float(number)))
    for value in released(percentile).values():
        windows.append((round(value - 4.5), round(value + 4.5)))
    gaps = [start - end - 1 for (_, end), (start, _) in pairwise(windows)]
    assert len(windows) == 13
    assert min(gaps) >= 10


def test_what_is_wanted_most_is_kept_where_not_all_have_room():
    assert list(released(found(np.arange(100.0)))) == [0.25, 0.5, 0.75]


def test_a_panel_needs_units_and_not_records():
    values, units = np.arange(120.0), np.repeat(np.arange(6), 20)
    assert released(found(values, units)) == {}


def test_a_unit_with_many_records_in_the_window_counts_once():
    values = np.concatenate([np.zeros(20), [100.0] * 5, np.arange(91.0, 100.0), np.full(20, 200.0)])
    units = np.concatenate([np.arange(20), [50] * 5, np.arange(60, 69), np.arange(100, 120)])
    rule = PercentileUnits(10, 10, Consequence.REFUSE, points=(0.5,))
    window = np.append(np.arange(91.0, 100.0), 100.0)
    assert released(found(values, units, rule)) == {0.5: pytest.approx(window.mean())}


def test_a_unit_with_very_many_records_side_by_side_takes_no_time():
    """A window that grew by one record after the other would look at each of them for each of them."""
    values = np.concatenate([np.arange(0.0, 40.0), np.full(300_000, 50.0), np.arange(60.0, 100.0)])
    units = np.concatenate([np.arange(40), np.full(300_000, 40), np.arange(41, 81)])
    percentile = found(values, units)
    assert percentile.window_units[0, percentile.points.index(0.5)] >= 10
    assert released(percentile)


@given(st.lists(st.integers(0, 9), min_size=30, max_size=80), st.integers(0, 70))
def test_the_window_of_a_panel_is_the_shortest_that_has_the_units(units, place):
    """Sought here by one record after the other."""
    units = np.array(units)
    centre, wanted = min(place, len(units) - 1) + 0.25, 5
    sample = Sample(np.arange(float(len(units))), np.zeros(len(units), int), units, 1)
    rule = PercentileUnits(wanted, wanted, Consequence.REFUSE)
    first, last = _Group(sample, np.arange(len(units)), rule, 0.0, 1)._window(centre)
    narrower = [
        max(min(int(np.floor(centre - (width - 1) / 2 + 0.5)), len(units) - width), 0)
        for width in range(1, last - first)
    ]
    counts = [len(set(units[at : at + width])) for width, at in enumerate(narrower, 1)]
    assert all(count < wanted for count in counts[wanted - 1 :])
    assert len(set(units[first:last])) >= min(wanted, len(set(units)))


def test_a_window_is_told_apart_from_its_largest_value():
    """Nine zeros and one income: their mean would tell the income to anybody."""
    values = np.concatenate([np.zeros(24), [1e6], np.full(10, 2e6)])
    percentile = found(values, rule=PercentileUnits(10, 5, Consequence.REFUSE, points=(0.6,)))
    assert percentile.bounds()[0].closeness[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("coalition", "others"), [(1, 1.0), (2, 0.0)])
def test_two_of_three_who_alone_have_anything_in_a_window_know_the_third(coalition, others):
    values = np.concatenate([np.zeros(27), np.full(20, 500.0)])
    sample = Sample(values, np.zeros(47, dtype=np.int64), np.arange(47), 1)
    rule = PercentileUnits(10, 5, Consequence.REFUSE, points=(0.53,))
    percentile = percentiles(sample, rule, coalition=coalition)
    assert percentile.values[0, 0] == 150
    assert percentile.bounds()[0].closeness[0] == pytest.approx(others, abs=1e-12)


def test_what_a_window_of_equal_values_tells_is_enough_units_own():
    rule = PercentileUnits(3, 3, Consequence.REFUSE, points=(0.5,))
    percentile = percentiles(
        Sample(np.full(20, 7.0), np.zeros(20, dtype=np.int64), np.arange(20), 1), rule, coalition=2
    )
    assert percentile.bounds()[0].closeness[0] == np.inf


def test_groups_have_percentiles_of_their_own_and_empty_ones_none():
    groups = np.repeat([0, 2], 40)
    values = np.concatenate([np.arange(40.0), np.arange(40.0) + 1000])
    percentile = found(values, groups=groups)
    medians = percentile.values[:, percentile.points.index(0.5)]
    assert medians[[0, 2]].tolist() == [19.5, 1019.5]
    assert np.isnan(medians[1])


def test_weights_move_a_percentile():
    values = np.arange(200.0)
    weights = np.where(values < 100, 3.0, 1.0)
    assert released(found(values, weights=weights))[0.5] == pytest.approx(66.5, abs=1)


def test_lorenz_points_are_shares_of_runs_of_units():
    values = np.arange(1.0, 201.0)
    percentile = found(values)
    share = percentile.lorenz[0, percentile.points.index(0.5)]
    assert share == pytest.approx(values[:100].sum() / values.sum(), rel=5e-3)


def test_the_outermost_percentiles_are_proposed_in_place_of_extremes():
    assert instead(found(np.arange(1000.0)), 0) == (0.05, 0.95)
    assert instead(found(np.arange(100.0)), 0) == (0.25, 0.75)
    assert instead(found(np.arange(20.0)), 0) == (None, None)


def test_histogram_and_density_are_functions_of_released_percentiles_only():
    percentile = found(np.arange(1000.0))
    bins, curve = histogram(percentile, 0), density(percentile, 0)
    assert bins is not None
    assert bins.edges.tolist() == list(released(percentile).values())
    assert bins.shares.sum() == pytest.approx(1)
    assert curve is not None
    assert curve.densities.sum() * (curve.values[1] - curve.values[0]) == pytest.approx(1, abs=0.01)


def test_of_equal_percentiles_a_histogram_has_one_edge():
    bins = histogram(found([0.0] * 600 + list(range(1, 401))), 0)
    assert bins is not None
    assert bins.edges[0] == 0
    assert bins.shares[0] == pytest.approx(0.6, abs=0.101)
    assert (np.diff(bins.edges) > 0).all()


def test_a_group_without_percentiles_has_no_picture():
    percentile = found(np.arange(20.0))
    assert histogram(percentile, 0) is None
    assert density(percentile, 0) is None
    assert np.isnan(box_plot(percentile).medians).all()


def test_a_box_plot_has_percentiles_for_whiskers_and_no_outliers():
    values = np.concatenate([np.arange(999.0), [1e9]])
    box = box_plot(found(values))
    assert box.whisker_points == ((0.05, 0.95),)
    assert box.upper[0] < 1000
    assert box.lower[0] < box.first_quartiles[0] < box.medians[0] < box.third_quartiles[0] < box.upper[0]


@pytest.mark.parametrize(("alone", "safe"), [(1, False), (3, False), (4, True), (5, True)])
def test_who_knows_how_many_of_a_window_have_what_most_have_does_not_know_the_last(alone, safe):
    """64 of 120 have the minimum wage, nine of the median's window: who has more is all of the rest."""
    least = 65 - alone
    wages = np.append(np.full(least, 1000.0), 1150.0 + 13 * np.arange(120 - least))
    sample = Sample(wages, np.zeros(120, dtype=np.int64), np.arange(120), 1)
    median = percentiles(sample, RULE, coalition=2).bounds((0.5,))[0].closeness[0]

    assert (median >= 0.1) == safe


def test_two_values_that_many_have_each_are_nobodys():
    wages = np.repeat([1000.0, 1200.0], [64, 56])
    assert released(found(wages))[0.5] == 1020.0
    assert found(wages).bounds((0.5,))[0].closeness[0] > 1
