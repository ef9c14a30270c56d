"""Reading and checking a dataset against its descriptor: all problems at once, or arrays for a snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from sdcgate.engine.additive_measures import additive_measures
from sdcgate.engine.code_lists import MOST_CODES, LevelCodes, declared_codes, quoted, resolve_levels
from sdcgate.engine.data_files import (
    FileUnusable,
    column_names,
    format_of,
    is_separator,
    locate,
    read_columns,
)
from sdcgate.engine.dataset import MeasureProfile, Variation, code_type, constant_weight, level_column
from sdcgate.engine.descriptor import Descriptor, DescriptorInvalid, DescriptorProblem, Variable
from sdcgate.engine.descriptor_checks import check_descriptor
from sdcgate.engine.exclusive import check_exclusive
from sdcgate.engine.municipalities import check_municipalities
from sdcgate.engine.record_columns import RecordColumns
from sdcgate.engine.record_keys import content_words, record_marks, unit_keys
from sdcgate.engine.variation import Columns, check_constant, check_wave, variation_of
from sdcgate.methods.cells import BoolArray, IntArray, KeyArray

if TYPE_CHECKING:
    import pyarrow as pa


HOUSEHOLD_ID = "id of the household"
"""Among what a record's mark is made of; no variable has this name."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A checked dataset as columns sorted by unit, ready to be written. Hidden from repr."""

    descriptor: Descriptor
    code_lists: Mapping[str, tuple[LevelCodes, ...]] = field(repr=False)
    columns: Columns = field(repr=False)
    valid: Mapping[str, BoolArray] = field(repr=False)
    """Which rows have a value, by measure column."""
    profiles: Mapping[str, MeasureProfile] = field(repr=False)
    variation: Mapping[str, Variation] = field(repr=False)
    n_units: int = field(repr=False)
    records_per_unit: int = field(repr=False)
    weight_bounds: tuple[float, float] = field(repr=False)
    household: Literal["", "id", "size"]
    records_per_holding: int = field(default=0, repr=False)
    additive: tuple[tuple[str, ...], ...] = ()
    unit_ids: tuple[str, ...] = field(default=(), repr=False)
    """Each unit's id, in no order; none where the records are the units."""


def prepare(descriptor: Descriptor, data_root: Path, secret: bytes) -> Prepared:
    """Reads and checks a dataset. Raises DescriptorInvalid with every problem of descriptor and data."""
    problems = check_descriptor(descriptor)
    code_lists = _code_lists(descriptor, data_root, problems)
    problems += check_municipalities(descriptor, code_lists)
    problems += check_exclusive(descriptor, code_lists)
    table = _read(descriptor, data_root, problems)
    if table is None:
        raise DescriptorInvalid(tuple(problems))
    prepared = _encode(descriptor, code_lists, table, secret, problems)
    if problems or prepared is None:
        raise DescriptorInvalid(tuple(problems))
    return prepared


def read_declared(
    descriptor: Descriptor, data_root: Path
) -> tuple[Mapping[str, tuple[LevelCodes, ...]], "pa.Table"]:
    """Code lists and declared columns of a file. Raises DescriptorInvalid; values are not looked at."""
    problems = check_descriptor(descriptor)
    code_lists = _code_lists(descriptor, data_root, problems)
    table = _read(descriptor, data_root, problems)
    if problems or table is None:
        raise DescriptorInvalid(tuple(problems))
    return code_lists, table


def _code_lists(
    descriptor: Descriptor, data_root: Path, problems: list[DescriptorProblem]
) -> dict[str, tuple[LevelCodes, ...]]:
    lists: dict[str, tuple[LevelCodes, ...]] = {}
    codes = 0
    for position, variable in enumerate(descriptor.variables):
        path = f"variables[{position}]"
        codes += declared_codes(variable)
        if codes > MOST_CODES:
            message = f"the code lists up to here have more than {MOST_CODES} codes; declare coarser ones"
            problems.append(DescriptorProblem(f"{path}.levels", message))
            break
        file = None
        if variable.hierarchy is not None:
            try:
                file = locate(variable.hierarchy.path, data_root)
            except FileUnusable as error:
                problems.append(DescriptorProblem(f"{path}.hierarchy.path", str(error)))
                continue
        levels = resolve_levels(variable, path, file, problems)
        if levels and variable.name not in lists:
            _check_missing_texts(descriptor, variable, path, levels[0], problems)
            lists[variable.name] = levels
    return lists


