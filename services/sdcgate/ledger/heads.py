"""The second place of the signed heads: a file, best on another disk, that shows a truncation.

One line a head, canonical JSON with sequence, hash, key id and signature. A last line without its end is what
a crash left and counts as not written.
"""

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sdcgate.ledger.chain import SignedHead
from sdcgate.ledger.errors import LedgerDamaged, LedgerUnavailable
from sdcgate.ledger.events import canonical_json
from sdcgate.ledger.signing import KeyRing

_TAIL = 4096


@dataclass(frozen=True, slots=True)
class HeadLine:
    """A line of the file; `head` is None where it cannot be read."""

    number: int
    head: SignedHead | None


class HeadsFile:
    """Appends heads durably, in the order of their sequence; processes on one machine may share it."""

    def __init__(self, path: Path, key_ring: KeyRing) -> None:
        self._path = path
        self._key_ring = key_ring
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._last: SignedHead | None = None

    @property
    def path(self) -> Path:
        """Where the heads are."""
        return self._path

    def lines(self) -> list[HeadLine]:
        """All complete lines; none where there is no file."""
        with self._reported():
            try:
                content = self._path.read_bytes()
            except FileNotFoundError:
                return []
        complete = content[: content.rfind(b"\n") + 1]
        return [
            HeadLine(number, _parsed(line)) for number, line in enumerate(complete.split(b"\n")[:-1], start=1)
        ]

    def last(self) -> SignedHead | None:
        """The newest head; None where there is none.

        Raises:
            LedgerDamaged: the last line is not a head that this ledger's keys signed.
            LedgerUnavailable: the file cannot be read.
        """
        with self._lock, self._reported():
            return self._read_last()

    def extend(self, newest: SignedHead, missing: Callable[[int], Iterable[SignedHead]]) -> None:
        """Append `newest` and, before it, what others committed but did not append yet.

        `missing(n)` gives the heads from sequence n to the newest.

        Raises:
            LedgerDamaged, LedgerUnavailable: as `last`, or the file cannot be written.
        """
        with self._lock, self._reported(), self._opened() as descriptor:
            last = self._read_last()
            reached = 0 if last is None else last.sequence
            if reached >= newest.sequence:
                return
            self._write(
                descriptor, [newest] if reached == newest.sequence - 1 else list(missing(reached + 1))
            )

    def append(self, heads: Iterable[SignedHead]) -> None:
        """Append heads whatever the file ends with: after an acknowledged truncation.

        Raises:
            LedgerUnavailable: the file cannot be written.
        """
        with self._lock, self._reported(), self._opened() as descriptor:
            self._write(descriptor, list(heads))

    def _read_last(self) -> SignedHead | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._seen = self._last = None
            return None
        if self._seen == (status.st_ino, status.st_size):
            return self._last
        with self._path.open("rb") as file:
            file.seek(max(0, status.st_size - _TAIL))
            tail = file.read()
        complete = tail[: tail.rfind(b"\n") + 1].splitlines()
        last = _parsed(complete[-1]) if complete else None
        if complete and (last is None or not last.is_signed_by(self._key_ring)):
            raise LedgerDamaged(f"the last line of {self._path} is not a head that this ledger's keys signed")
        self._seen, self._last = (status.st_ino, status.st_size), last
        return last

    def _write(self, descriptor: int, heads: list[SignedHead]) -> None:
        if not heads:
            return
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, _TAIL, max(0, size - _TAIL))
        if tail and not tail.endswith(b"\n"):
            os.ftruncate(descriptor, size - len(tail) + tail.rfind(b"\n") + 1)
        lines = b"".join(_spelt(head) for head in heads)
        while lines:
            lines = lines[os.write(descriptor, lines) :]
        os.fsync(descriptor)
        status = os.fstat(descriptor)
        self._seen, self._last = (status.st_ino, status.st_size), heads[-1]

    @contextmanager
    def _opened(self) -> Iterator[int]:
        new = not self._path.exists()
        if new:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)
        if new:
            flush_to_disk(self._path.parent)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LedgerUnavailable(
                f"the second place of the heads, {self._path}, cannot be used: {error.strerror}"
            ) from error


def _spelt(head: SignedHead) -> bytes:
    return (
        canonical_json(
            {
                "sequence": head.sequence,
                "hash": head.hash.hex(),
                "key_id": head.key_id,
                "signature": head.signature.hex(),
            }
        )
        + b"\n"
    )


def _parsed(line: bytes) -> SignedHead | None:
    try:
        value = json.loads(line)
        head = SignedHead(
            value["sequence"],
            bytes.fromhex(value["hash"]),
            value["key_id"],
            bytes.fromhex(value["signature"]),
        )
        return head if _spelt(head) == line + b"\n" else None
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError):
        return None


def flush_to_disk(path: Path) -> None:
    """Do not return before a file, or a folder's list of files, is on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
