"""The protection service in this process."""

from one_service import served
from sdcgate.servers.protection import SERVICE, ProtectionServicer, warm_up
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2_grpc


def served_protection(files=None):
    """A stub of the service, which protects files by what is given."""

    def add(server):
        servicer = ProtectionServicer(files=files)
        protection_pb2_grpc.add_ProtectionServiceServicer_to_server(servicer, server)

    return served("protection", add, SERVICE, protection_pb2_grpc.ProtectionServiceStub, warm_up)
