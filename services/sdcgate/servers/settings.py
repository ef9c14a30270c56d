"""Settings of the services, from the environment: `SDCGATE_RISK__PORT=7441`, one section a service.

A misspelt name in a section is an error. Plaintext is served on the loopback only, unless said otherwise.
"""

import os
from functools import cached_property
from ipaddress import ip_network
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, FilePath, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
)

from sdcgate.servers.loopback import is_loopback
from sdcgate.servers.monitoring_settings import DecisionLog, Tracing

SECRETS_DIR = "SDCGATE_SECRETS_DIR"
MEBIBYTE = 1024 * 1024


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
    """Calls that run at the same time; of people, no caller takes the last of several."""
    waiting_calls: int = Field(default=32, ge=0)
    """Calls that may wait for a thread; more are told to come again."""
    resting_calls: int = Field(default=0, ge=0, le=4096)
    """Calls whose answer is ready and waits until it may be seen; their threads take nobody's place."""
    maximum_message_bytes: int = Field(default=64 * MEBIBYTE, ge=1024)
    """The largest message that is sent or taken."""
    maximum_deadline_seconds: float = Field(default=120.0, gt=0)
    """How long a call may take, whatever deadline its caller gives."""
    connection_seconds: float = Field(default=300.0, ge=1, le=86_400)
    """How long a connection is used; its caller then looks up the address anew and finds added replicas."""


class Peer(BaseModel):
    """A service that another one calls."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    address: str = ""
    """`host:port`, all hosts of the name in turn; the address of the section of that name where empty."""
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
    maximum_file_bytes: int = Field(default=256 * MEBIBYTE, ge=1024)
    """The largest file of microdata that is taken to be protected."""
    files_at_once: int = Field(default=1, ge=1, le=64)
    """Files that are protected at the same time; more are told to come again."""
    swapping_secret_file: Path | None = None
    """Secret of 32 bytes that draws of swapping rest on; `keys/swapping.key` in the state folder.
    Replicas need the same one."""


class Fitting(BaseModel):
    """What models and statistics that are computed from records may take, each in a process of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workers: int = Field(default=2, ge=1, le=64)
    """Models that are fitted at once, and statistics beside them. Of several no researcher has all."""
    seconds: float = Field(default=60.0, gt=0, le=1800)
    """How long a model or a statistic may take, waiting for a worker included, but not for one to begin."""
    memory_mebibytes: int = Field(default=4096, ge=512)
    """Memory of each worker of either kind; one that needs more is ended, and harms no other."""
    calls: int = Field(default=4, ge=1, le=255)
    """Models that are answered at once, fewer than `threads` in any case, so that tables find one, and half
    of them for one researcher; more are told to come again."""


class FacilityServer(GrpcServer):
    """The facility."""

    port: int = Field(default=7440, ge=0, le=65535)
    metrics_port: int = Field(default=9440, ge=0, le=65535)
    resting_calls: int = Field(default=256, ge=0, le=4096)
    read_calls: int = Field(default=4, ge=1, le=256)
    """Calls that only read (status, lists, whose key it is) and are answered at once, beside queries."""
    waiting_read_calls: int = Field(default=32, ge=0)
    """Of these so many may wait; more are told to come again."""
    maximum_message_bytes: int = Field(default=64 * MEBIBYTE, ge=1024)
    risk: Peer = Peer()
    protection: Peer = Peer()
    risk_deadline_seconds: float = Field(default=20.0, gt=0)
    """How long the risk service may take for one call."""
    protection_deadline_seconds: float = Field(default=60.0, gt=0)
    """How long the protection service may take for one call."""
    fitting: Fitting = Fitting()
    spill_dir: Path | None = None
    """Where what does not fit in memory is put, best a disk of this machine; `spill` in the state folder."""
    policy_poll_seconds: float = Field(default=5.0, ge=0, le=3600)
    """How often the policy files are looked at for changes; 0: only when SIGHUP comes."""
    font_file: FilePath | None = None
    """A TrueType font with the letters of your labels, for drawings as PNG; Open Sans where none is named."""
    font_family: str = "Open Sans"
    """What that font calls its family; a text in another family is not drawn."""
    standing_poll_seconds: float = Field(default=10.0, gt=0, le=3600)
    """How often the metrics of ledger, referrals and policies are made anew."""


