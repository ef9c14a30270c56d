"""Units of a registered dataset counted by values of some variables, where the data lie: no record leaves."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sdcgate.engine.aggregation import snapshot_table
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.dialects import Dialect, the_one
from sdcgate.engine.key_variables import key_variable
from sdcgate.engine.snapshot import ReadColumn
from sdcgate.engine.waves import snapshot_waves
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.microdata import KeyVariable
from sdcgate.methods.risk.scenarios import CountedUnits
from sdcgate.methods.risk.units import reduce_to_units

Levels = Sequence[tuple[str, str]]
"""Variable and level, the finest where empty."""


def varying(dataset: Dataset, levels: Levels) -> bool:
    """Whether one of the levels takes several codes within a unit: units have no one key then."""
    return any(dataset.varies(variable, level) for variable, level in levels)


def counting(dataset: Dataset, levels: Levels, dialect: Dialect = Dialect.DUCKDB) -> Any:
    """Units and the sum of their weights by the codes of levels that do not vary within units."""
    columns = [dataset.column(variable, level) for variable, level in levels]
    table = snapshot_table(dataset)
    if dataset.records_per_unit > 1:
        kept = {name: the_one(table[name], dialect) for name in columns}
        if dataset.weighted:
            kept["weight"] = table["weight"].min()
        table = table.group_by("unit").agg(**kept)
    sums = {"units": table.count()}
    if dataset.weighted:
        sums["weights"] = table["weight"].sum()
    return table.group_by([table[name] for name in columns]).agg(**sums)


def counted(dataset: Dataset, levels: Levels, rows: Any) -> CountedUnits:
    """The rows of `counting` as arrays."""
    columns = [rows[dataset.column(variable, level)].to_numpy() for variable, level in levels]
    # The database's order is any; sums of floating-point numbers must not depend on it.
    order = np.lexsort(columns)
    units = rows["units"].to_numpy().astype(np.int64)[order]
    weights = rows["weights"].to_numpy().astype(np.float64)[order] if dataset.weighted else None
    return CountedUnits(
        keys=tuple(_key(dataset, variable, level) for variable, level in levels),
        codes=_with_missing(dataset, levels, [column[order] for column in columns]),
        counts=units,
        weight_sums=_weights(dataset, units, weights),
    )


def unit_by_unit(dataset: Dataset, read: ReadColumn, levels: Levels) -> CountedUnits:
    """A row a unit with its household, from the snapshot: a level that varies becomes one a wave."""
    columns = [read(dataset.column(variable, level)) for variable, level in levels]
    unit = read("unit").astype(np.int64)
    weight = read("weight").astype(np.float64) if dataset.weighted else None
    waves = snapshot_waves(dataset, read, unit)
    found = reduce_to_units(_with_missing(dataset, levels, columns), weight, unit, waves)
    households = read("household") if dataset.household == "id" else None
    own = [_key(dataset, variable, level) for variable, level in levels]
    ones = np.ones(len(found), dtype=np.int64)
    return CountedUnits(
        keys=tuple(replace(own[key], wave=wave) for key, wave in found.columns),
        codes=found.codes,
        counts=ones,
        weight_sums=_weights(dataset, ones, found.weights),
        households=None if households is None else households[found.first].astype(np.int64),
    )


def together(units: CountedUnits) -> CountedUnits:
    """Units with the same values in one row, without their households."""
    keys = group_keys(units.codes)
    sums = units.weight_sums
    return CountedUnits(
        keys=units.keys,
        codes=units.codes[keys.first],
        counts=np.rint(np.bincount(keys.group, units.counts, len(keys))).astype(np.int64),
        weight_sums=None if sums is None else np.bincount(keys.group, sums, len(keys)).astype(np.float64),
    )


def _key(dataset: Dataset, variable: str, level: str) -> KeyVariable:
    return key_variable(variable, dataset.level(variable, level), dataset.levels(variable))


def _with_missing(dataset: Dataset, levels: Levels, columns: Sequence[Any]) -> IntArray:
    """Codes from the snapshot's positions: the last position of a level is missing, -1."""
    codes = np.empty((len(columns[0]), len(columns)), dtype=np.int64, order="F")
    for place, ((variable, level), column) in enumerate(zip(levels, columns, strict=True)):
        codes[:, place] = column
        codes[codes[:, place] == len(dataset.level(variable, level).codes) - 1, place] = -1
    return codes


def _weights(dataset: Dataset, units: IntArray, scaled: FloatArray | None) -> FloatArray:
    """Sum of weights: the file's own, or the constant of its design."""
    if scaled is None:
        return units.astype(np.float64) * dataset.weight_bounds[0]
    weights: FloatArray = scaled / 10.0**dataset.weight_decimals
    return weights
