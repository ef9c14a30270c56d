"""What a killed facility left of its ledger, looked at in a copy: how far the last commit had come."""

import shutil
import sqlite3
import struct
from dataclasses import dataclass
from pathlib import Path

_WAL_HEADER = 32
_FRAME_HEADER = 24


@dataclass(frozen=True)
class Autopsy:
    """How a ledger on SQLite was found."""

    events: int
    """Events that are committed."""
    heads: int
    """Complete lines of the second place."""
    cut_head: bool
    """Whether a line was begun there."""
    cut_frames: int
    """Pages of a transaction that was begun to be written and not committed."""

    @property
    def cut_in_half(self) -> bool:
        """Whether a commit was under way: begun and not committed, or committed without its head."""
        return self.cut_frames > 0 or self.events > self.heads or self.cut_head


def look_at(state: Path, scratch: Path) -> Autopsy:
    """Copy a ledger whose facility is dead, and look at the copy."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    for name in ("ledger.sqlite", "ledger.sqlite-wal"):
        if (state / name).exists():
            shutil.copy(state / name, scratch / name)
    frames = _uncommitted_frames(scratch / "ledger.sqlite-wal")
    connection = sqlite3.connect(scratch / "ledger.sqlite")
    events = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    connection.close()
    heads = (state / "heads" / "heads.jsonl").read_bytes()
    return Autopsy(events, heads.count(b"\n"), bool(heads) and not heads.endswith(b"\n"), frames)


def _uncommitted_frames(wal: Path) -> int:
    """Whole frames after the last commit whose checksums go on from it: https://sqlite.org/fileformat2.html."""
    content = wal.read_bytes() if wal.exists() else b""
    if len(content) < _WAL_HEADER:
        return 0
    magic, _, page, _, salts, first, second = struct.unpack(">IIII8sII", content[:_WAL_HEADER])
    words = ">" if magic & 1 else "<"
    size = _FRAME_HEADER + page
    starts = []
    for start in range(_WAL_HEADER, len(content) - size + 1, size):
        if content[start + 8 : start + 16] != salts:
            break
        starts.append(start)
    committed = [at for at, start in enumerate(starts) if content[start + 4 : start + 8] != bytes(4)]
    after = committed[-1] + 1 if committed else 0
    if committed:
        last = starts[committed[-1]]
        first, second = struct.unpack(">II", content[last + 16 : last + 24])
    whole = 0
    for start in starts[after:]:
        first, second = _checksum(content[start : start + 8], words, first, second)
        first, second = _checksum(content[start + _FRAME_HEADER : start + size], words, first, second)
        if struct.unpack(">II", content[start + 16 : start + 24]) != (first, second):
            break
        whole += 1
    return whole


def _checksum(content: bytes, words: str, first: int, second: int) -> tuple[int, int]:
    for one, other in struct.iter_unpack(f"{words}II", content):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
