"""One unit's share of what measures leave unexplained, against fits without it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sdcgate.methods.outputs.every_statistic import compute_statistic
from sdcgate.methods.outputs.residual_shares import largest_held, residuals_of, shares_of
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_assessment import assess_statistic
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.outputs.statistic_rules import MaximumResidualShare, StatisticRules
from sdcgate.methods.outputs.statistics import Columns, FactorColumn
from sdcgate.methods.rules import Consequence, MinimumUnits, PPercent, ReasonCode, Rules

RULES = StatisticRules(
    Rules(MinimumUnits(3, Consequence.REFUSE)), residual_share=MaximumResidualShare(0.9, Consequence.PROTECT)
)
NOWHERE = np.zeros(40, dtype=np.int64)
X = np.random.default_rng(3).normal(50, 9, 40).round(1)


def shares(*measures, coalition: int = 1, units=None) -> dict[str, float]:
    """By name, of measures of one group of people."""
    values = np.column_stack(measures)
    nowhere = np.zeros(len(values), dtype=np.int64)
    sample = Sample(values[:, 0], nowhere, np.arange(len(values)) if units is None else units, 1)
    apart = values - values.mean(axis=0)
    left = residuals_of("abc"[: len(measures)], (apart.T @ apart)[None], np.array([len(values)]))
    top = largest_held(sample, values, left, np.array([0]), coalition + 1)
    return {one.name: float(one.shares[0]) for one in shares_of(left, top, 1)}


def altered(*changes: tuple[int, float]):
    found = X.copy()
    for place, by in changes:
        found[place] += by
    return found


@pytest.mark.parametrize("by", [0.1, -7.0, 4000.0])
def test_a_difference_that_is_one_persons_is_all_hers(by) -> None:
    assert shares(X, altered((7, by))) == pytest.approx({"a by b": 1.0, "b by a": 1.0}, rel=1e-6)


def test_it_is_hers_however_far_out_she_lies() -> None:
    """Her residual is small there: the line goes through her."""
    far = altered((7, 300.0))
    also = far.copy()
    also[7] += 5.0
    apart = far - far.mean()
    leverage = 1 / 40 + apart[7] ** 2 / np.sum(apart**2)
    assert leverage > 0.9
    assert shares(far, also)["b by a"] == pytest.approx(1.0, rel=1e-6)


def test_of_two_who_differ_each_knows_her_own() -> None:
    assert shares(X, altered((7, 3.0), (9, -2.0)))["b by a"] == pytest.approx(1.0, abs=0.01)
    assert shares(X, altered((7, 3.0), (9, -2.0), (20, 3.0)))["b by a"] < 0.9
    three = shares(X, altered((7, 3.0), (9, -2.0), (20, 3.0)), coalition=2)
    assert three["b by a"] == pytest.approx(1.0, abs=0.02)


def test_a_measure_that_is_a_sum_of_two_others_but_for_one_person_is_told_by_both() -> None:
    other = np.random.default_rng(5).normal(20, 9, 40)
    total = X + other
    total[3] += 1.5
    found = shares(X, other, total)
    assert found["c by the others"] == pytest.approx(1.0, rel=1e-6)
    assert max(found["c by a"], found["c by b"]) < 0.6


def test_what_another_determines_for_everybody_is_unsafe_and_what_does_not_vary_is_none() -> None:
    assert shares(X, 2 * X + 1) == {"a by b": 1.0, "b by a": 1.0}
    assert shares(X, np.full(40, 3.0))["b by a"] == 0.0


@settings(deadline=None)
@given(arrays.arrays(np.float64, (12, 3), elements=st.floats(-100, 100).map(lambda value: round(value, 2))))
def test_what_a_person_holds_is_by_how_much_less_is_left_without_him(values) -> None:
    """Fitted again without each one in turn, by another way: numpy's least squares of the columns."""

    def left(rows, one: int, others: list[int]) -> float:
        columns = np.column_stack([np.ones(len(rows)), rows[:, others]])
        slopes = np.linalg.lstsq(columns, rows[:, one], rcond=None)[0]
        return float(np.sum((rows[:, one] - columns @ slopes) ** 2))

    asked = {"a by b": (0, [1]), "b by c": (1, [2]), "c by the others": (2, [0, 1])}
    found = shares(*values.T)
    for name, (one, others) in asked.items():
        columns = values[:, others] - values[:, others].mean(axis=0)
        if np.linalg.cond(columns) > 1e4 or np.ptp(values[:, one]) < 1e-3:
            continue
        whole, each = left(values, one, others), np.arange(12)
        if whole < 1e-6 * np.sum((values[:, one] - values[:, one].mean()) ** 2):
            continue
        apart = np.column_stack([np.ones(12), values[:, others]])
        if np.diag(apart @ np.linalg.pinv(apart)).max() > 1 - 1e-5:
            continue
        less = sorted((whole - left(values[each != place], one, others)) / whole for place in each)[::-1]
        rest = 1 - less[1]
        expected = min(less[0] / rest, 1.0) if rest > 0 else 1.0
        assert found[name] == pytest.approx(expected, abs=1e-4 / max(rest, 1e-3))


