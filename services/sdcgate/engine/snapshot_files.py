"""Snapshots as Parquet files in a folder: `<store>/<name>/v<version>/`.

A snapshot is written beside its place and renamed at the end, so a crash leaves none or a whole one.
"""

import hashlib
import os
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.registration import Prepared
from sdcgate.engine.snapshot import (
    ReadColumn,
    SnapshotDamaged,
    described,
    sealed,
    stored_columns,
    unsealed,
)

DATA_FILE = "data.parquet"
METADATA_FILE = "dataset.json"
_ROW_GROUP = 122_880
_CHUNK = 1 << 22


class SnapshotFiles:
    """Snapshots in a folder, sealed with a secret."""

    def __init__(self, store: Path, secret: bytes) -> None:
        self._store = store
        self._secret = secret
        self._verified: dict[Path, tuple[int, ...]] = {}

    def versions(self) -> dict[str, list[int]]:
        """Versions of each dataset, ascending, the datasets by name."""
        found: dict[str, list[int]] = {}
        for place in self._store.glob("*/v*"):
            if place.name[1:].isdigit() and not place.parent.name.startswith("."):
                found.setdefault(place.parent.name, []).append(int(place.name[1:]))
        return {name: sorted(numbers) for name, numbers in sorted(found.items())}

    def read(self, name: str, version: int) -> Dataset:
        """The metadata of a version. Raises SnapshotDamaged where they are not what was sealed."""
        try:
            text = (self._store / name / f"v{version}" / METADATA_FILE).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise SnapshotDamaged(f"{name} v{version}: metadata cannot be read") from None
        return unsealed(text, name, version, self._secret)

    def write(self, prepared: Prepared, version: int) -> Dataset:
        """Write a version. Raises FileExistsError where it is there already."""
        import pyarrow.parquet as pq

        folder = self._store / prepared.descriptor.name
        for made in (self._store, folder):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = folder / f"v{version}"
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
        try:
            data = draft / DATA_FILE
            os.close(os.open(data, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            pq.write_table(stored_columns(prepared), data, compression="lz4", row_group_size=_ROW_GROUP)
            dataset = described(prepared, version, _file_hash(data))
            metadata = draft / METADATA_FILE
            with os.fdopen(os.open(metadata, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as opened:
                opened.write(sealed(dataset, self._secret))
            for path in (data, metadata, draft):
                _flush(path)
            try:
                draft.rename(place)
            except OSError:
                if place.exists():
                    raise FileExistsError(f"version {version} of {folder.name} exists") from None
                raise
            _flush(folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return dataset

    def verify(self, dataset: Dataset) -> None:
        """That the file is the one that was written: at first, and whenever it was touched.

        Raises SnapshotDamaged.
        """
        file = data_file(self._store, dataset)
        try:
            found = file.stat()
            state = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
            if self._verified.get(file) == state:
                return
            hashed = _file_hash(file)
        except OSError:
            raise SnapshotDamaged(f"{dataset.name} v{dataset.version}: the data file is gone") from None
        if hashed != dataset.file_hash:
            raise SnapshotDamaged(f"{dataset.name} v{dataset.version}: the data file was changed")
        self._verified[file] = state

    def columns(self, dataset: Dataset) -> ReadColumn:
        """The columns of a dataset's records."""
        return partial(read_column, data_file(self._store, dataset))


def data_file(store: Path, dataset: Dataset) -> Path:
    """Where the Parquet file of a version lies."""
    return store / dataset.name / f"v{dataset.version}" / DATA_FILE


def read_column(file: Path, column: str) -> npt.NDArray[Any]:
    """One column of a snapshot's records."""
    import pyarrow.parquet as pq

    values: npt.NDArray[Any] = pq.read_table(file, columns=[column]).column(0).to_numpy()
    return values


def _file_hash(file: Path) -> str:
    """SHA-256 of a file, hexadecimal. Raises OSError where it cannot be read."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
