"""Requests as they are read and checked before anything is done, and what is judged, in one process."""

import json
import random
from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError, Message

from fuzz import good_requests
from fuzz.calls import CALLS
from fuzz.campaign import Campaign
from fuzz.messages import any_message, changed_message, damage, message_class
from fuzz.test_files import told
from fuzz.trees import change_tree
from made_files import PEOPLE
from sdcgate.engine.descriptor import DescriptorInvalid, parse_descriptor
from sdcgate.servers.authentication import ServiceCaller, set_caller
from sdcgate.servers.errors import InvalidArgument
from sdcgate.servers.openapi_examples import BODIES
from sdcgate.servers.risk import RiskServicer
from sdcgate.wire.json import from_json, from_value, to_json
from sdcgate.wire.problems import InvalidMessageError
from sdcgate.wire.validation import texts_with_nul, violations
from sdcgate_proto.sdcgate.risk.v1 import models_pb2, risk_pb2, statistics_pb2

BODY_OF: dict[str, dict[str, Any]] = {
    "QueryTable": good_requests.TABLE,
    "QueryModel": good_requests.MODEL,
    "QueryStatistic": good_requests.SURVIVAL,
    "SubmitOutput": good_requests.OUTPUT,
    "RegisterDataset": {"descriptor": PEOPLE},
    "AssessTable": good_requests.ASSESSED,
    "ProtectTable": {"problem": good_requests.PROBLEM, "unsafe": [0]},
    "EstimateIndividualRisk": good_requests.ESTIMATED,
    "AssessModel": BODIES["AssessModel"],
    "AssessStatistic": BODIES["AssessStatistic"],
}
"""Bodies that are answered."""
REQUESTS = {method.name: method.input_type for _, method in CALLS}


def good_messages() -> dict[str, Message]:
    """Requests that are answered, by the names of their calls."""
    return {name: from_value(body, message_class(REQUESTS[name])) for name, body in BODY_OF.items()}


def checked(message: Message) -> str:
    """What becomes of a request before anything is done."""
    problems = violations(message) or texts_with_nul(message)
    assert all(problem.path and problem.message for problem in problems)
    return "refused" if problems else "taken"


def test_json_bodies_changed_anywhere(campaign: Campaign) -> None:
    bodies = {name: json.dumps(body).encode() for name, body in BODY_OF.items()}

    def check(chance: random.Random) -> str:
        name = chance.choice(list(bodies))
        content = bodies[name]
        if chance.random() < 0.25:
            content = damage(content, chance)
        else:
            tree = json.loads(content)
            for _ in range(chance.choice((1, 1, 2, 4))):
                change_tree(tree, chance)
            content = json.dumps(tree).encode()
        try:
            message = from_json(content, message_class(REQUESTS[name]))
        except InvalidMessageError as wrong:
            return told(wrong.problems)
        # What was read is written and read again as the same.
        assert from_json(to_json(message), type(message)) == message or checked(message) == "refused"
        return checked(message)

    campaign.seeded(check, examples=200)


def test_bytes_of_requests_of_any_call(campaign: Campaign) -> None:
    good = good_messages()

    def check(chance: random.Random) -> str:
        _, method = chance.choice(CALLS)
        kind = message_class(method.input_type)
        whole = good.get(method.name) or any_message(method.input_type, chance)
        content = whole.SerializeToString()
        content = damage(content, chance) if chance.random() < 0.5 else content
        try:
            message = kind.FromString(content)
        except DecodeError:
            return "no message"
        return checked(changed_message(message, chance, 2))

    campaign.seeded(check, examples=200)


def test_tables_models_and_statistics_that_are_judged(campaign: Campaign) -> None:
    servicer = RiskServicer()
    good = good_messages()
    calls: dict[str, tuple[type[Message], Callable[..., Message]]] = {
        "AssessTable": (risk_pb2.AssessTableResponse, servicer.AssessTable),
        "AssessModel": (models_pb2.AssessModelResponse, servicer.AssessModel),
        "AssessStatistic": (statistics_pb2.AssessStatisticResponse, servicer.AssessStatistic),
    }
    set_caller(ServiceCaller())

    def check(chance: random.Random) -> str:
        name = chance.choice(["AssessTable", "AssessTable", *calls])
        kind, call = calls[name]
        request = changed_message(good[name], chance, 3)
        if violations(request):
            return "refused"
        try:
            answer = call(request, None)
        except InvalidMessageError as wrong:
            return told(wrong.problems)
        except InvalidArgument as wrong:
            return told(wrong.fields)
        assert isinstance(answer, kind)
        return "judged"

    campaign.seeded(check, examples=200)


def test_descriptors_that_are_only_read(campaign: Campaign) -> None:
    content = json.dumps({**PEOPLE, "source": "people"})

    def check(chance: random.Random) -> str:
        declared = json.loads(content)
        for _ in range(chance.choice((1, 1, 2, 4))):
            change_tree(declared, chance)
        try:
            parse_descriptor(declared)
        except DescriptorInvalid as invalid:
            return told(invalid.problems)
        return "read"

    campaign.seeded(check, examples=200)
