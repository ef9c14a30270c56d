"""Certificates that expire, are replaced, or are somebody else's: who is let in, and nothing is plain."""

import socket
import ssl
import threading
import time
from contextlib import contextmanager
from datetime import timedelta

import grpc
import httpx
import pytest
from cryptography import x509

from certificate_authority import HOUR, MINUTE, CertificateAuthority
from one_gateway import served_gateway
from sdcgate.servers.authentication import service_authenticator
from sdcgate.servers.certificates import CertificateFiles, HttpsCertificate
from sdcgate.servers.channels import connect
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.settings import GrpcServer, Peer, Tls
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2, risk_pb2_grpc

TOKEN = "t" * 43
SECOND = timedelta(seconds=1)


class Fake(risk_pb2_grpc.RiskServiceServicer):
    def AssessTable(self, request, context):
        return risk_pb2.AssessTableResponse()


@pytest.fixture
def authority(tmp_path):
    return CertificateAuthority(tmp_path)


@contextmanager
def served(**tls):
    service = Running(
        "risk",
        lambda server: risk_pb2_grpc.add_RiskServiceServicer_to_server(Fake(), server),
        ["sdcgate.risk.v1.RiskService"],
        GrpcServer(tls=Tls(**tls)),
        service_authenticator(TOKEN),
    )
    service.start()
    try:
        yield service.address
    finally:
        service.stop(0)


def answered(address, **peer):
    """Whether a new connection of such a caller is answered."""
    with connect(address, TOKEN, peer=Peer(**peer), deadline_seconds=3) as channel:
        try:
            risk_pb2_grpc.RiskServiceStub(channel).AssessTable(risk_pb2.AssessTableRequest())
        except grpc.RpcError:
            return False
    return True


def shown(address):
    """Serial number of the certificate that a new connection is shown."""
    host, _, port = address.rpartition(":")
    return x509.load_pem_x509_certificate(
        ssl.get_server_certificate((host, int(port))).encode()
    ).serial_number


def serial(pair):
    return x509.load_pem_x509_certificate(pair["certificate"].read_bytes()).serial_number


def test_a_replaced_certificate_is_shown_to_the_next_connection_without_a_restart(authority):
    pair = authority.make("risk")
    with served(**pair) as address:
        first = shown(address)
        assert first == serial(pair)
        authority.make("risk")
        assert shown(address) == serial(pair) != first
        assert answered(address, ca=authority.ca)


def test_a_replaced_authority_of_callers_holds_for_the_next_connection(authority, tmp_path):
    pair, caller = authority.make("risk"), authority.make("facility")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(authority.ca.read_bytes())
    with served(**pair, client_ca=trusted) as address:
        assert answered(address, ca=authority.ca, **caller)
        other = CertificateAuthority(tmp_path, "other")
        trusted.write_bytes(other.ca.read_bytes())
        assert not answered(address, ca=authority.ca, **caller)
        assert answered(address, ca=authority.ca, **other.make("facility"))


@pytest.mark.parametrize("fault", ["half", "broken", "missing", "expired"])
def test_a_new_pair_that_cannot_be_used_leaves_the_one_before(authority, fault):
    pair = authority.make("risk")
    with served(**pair) as address:
        first = shown(address)
        if fault == "half":
            new = authority.make("new")
            pair["certificate"].write_bytes(new["certificate"].read_bytes())
        elif fault == "broken":
            pair["certificate"].write_text("-----BEGIN CERTIFICATE-----\nnone")
        elif fault == "missing":
            pair["key"].unlink()
        else:
            authority.make("risk", -HOUR, -MINUTE)
        assert shown(address) == first
        assert answered(address, ca=authority.ca)
        authority.make("risk")
        assert shown(address) == serial(pair) != first


@pytest.mark.parametrize(("begins", "ends"), [(-HOUR, -MINUTE), (MINUTE, HOUR)])
def test_a_certificate_that_is_not_in_force_starts_no_service_and_no_channel(authority, begins, ends):
    pair = authority.make("risk", begins, ends)
    with pytest.raises(ValueError, match=r"risk\.pem: the certificate is in force from .* and not today"):
        Running("risk", lambda _: None, [], GrpcServer(tls=Tls(**pair)), service_authenticator(TOKEN))
    with pytest.raises(ValueError, match="not today"):
        HttpsCertificate(Tls(**pair))
    with pytest.raises(ValueError, match="not today"):
        connect("127.0.0.1:1", TOKEN, peer=Peer(ca=authority.ca, **pair))


