"""Registered datasets as files that are assessed unit by unit: beside another release, and by numbers."""

from collections.abc import Sequence

import numpy as np

from sdcgate.engine.counted_units import Levels, unit_by_unit
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.releases import TwoReleases, releases_of
from sdcgate.engine.snapshot import ReadColumn
from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.file_numbers import SEVERAL_RECORDS, FileNumbers, NumberWidth
from sdcgate.methods.risk.level_agreement import Release
from sdcgate.methods.risk.microdata import KeyVariable
from sdcgate.methods.risk.units import group_ids


def registered_releases(
    first: tuple[Dataset, ReadColumn, Levels], second: tuple[Dataset, ReadColumn, Levels]
) -> TwoReleases:
    """Two datasets of one source (dataset, its columns, levels of its key) by units, and what they share.

    A unit has the same secret key in all datasets of its source, so who is who is known. Raises
    MicrodataUnusable where nothing is shared.
    """
    (own, keys), (other, other_keys) = _release(*first), _release(*second)
    return releases_of(own, keys, other, other_keys)


def _release(dataset: Dataset, read: ReadColumn, levels: Levels) -> tuple[Release, Sequence[KeyVariable]]:
    units = unit_by_unit(dataset, read, levels)
    first = group_ids(read("unit").astype(np.int64), dataset.n_records, "units").first
    ids = read("unit_key")[first].view(np.int64)
    return Release(units.codes, units.weight_sums, ids), units.keys


def registered_numbers(
    dataset: Dataset, read: ReadColumn, levels: Levels, widths: Sequence[NumberWidth]
) -> tuple[FileNumbers, IntArray]:
    """The measures of a dataset that `widths` name, and the codes of its key, a row a unit.

    Raises ValueError where units have several records, or some have no value.
    """
    if dataset.records_per_unit > 1:
        raise ValueError(SEVERAL_RECORDS)
    columns = []
    for one in widths:
        values = read(dataset.measure_column(one.name)).astype(np.float64)
        lacking = int((~np.isfinite(values)).sum())
        if lacking:
            raise ValueError(f"{one.name} is not known of all units: numbers need a value of each")
        columns.append(values / 10.0 ** dataset.measure(one.name).decimals)
    codes = unit_by_unit(dataset, read, levels).codes
    return FileNumbers(tuple(widths), np.column_stack(columns)), codes
