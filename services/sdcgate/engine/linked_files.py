"""Two files, original and released, as record linkage takes them: the same variables in the same codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.data_files import FileUnusable, column_names, read_columns
from sdcgate.engine.descriptor import DataFile
from sdcgate.engine.encoding import Texts, canonical
from sdcgate.engine.microdata import MicrodataUnusable
from sdcgate.engine.table_columns import TableColumns, by_size, coded, lacking_columns
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.file_linkage import LinkedFiles
from sdcgate.methods.risk.linkage import LARGEST_NUMBER, Records

if TYPE_CHECKING:
    import pyarrow as pa

MAXIMUM_VARIABLES = 200
FILES = ("original", "released")


class Kind(Enum):
    """What the values of a variable are."""

    NOMINAL = "nominal"
    """Categories: they agree or not."""
    ORDINAL = "ordinal"
    """Categories in an order; as numbers their places in it, from 0 to 1."""
    NUMERIC = "numeric"


@dataclass(frozen=True, slots=True)
class LinkedVariable:
    """A variable that both files have."""

    column: str
    kind: Kind
    released_column: str = ""
    """Its column in the released file; the same name where empty."""
    weight: float = 1.0
    order: tuple[str, ...] = ()
    """Of an ordinal variable its categories from low to high; by size, then by letter, where empty."""
    error: float | None = None
    """Standard deviation of the released number's error, where it is given."""
    rounding: float = 0.0
    """What the released number is rounded to multiples of; 0: it is not."""

    @property
    def columns(self) -> tuple[str, str]:
        """Its column in either file."""
        return self.column, self.released_column or self.column


@dataclass(frozen=True, slots=True)
class LinkedColumns:
    """Which columns of the files are what; empty: there is none."""

    variables: tuple[LinkedVariable, ...]
    unit_id: str = ""
    """Column with the id of a record's unit in both files: who is who."""
    same_order: bool = False
    """Whether record i of the released file was made from record i of the original."""
    blocks: tuple[str, ...] = ()
    """Columns of both files that must agree for two records to be compared."""
    count: str = ""
    """Column of the original with the number of people that a row stands for."""
    missing: tuple[str, ...] = ()
    """Texts that stand for a missing value, beside empty ones."""
    psu: str = ""
    """Column of the released file with the PSU."""
    keys: tuple[str, ...] = ()
    """Columns of the released file that are a person's key."""
    design_weight: str = ""
    """Column of the released file with the design weight."""
    size: str = ""
    """Column of the original with what PSUs were drawn in proportion to."""

    def named(self, file: int) -> list[tuple[str, str]]:
        """All columns of a file (0 the original, 1 the released), each with the option that names it."""
        of_variables = [
            (
                f"variables[{place}].{'released_column' if file and one.released_column else 'column'}",
                one.columns[file],
            )
            for place, one in enumerate(self.variables)
        ]
        blocks = [(f"blocks[{place}]", name) for place, name in enumerate(self.blocks)]
        single = [("id", self.unit_id)]
        single += (
            [("psu", self.psu), ("design_weight", self.design_weight)]
            if file
            else [("count", self.count), ("size", self.size)]
        )
        keys = [(f"keys[{place}]", name) for place, name in enumerate(self.keys if file else ())]
        return [*of_variables, *blocks, *keys, *((path, name) for path, name in single if name)]


def read_linked_files(
    original: Path, released: Path, columns: LinkedColumns, as_categories: bool, delimiter: str = ""
) -> LinkedFiles:
    """Read two files as linkage of records takes them. Raises MicrodataUnusable with all problems."""
    tables = read_linked_tables(original, released, columns, delimiter)
    return linked_files_of_tables(*tables, columns, as_categories)


