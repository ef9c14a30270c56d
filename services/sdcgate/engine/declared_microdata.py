"""A file of microdata by its descriptor: its identifying variables at registered levels are the key."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np

from sdcgate.engine.code_lists import LevelCodes, quoted
from sdcgate.engine.descriptor import Descriptor, DescriptorInvalid, DescriptorProblem, Variable
from sdcgate.engine.key_variables import key_variable
from sdcgate.engine.microdata import MicrodataUnusable
from sdcgate.engine.record_columns import RecordColumns
from sdcgate.engine.registration import read_declared
from sdcgate.engine.release import IDENTIFYING, ReleasedRecords, released
from sdcgate.engine.scenarios import scenarios_of
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.file_numbers import SEVERAL_RECORDS, FileNumbers, NumberWidth
from sdcgate.methods.risk.microdata import KeyVariable, Microdata
from sdcgate.methods.risk.units import order_within_units


@dataclass(frozen=True, slots=True)
class DeclaredKey:
    """Which variables of a descriptor are the key, at which of their levels."""

    keys: tuple[str, ...] = ()
    """Names of variables; all identifying ones where empty. `age:ten_years` names a level too."""
    wave: str = ""
    """The variable that tells the wave of a record, the descriptor's where empty; without one records are
    numbered as they stand."""
    stratum: str = ""
    """The variable that is the stratum of a record, at its finest level."""
    psu: str = ""
    """The variable that is its primary sampling unit."""
    numbers: tuple[NumberWidth, ...] = ()
    """Measures that an intruder knows nearly."""
    release_date: date | None = None
    """When the file would be released, for the rules that ask."""


def declared_microdata(
    descriptor: Descriptor, data_root: Path, asked: DeclaredKey | None = None
) -> Microdata:
    """Read a file by its descriptor; its weights or sampling fraction are those of the descriptor.

    A level that is not named is the finest. Raises DescriptorInvalid where descriptor and file do not agree,
    MicrodataUnusable where what is asked is not declared.
    """
    asked = asked or DeclaredKey()
    code_lists, table = read_declared(descriptor, data_root)
    levels = _levels(descriptor, code_lists, asked)
    problems: list[DescriptorProblem] = []
    reading = RecordColumns(descriptor, code_lists, table, problems)
    columns = [_codes(reading, position, variable, level) for position, variable, level in levels]
    named = reading.unit_ids()
    weights = reading.weights()
    waves = _positions(reading, descriptor, asked.wave or descriptor.wave)
    strata = _positions(reading, descriptor, asked.stratum)
    psus = _positions(reading, descriptor, asked.psu)
    scenarios = scenarios_of(descriptor.scenarios, lambda _, key: _named_key(reading, key))
    numbers = _numbers(reading, descriptor, asked.numbers)
    households = reading.household_ids()
    if problems or named is None:
        raise DescriptorInvalid(tuple(problems))
    decimals = 0 if descriptor.weight is None else descriptor.weight.decimals
    own: FloatArray | None = None if weights is None else weights / 10.0**decimals
    fraction = _fraction(descriptor, len(named[0])) if own is None else None
    return Microdata(
        keys=tuple(
            replace(
                key_variable(variable.name, level, code_lists[variable.name]),
                identifying=IDENTIFYING[variable.identifying],
            )
            for _, variable, level in levels
        ),
        codes=np.column_stack([codes for codes in columns if codes is not None]),
        weights=own,
        fraction=fraction,
        units=named[1] if descriptor.unit.column and numbers is None else None,
        unit_names=named[0] if descriptor.unit.column else (),
        waves=waves,
        households=None if households is None else households[1],
        strata=strata,
        psus=psus,
        numbers=numbers,
        sensitive=_sensitive(reading, descriptor),
        scenarios=scenarios,
        release=released(
            descriptor,
            code_lists,
            ReleasedRecords(
                *_shown(reading, levels),
                unit=named[1],
                waves=order_within_units(named[1]) + 1 if waves is None else waves,
                weights=_design_weights(own, fraction, len(named[1])),
                households=None if households is None else households[1],
            ),
            asked.release_date,
        ),
    )


def _numbers(
    reading: RecordColumns, descriptor: Descriptor, widths: tuple[NumberWidth, ...]
) -> FileNumbers | None:
    """Measures as numbers that identify.

    Raises MicrodataUnusable where a unit has two records or no value.
    """
    if not widths:
        return None
    places = {measure.name: place for place, measure in enumerate(descriptor.measures)}
    named = reading.unit_ids()
    columns, problems = [], []
    if named is not None and len(named[0]) < len(named[1]):
        problems.append(("numbers", SEVERAL_RECORDS))
    for position, one in enumerate(widths):
        path = f"numbers[{position}]"
        if one.name not in places:
            problems.append((path, f"{one.name!r} is no measure; they are {quoted(list(places))}"))
            continue
        place = places[one.name]
        found = reading.measure(place, descriptor.measures[place])
        if found is not None:
            scaled, valid = found
            values = scaled / 10.0 ** descriptor.measures[place].decimals
            lacking = int((~valid | (one.relative & (values <= 0))).sum())
            if lacking:
                what = "without a number above 0" if one.relative else "without a number"
                problems.append((path, f"{one.name} has {lacking} records {what}"))
            columns.append(values)
    if problems:
        raise MicrodataUnusable(problems)
    return FileNumbers(widths, np.column_stack(columns)) if columns else None


def _levels(
    descriptor: Descriptor, code_lists: Mapping[str, tuple[LevelCodes, ...]], asked: DeclaredKey
) -> list[tuple[int, Variable, LevelCodes]]:
    """Position, variable and level of each key variable."""
    places = {variable.name: place for place, variable in enumerate(descriptor.variables)}
    identifying = [one.name for one in descriptor.variables if one.identifying not in ("NO", "UNSPECIFIED")]
    found, problems = [], []
    for position, name in enumerate(asked.keys or identifying):
        variable, _, level = name.partition(":")
        listed = code_lists.get(variable, ())
        chosen = next((one for one in listed if one.name == level), None) if level else None
        if variable not in places:
            known = quoted(list(places))
            problems.append((f"keys[{position}]", f"{variable!r} is no variable; they are {known}"))
        elif level and chosen is None:
            known = quoted([one.name for one in listed])
            problems.append((f"keys[{position}]", f"{level!r} is no level of {variable}; they are {known}"))
        else:
            place = places[variable]
            found.append((place, descriptor.variables[place], chosen or listed[0]))
    for option in ("wave", "stratum", "psu"):
        name = getattr(asked, option)
        if name and name not in places:
            problems.append((option, f"{name!r} is no variable of the descriptor"))
    if not found and not problems:
        problems.append(("keys", "the descriptor declares no identifying variable: name the key variables"))
    if len({place for place, _, _ in found}) < len(found):
        problems.append(("keys", "a key variable stands more than once"))
    if problems:
        raise MicrodataUnusable(problems)
    return found


def _codes(reading: RecordColumns, position: int, variable: Variable, level: LevelCodes) -> IntArray | None:
    """Codes at a level, -1 where missing, which is the last of a level's codes."""
    finest = reading.variable(position, variable)
    if finest is None:
        return None
    members = np.array(level.members, dtype=np.int64)
    members[members == len(level.codes) - 1] = -1
    return members[finest]


