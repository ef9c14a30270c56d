"""Units first: records become units before anything is counted, for people are re-identified, not records.

A unit with several records (the waves of a panel, the visits of a patient) is recognised by all that its
records tell: its key is the vector of its values over the waves (Handbook on Statistical Disclosure Control,
3.7, rule 5 for researchers' files). Its weight counts once. Households and primary sampling units are units
of further levels: reduce by their ids in the same way.
"""

from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.positions import at_positions
from sdcgate.methods.risk.keys import Keys, checked_codes, checked_weights, group_keys

LARGEST_VECTORS = 100_000_000
"""Codes that units may have altogether over the waves; 8 bytes each."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """A file by units, in the order in which they first appear."""

    codes: IntArray
    """Codes of each unit, shape (units, columns): a column for a key that is the same in all records of every
    unit, one for each wave for a key that varies. -1 where missing and where the unit has no record in the
    wave: what the file does not tell, an intruder cannot compare."""
    columns: tuple[tuple[int, int | None], ...]
    """Key and wave of each column; no wave for a key that does not vary."""
    weights: FloatArray | None
    """Weight of each unit, the smallest of its records' (a smaller weight is a larger risk), (units,)."""
    unit: IntArray
    """Position of each record's unit, shape (records,)."""
    first: IntArray
    """The first record of each unit, shape (units,)."""
    records: IntArray
    """Number of records of each unit, shape (units,)."""

    def __len__(self) -> int:
        return len(self.records)


def reduce_to_units(
    codes: IntArray, weights: FloatArray | None, units: IntArray, waves: IntArray | None = None
) -> Units:
    """The file by units.

    `codes` (records, keys), -1 where missing; `weights` (records,) or None; `units` (records,) the id of each
    record's unit and `waves` (records,) its wave, any integers. Waves are needed where a key varies within
    units; `order_within_units` makes them of the order in which a unit's records stand.

    Raises ValueError where the arrays are wrong, where a key varies and no waves are given, where a unit has
    two records in a wave, and where the vectors would not fit (`LARGEST_VECTORS`).
    """
    records = checked_codes(codes)
    grouped = group_ids(units, len(records), "units")
    heads = records[grouped.first]
    varying = [
        key for key in range(records.shape[1]) if (records[:, key] != heads[:, key][grouped.group]).any()
    ]
    if varying and waves is None:
        raise ValueError(f"codes: keys {varying} vary within units: tell the wave of each record")
    constant = [key for key in range(records.shape[1]) if key not in varying]
    parts = [heads[:, constant].astype(np.int64)]
    columns: list[tuple[int, int | None]] = [(key, None) for key in constant]
    if varying and waves is not None:
        numbers, wave = _checked_waves(waves, grouped.group)
        _check_size(len(grouped) * len(numbers) * len(varying))
        for key in varying:
            by_wave = np.full((len(grouped), len(numbers)), -1, dtype=np.int64)
            by_wave[grouped.group, wave] = records[:, key]
            parts.append(by_wave)
            columns.extend((key, int(number)) for number in numbers)
    return Units(
        codes=np.concatenate(parts, axis=1),
        columns=tuple(columns),
        weights=_smallest(weights, grouped),
        unit=grouped.group,
        first=grouped.first,
        records=grouped.counts,
    )


def order_within_units(units: IntArray) -> IntArray:
    """For each record, how many records of its unit stand before it, shape (records,): waves of visits."""
    grouped = group_ids(units, len(units), "units")
    order = np.argsort(grouped.group, kind="stable")
    begins = np.cumsum(grouped.counts) - grouped.counts
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order)) - np.repeat(begins, grouped.counts)
    return places


def level_of_units(units: Units, ids: IntArray) -> IntArray:
    """The household, primary sampling unit or other higher level of each unit, from 0, shape (units,).

    `ids` (records,) are any integers. Raises ValueError where a unit belongs to several.
    """
    level = group_ids(ids, len(units.unit), "ids").group
    of_unit = level[units.first]
    elsewhere = np.zeros(len(units), dtype=np.bool_)
    elsewhere[units.unit[level != of_unit[units.unit]]] = True
    problems = at_positions(elsewhere, "ids: units belong to several, tell one for each unit")
    if problems:
        raise ValueError(problems[0])
    return group_ids(of_unit, len(units), "ids").group


def group_ids(ids: IntArray, records: int, name: str) -> Keys:
    """Records grouped by an id, any integer; ids stand in order of first appearance.

    Raises ValueError, which calls the ids `name`, where there is not one integer for each record.
    """
    from sdcgate.methods.risk.key_loops import group_in_place

    given = np.asarray(ids)
    if given.dtype.kind not in "iu" or given.shape != (records,):
        raise ValueError(f"{name} must be one integer for each of the {records} records")
    numbers: IntArray = given.astype(np.int64)
    first, counts = group_in_place(numbers)
    return Keys(numbers, first, counts)


def _checked_waves(waves: IntArray, unit: IntArray) -> tuple[IntArray, IntArray]:
    """The waves that there are, in order, and the position of each record's."""
    given = np.asarray(waves)
    if given.dtype.kind not in "iu" or given.shape != unit.shape:
        raise ValueError(f"waves must be one integer for each of the {len(unit)} records")
    numbers, wave = np.unique(given, return_inverse=True)
    pairs = group_keys(np.column_stack([unit, wave]))
    twice: BoolArray = pairs.counts[pairs.group] > 1
    problems = at_positions(twice, "waves: units have several records in a wave, tell them apart")
    if problems:
        raise ValueError(problems[0])
    return numbers, wave


def _check_size(size: int) -> None:
    if size > LARGEST_VECTORS:
        raise ValueError(
            f"waves: the vectors of all units would have {size:.0e} codes, more than {LARGEST_VECTORS:.0e}: "
            "take fewer waves, or fewer keys that vary"
        )


def _smallest(weights: FloatArray | None, grouped: Keys) -> FloatArray | None:
    if weights is None:
        return None
    smallest = np.full(len(grouped), np.inf)
    np.minimum.at(smallest, grouped.group, checked_weights(weights, len(grouped.group)))
    return smallest
