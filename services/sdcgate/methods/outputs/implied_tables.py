"""The tables that a model implies: units of each combination of its factors, and of each class of outcome."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.design import Design, Records, VariableLevel
from sdcgate.methods.outputs.formula import Factor, Numeric, Term, term_text
from sdcgate.methods.outputs.model_facts import TermFacts

FEW_VALUES = 8
"""A number of so many values is a factor by another name: the constant, itself and its six transformations
have, in one model or in several, as many sums as it has values, which tell these apart."""
SAMPLED_ROWS = 5000
"""Rows that are looked at first, to see that a model has more distinct ones than columns."""
MOST_MARKS = 1 << 27
"""Pairs of a group and a unit that are marked one by one; of more they are sorted."""


@dataclass(frozen=True, slots=True, eq=False)
class Classified:
    """An outcome of classes: each record's class as a number from 0."""

    positions: IntArray = field(repr=False)
    count: int


def term_facts(
    design: Design, records: Records, units: IntArray, outcome: Classified | None
) -> tuple[TermFacts, ...]:
    """Of each term of a design, in its order; without factors or measures of few values the text alone."""
    return tuple(_of_term(term, design, records, units, outcome) for term in design.terms)


def implied_table(design: Design, records: Records) -> tuple[VariableLevel, ...] | None:
    """The factors for each of whose combinations a model without measures has a parameter; None for others.

    Such a model is the table of its outcome by these factors: its estimates are the cells' means, or rates.
    A constant alone is the table of one cell.
    """
    parts = {part for term in design.terms for part in term}
    if any(isinstance(part, Numeric) for part in parts):
        return None
    factors = tuple(sorted({(f.variable, f.level) for f in parts if isinstance(f, Factor)}))
    _, count = _combinations(factors, records)
    return factors if len(design.columns) == count else None


def pattern_units(values: FloatArray, units: IntArray) -> IntArray:
    """Units of each distinct row of the columns where there are no more of these than columns; else empty.

    The model is then the table of its outcome by these rows, however its columns came about: a measure of
    two values is a factor by another name.
    """
    step = max(1, len(values) // SAMPLED_ROWS)
    if len(np.unique(values[::step], axis=0)) > values.shape[1]:
        return np.zeros(0, dtype=np.int64)
    groups, count = np.zeros(len(values), dtype=np.int64), 1
    for column in range(values.shape[1]):
        found, of_records = np.unique(values[:, column], return_inverse=True)
        groups, count = _renumbered(groups * len(found) + of_records, count * len(found))
        if count > values.shape[1]:
            return np.zeros(0, dtype=np.int64)
    return units_by_group(groups, count, units)


def few_values(numbers: FloatArray) -> tuple[IntArray, int] | None:
    """Each record's value as a number from 0 and how many there are; None where there are many."""
    step = max(1, len(numbers) // SAMPLED_ROWS)
    if len(np.unique(numbers[::step])) > FEW_VALUES:
        return None
    values, places = np.unique(numbers, return_inverse=True)
    return (places.astype(np.int64), len(values)) if len(values) <= FEW_VALUES else None


def columns_within(term: Term, design: Design) -> int:
    """Columns of a term and of those whose parts are all among its parts."""
    within = {number for number, other in enumerate(design.terms) if set(other) <= set(term)}
    return sum(column.term in within for column in design.columns)


def _combinations(factors: tuple[VariableLevel, ...], records: Records) -> tuple[IntArray, int]:
    """Each record's combination of codes, as a number from 0 among those that occur, and how many do."""
    groups = np.zeros(records.size, dtype=np.int64)
    declared = 1
    for factor in factors:
        codes = records.codes[factor]
        width = int(codes.max(initial=0)) + 1
        groups = groups * width + codes
        declared *= width
    return _renumbered(groups, declared)


def usual_or_other(units_by_value: IntArray, units: int) -> IntArray:
    """Units of an outcome's most frequent value and of all others, where half of the units have that value.

    Estimates of a number tell sums over the values, and so of few who alone have another than the usual one
    what they are like on average. Of others no value stands apart: empty. `units_by_value` are units of each
    value, in which a unit of several values counts several times; then at least so many have another value.
    """
    if len(units_by_value) < 2:
        return units_by_value
    usual = int(units_by_value.max())
    others = np.delete(units_by_value, int(units_by_value.argmax()))
    if 2 * usual < units:
        return np.zeros(0, dtype=np.int64)
    alone = int(units_by_value.sum()) == units
    return np.array([usual, others.sum() if alone else max(others.max(), units - usual)], dtype=np.int64)


def _renumbered(groups: IntArray, count: int) -> tuple[IntArray, int]:
    """Groups numbered without those that nobody is in, and how many are left."""
    present = np.flatnonzero(np.bincount(groups, minlength=count))
    numbers = np.full(count, -1, dtype=np.int64)
    numbers[present] = np.arange(len(present))
    return numbers[groups], len(present)


def units_by_group(groups: IntArray, count: int, units: IntArray) -> IntArray:
    """Distinct units with a record in each group, shape (count,)."""
    if _each_alone(units):
        return np.bincount(groups, minlength=count).astype(np.int64)
    span = int(units.max(initial=0)) + 1
    pairs = groups * span + units
    if span * count <= MOST_MARKS:
        marks = np.zeros(span * count, dtype=np.bool_)
        marks[pairs] = True
        return np.asarray(np.count_nonzero(marks.reshape(count, span), axis=1), dtype=np.int64)
    pairs.sort()
    first = np.append(True, pairs[1:] != pairs[:-1])
    return np.bincount(pairs[first] // span, minlength=count).astype(np.int64)


def units_apart(values: FloatArray, units: IntArray) -> IntArray:
    """For each column the units with a record that has not its median value, shape (columns,)."""
    found = np.zeros(values.shape[1], dtype=np.int64)
    alone = _each_alone(units)
    for column in range(values.shape[1]):
        apart = values[:, column] != _median(values[:, column])
        if alone:
            found[column] = np.count_nonzero(apart)
        else:
            found[column] = np.count_nonzero(np.bincount(units[apart]))
    return found


def _median(values: FloatArray) -> float:
    middle = (len(values) - 1) // 2
    if 2 * np.count_nonzero(values) < len(values):
        return 0.0
    return float(np.partition(values, middle)[middle])


def _each_alone(units: IntArray) -> bool:
    return len(units) > 0 and int(units.max()) + 1 == len(units) and bool(np.all(np.bincount(units) == 1))


def _of_term(
    term: Term, design: Design, records: Records, units: IntArray, outcome: Classified | None
) -> TermFacts:
    factors = tuple((part.variable, part.level) for part in term if isinstance(part, Factor))
    numbers = {part.measure for part in term if isinstance(part, Numeric)}
    few = [found for name in sorted(numbers) if (found := few_values(records.measures[name])) is not None]
    if not factors and not few:
        return TermFacts(term_text(term))
    groups, count = _combinations(factors, records)
    for places, values in few:
        groups, count = _renumbered(groups * values + places, count * values)
    of_classes = np.zeros((0, 0), dtype=np.int64)
    if outcome is not None:
        cells = units_by_group(groups * outcome.count + outcome.positions, count * outcome.count, units)
        of_classes = cells.reshape(count, outcome.count)
    return TermFacts(
        term_text(term),
        factors,
        units_by_group(groups, count, units),
        of_classes,
        len(term) == len(factors) and columns_within(term, design) == count,
        bool(few),
    )
