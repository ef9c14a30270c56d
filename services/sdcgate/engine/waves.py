"""The wave of each record of a snapshot. Records of a unit stand there in no order of time."""

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.snapshot import ReadColumn
from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.units import order_within_units


def snapshot_waves(dataset: Dataset, read: ReadColumn, unit: IntArray) -> IntArray:
    """The wave of each record, from 1, shape (records,).

    That is the code of the variable that the descriptor names. Else that of one that is not identifying,
    never missing and never the same in two records of a unit, such as the year; of several the one with the
    fewest codes. Where there is none, records are numbered by all their varying codes, so that a unit is
    known by what happened to it, not when. `unit` (records,) is each record's unit.
    """
    if dataset.records_per_unit == 1:
        return np.ones(len(unit), dtype=np.int64)
    if dataset.descriptor.wave:
        return read(dataset.column(dataset.descriptor.wave)).astype(np.int64) + 1
    columns: list[IntArray] = []
    waves: list[tuple[int, int, IntArray]] = []
    for variable in dataset.descriptor.variables:
        if not dataset.varies(variable.name):
            continue
        codes = read(dataset.column(variable.name)).astype(np.int64)
        columns.append(codes)
        missing = len(dataset.levels(variable.name)[0].codes) - 1
        telling = variable.identifying == "NO" and codes.max(initial=0) < missing
        if telling and len(group_keys(np.column_stack([unit, codes]))) == len(unit):
            waves.append((missing, len(waves), codes))
    if waves:
        return min(waves)[2] + 1
    order = np.lexsort([*columns[::-1], unit])
    numbers = np.empty(len(unit), dtype=np.int64)
    numbers[order] = order_within_units(unit[order]) + 1
    return numbers
