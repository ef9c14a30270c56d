"""A client of the version after this one: what this one does not know is refused, and never left out."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2, json_format
from google.protobuf.message import Message

from one_service import served
from previous_contract import Contract
from sdcgate.servers import errors, protection, risk
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2_grpc
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2_grpc

NUMBER = 900
RISK, PROTECTION = "/sdcgate.risk.v1.RiskService", "/sdcgate.protection.v1.ProtectionService"
AXES = [{"variable": "region", "codes": ["north", "south"], "parents": [-1, -1]}]
FACTS = {"units": [2, 5], "records": [2, 5]}
MINIMUM = {"minimum_units": {"units": 3, "consequence": "CONSEQUENCE_PROTECT"}}
NEW_RULE = {**MINIMUM, "minimum_employers": 3}
"""A rule that this version never heard of, beside one that it knows."""
TABLE = {"dimensions": AXES, "facts": FACTS}
PROBLEM = {**TABLE, "count_width": 1, "records_per_unit": 1, "units_additive": True}


def newer_files() -> descriptor_pb2.FileDescriptorSet:
    """The present contract, and in some messages a number more."""
    found = descriptor_pb2.FileDescriptorSet.FromString(
        (files("sdcgate_proto") / "descriptors.bin").read_bytes()
    )
    added = {
        "Rules": "minimum_employers",
        "ModelRules": "minimum_employers",
        "StatisticRules": "minimum_employers",
        "AssessTableRequest": "strictness",
        "ProtectTableRequest": "strictness",
        "CellFacts": "employers",
    }
    for file in found.file:
        for message in file.message_type:
            if message.name in added:
                message.field.add(
                    name=added[message.name],
                    json_name=added[message.name],
                    number=NUMBER,
                    type=descriptor_pb2.FieldDescriptorProto.TYPE_UINT32,
                    label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
                )
    return found


NEWER = Contract(newer_files())
CALLS = {
    "a table's rule": (f"{RISK}/AssessTable", {**TABLE, "rules": NEW_RULE}, f"rules.{NUMBER}"),
    "a field of a table": (f"{RISK}/AssessTable", {**TABLE, "rules": MINIMUM, "strictness": 2}, str(NUMBER)),
    "a model's rule": (
        f"{RISK}/AssessModel",
        {"facts": {}, "rules": {"minimum_employers": 3}},
        f"rules.{NUMBER}",
    ),
    "a statistic's rule": (
        f"{RISK}/AssessStatistic",
        {"kind": "STATISTIC_KIND_MEAN", "facts": {}, "rules": {"minimum_employers": 3}},
        f"rules.{NUMBER}",
    ),
    "a rule of a statistic's cells": (
        f"{RISK}/AssessStatistic",
        {"kind": "STATISTIC_KIND_MEAN", "facts": {}, "rules": {"cells": NEW_RULE}},
        f"rules.cells.{NUMBER}",
    ),
    "a redesign's rule": (
        f"{PROTECTION}/RedesignTable",
        {**TABLE, "rules": NEW_RULE, "time_limit_ms": 1000},
        f"rules.{NUMBER}",
    ),
    "a wish of a protected table": (
        f"{PROTECTION}/ProtectTable",
        {"problem": PROBLEM, "unsafe": [0], "time_limit_ms": 1000, "strictness": 2},
        str(NUMBER),
    ),
}


@pytest.fixture(scope="module")
def channels() -> Iterator[dict[str, grpc.Channel]]:
    """Channels to both services, as the house's own services have them."""

    def with_risk(server: grpc.Server) -> None:
        risk_pb2_grpc.add_RiskServiceServicer_to_server(risk.RiskServicer(), server)

    def with_protection(server: grpc.Server) -> None:
        protection_pb2_grpc.add_ProtectionServiceServicer_to_server(protection.ProtectionServicer(), server)

    with (
        served("risk", with_risk, risk.SERVICE, lambda channel: channel, risk.warm_up) as one,
        served(
            "protection", with_protection, protection.SERVICE, lambda channel: channel, protection.warm_up
        ) as other,
    ):
        yield {RISK: one, PROTECTION: other}


def asked(channels: dict[str, grpc.Channel], method: str, body: dict[str, Any]) -> Message:
    """What a client of the newer contract gets."""
    kinds = NEWER.call(method)
    assert kinds is not None
    return NEWER.ask(channels[method.rpartition("/")[0]], method, json_format.ParseDict(body, kinds[0]()))


@pytest.mark.parametrize("what", CALLS)
def test_what_this_version_does_not_know_is_refused_with_its_number_and_place(channels, what):
    method, body, place = CALLS[what]
    with pytest.raises(grpc.RpcError) as caught:
        asked(channels, method, body)
    problem = errors.from_rpc_error(caught.value)
    assert isinstance(problem, errors.InvalidArgument)
    told = {field.path: field.message for field in problem.fields}
    assert "does not know and would leave out" in told[place]


def test_the_same_without_it_is_answered(channels):
    answer = asked(channels, f"{RISK}/AssessTable", {**TABLE, "rules": {**MINIMUM, "minimum_employers": 0}})
    assert [list(finding.cells) for finding in answer.findings] == [[0]]


def test_a_fact_that_no_rule_of_this_version_asks_for_changes_nothing(channels):
    with_more = {**TABLE, "facts": {**FACTS, "employers": 7}, "rules": MINIMUM}
    answer = asked(channels, f"{RISK}/AssessTable", with_more)
    assert [list(finding.cells) for finding in answer.findings] == [[0]]