def _check_missing_texts(
    descriptor: Descriptor,
    variable: Variable,
    path: str,
    finest: LevelCodes,
    problems: list[DescriptorProblem],
) -> None:
    both = [text for text in (*variable.missing, *descriptor.data.missing) if text in finest.codes[:-1]]
    if both:
        problems.append(
            DescriptorProblem(f"{path}.missing", f"{quoted(both)} are codes too: they cannot mean missing")
        )


def _wanted_columns(descriptor: Descriptor) -> dict[str, str]:
    """Path in the descriptor of each column that is read."""
    wanted: dict[str, str] = {}
    if descriptor.unit.column:
        wanted["unit.column"] = descriptor.unit.column
    if descriptor.household is not None:
        wanted["household.column"] = descriptor.household.column
        wanted["household.size_column"] = descriptor.household.size_column
    if descriptor.holding is not None:
        wanted["holding.column"] = descriptor.holding.column
    if descriptor.waiver is not None:
        wanted["waiver.column"] = descriptor.waiver.column
    if descriptor.weight is not None:
        wanted["weight.column"] = descriptor.weight.column
    for position, variable in enumerate(descriptor.variables):
        wanted[f"variables[{position}].column"] = variable.column or variable.name
    for position, measure in enumerate(descriptor.measures):
        wanted[f"measures[{position}].column"] = measure.column or measure.name
    return {path: column for path, column in wanted.items() if column}


def _read(descriptor: Descriptor, data_root: Path, problems: list[DescriptorProblem]) -> "pa.Table | None":
    """The declared columns that the file has; None where it cannot be read at all."""
    delimiter = descriptor.data.delimiter
    if not descriptor.data.path or (delimiter and not is_separator(delimiter)):
        return None
    try:
        file = locate(descriptor.data.path, data_root)
        format_of(descriptor.data)
        present = column_names(file, descriptor.data)
    except FileUnusable as error:
        problems.append(DescriptorProblem("data.path", str(error)))
        return None
    wanted = _wanted_columns(descriptor)
    for path, column in wanted.items():
        if column not in present:
            near = get_close_matches(column, present, n=3)
            hint = f"; the nearest are {quoted(near)}" if near else ""
            problems.append(DescriptorProblem(path, f"the file has no column {column!r}{hint}"))
    columns = sorted({column for column in wanted.values() if column in present})
    if not columns:
        return None
    try:
        return read_columns(file, descriptor.data, columns)
    except FileUnusable as error:
        problems.append(DescriptorProblem("data.path", str(error)))
        return None


def _encode(
    descriptor: Descriptor,
    code_lists: Mapping[str, tuple[LevelCodes, ...]],
    table: "pa.Table",
    secret: bytes,
    problems: list[DescriptorProblem],
) -> Prepared | None:
    """Encodes every column, then, if all could be, sorts by unit and checks what holds within units."""
    reading = RecordColumns(descriptor, code_lists, table, problems)
    units = reading.unit_ids()
    finest: dict[str, IntArray] = {}
    for position, variable in enumerate(descriptor.variables):
        codes = reading.variable(position, variable)
        if codes is not None:
            finest[variable.name] = codes
    numbers: Columns = {}
    valid: dict[str, BoolArray] = {}
    for position, measure in enumerate(descriptor.measures):
        encoded = reading.measure(position, measure)
        if encoded is not None:
            numbers[f"m{position}"], valid[f"m{position}"] = encoded
    households = reading.household_ids()
    extra = {
        "weight": reading.weights(),
        "household": reading.household_shares() if households is None else households[1],
        "holding": reading.holding(units),
        "waiver": reading.waiver(),
    }
    for name, column in extra.items():
        if column is not None:
            numbers[name] = column
    names = {variable.name for variable in descriptor.variables}
    if units is None or set(finest) != names or len(valid) < len(descriptor.measures):
        return None
    ids, place = units
    keys = unit_keys(ids, descriptor.source or descriptor.name, secret)[place]
    sorting = _Sorting(descriptor, code_lists, problems, households)
    prepared = sorting.prepare(keys, finest, numbers, valid, secret)
    return replace(prepared, unit_ids=ids if descriptor.unit.column else ())


