import asyncio
import json
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import grpc
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sdcgate.servers import gateway
from sdcgate.servers.authentication import service_authenticator
from sdcgate.servers.channels import channel_credentials, connect
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.process import Signals
from sdcgate.servers.settings import GatewayServer, GrpcServer, Peer, Settings, Tls
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2, risk_pb2_grpc

TOKEN = "t" * 43


class Fake(risk_pb2_grpc.RiskServiceServicer):
    def AssessTable(self, request, context):
        return risk_pb2.AssessTableResponse()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A self-signed certificate for the loopback, and one of somebody else."""
    folder = tmp_path_factory.mktemp("tls")
    now = datetime.now(UTC)
    for name in ("own", "other"):
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
            .sign(key, hashes.SHA256())
        )
        (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        (folder / f"{name}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    return folder


def running(tls):
    return Running(
        "risk",
        lambda server: risk_pb2_grpc.add_RiskServiceServicer_to_server(Fake(), server),
        ["sdcgate.risk.v1.RiskService"],
        GrpcServer(tls=tls),
        service_authenticator(TOKEN),
    )


def answered(address, peer):
    with connect(address, TOKEN, peer=peer, deadline_seconds=3) as channel:
        risk_pb2_grpc.RiskServiceStub(channel).AssessTable(risk_pb2.AssessTableRequest())


def test_calls_are_encrypted_and_both_sides_know_each_other(files):
    pair = {"certificate": files / "own.pem", "key": files / "own.key"}
    service = running(Tls(**pair, client_ca=files / "own.pem"))
    service.start()
    try:
        answered(service.address, Peer(ca=files / "own.pem", **pair))
        stranger = {"certificate": files / "other.pem", "key": files / "other.key"}
        for wrong in (
            Peer(),
            Peer(ca=files / "own.pem"),
            Peer(ca=files / "other.pem", **pair),
            Peer(ca=files / "own.pem", **stranger),
        ):
            with pytest.raises(grpc.RpcError) as caught:
                answered(service.address, wrong)
            assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    finally:
        service.stop(0)


def test_a_file_that_cannot_be_used_is_an_error_and_never_plaintext(files):
    with pytest.raises(OSError, match="missing"):
        running(Tls(certificate=files / "own.pem", key=files / "missing.key"))
    (files / "broken.pem").write_text("no certificate")
    with pytest.raises(ValueError, match="no PEM"):
        running(Tls(certificate=files / "broken.pem", key=files / "own.key"))
    with pytest.raises(OSError, match="missing"):
        connect("127.0.0.1:1", TOKEN, peer=Peer(ca=files / "missing.pem"))


def test_plaintext_beyond_the_loopback_is_not_called_unasked():
    with pytest.raises(ValueError, match="loopback"):
        channel_credentials("risk.example.org:7441", Peer())
    assert channel_credentials("risk.example.org:7441", Peer(plaintext=True)) is None
    assert channel_credentials("127.0.0.1:7441", Peer()) is None
    assert channel_credentials("[::1]:7441", Peer()) is None


@pytest.mark.parametrize(
    "settings",
    [{"certificate": "a"}, {"certificate": "a", "key": "b"}, {"ca": "a", "plaintext": True}],
)
def test_half_of_a_peers_tls_is_an_error(settings):
    with pytest.raises(ValueError, match=r"ca|both"):
        Peer(**settings)


def test_the_gateway_serves_https(files, tmp_path):
    tls = Tls(certificate=files / "own.pem", key=files / "own.key")
    settings = Settings(state_dir=tmp_path, gateway=GatewayServer(port=0, metrics_port=0, tls=tls))
    signals = Signals()
    thread = threading.Thread(target=asyncio.run, args=(gateway.run(settings, signals),))
    thread.start()
    ready = tmp_path / "run" / "gateway.json"
    try:
        while not ready.exists():
            time.sleep(0.02)
        address = json.loads(ready.read_text())["address"]
        context = ssl.create_default_context(cafile=str(files / "own.pem"))
        answer = httpx.get(f"https://{address}/openapi.json", verify=context)
        assert answer.status_code == 200
        assert "max-age" in answer.headers["strict-transport-security"]
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://{address}/openapi.json")
    finally:
        signals.first.set()
        thread.join(10)
