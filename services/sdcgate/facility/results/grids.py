"""Tables in CSV and Excel files as texts of cells: what a program would run, or cannot be read, is told."""

import csv
import io
import math
import re
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdcgate.facility.results.folder import MAXIMUM_BYTES
from sdcgate.facility.results.printed import Unreadable

if TYPE_CHECKING:
    import openpyxl

MAXIMUM_CELLS = 1_000_000
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_BESIDE = (
    (_SHEET, "other sheet", "other sheets"),
    (re.compile(r"xl/chart(s/chart|ex/|sheets/)[^/]*\.xml"), "chart", "charts"),
    (re.compile(r"xl/(media|embeddings)/.*"), "picture or embedded file", "pictures or embedded files"),
)
_NEEDED = re.compile(
    r"\[content_types\]\.xml|_rels/.*|docprops/(app|core)\.xml|xl/(workbook|styles|sharedstrings|calcchain)\.xml"
    r"|xl/(.*/)?_rels/.*|xl/theme/.*|xl/tables/.*|xl/printersettings/.*|.*/"
)
"""Parts of a workbook that hold no figure but those of its sheets."""
TOO_MANY = f"It has more than {MAXIMUM_CELLS} cells."
MISSING_TEXTS = frozenset({"", "nan", "na", "n/a", "none", "null", "<na>"})
SUPPRESSED_TEXTS = frozenset({"*", "**", "***", "x", "[c]", "..", ":", "suppressed", "withheld", "missing"})
"""What stands in place of a figure that was suppressed."""
_RUN = ("=", "+", "-", "@", "\t", "\r")
_ZIP = b"PK\x03\x04"

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A rectangle of texts, stripped."""

    rows: tuple[Row, ...] = field(repr=False)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.rows[0]) if self.rows else 0


def csv_grid(content: bytes) -> Grid:
    """The cells of a CSV file.

    Raises:
        Unreadable: it is no UTF-8 text, is ragged, too large, or holds text that a spreadsheet would run.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"It is no UTF-8 text (byte {error.start + 1}); save it as UTF-8.") from None
    if "\0" in text:
        raise Unreadable("It is no text: it has NUL characters.")
    try:
        rows = [tuple(map(str.strip, row)) for row in csv.reader(io.StringIO(text), strict=True) if row]
    except csv.Error as error:
        raise Unreadable(f"It is no CSV file: {error}.") from None
    return _checked(rows)


def excel_grid(content: bytes, sheet: str = "") -> Grid:
    """The cells of a sheet of an Excel file, the only one where none is named.

    Raises:
        Unreadable: it is no such file, has formulas, or the sheet is not there.
    """
    if not content.startswith(_ZIP):
        raise Unreadable("It is no Excel file (.xlsx).")
    try:
        import openpyxl
    except ImportError:
        raise Unreadable(
            "This facility reads no Excel files; send CSV. (Its operator can install sdcgate[excel].)"
        ) from None
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAXIMUM_BYTES:
                raise Unreadable(f"It has more than {MAXIMUM_BYTES} bytes when it is unpacked.")
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=False)
        return _sheet(book, sheet)
    except Unreadable:
        raise
    except Exception:
        # The library raises whatever a damaged file leads it to.
        raise Unreadable("It is no whole Excel file (.xlsx).") from None


def beside_the_sheet(content: bytes) -> tuple[str, ...]:
    """What an Excel file has beside the one sheet that is read of it, in words; nothing where that is all.

    The file is one that `excel_grid` has read.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        left = [name.lower() for name in archive.namelist() if not _NEEDED.fullmatch(name.lower())]
    found = []
    for kind, one, several in _BESIDE:
        number = sum(bool(kind.fullmatch(name)) for name in left) - (kind is _SHEET)
        found.append((number, one, several))
        left = [name for name in left if not kind.fullmatch(name)]
    found.append((len(left), "other part", "other parts"))
    return tuple(
        f"{number} {one if number == 1 else several}" for number, one, several in found if number > 0
    )


def _sheet(book: "openpyxl.Workbook", name: str) -> Grid:
    # Of a sheet that is a chart there are no cells.
    tables = {sheet.title: sheet for sheet in book.worksheets}
    if name and name not in tables:
        if name in book.sheetnames:
            raise Unreadable("The sheet that the side file names is a chart; name that of its table.")
        raise Unreadable("It has no sheet of the name that the side file gives.")
    if not tables:
        raise Unreadable("It has no sheet with cells.")
    if not name and len(tables) > 1:
        raise Unreadable(f"It has {len(tables)} sheets; name one as `sheet` in the side file.")
    rows: list[Row] = []
    cells = 0
    for row in tables[name or next(iter(tables))].iter_rows():
        if any(getattr(cell, "data_type", "") == "f" for cell in row):
            raise Unreadable("It holds formulas; save its values.")
        rows.append(tuple("" if cell.value is None else str(cell.value).strip() for cell in row))
        cells += len(row)
        if cells > MAXIMUM_CELLS:
            raise Unreadable(TOO_MANY)
    return _checked(_rectangle([row for row in rows if any(row)]))


def _rectangle(rows: list[Row]) -> list[Row]:
    """Rows with the empty cells at their ends that some programs leave out of an Excel file."""
    width = max(map(len, rows), default=0)
    if width * len(rows) > MAXIMUM_CELLS:
        raise Unreadable(TOO_MANY)
    return [row + ("",) * (width - len(row)) for row in rows]


def _checked(rows: list[Row]) -> Grid:
    if not rows:
        raise Unreadable("It is empty.")
    if sum(map(len, rows)) > MAXIMUM_CELLS:
        raise Unreadable(TOO_MANY)
    width = len(rows[0])
    for place, row in enumerate(rows):
        if len(row) != width:
            raise Unreadable(f"Row {place + 1} has {len(row)} cells, the first has {width}.")
        for column, text in enumerate(row):
            if text.startswith(_RUN) and not _is_number(text) and text != "-":
                where = f"Row {place + 1}, column {column + 1}"
                raise Unreadable(f"{where} holds text that a spreadsheet would run as a formula.")
    return Grid(tuple(rows))


def number(text: str, where: str) -> float | None:
    """The figure of a cell; None where it is missing or was suppressed.

    Raises:
        Unreadable: it is something else.
    """
    if text.lower() in MISSING_TEXTS or text.lower() in SUPPRESSED_TEXTS or text == "-":
        return None
    if not _is_number(text):
        raise Unreadable(f"{where} is no number.")
    value = float(text)
    if not math.isfinite(value):
        raise Unreadable(f"{where} is not a finite number.")
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
