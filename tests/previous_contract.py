"""The contract of the version before, as an image: messages, clients and servers made from it alone.

`tests/contract/previous.binpb.gz` is made with each release, see `docs/house.md`.
"""

import gzip
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

IMAGE = Path(__file__).parent / "contract" / "previous.binpb.gz"
PASSED_ON = ("authorization", "x-request-id", "x-on-behalf-of")


def previous_files() -> descriptor_pb2.FileDescriptorSet:
    """The files of the contract of before."""
    return descriptor_pb2.FileDescriptorSet.FromString(gzip.decompress(IMAGE.read_bytes()))


def without_rule(files: descriptor_pb2.FileDescriptorSet, rule: str) -> descriptor_pb2.FileDescriptorSet:
    """A contract that never heard of a rule: neither its field of `Rules` nor its reason."""
    older = descriptor_pb2.FileDescriptorSet()
    older.CopyFrom(files)
    (policy,) = [file for file in older.file if file.name == "sdcgate/types/v1/policy.proto"]
    (rules,) = [message for message in policy.message_type if message.name == "Rules"]
    (codes,) = [enum for enum in policy.enum_type if enum.name == "ReasonCode"]
    for place, name in ((rules.field, rule), (codes.value, f"REASON_CODE_{rule.upper()}")):
        (known,) = [one for one in place if one.name == name]
        place.remove(known)
    return older


class Contract:
    """Messages and calls of one state of the contract; it knows nothing of any other."""

    def __init__(self, files: descriptor_pb2.FileDescriptorSet) -> None:
        self._pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            self._pool.Add(file)
        self.files = files

    def message(self, name: str) -> type[Message]:
        """The class of a message, as `sdcgate.risk.v1.AssessTableRequest`."""
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(name))

    def call(self, method: str) -> tuple[type[Message], type[Message]] | None:
        """Request and response of a call, as `/sdcgate.risk.v1.RiskService/AssessTable`; or None."""
        service, _, name = method.strip("/").partition("/")
        try:
            found = self._pool.FindServiceByName(service).FindMethodByName(name)
        except KeyError:
            return None
        return self.message(found.input_type.full_name), self.message(found.output_type.full_name)

    def ask(self, channel: grpc.Channel, method: str, request: Message, metadata: Any = ()) -> Message:
        """What a client of this contract gets."""
        known = self.call(method)
        assert known is not None
        call = channel.unary_unary(
            method, request_serializer=known[0].SerializeToString, response_deserializer=known[1].FromString
        )
        return call(request, metadata=metadata, timeout=60)

    def as_known(self, content: bytes, kind: type[Message]) -> bytes:
        """What a program of this contract understands of a message: it acts on nothing else."""
        message = kind.FromString(content)
        message.DiscardUnknownFields()
        return message.SerializeToString()


PREVIOUS = Contract(previous_files())


def answering_as(contract: Contract, method: str, honest: Callable[[Any, Any], Message]) -> Any:
    """A service that knows only this contract: what it does not know it neither reads nor says."""
    known = contract.call(method)
    assert known is not None

    def answer(request: Message, _: Any, context: Any) -> bytes:
        understood = type(request).FromString(contract.as_known(request.SerializeToString(), known[0]))
        return contract.as_known(honest(understood, context).SerializeToString(), known[1])

    return answer


class FacilityOfBefore:
    """A facility that speaks only a contract of before, and asks the present one as a client of before."""

    def __init__(self, contract: Contract, address: str) -> None:
        self._contract = contract
        self._channel = grpc.insecure_channel(address)
        self._server = grpc.server(ThreadPoolExecutor(8))
        self._server.add_generic_rpc_handlers((_Handlers(self),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self) -> None:
        """Free the port."""
        self._server.stop(0).wait()
        self._channel.close()

    def handler(self, method: str) -> grpc.RpcMethodHandler | None:
        known = self._contract.call(method)
        if known is None:
            return None

        def answer(content: bytes, context: grpc.ServicerContext) -> bytes:
            given = dict(context.invocation_metadata())
            metadata = [(name, given[name]) for name in PASSED_ON if name in given]
            request = known[0].FromString(self._contract.as_known(content, known[0]))
            try:
                response = self._contract.ask(self._channel, method, request, metadata)
            except grpc.RpcError as error:
                context.set_trailing_metadata(error.trailing_metadata())
                context.abort(error.code(), error.details())
            return self._contract.as_known(response.SerializeToString(), known[1])

        return grpc.unary_unary_rpc_method_handler(answer)


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, facility: FacilityOfBefore) -> None:
        self._facility = facility

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return self._facility.handler(details.method)
