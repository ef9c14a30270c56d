"""The wave of each record of a snapshot. Records of a unit stand there in no order of time."""

from pathlib import Path

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.snapshot import read_column
from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.units import order_within_units


def snapshot_waves(dataset: Dataset, file: Path, unit: IntArray) -> IntArray:
    """The wave of each record, from 1, shape (records,).

    That is the code of the first variable that is never missing and never the same in two records of a unit,
    such as the year; where there is none, records are numbered by all their varying codes, so that a unit is
    known by what happened to it, not when. `unit` (records,) is each record's unit.
    """
    if dataset.records_per_unit == 1:
        return np.ones(len(unit), dtype=np.int64)
    columns = []
    for variable in dataset.descriptor.variables:
        if not dataset.varies(variable.name):
            continue
        codes = read_column(file, dataset.column(variable.name)).astype(np.int64)
        missing = len(dataset.levels(variable.name)[0].codes) - 1
        if codes.max(initial=0) < missing and len(group_keys(np.column_stack([unit, codes]))) == len(unit):
            return codes + 1
        columns.append(codes)
    order = np.lexsort([*columns[::-1], unit])
    waves = np.empty(len(unit), dtype=np.int64)
    waves[order] = order_within_units(unit[order]) + 1
    return waves
