"""The chain: what an event's hash and a head's signature are made of."""

import hashlib
from dataclasses import dataclass

from sdcgate.ledger.events import canonical_json
from sdcgate.ledger.signing import KeyRing, Verifies

GENESIS = hashlib.sha256(b"sdcgate ledger 1").digest()
"""Hash of the head of an empty ledger."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where the ledger ends: number of its newest event and hash of the chain up to it, hexadecimal."""

    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head and its signature."""

    sequence: int
    hash: bytes
    key_id: str
    signature: bytes

    def is_signed_by(self, keys: Verifies) -> bool:
        """Whether one of the keys signed it."""
        return keys.verify(self.key_id, self.signature, _statement(self.sequence, self.hash))


def chain_hash(previous: bytes, body: bytes) -> bytes:
    """SHA-256 over the previous hash and the event's exact bytes, 32 bytes."""
    return hashlib.sha256(previous + body).digest()


def sign_head(key_ring: KeyRing, sequence: int, head_hash: bytes) -> SignedHead:
    """Sign a head with the key in use."""
    signature = key_ring.sign(_statement(sequence, head_hash))
    return SignedHead(sequence, head_hash, key_ring.key_id, signature)


def _statement(sequence: int, head_hash: bytes) -> bytes:
    # The first line keeps a head's signature from ever being taken for a certificate's.
    return b"sdcgate head 1\n" + canonical_json({"sequence": sequence, "hash": head_hash.hex()})