@dataclass(frozen=True, slots=True)
class _Sorting:
    """Encoded columns become those of a snapshot, and what must hold within units is verified."""

    descriptor: Descriptor
    code_lists: Mapping[str, tuple[LevelCodes, ...]]
    problems: list[DescriptorProblem]
    households: tuple[tuple[str, ...], IntArray] | None
    """Their ids, and that of each record: its number is of this file only, its id of every version."""

    def prepare(
        self,
        keys: KeyArray,
        finest: Mapping[str, IntArray],
        numbers: Columns,
        valid: Mapping[str, BoolArray],
        secret: bytes,
    ) -> Prepared:
        """The dataset, sorted by unit key and record mark."""
        codes: dict[str, tuple[Sequence[str], IntArray]] = {
            name: (self.code_lists[name][0].codes, positions) for name, positions in finest.items()
        }
        if self.households is not None:
            codes[HOUSEHOLD_ID] = self.households
        contents = self._named_numbers(numbers, valid)
        marks = record_marks(keys, content_words(secret, codes, contents), secret)
        distinct, unit = np.unique(keys, return_inverse=True)
        order = np.lexsort((marks, unit))
        unit = unit[order].astype(np.int64)
        columns: Columns = {"unit": unit, "unit_key": keys[order], "record_mark": marks[order]}
        for position, variable in enumerate(self.descriptor.variables):
            positions = finest[variable.name][order]
            for level, listed in enumerate(self.code_lists[variable.name]):
                members = np.array(listed.members, dtype=code_type(len(listed.codes)))
                columns[level_column(position, level)] = members[positions]
        columns |= {name: values[order] for name, values in numbers.items()}
        ordered_valid = {name: has[order] for name, has in valid.items()}
        self._check_sample(len(distinct))
        by_id = self._household_kind() == "id"
        variation = variation_of(self.descriptor, self.code_lists, columns, by_id, self._add)
        check_constant(self.descriptor, columns, self._add)
        check_wave(self.descriptor, self.code_lists, columns, self._add)
        return Prepared(
            self.descriptor,
            self.code_lists,
            columns,
            ordered_valid,
            self._profiles(columns, ordered_valid),
            variation,
            len(distinct),
            int(np.bincount(unit).max()),
            self._weight_bounds(columns, len(distinct)),
            self._household_kind(),
            int(np.bincount(columns["holding"]).max()) if "holding" in columns else 0,
            self._additive(columns, ordered_valid),
        )

    def _add(self, path: str, message: str) -> None:
        self.problems.append(DescriptorProblem(path, message))

    def _named_numbers(self, numbers: Columns, valid: Mapping[str, BoolArray]) -> Columns:
        named: Columns = {}
        for position, measure in enumerate(self.descriptor.measures):
            named[f"value of {measure.name}"] = numbers[f"m{position}"]
            named[f"presence of {measure.name}"] = valid[f"m{position}"].astype(np.int64)
        others = ("weight",) if self.households is not None else ("weight", "household")
        return named | {name: numbers[name] for name in others if name in numbers}

    def _household_kind(self) -> Literal["", "id", "size"]:
        if self.descriptor.household is None:
            return ""
        return "id" if self.descriptor.household.column else "size"

    def _check_sample(self, units: int) -> None:
        population = self.descriptor.design.population_size
        if population and population < units:
            self._add("design.population_size", f"is less than the {units} units of the file")

    def _weight_bounds(self, columns: Columns, units: int) -> tuple[float, float]:
        if self.descriptor.weight is not None and "weight" in columns:
            scale = 10.0**self.descriptor.weight.decimals
            return float(columns["weight"].min()) / scale, float(columns["weight"].max()) / scale
        design = self.descriptor.design
        if design.coverage == "CENSUS" or design.population_size or design.sampling_fraction:
            return (constant_weight(self.descriptor, units),) * 2
        return 1.0, 1.0

    def _additive(self, columns: Columns, valid: Mapping[str, BoolArray]) -> tuple[tuple[str, ...], ...]:
        measures = self.descriptor.measures
        places = {measure.name: f"m{position}" for position, measure in enumerate(measures)}
        values = {one.name: columns[places[one.name]] / 10.0**one.decimals for one in measures}
        return additive_measures(measures, values, {name: valid[at] for name, at in places.items()})

    def _profiles(self, columns: Columns, valid: Mapping[str, BoolArray]) -> dict[str, MeasureProfile]:
        profiles: dict[str, MeasureProfile] = {}
        for position, measure in enumerate(self.descriptor.measures):
            has = valid[f"m{position}"]
            values = columns[f"m{position}"][has]
            bounds = (int(values.min()), int(values.max())) if len(values) else (0, 0)
            profiles[measure.name] = MeasureProfile(measure.decimals, not bool(has.all()), *bounds)
        return profiles