def _named_key(reading: RecordColumns, name: str) -> tuple[KeyVariable, IntArray] | None:
    """A variable that stands as `variable` or `variable:level`, declared both."""
    variable, _, level = name.partition(":")
    declared = reading.descriptor.variables
    place = next(at for at, one in enumerate(declared) if one.name == variable)
    listed = reading.code_lists[variable]
    chosen = next((one for one in listed if one.name == level), listed[0])
    codes = _codes(reading, place, declared[place], chosen)
    return None if codes is None else (key_variable(variable, chosen, listed), codes)


def _shown(
    reading: RecordColumns, asked: list[tuple[int, Variable, LevelCodes]]
) -> tuple[tuple[LevelCodes, ...], IntArray]:
    """The level of every variable that would be released, and its codes: as asked, else the finest."""
    at_level = {place: level for place, _, level in asked}
    levels, columns = [], []
    for place, variable in enumerate(reading.descriptor.variables):
        levels.append(at_level.get(place, reading.code_lists[variable.name][0]))
        codes = _codes(reading, place, variable, levels[-1])
        if codes is not None:
            columns.append(codes.astype(np.int32))
    return tuple(levels), np.column_stack(columns)


def _design_weights(own: FloatArray | None, fraction: float | None, records: int) -> FloatArray | None:
    """The file's weights, or those of its sampling fraction; None where it is the population."""
    if own is not None or fraction is None or fraction == 1.0:
        return own
    return np.full(records, 1.0 / fraction)


def _sensitive(reading: RecordColumns, descriptor: Descriptor) -> tuple[tuple[str, IntArray], ...]:
    found = []
    for position, variable in enumerate(descriptor.variables):
        if variable.sensitive:
            finest = reading.variable(position, variable)
            if finest is not None:
                missing = len(reading.code_lists[variable.name][0].codes) - 1
                found.append((variable.name, np.where(finest == missing, -1, finest)))
    return tuple(found)


def _positions(reading: RecordColumns, descriptor: Descriptor, name: str) -> IntArray | None:
    """The finest code of a variable that tells the wave, stratum or PSU of a record, from 1."""
    if not name:
        return None
    place = next(at for at, one in enumerate(descriptor.variables) if one.name == name)
    positions = reading.variable(place, descriptor.variables[place])
    return None if positions is None else positions + 1


def _fraction(descriptor: Descriptor, units: int) -> float | None:
    design = descriptor.design
    if design.coverage == "CENSUS":
        return 1.0
    if design.sampling_fraction:
        return design.sampling_fraction
    return min(1.0, units / design.population_size) if design.population_size else None
