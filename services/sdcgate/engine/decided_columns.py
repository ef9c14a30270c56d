"""Whether the codes of variables decide a column of numbers: a measure's values, or the weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdcgate.engine.aggregation import snapshot_table, view_name
from sdcgate.engine.database import Database
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.regions import code_columns
from sdcgate.methods.cells import FloatArray, IntArray


def distinct_values(database: Database, dataset: Dataset, measure: str) -> int:
    """How many different values a measure has, or the weight where none is named. Raises UnknownName."""
    value = _column(dataset, measure)
    key = ("distinct", view_name(dataset), value)
    rows = database.run(database.compiled(key, lambda: _distinct(dataset, value)))
    return int(rows["count"][0].as_py())


def decided_values(
    database: Database, dataset: Dataset, variables: Sequence[str], measure: str
) -> tuple[IntArray, FloatArray] | None:
    """The finest codes of variables that occur, (combinations, variables), with what who has them has.

    Of a measure, or of the weight where none is named; combinations of whom nobody has the measure are left
    out. None where records with the same codes differ. Raises UnknownName.
    """
    columns, value = code_columns(dataset, variables), _column(dataset, measure)
    key = ("ranges", view_name(dataset), columns, value)
    rows = database.run(database.compiled(key, lambda: _ranges(dataset, columns, value)))
    least, most = (rows[name].to_numpy().astype(np.int64) for name in ("least", "most"))
    if np.any(least != most):
        return None
    codes = np.array([rows[column].to_numpy() for column in columns], dtype=np.int64)
    scale = dataset.profiles[measure].scale if measure else 10**dataset.weight_decimals
    order = np.lexsort(codes[::-1])
    return codes.T[order], np.asarray(least[order] / scale, dtype=np.float64)


def _column(dataset: Dataset, measure: str) -> str:
    """The snapshot's column with a measure's scaled values, or with the weight. Raises UnknownName."""
    return dataset.measure_column(measure) if measure else "weight"


def _distinct(dataset: Dataset, value: str) -> Any:
    table = snapshot_table(dataset)
    return table.agg(count=table[value].nunique())


def _ranges(dataset: Dataset, columns: Sequence[str], value: str) -> Any:
    table = snapshot_table(dataset)
    numbers = table[value]
    ranges = table.group_by(list(columns)).agg(least=numbers.min(), most=numbers.max(), count=numbers.count())
    return ranges.filter(ranges["count"] > 0)
