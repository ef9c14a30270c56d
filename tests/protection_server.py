"""The protection service in this process."""

from contextlib import contextmanager

from sdcgate.servers.authentication import service_authenticator
from sdcgate.servers.channels import connect
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.protection import SERVICE, ProtectionServicer, warm_up
from sdcgate.servers.settings import GrpcServer
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2_grpc


@contextmanager
def served_protection():
    """A stub of the service."""
    running = Running(
        "protection",
        lambda server: protection_pb2_grpc.add_ProtectionServiceServicer_to_server(
            ProtectionServicer(), server
        ),
        [SERVICE],
        GrpcServer(),
        service_authenticator("t" * 43),
    )
    running.start(warm_up)
    channel = connect(running.address, "t" * 43)
    try:
        yield protection_pb2_grpc.ProtectionServiceStub(channel)
    finally:
        channel.close()
        running.stop(0)
