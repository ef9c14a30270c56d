"""A Parquet file whose records are never held: DuckDB counts its keys, its risks are written in streams."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from sdcgate.engine.data_files import FileUnusable, column_names
from sdcgate.engine.database import ComputationFailed
from sdcgate.engine.descriptor import DataFile
from sdcgate.engine.duckdb_database import DuckdbDatabase
from sdcgate.engine.microdata import MicrodataColumns, MicrodataUnusable, check_columns
from sdcgate.engine.table_columns import TableColumns, coded
from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.counted_keys import CountedKeys, KeyRisks
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.microdata import KeyVariable

if TYPE_CHECKING:
    import pyarrow as pa

LARGE = 5_000_000
"""Records from which on a Parquet file is assessed by its keys alone."""
MEMORY = "1GB"
"""What DuckDB may take; what does not fit is put on disk for the moment."""
_ROWS, _PARTS = 1 << 17, 16
"""Rows of risks that are held at once: so many, or this part of the file."""
_NOT_COUNTED = ("unit", "wave", "household", "interest", "stratum", "psu")


@dataclass(frozen=True, slots=True, eq=False)
class CountedFile:
    """The keys of a file as they stand in it, and as they are counted."""

    file: Path
    names: tuple[str, ...]
    table: "pa.Table"
    """A row for each combination of values as written: columns key0, key1, ..."""
    group: IntArray
    """The key that each row of the table is, once 3 and 3.0 are the same value."""
    counted: CountedKeys


def records_of(file: Path) -> int:
    """Records of a Parquet file, by what it says itself; 0 for any other file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(file).num_rows)
    except (pa.ArrowException, ValueError, OSError):
        return 0


def can_be_counted(columns: MicrodataColumns) -> bool:
    """Whether all that is asked follows from keys, weights and sampling fractions."""
    of_records = any(getattr(columns, name) for name in _NOT_COUNTED)
    return not (of_records or columns.sensitive or columns.scenarios)


def count_keys(file: Path, columns: MicrodataColumns) -> CountedFile:
    """Count the keys of a Parquet file, and add up their weights, without holding its records.

    Raises MicrodataUnusable with what is wrong.
    """
    try:
        check_columns(columns, column_names(file, DataFile(path=file.name, format="PARQUET")))
    except FileUnusable as error:
        raise MicrodataUnusable([("", f"{file.name}: {error}")]) from None
    if not can_be_counted(columns):
        raise MicrodataUnusable([("", "keys can be counted only where each record is a unit of its own")])
    with _database(file) as database:
        if columns.weight:
            _check_weights(database, file, columns.weight)
        table = database.run(_count_sql(file, columns))
    return _counted(file, columns, table)


def write_risks(counted: CountedFile, risks: KeyRisks, destination: Path) -> None:
    """Write a row a record, in the file's order: its number, f, weight_sum and risk, as Parquet.

    An existing file is not replaced. Raises MicrodataUnusable where it cannot be written.
    """
    try:
        opened = destination.open("xb")
    except OSError as error:
        raise MicrodataUnusable([("", f"{destination} cannot be written: {error.strerror}")]) from None
    whole = False
    try:
        with opened:
            _write_rows(counted, risks, opened)
        whole = True
    except (OSError, MicrodataUnusable) as error:
        raise MicrodataUnusable([("", f"{destination} could not be written whole")]) from error
    finally:
        if not whole:
            destination.unlink()