def test_a_certificate_that_expires_meanwhile_opens_nothing(authority):
    service, caller = authority.make("risk"), authority.make("facility", ends=2 * SECOND)
    with served(**service, client_ca=authority.ca) as address:
        assert answered(address, ca=authority.ca, **caller)
        time.sleep(2.1)
        context = ssl.create_default_context(cafile=str(authority.ca))
        context.load_cert_chain(caller["certificate"], caller["key"])
        assert not handshaken(address, context)
    with served(**authority.make("brief", ends=2 * SECOND)) as address:
        assert answered(address, ca=authority.ca)
        time.sleep(2.1)
        assert not answered(address, ca=authority.ca)


def handshaken(address, context):
    """Whether a server goes on after the handshake; over TLS 1.3 a refusal comes with its first answer."""
    host, _, port = address.rpartition(":")
    context.set_alpn_protocols(["h2"])
    try:
        with (
            socket.create_connection((host, int(port)), 5) as plain,
            context.wrap_socket(plain, server_hostname=host) as secure,
        ):
            return len(secure.recv(1)) == 1
    except (ssl.SSLError, ConnectionError):
        return False


def test_the_handshake_that_is_refused_is_answered_with_a_certificate_in_force(authority):
    caller = authority.make("facility")
    context = ssl.create_default_context(cafile=str(authority.ca))
    with served(**authority.make("risk"), client_ca=authority.ca) as address:
        assert not handshaken(address, context)
        context.load_cert_chain(caller["certificate"], caller["key"])
        assert handshaken(address, context)


def test_after_a_failed_handshake_nothing_is_sent_or_taken_in_plaintext(authority, tmp_path):
    stranger = CertificateAuthority(tmp_path, "stranger")
    with served(**authority.make("risk")) as address:
        assert not answered(address, ca=stranger.ca)
        assert not answered(address)
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(5)
    taken = []

    def plain_server():
        connection, _ = listening.accept()
        connection.settimeout(5)
        taken.append(connection.recv(16))
        connection.close()

    thread = threading.Thread(target=plain_server)
    thread.start()
    assert not answered(f"127.0.0.1:{listening.getsockname()[1]}", ca=authority.ca)
    thread.join()
    listening.close()
    assert taken[0][:1] == b"\x16", "the first byte of a TLS handshake, not HTTP/2's PRI"


def test_files_are_read_again_only_when_they_have_changed(authority):
    pair = authority.make("risk")
    files = CertificateFiles(Tls(**pair))
    assert files.changed() is None
    authority.make("risk")
    assert files.changed() == (pair["key"].read_bytes(), pair["certificate"].read_bytes(), None)
    assert files.changed() is None


def test_the_gateway_shows_a_replaced_certificate_too(authority, tmp_path):
    pair = authority.make("gateway")
    with served_gateway(tmp_path / "state", tls=Tls(**pair)) as address:
        first = shown(address)
        authority.make("gateway")
        deadline = time.monotonic() + 10
        while shown(address) == first and time.monotonic() < deadline:
            time.sleep(0.05)
        assert shown(address) == serial(pair)
        context = ssl.create_default_context(cafile=str(authority.ca))
        assert httpx.get(f"https://{address}/openapi.json", verify=context).status_code == 200


def test_portals_may_have_to_show_a_certificate_of_theirs(authority, tmp_path):
    tls = Tls(**authority.make("gateway"), client_ca=authority.ca)
    with served_gateway(tmp_path / "state", tls=tls) as address:
        context = ssl.create_default_context(cafile=str(authority.ca))
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"https://{address}/openapi.json", verify=context)
        stranger = CertificateAuthority(tmp_path, "stranger").make("portal")
        context.load_cert_chain(stranger["certificate"], stranger["key"])
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"https://{address}/openapi.json", verify=context)
        portal = authority.make("portal")
        context = ssl.create_default_context(cafile=str(authority.ca))
        context.load_cert_chain(portal["certificate"], portal["key"])
        assert httpx.get(f"https://{address}/openapi.json", verify=context).status_code == 200
        assert httpx.get(f"https://{address}/v1/status", verify=context).status_code == 401
