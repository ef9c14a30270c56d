"""Settings of what tells others about decisions and requests: the decision log and the traces."""

from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sdcgate.servers.loopback import is_loopback

NAME, PSEUDONYM, NONE = "NAME", "PSEUDONYM", "NONE"


class Receiver(BaseModel):
    """Somebody who is sent to over HTTP; beyond the loopback with TLS, unless `plaintext` says otherwise."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(default="", repr=False)
    """Where to send; nothing is sent where it is empty."""
    plaintext: bool = False
    """Send without TLS beyond the loopback (behind a mesh that encrypts)."""
    ca: Path | None = None
    """Authority of the receiver's certificate, PEM; those that the machine trusts where not given."""
    certificate: Path | None = None
    """Certificate that we show, PEM, where the receiver wants one."""
    key: Path | None = None
    """Its private key, PEM."""

    @model_validator(mode="after")
    def _not_in_the_open(self) -> Self:
        if not self.url:
            return self
        # The URL itself may hold a secret: no message repeats it.
        address = urlsplit(self.url)
        if address.scheme not in {"http", "https"} or not address.hostname:
            raise ValueError("url must be http:// or https:// with a host")
        if address.scheme == "http" and not (self.plaintext or is_loopback(address.hostname)):
            raise ValueError("url is beyond the loopback: use https, or plaintext=true behind a mesh")
        if address.scheme == "http" and (self.ca or self.certificate):
            raise ValueError("ca, certificate and key are for an https url")
        return self

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key must be given both or not at all")
        return self


class Tracing(Receiver):
    """Traces of requests, to a collector of OpenTelemetry over HTTP (`http://collector:4318`)."""

    ca: Path | None = None
    """Authority of the collector's certificate, PEM; those of the package certifi where not given."""
    percent: int = Field(default=100, ge=0, le=100)
    """Of so many requests in a hundred."""


class LogReceiver(Receiver):
    """Somebody who is sent the decision log over HTTP."""

    token_file: Path | None = None
    """File with a token that is shown as `Authorization: Bearer`."""
    timeout_seconds: float = Field(default=10.0, gt=0, le=300)
    """How long the receiver may be silent before it is tried again."""


class Webhook(LogReceiver):
    """An address of the agency's own."""

    secret_file: Path | None = None
    """File with the secret that signs each delivery (standardwebhooks.com); none is signed without it."""


class DecisionLog(BaseModel):
    """What the ledger records, told as it comes: to a file, standard output, a webhook, a collector."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    researchers: str = Field(default=PSEUDONYM, pattern=f"^({NAME}|{PSEUDONYM}|{NONE})$")
    """How researchers and checkers are named in it."""
    file: Path | None = None
    """File that a line is appended to for each event."""
    stdout: bool = False
    """Write a line to the facility's standard output for each event."""
    webhook: Webhook = Webhook()
    otlp: LogReceiver = LogReceiver()
    poll_seconds: float = Field(default=1.0, gt=0, le=3600)
    """How often the ledger is looked at for new events."""
    batch_events: int = Field(default=100, ge=1, le=1000)
    """The most events in one delivery."""
    longest_wait_seconds: float = Field(default=60.0, gt=0, le=3600)
    """The longest wait between two tries of a delivery; waits grow up to it."""
