"""What shares and means of groups tell of cells of the table beneath together."""

from dataclasses import replace

import numpy as np

from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.facility.released_ratios import Ratios, one_each
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.methods.cells import Axis, BoolArray, FloatArray, IntArray, shape_of
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.wire.models import significant


def with_ratios(
    plan: StatisticPlan,
    axes: tuple[Axis, ...],
    released: tuple[ReleasedTable, ...],
    values: FloatArray,
    shown: BoolArray,
) -> tuple[ReleasedTable, ...]:
    """The quantities of a statistic's table, with what its figures tell of two of its cells together.

    Args:
        plan: the statistic.
        axes: those of its table, groups first.
        released: the table's quantities, counts first.
        values: its figure in each group, shape (groups,).
        shown: groups whose figure leaves.
    """
    lowest, highest = plan.dataset.weight_bounds
    # Where all weigh the same, figures are those without weights.
    with_weights = plan.weighted and lowest < highest
    if with_weights or plan.statistic not in (Statistic.PROPORTION, Statistic.MEAN):
        return released
    cells = np.arange(int(np.prod(shape_of(axes)))).reshape(shape_of(axes))
    groups = cells[tuple(slice(0, -1) for _ in plan.groups)].reshape(len(values), -1)
    low, high = rounding_ends(values, plan.policy.statistics.significant_digits)
    if plan.statistic is Statistic.MEAN:
        means = one_each(groups[:, 0], groups[:, 0], low, high, shown)
        return tuple(
            replace(table, ratios=means) if table.quantity == plan.measures[0] else table
            for table in released
        )
    counts, *others = released
    return (replace(counts, ratios=_shares(plan, axes[-1], groups, low, high, shown)), *others)


def _shares(
    plan: StatisticPlan, having: Axis, groups: IntArray, low: FloatArray, high: FloatArray, shown: BoolArray
) -> Ratios:
    """Of each group that is shown the cells of what is counted, by the cell of all that have any code."""
    counted = plan.having.codes if plan.having is not None else ()
    places = np.array([place for place, code in enumerate(having.codes) if code in counted], dtype=np.int64)
    # Nobody has what is counted where the filter leaves none of its codes, whatever the groups.
    which = np.flatnonzero(shown & (len(places) > 0))
    parts = groups[np.ix_(which, places)]
    number = np.repeat(np.arange(len(which)), len(places))
    return Ratios(parts.reshape(-1), number, groups[which, -1], low[which], high[which])


def rounding_ends(values: FloatArray, digits: int) -> tuple[FloatArray, FloatArray]:
    """Between what values lie that are told with so many significant digits, shape (groups,) each."""
    told = np.array([significant(value, digits) for value in values.tolist()], dtype=np.float64)
    sizes = np.abs(np.where(np.isfinite(told) & (told != 0.0), told, 1.0))
    power = 10.0 ** np.floor(np.log10(sizes))
    outwards = np.where(told == 0.0, 0.0, 0.5 * power * 10.0 ** (1 - digits))
    # Below a power of ten the last digit is worth a tenth.
    inwards = np.where(np.isclose(sizes, power, rtol=1e-9, atol=0.0), outwards / 10.0, outwards)
    return told - np.where(told < 0.0, outwards, inwards), told + np.where(told < 0.0, inwards, outwards)
