import numpy as np
import pytest

from sdcgate.methods import rules as r
from sdcgate.methods.risk.individual import TableRisk
from sdcgate.methods.rules import Consequence, Finding, NegativeValues, ProtectionLevels, ReasonCode
from sdcgate.wire.dimensions import CellOrder
from sdcgate.wire.problems import InvalidMessageError
from sdcgate.wire.rules import (
    consequence,
    finding_to_message,
    findings_from_messages,
    risk_from_message,
    risk_to_message,
    rules_from_message,
    rules_to_message,
)
from sdcgate_proto.sdcgate.types.v1 import policy_pb2

ALL = r.Rules(
    minimum_units=r.MinimumUnits(10, Consequence.PROTECT),
    minimum_households=r.MinimumHouseholds(3.5, Consequence.REFER),
    minimum_base=r.MinimumBase(30, Consequence.REFUSE),
    dominance=(r.Dominance(1, 0.5, Consequence.PROTECT), r.Dominance(2, 0.8, Consequence.REFER)),
    p_percent=r.PPercent(0.1, Consequence.PROTECT, 3),
    group_disclosure=r.GroupDisclosure(0.9, Consequence.REFUSE),
    equal_values=r.EqualValues(0.0, Consequence.PROTECT),
    individual_risk=r.IndividualRisk(0.001, True, Consequence.REFUSE),
    prior_posterior=r.PriorPosterior(0.1, 0.5, Consequence.REFER, 2),
    linear_sensitivity=(
        r.LinearSensitivity((0.5, 0.0), -1.0, Consequence.PROTECT),
        r.LinearSensitivity((0.2,), -0.1, Consequence.REFUSE),
    ),
    contributions=r.Contributions(r.NegativeValues.SHIFTED),
)


@pytest.mark.parametrize(
    "rules", [ALL, r.Rules(), r.Rules(equal_values=r.EqualValues(0.0, Consequence.REFER))]
)
def test_rules_come_back_as_they_went(rules):
    assert rules_from_message(rules_to_message(rules)) == rules


def test_every_rule_of_the_contract_is_read_and_written():
    assert {field.name for field, _ in rules_to_message(ALL).ListFields()} == {
        field.name for field in policy_pb2.Rules.DESCRIPTOR.fields
    }


def test_a_coalition_of_one_and_absolute_contributions_are_not_written():
    usual = r.Rules(
        p_percent=r.PPercent(0.1, Consequence.PROTECT),
        contributions=r.Contributions(r.NegativeValues.ABSOLUTE),
    )
    assert not rules_to_message(usual).p_percent.coalition
    assert not rules_to_message(usual).HasField("contributions")
    message = policy_pb2.Rules(contributions=policy_pb2.Rules.Contributions())
    assert rules_from_message(message).contributions == r.Contributions()


def test_sampling_is_about_weighted_totals():
    rules = r.Rules(contributions=r.Contributions(weighted=True, sampling_probability=0.1))
    assert rules_from_message(rules_to_message(rules)) == rules
    message = policy_pb2.Rules(contributions=policy_pb2.Rules.Contributions(sampling_probability=0.1))
    with pytest.raises(InvalidMessageError, match="sampling_probability: is about weighted totals"):
        rules_from_message(message)


def test_all_rules_that_no_table_can_be_judged_by_are_told_at_once():
    message = rules_to_message(ALL)
    message.prior_posterior.p = 0.6
    message.linear_sensitivity[1].weights.append(0.3)
    message.contributions.weighted = True
    with pytest.raises(InvalidMessageError) as caught:
        rules_from_message(message)
    assert [problem.path for problem in caught.value.problems] == [
        "rules.prior_posterior.p",
        "rules.linear_sensitivity[1].weights",
        "rules.contributions.negative",
    ]


@pytest.mark.parametrize("number", [0, 4, 99])
def test_a_consequence_that_is_not_known_is_refuse(number):
    assert consequence(number) is Consequence.REFUSE


def test_the_numbers_of_the_enums_are_those_of_the_wire():
    prefixes = {Consequence: "CONSEQUENCE_", ReasonCode: "REASON_CODE_", NegativeValues: "NEGATIVE_VALUES_"}
    for mine, prefix in prefixes.items():
        wire = getattr(policy_pb2, mine.__name__)
        assert {f"{prefix}{member.name}": member.value for member in mine} == dict(wire.items())


def test_findings_come_back_and_one_that_names_no_rule_judges_nothing():
    finding = Finding(ReasonCode.DOMINANCE, Consequence.PROTECT, (1, 5), "income", 0.7, 0.5)
    assert findings_from_messages([finding_to_message(finding)]) == (finding,)
    for number in (0, 99):
        with pytest.raises(ValueError, match=r"unspecified|valid"):
            findings_from_messages([policy_pb2.Finding(rule=number)])


def test_levels_come_back_in_the_order_in_which_the_sender_has_the_cells():
    levels = ProtectionLevels(upper=(1.0, 5.0), lower=(0.5, 2.0))
    finding = Finding(ReasonCode.P_PERCENT, Consequence.PROTECT, (1, 5), "income", levels=levels)
    message = finding_to_message(finding)
    assert findings_from_messages([message]) == (finding,)
    # Our cell 1 is the sender's sixth, our cell 5 his second.
    told = finding_to_message(finding, CellOrder(np.array([0, 5, 2, 3, 4, 1])))
    assert (list(told.cells), list(told.levels.upper), list(told.levels.lower)) == (
        [1, 5],
        [5.0, 1.0],
        [2.0, 0.5],
    )
    message.levels.upper.append(3.0)
    with pytest.raises(ValueError, match="not one for each of its cells"):
        findings_from_messages([message])


def test_the_risk_of_a_table_comes_back():
    risk = TableRisk(100, 20, 3, 0.5, 1.5, 0.015, 0.4)
    assert risk_from_message(risk_to_message(risk)) == risk
    assert {field.name for field, _ in risk_to_message(risk).ListFields()} == {
        field.name for field in policy_pb2.TableRisk.DESCRIPTOR.fields
    }
