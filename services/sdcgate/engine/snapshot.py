"""Immutable snapshots of datasets: a Parquet file and its metadata, `<store>/<name>/v<version>/`.

A snapshot is written beside its place and renamed at the end, so a crash leaves none or a whole one. Its
metadata carry a keyed seal, the Parquet file's SHA-256, and a content hash that does not depend on the order
of the source file; because it covers secret keys and marks, it says nothing to who does not have the secret.
"""

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sdcgate.engine.code_lists import LevelCodes
from sdcgate.engine.dataset import Dataset, MeasureProfile, Variation
from sdcgate.engine.descriptor import Descriptor
from sdcgate.engine.registration import Prepared

if TYPE_CHECKING:
    import pyarrow as pa

DATA_FILE = "data.parquet"
METADATA_FILE = "dataset.json"
_ROW_GROUP = 122_880
_CHUNK = 1 << 22


class SnapshotDamaged(RuntimeError):
    """A snapshot has vanished or is not what was written; nothing may be computed from it."""


def content_hash(prepared: Prepared) -> str:
    """SHA-256 over names and bytes of all columns in the snapshot's order, hexadecimal."""
    digest = hashlib.sha256()
    for name, values in sorted(prepared.columns.items()):
        digest.update(f"{name} {values.dtype.str} {len(values)}\n".encode())
        digest.update(values.tobytes())
        if name in prepared.valid:
            digest.update(np.packbits(prepared.valid[name]).tobytes())
    return digest.hexdigest()


def same_content(dataset: Dataset, prepared: Prepared) -> bool:
    """Whether a registered version has this very content, descriptor and code lists."""
    return (
        dataset.content_hash == content_hash(prepared)
        and dataset.descriptor == prepared.descriptor
        and plain_lists(dataset.code_lists) == plain_lists(prepared.code_lists)
    )


