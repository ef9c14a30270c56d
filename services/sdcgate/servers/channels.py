"""Channels from one service to another: token, request id and deadline on every call."""

import json
from pathlib import Path
from typing import Any

import grpc
import structlog

from sdcgate.servers.authentication import AUTHORIZATION_KEY
from sdcgate.servers.certificates import check_pair
from sdcgate.servers.errors import MAXIMUM_ERROR_BYTES
from sdcgate.servers.logging import REQUEST_ID
from sdcgate.servers.loopback import is_loopback
from sdcgate.servers.request_ids import REQUEST_ID_KEY, request_id
from sdcgate.servers.settings import MEBIBYTE, Peer
from sdcgate.servers.time_left import told
from sdcgate.servers.tracing import carried

_ATTEMPTS = {"maxAttempts": 4, "initialBackoff": "0.05s", "maxBackoff": "0.5s", "backoffMultiplier": 2}
_QUESTIONS = (
    *("QueryTable", "QueryStatistic", "QueryModel", "SubmitOutput", "SubmitResults"),
    *("EnterKnowledge", "AssessDataset"),
    *("GetQuery", "DrawQuery", "ListQueries", "ListDatasets", "GetDataset", "GetPolicy", "GetBudget"),
    *("ListAdmissions", "GetCaller", "GetStatus"),
)
"""What only reads, and what has the same answer in the ledger when it is asked again."""
KEPT_TO_ASK_AGAIN = 4 * MEBIBYTE
"""What is kept of a call for another replica; one that has sent more is not asked again."""
SERVICE_CONFIG = json.dumps(
    {
        "loadBalancingConfig": [{"round_robin": {}}],
        "methodConfig": [
            {
                "name": [
                    {"service": "sdcgate.risk.v1.RiskService"},
                    {"service": "sdcgate.protection.v1.ProtectionService"},
                ],
                "retryPolicy": {**_ATTEMPTS, "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"]},
            },
            {
                "name": [
                    {"service": "sdcgate.facility.v1.FacilityService", "method": method}
                    for method in _QUESTIONS
                ],
                "retryPolicy": {**_ATTEMPTS, "retryableStatusCodes": ["CANCELLED"]},
            },
        ],
    }
)
"""Calls go in turn to all replicas. What a replica that ends or dies has not answered is asked of another:
of risk and protection always, as they keep nothing; of the facility what a replica gave up at its end, where
asking again has the same answer (what was decided is not decided twice)."""

Metadata = tuple[tuple[str, str | bytes], ...]


def channel_options(maximum_message_bytes: int) -> list[tuple[str, int | str]]:
    """Options of a channel between services."""
    return [
        ("grpc.service_config", SERVICE_CONFIG),
        # Replicas that are replaced one by one are elsewhere within seconds; half a minute is too late.
        ("grpc.dns_min_time_between_resolutions_ms", 2000),
        ("grpc.per_rpc_retry_buffer_size", KEPT_TO_ASK_AGAIN),
        ("grpc.max_receive_message_length", maximum_message_bytes),
        ("grpc.max_send_message_length", maximum_message_bytes),
        ("grpc.enable_http_proxy", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
        ("grpc.keepalive_time_ms", 300_000),
        ("grpc.max_metadata_size", 2 * MAXIMUM_ERROR_BYTES),
        ("grpc.absolute_max_metadata_size", 2 * MAXIMUM_ERROR_BYTES),
    ]


def connect(
    address: str,
    token: str,
    *,
    peer: Peer | None = None,
    deadline_seconds: float = 30.0,
    maximum_message_bytes: int = 64 * MEBIBYTE,
) -> grpc.Channel:
    """A channel to a service that shows `token` and sets `deadline_seconds` where a call sets none.

    Raises ValueError for plaintext beyond the loopback that was not asked for.
    """
    channel = bare_channel(address, peer or Peer(), maximum_message_bytes)
    return grpc.intercept_channel(channel, _Caller(token, deadline_seconds))


def bare_channel(address: str, peer: Peer, maximum_message_bytes: int = MEBIBYTE) -> grpc.Channel:
    """A channel to a service on which each call has to show a token of its own.

    Raises ValueError for plaintext beyond the loopback that was not asked for.
    """
    options = channel_options(maximum_message_bytes)
    credentials = channel_credentials(address, peer)
    if credentials is None:
        return grpc.insecure_channel(address, options)
    return grpc.secure_channel(address, credentials, options)


def channel_credentials(address: str, peer: Peer) -> grpc.ChannelCredentials | None:
    """Credentials of a channel, None for plaintext.

    Raises:
        OSError: a file cannot be read.
        ValueError: certificate and key cannot be used, or plaintext beyond the loopback was not asked for.
    """
    if peer.ca is not None:
        if peer.certificate is not None and peer.key is not None:
            check_pair(peer.certificate.read_bytes(), peer.key.read_bytes(), str(peer.certificate))
        return grpc.ssl_channel_credentials(peer.ca.read_bytes(), _read(peer.key), _read(peer.certificate))
    if not (peer.plaintext or is_loopback(address.rpartition(":")[0].strip("[]"))):
        raise ValueError(f"{address} is not the loopback: give a ca, or plaintext=true behind a mesh")
    return None


def _read(path: Path | None) -> bytes | None:
    return path.read_bytes() if path is not None else None


class _Caller(
    grpc.UnaryUnaryClientInterceptor, grpc.StreamUnaryClientInterceptor, grpc.StreamStreamClientInterceptor
):
    """Adds what every call between services carries."""

    def __init__(self, token: str, deadline_seconds: float) -> None:
        self._authorization = f"Bearer {token}"
        self._deadline = deadline_seconds

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        """Call with token, request id and deadline."""
        return continuation(self._details(client_call_details), request)

    def intercept_stream_unary(
        self, continuation: Any, client_call_details: Any, request_iterator: Any
    ) -> Any:
        """The same for a call that takes a stream."""
        return continuation(self._details(client_call_details), request_iterator)

    def intercept_stream_stream(
        self, continuation: Any, client_call_details: Any, request_iterator: Any
    ) -> Any:
        """The same for one that gives a stream, too."""
        return continuation(self._details(client_call_details), request_iterator)

    def _details(self, client_call_details: Any) -> "_Details":
        bound = structlog.contextvars.get_contextvars().get(REQUEST_ID)
        given = client_call_details.timeout
        seconds = given if given is not None else self._deadline
        metadata = (
            *(client_call_details.metadata or ()),
            (AUTHORIZATION_KEY, self._authorization),
            (REQUEST_ID_KEY, request_id(bound)),
            told(seconds),
            *carried(),
        )
        return _Details(client_call_details, metadata, seconds)


class _Details(grpc.ClientCallDetails):
    def __init__(self, given: Any, metadata: Metadata, seconds: float) -> None:
        self.method = given.method
        self.timeout = seconds
        self.metadata = metadata
        self.credentials = given.credentials
        self.wait_for_ready = given.wait_for_ready
        self.compression = given.compression
