"""Certificates verified by what the documentation says of them, with nothing of ours."""

import base64
import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_public_key


def is_certified(decision: dict[str, Any], public_key: str) -> bool:
    """Whether a certificate is of this very decision."""
    certificate = decision["certificate"]
    bare = {name: value for name, value in decision.items() if name != "certificate"}
    digest = hashlib.sha256(canonical(bare)).hexdigest()
    signed = {name: certificate[name] for name in ("sequence", "head", "answer_digest", "key_id")}
    statement = {**signed, "query": decision["query"], "verdict": decision["verdict"]}
    key = load_pem_public_key(public_key.encode())
    try:
        key.verify(
            base64.b64decode(certificate["signature"]), b"sdcgate certificate 1\n" + canonical(statement)
        )
    except InvalidSignature:
        return False
    return digest == certificate["answer_digest"]


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