def _write_rows(counted: CountedFile, risks: KeyRisks, opened: BinaryIO) -> None:
    """The rows of all records, so many at a time: however large the file, memory holds no more of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = pa.table(
        {
            **{f"key{place}": counted.table[f"key{place}"] for place in range(len(counted.names))},
            "f": risks.f[counted.group],
            "weight_sum": risks.weight_sums[counted.group],
            "risk": risks.risks[counted.group],
        }
    )
    columns = {"record": pa.int64(), "f": pa.int64(), "weight_sum": pa.float64(), "risk": pa.float64()}
    schema = pa.schema(columns.items())
    written, rows_at_once = 0, max(_ROWS, counted.counted.records // _PARTS)
    with _database(counted.file) as database, pq.ParquetWriter(opened, schema, compression="zstd") as writer:
        for begin in range(0, counted.counted.records, rows_at_once):
            rows = database.run(_risks_sql(counted, begin, begin + rows_at_once), {"counted_keys": keys})
            writer.write_table(rows.cast(schema))
            written += rows.num_rows
    if written != counted.counted.records:
        raise MicrodataUnusable([("", f"{counted.file.name} has changed since its keys were counted")])


def _risks_sql(counted: CountedFile, begin: int, end: int) -> str:
    same = " AND ".join(
        f"r.{_quoted(name)} IS NOT DISTINCT FROM k.key{place}" for place, name in enumerate(counted.names)
    )
    return (
        "SELECT r.file_row_number + 1 AS record, k.f, k.weight_sum, k.risk "  # noqa: S608
        f"FROM {_file(counted.file)} r JOIN counted_keys k ON {same} "
        f"WHERE r.file_row_number >= {begin} AND r.file_row_number < {end} ORDER BY record"
    )


@contextmanager
def _database(file: Path) -> Iterator[DuckdbDatabase]:
    with tempfile.TemporaryDirectory(prefix="sdcgate") as spill:
        database = DuckdbDatabase(file.resolve().parent, memory_limit=MEMORY, spill=Path(spill))
        try:
            yield database
        except ComputationFailed:
            raise MicrodataUnusable([("", f"{file.name} could not be counted: is it whole?")]) from None
        finally:
            database.close()


def _count_sql(file: Path, columns: MicrodataColumns) -> str:
    keys = ", ".join(f"{_quoted(name)} AS key{place}" for place, name in enumerate(columns.keys))
    places = ", ".join(str(place + 1) for place in range(len(columns.keys)))
    weight = f"TRY_CAST({_quoted(columns.weight)} AS DOUBLE)" if columns.weight else "1.0"
    return (
        f"SELECT {keys}, count(*) AS f, fsum({weight}) AS weight_sum, "  # noqa: S608
        f"min(file_row_number) AS first FROM {_file(file)} GROUP BY {places}"
    )


def _check_weights(database: DuckdbDatabase, file: Path, column: str) -> None:
    """Raises MicrodataUnusable where a weight is missing, no number, not finite or not above 0."""
    weight = f"TRY_CAST({_quoted(column)} AS DOUBLE)"
    wrong = f"NOT coalesce(isfinite({weight}) AND {weight} > 0, false)"
    found = database.run(
        f"SELECT count(*) AS number, min(file_row_number) AS first FROM {_file(file)} WHERE {wrong}"  # noqa: S608
    ).to_pylist()[0]
    if found["number"]:
        text = (
            f"column {column!r} has {found['number']} records without a finite number above 0, the first is "
            f"record {found['first'] + 1}"
        )
        raise MicrodataUnusable([("weight", text)])


def _counted(file: Path, columns: MicrodataColumns, table: "pa.Table") -> CountedFile:
    if table.num_rows == 0:
        raise MicrodataUnusable([("", "the file has no records")])
    reading = TableColumns(table, columns.missing, [])
    problems: list[tuple[str, str]] = []
    keys, codes = [], np.empty((table.num_rows, len(columns.keys)), dtype=np.int64, order="F")
    for place, name in enumerate(columns.keys):
        texts = reading.texts(f"keys[{place}]", f"key{place}")
        if texts is not None:
            categories, codes[:, place] = coded(texts)
            keys.append(KeyVariable(name, categories))
        else:
            problems.append((f"keys[{place}]", f"column {name!r} has a type that is no text, number or date"))
    if problems:
        raise MicrodataUnusable(problems)
    grouped = group_keys(codes)
    f, sums, first = (table[name].to_numpy() for name in ("f", "weight_sum", "first"))
    counts = np.zeros(len(grouped), dtype=np.int64)
    np.add.at(counts, grouped.group, f)
    firsts = np.full(len(grouped), np.iinfo(np.int64).max)
    np.minimum.at(firsts, grouped.group, first)
    weights = np.bincount(grouped.group, sums, len(grouped)).astype(np.float64)
    counted = CountedKeys(tuple(keys), codes[grouped.first], counts, weights, bool(columns.weight), firsts)
    return CountedFile(file, columns.keys, table, grouped.group, _with_fraction(counted, columns))


def _with_fraction(counted: CountedKeys, columns: MicrodataColumns) -> CountedKeys:
    """The sums of weights that a sampling fraction or a population tell, where there are no weights."""
    if columns.weight:
        return counted
    fraction = columns.fraction
    if columns.population is not None:
        if counted.records > columns.population:
            message = f"the file has {counted.records} units, more than the population"
            raise MicrodataUnusable([("population", message)])
        fraction = counted.records / columns.population
    return replace(counted, weight_sums=None if fraction is None else counted.counts / fraction)


def _file(file: Path) -> str:
    path = os.fspath(file.resolve()).replace("'", "''")
    return f"read_parquet('{path}', file_row_number = true)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
