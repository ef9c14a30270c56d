"""Tables of which a caller gave only some facts: what stands for the others, and of what nothing is proved.

What is taken for granted here is part of the contract: without records each unit has one; without counts a
cell whose sums are all 0 is empty; what nobody gave is said to be unchecked.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import Axis, BoolArray, Facts, IntArray, MeasureFacts, leaf_cells, shape_of
from sdcgate.methods.positions import FactProblem, FactsError

RECORDS_NEEDED = (
    "has an upper bound of a record's value, or a lower one other than 0, and nothing tells how many records "
    "a sum is made of: give its valid_records, or the records or units of the table"
)


@dataclass(frozen=True, slots=True, eq=False)
class Protectable:
    """Facts of a table in the shape that protection needs, and those that were not given.

    `units_additive` and `records_per_unit` are as a problem has them; without `counted` the counts are made
    up and stand still: only the sums are to be protected.
    """

    facts: Facts = field(repr=False)
    units_additive: bool
    records_per_unit: int
    counted: bool
    unchecked: tuple[str, ...]


def with_stand_ins(facts: Facts) -> Facts:
    """The facts with what follows from those that were given.

    Units without records have one record each, and so have those that have a measure. If no value of a
    measure is below 0 its absolute sums are its sums; what lies above its lower bound is its sums less the
    bound of each record.
    """
    alone = facts.units.size > 0 and not facts.records.size
    measures = tuple(_with_stand_ins(measure, alone) for measure in facts.measures)
    return replace(facts, records=facts.units if alone else facts.records, measures=measures)


def _with_stand_ins(measure: MeasureFacts, one_record_each: bool) -> MeasureFacts:
    units, records, absolute = measure.valid_units, measure.valid_records, measure.absolute_sums
    if one_record_each:
        units, records = units if units.size else records, records if records.size else units
    if not absolute.size and measure.lower_bound is not None and measure.lower_bound >= 0:
        absolute = measure.sums
    shifted, low = measure.shifted, measure.lower_bound
    if shifted and not shifted.totals.size and low is not None and measure.sums.size and records.size:
        shifted = replace(shifted, totals=np.maximum(measure.sums - low * records, 0.0))
    return replace(measure, valid_units=units, valid_records=records, absolute_sums=absolute, shifted=shifted)


def protectable(
    axes: tuple[Axis, ...], facts: Facts, units_additive: bool, records_per_unit: int
) -> Protectable:
    """What can be protected of a table with these facts.

    Raises:
        FactsError: without a fact that was not given nothing can be protected.
    """
    problems = list(_needed(facts, units_additive, records_per_unit))
    if problems:
        raise FactsError(problems)
    counted = bool(facts.units.size or facts.records.size)
    both = bool(facts.units.size and facts.records.size)
    several = records_per_unit > 1
    stood = with_stand_ins(facts)
    unchecked = [
        *(["units"] if not facts.units.size and (several or not counted) else []),
        *(["records"] if not facts.records.size and (several or not counted) else []),
        *(fact for measure in (facts if several else stood).measures for fact in _unchecked(measure)),
    ]
    records = stood.records if counted else _made_up_records(axes, facts)
    measures = tuple(_with_valid_records(measure, axes, counted, records) for measure in _with_sums(stood))
    return Protectable(
        facts=replace(stood, units=facts.units if both else records, records=records, measures=measures),
        units_additive=units_additive or not facts.units.size,
        records_per_unit=records_per_unit if both else 1,
        counted=counted,
        unchecked=tuple(unchecked),
    )


def _with_sums(facts: Facts) -> list[MeasureFacts]:
    return [measure for measure in facts.measures if measure.sums.size]


def _needed(facts: Facts, units_additive: bool, records_per_unit: int) -> Iterator[FactProblem]:
    """Facts that nothing can stand for."""
    counted = facts.units.size or facts.records.size
    if not counted and not _with_sums(facts):
        yield FactProblem("facts", "must have units, records or the sums of a measure")
    if facts.units.size and not facts.records.size and not units_additive and records_per_unit > 1:
        yield FactProblem("facts", "has units that do not add up: give its records, too")
    for place, measure in enumerate(facts.measures):
        if not counted and measure.sums.size and not measure.valid_records.size and _is_bounded(measure):
            # Not at the column itself: what stands for an absent column is not what is wrong.
            yield FactProblem(f"facts.measures[{place}]", RECORDS_NEEDED)


def _unchecked(measure: MeasureFacts) -> Iterator[str]:
    """What was not given of a measure."""
    if not measure.sums.size:
        yield f"sums of {measure.name}"
        return
    if measure.lower_bound is None and measure.upper_bound is None:
        yield f"bounds of {measure.name}"
    if not measure.valid_records.size and _is_bounded(measure):
        yield f"valid_records of {measure.name}"


def _is_bounded(measure: MeasureFacts) -> bool:
    """Whether it matters for the bounds of a sum how many records it is made of."""
    return measure.upper_bound is not None or measure.lower_bound not in (None, 0.0)


def _with_valid_records(
    measure: MeasureFacts, axes: tuple[Axis, ...], counted: bool, records: IntArray
) -> MeasureFacts:
    if measure.valid_records.size:
        return measure
    return replace(measure, valid_records=records if counted else _occupied(axes, measure.sums != 0))


def _made_up_records(axes: tuple[Axis, ...], facts: Facts) -> IntArray:
    """Records that go with every measure's: each record has one of them."""
    of_measures = [
        measure.valid_records if measure.valid_records.size else _occupied(axes, measure.sums != 0)
        for measure in _with_sums(facts)
    ]
    records: IntArray = np.sum(of_measures, axis=0, dtype=np.int64)
    return records


def _occupied(axes: tuple[Axis, ...], occupied: BoolArray) -> IntArray:
    """One record in each occupied cell without parts, added up to all totals; shape (cells,)."""
    counts = (occupied & leaf_cells(axes)).astype(np.int64).reshape(shape_of(axes))
    for place, axis in enumerate(axes):
        lines = np.moveaxis(counts, place, 0)
        for parent, parts in _from_below(axis):
            lines[parent] = lines[parts].sum(axis=0)
    return counts.reshape(-1)


def _from_below(axis: Axis) -> Iterator[tuple[int, IntArray]]:
    """Codes with their parts, each after those of its parts that have parts."""
    parts = dict(axis.parts())
    waiting = {code: sum(int(part) in parts for part in of_code) for code, of_code in parts.items()}
    ready = [code for code, number in waiting.items() if number == 0]
    while ready:
        code = ready.pop()
        yield code, parts[code]
        above = axis.parents[code]
        if above != -1:
            waiting[above] -= 1
            if waiting[above] == 0:
                ready.append(above)
