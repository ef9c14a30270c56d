from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sdcgate.methods.cells import MISSING, TOTAL, Axis, Facts, MeasureFacts
from sdcgate.methods.rules import (
    Consequence,
    Dominance,
    EqualValues,
    Finding,
    GroupDisclosure,
    IndividualRisk,
    MinimumBase,
    MinimumHouseholds,
    MinimumUnits,
    PPercent,
    ReasonCode,
    Rules,
)
from sdcgate.methods.tables.assessment import Assessment, Key, assess_table

PROTECT, REFER, REFUSE = Consequence.PROTECT, Consequence.REFER, Consequence.REFUSE
AXES = (Axis("site", "site", ("1", "2", "3", MISSING, TOTAL), (4, 4, 4, 4, -1), sensitive=True),)
INCOME = MeasureFacts(
    name="income",
    sums=np.array([900.0, 100.0, 400.0, 0.0, 1400.0]),
    valid_records=np.array([30, 20, 40, 0, 90]),
    valid_units=np.array([30, 20, 40, 0, 90]),
    largest=np.array([[800.0, 10], [5, 5], [11, 10], [0, 0], [800, 11]]),
    absolute_sums=np.array([900.0, 100.0, 400.0, 0.0, 1400.0]),
    minima=np.array([1.0, 5.0, 9.0, 0.0, 1.0]),
    maxima=np.array([800.0, 5.0, 11.0, 0.0, 800.0]),
)
UNITS = np.array([30, 20, 40, 3, 93])
FACTS = Facts(UNITS, UNITS, households=np.array([12.0, 2.0, 20.0, 1.0, 35.0]), measures=(INCOME,))
KEY = Key(np.array([1] * 10 + [83]), np.array([100.0] * 10 + [8300.0]))
ALL_RULES = Rules(
    minimum_units=MinimumUnits(10, PROTECT),
    minimum_households=MinimumHouseholds(3, PROTECT),
    minimum_base=MinimumBase(100, PROTECT),
    dominance=(Dominance(1, 0.5, PROTECT), Dominance(2, 0.1, REFER)),
    p_percent=PPercent(0.2, PROTECT),
    group_disclosure=GroupDisclosure(0.4, PROTECT),
    equal_values=EqualValues(0, Consequence.UNSPECIFIED),
    individual_risk=IndividualRisk(0.001, False, PROTECT),
)


def assess(rules: Rules, facts: Facts = FACTS, base: int = 93, key: Key | None = KEY) -> Assessment:
    return assess_table(AXES, facts, rules, base, key)


def test_each_rule_finds_its_cells_in_the_order_of_the_rules() -> None:
    found = [(f.rule, f.consequence, f.cells, f.measure) for f in assess(ALL_RULES).findings]
    assert found == [
        (ReasonCode.MINIMUM_UNITS, PROTECT, (3,), ""),
        (ReasonCode.MINIMUM_UNITS, PROTECT, (3, 4), "income"),
        (ReasonCode.MINIMUM_HOUSEHOLDS, PROTECT, (1, 3), ""),
        (ReasonCode.MINIMUM_BASE, REFUSE, (), ""),
        (ReasonCode.DOMINANCE, PROTECT, (0, 4), "income"),
        (ReasonCode.DOMINANCE, REFER, (0, 1, 4), "income"),
        (ReasonCode.P_PERCENT, PROTECT, (0,), "income"),
        (ReasonCode.GROUP_DISCLOSURE, PROTECT, (0, 1, 2, 3), ""),
        (ReasonCode.EQUAL_VALUES, REFUSE, (1,), "income"),
        (ReasonCode.INDIVIDUAL_RISK, REFUSE, (), ""),
    ]
    assert assess(ALL_RULES).unchecked == ()


def test_a_table_without_rules_has_no_findings_but_its_risk() -> None:
    assessment = assess(Rules())
    assert assessment.findings == ()
    assert assessment.unchecked == ()
    assert assessment.risk is not None
    assert assessment.risk.sample_uniques == 10
    assert assess(Rules(), key=None).risk is None