class Edge(BaseModel):
    """What the gateway takes from outside. Behind a proxy, limits by address need `trusted_proxies`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls_per_minute: int = Field(default=0, ge=0)
    """Requests of one caller: a key, a person over all his tokens, or a researcher for whom a portal acts;
    more are answered with 429. 0: any number."""
    address_calls_per_minute: int = Field(default=0, ge=0)
    """Requests that may come from one address (of IPv6, one network of 64 bits). 0: any number."""
    failures_per_minute: int = Field(default=0, ge=0)
    """Requests without a good key or token from one address, until all of its requests get 429. 0: any."""
    body_seconds: float = Field(default=20.0, gt=0, le=600)
    """How long a JSON body may take to arrive; files have as long as their call."""
    allowed_origins: tuple[str, ...] = ()
    """Websites whose pages may call from a browser (CORS), such as `https://tables.agency.example`."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose `X-Forwarded-For` is believed; nobody's where empty."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        for origin in self.allowed_origins:
            parts = urlsplit(origin)
            plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
            if not (plain or parts.scheme == "https") or origin != f"{parts.scheme}://{parts.netloc}":
                raise ValueError(f"{origin} is no origin: give https://host, or http:// and a loopback host")
        for proxy in self.trusted_proxies:
            ip_network(proxy)
        return self


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
    edge: Edge = Edge()


Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures with a public key. Neither `none` nor an HMAC can be named: its key would be no secret."""

PersonsRole = Literal["researcher", "portal", "checker", "steward", "auditor", "operator"]


class Identity(BaseModel):
    """Who may call. Tokens of an identity provider (OpenID Connect) are accepted if `issuer` is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: str = ""
    """Issuer that tokens must be of, exactly as their `iss` has it."""
    audience: str = ""
    """Audience that tokens must be for (`aud`): the name of this service at the identity provider."""
    jwks_url: str = ""
    """Where the issuer publishes its keys (JWKS); https, or http on the loopback."""
    jwks_ca: Path | None = None
    """Authority of that address's certificate; those of the system where it is not given."""
    jwks_timeout_seconds: float = Field(default=3.0, gt=0, le=30)
    """How long the issuer may take to answer."""
    jwks_cache_seconds: float = Field(default=300.0, gt=0, le=86400)
    """How long its keys are kept: so long a key that it took away is still accepted."""
    jwks_refresh_seconds: float = Field(default=10.0, ge=0, le=3600)
    """How soon it is asked again for a key that it did not have, or after it did not answer."""
    algorithms: tuple[Algorithm, ...] = Field(default=("RS256", "PS256", "ES256", "EdDSA"), min_length=1)
    """Signatures that are accepted."""
    leeway_seconds: float = Field(default=30.0, ge=0, le=300)
    """How far the issuer's clock may be off."""
    longest_token_seconds: float = Field(default=86400.0, gt=0)
    """The longest life of a token; tokens cannot be revoked, so one that lives longer is refused."""
    researcher_claim: str = Field(default="sub", min_length=1)
    """Claim that names the person, as API keys, approvals and reviews do; dots lead into objects."""
    role_claim: str = Field(default="roles", min_length=1)
    """Claim with the person's roles, a list or words; dots lead into objects (`realm_access.roles`)."""
    roles: dict[str, PersonsRole] = {}
    """Which value of that claim is which role; roles by their own names where empty."""
    require_admission: bool = False
    """Let nobody ask or submit without an admission that a steward approved and that is in force."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if not self.issuer:
            return self
        if not (self.audience and self.jwks_url):
            raise ValueError("issuer needs audience and jwks_url")
        parts = urlsplit(self.jwks_url)
        plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
        if not (plain or (parts.scheme == "https" and parts.hostname)):
            raise ValueError("jwks_url must be https, or http on the loopback")
        return self


class Retention(BaseModel):
    """How many days `sdcgate ledger retention` keeps what it may remove; for ever where none is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    checker_views_days: int | None = Field(default=None, ge=0)
    """True cells and findings as checkers see them, from the decision or the review on."""
    notes_days: int | None = Field(default=None, ge=0)
    """Comments, and notes of reviews and approvals, from the decision or the review on."""
    answers_days: int | None = Field(default=None, ge=0)
    """Requests, answers and their records; only of versions of a dataset that can answer nothing any more."""
    admissions_days: int | None = Field(default=None, ge=0)
    """Labels and remarks of admissions, from their last day, refusal or withdrawal on."""


