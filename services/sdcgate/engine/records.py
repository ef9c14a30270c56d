"""Records of a population by column, for methods that need records: models, percentiles."""

import numpy as np

from sdcgate.engine.aggregation import records_projection, view_name
from sdcgate.engine.database import Database
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Records, RecordsQuery
from sdcgate.engine.record_columns import HOUSEHOLD_SHARES, UNKNOWN_HOUSEHOLD
from sdcgate.engine.table_plan import plan_conditions
from sdcgate.methods.cells import IntArray
from sdcgate.methods.outputs.households import Households, households_by_id, households_by_size


def read_records(database: Database, dataset: Dataset, query: RecordsQuery) -> Records:
    """The wanted columns of the records that fulfil the conditions and have the measures.

    Raises UnknownName, ValueError for a condition without codes.
    """
    conditions = plan_conditions(dataset, query.filters)
    wanted = [dataset.column(variable, level) for variable, level in query.levels]
    columns = tuple(dict.fromkeys(wanted))
    sql = database.compiled(
        ("records of", view_name(dataset), conditions, columns, query.measures),
        lambda: records_projection(dataset, conditions, columns, query.measures, database.dialect),
    )
    rows = database.run(sql)
    positions = {name: rows[name].to_numpy().astype(np.int64) for name in columns}
    values = {
        measure: rows[f"measure_{place}"].to_numpy().astype(np.float64) / dataset.profiles[measure].scale
        for place, measure in enumerate(query.measures)
    }
    unit = _numbered(rows["unit"].to_numpy())
    household = rows["household"].to_numpy() if dataset.household else None
    keys = np.zeros(int(unit.max(initial=-1)) + 1, dtype=np.uint64)
    keys[unit] = rows["unit_key"].to_numpy().view(np.uint64)
    return Records(
        codes={level: positions[column] for level, column in zip(query.levels, wanted, strict=True)},
        measures=values,
        unit=unit,
        unit_keys=keys,
        weights=rows["weight"].to_numpy() / 10.0**dataset.weight_decimals if dataset.weighted else None,
        households=_households(dataset, unit, household),
    )


def _households(dataset: Dataset, unit: IntArray, household: IntArray | None) -> Households | None:
    """As the column of the snapshot has them: ids, or each unit's share of a household."""
    if household is None:
        return None
    if dataset.household == "id":
        return households_by_id(household, UNKNOWN_HOUSEHOLD)
    return households_by_size(unit, household / float(HOUSEHOLD_SHARES))


def _numbered(units: IntArray) -> IntArray:
    """Units numbered from 0 among those that occur."""
    present = np.zeros(int(units.max(initial=-1)) + 1, dtype=np.int64)
    present[units] = 1
    return (np.cumsum(present) - 1)[units]
