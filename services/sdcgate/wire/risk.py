"""Requests and answers of the risk service between messages and arrays."""

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from sdcgate.methods.cells import Axis, Facts, number_of_cells
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.assessment import Assessment, Key
from sdcgate.wire.problems import FieldProblem, InvalidMessageError
from sdcgate.wire.rules import (
    finding_to_message,
    findings_from_messages,
    reason_code,
    risk_from_message,
    risk_to_message,
    rules_from_message,
    rules_to_message,
)
from sdcgate.wire.tables import (
    axes_from_messages,
    axes_to_messages,
    facts_from_message,
    facts_to_message,
    floats,
    integers,
)
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2


@dataclass(frozen=True, slots=True, eq=False)
class TableToAssess:
    """What the risk service is asked: the arguments of `assess_table`."""

    axes: tuple[Axis, ...]
    facts: Facts = field(repr=False)
    rules: Rules
    base_units: int
    key: Key | None = field(repr=False)


def assessment_request(
    axes: tuple[Axis, ...], facts: Facts, rules: Rules, base_units: int, key: Key | None
) -> risk_pb2.AssessTableRequest:
    """Write a request."""
    return risk_pb2.AssessTableRequest(
        dimensions=axes_to_messages(axes),
        facts=facts_to_message(facts),
        rules=rules_to_message(rules),
        key=_key_to_message(key) if key is not None else None,
        base_units=base_units,
    )


def table_to_assess(message: risk_pb2.AssessTableRequest) -> TableToAssess:
    """Read a request. Raises InvalidMessageError with all that is wrong with its columns."""
    axes = axes_from_messages(message.dimensions)
    problems: list[FieldProblem] = []
    facts, key = None, None
    try:
        facts = facts_from_message(message.facts, number_of_cells(axes))
    except InvalidMessageError as error:
        problems.extend(error.problems)
    try:
        key = _key_from_message(message.key) if message.HasField("key") else None
    except InvalidMessageError as error:
        problems.extend(error.problems)
    if problems or facts is None:
        raise InvalidMessageError(problems)
    return TableToAssess(axes, facts, rules_from_message(message.rules), message.base_units, key)


def assessment_to_message(assessment: Assessment) -> risk_pb2.AssessTableResponse:
    """Write an answer."""
    return risk_pb2.AssessTableResponse(
        findings=[finding_to_message(finding) for finding in assessment.findings],
        risk=risk_to_message(assessment.risk) if assessment.risk is not None else None,
        unchecked=[cast("policy_pb2.ReasonCode", int(rule)) for rule in assessment.unchecked],
    )


def assessment_from_message(message: risk_pb2.AssessTableResponse, count: int) -> Assessment:
    """Read an answer about `count` cells. Raises ValueError where it makes no sense."""
    findings = findings_from_messages(message.findings)
    if any(cell >= count for finding in findings for cell in finding.cells):
        raise ValueError("a finding names a position outside of the table")
    return Assessment(
        findings=findings,
        risk=risk_from_message(message.risk) if message.HasField("risk") else None,
        unchecked=tuple(reason_code(number) for number in message.unchecked),
    )


def _key_to_message(key: Key) -> risk_pb2.Key:
    return risk_pb2.Key(frequencies=key.frequencies.tolist(), weight_sums=key.weight_sums.tolist())


def _key_from_message(message: risk_pb2.Key) -> Key:
    frequencies, weights = integers(message.frequencies), floats(message.weight_sums)
    problems: list[FieldProblem] = []
    if frequencies.size != weights.size:
        text = f"must have as many values as frequencies, {frequencies.size}, not {weights.size}"
        problems.append(FieldProblem("key.weight_sums", text))
    if frequencies.size and frequencies.min() < 0:
        problems.append(FieldProblem("key.frequencies", "must not be negative"))
    if not np.isfinite(weights).all() or np.any(weights < 0):
        problems.append(FieldProblem("key.weight_sums", "must be finite numbers, not negative"))
    if problems:
        raise InvalidMessageError(problems)
    return Key(frequencies, weights)
