"""What every process of a service does: listen for the signals to stop, and say where it listens."""

import gc
import json
import os
import signal
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any


class Signals:
    """Events of the first and the second signal to stop. Only the main thread can listen for signals."""

    def __init__(self) -> None:
        self.first = Event()
        self.second = Event()
        if current_thread() is main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._received)

    def _received(self, number: int, frame: Any) -> None:  # noqa: ARG002
        (self.second if self.first.is_set() else self.first).set()


def keep_what_is_there() -> None:
    """Let full collections pass over all that is there now, modules and what the warm-up has made.

    A process that has warmed up has a million objects that stay as long as it does: looking through them
    took a fifth of a second of whichever call came when a collection was due.
    """
    gc.collect()
    gc.freeze()


def write_ready_file(path: Path, address: str, metrics: str) -> None:
    """Say where a service listens, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(json.dumps({"address": address, "metrics": metrics}) + "\n", encoding="ascii")
    draft.replace(path)
