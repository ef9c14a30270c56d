"""The three gRPC services in this process, on loopback ports, with a small file that has everything."""

import secrets
from pathlib import Path
from typing import Any

import grpc
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc
from structlog.testing import LogCapture

from fuzz import good_requests
from fuzz.calls import SECONDS, Good, Sent, made_call
from made_files import write_people
from sdcgate.engine.engine import Engine
from sdcgate.facility.facility import Facility
from sdcgate.ledger.credentials import Credentials
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing
from sdcgate.policy.loading import load_policies
from sdcgate.servers import facility, protection, risk
from sdcgate.servers.authentication import service_authenticator
from sdcgate.servers.backends import RemoteProtection, RemoteRisk
from sdcgate.servers.channels import connect
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.settings import GrpcServer
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2_grpc
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2_grpc
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2_grpc

ROLES = ("researcher", "portal", "checker", "steward", "operator")


class HouseUnderFire:
    """Services that listen, a key of each role, and calls with bytes of any kind."""

    def __init__(self, folder: Path) -> None:
        self.data_root = folder / "data"
        self.data_root.mkdir()
        write_people(self.data_root / "people.csv")
        self.log = LogCapture()
        structlog.configure(processors=[structlog.contextvars.merge_contextvars, self.log])
        token = secrets.token_urlsafe(32)
        inner = service_authenticator(token)
        self.ledger = Ledger.open(
            f"sqlite:///{folder / 'ledger.sqlite'}", KeyRing.open(folder / "keys"), folder / "heads.jsonl"
        )
        credentials = Credentials(self.ledger)
        self.tokens = {role: credentials.create(role, role, "fuzz", 1)[0] for role in ROLES}
        self.tokens["service"] = token
        self.running = {
            "risk": Running(
                "risk",
                lambda server: risk_pb2_grpc.add_RiskServiceServicer_to_server(risk.RiskServicer(), server),
                [risk.SERVICE], GrpcServer(), inner,
            ),
            "protection": Running(
                "protection",
                lambda server: protection_pb2_grpc.add_ProtectionServiceServicer_to_server(
                    protection.ProtectionServicer(), server
                ),
                [protection.SERVICE], GrpcServer(), inner,
            ),
        }  # fmt: skip
        self.channels = {name: connect(running.address, token) for name, running in self.running.items()}
        self.engine = Engine(self.data_root, folder / "snapshots", secrets.token_bytes(32), threads=1)
        self.facility = Facility(
            self.engine,
            self.ledger,
            RemoteRisk(self.channels["risk"], SECONDS),
            RemoteProtection(self.channels["protection"], SECONDS),
            load_policies(),
            "israel-cbs",
            secrets.token_bytes(32),
        )
        servicer = facility.FacilityServicer(self.facility, self.ledger.key_ring)
        self.running["facility"] = Running(
            "facility",
            lambda server: facility_pb2_grpc.add_FacilityServiceServicer_to_server(servicer, server),
            [facility.SERVICE],
            GrpcServer(),
            facility.authenticator(credentials),
            self.facility.is_ready,
        )
        warm_ups = {"risk": risk.warm_up, "protection": protection.warm_up}
        for name, running in self.running.items():
            running.start(warm_ups.get(name, lambda: facility.warm_up(self.engine, self.facility)))
        self.bare = {name: grpc.insecure_channel(running.address) for name, running in self.running.items()}
        self.good: dict[str, list[Good]] = {}
        """Requests that are answered, by the call's name."""
        self.once: dict[str, list[Good]] = {}
        """Requests that are answered once."""

    def role(self, service: str, method: str) -> str:
        """Who may make a call."""
        return "service" if service != "facility" else good_requests.ROLES.get(method, "researcher")

    def call(self, service: str, method: Any, role: str, content: Sent) -> bytes:
        """The bytes that come back. Raises grpc.RpcError."""
        return made_call(self.bare[service], method, content, self.tokens[role])

    def faults(self) -> list[dict[str, Any]]:
        """Log lines about what nobody foresaw."""
        return [line for line in self.log.entries if line.get("log_level") == "error"]

    def is_whole(self) -> bool:
        """Whether all services are healthy and the ledger is what was signed."""
        for channel in self.bare.values():
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=SECONDS
            )
            if answer.status != health_pb2.HealthCheckResponse.SERVING:
                return False
        return self.ledger.verify().ok

    def stop(self) -> None:
        """End it all."""
        for channel in (*self.bare.values(), *self.channels.values()):
            channel.close()
        for running in self.running.values():
            running.stop(0)
        self.engine.close()
        self.ledger.close()
        structlog.reset_defaults()
