"""What the facility keeps in its state folder: the ledger with its keys, and the lock on it.

Commands that open the ledger beside the facility load no more than this.
"""

import fcntl
from pathlib import Path
from typing import IO

from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing
from sdcgate.servers.settings import Settings


def open_ledger(settings: Settings) -> tuple[Ledger, KeyRing]:
    """The ledger of these settings, brought to its newest schema, and the keys that sign in it."""
    state = settings.state_dir
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    key_ring = KeyRing.open(state / "keys" / "ledger")
    url = settings.ledger_url or f"sqlite:///{state / 'ledger.sqlite'}"
    return Ledger.open(url, key_ring, state / "heads" / "heads.jsonl"), key_ring


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
