"""Facts of statistics, rules on them and what these find, between messages and dataclasses."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs import statistic_rules as r
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.methods.outputs.statistic_facts import (
    ClosestBound,
    ExtremeFacts,
    ImpliedCells,
    PercentileFacts,
    ResidualShare,
    Statistic,
    StatisticFacts,
)
from sdcgate.methods.positions import FactsError
from sdcgate.methods.tables.given_facts import with_stand_ins
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, Problems
from sdcgate.wire.rules import (
    consequence,
    finding_to_message,
    findings_from_messages,
    reason_code,
    rules_from_message,
    rules_to_message,
)
from sdcgate.wire.tables import facts_to_message, floats, given_facts_from_message, integers
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.risk.v1 import statistics_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, statistic_pb2

FARTHEST = 1e300
"""Stands for a bound that is none."""
_OF_GROUPS = ("facts.units", "facts.records", "facts.measures", "facts.holdings")


@dataclass(frozen=True, slots=True, eq=False)
class StatisticToAssess:
    """What the risk service is asked: the arguments of `assess_statistic`."""

    statistic: Statistic
    facts: StatisticFacts = field(repr=False)
    rules: r.StatisticRules
    errors: bool


def statistic_request(
    statistic: Statistic, facts: StatisticFacts, rules: r.StatisticRules, errors: bool
) -> pb.AssessStatisticRequest:
    """Write a request."""
    return pb.AssessStatisticRequest(
        kind=cast("statistic_pb2.StatisticKind", int(statistic)),
        facts=_facts_to_message(facts),
        rules=_rules_to_message(rules),
        standard_errors=errors,
    )


def statistic_to_assess(message: pb.AssessStatisticRequest) -> StatisticToAssess:
    """Read a request. Raises InvalidMessageError with all that is wrong with its envelope and columns."""
    problems = Problems(violations(message))
    facts = problems.of(_facts_from_message, message.facts)
    rules = problems.of(_rules_from_message, message.rules)
    problems.check()
    if facts is None or rules is None:
        raise RuntimeError("no facts or no rules, and no problem")
    return StatisticToAssess(Statistic(message.kind), facts, rules, message.standard_errors)


def unfit(error: FactsError) -> list[FieldProblem]:
    """What is wrong with facts, as their sender knows the paths."""
    found = []
    for problem in error.problems:
        inner = problem.path.startswith(_OF_GROUPS)
        path = problem.path.replace("facts.", "facts.groups.", 1) if inner else problem.path
        found.append(FieldProblem(path, str(problem).removeprefix(problem.path).strip()))
    return found


def assessed_to_message(found: StatisticAssessment) -> pb.AssessStatisticResponse:
    """Write an answer."""
    return pb.AssessStatisticResponse(
        findings=[finding_to_message(finding) for finding in found.findings],
        unchecked=[cast("policy_pb2.ReasonCode", int(rule)) for rule in found.unchecked],
        absent=found.absent,
    )


def assessed_from_message(message: pb.AssessStatisticResponse, groups: int) -> StatisticAssessment:
    """Read an answer about so many groups. Raises ValueError where it makes no sense."""
    findings = findings_from_messages(message.findings)
    if any(cell >= groups for finding in findings for cell in finding.cells):
        raise ValueError("a finding names a group that is not there")
    unchecked = tuple(reason_code(number) for number in message.unchecked)
    return StatisticAssessment(findings, unchecked, tuple(message.absent))


def _facts_to_message(facts: StatisticFacts) -> pb.StatisticFacts:
    message = pb.StatisticFacts(groups=facts_to_message(facts.table))
    for bound in facts.bounds:
        closeness = np.nan_to_num(bound.closeness, nan=0.0, posinf=FARTHEST)
        message.bounds.add(name=bound.name, closeness=closeness.tolist())
    for one in facts.percentiles:
        message.percentiles.add(
            point=one.point,
            window_units=one.window_units.tolist(),
            side_units=one.side_units.tolist(),
            window_households=_listed(one.window_households),
            side_households=_listed(one.side_households),
        )
    for extreme in facts.extremes:
        message.extremes.add(
            name=extreme.name,
            sharing_units=extreme.sharing_units.tolist(),
            sharing_households=_listed(extreme.sharing_households),
        )
    if facts.modal_shares is not None:
        message.modal_shares.extend(np.nan_to_num(facts.modal_shares, nan=1.0).tolist())
    for table in facts.implied:
        message.implied.add(
            name=table.name,
            cells=table.units.shape[1],
            units=table.units.reshape(-1).tolist(),
            households=_listed(table.households),
        )
    for left in facts.residual_shares:
        message.residual_shares.add(name=left.name, shares=np.nan_to_num(left.shares, nan=1.0).tolist())
    return message


def _facts_from_message(message: pb.StatisticFacts) -> StatisticFacts:
    groups = len(message.groups.units)
    if not groups:
        raise InvalidMessageError(
            [FieldProblem("facts.groups.units", "is empty; send the units of each group")]
        )
    problems = Problems()
    table = problems.of(given_facts_from_message, message.groups, groups, "facts.groups")
    problems.found += [
        FieldProblem(f"facts.implied[{place}].units", f"must have {implied.cells} values for each group")
        for place, implied in enumerate(message.implied)
        if len(implied.units) != groups * implied.cells
    ]
    problems.found += [
        FieldProblem(f"facts.implied[{place}].households", "must be as many as the units")
        for place, implied in enumerate(message.implied)
        if implied.households and len(implied.households) != len(implied.units)
    ]
    problems.check()
    if table is None:
        raise RuntimeError("no facts of groups, and no problem")
    return StatisticFacts(
        table=with_stand_ins(table),
        bounds=tuple(ClosestBound(bound.name, floats(bound.closeness)) for bound in message.bounds),
        percentiles=tuple(
            PercentileFacts(
                one.point,
                integers(one.window_units),
                integers(one.side_units),
                _given(one.window_households),
                _given(one.side_households),
            )
            for one in message.percentiles
        ),
        extremes=tuple(
            ExtremeFacts(one.name, integers(one.sharing_units), _given(one.sharing_households))
            for one in message.extremes
        ),
        modal_shares=floats(message.modal_shares) if message.modal_shares else None,
        implied=tuple(
            ImpliedCells(
                one.name,
                integers(one.units).reshape(groups, one.cells),
                floats(one.households).reshape(groups, one.cells) if one.households else None,
            )
            for one in message.implied
        ),
        residual_shares=tuple(ResidualShare(one.name, floats(one.shares)) for one in message.residual_shares),
    )


def _listed(values: FloatArray | None) -> list[float]:
    found: list[float] = [] if values is None else values.reshape(-1).tolist()
    return found


def _given(values: Sequence[float]) -> FloatArray | None:
    return floats(values) if values else None


def _rules_to_message(rules: r.StatisticRules) -> pb.StatisticRules:
    message = pb.StatisticRules(cells=rules_to_message(rules.table))
    if rules.percentiles is not None:
        message.percentiles.window, message.percentiles.side = (
            rules.percentiles.window,
            rules.percentiles.side,
        )
        message.percentiles.consequence = _wire(rules.percentiles)
    if rules.extremes is not None:
        message.extremes.units, message.extremes.consequence = rules.extremes.units, _wire(rules.extremes)
    if rules.modal_share is not None:
        message.modal_share.share = rules.modal_share.share
        message.modal_share.consequence = _wire(rules.modal_share)
    if rules.implied is not None:
        message.implied.units, message.implied.consequence = rules.implied.units, _wire(rules.implied)
    if rules.residual_share is not None:
        message.residual_share.share = rules.residual_share.share
        message.residual_share.consequence = _wire(rules.residual_share)
    return message


def _rules_from_message(message: pb.StatisticRules) -> r.StatisticRules:
    usual = r.usual_rules(rules_from_message(message.cells, "rules.cells"))
    given: dict[str, Any] = {}
    if message.HasField("percentiles"):
        rule = message.percentiles
        given["percentiles"] = r.PercentileUnits(rule.window, rule.side, consequence(rule.consequence))
    if message.HasField("extremes"):
        given["extremes"] = r.ExtremeValue(message.extremes.units, consequence(message.extremes.consequence))
    if message.HasField("modal_share"):
        share = message.modal_share
        given["modal_share"] = r.ModalShare(share.share, consequence(share.consequence))
    if message.HasField("implied"):
        given["implied"] = r.ImpliedTable(message.implied.units, consequence(message.implied.consequence))
    if message.HasField("residual_share"):
        left = message.residual_share
        given["residual_share"] = r.MaximumResidualShare(left.share, consequence(left.consequence))
    return replace(usual, **given)


def _wire(rule: Any) -> policy_pb2.Consequence:
    return cast("policy_pb2.Consequence", int(rule.consequence))
