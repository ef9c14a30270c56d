"""Whether the values of a measure follow from the codes of a variable: for all units but a few."""

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.product_sums import ProductQuery
from sdcgate.engine.queries import CellQuery
from sdcgate.engine.record_groups import GroupedLevel, RecordGroups
from sdcgate.methods.cells import TOTAL, IntArray


def units_of_codes(engine: Engine, dataset: Dataset, measure: str, variable: str) -> IntArray:
    """Units of each value of a measure by a variable's finest codes, (codes, values).

    Raises ComputationFailed.
    """
    level = dataset.levels(variable)[0]
    places = tuple(range(len(level.codes)))
    by_code = RecordGroups((GroupedLevel(variable, level.name, places, len(places)),))
    sums = engine.product_sums(dataset, ProductQuery((measure,), by_code), _unhurried)
    return sums.units_of_values(measure)


def decides(units: IntArray, few: int) -> bool:
    """Whether values follow from codes for all units but fewer than `few`; `units` (codes, values).

    Not where all codes have one value, nor where codes have hardly more units than a cell must have: of
    these anything follows.
    """
    occurring = units[units.any(axis=1)]
    if len(np.unique(occurring.argmax(axis=1))) < 2 or occurring.sum() < few * len(occurring):
        return False
    return bool(occurring.sum() - occurring.max(axis=1).sum() < few)


def is_code(engine: Engine, dataset: Dataset, measure: str, variable: str) -> bool:
    """Whether the values are the variable's finest codes, read as numbers, in all records."""
    level = dataset.levels(variable)[0]
    query = CellQuery(((variable, level.name),), measures=(measure,), ranks=1, valid=(measure,))
    cells = engine.compute(dataset, query)
    codes, facts = np.array(list(map(_number, cells.axes[0].codes))), cells.facts.measures[0]
    there = (facts.valid_records > 0) & (np.array(cells.axes[0].codes) != TOTAL)
    return bool(np.all((facts.minima == codes)[there] & (facts.maxima == codes)[there]))


def _number(code: str) -> float:
    """A code as a number; NaN, which no value is, where it is none."""
    try:
        return float(code)
    except ValueError:
        return float("nan")


def _unhurried() -> None:
    """Nobody waits for it: it is looked for once."""
