"""A dataset as the rules for the release of files see it: a row a unit, variables at the levels shown."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from sdcgate.engine.code_lists import LevelCodes
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.descriptor import Descriptor, Variable
from sdcgate.engine.municipalities import municipality_arrays
from sdcgate.engine.snapshot import ReadColumn
from sdcgate.engine.waves import snapshot_waves
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.release_rules import Municipalities, Regional, ReleasedVariable, ReleaseFile, Topic
from sdcgate.methods.risk.threshold import Base, Identifying
from sdcgate.methods.risk.units import Units, reduce_to_units

IDENTIFYING = {
    "UNSPECIFIED": Identifying.NO,
    "NO": Identifying.NO,
    "YES": Identifying.YES,
    "VERY": Identifying.VERY,
    "EXTREMELY": Identifying.EXTREMELY,
}
_REGIONAL = {"UNSPECIFIED": Regional.NONE, "DIRECT": Regional.DIRECT, "INDIRECT": Regional.INDIRECT}


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedRecords:
    """The records of a dataset as they would be released; arrays have a row a record."""

    levels: tuple[LevelCodes, ...]
    """The level at which each variable of the descriptor would be shown."""
    codes: IntArray
    """Positions of these levels' codes, -1 where missing, shape (records, variables)."""
    unit: IntArray
    waves: IntArray
    """The wave of each record, from 1."""
    weights: FloatArray | None
    """None where the file is the population."""
    households: IntArray | None


def release_file(
    dataset: Dataset,
    read: ReadColumn,
    *,
    release_date: date | None = None,
    weights_released: bool = False,
    random_order: bool | None = None,
) -> ReleaseFile:
    """The file that would be released: every variable at its finest level, nothing else of the data.

    A variable that varies within units becomes one a wave (`waves.snapshot_waves`).
    Snapshots are sorted by a secret key: whether the *released* records stand in random order is what
    `random_order` tells.
    """
    descriptor = dataset.descriptor
    unit = read("unit").astype(np.int64)
    records = ReleasedRecords(
        levels=tuple(dataset.levels(variable.name)[0] for variable in descriptor.variables),
        codes=np.column_stack([_codes(dataset, read, variable) for variable in descriptor.variables]),
        unit=unit,
        waves=snapshot_waves(dataset, read, unit),
        weights=_weights(dataset, read, unit),
        households=read("household") if dataset.household == "id" else None,
    )
    made = released(descriptor, dataset.code_lists, records, release_date)
    return replace(made, weights_released=weights_released, random_order=random_order)


def released(
    descriptor: Descriptor,
    code_lists: Mapping[str, tuple[LevelCodes, ...]],
    records: ReleasedRecords,
    release_date: date | None = None,
) -> ReleaseFile:
    """The file that would be released, a row a unit; its weights with it where it has its own."""
    units = reduce_to_units(records.codes, records.weights, records.unit, records.waves)
    return ReleaseFile(
        variables=tuple(_variable(descriptor.variables[column], wave) for column, wave in units.columns),
        codes=units.codes,
        weights=units.weights,
        base=Base.SAMPLE if descriptor.design.threshold_base == "SAMPLE" else Base.POPULATION,
        weights_released=descriptor.weight is not None,
        households=None if records.households is None else records.households[units.first],
        municipalities=_municipalities(descriptor, code_lists, records.levels, units),
        panel=descriptor.panel,
        reference_date=date.fromisoformat(descriptor.reference_date) if descriptor.reference_date else None,
        release_date=release_date,
    )


def _codes(dataset: Dataset, read: ReadColumn, variable: Variable) -> IntArray:
    """Positions of finest codes, -1 where missing."""
    positions = read(dataset.column(variable.name)).astype(np.int64)
    positions[positions == len(dataset.levels(variable.name)[0].codes) - 1] = -1
    return positions


def _weights(dataset: Dataset, read: ReadColumn, unit: IntArray) -> FloatArray | None:
    if dataset.weighted and dataset.descriptor.weight is not None:
        scaled: FloatArray = read("weight") / 10.0**dataset.weight_decimals
        return scaled
    if dataset.descriptor.design.coverage == "CENSUS":
        return None
    return np.full(len(unit), dataset.weight_bounds[0])


def _variable(variable: Variable, wave: int | None) -> ReleasedVariable:
    return ReleasedVariable(
        name=variable.name if wave is None else f"{variable.name} of wave {wave}",
        identifying=IDENTIFYING[variable.identifying],
        sensitive=variable.sensitive,
        household=variable.household_variable,
        regional=_REGIONAL[variable.regional],
        kind=variable.regional_kind or variable.name,
        topic=Topic.OTHER if variable.topic == "UNSPECIFIED" else Topic[variable.topic],
    )


def _municipalities(
    descriptor: Descriptor,
    code_lists: Mapping[str, tuple[LevelCodes, ...]],
    levels: tuple[LevelCodes, ...],
    units: Units,
) -> Municipalities | None:
    """By the file's columns and levels, not the descriptor's; None where a place varies within units."""
    places = municipality_arrays(descriptor, code_lists)
    columns = {key: column for column, (key, record) in enumerate(units.columns) if record is None}
    if places is None or not set(places.variables) <= set(columns):
        return None
    shown = [
        np.array(levels[key].members)[own] for key, own in zip(places.variables, places.codes.T, strict=True)
    ]
    return replace(
        places, variables=tuple(columns[key] for key in places.variables), codes=np.column_stack(shown)
    )
