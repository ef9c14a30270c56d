"""A registered dataset as the rules for the release of files see it: a row a unit, its finest codes."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.descriptor import Variable
from sdcgate.engine.municipalities import municipality_arrays
from sdcgate.engine.snapshot import SnapshotDamaged, data_file, file_hash, read_column
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.release_rules import Municipalities, Regional, ReleasedVariable, ReleaseFile, Topic
from sdcgate.methods.risk.threshold import Base, Identifying
from sdcgate.methods.risk.units import Units, order_within_units, reduce_to_units

_IDENTIFYING = {
    "NO": Identifying.NO,
    "YES": Identifying.YES,
    "VERY": Identifying.VERY,
    "EXTREMELY": Identifying.EXTREMELY,
}
_REGIONAL = {"UNSPECIFIED": Regional.NONE, "DIRECT": Regional.DIRECT, "INDIRECT": Regional.INDIRECT}


def release_file(
    dataset: Dataset,
    store: Path,
    *,
    release_date: date | None = None,
    weights_released: bool = False,
    random_order: bool | None = None,
) -> ReleaseFile:
    """The file that would be released: every variable at its finest level, nothing else of the data.

    A variable that varies within units becomes one a record, in the order in which the snapshot has them.
    Snapshots are sorted by a secret key: whether the *released* records stand in random order is what
    `random_order` tells. Raises SnapshotDamaged.
    """
    file = data_file(store, dataset)
    if file_hash(file) != dataset.file_hash:
        raise SnapshotDamaged(f"{dataset.name} v{dataset.version}: the data file was changed")
    descriptor = dataset.descriptor
    unit = read_column(file, "unit").astype(np.int64)
    codes = np.column_stack([_codes(dataset, file, variable) for variable in descriptor.variables])
    units = reduce_to_units(codes, _weights(dataset, file, unit), unit, order_within_units(unit))
    households = read_column(file, "household")[units.first] if dataset.household == "id" else None
    return ReleaseFile(
        variables=tuple(_variable(descriptor.variables[column], record) for column, record in units.columns),
        codes=units.codes,
        weights=units.weights,
        base=Base.SAMPLE if descriptor.design.threshold_base == "SAMPLE" else Base.POPULATION,
        weights_released=weights_released,
        households=households,
        municipalities=_municipalities(dataset, units),
        panel=descriptor.panel,
        reference_date=date.fromisoformat(descriptor.reference_date) if descriptor.reference_date else None,
        release_date=release_date,
        random_order=random_order,
    )


def _codes(dataset: Dataset, file: Path, variable: Variable) -> IntArray:
    """Positions of finest codes, -1 where missing."""
    positions = read_column(file, dataset.column(variable.name)).astype(np.int64)
    positions[positions == len(dataset.levels(variable.name)[0].codes) - 1] = -1
    return positions


def _weights(dataset: Dataset, file: Path, unit: IntArray) -> FloatArray | None:
    if dataset.weighted and dataset.descriptor.weight is not None:
        scaled: FloatArray = read_column(file, "weight") / 10.0**dataset.weight_decimals
        return scaled
    if dataset.descriptor.design.coverage == "CENSUS":
        return None
    return np.full(len(unit), dataset.weight_bounds[0])


def _variable(variable: Variable, record: int | None) -> ReleasedVariable:
    return ReleasedVariable(
        name=variable.name if record is None else f"{variable.name} of record {record + 1}",
        identifying=_IDENTIFYING[variable.identifying],
        sensitive=variable.sensitive,
        household=variable.household_variable,
        regional=_REGIONAL[variable.regional],
        kind=variable.regional_kind or variable.name,
        topic=Topic.OTHER if variable.topic == "UNSPECIFIED" else Topic[variable.topic],
    )


def _municipalities(dataset: Dataset, units: Units) -> Municipalities | None:
    """With the columns of the file in place of the descriptor's; None where a place varies within units."""
    places = municipality_arrays(dataset.descriptor, dataset.code_lists)
    columns = {key: column for column, (key, record) in enumerate(units.columns) if record is None}
    if places is None or not set(places.variables) <= set(columns):
        return None
    return replace(places, variables=tuple(columns[key] for key in places.variables))
