"""Secrets of an installation, each in a file of its own."""

import os
import secrets
from pathlib import Path

SECRET_BYTES = 32


def secret(path: Path) -> bytes:
    """A secret of this installation, made once, readable by its owner only.

    Raises:
        ValueError: the file holds something else.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        kept = path.read_bytes()
        if len(kept) != SECRET_BYTES:
            raise ValueError(f"{path} does not hold a secret of {SECRET_BYTES} bytes") from None
        return kept
    with os.fdopen(descriptor, "wb") as file:
        made = secrets.token_bytes(SECRET_BYTES)
        file.write(made)
        file.flush()
        os.fsync(file.fileno())
    return made
