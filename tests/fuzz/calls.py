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

SECONDS = 30.0
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


Good = Message | tuple[Message, ...]
"""A request that is answered: a message, or those of a stream."""


def path(method: Any) -> str:
    """Where a method is called."""
    return f"/{method.containing_service.full_name}/{method.name}"


Sent = tuple[bytes, ...]
"""The messages of a call: one, or those of a stream."""


def made_call(channel: grpc.Channel, method: Any, content: Sent, token: str) -> bytes:
    """Call with bytes of any kind; the bytes that come back. Raises grpc.RpcError."""
    metadata = (("authorization", f"Bearer {token}"),)
    answer: bytes
    if method.server_streaming:
        # Messages one after the other are the bytes of all of them merged.
        called = channel.stream_stream(path(method))
        answer = b"".join(called(iter(content), timeout=SECONDS, metadata=metadata))
    elif method.client_streaming:
        answer = channel.stream_unary(path(method))(iter(content), timeout=SECONDS, metadata=metadata)
    else:
        answer = channel.unary_unary(path(method))(content[0], timeout=SECONDS, metadata=metadata)
    return answer


def outcome(method: Any, content: Sent, call: Callable[[Sent], bytes], faults: Callable[[], Any]) -> str:
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


def shown(method: Any, content: Sent) -> str:
    """An input for people, and for a test that keeps it."""
    told = []
    for one in content:
        try:
            text = text_format.MessageToString(message_class(method.input_type).FromString(one))
        except DecodeError:
            text = ""
        told.append(f"{text[:5000]}\n{one.hex()[:5000]}")
    return "\n".join(told)


def inputs(method: Any, good: list[Good]) -> st.SearchStrategy[Sent]:
    """Good requests with one or two changes most of all; then damaged ones; then anything."""
    requests = [stream_of(request) for request in good] or [(message_class(method.input_type)(),)]
    changed = st.one_of([_replaced(request, lambda one: mutated(one, 2).map(_bytes)) for request in requests])
    broken = st.one_of([_replaced(request, damaged) for request in requests])
    anything = messages(method.input_type).map(lambda message: (_bytes(message),))
    found = [changed, changed, changed, broken, anything]
    if method.client_streaming:
        found.append(st.sampled_from(requests).flatmap(_rearranged))
    return st.one_of(found)


def stream_of(request: Good) -> tuple[Message, ...]:
    """The messages of a good request."""
    return (request,) if isinstance(request, Message) else request


def sent(request: Good) -> Sent:
    """The bytes of a good request."""
    return tuple(_bytes(message) for message in stream_of(request))


def _replaced(
    request: tuple[Message, ...], change: Callable[[Message], st.SearchStrategy[bytes]]
) -> st.SearchStrategy[Sent]:
    """A request with one of its messages changed."""
    kept = [_bytes(message) for message in request]

    def at(place: int) -> st.SearchStrategy[Sent]:
        return change(request[place]).map(lambda one: (*kept[:place], one, *kept[place + 1 :]))

    return st.integers(0, len(request) - 1).flatmap(at)


def _rearranged(request: tuple[Message, ...]) -> st.SearchStrategy[Sent]:
    """A stream whose messages are missing, repeated or in another order."""
    return st.lists(st.sampled_from([_bytes(message) for message in request]), max_size=6).map(tuple)


def _bytes(message: Message) -> bytes:
    return message.SerializeToString()
