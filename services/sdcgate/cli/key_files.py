"""Secrets that a person keeps in a file of his own."""

from pathlib import Path

KEY_BYTES = 32


def secret_of(file: Path) -> bytes:
    """The secret of a key file. Raises ValueError unless it has the right length."""
    secret = file.read_bytes()
    if len(secret) != KEY_BYTES:
        how = f"`head -c {KEY_BYTES} /dev/urandom > {file.name}` makes one"
        raise ValueError(f"{file.name} has {len(secret)} bytes, not {KEY_BYTES}; {how}")
    return secret
