"""A file of microdata as its risk is assessed: key variables as codes, weights, units, households."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.keys import checked_codes, checked_weights
from sdcgate.methods.risk.threshold import Identifying
from sdcgate.methods.risk.units import Units, group_ids, level_of_units, order_within_units, reduce_to_units

if TYPE_CHECKING:
    from sdcgate.methods.risk.file_numbers import FileNumbers
    from sdcgate.methods.risk.release_rules import ReleaseFile
    from sdcgate.methods.risk.scenarios import Scenario


@dataclass(frozen=True, slots=True)
class KeyVariable:
    """An identifying variable of a file."""

    name: str
    categories: tuple[str, ...] = field(default=(), repr=False)
    """What each code stands for; () where that was not told."""
    wave: int | None = None
    """The wave of a unit that it is about, where its values vary within units."""
    coarser: tuple[tuple[str, IntArray], ...] = field(default=(), repr=False, compare=False)
    """Coarser levels from fine to coarse: the name, and the code of every code of this one."""

    finest: tuple[tuple[str, ...], IntArray] | None = field(default=None, repr=False, compare=False)
    """Declared finest codes and this one's code of each; None where the codes stand for themselves."""
    identifying: Identifying = Identifying.YES
    """How far an intruder may be taken to know it."""

    @property
    def title(self) -> str:
        """The name, with the wave where there is one."""
        return self.name if self.wave is None else f"{self.name} (wave {self.wave})"


@dataclass(frozen=True, slots=True, eq=False)
class Microdata:
    """A file; arrays have a row a record."""

    keys: tuple[KeyVariable, ...]
    codes: IntArray = field(repr=False)
    """Codes of the key variables from 0, -1 where missing, shape (records, keys)."""
    weights: FloatArray | None = field(default=None, repr=False)
    """Design weights, finite and above 0, shape (records,)."""
    fraction: float | None = None
    """Sampling fraction, above 0 and at most 1, where there are no weights; 1 for a census."""
    units: IntArray | None = field(default=None, repr=False)
    """The unit of each record, any integers; each record is a unit where it is None."""
    unit_names: tuple[str, ...] = field(default=(), repr=False)
    """What each unit is called, by its number in `units`; () where that was not told."""
    waves: IntArray | None = field(default=None, repr=False)
    """The wave of each record; None: records of a unit are numbered as they stand."""
    households: IntArray | None = field(default=None, repr=False)
    """The household of each record, any integers."""
    strata: IntArray | None = field(default=None, repr=False)
    """The stratum of each record, any integers."""
    psus: IntArray | None = field(default=None, repr=False)
    """The primary sampling unit of each record, any integers."""
    sensitive: tuple[tuple[str, IntArray], ...] = field(default=(), repr=False)
    """Sensitive variables: names, and the code of each record, -1 where missing, shape (records,)."""
    interest: FloatArray | None = field(default=None, repr=False)
    """A finite variable of interest, of which recodings lose between-group variance, shape (records,)."""
    scenarios: tuple["Scenario", ...] = ()
    """Disclosure scenarios beside the one of `keys`."""
    release: "ReleaseFile | None" = field(default=None, repr=False)
    """The file as rules for the release of files judge it, where its variables are declared."""
    numbers: "FileNumbers | None" = None
    """Numbers that an intruder knows nearly; each record is a unit then."""

    def __post_init__(self) -> None:
        columns = checked_codes(self.codes)
        if not len(columns):
            raise ValueError("codes: the file has no records")
        if columns.shape[1] != len(self.keys):
            raise ValueError(f"keys: {len(self.keys)} for {columns.shape[1]} columns of codes")
        if self.weights is not None and self.fraction is not None:
            raise ValueError("fraction: leave it out where there are weights, which tell it")
        if self.fraction is not None and not 0.0 < self.fraction <= 1.0:
            raise ValueError("fraction must be above 0 and at most 1")
        if self.weights is not None:
            checked_weights(self.weights, len(columns))
        if self.interest is not None and (
            self.interest.shape != (len(columns),) or not np.isfinite(self.interest).all()
        ):
            raise ValueError(f"interest: must be a finite number a record, {len(columns)}")
        if self.numbers is not None and self.units is not None:
            raise ValueError("units: leave them out where there are numbers, which are compared by record")
        if self.numbers is not None and len(self.numbers.values) != len(columns):
            raise ValueError(f"numbers: must be a row a record, {len(columns)}")
        for scenario in self.scenarios:
            own = checked_codes(scenario.codes)
            if own.shape != (len(columns), len(scenario.keys)):
                raise ValueError(f"scenarios: {scenario.name} must have a code a record for each of its keys")
        for name in ("units", "waves", "households", "strata", "psus"):
            ids = getattr(self, name)
            if ids is not None:
                group_ids(ids, len(columns), name)


