"""What the facility keeps in its state folder: the ledger with its keys, its secrets, and the lock on it.

Commands that open the ledger beside the facility load no more than this.
"""

import fcntl
import os
import secrets
from pathlib import Path
from typing import IO

from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing
from sdcgate.servers.settings import Settings

SECRET_BYTES = 32


def open_ledger(settings: Settings) -> tuple[Ledger, KeyRing]:
    """The ledger of these settings, brought to its newest schema, and the keys that sign in it."""
    state = settings.state_dir
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    key_ring = KeyRing.open(state / "keys" / "ledger")
    return Ledger.open(settings.ledger_address(), key_ring, state / "heads" / "heads.jsonl"), key_ring


def only_one(path: Path) -> IO[str]:
    """Hold a lock as long as the file that is returned is open.

    Raises:
        RuntimeError: another process holds it.
    """
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise RuntimeError(
            "another facility serves this ledger; SQLite is for one process, more need PostgreSQL"
        ) from None
    return file


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
