import pytest

from sdcgate.methods import rules as r
from sdcgate.methods.risk.individual import TableRisk
from sdcgate.methods.rules import Consequence, Finding, ReasonCode
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
    p_percent=r.PPercent(0.1, Consequence.PROTECT),
    group_disclosure=r.GroupDisclosure(0.9, Consequence.REFUSE),
    equal_values=r.EqualValues(0.0, Consequence.PROTECT),
    individual_risk=r.IndividualRisk(0.001, True, Consequence.REFUSE),
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


@pytest.mark.parametrize("number", [0, 4, 99])
def test_a_consequence_that_is_not_known_is_refuse(number):
    assert consequence(number) is Consequence.REFUSE


def test_the_numbers_of_the_enums_are_those_of_the_wire():
    for mine, wire in ((Consequence, policy_pb2.Consequence), (ReasonCode, policy_pb2.ReasonCode)):
        prefix = {"Consequence": "CONSEQUENCE_", "ReasonCode": "REASON_CODE_"}[mine.__name__]
        assert {f"{prefix}{member.name}": member.value for member in mine} == dict(wire.items())


def test_findings_come_back_and_one_that_names_no_rule_judges_nothing():
    finding = Finding(ReasonCode.DOMINANCE, Consequence.PROTECT, (1, 5), "income", 0.7, 0.5)
    assert findings_from_messages([finding_to_message(finding)]) == (finding,)
    for number in (0, 99):
        with pytest.raises(ValueError, match=r"unspecified|valid"):
            findings_from_messages([policy_pb2.Finding(rule=number)])


def test_the_risk_of_a_table_comes_back():
    risk = TableRisk(100, 20, 3, 0.5, 1.5, 0.015, 0.4)
    assert risk_from_message(risk_to_message(risk)) == risk
    assert {field.name for field, _ in risk_to_message(risk).ListFields()} == {
        field.name for field in policy_pb2.TableRisk.DESCRIPTOR.fields
    }