def test_rules_without_their_facts_are_unchecked() -> None:
    bare = replace(INCOME, largest=np.zeros((5, 0)), absolute_sums=np.zeros(0), minima=np.zeros(0))
    facts = Facts(UNITS, UNITS, measures=(bare,))
    assert assess(ALL_RULES, facts, key=None).unchecked == (
        ReasonCode.MINIMUM_HOUSEHOLDS,
        ReasonCode.DOMINANCE,
        ReasonCode.P_PERCENT,
        ReasonCode.EQUAL_VALUES,
        ReasonCode.INDIVIDUAL_RISK,
    )


def test_dominance_of_more_units_than_are_given_is_unchecked() -> None:
    rules = Rules(dominance=(Dominance(1, 0.5, PROTECT), Dominance(3, 0.9, PROTECT)))
    assessment = assess(rules)
    assert assessment.unchecked == (ReasonCode.DOMINANCE,)
    assert [finding.cells for finding in assessment.findings] == [(0, 4)]


def test_a_table_of_counts_has_nothing_to_check_on_measures() -> None:
    rules = Rules(dominance=(Dominance(1, 0.5, PROTECT),), equal_values=EqualValues(0, PROTECT))
    assert assess(rules, Facts(UNITS, UNITS)) == Assessment((), assess(Rules()).risk, ())


def test_the_base_is_judged_even_where_nobody_is_in_it() -> None:
    empty = Facts(np.zeros(5, dtype=np.int64), np.zeros(5, dtype=np.int64))
    rules = Rules(minimum_base=MinimumBase(93, REFER))
    assert assess(rules, empty, base=0, key=None).findings == (
        Finding(ReasonCode.MINIMUM_BASE, REFER, figure=0.0, bound=93.0),
    )
    assert assess(rules, base=93, key=None).findings == ()


def key_of_uniques(number: int, base: int) -> Key:
    """A sample of 1 in 126, as the Israel Income Survey, with so many sample uniques."""
    f = np.array([1] * number + [base - number])
    return Key(f, 126.0 * f)


@pytest.mark.parametrize(("uniques", "refused"), [(775, False), (849, False), (850, True), (6824, True)])
def test_at_most_a_thousandth_of_the_income_survey_may_be_matched(uniques: int, refused: bool) -> None:
    # Shlomo 2003: of 32,869 units 30 matches are manageable, 264 are not; a unique has 0.03869.
    rules = Rules(individual_risk=IndividualRisk(0.001, False, REFUSE))
    assessment = assess(rules, base=32_869, key=key_of_uniques(uniques, 32_869))
    assert [finding.rule for finding in assessment.findings] == [ReasonCode.INDIVIDUAL_RISK] * refused
    if refused:
        assert assessment.findings[0].figure == pytest.approx(uniques * 0.038690255255611822)
        assert assessment.findings[0].bound == pytest.approx(32.869)


@pytest.mark.parametrize(("uniques", "refused"), [(1, False), (9, False), (10, True)])
def test_a_few_who_are_alone_in_a_small_census_are_tolerated(uniques: int, refused: bool) -> None:
    key = Key(np.array([*[1] * uniques, 100 - uniques]), np.array([*[1.0] * uniques, 100.0 - uniques]))
    rules = Rules(individual_risk=IndividualRisk(0.001, False, REFUSE, tolerated_uniques=10))
    assert bool(assess(rules, base=100, key=key).findings) is refused


def test_all_cells_are_summed_if_the_policy_says_so() -> None:
    key = Key(np.array([2] * 50), np.array([20.0] * 50))
    assert (
        assess(Rules(individual_risk=IndividualRisk(0.01, False, REFUSE)), base=100, key=key).findings == ()
    )
    (finding,) = assess(Rules(individual_risk=IndividualRisk(0.01, True, REFUSE)), base=100, key=key).findings
    assert finding.figure == pytest.approx(100 * 0.1 * (0.9 + 0.1 * np.log(0.1)) / 0.9**2)


def test_a_risk_within_a_billionth_of_the_bound_is_unsafe_and_no_risk_is_safe_under_a_bound_of_zero() -> None:
    census = Key(np.array([1, 99]), np.array([1.0, 99.0]))
    at_bound = Rules(individual_risk=IndividualRisk(0.01 * (1 + 5e-10), False, REFUSE))
    assert len(assess(at_bound, base=100, key=census).findings) == 1
    none = Key(np.array([100]), np.array([100.0]))
    assert (
        assess(Rules(individual_risk=IndividualRisk(0.0, False, REFUSE)), base=100, key=none).findings == ()
    )