@dataclass(frozen=True, slots=True, eq=False)
class UnitFile:
    """The same file with a row a unit."""

    keys: tuple[KeyVariable, ...]
    codes: IntArray = field(repr=False)
    """Shape (units, keys)."""
    weights: FloatArray | None = field(repr=False)
    """Inverse inclusion probabilities, shape (units,); None where nothing tells them."""
    weighted: bool
    """Whether the weights are the file's own, not those of a sampling fraction."""
    households: IntArray | None = field(repr=False)
    """Household of each unit, shape (units,)."""
    sensitive: tuple[tuple[str, IntArray], ...] = field(repr=False)
    """Sensitive variables, of the first record of each unit, shape (units,)."""
    first: IntArray = field(repr=False)
    """The first record of each unit, shape (units,)."""
    records: int
    most_records: int
    """Records of the unit that has the most."""
    strata: IntArray | None = field(default=None, repr=False)
    """Stratum of each unit, from 0, shape (units,)."""
    psus: IntArray | None = field(default=None, repr=False)
    """Primary sampling unit of each unit, from 0, shape (units,)."""
    interest: FloatArray | None = field(default=None, repr=False)
    """The variable of interest, the mean of each unit's records, shape (units,)."""

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def fraction(self) -> float | None:
        """Sampling fraction: units over the sum of their weights."""
        return None if self.weights is None else min(1.0, len(self) / float(self.weights.sum()))


def by_units(file: Microdata) -> UnitFile:
    """The file by units: a key variable that varies within units becomes one for each wave.

    Raises ValueError where a unit has two records in a wave or belongs to several households, strata or PSUs,
    and where the vectors of the waves would not fit.
    """
    if file.units is None:
        return _unit_file(file)
    waves = order_within_units(file.units) + 1 if file.waves is None else file.waves
    units = reduce_to_units(file.codes, file.weights, file.units, waves)
    keys = tuple(replace(file.keys[key], wave=wave) for key, wave in units.columns)
    return UnitFile(
        keys=keys,
        codes=units.codes,
        weights=units.weights if units.weights is not None else _equal(len(units), file.fraction),
        weighted=file.weights is not None,
        households=_level_of_units(units, file.households, "household"),
        strata=_level_of_units(units, file.strata, "stratum"),
        psus=_level_of_units(units, file.psus, "psu"),
        sensitive=tuple((name, codes[units.first]) for name, codes in file.sensitive),
        first=units.first,
        records=len(file.codes),
        most_records=int(units.records.max()),
        interest=None
        if file.interest is None
        else np.bincount(units.unit, file.interest, len(units)) / units.records,
    )


def _unit_file(file: Microdata) -> UnitFile:
    records = len(file.codes)
    weights = file.weights if file.weights is not None else _equal(records, file.fraction)
    return UnitFile(
        keys=file.keys,
        codes=checked_codes(file.codes),
        weights=weights,
        weighted=file.weights is not None,
        households=file.households,
        strata=_numbered(file.strata, records),
        psus=_numbered(file.psus, records),
        sensitive=file.sensitive,
        first=np.arange(records),
        records=records,
        most_records=1,
        interest=file.interest,
    )


def _level_of_units(units: Units, ids: IntArray | None, name: str) -> IntArray | None:
    """The level of each unit, from 0. Raises ValueError, which calls it by its name."""
    try:
        return None if ids is None else level_of_units(units, ids)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _numbered(ids: IntArray | None, records: int) -> IntArray | None:
    return None if ids is None else group_ids(ids, records, "ids").group


def _equal(units: int, fraction: float | None) -> FloatArray | None:
    return None if fraction is None else np.full(units, 1.0 / fraction)
