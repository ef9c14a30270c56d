"""Settings of the services, from the environment: `SDCGATE_RISK__PORT=7441`, one section a service.

A misspelt name in a section is an error. Plaintext is served on the loopback only, unless said otherwise.
"""

from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MEBIBYTE = 1024 * 1024


def is_loopback(host: str) -> bool:
    """Whether a host reaches nobody beyond this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Tls(BaseModel):
    """Files of a service's TLS: all or none. With `client_ca` callers must show a certificate, too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    certificate: Path | None = None
    """Certificate that the service shows, PEM."""
    key: Path | None = None
    """Its private key, PEM."""
    client_ca: Path | None = None
    """Authority that callers' certificates must be of; callers need none where it is not given."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key must be given both or not at all")
        if self.client_ca is not None and self.certificate is None:
            raise ValueError("client_ca needs certificate and key")
        return self

    @property
    def enabled(self) -> bool:
        """Whether TLS is served."""
        return self.certificate is not None


class Server(BaseModel):
    """What every service has. Port 0 takes a free one; the ready file says which."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    """Where it listens; a host beyond the loopback needs TLS files, or `PLAINTEXT`."""
    port: int = Field(default=0, ge=0, le=65535)
    """Where it listens; 0 takes a free port."""
    metrics_host: str = "127.0.0.1"
    """Where metrics and probes are served."""
    metrics_port: int = Field(default=0, ge=0, le=65535)
    """Where metrics and probes are served; 0 takes a free port."""
    ready_file: Path | None = None
    """Where the chosen addresses are written once it is ready; `run/<name>.json` in the state folder."""
    tls: Tls = Tls()
    plaintext: bool = False
    """Serve without TLS beyond the loopback (behind a mesh that encrypts)."""
    drain_seconds: float = Field(default=10.0, ge=0)
    """How long calls may go on after the signal to stop."""

    @model_validator(mode="after")
    def _not_in_the_open(self) -> Self:
        if not (self.tls.enabled or self.plaintext or is_loopback(self.host)):
            raise ValueError(
                f"{self.host} is not the loopback: give tls files, or plaintext=true behind a mesh"
            )
        return self


class GrpcServer(Server):
    """What every gRPC service has."""

    threads: int = Field(default=8, ge=1, le=256)
    """Calls that run at the same time."""
    waiting_calls: int = Field(default=32, ge=0)
    """Calls that may wait for a thread; more are told to come again."""
    resting_calls: int = Field(default=0, ge=0, le=4096)
    """Calls whose answer is ready and waits until it may be seen; their threads take nobody's place."""
    maximum_message_bytes: int = Field(default=64 * MEBIBYTE, ge=1024)
    """The largest message that is sent or taken."""
    maximum_deadline_seconds: float = Field(default=120.0, gt=0)
    """How long a call may take, whatever deadline its caller gives."""


class Peer(BaseModel):
    """A service that another one calls."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    address: str = ""
    """`host:port`; the address of the section of that name where empty."""
    ca: Path | None = None
    """Authority of the service's certificate; the connection is encrypted exactly if it is given."""
    certificate: Path | None = None
    """Certificate that we show, where the service wants one."""
    key: Path | None = None
    """Its private key."""
    plaintext: bool = False
    """Call without TLS beyond the loopback (behind a mesh that encrypts)."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key must be given both or not at all")
        if self.ca is None and self.certificate is not None:
            raise ValueError("certificate and key need ca")
        if self.ca is not None and self.plaintext:
            raise ValueError("ca and plaintext exclude each other")
        return self


class CheckServer(GrpcServer):
    """What the services have that people may call with their API keys: the check side."""

    facility: Peer = Peer()
    """Says whom an API key belongs to."""
    caller_cache_seconds: float = Field(default=10.0, ge=0, le=3600)
    """How long its answer is kept: so long a revoked key may still be accepted."""
    check_calls: int = Field(default=4, ge=1, le=256)
    """Calls with API keys that are answered at once, beside those of the house's services."""
    waiting_check_calls: int = Field(default=32, ge=0)
    """Calls with API keys that may wait; more are told to come again."""
    maximum_check_cells: int = Field(default=1_000_000, ge=1, le=10_000_000)
    """The largest table that is taken from people."""