def test_records_of_one_person_are_taken_together() -> None:
    also = altered((7, 3.0), (8, -3.0), (9, 2.9))
    apart, units = shares(X, also), np.arange(40)
    units[[8, 9]] = 7
    assert apart["b by a"] < 0.9
    assert shares(X, also, units=units)["b by a"] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("statistic", [Statistic.CORRELATIONS, Statistic.PRINCIPAL_COMPONENTS])
def test_a_group_in_which_one_person_differs_is_unsafe_beside_others(statistic) -> None:
    other = np.append(X + np.random.default_rng(1).normal(0, 3, 40), altered((7, 3.0)))
    values, groups = np.append(X, X), np.repeat([0, 1], 40)
    columns = Columns(measures=(("a", values), ("b", other)))
    found = compute_statistic(statistic, Sample(values, groups, np.arange(80), 2), RULES, columns)
    (finding, same) = assess_statistic(statistic, found.facts, RULES).findings
    assert {finding.measure, same.measure} == {"a by b", "b by a"}
    assert {finding.rule, same.rule} == {ReasonCode.INFLUENCE}
    assert finding.cells == same.cells == (1,)


@pytest.mark.parametrize("statistic", [Statistic.T_TEST, Statistic.ANALYSIS_OF_VARIANCE])
def test_a_test_of_cells_in_which_one_person_differs_is_unsafe(statistic) -> None:
    """All others of a cell are alike, but for rounding."""
    has = np.arange(40) % 2 == 0
    values = np.where(has, 50.0, 70.0) + np.random.default_rng(1).normal(0, 0.01, 40)
    values[4] += 9.0
    columns = Columns(has=has, factors=(FactorColumn("f", has.astype(np.int64), 2),))
    found = compute_statistic(statistic, Sample(values, NOWHERE, np.arange(40), 1), RULES, columns)
    assert [one.measure for one in assess_statistic(statistic, found.facts, RULES).findings] == ["cells"]
    ordinary = np.where(has, 50.0, 70.0) + np.random.default_rng(1).normal(0, 5, 40)
    found = compute_statistic(statistic, Sample(ordinary, NOWHERE, np.arange(40), 1), RULES, columns)
    assert assess_statistic(statistic, found.facts, RULES).findings == ()


def test_a_rule_without_the_shares_is_unchecked() -> None:
    found = compute_statistic(
        Statistic.CORRELATIONS,
        Sample(X, NOWHERE, np.arange(40), 1),
        RULES,
        Columns(measures=(("a", X), ("b", X[::-1]))),
    )
    told = type(found.facts)(found.facts.table)
    assessed = assess_statistic(Statistic.CORRELATIONS, told, RULES)
    assert (assessed.unchecked, assessed.absent) == ((ReasonCode.INFLUENCE,), ("residual_shares",))


def test_the_coalition_is_that_of_p_percent() -> None:
    rules = StatisticRules(
        Rules(MinimumUnits(3, Consequence.REFUSE), p_percent=PPercent(1e-6, Consequence.REFUSE, coalition=2)),
        residual_share=MaximumResidualShare(0.9, Consequence.PROTECT),
    )
    also = altered((7, 3.0), (9, -2.0), (20, 3.0))
    columns = Columns(measures=(("a", X), ("b", also)))
    sample = Sample(X, NOWHERE, np.arange(40), 1)
    for judged, unsafe in ((RULES, False), (rules, True)):
        facts = compute_statistic(Statistic.CORRELATIONS, sample, judged, columns).facts
        found = assess_statistic(Statistic.CORRELATIONS, facts, judged).findings
        assert (ReasonCode.INFLUENCE in {one.rule for one in found}) == unsafe