def read_linked_tables(
    original: Path, released: Path, columns: LinkedColumns, delimiter: str = ""
) -> tuple["pa.Table", "pa.Table"]:
    """Read the named columns of two files. Raises MicrodataUnusable with all problems."""
    found: list[tuple[str, str]] = []
    tables = []
    for place, file in enumerate((original, released)):
        data = DataFile(path=file.name, delimiter=delimiter)
        names = list(dict.fromkeys(name for _, name in columns.named(place)))
        try:
            lacking = lacking_columns(columns.named(place), column_names(file, data))
            found += _of_file(place, lacking)
            if not lacking:
                tables.append(read_columns(file, data, names))
        except FileUnusable as error:
            found.append(("", f"{file.name}: {error}"))
    if found:
        raise MicrodataUnusable(found)
    return tables[0], tables[1]


def linked_files_of_tables(
    original: "pa.Table", released: "pa.Table", columns: LinkedColumns, as_categories: bool
) -> LinkedFiles:
    """The files of two Arrow tables.

    `as_categories`: ordinal variables are categories (for ways of linkage that compare values for equality),
    numbers are not taken. Raises MicrodataUnusable with all problems.
    """
    tables = (original, released)
    found = _check(columns, as_categories)
    for place, table in enumerate(tables):
        found += _of_file(place, lacking_columns(columns.named(place), table.column_names))
        if not table.num_rows:
            found.append((FILES[place], "has no records"))
    if found:
        raise MicrodataUnusable(found)
    reading = _Pair(*(TableColumns(table, columns.missing, []) for table in tables))
    numbers, codes = [], []
    for place, variable in enumerate(columns.variables):
        path = f"variables[{place}].column"
        if variable.kind is Kind.NUMERIC:
            numbers.append(reading.numbers(path, variable))
        elif variable.kind is Kind.ORDINAL and not as_categories:
            numbers.append(reading.places(path, variable))
        else:
            codes.append(reading.codes(path, variable.columns))
    blocks = [reading.codes(f"blocks[{place}]", (name, name)) for place, name in enumerate(columns.blocks)]
    truth = reading.truth(columns)
    counts = reading.original.numbers("count", columns.count)
    if counts is not None and not ((counts >= 1) & (counts == np.rint(counts)) & (counts < 2**53)).all():
        reading.original.problems.append(("count", "people must be whole numbers, at least 1"))
    problems = [*_of_file(0, reading.original.problems), *_of_file(1, reading.released.problems)]
    if problems:
        raise MicrodataUnusable(list(dict.fromkeys(problems)))
    records = [
        Records(
            _columns(numbers, place, table.num_rows, np.float64),
            _columns(codes, place, table.num_rows, np.int64),
            _columns(blocks, place, table.num_rows, np.int64) if columns.blocks else None,
        )
        for place, table in enumerate(tables)
    ]
    people = None if counts is None else counts.astype(np.int64)
    return LinkedFiles(records[0], records[1], truth, people)


def weights_in_order(columns: LinkedColumns) -> tuple[float, ...]:
    """The weights of the numbers, then of the categories, as the records have them."""
    numbers = [one.weight for one in columns.variables if one.kind is not Kind.NOMINAL]
    return (*numbers, *(one.weight for one in columns.variables if one.kind is Kind.NOMINAL))


