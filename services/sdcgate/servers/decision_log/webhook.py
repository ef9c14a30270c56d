"""Deliveries to a webhook: JSON, signed where there is a secret, as Standard Webhooks 1.0 says.

The signature is `v1,` and base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sdcgate.servers.decision_log.entries import Entry
from sdcgate.servers.decision_log.sinks import Encode

SECRET_PREFIX = "whsec_"  # noqa: S105


def webhook_batch(secret_file: Path | None, clock: Callable[[], float] = time.time) -> Encode:
    """How a batch is sent: `{"events": [...]}`; its id is the hash of its last event."""

    def encode(entries: Sequence[Entry]) -> tuple[bytes, Mapping[str, str]]:
        body = json.dumps({"events": entries}, separators=(",", ":"), ensure_ascii=False).encode()
        headers = {
            "Content-Type": "application/json",
            "webhook-id": entries[-1]["hash"],
            "webhook-timestamp": str(int(clock())),
        }
        if secret_file is not None:
            headers["webhook-signature"] = signature(secret_of(secret_file), headers, body)
        return body, headers

    return encode


def signature(secret: bytes, headers: Mapping[str, str], body: bytes) -> str:
    """The signature of a delivery."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


def secret_of(path: Path) -> bytes:
    """The secret in a file: base64 after `whsec_`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it holds something else.
    """
    text = path.read_text(encoding="ascii").strip()
    if not text.startswith(SECRET_PREFIX):
        raise ValueError(f"{path} must hold {SECRET_PREFIX} and a secret in base64")
    return base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
