"""What may come of a gRPC call: an answer or a clear refusal, in time, whatever was sent."""

import time
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message
from grpc_status import rpc_status
from hypothesis import strategies as st

from fuzz.messages import damaged, message_class, messages, mutated
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2

SECONDS = 10.0
"""Deadline of each call: whatever comes in, an answer comes within it."""
SERVICES = {
    "facility": facility_pb2.DESCRIPTOR.services_by_name["FacilityService"],
    "risk": risk_pb2.DESCRIPTOR.services_by_name["RiskService"],
    "protection": protection_pb2.DESCRIPTOR.services_by_name["ProtectionService"],
}
CALLS = [(service, method) for service, found in SERVICES.items() for method in found.methods]
EXPECTED = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.FAILED_PRECONDITION,
    }
)
"""What a caller with a key may be told; not that a service is missing or slow, as none is."""


def path(method: Any) -> str:
    """Where a method is called."""
    return f"/{method.containing_service.full_name}/{method.name}"


def outcome(method: Any, content: bytes, call: Callable[[bytes], bytes], faults: Callable[[], Any]) -> str:
    """Make a call, and see to it that what comes back is an answer or a clear refusal, in time."""
    began = time.perf_counter()
    try:
        answer = call(content)
    except grpc.RpcError as error:
        refusal = error
    else:
        assert time.perf_counter() - began < SECONDS, shown(method, content)
        message_class(method.output_type).FromString(answer)
        return "OK"
    told = f"{refusal.code()}: {refusal.details()}\n{faults()}\n{shown(method, content)}"
    assert refusal.code() in EXPECTED, told
    status = rpc_status.from_call(refusal)
    assert status is not None, told
    assert status.message, told
    return str(refusal.code().name)


def shown(method: Any, content: bytes) -> str:
    """An input for people, and for a test that keeps it."""
    try:
        text = text_format.MessageToString(message_class(method.input_type).FromString(content))
    except DecodeError:
        text = ""
    return f"{text[:5000]}\n{content.hex()[:5000]}"


def inputs(method: Any, good: list[Message]) -> st.SearchStrategy[bytes]:
    """Good requests with one or two changes most of all; then damaged ones; then anything."""
    good = good or [message_class(method.input_type)()]
    changed = st.one_of([mutated(request, 2) for request in good]).map(_bytes)
    broken = st.one_of([damaged(request) for request in good])
    anything = messages(method.input_type).map(_bytes)
    return st.one_of(changed, changed, changed, broken, anything)


def _bytes(message: Message) -> bytes:
    return message.SerializeToString()