def write_snapshot(prepared: Prepared, store: Path, version: int, secret: bytes) -> Dataset:
    """Writes a version. Raises FileExistsError where that version is there already."""
    import pyarrow.parquet as pq

    folder = store / prepared.descriptor.name
    for made in (store, folder):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = folder / f"v{version}"
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
    try:
        data = draft / DATA_FILE
        os.close(os.open(data, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        pq.write_table(_arrow(prepared), data, compression="lz4", row_group_size=_ROW_GROUP)
        dataset = _dataset(prepared, version, file_hash(data))
        metadata = draft / METADATA_FILE
        with os.fdopen(os.open(metadata, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as opened:
            opened.write(_sealed(dataset, secret))
        for path in (data, metadata, draft):
            _flush(path)
        try:
            draft.rename(place)
        except OSError:
            if place.exists():
                raise FileExistsError(f"version {version} of {prepared.descriptor.name} exists") from None
            raise
        _flush(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return dataset


def read_snapshot(place: Path, secret: bytes) -> Dataset:
    """The metadata of a version. Raises SnapshotDamaged where they are not what this secret sealed."""
    try:
        text = (place / METADATA_FILE).read_text(encoding="utf-8")
        seal, _, body = text.partition("\n")
        if _seal(body, secret) != seal:
            raise SnapshotDamaged(
                f"{place.parent.name} {place.name}: metadata were changed or the secret differs"
            )
        return _from_plain(json.loads(body))
    except (OSError, UnicodeDecodeError, ValueError):
        raise SnapshotDamaged(f"{place.parent.name} {place.name}: metadata cannot be read") from None


def versions(store: Path) -> dict[str, list[int]]:
    """Versions of each dataset that the store holds, ascending."""
    found: dict[str, list[int]] = {}
    for place in store.glob("*/v*"):
        if place.name[1:].isdigit() and not place.parent.name.startswith("."):
            found.setdefault(place.parent.name, []).append(int(place.name[1:]))
    return {name: sorted(numbers) for name, numbers in sorted(found.items())}


def data_file(store: Path, dataset: Dataset) -> Path:
    """Where the Parquet file of a version lies."""
    return store / dataset.name / f"v{dataset.version}" / DATA_FILE


def read_column(file: Path, column: str) -> npt.NDArray[Any]:
    """One column of a snapshot's records."""
    import pyarrow.parquet as pq

    values: npt.NDArray[Any] = pq.read_table(file, columns=[column]).column(0).to_numpy()
    return values


def file_hash(file: Path) -> str:
    """SHA-256 of a file, hexadecimal. Raises SnapshotDamaged where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with file.open("rb") as opened:
            while chunk := opened.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        raise SnapshotDamaged(
            f"{file.parent.parent.name} {file.parent.name}: the data file is gone"
        ) from None
    return digest.hexdigest()


def _arrow(prepared: Prepared) -> "pa.Table":
    import pyarrow as pa

    columns = {
        name: pa.array(values, mask=~prepared.valid[name]) if name in prepared.valid else pa.array(values)
        for name, values in prepared.columns.items()
    }
    return pa.table(columns)


def _dataset(prepared: Prepared, version: int, hashed: str) -> Dataset:
    descriptor = prepared.descriptor
    return Dataset(
        name=descriptor.name,
        version=version,
        source=descriptor.source or descriptor.name,
        label=descriptor.label or descriptor.name,
        descriptor=descriptor,
        unit_label=descriptor.unit.label or "unit",
        weighted=descriptor.weight is not None,
        n_units=prepared.n_units,
        n_records=len(prepared.columns["unit"]),
        records_per_unit=prepared.records_per_unit,
        content_hash=content_hash(prepared),
        file_hash=hashed,
        weight_bounds=prepared.weight_bounds,
        household=prepared.household,
        code_lists=prepared.code_lists,
        variation=prepared.variation,
        profiles=prepared.profiles,
        records_per_holding=prepared.records_per_holding,
        additive=prepared.additive,
    )


def plain_lists(code_lists: Any) -> dict[str, list[dict[str, Any]]]:
    """Code lists as they are written, which can be compared."""
    return {name: [asdict(level) for level in levels] for name, levels in code_lists.items()}


_PLAIN_FIELDS = (
    "name", "version", "source", "label", "unit_label", "weighted", "n_units", "n_records",
    "records_per_unit", "content_hash", "file_hash", "household",
)  # fmt: skip


def _sealed(dataset: Dataset, secret: bytes) -> str:
    plain = {name: getattr(dataset, name) for name in _PLAIN_FIELDS}
    plain |= {
        "weight_bounds": list(dataset.weight_bounds),
        "records_per_holding": dataset.records_per_holding,
        "additive": dataset.additive,
        "descriptor": dataset.descriptor.model_dump(mode="json"),
        "code_lists": plain_lists(dataset.code_lists),
        "variation": {name: _plain_variation(varies) for name, varies in dataset.variation.items()},
        "profiles": {name: asdict(profile) for name, profile in dataset.profiles.items()},
    }
    body = json.dumps(plain, allow_nan=False)
    return f"{_seal(body, secret)}\n{body}"


def _seal(body: str, secret: bytes) -> str:
    return hashlib.blake2b(body.encode(), key=secret, person=b"sdcgate metadata", digest_size=32).hexdigest()


def _from_plain(plain: dict[str, Any]) -> Dataset:
    lower, upper = plain["weight_bounds"]
    return Dataset(
        **{name: plain[name] for name in _PLAIN_FIELDS},
        weight_bounds=(lower, upper),
        descriptor=Descriptor.model_validate(plain["descriptor"]),
        code_lists={name: tuple(map(_level, levels)) for name, levels in plain["code_lists"].items()},
        variation={
            name: Variation(
                tuple(varies["within_unit"]),
                tuple(varies["within_household"]),
                _mask(varies["occurring"]),
                varies["determined_by"],
                tuple(varies["decided"]),
                # Snapshots of earlier versions know of no holdings.
                tuple(varies.get("within_holding", ())),
            )
            for name, varies in plain["variation"].items()
        },
        profiles={name: MeasureProfile(**profile) for name, profile in plain["profiles"].items()},
        records_per_holding=plain.get("records_per_holding", 0),
        additive=tuple(map(tuple, plain.get("additive", ()))),
    )


def _plain_variation(varies: Variation) -> dict[str, Any]:
    # Hexadecimal: Python writes no decimal number of more than 4300 digits, and a mask has a bit a code.
    return asdict(varies) | {"occurring": hex(varies.occurring)}


def _mask(plain: str | int) -> int:
    """A mask as it was written: hexadecimal, or a number in snapshots of sdcgate 0.1."""
    return int(plain, 16) if isinstance(plain, str) else plain


def _level(plain: dict[str, Any]) -> LevelCodes:
    return LevelCodes(
        plain["name"], plain["label"], tuple(plain["codes"]), tuple(plain["labels"]), tuple(plain["members"])
    )


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
