"""The Ed25519 keys that sign heads and certificates, on disk.

A ring is a folder: `<key id>.key` is the private key in use (PEM, only its owner reads it), `<key id>.pub` is
the public key of it and of every key before it. A key id is the first 16 hexadecimal digits of the SHA-256 of
the raw public key.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from sdcgate.ledger.errors import LedgerError

_END = b"-----END PUBLIC KEY-----"


class KeyRingError(LedgerError):
    """The folder of the signing keys cannot be used."""


class KeyRing:
    """Signs with the key in use, verifies with it and all keys before it."""

    def __init__(
        self, directory: Path, private: Ed25519PrivateKey, public: dict[str, Ed25519PublicKey]
    ) -> None:
        self._directory = directory
        self._private = private
        self._public = public
        self._key_id = key_id_of(private.public_key())

    def __repr__(self) -> str:
        return f"KeyRing({str(self._directory)!r}, key_id={self._key_id!r})"

    @classmethod
    def open(cls, directory: Path, *, create: bool = True) -> "KeyRing":
        """Read the ring; make its first key where the folder is empty and `create` is true.

        Raises:
            KeyRingError: no private key or several, one that others may read, or no Ed25519 key.
        """
        if create:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not _private_files(directory):
                with _locked(directory):
                    if not any(directory.glob("*.key")) and not any(directory.glob("*.pub")):
                        _write_pair(directory, Ed25519PrivateKey.generate())
        return cls._read(directory)

    @classmethod
    def _read(cls, directory: Path) -> "KeyRing":
        files = _private_files(directory)
        if len(files) != 1:
            found = ", ".join(sorted(file.name for file in files)) or "none"
            raise KeyRingError(f"{directory} must hold exactly one private key (*.key); found: {found}")
        if files[0].stat().st_mode & 0o027:
            raise KeyRingError(f"others may read or change {files[0]}; run: chmod 600 {files[0]}")
        private = _load_private(files[0])
        public = {}
        for file in sorted(directory.glob("*.pub")):
            key = _load_public(file.read_bytes())
            if key is None or key_id_of(key) != file.stem:
                raise KeyRingError(f"{file} is not the Ed25519 public key that its name says")
            public[file.stem] = key
        public[key_id_of(private.public_key())] = private.public_key()
        return cls(directory, private, public)

    @property
    def key_id(self) -> str:
        """Id of the key in use."""
        return self._key_id

    @property
    def key_ids(self) -> frozenset[str]:
        """Ids of all keys that verify."""
        return frozenset(self._public)

    def sign(self, statement: bytes) -> bytes:
        """Signature of the key in use, 64 bytes."""
        return self._private.sign(statement)

    def verify(self, key_id: str, signature: bytes, statement: bytes) -> bool:
        """Whether a key of this ring made the signature."""
        key = self._public.get(key_id)
        return key is not None and _holds(key, signature, statement)

    def public_pem(self, key_id: str | None = None) -> bytes:
        """Public key in PEM: the one in use, or one before it.

        Raises:
            KeyError: the ring has no such key.
        """
        return _pem(self._public[key_id or self._key_id])

    def public_bundle(self) -> bytes:
        """All public keys in PEM, one after the other: verifies certificates of any age."""
        return b"".join(_pem(self._public[key_id]) for key_id in sorted(self._public))

    def rotate(self) -> str:
        """Replace the key in use by a new one, with the facility stopped; returns the new key's id.

        The old private key is deleted: nothing can be signed in its name any more.
        """
        old = self._directory / f"{self._key_id}.key"
        with _locked(self._directory):
            private = Ed25519PrivateKey.generate()
            _write_new(old.with_suffix(".pub"), self.public_pem(), 0o644, exist_ok=True)
            _write_pair(self._directory, private)
            old.unlink()
        self._private = private
        self._key_id = key_id_of(private.public_key())
        self._public[self._key_id] = private.public_key()
        return self._key_id


def key_id_of(key: Ed25519PublicKey) -> str:
    """First 16 hexadecimal digits of the SHA-256 of the raw public key."""
    return hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]


class Verifies(Protocol):
    """Public keys, wherever they come from."""

    def verify(self, key_id: str, signature: bytes, statement: bytes) -> bool:
        """Whether the key of this id made the signature."""


class PublicKeys:
    """The public keys of a PEM text, one or several; what in it is no Ed25519 key is left out."""

    def __init__(self, pem: bytes) -> None:
        read = (_load_public(part + _END) for part in pem.split(_END)[:-1])
        self._keys = {key_id_of(key): key for key in read if key is not None}

    def verify(self, key_id: str, signature: bytes, statement: bytes) -> bool:
        """Whether one of these keys has this id and made the signature."""
        key = self._keys.get(key_id)
        return key is not None and _holds(key, signature, statement)


def verify_with_pem(public_key_pem: bytes, key_id: str, signature: bytes, statement: bytes) -> bool:
    """Whether the key of this id, one of those in the PEM text, made the signature. Needs no ring."""
    return PublicKeys(public_key_pem).verify(key_id, signature, statement)


def _holds(key: Ed25519PublicKey, signature: bytes, statement: bytes) -> bool:
    try:
        key.verify(signature, statement)
    except InvalidSignature:
        return False
    return True


def _pem(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _load_public(pem: bytes) -> Ed25519PublicKey | None:
    try:
        key = load_pem_public_key(pem.strip())
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, Ed25519PublicKey) else None


def _load_private(file: Path) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(file.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm, OSError):
        raise KeyRingError(f"{file} cannot be read as an unencrypted private key in PEM") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyRingError(f"{file} is not an Ed25519 key")
    return key


def _private_files(directory: Path) -> list[Path]:
    return list(directory.glob("*.key"))


def _write_pair(directory: Path, private: Ed25519PrivateKey) -> None:
    # The public key goes first: an interruption must not leave a private key that nobody can verify.
    name = key_id_of(private.public_key())
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    _write_new(directory / f"{name}.pub", _pem(private.public_key()), 0o644)
    _write_new(directory / f"{name}.key", pem, 0o600)


def _write_new(path: Path, content: bytes, mode: int, *, exist_ok: bool = False) -> None:
    if exist_ok and path.exists():
        return
    # Under a name of its own first: another process must never read half a key.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory / ".lock", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
