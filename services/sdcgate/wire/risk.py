"""Requests and answers of the risk service between messages and arrays."""

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from sdcgate.methods.cells import Axis, Facts, number_of_cells
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.assessment import Assessment, Key
from sdcgate.methods.tables.fact_checks import fact_problems
from sdcgate.methods.tables.given_facts import with_stand_ins
from sdcgate.wire.dimensions import MAXIMUM_CELLS, CellOrder, axes_from_messages, axes_to_messages
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, Problems
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
    IN_ORDER,
    facts_problems,
    facts_to_message,
    floats,
    given_facts_from_message,
    integers,
)
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2


@dataclass(frozen=True, slots=True, eq=False)
class TableToAssess:
    """What the risk service is asked: the arguments of `assess_table`."""

    axes: tuple[Axis, ...]
    facts: Facts = field(repr=False)
    rules: Rules
    base_units: int | None
    key: Key | None = field(repr=False)
    order: CellOrder = field(default=IN_ORDER, repr=False)
    """Where the sender's cells lie."""


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


def table_to_assess(message: risk_pb2.AssessTableRequest, most_cells: int = MAXIMUM_CELLS) -> TableToAssess:
    """Read a request. Raises InvalidMessageError with all that is wrong with its envelope and columns."""
    problems = Problems(violations(message))
    read = problems.of(axes_from_messages, message.dimensions, "dimensions", most_cells)
    axes, order = read or ((), IN_ORDER)
    facts = read and problems.of(
        given_facts_from_message, message.facts, number_of_cells(axes), "facts", order
    )
    rules = problems.of(rules_from_message, message.rules)
    key = problems.of(_key_from_message, message.key) if message.HasField("key") else None
    if problems.found and facts is not None:
        # Otherwise they are looked at when they are judged.
        unsound = FactsError(fact_problems(facts, number_of_cells(axes)))
        problems.found.extend(facts_problems(unsound, message.facts, order))
    problems.check()
    if facts is None or rules is None:
        raise RuntimeError("no facts or no rules, and no problem")
    base_units = message.base_units if message.HasField("base_units") else None
    return TableToAssess(axes, with_stand_ins(facts), rules, base_units, key, order)


def assessment_to_message(
    assessment: Assessment, order: CellOrder = IN_ORDER
) -> risk_pb2.AssessTableResponse:
    """Write an answer, with positions as its reader has them."""
    return risk_pb2.AssessTableResponse(
        findings=[finding_to_message(finding, order) for finding in assessment.findings],
        risk=risk_to_message(assessment.risk) if assessment.risk is not None else None,
        unchecked=[cast("policy_pb2.ReasonCode", int(rule)) for rule in assessment.unchecked],
        absent=assessment.absent,
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
        absent=tuple(message.absent),
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
