"""What an answer tells of the cells of a table: by the figures that were asked, and totals that were not.

A table is judged and protected as though all of it left. What it told is less: no total that was not asked
for and does not follow from the cells that are there, and nothing of persons where only records were asked.
What is noted as told too early could be told later of what is withheld first by then, as nothing new.

Percentages tell counts, and those that they are shares of, perhaps: up to their rounding, and only together
with one count. Means tell sums so, and what their groups count; sums may tell how many there are. That is
reckoned with as known, and is news once it is shown. Beside what is told for sure, what they tell of both
together is known as well (`told_ratios`). The total of a statistic is a sum that is told, where it is not
rounded.
"""

from collections.abc import Collection, Sequence

import numpy as np

from sdcgate.facility.figures import denominators
from sdcgate.facility.knowledge import COUNTS, ReleasedTable
from sdcgate.facility.panels import most_records
from sdcgate.facility.plan import PERCENTAGES, Plan
from sdcgate.facility.released_ratios import NO_RATIOS, Ratios, one_each, together
from sdcgate.facility.weights import WEIGHTED_PREFIX, told_as_plain
from sdcgate.methods.cells import Axis, BoolArray, IntArray, Relations, additive_relations, leaf_cells
from sdcgate.methods.tables.joint_boxes import EVERYTHING, PERHAPS, RECORDS, SURELY, UNITS
from sdcgate.methods.tables.told_shares import is_fine
from sdcgate_proto.sdcgate.types.v1 import table_pb2

OF_COUNTS = {table_pb2.STATISTIC_RECORDS: RECORDS, table_pb2.STATISTIC_UNITS: UNITS}
SUMS = (table_pb2.STATISTIC_SUM, table_pb2.STATISTIC_WEIGHTED_SUM)


def told_figures(
    plan: Plan,
    axes: tuple[Axis, ...],
    varying: Collection[int],
    new: Sequence[ReleasedTable],
    marked: BoolArray,
) -> list[IntArray]:
    """What an answer tells of each quantity of a table's cells, as flags of `joint_boxes`, (cells,) each.

    Args:
        plan: the table as it was asked.
        axes: its axes.
        varying: positions of the axes along which units of totals do not follow from those of cells.
        new: its quantities, counts first.
        marked: cells that the answer marks as withheld, shape (cells,).
    """
    there = _shown_cells(plan, axes, marked)
    wholes = _shown_as_wholes(plan, axes)
    whole, most = new[0], most_records(plan, axes)
    # Where all cells are shown all of them tell the same.
    totals = [] if plan.margins and not marked.any() else _totals(axes, varying)
    found = []
    for table in new:
        shown, perhaps = _shown(plan, axes, table, whole)
        told = np.where(there, shown << SURELY | shown | perhaps, 0)
        if table is whole and most is not None:
            told = _in_both(told, most == 1)
        if totals:
            told = _with_totals(totals, len(axes), told)
        if wholes is not None and table is whole:
            # What is marked for the sake of a share counts as told, as what it is a share of does.
            told |= np.where(marked | wholes, RECORDS if plan.dataset.varying is not None else PERHAPS, 0)
        # Whoever sees that nobody is there knows everything of them.
        everything = np.where(told >> SURELY != 0, EVERYTHING, PERHAPS)
        nobody = (table.table.records == 0) & (told != 0)
        found.append(np.where(nobody, everything, told).astype(np.int64))
    return found


def _in_both(told: IntArray, same: BoolArray) -> IntArray:
    """With units told where records are, and the other way round, in cells where they are the same."""
    perhaps, surely = (told & PERHAPS) != 0, (told >> SURELY & PERHAPS) != 0
    both = np.where(perhaps, PERHAPS, 0) | np.where(surely, PERHAPS << SURELY, 0)
    return np.asarray(np.where(same, both, told))


def told_ratios(
    plan: Plan,
    axes: tuple[Axis, ...],
    new: Sequence[ReleasedTable],
    told: Sequence[IntArray],
    marked: BoolArray,
) -> list[Ratios]:
    """What percentages and means tell of two cells, or of a sum and its count, together; of each quantity.

    Args:
        plan: the table as it was asked.
        axes: its axes.
        new: its quantities, counts first.
        told: what the answer tells of each by itself (`told_figures`).
        marked: cells that the answer marks as withheld, shape (cells,).
    """
    if plan.beneath:
        return [NO_RATIOS] * len(new)
    shown = _shown_cells(plan, axes, marked)
    means = {one.measure for one in told_as_plain(plan) if one.statistic == table_pb2.STATISTIC_MEAN}
    found = []
    for table, flags in zip(new, told, strict=True):
        sure = (flags >> SURELY & RECORDS) != 0
        if table is new[0]:
            found.append(_percentages(plan, axes, table.table.records, sure, shown))
        elif table.facts.measures and table.quantity in means:
            # Beside a sum a mean tells how many there are.
            counted = ((told[0] >> SURELY & RECORDS) != 0) & (table.table.records is new[0].table.records)
            found.append(_means(plan, table, shown & ~(sure & counted)))
        else:
            found.append(NO_RATIOS)
    return found


def _shown_cells(plan: Plan, axes: tuple[Axis, ...], marked: BoolArray) -> BoolArray:
    """Cells that were asked for, and are not marked as withheld, shape (cells,)."""
    return ~marked if plan.margins else ~marked & leaf_cells(axes)


