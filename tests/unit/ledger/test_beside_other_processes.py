"""A command such as `sdcgate key create` opens the ledger beside the facility and closes it again."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from sdcgate.ledger.events import DecisionEvent
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing

CONNECTIONS = 4
COMMAND = """
import sys
from pathlib import Path
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing

ledger = Ledger.open(sys.argv[1], KeyRing.open(Path(sys.argv[2])), Path(sys.argv[3]))
print(ledger.head().sequence, ledger.verify().ok)
ledger.close()
"""


def test_what_is_appended_after_a_command_has_closed_the_ledger_is_there_for_everybody(
    ledger: Ledger,
    url: str,
    key_ring: KeyRing,
    heads_path: Path,
    tmp_path: Path,
    make_decision: Callable[..., DecisionEvent],
) -> None:
    def command() -> str:
        arguments = (url, str(tmp_path / "keys"), str(heads_path))
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    ledger.append_decision(make_decision(), 0)
    together = Barrier(CONNECTIONS)

    def read(_: int) -> None:
        with ledger.reading():
            together.wait(10)

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        list(threads.map(read, range(CONNECTIONS)))
    assert command() == "1 True"
    ledger.append_decision(make_decision(verdict="REFUSED", release=None, boxes=()), None)
    assert command() == "2 True"
