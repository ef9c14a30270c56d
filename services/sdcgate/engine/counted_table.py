"""A table counted from a file of records, with all totals: units, records, and the keys of its cells."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.data_files import FileUnusable, column_names, read_columns
from sdcgate.engine.descriptor import DataFile
from sdcgate.engine.record_keys import unit_keys
from sdcgate.methods.cells import MISSING, TOTAL, Axis, IntArray, KeyArray, number_of_cells, shape_of
from sdcgate.methods.tables.cell_key import cell_keys

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CELLS = 1_000_000
SOURCE = "counted table"


@dataclass(frozen=True, slots=True, eq=False)
class CountedTable:
    """Cells of a table, row-major; every axis has its total last, before it `_U` where a code is missing."""

    axes: tuple[Axis, ...]
    units: IntArray = field(repr=False)
    records: IntArray = field(repr=False)
    keys: KeyArray | None = field(repr=False)
    """Sum of the keys of a cell's units modulo 2^64; None without a secret."""
    units_additive: bool
    """Whether every unit is in one inner cell only."""
    records_per_unit: int


def count_table(
    file: Path, dimensions: Sequence[str], unit: str = "", secret: bytes | None = None, delimiter: str = ""
) -> CountedTable:
    """Count the records of a file by some of its columns.

    `unit` is the column with the unit's id; without it each record is one. With a `secret` units have keys
    by it (`record_keys.unit_keys`), which needs `unit`.

    Raises ValueError, with what is wrong, for columns that are not there, a code `_T`, too many cells, and
    files that cannot be read.
    """
    if not dimensions or len(set(dimensions)) < len(dimensions):
        raise ValueError("name at least one column to count by, and none twice")
    if secret is not None and not unit:
        raise ValueError("keys need the column with the unit's id: the same units must have the same key")
    wanted = [*dimensions, *([unit] if unit and unit not in dimensions else [])]
    data = DataFile(path=file.name, delimiter=delimiter)
    try:
        lacking = [name for name in wanted if name not in column_names(file, data)]
        if lacking:
            raise ValueError(f"{file.name} has no column {', '.join(map(repr, lacking))}")
        table = read_columns(file, data, wanted)
    except FileUnusable as error:
        raise ValueError(f"{file.name}: {error}") from None
    return _counted(table, dimensions, unit, secret)


def _counted(table: "pa.Table", dimensions: Sequence[str], unit: str, secret: bytes | None) -> CountedTable:
    coded = [_codes(table, name) for name in dimensions]
    axes = tuple(_axis(name, codes) for name, (codes, _) in zip(dimensions, coded, strict=True))
    if number_of_cells(axes) > MOST_CELLS:
        raise ValueError(f"the table has {number_of_cells(axes)} cells; at most {MOST_CELLS} are counted")
    places = [positions for _, positions in coded]
    ids, owners = _codes(table, unit) if unit else ((), np.arange(table.num_rows))
    if unit and MISSING in ids:
        raise ValueError(f"the column {unit!r} has records without an id")
    cells, members = _memberships(axes, places, owners)
    records = np.bincount(cells, minlength=number_of_cells(axes))
    distinct = np.unique(np.column_stack([cells, members]), axis=0)
    units = np.bincount(distinct[:, 0], minlength=number_of_cells(axes))
    keys = None
    if secret is not None:
        own = unit_keys(ids, SOURCE, secret)
        keys = cell_keys(own[distinct[:, 1]], distinct[:, 0], number_of_cells(axes))
    inner = np.ravel_multi_index(tuple(places), shape_of(axes))
    alone = len(np.unique(np.column_stack([inner, owners]), axis=0)) == len(np.unique(owners))
    most = int(np.bincount(owners).max())
    return CountedTable(axes, units, records, keys, alone, most)


def _codes(table: "pa.Table", name: str) -> tuple[tuple[str, ...], IntArray]:
    """The codes of a column, sorted, `_U` last, and the position of each record's."""
    texts = np.array([text or MISSING for text in table[name].to_pylist()], dtype=object)
    codes = sorted(set(texts) - {MISSING}) + ([MISSING] if MISSING in texts else [])
    place = {code: position for position, code in enumerate(codes)}
    return tuple(codes), np.array([place[text] for text in texts], dtype=np.int64)


def _axis(name: str, codes: tuple[str, ...]) -> Axis:
    if TOTAL in codes:
        raise ValueError(f"the column {name!r} has a code {TOTAL}, which stands for totals")
    return Axis(name, name, (*codes, TOTAL), (len(codes),) * len(codes) + (-1,))


def _memberships(
    axes: tuple[Axis, ...], places: Sequence[IntArray], owners: IntArray
) -> tuple[IntArray, IntArray]:
    """Each record once for every cell that it lies in, totals included: the cell and the record's unit."""
    shape, cells = shape_of(axes), []
    for summed in product((False, True), repeat=len(axes)):
        codes = [
            np.full(len(owners), size - 1) if total else position
            for total, size, position in zip(summed, shape, places, strict=True)
        ]
        cells.append(np.ravel_multi_index(codes, shape).astype(np.int64))
    return np.concatenate(cells), np.tile(owners, len(cells))
