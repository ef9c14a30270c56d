"""What the facility keeps in its state folder: the ledger with its keys, locks, and what spills.

Commands that open the ledger beside the facility load no more than this.
"""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
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


@contextmanager
def spill_folder(parent: Path) -> Iterator[Path]:
    """A folder of this process alone; removed at the end, or by the next to come if this process is killed.

    DuckDB names what it spills by the process id, which is the same in all containers: two in one folder read
    each other's rows.
    """
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as kept:
        with (parent / "lock").open("w") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            _remove_abandoned(parent)
            own = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="of-", dir=parent)))
            fcntl.flock(kept.enter_context((own / "lock").open("w")), fcntl.LOCK_EX)
        yield own


def _remove_abandoned(parent: Path) -> None:
    for lock in parent.glob("of-*/lock"):
        with lock.open() as file, suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
