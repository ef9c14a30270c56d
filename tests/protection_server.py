"""The protection service in this process."""

from one_service import served
from sdcgate.servers.protection import SERVICE, ProtectionServicer, warm_up
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2_grpc


def served_protection():
    """A stub of the service."""

    def add(server):
        protection_pb2_grpc.add_ProtectionServiceServicer_to_server(ProtectionServicer(), server)

    return served("protection", add, SERVICE, protection_pb2_grpc.ProtectionServiceStub, warm_up)
