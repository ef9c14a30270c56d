"""Data files of stewards: where they may lie, and reading their columns as texts."""

import codecs
import csv
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sdcgate.engine.descriptor import DataFile

if TYPE_CHECKING:
    import pyarrow as pa

PACKAGE = "package:"
_SHOWN = 5
_CHUNK = 1 << 24


class FileUnusable(Exception):
    """A file cannot be read; the message says why and never holds a record."""


def locate(path: str, data_root: Path) -> Path:
    """The file that a descriptor's path means: under the data root, or inside an installed package.

    Raises FileUnusable where it is absolute, leaves its root (by `..` or a link) or is no file.
    """
    inner = path
    root = data_root
    if path.startswith(PACKAGE):
        name, _, inner = path.removeprefix(PACKAGE).partition("/")
        root = _package_folder(name)
    if not inner or "\0" in inner or "\\" in inner or Path(inner).is_absolute() or ".." in Path(inner).parts:
        raise FileUnusable("give a path relative to the data root, without `..`")
    try:
        resolved = (root / inner).resolve()
        inside, there = resolved.is_relative_to(root.resolve()), resolved.is_file()
    except (OSError, RuntimeError, ValueError):
        # A name too long for the file system, links in a circle, letters that no file name has.
        inside, there = True, False
    if not inside:
        raise FileUnusable("the path leads out of the data root")
    if not there:
        raise FileUnusable("there is no such file under the data root")
    return resolved


def _package_folder(name: str) -> Path:
    try:
        found = importlib.util.find_spec(name) if name.isidentifier() else None
    except ValueError:  # a module that is no file, such as `__main__`
        found = None
    if found is None or not found.submodule_search_locations:
        raise FileUnusable(f"there is no installed package {name!r}")
    return Path(next(iter(found.submodule_search_locations)))


def format_of(data: DataFile) -> str:
    """CSV or PARQUET: as declared, else by the path's ending. Raises FileUnusable where neither says."""
    if data.format != "UNSPECIFIED":
        return data.format
    ending = Path(data.path).suffix.lower()
    if ending in (".csv", ".txt", ".tsv"):
        return "CSV"
    if ending in (".parquet", ".pq"):
        return "PARQUET"
    raise FileUnusable("declare the format: the path's ending is neither .csv nor .parquet")


def is_separator(text: str) -> bool:
    """Whether a text can separate the columns of a file: one ASCII character, no letter, digit or quote."""
    return len(text) == 1 and (text == "\t" or (" " <= text <= "~" and not text.isalnum() and text != '"'))


def column_names(file: Path, data: DataFile) -> list[str]:
    """Names of the columns. Raises FileUnusable for an empty, duplicate or unreadable header."""
    try:
        names = _parquet_names(file) if format_of(data) == "PARQUET" else _csv_names(file, data)
    except OSError:
        raise FileUnusable("cannot be read; is it still there, and may the facility read it?") from None
    if not names:
        raise FileUnusable("the file is empty; a header line and records are needed")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FileUnusable(f"columns occur twice: {', '.join(map(repr, twice[:_SHOWN]))}")
    return names


def _parquet_names(file: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(file).names)
    except (pa.ArrowException, ValueError, OSError):
        raise FileUnusable("is no readable Parquet file") from None


def _csv_names(file: Path, data: DataFile) -> list[str]:
    check_utf8(file)
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            return next(csv.reader(opened, delimiter=data.delimiter or ","), [])
    except csv.Error:
        raise FileUnusable("has no readable header line: check separator and quotes") from None


def check_utf8(file: Path) -> None:
    """Raises FileUnusable with the line of the first byte that is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with file.open("rb") as opened:
        while True:
            chunk = opened.read(_CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += chunk[: error.start].count(b"\n")
                raise FileUnusable(f"line {line} is not UTF-8; save the file as UTF-8") from None
            if not chunk:
                return
            line += chunk.count(b"\n")


def read_columns(file: Path, data: DataFile, columns: Sequence[str]) -> "pa.Table":
    """The named columns as dictionary-encoded texts, NULL where a Parquet file has it.

    Raises FileUnusable, for a ragged CSV file with the first lines concerned.
    """
    table = _read_parquet(file, columns) if format_of(data) == "PARQUET" else _read_csv(file, data, columns)
    if table.num_rows == 0:
        raise FileUnusable("the file has no records")
    return table


def _read_csv(file: Path, data: DataFile, columns: Sequence[str]) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    ragged: list[tuple[int, int, int]] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        ragged.append((row.number or 0, row.actual_columns, row.expected_columns))
        return "skip"

    try:
        table = arrow_csv.read_csv(
            file,
            # Row numbers are only known to a single thread.
            read_options=arrow_csv.ReadOptions(use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=data.delimiter or ",", newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string())
            ),
        )
    except (pa.ArrowException, ValueError, OSError):
        raise FileUnusable("is no readable CSV file: check separator and quotes") from None
    if ragged:
        shown = ", ".join(f"row {number} has {actual}" for number, actual, _ in ragged[:_SHOWN])
        raise FileUnusable(f"the header has {ragged[0][2]} columns, but {len(ragged)} rows differ: {shown}")
    return pa.table({name: table[name].dictionary_encode() for name in columns})


def _read_parquet(file: Path, columns: Sequence[str]) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file, columns=list(columns))
    except (pa.ArrowException, ValueError, OSError):
        raise FileUnusable("is no readable Parquet file") from None
    texts = {}
    for name in columns:
        column = table[name]
        try:
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            texts[name] = column.cast(pa.string()).dictionary_encode()
        except pa.ArrowException:
            raise FileUnusable(f"column {name!r} has a type that is not text, number or date") from None
    return pa.table(texts)
