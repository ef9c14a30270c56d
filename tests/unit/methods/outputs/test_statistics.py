import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sdcgate.methods.cells import Facts
from sdcgate.methods.outputs.association import shares_of_most_frequent_values
from sdcgate.methods.outputs.every_statistic import compute_statistic as compute
from sdcgate.methods.outputs.hexagonal_bins import Grid, grid_of, hexagonal_bins
from sdcgate.methods.outputs.inequality import gini
from sdcgate.methods.outputs.means import means, unreliable
from sdcgate.methods.outputs.moments import moment_bounds
from sdcgate.methods.outputs.percentiles import percentiles
from sdcgate.methods.outputs.sample import Design, Sample
from sdcgate.methods.outputs.statistic_assessment import assess_statistic
from sdcgate.methods.outputs.statistic_facts import (
    ClosestBound,
    ExtremeFacts,
    ImpliedCells,
    PercentileFacts,
    Statistic,
    StatisticFacts,
)
from sdcgate.methods.outputs.statistic_rules import (
    ImpliedTable,
    PercentileUnits,
    Reliability,
    StatisticRules,
    usual_rules,
)
from sdcgate.methods.outputs.statistics import Columns, FactorColumn
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import Consequence, GroupDisclosure, MinimumUnits, PPercent, ReasonCode, Rules

TABLE = Rules(
    minimum_units=MinimumUnits(10, Consequence.REFUSE),
    p_percent=PPercent(0.1, Consequence.REFUSE),
    group_disclosure=GroupDisclosure(0.9, Consequence.REFUSE),
)
RULES = usual_rules(TABLE)
ANY = [Statistic(number) for number in range(Statistic.MEAN, Statistic.BOX_PLOT + 1)]
"""Those of one measure, or of one or two variables."""


def sample_of(values, groups=None, units=None, weights=None) -> Sample:
    values = np.asarray(values, dtype=np.float64)
    groups = np.zeros(len(values), dtype=np.int64) if groups is None else np.asarray(groups)
    units = np.arange(len(values)) if units is None else np.asarray(units)
    return Sample(values, groups, units, int(groups.max(initial=0)) + 1, weights)


def reasons(statistic: Statistic, sample: Sample, columns=None, rules=RULES) -> set[ReasonCode]:
    computed = compute(statistic, sample, rules, columns)
    return {
        finding.rule
        for finding in assess_statistic(statistic, computed.facts, rules, computed.errors).findings
    }


def columns_of(number: int) -> Columns:
    even = np.arange(number) % 2 == 0
    place = np.arange(number)
    return Columns(
        np.ones(number),
        even,
        place % 3 == 0,
        even.astype(np.int64),
        2,
        measures=(("a", place % 7.0), ("b", place % 11.0)),
        factors=(FactorColumn("c", place % 2, 2), FactorColumn("d", place % 3, 3)),
    )


def test_all_that_is_wrong_with_records_is_told_at_once_and_without_a_value():
    with pytest.raises(FactsError) as caught:
        Sample(
            np.array([1.0, np.nan, np.inf]),
            np.array([0, 5, 0]),
            np.array([0, -1, 2]),
            2,
            np.array([1.0, 0.0, -3.0]),
            Design(strata=np.array([0, -1, 0]), fractions=np.array([1.5])),
        )
    assert [problem.path for problem in caught.value.problems] == [
        "values",
        "groups",
        "units",
        "weights",
        "design.strata",
        "design.fractions",
    ]
    assert caught.value.problems[0].cells.tolist() == [1, 2]


def test_columns_of_other_lengths_and_no_records_are_told():
    with pytest.raises(FactsError, match="weights must have one value for each of 2 records"):
        Sample(np.ones(2), np.zeros(2, int), np.arange(2), 1, np.ones(3))
    with pytest.raises(FactsError, match="no record is left"):
        sample_of([])


