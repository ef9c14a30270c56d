"""Sensitivity of single cells: thresholds, concentration, equal values.

Every function takes true facts, a value a cell, and says of each cell whether it is unsafe. Sources:
Skinner, Statistical Disclosure Control for Survey Data, 2.1 (thresholds) and 2.2.1 (dominance, p% and the
prior-posterior rule); equal values are the numeric case of group disclosure.

Within `CLOSE` relative of a bound counts as unsafe, and comparisons are written such that NaN is unsafe.
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, Facts, FloatArray, IntArray, MeasureFacts

CLOSE = 1e-9


def few_units(units: IntArray, minimum: int) -> BoolArray:
    """Cells with fewer units than the minimum; an empty cell is safe. `units` has shape (cells,)."""
    unsafe: BoolArray = (units != 0) & ~(units >= minimum)
    return unsafe


def few_households(households: FloatArray, units: IntArray, minimum: float) -> BoolArray:
    """Cells with fewer households than the minimum; a cell without units is safe.

    `households` are distinct households or sums of 1/size over units, shape (cells,). Here the tolerance
    favours the cell: three times 1/3 is one household. Units without any household are no household.
    """
    occupied = (units != 0) | ~(households == 0)
    unsafe: BoolArray = occupied & ~(households >= minimum * (1 - CLOSE))
    return unsafe


def dominated(largest: FloatArray, absolute_sums: FloatArray, n: int, share: float) -> BoolArray:
    """(n,k) dominance: cells whose n largest units hold more than the share k of all contributions.

    `largest` holds the largest absolute contributions of single units, largest first, shape (cells, ranks)
    with ranks >= n; `absolute_sums` the sums of absolute contributions, shape (cells,). Absolute, because a
    negative value must not hide a large one. A cell with n contributors or fewer is dominated whatever k;
    a cell without contributions, or with zeros only, is not (equal values are another rule).
    """
    if not 1 <= n <= largest.shape[1]:
        raise ValueError(f"dominance of the largest {n}: give at least {max(n, 1)} ranks a cell")
    held = largest[:, :n].sum(axis=1)
    unsafe: BoolArray = ~(absolute_sums == 0) & ~(held < share * absolute_sums * (1 - CLOSE))
    return unsafe


def estimable(
    largest: FloatArray,
    absolute_sums: FloatArray,
    share: float,
    *,
    prior: float = 1.0,
    coalition: int = 1,
    unwaived: FloatArray | None = None,
) -> BoolArray:
    """p% and (p,q) rule: cells where others can estimate a contribution to within the share p.

    `coalition` respondents of the cell put what they contribute together and subtract it from the total; of
    all others everybody knows the contribution to within the share `prior`, q, beforehand. Unsafe where q
    times what is left without them and the one that they estimate is less than p times that one: the largest,
    against the largest others. With q = 1 it is the p% rule. Shapes as for `dominated`, ranks above
    `coalition`. With no more contributors than one and the coalition nothing remains: unsafe. Zeros only:
    safe, as for `dominated`. `unwaived`, shape (cells, at least 1), are the largest contributions of those
    who gave no waiver, where some did: only they need protection, and anybody may be in a coalition.
    Source: Skinner 2.2.1, eq. (1); the coalition of m: 2.2.
    """
    target, remainder = against_coalition(largest, absolute_sums, coalition, unwaived)
    unsafe: BoolArray = ~(absolute_sums == 0) & ~(prior * remainder > share * target * (1 + CLOSE))
    return unsafe if unwaived is None else unsafe & ~(target == 0)


def against_coalition(
    largest: FloatArray, absolute_sums: FloatArray, coalition: int, unwaived: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """The contribution that a coalition estimates best, and what it does not know; each shape (cells,).

    It is the largest that needs protection, and the coalition are the largest others. Arguments as for
    `estimable`.
    """
    if not 1 <= coalition < largest.shape[1]:
        raise ValueError(f"p% rule: give at least {max(coalition, 1) + 1} ranks a cell")
    most = largest[:, : coalition + 1].sum(axis=1)
    if unwaived is None:
        return largest[:, 0], absolute_sums - most
    target = unwaived[:, 0]
    # Where somebody as large is in the first ranks, those are the one and the coalition.
    beside = np.where(target >= largest[:, coalition], most - target, most - largest[:, coalition])
    return target, absolute_sums - target - beside


def equal_values(
    minima: FloatArray, maxima: FloatArray, valid_records: IntArray, tolerance: float
) -> BoolArray:
    """Cells where the values of all records are equal, or nearly so.

    Unsafe where maximum - minimum is at most `tolerance` times the largest absolute value; with tolerance 0
    where it is nothing. All arrays have shape (cells,). A cell where every value is zero is unsafe too: that
    nobody has the income in question is known of each. A cell without a value is safe; one with a single
    value is not.
    """
    scale = np.maximum(np.abs(minima), np.abs(maxima))
    unsafe: BoolArray = (valid_records != 0) & ~(maxima - minima > tolerance * scale * (1 + CLOSE))
    return unsafe


def few_with_or_without(facts: Facts, measure: MeasureFacts, minimum: int) -> BoolArray:
    """Cells where too few units have a measure, or too few lack it, shape (cells,).

    A mean has the population that has the measure; beside the cell's count it shows the population that
    lacks it, as a difference of two boxes. The units that lack it are `lacking_units`. Where those are
    unknown, only the units without any valid record are sure to be among them; if some record lacks the
    measure and fewer units than the minimum are sure, the cell is unsafe. Where each unit has one record
    that is exact.
    """
    sure = facts.units - measure.valid_units if measure.lacking_units is None else measure.lacking_units
    lacking = facts.records != measure.valid_records
    unsafe: BoolArray = few_units(measure.valid_units, minimum) | (lacking & ~(sure >= minimum))
    return unsafe


def first_known(*counts: IntArray) -> IntArray:
    """The first column that is known; an empty one where none is."""
    return next((column for column in counts if column.size), counts[0])


def respondents(holdings: IntArray | None, units: IntArray) -> IntArray:
    """Units that belong to one holding are one respondent."""
    if holdings is None or not holdings.size:
        return units
    return np.minimum(holdings, units) if units.size else holdings


def few_of_measure(facts: Facts, measure: MeasureFacts, minimum: int) -> BoolArray:
    """Cells where too few have a measure, or too few lack it, by the facts that are known, shape (cells,).

    Empty where nothing is known of who has it.
    """
    having = first_known(measure.valid_units, measure.valid_records)
    unsafe = few_units(having, minimum)
    told = (measure.valid_units, measure.valid_records, facts.units, facts.records)
    if all(column.size for column in told):
        unsafe = few_with_or_without(facts, measure, minimum)
    if measure.valid_holdings is not None and measure.valid_holdings.size:
        few = few_units(measure.valid_holdings, minimum)
        unsafe = unsafe | few if unsafe.size else few
    return unsafe
