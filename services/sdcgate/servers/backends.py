"""The facility's callers of the stateless services: arrays out, arrays back, every failure an Unavailable.

What comes back is checked as anybody's input would be; what it says is believed no further than the facility
can check it (see facility.protection).
"""

from collections.abc import Callable
from typing import TypeVar

import grpc
import numpy as np

from sdcgate.facility.errors import Unavailable
from sdcgate.facility.ports import Pattern
from sdcgate.methods.cells import Axis, BoolArray, Facts
from sdcgate.methods.outputs.model_checks import ModelFinding
from sdcgate.methods.outputs.model_facts import ModelFacts
from sdcgate.methods.outputs.model_rules import ModelRules
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.methods.outputs.statistic_facts import Statistic, StatisticFacts
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.assessment import Assessment, Key
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.witnesses import Witnesses
from sdcgate.servers.time_left import in_time
from sdcgate.wire import model_facts, statistic_facts
from sdcgate.wire.problems import InvalidMessageError
from sdcgate.wire.protection import (
    problem_to_message,
    proof_from_message,
    witnesses_from_message,
    witnesses_to_message,
)
from sdcgate.wire.risk import assessment_from_message, assessment_request
from sdcgate.wire.tables import listed, mask
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2, protection_pb2_grpc
from sdcgate_proto.sdcgate.risk.v1 import models_pb2, risk_pb2_grpc

T = TypeVar("T")


class RemoteRisk:
    """The risk service behind a channel; see facility.ports.RiskService."""

    def __init__(self, channel: grpc.Channel, deadline_seconds: float) -> None:
        self._stub = risk_pb2_grpc.RiskServiceStub(channel)
        self._deadline = deadline_seconds

    def assess_table(
        self,
        axes: tuple[Axis, ...],
        facts: Facts,
        rules: Rules,
        base_units: int,
        key: Key | None,
        timeout: float,
    ) -> Assessment:
        """Findings, and the risk of the key."""
        request = assessment_request(axes, facts, rules, base_units, key)
        seconds = min(timeout, self._deadline)
        return _answer(
            "risk",
            lambda left: assessment_from_message(self._stub.AssessTable(request, timeout=left), len(facts)),
            seconds,
        )

    def assess_model(self, facts: ModelFacts, rules: ModelRules, timeout: float) -> tuple[ModelFinding, ...]:
        """Findings on a model."""
        request = models_pb2.AssessModelRequest(
            facts=model_facts.facts_to_message(facts), rules=model_facts.rules_to_message(rules)
        )
        seconds = min(timeout, self._deadline)
        columns = len(facts.columns.names)
        return _answer(
            "risk",
            lambda left: model_facts.findings_from_message(
                self._stub.AssessModel(request, timeout=left), columns
            ),
            seconds,
        )

    def assess_statistic(
        self,
        statistic: Statistic,
        facts: StatisticFacts,
        rules: StatisticRules,
        errors: bool,
        timeout: float,
    ) -> StatisticAssessment:
        """Findings on a statistic."""
        request = statistic_facts.statistic_request(statistic, facts, rules, errors)
        seconds = min(timeout, self._deadline)
        return _answer(
            "risk",
            lambda left: statistic_facts.assessed_from_message(
                self._stub.AssessStatistic(request, timeout=left), len(facts.table)
            ),
            seconds,
        )


class RemoteProtection:
    """The protection service behind a channel; see facility.ports.ProtectionService."""

    def __init__(self, channel: grpc.Channel, deadline_seconds: float) -> None:
        self._stub = protection_pb2_grpc.ProtectionServiceStub(channel)
        self._deadline = deadline_seconds

    def protect_table(
        self,
        problem: Problem,
        unsafe: BoolArray,
        time_limit: float,
        timeout: float,
        known: Witnesses | None = None,
        effort: int = 0,
    ) -> Pattern:
        """A pattern with its witnesses."""
        request = protection_pb2.ProtectTableRequest(
            problem=problem_to_message(problem),
            unsafe=listed(unsafe),
            time_limit_ms=max(1, int(time_limit * 1000)),
            known_witnesses=None if known is None else witnesses_to_message(known),
            effort_ms=effort,
        )
        seconds = min(timeout, self._deadline)
        return _answer(
            "protection",
            lambda left: _pattern(self._stub.ProtectTable(request, timeout=left), problem),
            seconds,
        )


def _pattern(response: protection_pb2.ProtectTableResponse, problem: Problem) -> Pattern:
    cells = len(problem.facts)
    withheld = mask(response.withheld, cells, "withheld")
    witnesses = witnesses_from_message(response.witnesses, len(problem.facts.measures))
    proof = proof_from_message(response.proof)
    return Pattern(np.asarray(withheld), proof, witnesses, not response.out_of_time)


def _answer(service: str, call: Callable[[float], T], seconds: float) -> T:
    """The answer of a service within so many seconds; whatever goes wrong is no verdict.

    Raises:
        Unavailable: it did not answer in time, not at all, or not sensibly.
    """
    try:
        return in_time(call, seconds)
    except grpc.RpcError as error:
        raise Unavailable(f"The {service} service did not answer; nothing was decided. Try again.") from error
    except (InvalidMessageError, ValueError) as error:
        raise Unavailable(f"The {service} service gave an answer that makes no sense.") from error