@pytest.mark.parametrize("statistic", ANY)
def test_a_group_of_nine_is_refused_in_every_statistic(statistic):
    values = np.concatenate([np.arange(1.0, 10.0), np.arange(1.0, 101.0)])
    groups = np.repeat([0, 1], [9, 100])
    computed = compute(statistic, sample_of(values, groups), RULES, columns_of(109))
    found = assess_statistic(statistic, computed.facts, RULES, computed.errors)
    assert found.unchecked == ()
    assert all(np.isnan(figure.shown(found)[0]) for figure in computed.figures)


@pytest.mark.parametrize("statistic", ANY)
def test_an_empty_group_has_no_figure_and_no_finding(statistic):
    values = np.arange(1.0, 201.0)
    sample = Sample(values, np.full(200, 1), np.arange(200), 2)
    computed = compute(statistic, sample, RULES, columns_of(200))
    found = assess_statistic(statistic, computed.facts, RULES, computed.errors)
    assert all(np.isnan(figure.values[0]) for figure in computed.figures if figure.name != "total")
    assert not found.unsafe(2)[0]


@pytest.mark.parametrize("statistic", ANY)
def test_two_units_with_many_records_are_refused_in_every_statistic(statistic):
    values, units = np.arange(1.0, 101.0), np.repeat([0, 1], 50)
    assert ReasonCode.MINIMUM_UNITS in reasons(statistic, sample_of(values, units=units), columns_of(100))


@pytest.mark.parametrize("statistic", ANY)
def test_nothing_is_shown_where_a_rule_lacks_its_facts(statistic):
    values = np.arange(1.0, 201.0)
    computed = compute(statistic, sample_of(values), RULES, columns_of(200))
    bare = StatisticFacts(Facts(units=computed.facts.table.units, records=computed.facts.table.records))
    found = assess_statistic(statistic, bare, RULES)
    assert found.unchecked != ()
    assert all(np.isnan(figure.shown(found)).all() for figure in computed.figures)


def test_facts_of_the_wrong_length_or_below_zero_are_told_with_their_paths():
    facts = StatisticFacts(
        Facts(units=np.array([20, 30]), records=np.array([20, 30])),
        bounds=(ClosestBound("variance", np.array([1.0])),),
        percentiles=(PercentileFacts(1.0, np.array([10, -1]), np.array([10, 10])),),
        extremes=(ExtremeFacts("minimum", np.array([1, 2, 3])),),
        modal_shares=np.array([0.5, 1.5]),
        implied=(ImpliedCells("mode", np.array([[1, 2]])),),
    )
    with pytest.raises(FactsError) as caught:
        assess_statistic(Statistic.MEAN, facts, RULES)
    assert {problem.path for problem in caught.value.problems} == {
        "facts.percentiles[0].point",
        "facts.percentiles[0].window_units",
        "facts.extremes[0].sharing_units",
        "facts.modal_shares",
        "facts.implied[0].units",
        "facts.bounds[0].closeness",
    }


@pytest.mark.parametrize(
    ("window", "side", "with_it", "without", "paths"),
    [
        (20, 10, 25, 15, set()),
        (20, 11, 25, 15, {"facts.percentiles[0].window_units"}),
        (10, 10, 20, 15, {"facts.implied[0].units"}),
        (10, 10, 30, 15, {"facts.implied[0].units"}),
    ],
)
def test_windows_and_implied_tables_that_do_not_fit_their_group_are_told(
    window, side, with_it, without, paths
):
    facts = StatisticFacts(
        Facts(units=np.array([40]), records=np.array([40])),
        percentiles=(PercentileFacts(0.5, np.array([window]), np.array([side])),),
        implied=(ImpliedCells("proportion", np.array([[with_it, without]])),),
    )
    try:
        assess_statistic(Statistic.PROPORTION, facts, RULES)
        told = set()
    except FactsError as error:
        told = {problem.path for problem in error.problems}
    assert told == paths


def test_a_figure_that_is_not_a_number_is_unsafe():
    facts = StatisticFacts(
        Facts(units=np.array([20]), records=np.array([20])),
        bounds=(ClosestBound("variance", np.array([np.nan])),),
        modal_shares=np.array([np.nan]),
    )
    found = assess_statistic(Statistic.MODE, facts, RULES)
    assert {finding.rule for finding in found.findings} == {ReasonCode.P_PERCENT, ReasonCode.MODAL_SHARE}