class Settings(BaseSettings):
    """All settings; each service reads its section and the common part, the facility the decision log too."""

    model_config = SettingsConfigDict(
        env_prefix="SDCGATE_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        frozen=True,
        hide_input_in_errors=True,  # addresses may hold secrets
    )

    state_dir: Path = Path("var")
    """Keys, ledger, snapshots, ready files."""
    data_root: Path = Path("data")
    """Where data files that can be registered lie."""
    ledger_url: str = Field(default="", repr=False)
    """SQLAlchemy URL of the ledger; SQLite in the state folder where empty. A password: see above."""
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
    identity: Identity = Identity()
    risk: RiskServer = RiskServer()
    protection: ProtectionServer = ProtectionServer()
    facility: FacilityServer = FacilityServer()
    gateway: GatewayServer = GatewayServer()
    decision_log: DecisionLog = DecisionLog()
    tracing: Tracing = Tracing()
    retention: Retention = Retention()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment, then the files of `SDCGATE_SECRETS_DIR`, each named like a variable.

        Raises:
            ValueError: there is no such folder, or nothing in it is a setting, or a setting in it is empty.
        """
        folder = os.environ.get(SECRETS_DIR)
        if not folder:
            return init_settings, env_settings
        if not Path(folder).is_dir():
            raise ValueError(f"{SECRETS_DIR}: {folder} is no folder")
        prefix = str(settings_cls.model_config["env_prefix"]).lower()
        found = [Path(folder) / f"{prefix}{name}" for name in settings_cls.model_fields]
        found = [file for file in found if file.is_file()]
        # Without its URL a facility would begin a ledger of its own, which does not know what has left.
        empty = [file.name for file in found if not file.read_text(encoding="utf-8").strip()]
        if empty or not found:
            what = f"{', '.join(empty)} is empty" if empty else f"no file in {folder} is named like a setting"
            raise ValueError(f"{SECRETS_DIR}: {what}")
        return init_settings, env_settings, SecretsSettingsSource(settings_cls, folder)

    @property
    def has_own_ledger(self) -> bool:
        """Whether the ledger is SQLite in the state folder."""
        return not self.ledger_url

    def ledger_address(self) -> str:
        """SQLAlchemy URL of the ledger."""
        if self.has_own_ledger:
            return f"sqlite:///{self.state_dir / 'ledger.sqlite'}"
        return self.ledger_url

    @cached_property
    def service_token_path(self) -> Path:
        """File of the service token."""
        return self.service_token_file or self.state_dir / "keys" / "service.token"

    @cached_property
    def swapping_secret_path(self) -> Path:
        """File of the secret that draws of swapping rest on."""
        return self.protection.swapping_secret_file or self.state_dir / "keys" / "swapping.key"

    @property
    def verification_file(self) -> Path:
        """What the last verification of the ledger found."""
        return self.state_dir / "run" / "verification.json"

    def ready_file(self, name: str, server: Server) -> Path:
        """Where a service writes its addresses."""
        return server.ready_file or self.state_dir / "run" / f"{name}.json"

    def address(self, peer: Peer, server: Server) -> str:
        """Address of a service that another one calls."""
        return peer.address or f"{server.host}:{server.port}"