def _percentages(
    plan: Plan, axes: tuple[Axis, ...], records: IntArray, sure: BoolArray, shown: BoolArray
) -> Ratios:
    """Each percentage that is shown, but where both counts are told for sure."""
    cells, half, found = np.arange(len(records)), 0.5 * 10.0 ** -(plan.layout.digits + 2), []
    for wholes in denominators(axes, plan.layout):
        base = records[wholes]
        chosen = shown & (base > 0) & (wholes != cells) & ~(sure & sure[wholes])
        shares = np.round(records / np.maximum(base, 1) * 100.0, plan.layout.digits) / 100.0
        found.append(one_each(cells, wholes, np.maximum(shares - half, 0.0), shares + half, chosen))
    return together(found)


def _means(plan: Plan, table: ReleasedTable, shown: BoolArray) -> Ratios:
    """The mean of each of some cells."""
    (measure,), records = table.facts.measures, table.table.records
    cells, half = np.arange(len(records)), _half(plan)
    means = np.round(measure.sums / np.maximum(records, 1), plan.layout.digits)
    return one_each(cells, cells, means - half, means + half, shown & (records > 0) & np.isfinite(means))


def _half(plan: Plan) -> float:
    """By how much rounding changes a mean at most."""
    return float(0.5 * 10.0**-plan.layout.digits)


def _shown(
    plan: Plan, axes: tuple[Axis, ...], table: ReleasedTable, whole: ReleasedTable
) -> tuple[IntArray | int, int]:
    """What figures tell of a quantity where they are shown, for sure and perhaps."""
    if plan.beneath:
        return np.where(_told_by_totals(plan, axes, table), PERHAPS, 0), PERHAPS
    if table.quantity != COUNTS:
        return _of_sums(plan, table, whole)
    shown, perhaps = _of_counts(plan)
    # How many have a measure no count shows, but the mean may.
    return (shown if table is whole else 0), perhaps


def _told_by_totals(plan: Plan, axes: tuple[Axis, ...], table: ReleasedTable) -> BoolArray:
    """Cells of which a total tells the very sum, shape (cells,): its digits reach to the measure's last."""
    if not (plan.total_digits and table.facts.measures):
        return np.zeros(len(table.boxes), dtype=np.bool_)
    (measure,) = table.facts.measures
    last = 10.0 ** (plan.total_digits - plan.dataset.measure(measure.name).decimals)
    return leaf_cells(axes) & (table.table.records > 0) & (np.abs(measure.sums) < last)


def _shown_as_wholes(plan: Plan, axes: tuple[Axis, ...]) -> BoolArray | None:
    """Cells that others are shown as shares of, shape (cells,); None where there are no shares."""
    if not plan.with_percentages:
        return None
    shares = denominators(axes, plan.layout)
    found = np.zeros(shares.shape[1], dtype=np.bool_)
    found[shares.reshape(-1)] = True
    return found


def _of_counts(plan: Plan) -> tuple[int, int]:
    """What figures tell of counts where they are shown, for sure and perhaps."""
    statistics = {figure.statistic for figure in told_as_plain(plan)}
    shown = sum(flag for statistic, flag in OF_COUNTS.items() if statistic in statistics)
    if plan.dataset.varying is None:
        # Units are records.
        return (PERHAPS if shown else 0), PERHAPS
    only_counts = statistics <= OF_COUNTS.keys()
    return shown, 0 if only_counts else RECORDS if statistics <= {*OF_COUNTS, *PERCENTAGES} else PERHAPS


def _of_sums(plan: Plan, table: ReleasedTable, whole: ReleasedTable) -> tuple[IntArray | int, int]:
    """What figures tell of a measure's sums, for sure and perhaps."""
    measure, weighted = (
        table.quantity.removeprefix(WEIGHTED_PREFIX),
        table.quantity.startswith(WEIGHTED_PREFIX),
    )
    shows = SUMS[weighted] if measure else table_pb2.STATISTIC_WEIGHTED_UNITS
    figures = told_as_plain(plan)
    sums = any(figure.statistic == shows and figure.measure == measure for figure in figures)
    counted, _ = _of_counts(plan)
    # A mean is a sum beside the number of those who have the measure, where all do.
    counted_too = not weighted and counted & RECORDS and table.table.records is whole.table.records
    mean = any(
        figure.statistic == table_pb2.STATISTIC_MEAN and figure.measure == measure for figure in figures
    )
    if sums or not (mean and counted_too):
        return (PERHAPS if sums else 0), PERHAPS
    (of_measure,) = table.facts.measures
    half = _half(plan) * table.table.records.astype(np.float64)
    fine = is_fine(half, np.abs(of_measure.sums))
    return np.where(fine, PERHAPS, 0), PERHAPS


def _totals(axes: tuple[Axis, ...], varying: Collection[int]) -> list[tuple[Relations, int]]:
    """What adds up along axes, and the figures of which totals follow from those of their cells."""
    others = [position for position in range(len(axes)) if position not in varying]
    both = [(others, ~0), (varying, ~(UNITS | UNITS << SURELY))]
    found = [(additive_relations(axes, along), figures) for along, figures in both]
    return [(relations, figures) for relations, figures in found if len(relations)]


def _with_totals(totals: Sequence[tuple[Relations, int]], axes: int, told: IntArray) -> IntArray:
    """With totals that follow as all that they are made of is told, along so many axes, shape (cells,)."""
    told = told.copy()
    for _ in range(axes):
        for relations, figures in totals:
            parts = np.bitwise_and.reduceat(told[relations.children], relations.offsets[:-1]) & figures
            np.bitwise_or.at(told, relations.parents, parts)
    return told