def test_a_missing_column_is_named():
    with pytest.raises(FactsError, match="second must have one value for each of 3 records"):
        compute(Statistic.RATIO, sample_of([1, 2, 3]), RULES)
    with pytest.raises(FactsError, match="statistic must be one"):
        compute(Statistic.UNSPECIFIED, sample_of([1, 2, 3]), RULES)


@pytest.mark.parametrize(
    "statistic", [Statistic.GINI, Statistic.LORENZ_CURVE, Statistic.HERFINDAHL, Statistic.CONCENTRATION_RATIO]
)
def test_shares_of_a_total_need_values_that_are_not_negative(statistic):
    with pytest.raises(FactsError, match="values must not be negative"):
        compute(statistic, sample_of([*range(50), -1.0]), RULES)


def test_two_units_that_repeat_a_least_value_are_two():
    values, units = (
        np.append(np.zeros(20), np.arange(1.0, 31.0)),
        np.append(np.repeat([0, 1], 10), np.arange(2, 32)),
    )
    assert reasons(Statistic.MINIMUM, sample_of(values, units=units)) == {ReasonCode.EXTREME_VALUE}


@pytest.mark.parametrize("statistic", [Statistic.PERCENTILES, Statistic.BOX_PLOT, Statistic.MINIMUM])
@pytest.mark.parametrize(("number", "refused"), [(180, True), (179, False)])
def test_a_value_that_nearly_all_have_is_told_of_each_by_percentiles_and_extremes(statistic, number, refused):
    values = np.append(np.zeros(number), np.arange(1.0, 201.0 - number))
    found = reasons(statistic, sample_of(values))
    assert (ReasonCode.MODAL_SHARE in found) == refused


def test_a_value_is_shared_by_units_and_not_by_records():
    values, units = (
        np.append(np.zeros(20), np.arange(1.0, 31.0)),
        np.append(np.repeat([0, 1], 10), np.arange(2, 32)),
    )
    assert shares_of_most_frequent_values(sample_of(values, units=units)) == pytest.approx([2 / 32])
    many = sample_of(np.repeat([5.0, 6.0], [30, 10]), groups=np.repeat([0, 2], 20))
    assert shares_of_most_frequent_values(many).tolist() == [1.0, 0.0, 0.5]


def test_a_mode_that_nearly_all_have_is_refused():
    categories = np.array([0] * 95 + [1] * 5)
    found = reasons(
        Statistic.MODE, sample_of(np.ones(100)), Columns(categories=categories, number_of_categories=3)
    )
    assert found == {ReasonCode.MODAL_SHARE, ReasonCode.IMPLIED_TABLE}
    even = Columns(categories=np.repeat([0, 1], 50), number_of_categories=3)
    assert reasons(Statistic.MODE, sample_of(np.ones(100)), even) == set()


@pytest.mark.parametrize(("having", "refused"), [(9, True), (10, False), (91, True), (90, False)])
def test_a_proportion_is_a_table_of_two_cells(having, refused):
    has = np.arange(100) < having
    found = reasons(Statistic.PROPORTION, sample_of(np.ones(100)), Columns(has=has))
    assert found == ({ReasonCode.IMPLIED_TABLE} if refused else set())


@pytest.mark.parametrize("smallest", [0, 9])
def test_ratios_of_odds_with_a_small_or_empty_cell_are_refused(smallest):
    counts = [50, 50, smallest, 50]
    columns = Columns(
        exposed=np.repeat([True, True, False, False], counts),
        has=np.repeat([True, False, True, False], counts),
    )
    for statistic in (Statistic.ODDS_RATIO, Statistic.RISK_RATIO):
        found = reasons(statistic, sample_of(np.ones(sum(counts))), columns)
        assert found == {ReasonCode.IMPLIED_TABLE}


