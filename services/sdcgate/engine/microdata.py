"""A file of microdata, CSV, Parquet or Arrow, as its risk is assessed: named columns become codes.

No descriptor is needed: the values of a key variable are the texts that occur. `declared_microdata` reads a
file by its descriptor instead, at the levels that it registers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.data_files import FileUnusable, column_names, read_columns
from sdcgate.engine.descriptor import DataFile, DeclaredScenario
from sdcgate.engine.scenarios import check_scenarios, scenarios_of
from sdcgate.engine.table_columns import TableColumns, coded, lacking_columns
from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.file_numbers import ONE_RECORD, FileNumbers, NumberWidth
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.microdata import KeyVariable, Microdata
from sdcgate.methods.risk.threshold import Identifying

if TYPE_CHECKING:
    import pyarrow as pa

MAXIMUM_KEYS = 200
LEVELS = ("household", "stratum", "psu")
"""What units belong to, each to one."""
ONE_COLUMN = ("weight", "unit", "wave", "household", "interest", "stratum", "psu")


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
    scenarios: tuple[DeclaredScenario, ...] = ()
    """Disclosure scenarios; their keys are columns."""
    interest: str = ""
    """A variable of interest, of which recodings lose between-group variance."""
    numbers: tuple[NumberWidth, ...] = ()
    """Columns of numbers that an intruder knows nearly."""
    stratum: str = ""
    psu: str = ""
    """Primary sampling unit."""
    classes: tuple[tuple[str, Identifying], ...] = ()
    """Key variables that are more identifying than others, or less."""

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """All columns, each with the option that names it."""
        single = [(name, getattr(self, name)) for name in ONE_COLUMN]
        keys = [(f"keys[{position}]", key) for position, key in enumerate(self.keys)]
        sensitive = [(f"sensitive[{position}]", one) for position, one in enumerate(self.sensitive)]
        scenarios = [
            (f"scenarios[{position}].keys[{place}]", key)
            for position, scenario in enumerate(self.scenarios)
            for place, key in enumerate(scenario.keys)
        ]
        numbers = [(f"numbers[{position}].column", one.name) for position, one in enumerate(self.numbers)]
        return (
            *keys,
            *sensitive,
            *scenarios,
            *numbers,
            *((name, column) for name, column in single if column),
        )


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
        check_columns(columns, present)
        names = list(dict.fromkeys(column for _, column in columns.named))
        return microdata_of_table(read_columns(file, data, names), columns)
    except FileUnusable as error:
        raise MicrodataUnusable([("", f"{file.name}: {error}")]) from None


def microdata_of_table(table: "pa.Table", columns: MicrodataColumns) -> Microdata:
    """The named columns of an Arrow table. Raises MicrodataUnusable with all problems."""
    check_columns(columns, table.column_names)
    reading = TableColumns(table, columns.missing, [])
    if table.num_rows == 0:
        raise MicrodataUnusable([("", "the file has no records")])
    keys, codes = [], np.empty((table.num_rows, len(columns.keys)), dtype=np.int64, order="F")
    classes = dict(columns.classes)
    for position, name in enumerate(columns.keys):
        texts = reading.texts(f"keys[{position}]", name)
        if texts is not None:
            categories, codes[:, position] = coded(texts)
            keys.append(KeyVariable(name, categories, identifying=classes.get(name, Identifying.YES)))
    weights = reading.numbers("weight", columns.weight)
    unit_names, units = reading.ids("unit", columns.unit) or ((), None)
    waves = reading.numbers("wave", columns.wave)
    households, strata, psus = (_level(reading, columns, name, units) for name in LEVELS)
    interest = reading.numbers("interest", columns.interest)
    sensitive = []
    for position, name in enumerate(columns.sensitive):
        texts = reading.texts(f"sensitive[{position}]", name)
        if texts is not None:
            sensitive.append((name, coded(texts)[1]))
    numbers = _numbers(reading, columns.numbers)
    scenarios = scenarios_of(columns.scenarios, lambda path, name: _key(reading, path, name))
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
            unit_names=unit_names,
            waves=None if waves is None else waves.astype(np.int64),
            households=households,
            strata=strata,
            psus=psus,
            sensitive=tuple(sensitive),
            interest=interest,
            scenarios=scenarios,
            numbers=numbers,
        )
    except ValueError as error:
        raise MicrodataUnusable([("", str(error))]) from None


def _level(
    reading: TableColumns, columns: MicrodataColumns, name: str, units: IntArray | None
) -> IntArray | None:
    """The level of each record; that a unit belongs to several is a problem."""
    _, level = reading.ids(name, getattr(columns, name)) or ((), None)
    if units is not None and level is not None and min(units.min(), level.min()) >= 0:
        pairs = group_keys(np.column_stack([units, level]))
        several = int((np.bincount(units[pairs.first]) > 1).sum())
        if several:
            reading.problems.append((name, f"{several} units belong to several: each must have one"))
    return level


def _numbers(reading: TableColumns, widths: Sequence[NumberWidth]) -> FileNumbers | None:
    """The numbers that are compared; what is wrong with them becomes problems."""
    columns = []
    for position, one in enumerate(widths):
        path = f"numbers[{position}]"
        values = reading.numbers(f"{path}.column", one.name)
        if values is not None:
            columns.append(values)
            if one.relative:
                what = "without a number above 0, which a relative width needs"
                reading.complete(f"{path}.relative", one.name, values <= 0, what)
    return FileNumbers(tuple(widths), np.column_stack(columns)) if columns else None


def _key(reading: TableColumns, path: str, name: str) -> tuple[KeyVariable, IntArray] | None:
    texts = reading.texts(path, name)
    if texts is None:
        return None
    categories, codes = coded(texts)
    return KeyVariable(name, categories), codes


def check_columns(columns: MicrodataColumns, present: Sequence[str]) -> None:
    """Raises MicrodataUnusable with every option that is wrong or names no column that is present."""
    problems = check_scenarios(columns.scenarios, bool(columns.household))
    if not columns.keys:
        problems.append(("keys", "name at least one key variable"))
    if len(columns.keys) > MAXIMUM_KEYS:
        problems.append(("keys", f"at most {MAXIMUM_KEYS} key variables can be assessed together"))
    if len(set(columns.keys)) < len(columns.keys):
        problems.append(("keys", "a key variable stands more than once"))
    if set(columns.sensitive) & set(columns.keys):
        problems.append(("sensitive", "a sensitive variable cannot be a key variable too"))
    problems += _wrong_numbers(columns)
    problems += _wrong_classes(columns)
    problems += lacking_columns(columns.named, present)
    given = [name for name in ("weight", "fraction", "population") if getattr(columns, name)]
    if len(given) > 1:
        problems.append((given[1], f"leave it out: {given[0]} tells how many people a unit stands for"))
    if columns.fraction is not None and not 0.0 < columns.fraction <= 1.0:
        problems.append(("fraction", "must be above 0 and at most 1"))
    if columns.population is not None and not (np.isfinite(columns.population) and columns.population >= 1):
        problems.append(("population", "must be at least 1"))
    if problems:
        raise MicrodataUnusable(problems)


def _wrong_numbers(columns: MicrodataColumns) -> list[tuple[str, str]]:
    problems = [
        (f"numbers[{position}].{'relative' if one.relative else 'width'}", "must be finite and above 0")
        for position, one in enumerate(columns.numbers)
        if not (np.isfinite(one.width) and one.width > 0)
    ]
    if len({one.name for one in columns.numbers}) < len(columns.numbers):
        problems.append(("numbers", "a number stands more than once"))
    if columns.numbers and columns.unit:
        problems.append(("unit", ONE_RECORD))
    return problems


def _wrong_classes(columns: MicrodataColumns) -> list[tuple[str, str]]:
    named = [name for name, _ in columns.classes]
    problems = [
        (f"classes[{position}].key", f"{name!r} is no key variable; they are {', '.join(columns.keys)}")
        for position, name in enumerate(named)
        if name not in columns.keys
    ]
    if len(set(named)) < len(named):
        problems.append(("classes", "a key variable stands more than once"))
    return problems


def _fraction(columns: MicrodataColumns, units: IntArray | None, records: int) -> float | None:
    """The sampling fraction, of the units where a population is told."""
    if columns.population is None:
        return columns.fraction
    sampled = records if units is None else len(np.unique(units))
    if sampled > columns.population:
        message = f"the file has {sampled} units, more than the population"
        raise MicrodataUnusable([("population", message)])
    return sampled / columns.population
