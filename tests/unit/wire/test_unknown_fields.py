"""What a newer sender asks and this version does not know is told, with its place, and never left out."""

from google.protobuf.message import Message

from sdcgate.wire import unknown_fields as module
from sdcgate.wire.unknown_fields import unknown_fields
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, table_pb2

NEWER = b"\xf8\x3e\x01"
"""Field 1007 with the number 1, as a newer version may write it."""


def newer(message: Message) -> Message:
    """The message with a field that nobody knows yet."""
    message.MergeFromString(NEWER)
    return message


def request(cells: int = 3) -> risk_pb2.AssessTableRequest:
    return risk_pb2.AssessTableRequest(
        dimensions=[table_pb2.Dimension(variable="a", codes=["1", "2"]), table_pb2.Dimension(variable="b")],
        facts=table_pb2.CellFacts(units=[2**40] * cells),
        rules=policy_pb2.Rules(
            minimum_units=policy_pb2.Rules.MinimumUnits(units=3, consequence=1),
            dominance=[policy_pb2.Dominance(largest=1), policy_pb2.Dominance(largest=2)],
        ),
    )


def places(message: Message) -> dict[str, str]:
    return {problem.path: problem.message for problem in unknown_fields(message)}


def test_a_request_of_this_version_has_none():
    assert unknown_fields(request()) == []
    assert unknown_fields(risk_pb2.AssessTableRequest()) == []


def test_they_are_found_in_the_request_in_its_rules_and_in_each_rule():
    asked = newer(request())
    newer(asked.rules)
    newer(asked.rules.dominance[1])
    newer(asked.dimensions[0])
    found = places(asked)
    assert set(found) == {"1007", "rules.1007", "rules.dominance[1].1007", "dimensions[0].1007"}
    for told in found.values():
        assert told.startswith("is a field that version ")
        assert told.endswith("upgrade the service, or send the request without it")


def test_they_are_among_what_is_wrong_with_an_envelope():
    asked = facility_pb2.QueryTableRequest(filter=[newer(facility_pb2.FilterRequest(variable="x"))])
    assert {problem.path for problem in violations(asked)} == {"dataset", "filter[0].1007", "filter[0].codes"}


def test_facts_may_have_them():
    asked = request()
    newer(asked.facts)
    problem = protection_pb2.ProtectTableRequest()
    newer(problem.problem.facts)
    assert unknown_fields(asked) == unknown_fields(problem) == []
    newer(problem.problem)
    assert set(places(problem)) == {"problem.1007"}


def test_of_many_fields_a_few_are_told():
    asked = request()
    for number in range(1000, 1030):
        asked.rules.MergeFromString(bytes([(number << 3 & 0x7F) | 0x80, number >> 4, 1]))
    assert list(places(asked)) == [*(f"rules.{number}" for number in range(1000, 1010)), "rules.*"]


def test_in_a_large_request_they_are_found_as_well():
    asked = request(300_000)
    assert asked.ByteSize() > module.LARGE_BYTES
    newer(asked.facts)
    assert unknown_fields(asked) == []
    newer(asked.rules.dominance[0])
    newer(asked)
    assert set(places(asked)) == {"1007", "rules.dominance[0].1007"}


def test_so_many_that_listing_them_would_take_the_memory_are_told_without_their_numbers(monkeypatch):
    listed = []
    monkeypatch.setattr(module, "UnknownFieldSet", lambda message: listed.append(type(message).__name__))
    asked = request()
    asked.rules.MergeFromString(NEWER * 400_000)
    assert set(places(asked)) == {"rules.*"}
    assert "AssessTableRequest" in listed
    assert "Rules" not in listed


def test_much_that_is_known_is_not_taken_for_unknown():
    asked = protection_pb2.ProtectTableRequest(unsafe=[2**30] * 300_000)
    assert unknown_fields(asked) == []
    newer(asked)
    assert set(places(asked)) == {"*"}