def test_an_agency_may_forbid_empty_cells_of_implied_tables():
    rules = StatisticRules(TABLE, implied=ImpliedTable(10, Consequence.REFUSE, empty=True))
    nobody = Columns(has=np.zeros(100, dtype=bool))
    assert reasons(Statistic.PROPORTION, sample_of(np.ones(100)), nobody, rules) == {ReasonCode.IMPLIED_TABLE}
    assert reasons(Statistic.PROPORTION, sample_of(np.ones(100)), nobody) == set()


def test_a_concentration_ratio_of_four_is_a_cell_of_four():
    values = np.arange(1.0, 101.0)
    assert reasons(Statistic.CONCENTRATION_RATIO, sample_of(values)) == {ReasonCode.IMPLIED_TABLE}
    ten = compute(Statistic.CONCENTRATION_RATIO, sample_of(values), RULES, largest=10)
    assert assess_statistic(ten.statistic, ten.facts, RULES).findings == ()


@pytest.mark.parametrize(
    ("rich", "others", "refused"),
    [(1, 1.0, {"CR10"}), (10, 1.0, set()), (11, 0.5, {"all but CR10"}), (40, 0.5, set())],
)
def test_one_of_the_ten_largest_or_of_all_others_may_not_have_nearly_all_of_their_sum(rich, others, refused):
    values = np.concatenate([np.full(rich, 700.0), np.full(100 - rich, others)])
    ten = compute(Statistic.CONCENTRATION_RATIO, sample_of(values), RULES, largest=10)
    found = assess_statistic(ten.statistic, ten.facts, RULES).findings
    assert {finding.measure for finding in found} == refused
    assert {finding.rule for finding in found} <= {ReasonCode.P_PERCENT}


def test_a_percentile_that_has_no_room_takes_no_other_with_it():
    computed = compute(Statistic.PERCENTILES, sample_of(np.arange(100.0) + 50), RULES)
    found = assess_statistic(computed.statistic, computed.facts, RULES)
    shown = {figure.name for figure in computed.figures if np.isfinite(figure.shown(found)).all()}
    assert shown == {"P25", "P50", "P75"}
    assert {finding.rule for finding in found.findings} == {ReasonCode.PERCENTILE_UNITS}


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_a_variance_is_the_greatest_value_that_sums_allow(seed):
    """Sought by an optimiser among all lists with the sum and the sum of squares that the others see."""
    values = np.sort(np.random.default_rng(seed).lognormal(size=9))
    apart = np.abs(values - values.mean())
    rest = np.delete(values, -2 if apart[-2] > apart[0] else 0)
    found = minimize(
        lambda x: -x[0],
        np.random.default_rng(seed).permutation(rest),
        constraints=[
            {"type": "eq", "fun": lambda x: x.sum() - rest.sum()},
            {"type": "eq", "fun": lambda x: (x**2).sum() - (rest**2).sum()},
        ],
    )
    closeness = (found.x[0] - values[-1]) / values[-1]
    assert moment_bounds(sample_of(values), 2)[0].closeness[0] == pytest.approx(closeness, abs=1e-4)


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=40))
def test_moments_of_any_values_bound_something(values):
    for bound in moment_bounds(sample_of(values), 4):
        assert 0 <= bound.closeness[0] < np.inf


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_a_gini_index_is_the_greatest_value_that_it_allows(seed):
    """All others equal but the one that is known: then the index is the one that was told."""
    values = np.sort(np.random.default_rng(seed).lognormal(size=9))
    index, bound = gini(sample_of(values)).values[0], gini(sample_of(values)).bounds[0]
    most = values[-1] * (1 + bound.closeness[0])
    rest = (values.sum() - most - values[-2]) / 7
    assert rest < values[-2]
    assert gini(sample_of([rest] * 7 + [values[-2], most])).values[0] == pytest.approx(index)


def test_one_outlier_among_equals_is_told_exactly_by_every_moment():
    bounds = moment_bounds(sample_of([1.0] * 99 + [50.0]), 4)
    assert all(bound.closeness[0] == pytest.approx(0, abs=1e-3) for bound in bounds)


