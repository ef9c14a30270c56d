"""The risk service in this process, and what it says is wrong."""

import time

import grpc
import pytest

from one_service import served
from sdcgate.servers import errors
from sdcgate.servers.received_files import FileLane
from sdcgate.servers.risk import SERVICE, RiskServicer, warm_up
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2_grpc


def served_risk(largest=4_000_000, at_once=2):
    """A stub of the service, which takes files up to a size."""
    servicer = RiskServicer(files=FileLane(largest, at_once))

    def add(server):
        risk_pb2_grpc.add_RiskServiceServicer_to_server(servicer, server)

    return served("risk", add, SERVICE, risk_pb2_grpc.RiskServiceStub, warm_up)


def soon(call, seconds=10.0):
    """The answer to a call that is turned away until other files have been looked at."""
    until = time.monotonic() + seconds
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED or time.monotonic() > until:
                raise
            time.sleep(0.1)


def told(call, *never):
    """What a call is told of its fields: words by path, with no word of `never`."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    problem = errors.from_rpc_error(caught.value)
    assert isinstance(problem, errors.InvalidArgument), caught.value
    assert not any(word in str(caught.value) for word in never)
    return {field.path: field.message for field in problem.fields}
