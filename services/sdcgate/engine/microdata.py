"""A file of microdata, CSV, Parquet or Arrow, as its risk is assessed: named columns become codes.

No descriptor is needed: the values of a key variable are the texts that occur. `declared_microdata` reads a
file by its descriptor instead, at the levels that it registers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.code_lists import quoted
from sdcgate.engine.data_files import FileUnusable, column_names, read_columns
from sdcgate.engine.descriptor import DataFile
from sdcgate.engine.encoding import Texts, canonical, number_of, read_texts
from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.risk.microdata import KeyVariable, Microdata

if TYPE_CHECKING:
    import pyarrow as pa

MAXIMUM_KEYS = 200


@dataclass(frozen=True, slots=True)
class MicrodataColumns:
    """Which columns of a file are what; empty: there is none."""

    keys: tuple[str, ...]
    weight: str = ""
    unit: str = ""
    """Id of the unit; each record is a unit where empty."""
    wave: str = ""
    """Number of the wave; records of a unit are numbered as they stand where empty."""
    household: str = ""
    fraction: float | None = None
    """Sampling fraction, where there are no weights."""
    population: float | None = None
    """Units in the population, where there are neither weights nor a fraction."""
    sensitive: tuple[str, ...] = ()
    """Columns of sensitive variables."""
    missing: tuple[str, ...] = field(default=())
    """Texts that stand for a missing value, beside empty ones."""

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """All columns, each with the option that names it."""
        single = [(name, getattr(self, name)) for name in ("weight", "unit", "wave", "household")]
        keys = [(f"keys[{position}]", key) for position, key in enumerate(self.keys)]
        sensitive = [(f"sensitive[{position}]", one) for position, one in enumerate(self.sensitive)]
        return (*keys, *sensitive, *((name, column) for name, column in single if column))


class MicrodataUnusable(ValueError):
    """A file cannot be assessed as it was asked; `problems` are options and messages, never a value."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{path}: {message}" if path else message for path, message in problems))


def read_microdata(file: Path, columns: MicrodataColumns, delimiter: str = "") -> Microdata:
    """Read the named columns of a file. Raises MicrodataUnusable with all problems."""
    data = DataFile(path=file.name, delimiter=delimiter)
    try:
        present = column_names(file, data)
        _check(columns, present)
        names = list(dict.fromkeys(column for _, column in columns.named))
        return microdata_of_table(read_columns(file, data, names), columns)
    except FileUnusable as error:
        raise MicrodataUnusable([("", f"{file.name}: {error}")]) from None


def microdata_of_table(table: "pa.Table", columns: MicrodataColumns) -> Microdata:
    """The named columns of an Arrow table. Raises MicrodataUnusable with all problems."""
    _check(columns, table.column_names)
    reading = _Reading(table, columns, [])
    if table.num_rows == 0:
        raise MicrodataUnusable([("", "the file has no records")])
    keys, codes = [], np.empty((table.num_rows, len(columns.keys)), dtype=np.int64, order="F")
    for position, name in enumerate(columns.keys):
        texts = reading.texts(f"keys[{position}]", name)
        if texts is not None:
            categories, codes[:, position] = coded(texts)
            keys.append(KeyVariable(name, categories))
    weights = reading.numbers("weight", columns.weight)
    units = reading.ids("unit", columns.unit)
    waves = reading.numbers("wave", columns.wave)
    households = reading.ids("household", columns.household)
    sensitive = []
    for position, name in enumerate(columns.sensitive):
        texts = reading.texts(f"sensitive[{position}]", name)
        if texts is not None:
            sensitive.append((name, coded(texts)[1]))
    if waves is not None and not (waves == np.rint(waves)).all():
        reading.problems.append(("wave", "waves must be whole numbers"))
    if reading.problems:
        raise MicrodataUnusable(reading.problems)
    fraction = _fraction(columns, units, table.num_rows)
    try:
        return Microdata(
            keys=tuple(keys),
            codes=codes,
            weights=weights,
            fraction=fraction,
            units=units,
            waves=None if waves is None else waves.astype(np.int64),
            households=households,
            sensitive=tuple(sensitive),
        )
    except ValueError as error:
        raise MicrodataUnusable([("", str(error))]) from None