@dataclass(frozen=True, slots=True)
class _Pair:
    """Columns of both files; None where they cannot be used, with a problem noted."""

    original: TableColumns
    released: TableColumns

    def numbers(self, path: str, variable: LinkedVariable) -> tuple[FloatArray, FloatArray] | None:
        found = []
        for file, name in zip((self.original, self.released), variable.columns, strict=True):
            numbers = file.numbers(path, name)
            if numbers is not None and (np.abs(numbers) > LARGEST_NUMBER).any():
                file.problems.append((path, f"column {name!r} has numbers beyond {LARGEST_NUMBER:g}"))
            found.append(numbers)
        return None if found[0] is None or found[1] is None else (found[0], found[1])

    def texts(self, path: str, names: tuple[str, str]) -> tuple[Texts, Texts] | None:
        first, second = self.original.texts(path, names[0]), self.released.texts(path, names[1])
        return None if first is None or second is None else (first, second)

    def codes(self, path: str, names: tuple[str, str]) -> tuple[IntArray, IntArray] | None:
        """Codes of the values of both files together, -1 where missing."""
        texts = self.texts(path, names)
        if texts is None:
            return None
        values, codes = zip(*(coded(one) for one in texts), strict=True)
        ordered = sorted({*values[0], *values[1]}, key=by_size)
        at = {value: code for code, value in enumerate(ordered)}
        first, second = (
            np.array([*(at[value] for value in own), -1], dtype=np.int64)[code]
            for own, code in zip(values, codes, strict=True)
        )
        return first, second

    def places(self, path: str, variable: LinkedVariable) -> tuple[FloatArray, FloatArray] | None:
        """Places of ordered categories from 0 to 1; none may be missing or beyond the order."""
        texts = self.texts(path, variable.columns)
        if texts is None:
            return None
        values = [coded(one) for one in texts]
        order = [canonical(value) for value in variable.order] or sorted(
            {*values[0][0], *values[1][0]}, key=by_size
        )
        at = {value: place for place, value in enumerate(order)}
        found = []
        for file, name, (own, codes) in zip(
            (self.original, self.released), variable.columns, values, strict=True
        ):
            places = np.array([*(at.get(value, -1) for value in own), -1], dtype=np.float64)[codes]
            file.complete(path, name, places < 0, "without a value of its order")
            found.append(places / max(len(order) - 1, 1))
        return found[0], found[1]

    def truth(self, columns: LinkedColumns) -> IntArray | None:
        """Position of each released record's original, -1 where there is none; None where nobody knows."""
        if columns.same_order:
            rows = self.released.table.num_rows
            if self.original.table.num_rows != rows:
                message = "the files have different numbers of records: name an id"
                self.released.problems.append(("same_order", message))
                return None
            return np.arange(rows)
        if not columns.unit_id:
            return None
        codes = self.codes("id", (columns.unit_id, columns.unit_id))
        if codes is None:
            return None
        for file, own in zip((self.original, self.released), codes, strict=True):
            file.complete("id", columns.unit_id, own < 0, "without an id")
            known = own[own >= 0]
            twice = len(known) - len(np.unique(known))
            if twice:
                file.problems.append(("id", f"stands {twice} times more than once: link files by units"))
        position = np.full(int(max(codes[0].max(), codes[1].max())) + 2, -1, dtype=np.int64)
        position[codes[0]] = np.arange(len(codes[0]))
        position[-1] = -1
        return position[codes[1]]


def _check(columns: LinkedColumns, as_categories: bool) -> list[tuple[str, str]]:
    found = []
    if not columns.variables:
        found.append(("variables", "name at least one variable"))
    if len(columns.variables) > MAXIMUM_VARIABLES:
        found.append(("variables", f"at most {MAXIMUM_VARIABLES} variables can be compared"))
    if columns.unit_id and columns.same_order:
        found.append(("same_order", "leave it out: the id tells who is who"))
    for place, variable in enumerate(columns.variables):
        path = f"variables[{place}]"
        if any(variable.column == other.column for other in columns.variables[:place]):
            found.append((path, f"column {variable.column!r} stands more than once"))
        if as_categories and variable.kind is Kind.NUMERIC:
            found.append((f"{path}.kind", "this method compares categories: put the numbers into bands"))
        if not (np.isfinite(variable.weight) and variable.weight >= 0):
            found.append((f"{path}.weight", "must be finite and at least 0"))
        if variable.order and variable.kind is not Kind.ORDINAL:
            found.append((f"{path}.order", "only an ordinal variable has an order"))
        if len({canonical(value) for value in variable.order}) < len(variable.order):
            found.append((f"{path}.order", "a value stands more than once"))
    return found


def _of_file(place: int, problems: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Problems of one of the files, which say of which."""
    return [(path, f"{FILES[place]}: {message}") for path, message in problems]


def _columns(
    columns: Sequence[tuple[np.ndarray, np.ndarray] | None], place: int, records: int, kind: type
) -> np.ndarray:
    own = [pair[place] for pair in columns if pair is not None]
    return np.column_stack(own).astype(kind) if own else np.zeros((records, 0), dtype=kind)
