"""Whole files of microdata: read with all columns, written anew in the same form."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sdcgate.engine.data_files import FileUnusable, column_names, format_of, read_columns
from sdcgate.engine.descriptor import DataFile
from sdcgate.engine.microdata import MicrodataUnusable

if TYPE_CHECKING:
    import pyarrow as pa


def read_whole(file: Path, delimiter: str = "") -> "pa.Table":
    """All columns of a CSV file, as texts, or of a Parquet file, in their types.

    Raises MicrodataUnusable where it cannot be read.
    """
    data = DataFile(path=file.name, delimiter=delimiter)
    try:
        names = column_names(file, data)
        if format_of(data) == "CSV":
            return read_columns(file, data, names)
        return _read_parquet(file)
    except FileUnusable as error:
        raise MicrodataUnusable([("", f"{file.name}: {error}")]) from None


def _read_parquet(file: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
    except (pa.ArrowException, ValueError, OSError):
        raise FileUnusable("is no readable Parquet file") from None
    if table.num_rows == 0:
        raise FileUnusable("the file has no records")
    return table


def write_whole(table: "pa.Table", file: Path, delimiter: str = "") -> None:
    """Write a table as CSV or Parquet, as the file's ending says, whole or not at all.

    An existing file is not replaced. Raises MicrodataUnusable where it cannot be written.
    """
    try:
        kind = format_of(DataFile(path=file.name))
    except FileUnusable:
        raise MicrodataUnusable([("out", f"{file.name} must end in .csv or .parquet")]) from None
    try:
        opened = file.open("xb")
    except OSError as error:
        raise MicrodataUnusable([("out", f"{file} cannot be written: {error.strerror}")]) from None
    whole = False
    try:
        with opened:
            if kind == "CSV":
                _write_csv(table, opened, delimiter or ",")
            else:
                import pyarrow.parquet as pq

                pq.write_table(table, opened, compression="zstd")
        whole = True
    except OSError as error:
        raise MicrodataUnusable([("out", f"{file} could not be written whole")]) from error
    finally:
        if not whole:
            file.unlink()


_ROWS = 1 << 16
"""Rows that are texts in memory at once."""


def _write_csv(table: "pa.Table", opened: BinaryIO, delimiter: str) -> None:
    from io import TextIOWrapper

    text = TextIOWrapper(opened, encoding="utf-8", newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(_ROWS):
        writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    text.flush()
    text.detach()
