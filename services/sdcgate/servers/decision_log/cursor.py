"""How far a sink has come: the last event that it took, kept in a file of the state folder."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """An event of the ledger; sequence 0 is before the first."""

    sequence: int = 0
    hash: str = ""


class Cursor:
    """The place of one sink. One process at a time may have it; the others wait, and take over."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Whether this process has the cursor while the context lasts."""
        with self._path.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def read(self) -> Place:
        """The place; the beginning where there is no file.

        Raises:
            ValueError: the file holds something else.
        """
        try:
            found = json.loads(self._path.read_bytes())
            return Place(int(found["sequence"]), str(found["hash"]))
        except FileNotFoundError:
            return Place()
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{self._path} does not hold a place in the ledger") from None

    def write(self, place: Place) -> None:
        """Keep a place, whole or not at all.

        Raises:
            OSError: it cannot be written.
        """
        draft = self._path.with_suffix(".new")
        with draft.open("w", encoding="ascii") as file:
            json.dump({"sequence": place.sequence, "hash": place.hash}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
