"""The cells of a planned table as boxes: what a cell is as a set, whatever table it stands in."""

import hashlib
from dataclasses import replace

import numpy as np

from sdcgate.engine.queries import MEASURE_PREFIX
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.facility.plan import Plan
from sdcgate.facility.weights import WEIGHTED_PREFIX
from sdcgate.methods.cells import TOTAL, Axis, BoolArray, Facts, IntArray, MeasureFacts, State
from sdcgate.methods.tables.boxes import BoxTable

COUNTS = "counts"
"""The quantity of units, records and households."""

MEASURE_PRESENT = 1
MEASURE_FULL = 3


def box_table(plan: Plan, axes: tuple[Axis, ...], facts: Facts, states: IntArray) -> BoxTable:
    """The boxes of a computed table with the states its cells leave in."""
    dataset = plan.dataset
    filters = {
        condition.variable: dataset.mask(condition.variable, condition.level, condition.codes)
        for condition in plan.filters
    }
    dimensions = []
    for axis in axes:
        level = dataset.level(axis.variable, axis.level)
        masks = dict(zip(level.codes, level.masks, strict=True))
        every = filters.get(axis.variable, dataset.full_mask(axis.variable))
        dimensions.append(
            (axis.variable, tuple(every if c == TOTAL else masks[c] & every for c in axis.codes))
        )
    shown = {axis.variable for axis in axes}
    fixed = tuple(sorted((name, mask) for name, mask in filters.items() if name not in shown))
    variables = [*shown, *filters]
    return BoxTable(
        axes=tuple(dimensions),
        fixed=fixed,
        full={name: dataset.full_mask(name) for name in variables},
        states=states,
        records=facts.records,
        marks=facts.marks if facts.marks is not None else np.zeros(len(facts), dtype=np.int64),
    )


def quantities(table: BoxTable, facts: Facts) -> list[ReleasedTable]:
    """A table as the quantities that it shows: counts, and the sums of each measure.

    The records that have a measure are another population than the cells' where some lack it; a mean tells of
    its size, so it counts as released as well, and the difference can be one person.
    """
    boxes = tuple(table.boxes())
    found = [ReleasedTable(COUNTS, table, replace(facts, measures=()), boxes)]
    for measure in facts.measures:
        lacking = measure.valid_records != facts.records
        population, of_population = table, boxes
        of_measure = replace(facts, units=measure.valid_units, records=measure.valid_records)
        if lacking.any():
            population = _having(table, measure, lacking)
            of_population = tuple(population.boxes())
            counts = replace(of_measure, households=None, measures=())
            found.append(ReleasedTable(COUNTS, population, counts, of_population))
        of_measure = replace(of_measure, measures=(measure,))
        found.append(ReleasedTable(measure.name, population, of_measure, of_population))
    return found


def _having(table: BoxTable, measure: MeasureFacts, lacking: BoolArray) -> BoxTable:
    """The boxes of the records that have a measure."""
    variable = f"{MEASURE_PREFIX}{measure.name.removeprefix(WEIGHTED_PREFIX)}"
    marks = np.array(table.marks)
    for cell in np.flatnonzero(lacking):
        # The engine's mark is of more records than these: a mark of the box's own, below zero, stands in.
        name = repr((variable, table.box(int(cell)))).encode()
        marks[cell] = -1 - (int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()) >> 2)
    return replace(
        table,
        fixed=tuple(sorted((*table.fixed, (variable, MEASURE_PRESENT)))),
        full={**table.full, variable: MEASURE_FULL},
        records=measure.valid_records,
        marks=marks,
    )


def inner_states(axes: tuple[Axis, ...], leaves: BoolArray, margins: bool) -> IntArray:
    """States before any rule: everything asked is published, margins not asked for are absent."""
    states = np.full(len(leaves), State.PUBLISHED, dtype=np.int64)
    if not margins and axes:
        states[~leaves] = State.ABSENT
    return states