class RiskServer(CheckServer):
    """The risk service."""

    port: int = Field(default=7441, ge=0, le=65535)
    metrics_port: int = Field(default=9441, ge=0, le=65535)
    maximum_file_bytes: int = Field(default=256 * MEBIBYTE, ge=1024)
    """The largest file of microdata that is taken to be assessed."""
    files_at_once: int = Field(default=2, ge=1, le=64)
    """Files that are assessed at the same time; more are told to come again."""


class ProtectionServer(CheckServer):
    """The protection service."""

    port: int = Field(default=7442, ge=0, le=65535)
    metrics_port: int = Field(default=9442, ge=0, le=65535)


class FacilityServer(GrpcServer):
    """The facility."""

    port: int = Field(default=7440, ge=0, le=65535)
    metrics_port: int = Field(default=9440, ge=0, le=65535)
    resting_calls: int = Field(default=256, ge=0, le=4096)
    maximum_message_bytes: int = Field(default=64 * MEBIBYTE, ge=1024)
    risk: Peer = Peer()
    protection: Peer = Peer()
    risk_deadline_seconds: float = Field(default=20.0, gt=0)
    """How long the risk service may take for one call."""
    protection_deadline_seconds: float = Field(default=60.0, gt=0)
    """How long the protection service may take for one call."""
    policy_poll_seconds: float = Field(default=5.0, ge=0, le=3600)
    """How often the policy files are looked at for changes; 0: only when SIGHUP comes."""


class GatewayServer(Server):
    """The gateway."""

    port: int = Field(default=8080, ge=0, le=65535)
    metrics_port: int = Field(default=9480, ge=0, le=65535)
    facility: Peer = Peer()
    risk: Peer = Peer()
    protection: Peer = Peer()
    maximum_body_bytes: int = Field(default=MEBIBYTE, ge=1024)
    """The largest body that is taken; a larger one is answered with 413. Files have a limit of their own."""
    maximum_file_bytes: int = Field(default=256 * MEBIBYTE, ge=1024)
    """The largest file of microdata that is passed on to the risk service."""
    maximum_message_bytes: int = Field(default=64 * MEBIBYTE, ge=1024)
    """The largest message that is taken from the facility."""
    deadline_seconds: float = Field(default=100.0, gt=0)
    """How long a service may take for one call."""


class Settings(BaseSettings):
    """All settings; each service reads its section and the common part."""

    model_config = SettingsConfigDict(
        env_prefix="SDCGATE_", env_nested_delimiter="__", env_ignore_empty=True, frozen=True
    )

    state_dir: Path = Path("var")
    """Keys, ledger, snapshots, ready files."""
    data_root: Path = Path("data")
    """Where data files that can be registered lie."""
    ledger_url: str = ""
    """SQLAlchemy URL of the ledger; SQLite in the state folder where empty."""
    engine_url: str = Field(default="", repr=False)
    """Where queries run: `postgresql://...`, a Spark master or `sc://...`; DuckDB over files where empty."""
    default_policy: str = "israel-cbs"
    """Policy of the datasets whose descriptor names none."""
    policy_dir: Path | None = None
    """Folder of the agency's own policies, `*.yaml`; they stand beside the bundled ones, or replace them."""
    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    """The least severe lines that are logged."""
    service_token_file: Path | None = None
    """Token that the facility shows to risk and protection; `keys/service.token` in the state folder."""
    risk: RiskServer = RiskServer()
    protection: ProtectionServer = ProtectionServer()
    facility: FacilityServer = FacilityServer()
    gateway: GatewayServer = GatewayServer()

    @cached_property
    def service_token_path(self) -> Path:
        """File of the service token."""
        return self.service_token_file or self.state_dir / "keys" / "service.token"

    def ready_file(self, name: str, server: Server) -> Path:
        """Where a service writes its addresses."""
        return server.ready_file or self.state_dir / "run" / f"{name}.json"

    def address(self, peer: Peer, server: Server) -> str:
        """Address of a service that another one calls."""
        return peer.address or f"{server.host}:{server.port}"
