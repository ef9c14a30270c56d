"""Backups of the state folder: ledger, heads, snapshots, and the keys apart from them; and their way back.

A backup is a folder with `manifest.json`, which names every file with its size and SHA-256. The heads are
copied before the ledger, so that a copy never looks shorter than its heads say. A restore overwrites nothing,
checks everything before it writes, and puts the ledger last: one that was interrupted is simply done again.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from sdcgate.ledger.copying import copy_database, require_empty, restore_database
from sdcgate.ledger.events import timestamp_text
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.records import VerificationReport
from sdcgate.ledger.signing import KeyRing
from sdcgate.servers.settings import Settings
from sdcgate.servers.state_folder import only_one, open_ledger

MANIFEST = "manifest.json"
HEADS = Path("heads") / "heads.jsonl"
SNAPSHOTS = "snapshots"
KEYS = "keys"
DECISION_LOG = "decision-log"
FORMAT = 1
_CHUNK = 1 << 20


class BackupRefused(ValueError):
    """A backup cannot be made, or restored; all reasons that were found."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore found. `refusal` says why the ledger takes nothing until a loss is acknowledged."""

    report: VerificationReport
    refusal: str | None


def back_up(settings: Settings, folder: Path, keys: Path | None) -> VerificationReport:
    """Copy ledger, heads and snapshots into a new folder, and the keys into another; then verify the copy.

    A facility may answer meanwhile. Of PostgreSQL the ledger itself is verified, as a dump cannot be.

    Raises:
        BackupRefused: a folder is in use, or keys would lie with the ledger.
        LedgerError: ledger or copy cannot be read.
        OSError: something cannot be copied.
    """
    _require_new(folder, keys)
    state = settings.state_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _copy_complete_lines(state / HEADS, folder / HEADS)
    copy = copy_database(settings.ledger_address(), folder)
    for name in (SNAPSHOTS, DECISION_LOG):
        # A snapshot is written under a draft's name, and is never changed once it has its own.
        _copy_folder(state / name, folder / name)
    if keys is not None:
        _copy_folder(state / KEYS, keys)
    report = _verified(settings, folder, copy)
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": _sha256(path)}
        for path in _files(folder)
    }
    manifest = {
        "format": FORMAT,
        "software": version("sdcgate"),
        "made_at": timestamp_text(datetime.now(UTC)),
        "ledger": copy.name,
        "events": report.events,
        "files": files,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return report


def restore(
    settings: Settings,
    folder: Path,
    keys: Path | None,
    heads: Path | None,
    *,
    heads_of_backup: bool = False,
) -> Restored:
    """Put a backup where the settings say; the facility must be stopped and its ledger's place empty.

    The heads that are in their second place stay there: they show what the backup does not have. Where they
    are lost, `heads` is a copy that was kept elsewhere, or `heads_of_backup` says that there is none.

    Raises:
        BackupRefused: the backup is not as it was made, or its place is in use; nothing was written.
        LedgerError: the ledger cannot be put there, or not be opened.
        OSError: something cannot be copied.
    """
    manifest = _manifest_of(folder)
    state = settings.state_dir
    url = settings.ledger_address()
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(_stopped(state)):
        copy = folder / manifest["ledger"]
        require_empty(copy, url)
        moves = _moves(folder, state, keys, _heads_from(folder, state, heads, heads_of_backup))
        problems = [
            f"{target} is there already, and is another: move it away"
            for source, target in moves.items()
            if target.exists() and _sha256(source) != _sha256(target)
        ]
        _refuse(problems + _key_problems(state, moves))
        for source, target in moves.items():
            _put(source, target)
        restore_database(copy, url)
        ledger, _ = open_ledger(settings)
        with closing(ledger):
            return Restored(ledger.verify(), ledger.refusal())


def _stopped(state: Path) -> IO[str]:
    try:
        return only_one(state / "facility.lock")
    except RuntimeError:
        raise BackupRefused("a facility serves this state folder: stop it first") from None


def _require_new(folder: Path, keys: Path | None) -> None:
    named = [folder] if keys is None else [folder, keys]
    problems = [
        f"{one} is not empty: name a new folder" for one in named if one.exists() and any(one.iterdir())
    ]
    if keys is not None and keys.absolute().is_relative_to(folder.absolute()):
        problems.append("keys must not lie with the ledger: who has both can forge it")
    _refuse(problems)


def _verified(settings: Settings, folder: Path, copy: Path) -> VerificationReport:
    key_ring = KeyRing.open(settings.state_dir / KEYS / "ledger", create=False)
    sqlite = copy.name.endswith(".sqlite")
    url = f"sqlite:///{copy}" if sqlite else settings.ledger_address()
    heads = folder / HEADS if sqlite else settings.state_dir / HEADS
    with closing(Ledger(url, key_ring, heads)) as ledger:
        report = ledger.verify()
    _refuse([f"event {one.sequence}, {one.place}: {one.message}" for one in report.faults])
    return report


def _manifest_of(folder: Path) -> dict[str, Any]:
    """The manifest of a backup whose files are what it says."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
        known = manifest["format"] == FORMAT
        files: dict[str, Any] = {name: said["sha256"] for name, said in manifest["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise BackupRefused(f"{folder} is no backup that was made to its end: it has no manifest") from None
    if not known:
        raise BackupRefused(
            f"{folder} is a backup of another format: restore it with the sdcgate that made it"
        )
    there = {path.relative_to(folder).as_posix() for path in _files(folder)} - {MANIFEST}
    problems = [f"{name} is missing from the backup" for name in sorted(files.keys() - there)]
    problems += [f"{name} is not of the backup" for name in sorted(there - files.keys())]
    problems += [
        f"{name} is not what was backed up"
        for name in sorted(files.keys() & there)
        if _sha256(folder / name) != files[name]
    ]
    if manifest["ledger"] not in files:
        problems.append("the backup has no ledger")
    _refuse(problems)
    return manifest


def _heads_from(folder: Path, state: Path, heads: Path | None, heads_of_backup: bool) -> Path | None:
    """The heads that are to be put in the second place; None where it has heads."""
    if (state / HEADS).exists():
        _refuse(["the second place has heads, which stay: leave out the option"] * (heads is not None))
        return None
    if heads is not None:
        return heads
    if not heads_of_backup:
        raise BackupRefused(
            f"{state / HEADS} is gone, and the backup's own cannot show what left after it: name a copy that "
            "was kept elsewhere with --heads, or say with --heads-of-backup that there is none"
        )
    return folder / HEADS


def _moves(folder: Path, state: Path, keys: Path | None, heads: Path | None) -> dict[Path, Path]:
    """Where each file goes, the ledger apart."""
    moves = {} if heads is None else {heads: state / HEADS}
    folders = {SNAPSHOTS: folder / SNAPSHOTS, DECISION_LOG: folder / DECISION_LOG, KEYS: keys}
    for name, source in folders.items():
        if source is not None:
            moves |= {path: state / name / path.relative_to(source) for path in _files(source)}
    # How far receivers of the decision log were told is known better where they were told more.
    told = state / DECISION_LOG
    return {
        source: target for source, target in moves.items() if target.parent != told or not target.exists()
    }


def _key_problems(state: Path, moves: dict[Path, Path]) -> list[str]:
    ring = state / KEYS / "ledger"
    private = {target.name for target in moves.values() if target.parent == ring and target.suffix == ".key"}
    private |= {file.name for file in ring.glob("*.key")}
    if not private:
        return [f"{ring} has no signing key: name the backup of the keys with --keys"]
    if len(private) > 1:
        return ["the signing key was replaced since the backup: leave out --keys, or move the newer key away"]
    return []


def _copy_complete_lines(source: Path, target: Path) -> None:
    content = source.read_bytes() if source.exists() else b""
    target.parent.mkdir(mode=0o700, parents=True)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content[: content.rfind(b"\n") + 1])


def _copy_folder(source: Path, target: Path) -> None:
    if source.exists():
        ignored = shutil.ignore_patterns(".*")
        shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
        target.chmod(0o700)


def _put(source: Path, target: Path) -> None:
    if target.exists():
        return
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copy2(source, draft)
    draft.rename(target)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse(problems: list[str]) -> None:
    if problems:
        raise BackupRefused("; ".join(problems))
