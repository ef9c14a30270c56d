"""What counts as a contribution, and how uncertain unsafe cells have to stay."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdcgate.methods.cells import TOTAL, Axis, Contributors, Facts, MeasureFacts
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import (
    Consequence,
    Contributions,
    Dominance,
    EqualValues,
    Finding,
    GroupDisclosure,
    LinearSensitivity,
    MinimumHouseholds,
    MinimumUnits,
    NegativeValues,
    PPercent,
    PriorPosterior,
    ReasonCode,
    Rules,
)
from sdcgate.methods.tables.assessment import Assessment, assess_table
from sdcgate.methods.tables.concentration import sensitive
from sdcgate.methods.tables.given_facts import with_stand_ins

PROTECT = Consequence.PROTECT
P10 = Rules(p_percent=PPercent(0.1, PROTECT))
SHIFTED = Contributions(NegativeValues.SHIFTED)
EMPTY = np.zeros(0)


def top(*cells: list[float], ranks: int = 3) -> np.ndarray:
    return np.array([[*sorted(cell, reverse=True), *[0.0] * ranks][:ranks] for cell in cells])


def measure_of(*cells: list[float], lower_bound: float | None = 0.0) -> MeasureFacts:
    """A measure with these values of one record each."""
    units = np.array([len(cell) for cell in cells])
    low = min(lower_bound or 0.0, 0.0)
    above = [[value - low for value in cell] for cell in cells]
    return MeasureFacts(
        name="profit",
        sums=np.array([float(sum(cell)) for cell in cells]),
        valid_records=units,
        valid_units=units,
        largest=top(*([abs(value) for value in cell] for cell in cells)),
        absolute_sums=np.array([float(sum(map(abs, cell))) for cell in cells]),
        minima=EMPTY,
        maxima=EMPTY,
        lower_bound=lower_bound,
        shifted=Contributors(top(*above), np.array([float(sum(cell)) for cell in above])) if low else None,
    )


def assess(rules: Rules, measure: MeasureFacts, **facts: np.ndarray) -> Assessment:
    units = measure.valid_units
    axis = Axis("cell", "cell", tuple(map(str, range(len(units)))), (-1,) * len(units))
    return assess_table((axis,), Facts(units, units, measures=(measure,), **facts), rules, None, None)


def only(assessment: Assessment) -> Finding:
    (finding,) = assessment.findings
    return finding


def test_a_loss_is_a_contribution_like_a_profit() -> None:
    found = assess(P10, measure_of([-100.0, 50, 9], [-100.0, 50, 40], lower_bound=None))
    assert only(found).cells == (0,)


def test_on_shifted_values_counts_how_far_everybody_lies_above_what_is_known() -> None:
    # Above -60: 160, 110 and what is left, 61, 10, is compared with 10% of 160.
    cells = measure_of([100.0, 50, 1], [100.0, 50, -50], lower_bound=-60.0)
    assert only(assess(replace(P10, contributions=SHIFTED), cells)).cells == (1,)
    assert only(assess(P10, cells)).cells == (0,)


def test_nothing_is_shifted_where_no_value_is_negative() -> None:
    cells = measure_of([100.0, 50, 9], [100.0, 50, 40])
    assert assess(replace(P10, contributions=SHIFTED), cells) == assess(P10, cells)


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"lower_bound": None, "shifted": None}, "lower_bound of profit"),
        ({"shifted": None}, "shifted.totals of profit"),
    ],
)
def test_shifted_contributions_that_are_not_known_leave_every_rule_unchecked(
    change: dict[str, None], fact: str
) -> None:
    rules = Rules(
        dominance=(Dominance(1, 0.5, PROTECT),),
        p_percent=PPercent(0.1, PROTECT),
        prior_posterior=PriorPosterior(0.1, 0.5, PROTECT),
        linear_sensitivity=(LinearSensitivity((0.1, 0.0), -1.0, PROTECT),),
        contributions=SHIFTED,
    )
    found = assess(rules, replace(measure_of([5.0, -1], lower_bound=-9.0), **change))
    assert found.findings == ()
    assert found.absent == (fact,)
    assert found.unchecked == (
        ReasonCode.DOMINANCE,
        ReasonCode.P_PERCENT,
        ReasonCode.PRIOR_POSTERIOR,
        ReasonCode.LINEAR_SENSITIVITY,
    )


def test_the_totals_above_the_lower_bound_follow_from_the_sums() -> None:
    measure = measure_of([100.0, 50, -50], lower_bound=-60.0)
    assert measure.shifted is not None
    given_ = replace(measure, shifted=replace(measure.shifted, totals=EMPTY))
    units = measure.valid_units
    (stood,) = with_stand_ins(Facts(units, units, measures=(given_,))).measures
    assert stood.shifted is not None
    assert stood.shifted.totals.tolist() == [280.0]


def test_a_weighted_total_is_judged_by_what_each_respondent_adds_to_it() -> None:
    # Values 100, 50, 30 with weights 1, 1, 20 and values 100, 50, 30 all taken with weight 1.
    weighted = Contributors(top([600.0, 100, 50], [100.0, 50, 30]), np.array([750.0, 180.0]))
    cells = replace(measure_of([100.0, 50, 30], [100.0, 50, 30]), weighted=weighted)
    rules = Rules(p_percent=PPercent(0.2, PROTECT))
    assert assess(rules, cells).findings == ()
    assert only(assess(replace(rules, contributions=Contributions(weighted=True)), cells)).cells == (0,)
    unknown = assess(replace(rules, contributions=Contributions(weighted=True)), measure_of([1.0, 1]))
    assert (unknown.findings, unknown.absent) == ((), ("weighted.totals of profit",))


def test_levels_of_a_weighted_total_are_cut_to_what_its_own_bounds_leave_room_for() -> None:
    """Values 100, 50, 50 with weights 6, 1, 1: 500 more and less are asked for, and 700 less can be."""
    weighted = Contributors(top([600.0, 50, 50]), np.array([700.0]))
    plain = replace(measure_of([100.0, 50, 50]), weighted=weighted)
    rules = Rules(dominance=(Dominance(1, 0.5, PROTECT),), contributions=Contributions(weighted=True))
    assert only(assess(rules, plain)).levels.lower == (500.0,)
    by_sums = replace(plain, weighted_sums=np.array([700.0]), valid_weight_sums=np.array([8.0]))
    bounded = replace(by_sums, lower_bound=50.0, upper_bound=100.0)
    levels = only(assess(rules, bounded)).levels
    assert (levels.upper, levels.lower) == ((100.0,), (300.0,))


def test_units_of_one_holding_are_one_respondent_of_a_threshold() -> None:
    measure = replace(measure_of([1.0] * 5, [1.0] * 5), valid_holdings=np.array([5, 2]))
    rules = Rules(minimum_units=MinimumUnits(3, PROTECT))
    found = assess(rules, measure, holdings=np.array([2, 4])).findings
    assert [(finding.measure, finding.cells) for finding in found] == [("", (0,)), ("profit", (1,))]


def test_a_cell_that_all_units_waived_is_not_sensitive() -> None:
    cells = replace(measure_of([100.0, 1], [100.0, 1]), unwaived_largest=np.array([[100.0, 1, 0], [0.0] * 3]))
    rules = Rules(p_percent=PPercent(0.1, PROTECT), dominance=(Dominance(1, 0.5, PROTECT),))
    assert [finding.cells for finding in assess(rules, cells).findings] == [(0,), (0,)]


def test_thresholds_ask_for_their_number_wherever_it_lies() -> None:
    rules = Rules(minimum_units=MinimumUnits(3, PROTECT), minimum_households=MinimumHouseholds(2.5, PROTECT))
    found = assess(rules, measure_of([1.0] * 2, [1.0] * 9), households=np.array([1.0, 2.0])).findings
    assert [(finding.cells, finding.levels.sliding) for finding in found if not finding.measure] == [
        ((0,), (3.0,)),
        ((0, 1), (3.0, 3.0)),
    ]
    assert {(finding.levels.upper, finding.levels.lower) for finding in found} == {((), ())}


def test_equal_values_ask_that_nobody_knows_them_to_within_the_tolerance() -> None:
    rules = Rules(equal_values=EqualValues(0.05, PROTECT))
    measure = replace(measure_of([7.0] * 10), minima=np.array([7.0]), maxima=np.array([7.0]))
    assert only(assess(rules, measure)).levels.sliding == pytest.approx((3.5,))


def test_a_full_category_asks_for_so_many_units_that_its_group_is_mixed_again() -> None:
    axis = Axis("ill", "ill", ("yes", "no", TOTAL), (2, 2, -1), sensitive=True)
    units = np.array([97, 3, 100])
    found = only(
        assess_table(
            (axis,), Facts(units, units), Rules(group_disclosure=GroupDisclosure(0.9, PROTECT)), None, None
        )
    )
    assert (found.cells, found.levels.sliding) == ((0, 1), (8.0, 8.0))
    rest = np.array([97 - 8, 3 + 8, 100])
    again = assess_table(
        (axis,), Facts(rest, rest), Rules(group_disclosure=GroupDisclosure(0.9, PROTECT)), None, None
    )
    assert again.findings == ()


def test_what_only_one_code_can_hold_tells_nothing_of_its_group() -> None:
    axes = (
        Axis("age", "age", ("child", "adult"), (-1, -1)),
        Axis("married", "married", ("yes", "no", TOTAL), (2, 2, -1), sensitive=True),
    )
    units = np.array([0, 40, 40, 40, 0, 40])
    rules = Rules(group_disclosure=GroupDisclosure(0.9, PROTECT))
    assert only(assess_table(axes, Facts(units, units), rules, None, None)).cells == (0, 1, 3, 4)
    impossible = np.array([True, False, False, False, False, False])
    known = Facts(units, units, structural_zeros=impossible)
    assert only(assess_table(axes, known, rules, None, None)).cells == (3, 4)
    with pytest.raises(FactsError, match="structural_zeros names cells with units"):
        assess_table(axes, Facts(units, units, structural_zeros=~impossible), rules, None, None)


def test_a_level_asks_for_no_more_than_public_bounds_leave_open() -> None:
    rules = Rules(dominance=(Dominance(1, 0.1, PROTECT),))
    levels = only(assess(rules, replace(measure_of([80.0, 20]), upper_bound=100.0))).levels
    assert (levels.upper, levels.lower) == ((100.0,), (100.0,))
    levels = only(assess(rules, measure_of([80.0, 20], lower_bound=None))).levels
    assert (levels.upper, levels.lower) == ((700.0,), (700.0,))
    levels = only(assess(rules, measure_of([80.0, 20], lower_bound=-10.0))).levels
    assert levels.lower == (120.0,)


cells_of_values = st.lists(st.integers(1, 500).map(float), min_size=1, max_size=7)
rules_on_values = st.one_of(
    st.builds(Dominance, st.integers(1, 3), st.sampled_from([0.3, 0.5, 0.9]), st.just(PROTECT)),
    st.builds(PPercent, st.sampled_from([0.05, 0.2, 0.6]), st.just(PROTECT), st.integers(1, 2)),
    st.builds(PriorPosterior, st.just(0.2), st.sampled_from([0.3, 0.8]), st.just(PROTECT)),
    st.just(LinearSensitivity((0.5, 0.1, -0.2), -0.4, PROTECT)),
)


def as_rules(rule: object) -> Rules:
    match rule:
        case Dominance():
            return Rules(dominance=(rule,))
        case PPercent():
            return Rules(p_percent=rule)
        case PriorPosterior():
            return Rules(prior_posterior=rule)
        case LinearSensitivity():
            return Rules(linear_sensitivity=(rule,))
    raise TypeError(rule)


@given(cells_of_values, rules_on_values)
def test_a_sum_that_is_larger_by_the_upper_level_of_small_contributors_is_safe(
    cell: list[float], rule: Dominance | PPercent | PriorPosterior | LinearSensitivity
) -> None:
    found = assess(as_rules(rule), measure_of(cell, lower_bound=None)).findings
    assume(found)
    (upper,) = found[0].levels.upper or (0.0,)
    assert found[0].levels.lower == found[0].levels.upper
    for more, safe in ((upper * 1.001 + 1e-3, True), (upper * 0.999 - 1e-3, False)):
        larger = Contributors(top(cell), np.array([sum(cell) + more]))
        assert sensitive(rule, larger).tolist() == [not safe]


def test_contributions_that_contradict_each_other_are_not_judged() -> None:
    good = replace(measure_of([100.0, 50, -50], lower_bound=-60.0), unwaived_largest=top([50.0, 40]))
    assert good.shifted is not None
    wrong = replace(
        good,
        unwaived_largest=top([120.0, 40]),
        shifted=replace(good.shifted, totals=np.array([290.0]), unwaived=np.zeros((1, 2))),
        weighted=Contributors(top([10.0]), np.array([5.0])),
        valid_holdings=np.array([4]),
    )
    assert assess(P10, good).findings == ()
    with pytest.raises(FactsError) as caught:
        assess(P10, wrong)
    assert [str(problem) for problem in caught.value.problems] == [
        "facts.measures[0].shifted.unwaived must have as many values a cell as largest"
    ]
    assert wrong.shifted is not None
    shaped = replace(wrong, shifted=replace(wrong.shifted, unwaived=None))
    with pytest.raises(FactsError) as caught:
        assess(P10, shaped, holdings=np.array([0]))
    assert [str(problem) for problem in caught.value.problems] == [
        "facts.holdings must be 0 exactly where units are 0 (positions 0)",
        "facts.measures[0].unwaived_largest must not exceed largest, rank by rank (positions 0)",
        "facts.measures[0].weighted.largest must not exceed totals (positions 0)",
        "facts.measures[0].shifted.totals must be the sums less lower_bound times valid_records"
        " (positions 0)",
        "facts.measures[0].valid_holdings must not exceed valid_units (positions 0)",
    ]
