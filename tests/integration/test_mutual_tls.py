"""The whole house with certificates on every connection between its services, and on those of its callers."""

import grpc
import pytest

from certificate_authority import CertificateAuthority
from encrypted_house import SERVERS, encrypted_house
from sdcgate.servers.openapi_examples import BODIES
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2, facility_pb2_grpc


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return CertificateAuthority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def house(authority, tmp_path_factory):
    house = encrypted_house(authority, tmp_path_factory.mktemp("house"))
    try:
        assert house.register_randhie().status_code == 201
        yield house
    finally:
        house.stop()


def test_queries_and_checks_go_their_way_over_connections_that_are_all_encrypted(house):
    asked = house.ask(rows=["site"])
    assert (asked.status_code, asked.json()["verdict"]) == (201, "RELEASED")
    assert house.send("POST", "/v1/risk:assessTable", BODIES["AssessTable"]).status_code == 200
    assert house.send("POST", "/v1/protection:protectTable", BODIES["ProtectTable"]).status_code == 200


@pytest.mark.parametrize("service", SERVERS)
def test_who_shows_no_certificate_or_a_strangers_or_speaks_plain_reaches_no_service(
    house, authority, service, tmp_path
):
    address, own = house.supervisor.addresses[service], authority.make("portal")
    stranger = CertificateAuthority(tmp_path, "stranger").make("portal")
    ca = authority.ca.read_bytes()

    def credentials(pair):
        return grpc.ssl_channel_credentials(ca, pair["key"].read_bytes(), pair["certificate"].read_bytes())

    def code(channel):
        call = channel.unary_unary(f"/{facility_pb2.DESCRIPTOR.package}.FacilityService/GetStatus")
        with channel, pytest.raises(grpc.RpcError) as caught:
            call(b"", timeout=5)
        return caught.value.code()

    unreachable = (
        grpc.insecure_channel(address),
        grpc.secure_channel(address, grpc.ssl_channel_credentials(ca)),
        grpc.secure_channel(address, credentials(stranger)),
    )
    assert [code(channel) for channel in unreachable] == [grpc.StatusCode.UNAVAILABLE] * 3
    reached = grpc.StatusCode.UNAUTHENTICATED if service == "facility" else grpc.StatusCode.UNIMPLEMENTED
    assert code(grpc.secure_channel(address, credentials(own))) is reached


def test_a_certificate_alone_opens_nothing(house, authority):
    own = authority.make("portal")
    shown = grpc.ssl_channel_credentials(
        authority.ca.read_bytes(), own["key"].read_bytes(), own["certificate"].read_bytes()
    )
    with grpc.secure_channel(house.supervisor.addresses["facility"], shown) as channel:
        stub = facility_pb2_grpc.FacilityServiceStub(channel)
        with pytest.raises(grpc.RpcError) as caught:
            stub.GetCaller(facility_pb2.GetCallerRequest(), timeout=5)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        metadata = (("authorization", f"Bearer {house.keys['portal']}"),)
        found = stub.GetCaller(facility_pb2.GetCallerRequest(), timeout=5, metadata=metadata)
        assert found.researcher == "portal-1"


def test_certificates_that_are_renewed_while_the_house_runs_serve_who_comes_next(house, authority):
    for name in SERVERS:
        authority.make(name)
    house.kill("gateway")
    house.restart("gateway")
    asked = house.ask(rows=["plan"], columns=["year"])
    assert asked.status_code == 201
