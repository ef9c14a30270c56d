"""Immutable snapshots of datasets: what is common to all places where they lie.

A snapshot is the records and its metadata. Metadata carry a keyed seal, a hash of the records as they lie
there, and a content hash that does not depend on the order of the source file; because it covers secret keys
and marks, it says nothing to who does not have the secret.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sdcgate.engine.code_lists import LevelCodes
from sdcgate.engine.dataset import Dataset, MeasureProfile, Variation
from sdcgate.engine.descriptor import Descriptor
from sdcgate.engine.registration import Prepared

if TYPE_CHECKING:
    import pyarrow as pa

ReadColumn = Callable[[str], npt.NDArray[Any]]
"""One column of a snapshot's records by its name, in the snapshot's order; NaN where a measure is missing."""


class SnapshotDamaged(RuntimeError):
    """A snapshot has vanished or is not what was written; nothing may be computed from it."""


class Snapshots(Protocol):
    """Where snapshots lie."""

    def versions(self) -> dict[str, list[int]]:
        """Versions of each dataset, ascending, the datasets by name."""

    def read(self, name: str, version: int) -> Dataset:
        """The metadata of a version. Raises SnapshotDamaged where they are not what was sealed."""

    def write(self, prepared: Prepared, version: int) -> Dataset:
        """Write a version: whole, or not at all. Raises FileExistsError where it is there already."""

    def verify(self, dataset: Dataset) -> None:
        """That the records are those that were written: at first, and whenever they were touched.

        Raises SnapshotDamaged.
        """

    def columns(self, dataset: Dataset) -> ReadColumn:
        """The columns of a dataset's records."""


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


def stored_columns(prepared: Prepared) -> "pa.Table":
    """The columns of a snapshot, as they are written."""
    import pyarrow as pa

    columns = {
        name: pa.array(values, mask=~prepared.valid[name]) if name in prepared.valid else pa.array(values)
        for name, values in prepared.columns.items()
    }
    return pa.table(columns)


def described(prepared: Prepared, version: int, hashed: str) -> Dataset:
    """A version of a prepared dataset, of which `hashed` is the hash of the records as they lie."""
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


def sealed(dataset: Dataset, secret: bytes) -> str:
    """The metadata of a dataset as a text with its seal."""
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


def unsealed(text: str, name: str, version: int, secret: bytes) -> Dataset:
    """The metadata that a text holds. Raises SnapshotDamaged where they are not what this secret sealed."""
    seal, _, body = text.partition("\n")
    if _seal(body, secret) != seal:
        raise SnapshotDamaged(f"{name} v{version}: metadata were changed or the secret differs")
    try:
        return _from_plain(json.loads(body))
    except ValueError:
        raise SnapshotDamaged(f"{name} v{version}: metadata cannot be read") from None


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
