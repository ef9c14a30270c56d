"""Certificates: the signed record of an answer, verifiable offline with the public key alone.

The signature is Ed25519 over the line `sdcgate certificate 1` and the canonical JSON of the certificate's
other fields. The answer's digest is SHA-256 of exactly what was answered, without the certificate.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass

from sdcgate.ledger.events import canonical_json
from sdcgate.ledger.signing import KeyRing, Verifies, verify_with_pem


@dataclass(frozen=True, slots=True)
class Certificate:
    """The signed record of an answer; `head` and `answer_digest` hexadecimal, `signature` base64."""

    sequence: int
    head: str
    query: str
    verdict: str
    answer_digest: str
    key_id: str
    signature: str

    @property
    def signature_bytes(self) -> bytes:
        """The signature; empty where it is not base64."""
        try:
            return base64.b64decode(self.signature, validate=True)
        except (binascii.Error, ValueError):
            return b""

    def statement(self) -> bytes:
        """What is signed."""
        return b"sdcgate certificate 1\n" + canonical_json(
            {
                "sequence": self.sequence,
                "head": self.head,
                "query": self.query,
                "verdict": self.verdict,
                "answer_digest": self.answer_digest,
                "key_id": self.key_id,
            }
        )

    def is_signed_by(self, keys: Verifies) -> bool:
        """Whether one of the keys signed it."""
        return keys.verify(self.key_id, self.signature_bytes, self.statement())


def issue(
    key_ring: KeyRing, sequence: int, head: bytes, query: str, verdict: str, answer_digest: str
) -> Certificate:
    """Sign the record of an answer with the key in use."""
    unsigned = Certificate(sequence, head.hex(), query, verdict, answer_digest, key_ring.key_id, "")
    return stored(unsigned, key_ring.sign(unsigned.statement()))


def stored(certificate: Certificate, signature: bytes) -> Certificate:
    """The certificate with this signature."""
    return Certificate(
        certificate.sequence,
        certificate.head,
        certificate.query,
        certificate.verdict,
        certificate.answer_digest,
        certificate.key_id,
        base64.b64encode(signature).decode(),
    )


def verify_certificate(certificate: Certificate, answer: bytes, public_key_pem: bytes) -> bool:
    """Whether the facility's key signed that this query was answered by exactly these bytes.

    `public_key_pem` is one public key or several, one after the other. Needs no ledger and no network.
    """
    return certificate.answer_digest == hashlib.sha256(answer).hexdigest() and verify_with_pem(
        public_key_pem, certificate.key_id, certificate.signature_bytes, certificate.statement()
    )
