"""Survival curves of groups: no step of few, whatever the times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.cells import Facts
from sdcgate.methods.outputs.every_statistic import compute_statistic
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_assessment import assess_statistic
from sdcgate.methods.outputs.statistic_facts import (
    ClosestBound,
    ImpliedCells,
    Statistic,
    StatisticFacts,
)
from sdcgate.methods.outputs.statistic_rules import usual_rules
from sdcgate.methods.outputs.statistics import Columns, Computed
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import Consequence, MinimumUnits, PPercent, ReasonCode, Rules

FEWEST = 5
RULES = usual_rules(
    Rules(minimum_units=MinimumUnits(FEWEST, Consequence.REFUSE), p_percent=PPercent(0.1, Consequence.REFUSE))
)


def survival(times, events, units=None) -> Computed:
    times = np.asarray(times, dtype=np.float64)
    units = np.arange(len(times)) if units is None else np.asarray(units)
    sample = Sample(times, np.zeros(len(times), dtype=np.int64), units, 1)
    return compute_statistic(Statistic.KAPLAN_MEIER, sample, RULES, Columns(has=np.asarray(events)))


def curves(computed: Computed) -> dict[str, tuple[list[float], list[float]]]:
    return {curve.name: (curve.x.tolist(), curve.y.tolist()) for curve in computed.curves}


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.integers(0, 60)), min_size=1, max_size=150))
def test_every_step_rests_on_enough_units(records) -> None:
    times, events, units = (np.array(column) for column in zip(*records, strict=True))
    computed = survival(times, events.astype(bool), units)
    steps, left, after = (table.units[0] for table in computed.facts.implied)
    for counted in (steps, left, after):
        assert np.all((counted == 0) | (counted >= FEWEST))
    if computed.curves:
        points, heights = curves(computed)["survival"]
        assert len(points) == np.count_nonzero(steps)
        assert np.all(np.diff(points) > 0)
        assert np.all(np.diff(heights, prepend=1.0) < 0)


def test_a_step_stands_at_the_mean_time_of_its_events() -> None:
    times = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 7.0, 7.0, 7.0, 7.0, 9.0, 9.0, 9.0, 9.0, 9.0]
    points, heights = curves(survival(times, np.arange(15) < 10))["survival"]
    assert points == [3.0, 7.0]
    assert heights == pytest.approx([10 / 15, 5 / 15])


def test_a_step_whose_mean_tells_its_latest_time_is_unsafe() -> None:
    """Four within a day and one after two years: their mean is a fifth of the two years."""
    computed = survival([0.1, 0.2, 0.3, 0.4, 730.0] + [800.0] * 6, np.arange(11) < 5)
    found = assess_statistic(computed.statistic, computed.facts, RULES)
    assert {finding.rule for finding in found.findings} == {ReasonCode.P_PERCENT}
    assert np.isnan(computed.figures[0].shown(found)).all()


def test_those_after_the_last_step_are_unsafe_where_one_of_them_has_most_of_their_times() -> None:
    """All times but theirs follow from the steps, so that theirs follow from the sum of all."""
    computed = survival([1.0] * 5 + [2.1, 2.2, 2.3, 2.4, 730.0] + [2.0] * 3 + [800.0] * 3, np.arange(16) < 10)
    assert curves(computed)["survival"][0] == [1.0]
    found = assess_statistic(computed.statistic, computed.facts, RULES)
    assert {finding.rule for finding in found.findings} == {ReasonCode.P_PERCENT}


def test_the_events_of_all_steps_and_after_the_last_are_runs_in_the_order_of_times() -> None:
    """Three leave after everybody else, so that no step can end once five have left."""
    times = np.concatenate([np.arange(1.0, 8.0), np.full(5, 7.5), np.arange(8.0, 15.0), np.full(3, 20.0)])
    computed = survival(times, ~np.isin(times, (7.5, 20.0)))
    (runs,) = computed.runs
    assert curves(computed)["survival"][0] == [3.0]
    assert (runs.group, runs.records.tolist()) == (0, [5, 9])
    assert (runs.lowest.tolist(), runs.highest.tolist()) == ([1.0, 6.0], [5.0, 14.0])


def test_a_curve_of_very_many_events_has_at_most_250_steps() -> None:
    computed = survival(np.arange(20_000.0), np.ones(20_000, dtype=bool))
    assert 240 <= len(computed.curves[0].x) <= 250


def test_one_with_many_records_is_one() -> None:
    """Four units with fifty records each: every time has ten events, and no step five units."""
    times = np.tile(np.arange(20.0), 10)
    assert survival(times, np.ones(200, dtype=bool), np.arange(200) % 4).curves == ()


def test_a_curve_of_ones_own_with_a_step_of_two_is_found_unsafe() -> None:
    facts = StatisticFacts(
        Facts(units=np.array([100]), records=np.array([100])),
        bounds=(ClosestBound("step", np.array([9.0])),),
        implied=(
            ImpliedCells("events", np.array([[12, 2, 20]])),
            ImpliedCells("left", np.array([[0, 0, 66]])),
        ),
    )
    found = assess_statistic(Statistic.KAPLAN_MEIER, facts, RULES)
    assert [(finding.rule, finding.measure) for finding in found.findings] == [
        (ReasonCode.IMPLIED_TABLE, "events")
    ]


def test_times_below_0_and_a_missing_rule_are_told() -> None:
    with pytest.raises(FactsError, match="must not be below 0"):
        survival([-1.0, 2.0], [True, False])
    sample = Sample(np.ones(2), np.zeros(2, dtype=np.int64), np.arange(2), 1)
    columns = Columns(has=np.array([True, False]))
    with pytest.raises(FactsError, match=r"rules\.implied"):
        compute_statistic(Statistic.NELSON_AALEN, sample, usual_rules(Rules()), columns)
