from dataclasses import replace

import numpy as np
import pytest

from sdcgate.methods.cells import Facts
from sdcgate.methods.outputs.every_statistic import compute_statistic as compute
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment, assess_statistic
from sdcgate.methods.outputs.statistic_facts import (
    ExtremeFacts,
    ImpliedCells,
    PercentileFacts,
    Statistic,
    StatisticFacts,
)
from sdcgate.methods.outputs.statistic_rules import MaximumResidualShare, usual_rules
from sdcgate.methods.outputs.statistics import Columns, FactorColumn
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import (
    Consequence,
    Dominance,
    EqualValues,
    Finding,
    GroupDisclosure,
    MinimumUnits,
    PPercent,
    ReasonCode,
    Rules,
)
from sdcgate.wire.problems import InvalidMessageError
from sdcgate.wire.statistic_facts import (
    assessed_from_message,
    assessed_to_message,
    statistic_request,
    statistic_to_assess,
)
from sdcgate_proto.sdcgate.risk.v1 import statistics_pb2

RULES = usual_rules(
    Rules(
        minimum_units=MinimumUnits(10, Consequence.PROTECT),
        dominance=(Dominance(2, 0.8, Consequence.PROTECT),),
        p_percent=PPercent(0.1, Consequence.REFUSE),
        equal_values=EqualValues(0.0, Consequence.PROTECT),
        group_disclosure=GroupDisclosure(0.9, Consequence.REFER),
    )
)
VALUES = np.append(np.random.default_rng(1).lognormal(size=120), np.arange(1.0, 6.0))
SAMPLE = Sample(VALUES, np.repeat([0, 1, 3], [100, 20, 5]), np.arange(125), 4)
PLACE = np.arange(125)
COLUMNS = Columns(
    np.ones(125),
    PLACE % 2 == 0,
    PLACE % 3 == 0,
    (PLACE % 2).astype(np.int64),
    2,
    measures=(("a", VALUES), ("b", PLACE % 11.0)),
    factors=(FactorColumn("c", PLACE % 2, 2), FactorColumn("d", PLACE % 3, 3)),
)


@pytest.mark.parametrize("statistic", range(Statistic.MEAN, Statistic.BOX_PLOT + 1))
def test_what_is_judged_behind_a_message_is_what_is_judged_before_it(statistic):
    statistic = Statistic(statistic)
    computed = compute(statistic, SAMPLE, RULES, COLUMNS)
    own = assess_statistic(statistic, computed.facts, RULES, computed.errors)
    request = statistic_request(statistic, computed.facts, RULES, computed.errors)
    asked = statistic_to_assess(statistics_pb2.AssessStatisticRequest.FromString(request.SerializeToString()))
    said = assess_statistic(asked.statistic, asked.facts, asked.rules, asked.errors)
    answer = assessed_from_message(assessed_to_message(said), 4)

    assert own.findings
    assert answer.findings == own.findings
    assert answer.unchecked == ()


@pytest.mark.parametrize(
    "statistic", [Statistic.CORRELATIONS, Statistic.T_TEST, Statistic.ANALYSIS_OF_VARIANCE]
)
def test_squared_residuals_are_judged_alike_behind_a_message(statistic):
    rules = replace(RULES, residual_share=MaximumResidualShare(0.1, Consequence.REFER))
    computed = compute(statistic, SAMPLE, rules, COLUMNS)
    request = statistic_request(statistic, computed.facts, rules, computed.errors)
    asked = statistic_to_assess(statistics_pb2.AssessStatisticRequest.FromString(request.SerializeToString()))

    assert asked.rules == rules
    said = assess_statistic(asked.statistic, asked.facts, asked.rules, asked.errors)
    assert said.findings == assess_statistic(statistic, computed.facts, rules).findings
    found = [one for one in said.findings if one.rule is ReasonCode.INFLUENCE]
    assert {one.consequence for one in found} == {Consequence.REFER}


def test_rules_that_are_not_sent_follow_from_those_on_cells():
    request = statistic_request(
        Statistic.MODE, StatisticFacts(Facts(units=np.array([20]), records=np.array([20]))), RULES, False
    )
    for name in ("percentiles", "extremes", "modal_share", "implied"):
        request.rules.ClearField(name)
    assert statistic_to_assess(request).rules == RULES