def coded(texts: Texts) -> tuple[tuple[str, ...], IntArray]:
    """The values of a column in order, numbers by their size, and each row's code; -1 where missing."""
    names = [canonical(text) for text in texts.distinct]
    occurring = {name for name, rows in zip(names, texts.rows.tolist(), strict=True) if rows}
    ordered = tuple(sorted(occurring, key=_order))
    places = {name: place for place, name in enumerate(ordered)}
    code = np.array([*(places.get(name, -1) for name in names), -1], dtype=np.int64)
    return ordered, code[texts.index]


def _order(name: str) -> tuple[bool, float, str]:
    number = number_of(name)
    return (np.isnan(number), 0.0 if np.isnan(number) else number, name)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One pass over a table; a column that cannot be used adds a problem and is None."""

    table: "pa.Table"
    columns: MicrodataColumns
    problems: list[tuple[str, str]]

    def texts(self, path: str, name: str) -> Texts | None:
        import pyarrow as pa

        column = self.table[name]
        if not pa.types.is_dictionary(column.type) or not pa.types.is_string(column.type.value_type):
            try:
                if pa.types.is_dictionary(column.type):
                    column = column.cast(column.type.value_type)
                column = column.cast(pa.string()).dictionary_encode()
            except pa.ArrowException:
                self.problems.append((path, f"column {name!r} has a type that is no text, number or date"))
                return None
        return read_texts(column, self.columns.missing)

    def numbers(self, path: str, name: str) -> FloatArray | None:
        """A column of numbers, all finite and there; None where no column is named."""
        texts = self.texts(path, name) if name else None
        if texts is None:
            return None
        of_texts = np.array([*(number_of(text) for text in texts.distinct), np.nan])
        numbers: FloatArray = of_texts[texts.index]
        self._complete(path, name, ~np.isfinite(numbers), "without a finite number")
        return numbers

    def ids(self, path: str, name: str) -> IntArray | None:
        texts = self.texts(path, name) if name else None
        if texts is None:
            return None
        _, codes = coded(texts)
        self._complete(path, name, codes < 0, "without an id")
        return codes

    def _complete(self, path: str, name: str, lacking: BoolArray, what: str) -> None:
        if lacking.any():
            first = int(np.argmax(lacking)) + 1
            text = f"column {name!r} has {int(lacking.sum())} records {what}, the first is record {first}"
            self.problems.append((path, text))


def _check(columns: MicrodataColumns, present: Sequence[str]) -> None:
    problems = []
    if not columns.keys:
        problems.append(("keys", "name at least one key variable"))
    if len(columns.keys) > MAXIMUM_KEYS:
        problems.append(("keys", f"at most {MAXIMUM_KEYS} key variables can be assessed together"))
    if len(set(columns.keys)) < len(columns.keys):
        problems.append(("keys", "a key variable stands more than once"))
    if set(columns.sensitive) & set(columns.keys):
        problems.append(("sensitive", "a sensitive variable cannot be a key variable too"))
    for path, column in columns.named:
        if column not in present:
            near = get_close_matches(column, present, n=3)
            hint = f"; the nearest are {quoted(near)}" if near else ""
            problems.append((path, f"the file has no column {column!r}{hint}"))
    given = [name for name in ("weight", "fraction", "population") if getattr(columns, name)]
    if len(given) > 1:
        problems.append((given[1], f"leave it out: {given[0]} tells how many people a unit stands for"))
    if columns.fraction is not None and not 0.0 < columns.fraction <= 1.0:
        problems.append(("fraction", "must be above 0 and at most 1"))
    if columns.population is not None and not (np.isfinite(columns.population) and columns.population >= 1):
        problems.append(("population", "must be at least 1"))
    if problems:
        raise MicrodataUnusable(problems)


def _fraction(columns: MicrodataColumns, units: IntArray | None, records: int) -> float | None:
    """The sampling fraction, of the units where a population is told."""
    if columns.population is None:
        return columns.fraction
    sampled = records if units is None else len(np.unique(units))
    if sampled > columns.population:
        message = f"the file has {sampled} units, more than the population"
        raise MicrodataUnusable([("population", message)])
    return sampled / columns.population
