"""The compose file: what it sets exists, and its four services, as it sets them, are a house that answers."""

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from grpc_health.v1 import health_pb2, health_pb2_grpc
from typer.testing import CliRunner

from generators.settings import settings_page
from house import RANDHIE
from postgresql_server import empty_database, running_server
from sdcgate.cli import main
from sdcgate.cli.supervisor import SERVICES, Supervisor, free_port
from sdcgate.servers.channels import connect
from sdcgate.servers.openapi_examples import BODIES
from sdcgate.servers.settings import SECRETS_DIR, Peer, Settings
from served_house import table_body

FOLDER = Path(__file__).parents[2] / "deploy/compose"
PEER = ("ca", "certificate", "key")
ADMISSION = {
    "researchers": ["researcher"],
    "datasets": ["randhie"],
    "label": "somebody",
    "valid_from": "2020-01-01",
    "valid_until": "2100-12-31",
}
SETTINGS = set(re.findall(r"`(SDCGATE_\w+)`", settings_page()))


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))


def test_every_setting_exists_and_every_secret_that_is_named_is_given(compose) -> None:
    for name, service in compose["services"].items():
        environment = service.get("environment", {})
        if name in {*SERVICES, "migrate"}:
            assert environment.keys() - SETTINGS == set(), name
        named = {Path(value).name for value in environment.values() if value.startswith("/run/secrets/")}
        # A folder of settings, each a file of its name.
        named |= {"sdcgate_ledger_url"} if SECRETS_DIR in environment else set()
        assert named == set(service.get("secrets", [])), name
    files = {Path(secret["file"]).name for secret in compose["secrets"].values()}
    assert files == set(compose["secrets"])
    made = (FOLDER / "prepare.sh").read_text(encoding="utf-8")
    for name in files:
        stem, _, kind = name.partition(".")
        assert name in made or (f"$name.{kind}" in made and stem in made), name


def test_risk_and_protection_meet_facility_gateway_and_prometheus_only(compose) -> None:
    services = compose["services"]
    for checked in ("risk", "protection"):
        assert "ports" not in services[checked]
        meets = {
            name
            for name, service in services.items()
            if set(service["networks"]) & set(services[checked]["networks"])
        }
        assert meets == {"risk", "protection", "facility", "gateway", "prometheus"}
    assert {name for name, service in services.items() if "database" in service["networks"]} == {
        "facility",
        "migrate",
        "postgres",
    }
    assert {name for name in compose["networks"] if not compose["networks"][name].get("internal")} == {
        "edge",
        "desk",
    }


def test_services_run_without_rights_and_drain_before_they_are_killed(compose) -> None:
    for name in SERVICES:
        service = compose["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        drain = float(service["environment"][f"SDCGATE_{name.upper()}__DRAIN_SECONDS"])
        assert drain < float(service["stop_grace_period"].removesuffix("s"))
    assert [
        compose["services"][name]["deploy"]["replicas"] for name in ("risk", "protection", "facility")
    ] == [
        2,
        2,
        2,
    ]


def test_the_ledger_is_reached_in_plaintext_within_the_host_only_and_the_url_says_so(compose) -> None:
    assert "sdcgate?sslmode=disable" in (FOLDER / "prepare.sh").read_text(encoding="utf-8")
    assert compose["networks"]["database"] == {"internal": True}
    assert compose["services"]["postgres"]["networks"] == ["database"]


def test_nobody_asks_unregistered_or_without_end(compose) -> None:
    services = compose["services"]
    assert services["facility"]["environment"]["SDCGATE_IDENTITY__REQUIRE_ADMISSION"] == "true"
    edge = "SDCGATE_GATEWAY__EDGE__"
    calls, of_address = (
        int(services["gateway"]["environment"][f"{edge}{name}CALLS_PER_MINUTE"]) for name in ("", "ADDRESS_")
    )
    assert 0 < calls < of_address


def test_health_is_asked_and_metrics_are_read_where_they_are_served(compose) -> None:
    prometheus = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))
    read = {
        target["names"][0]: target["port"] for target in prometheus["scrape_configs"][0]["dns_sd_configs"]
    }
    for name in SERVICES:
        port = getattr(Settings(), name).metrics_port
        assert f"http://127.0.0.1:{port}/readyz" in compose["services"][name]["healthcheck"]["test"][-1]
        assert read[name] == port
    assert compose["services"]["gateway"]["ports"] == [
        f"${{GATEWAY_LISTEN:-127.0.0.1:8443}}:{Settings().gateway.port}"
    ]


