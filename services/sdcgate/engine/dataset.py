"""A registered dataset: its descriptor, its code lists, and what registration found out about it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from sdcgate.engine.code_lists import LevelCodes
from sdcgate.engine.descriptor import Descriptor, Identifying, Measure, Variable
from sdcgate.methods.cells import MISSING

EXCLUSIVE_PREFIX = "exclusive:"
"""Begins the names of variables that nobody declared: several that exclude each other, told as one."""


class UnknownDataset(LookupError):
    """No dataset of that name or version is registered."""


class UnknownName(LookupError):
    """A variable, level, code or measure that the descriptor does not declare.

    `suggestions` are the nearest declared names, whatever the data hold.
    """

    def __init__(self, kind: str, name: str, declared: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.suggestions = tuple(get_close_matches(name, list(declared), n=3))
        hint = f"; did you mean {' or '.join(map(repr, self.suggestions))}?" if self.suggestions else ""
        super().__init__(f"unknown {kind} {name!r}{hint}")


@dataclass(frozen=True, slots=True)
class MeasureProfile:
    """What registration found out about a measure: scaled integers, so values times 10^decimals."""

    decimals: int
    has_missing: bool
    minimum: int = field(repr=False)
    maximum: int = field(repr=False)

    @property
    def scale(self) -> int:
        """What values were multiplied by."""
        return int(10**self.decimals)


@dataclass(frozen=True, slots=True)
class Variation:
    """Whether each level of a variable takes several codes within one unit, and within one household."""

    within_unit: tuple[bool, ...]
    within_household: tuple[bool, ...]
    occurring: int = field(default=-1, repr=False)
    """Bit mask of the finest codes that some record has; `_U` is the last bit."""
    determined_by: str = ""
    """Another variable whose finest code always decides this one's, where there is one."""
    decided: tuple[int, ...] = field(default=(), repr=False)
    """For each finest code of that variable the position of this one's; -1 where no record has it."""
    within_holding: tuple[bool, ...] = ()
    """Whether each level takes several codes within one holding."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """One version of a dataset. Counts and bounds are hidden from repr."""

    name: str
    version: int
    source: str
    label: str
    descriptor: Descriptor = field(repr=False)
    unit_label: str
    weighted: bool
    n_units: int = field(repr=False)
    n_records: int = field(repr=False)
    records_per_unit: int = field(repr=False)
    """Largest number of records of one unit."""
    content_hash: str
    file_hash: str = field(repr=False)
    """SHA-256 of the snapshot's Parquet file, or of the hashes of its table's rows."""
    weight_bounds: tuple[float, float] = field(repr=False)
    """Smallest and largest weight; the constant weight twice where no weight is declared."""
    household: Literal["", "id", "size"]
    code_lists: Mapping[str, tuple[LevelCodes, ...]] = field(repr=False)
    variation: Mapping[str, Variation] = field(repr=False)
    profiles: Mapping[str, MeasureProfile] = field(repr=False)
    records_per_holding: int = field(default=0, repr=False)
    """Largest number of records of one holding; 0 where units belong to none."""
    additive: tuple[tuple[str, ...], ...] = ()
    """Sets of measures of which any one follows from the others."""

    @property
    def holdings(self) -> bool:
        """Whether units that belong to one holding are one respondent."""
        return self.descriptor.holding is not None

    @property
    def waivers(self) -> bool:
        """Whether the data say which units gave a waiver."""
        return self.descriptor.waiver is not None

    @property
    def respondent_columns(self) -> tuple[str, ...]:
        """The snapshot's columns about respondents."""
        return (*(("holding",) if self.holdings else ()), *(("waiver",) if self.waivers else ()))

    @property
    def records_per_respondent(self) -> int:
        """Largest number of records of one unit, or of one holding."""
        return max(self.records_per_unit, self.records_per_holding)

    def variable(self, name: str) -> Variable:
        """The declared variable. Raises UnknownName."""
        for variable in self.descriptor.variables:
            if variable.name == name:
                return variable
        raise UnknownName("variable", name, self.code_lists)

    def measure(self, name: str) -> Measure:
        """The declared measure. Raises UnknownName."""
        for measure in self.descriptor.measures:
            if measure.name == name:
                return measure
        raise UnknownName("measure", name, self.profiles)

    def levels(self, variable: str) -> tuple[LevelCodes, ...]:
        """The levels of a variable, the finest first. Raises UnknownName."""
        return self.code_lists[self.variable(variable).name]

    def level(self, variable: str, level: str = "") -> LevelCodes:
        """One level of a variable, the finest where empty. Raises UnknownName."""
        return self.levels(variable)[self.level_position(variable, level)]

    def level_position(self, variable: str, level: str = "") -> int:
        """Where a level stands among its variable's, 0 the finest. Raises UnknownName."""
        levels = self.levels(variable)
        names = [declared.name for declared in levels]
        if level and level not in names:
            raise UnknownName(f"level of {variable}", level, names)
        return names.index(level) if level else 0

    def mask(self, variable: str, level: str, codes: Iterable[str]) -> int:
        """Bit mask over the finest codes of some codes of a level. Raises UnknownName."""
        listed = self.level(variable, level)
        wanted = set()
        for code in codes:
            if code not in listed.positions:
                raise UnknownName(f"code of {variable}", code, listed.codes)
            wanted.add(listed.positions[code])
        return listed.mask_of_codes(wanted)

    def full_mask(self, variable: str) -> int:
        """Bit mask of all finest codes and `_U`; 3 of `measure:<name>`. Raises UnknownName."""
        if variable.startswith(EXCLUSIVE_PREFIX):
            return self.variation[variable].occurring
        if variable.startswith("measure:"):
            self.measure(variable.removeprefix("measure:"))
            return 3
        return (1 << len(self.levels(variable)[0].codes)) - 1

    def occurring(self, variable: str) -> int:
        """Mask of the finest codes of a variable, or of the two states of a measure, that occur."""
        if variable.startswith("measure:"):
            return 3
        return self.variation[variable].occurring & self.full_mask(variable)

    def identifying(self, variable: str) -> bool:
        """Whether an intruder may know the variable (class YES or more). Raises UnknownName."""
        return self.identifying_class(variable) != "NO"

    def identifying_class(self, variable: str) -> Identifying:
        """How identifying the variable is. Raises UnknownName."""
        return self.variable(variable).identifying

    def sensitive(self, variable: str) -> bool:
        """Whether learning the variable harms. Raises UnknownName."""
        return self.variable(variable).sensitive

    def harmless(self, variable: str, level: str = "") -> tuple[str, ...]:
        """Codes of a level that it does no harm to be known to have. Raises UnknownName."""
        position = self.level_position(variable, level)
        declared = self.variable(variable).levels
        return tuple(code.code for code in declared[position].codes if code.harmless) if declared else ()

    def harmful_classes(self, variable: str, level: str = "") -> tuple[int, ...]:
        """Codes of all levels that it does harm to be known to have, but those of this one and finer ones.

        As masks over the finest codes. A code of which all parts do no harm does none. Raises UnknownName.
        """
        levels = self.levels(variable)
        safe = {MISSING, *self.harmless(variable)}
        finest = zip(levels[0].codes, levels[0].masks, strict=True)
        unharmed = sum(mask for code, mask in finest if code in safe)
        found = {
            mask: None
            for coarser in levels[self.level_position(variable, level) + 1 :]
            for code, mask in zip(coarser.codes, coarser.masks, strict=True)
            if code not in {MISSING, *self.harmless(variable, coarser.name)} and mask & ~unharmed
        }
        return tuple(found)

    def column(self, variable: str, level: str = "") -> str:
        """The snapshot's column with the positions of a level's codes. Raises UnknownName."""
        if variable.startswith(EXCLUSIVE_PREFIX):
            return exclusive_column(self.exclusive.index(variable))
        position = self.level_position(variable, level)
        return level_column(self.descriptor.variables.index(self.variable(variable)), position)

    def measure_column(self, measure: str) -> str:
        """The snapshot's column with a measure's scaled values. Raises UnknownName."""
        return f"m{self.descriptor.measures.index(self.measure(measure))}"

    def varies(self, variable: str, level: str = "") -> bool:
        """Whether the level takes several codes within some unit of the data. Raises UnknownName."""
        position = self.level_position(variable, level)
        return self.variation[variable].within_unit[position]

    @property
    def varying(self) -> frozenset[str] | None:
        """Variables, and `measure:<name>`, that may vary within a unit; None where units have one record."""
        if self.records_per_unit == 1:
            return None
        varying = {name for name, variation in self.variation.items() if variation.within_unit[0]}
        return frozenset(varying | {f"measure:{name}" for name in self.profiles})

    @property
    def exclusive(self) -> tuple[str, ...]:
        """Names of the undeclared variables that stand for several which exclude each other."""
        return tuple(name for name in self.variation if name.startswith(EXCLUSIVE_PREFIX))

    @property
    def weight_decimals(self) -> int:
        """Decimal places of weights in the snapshot."""
        return self.descriptor.weight.decimals if self.descriptor.weight else 0


def level_column(variable: int, level: int) -> str:
    """The snapshot's column of the variable's level, both by position in the descriptor."""
    return f"v{variable}_l{level}"


def exclusive_column(position: int) -> str:
    """The snapshot's column of an undeclared variable, by its place among these."""
    return f"x{position}"


def code_type(codes: int) -> Literal["uint8", "uint16", "uint32"]:
    """The smallest type that holds the positions of so many codes."""
    if codes <= 2**8:
        return "uint8"
    return "uint16" if codes <= 2**16 else "uint32"


def constant_weight(descriptor: Descriptor, n_units: int) -> float:
    """The weight of every unit where none is declared: N/n or 1/fraction in a sample, 1 in a census."""
    if descriptor.design.coverage == "CENSUS" or n_units == 0:
        return 1.0
    if descriptor.design.population_size:
        return descriptor.design.population_size / n_units
    return 1.0 / descriptor.design.sampling_fraction