def test_what_is_wrong_with_a_message_is_told_with_paths():
    request = statistics_pb2.AssessStatisticRequest(kind=1)
    with pytest.raises(InvalidMessageError) as caught:
        statistic_to_assess(request)
    assert {problem.path for problem in caught.value.problems} >= {"facts", "rules"}

    request = statistic_request(
        Statistic.MODE, StatisticFacts(Facts(units=np.array([20]), records=np.array([20]))), RULES, False
    )
    request.facts.implied.add(name="mode", cells=2, units=[1, 2, 3])
    with pytest.raises(InvalidMessageError) as caught:
        statistic_to_assess(request)
    assert [problem.path for problem in caught.value.problems] == ["facts.implied[0].units"]


def test_an_answer_about_a_group_that_is_not_there_makes_no_sense():
    found = StatisticAssessment((Finding(ReasonCode.MINIMUM_UNITS, Consequence.PROTECT, (7,)),))
    with pytest.raises(ValueError, match="group that is not there"):
        assessed_from_message(assessed_to_message(found), 4)


def mean_of(units, **measure):
    """What is found in the mean of a measure, of one group of so many units."""
    request = statistics_pb2.AssessStatisticRequest(kind=Statistic.MEAN)
    request.facts.groups.units.append(units)
    request.facts.groups.measures.add(measure="income", sums=[900], **measure)
    request.rules.cells.minimum_units.units = 10
    request.rules.cells.minimum_units.consequence = Consequence.PROTECT
    asked = statistic_to_assess(request)
    found = assess_statistic(asked.statistic, asked.facts, asked.rules, asked.errors)
    return [(one.rule, one.cells, one.measure) for one in found.findings]


FEW_HAVE_IT = [(ReasonCode.MINIMUM_UNITS, (0,), "income")]


@pytest.mark.parametrize(
    "of",
    [
        {"valid_units": [3], "valid_records": [3]},
        {"valid_records": [3]},
        {"valid_units": [117], "valid_records": [117], "lacking_units": [3]},
        {"valid_holdings": [3]},
    ],
    ids=["units", "records", "lacking", "holdings"],
)
def test_a_mean_is_of_those_who_have_the_measure_and_not_of_the_whole_group(of):
    assert mean_of(120, **of) == FEW_HAVE_IT


def test_a_mean_of_enough_who_have_the_measure_is_safe():
    assert mean_of(120) == []
    assert mean_of(120, valid_units=[60], valid_records=[60]) == []


def test_a_group_of_few_is_found_once_and_not_for_each_measure_again():
    assert mean_of(3, valid_units=[3], valid_records=[3]) == [(ReasonCode.MINIMUM_UNITS, (0,), "")]


def test_more_units_than_the_group_has_are_a_contradiction():
    counts = np.array([14, 30])
    many, all_of_them = np.array([14, 31]), np.array([14, 30])
    facts = StatisticFacts(
        Facts(units=counts, records=3 * counts),
        percentiles=(PercentileFacts(0.5, many, many),),
        extremes=(ExtremeFacts("maximum", many),),
        implied=(ImpliedCells("mode", np.array([[14, 0], [31, 30]])),),
    )
    with pytest.raises(FactsError) as caught:
        assess_statistic(Statistic.MAXIMUM, facts, RULES)
    assert {problem.path: problem.cells.tolist() for problem in caught.value.problems} == {
        "facts.percentiles[0].window_units": [1],
        "facts.percentiles[0].side_units": [1],
        "facts.extremes[0].sharing_units": [1],
        "facts.implied[0].units": [1],
    }
    possible = replace(
        facts,
        percentiles=(PercentileFacts(0.5, all_of_them, all_of_them),),
        extremes=(ExtremeFacts("maximum", all_of_them),),
        implied=(ImpliedCells("mode", np.array([[14, 14], [30, 30]])),),
    )
    assert assess_statistic(Statistic.MAXIMUM, possible, RULES)