class Authority:
    """Makes the files that prepare.sh makes with openssl."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sdcgate")])
        self._write("authority", self._certificate("sdcgate", self._key, ca=True), None)

    def issue(self, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        self._write(name, self._certificate(name, key, ca=False), key)

    def _certificate(self, name: str, key: ec.EllipticCurvePrivateKey, *, ca: bool) -> x509.Certificate:
        now = datetime.now(UTC)
        places = [x509.DNSName(name), x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName(places), False)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), True)
            .sign(self._key, hashes.SHA256())
        )

    def _write(self, name: str, certificate: x509.Certificate, key: Any) -> None:
        (self._folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        if key is not None:
            pem = key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            (self._folder / f"{name}.key").write_bytes(pem)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with running_server() as server:
        yield empty_database(server)


@pytest.fixture(scope="module")
def environment(compose, tmp_path_factory, database: str) -> dict[str, str]:
    """What the compose file tells the services, at places and ports of this test."""
    folder = tmp_path_factory.mktemp("host")
    secrets = folder / "secrets"
    secrets.mkdir()
    authority = Authority(secrets)
    for name in SERVICES:
        authority.issue(name)
    (secrets / "service.token").write_text("0123456789abcdef" * 4)
    (secrets / "service.token").chmod(0o440)
    (secrets / "sdcgate_ledger_url").write_text(database + "\n")
    taken: set[int] = set()
    ports = {f"{name}:{getattr(Settings(), name).port}": free_port("0.0.0.0", 0, taken) for name in SERVICES}
    told = {
        "SDCGATE_STATE_DIR": str(folder / "state"),
        "SDCGATE_DATA_ROOT": str(folder),
        **{f"SDCGATE_{name.split(':')[0].upper()}__PORT": str(port) for name, port in ports.items()},
        **{f"SDCGATE_{name.upper()}__METRICS_PORT": "0" for name in SERVICES},
    }
    for name in SERVICES:
        for key, value in compose["services"][name]["environment"].items():
            if key != "SDCGATE_STATE_DIR":
                there = value.replace("/tmp", str(folder)) if value.startswith("/tmp/") else value
                there = there.replace("/run/secrets", str(secrets))
                told[key] = f"localhost:{ports[there]}" if there in ports else there
    return told


@pytest.fixture(scope="module")
def migrated(environment: dict[str, str]) -> str:
    """What the service `migrate` says."""
    return _said(environment, "ledger", "migrate")


@pytest.fixture(scope="module")
def house(environment: dict[str, str], migrated: str) -> Iterator[Supervisor]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with Supervisor(Settings()) as supervisor:
            yield supervisor


def _said(environment: dict[str, str], *command: str) -> str:
    done = CliRunner().invoke(main, list(command), env=environment)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_database_is_migrated_before_the_facility_starts(migrated: str) -> None:
    assert "is at migration" in migrated


def test_the_services_are_a_house_that_answers_over_tls_with_certificates_of_each_other(
    house: Supervisor, environment: dict[str, str]
) -> None:
    context = ssl.create_default_context(cafile=environment["SDCGATE_FACILITY__RISK__CA"])
    url = f"https://localhost:{house.url.rpartition(':')[2]}"
    with httpx.Client(base_url=url, verify=context, timeout=60) as client:

        def ask(role: str, address: str, body: Any) -> httpx.Response:
            key = _said(environment, "key", "create", "--role", role, "--researcher", role).strip()
            return client.post(address, json=body, headers={"Authorization": f"Bearer {key}"})

        descriptor = yaml.safe_load(RANDHIE.read_text(encoding="utf-8"))
        assert ask("steward", "/v1/datasets", {"descriptor": descriptor}).status_code == 201
        asked = table_body(["plan"], ["site"], ["female"])
        assert ask("researcher", "/v1/datasets/randhie/tables", asked).status_code == 403
        requested = ask("researcher", "/v1/admissions", ADMISSION)
        review = f"/v1/admissions/{requested.json()['admission']}:review"
        assert ask("steward", review, {"approve": True, "note": "contract signed"}).status_code == 200
        # The facility asks risk and, as there are small cells, protection.
        table = ask("researcher", "/v1/datasets/randhie/tables", asked)
        assert table.status_code == 201
        assert table.json()["verdict"] == "RELEASED_PROTECTED"
        # The gateway asks them itself, and they ask the facility whose key it is.
        for call, address in (
            ("AssessTable", "/v1/risk:assessTable"),
            ("AuditTable", "/v1/protection:auditTable"),
        ):
            assert ask("portal", address, BODIES[call]).status_code == 200


def test_whoever_shows_no_certificate_of_the_house_reaches_no_service(house: Supervisor, environment) -> None:
    token = Path(environment["SDCGATE_SERVICE_TOKEN_FILE"]).read_text()
    told = {name: Path(environment[f"SDCGATE_FACILITY__RISK__{name.upper()}"]) for name in PEER}
    for name in ("facility", "risk", "protection"):
        address = f"localhost:{house.addresses[name].rpartition(':')[2]}"
        with connect(address, token, peer=Peer(**told)) as channel:
            health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        with connect(address, token, peer=Peer(ca=told["ca"])) as channel:
            with pytest.raises(grpc.RpcError) as refused:
                health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
            assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