def test_the_more_know_their_own_values_the_closer_the_bound():
    values = np.random.default_rng(1).lognormal(0, 1.5, 60)
    closeness = [moment_bounds(sample_of(values), 2, members)[0].closeness[0] for members in (1, 2, 5)]
    assert closeness == sorted(closeness, reverse=True)
    assert closeness[0] > closeness[-1]


def test_a_single_unit_has_no_error_to_trust_and_is_flagged():
    sample = sample_of([5.0, 6.0, 7.0], units=[0, 0, 0])
    found = means(sample)
    assert np.isnan(found.standard_errors[0])
    assert unreliable(found, sample.units_of_groups, Reliability()).tolist() == [True]


def test_an_estimate_is_flagged_by_its_variation_and_by_few_units():
    values = np.concatenate([np.arange(100.0, 130.0), [0.0] * 29 + [1000.0]])
    sample = sample_of(values, np.repeat([0, 1], 30))
    found = means(sample)
    assert unreliable(found, sample.units_of_groups, Reliability(0.3)).tolist() == [False, True]
    assert unreliable(found, sample.units_of_groups, Reliability(0.3, units=31)).tolist() == [True, True]


def test_a_unit_with_several_records_is_a_cluster_of_its_own():
    rng = np.random.default_rng(2)
    of_units = rng.normal(10, 2, 50)
    twice = sample_of(np.repeat(of_units, 2), units=np.repeat(np.arange(50), 2))
    assert means(twice).standard_errors == pytest.approx(means(sample_of(of_units)).standard_errors)


def test_hexagons_with_few_units_are_withheld_with_others_that_would_tell_them():
    x = np.array([0.0] * 30 + [10.0] * 20 + [20.0] * 3)
    bins = hexagonal_bins(sample_of(x), np.zeros(53), 0, Grid((0.0, 0.0), (1.0, 1.0)), 10)
    assert bins.units.tolist() == [30]
    assert bins.withheld_units == 23


@given(
    st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20)), min_size=1, max_size=80), st.integers(2, 12)
)
def test_hexagons_add_up_and_none_shown_is_small(points, minimum):
    x, y = np.array(points).T
    bins = hexagonal_bins(sample_of(x), y, 0, Grid((0.0, 0.0), (4.0, 4.0)), minimum)
    assert bins.units.sum() + bins.withheld_units == len(points)
    assert (bins.units >= minimum).all()
    assert bins.withheld_units == 0 or bins.withheld_units >= minimum or not len(bins.units)


def test_points_are_in_the_hexagon_whose_middle_is_nearest():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-3, 3, (2, 400))
    bins = hexagonal_bins(sample_of(x), y, 0, Grid((0.0, 0.0), (1.0, 1.0)), 1)
    nearest = ((x[:, None] - bins.x) ** 2 + (y[:, None] - bins.y) ** 2).argmin(axis=1)
    assert np.bincount(nearest, minlength=len(bins.units)).tolist() == bins.units.tolist()


def test_the_grid_of_a_scatter_comes_from_released_percentiles():
    rule = PercentileUnits(10, 10, Consequence.REFUSE)
    x = np.append(np.arange(999.0), 1e12)
    found = percentiles(sample_of(x), rule)
    grid = grid_of(found, found, 0)
    assert grid is not None
    assert grid.width[0] == pytest.approx(900 / 20, rel=0.01)
    few = percentiles(sample_of(np.arange(20.0)), rule)
    assert grid_of(few, found, 0) is None


@pytest.mark.parametrize("statistic", [Statistic.VARIANCE, Statistic.STANDARD_DEVIATION, Statistic.KURTOSIS])
def test_of_errors_that_are_not_asked_it_is_not_said_whether_they_are_large(statistic):
    sample = sample_of(np.random.default_rng(3).lognormal(7, 1.2, 60))
    without, asked = (compute(statistic, sample, RULES, errors=errors) for errors in (False, True))
    assert without.unreliable is None
    assert asked.unreliable.tolist() == [True]
    assert without.figures[0].values == asked.figures[0].values