def with_income(**changes: object) -> Facts:
    return replace(FACTS, measures=(replace(INCOME, **changes),))  # type: ignore[arg-type]


def changed(array: np.ndarray, position: int, value: float) -> np.ndarray:
    copy = array.copy()
    copy[position] = value
    return copy


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (replace(FACTS, units=UNITS[:4]), r"units must be one value for each of 5 cells"),
        (replace(FACTS, units=UNITS.astype(float)), r"units must be integers"),
        (replace(FACTS, units=changed(UNITS, 1, -1)), r"units must not be negative \(positions 1\)"),
        (replace(FACTS, units=changed(UNITS, 2, 50)), r"units must not exceed records \(positions 2\)"),
        (
            replace(FACTS, units=changed(UNITS, 2, 0)),
            r"units must be 0 exactly where records are 0 \(positions 2\)",
        ),
        (replace(FACTS, households=np.full(5, np.nan)), r"households must be finite and not negative"),
        (replace(FACTS, households=np.full(5, 4.0)), r"households must not exceed units \(positions 3\)"),
        (replace(FACTS, weight_sums=np.full(5, np.inf)), r"weight_sums must be finite"),
        (replace(FACTS, unit_weight_sums=np.full(5, -1.0)), r"unit_weight_sums must be finite and not neg"),
        (replace(FACTS, measures=(INCOME, INCOME)), r"measures\[1\] names income a second time"),
        (
            with_income(sums=changed(INCOME.sums, 0, np.nan)),
            r"measures\[0\].sums must be finite \(positions 0\)",
        ),
        (with_income(weighted_sums=np.full(5, np.nan)), r"weighted_sums must be finite"),
        (with_income(valid_weight_sums=np.full(5, np.nan)), r"valid_weight_sums must be finite"),
        (with_income(valid_units=changed(UNITS, 3, 4)), r"valid_units must not exceed units \(positions 3\)"),
        (
            with_income(valid_units=np.zeros(5, dtype=np.int64)),
            r"must be 0 exactly where valid_records are 0 \(positions 0, 1, 2, 4\)",
        ),
        (with_income(valid_records=changed(UNITS, 0, 31)), r"valid_records must not exceed records"),
        (
            with_income(lacking_units=np.full(5, 2)),
            r"lacking_units must be at least the units without .* \(positions 3, 4\)",
        ),
        (with_income(lacking_units=changed(UNITS, 0, 1)), r"lacking_units must not exceed lacking records"),
        (
            with_income(largest=INCOME.largest[:, ::-1]),
            r"largest must come largest first \(positions 0, 2, 4\)",
        ),
        (
            with_income(largest=changed(INCOME.largest, 1, np.nan)),
            r"largest must be finite .* \(positions 1\)",
        ),
        (with_income(largest=INCOME.largest[:3]), r"largest must have a row for each of 5 cells"),
        (with_income(absolute_sums=np.full(5, -1.0)), r"absolute_sums must be finite and not negative"),
        (with_income(minima=INCOME.maxima, maxima=INCOME.minima), r"minima must not exceed maxima"),
        (with_income(maxima=np.full(5, np.inf)), r"maxima must be finite"),
        (with_income(lower_bound=float("nan")), r"lower_bound must be a number"),
    ],
)
def test_facts_that_do_not_fit_together_are_rejected_not_judged(facts: Facts, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        assess(ALL_RULES, facts)


def test_all_problems_come_at_once_and_none_tells_a_value() -> None:
    facts = replace(with_income(maxima=np.full(5, -987654.0)), households=np.full(5, 123456.0))
    with pytest.raises(ValueError, match=r"households .*; .*minima") as raised:
        assess(ALL_RULES, facts, base=-1)
    assert "base_units" in str(raised.value)
    assert "987654" not in str(raised.value)
    assert "123456" not in str(raised.value)


def test_key_and_facts_are_hidden_from_repr() -> None:
    hidden: list[Callable[[], str]] = [KEY.__repr__, FACTS.__repr__, INCOME.__repr__]
    assert all("array" not in show() for show in hidden)
