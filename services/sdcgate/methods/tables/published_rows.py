"""What is published beside a table, as rows: linear in what is hidden, whatever of it is.

A ratio is two rows, or one where it is exact, and one more that says that its denominator is not nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import BoolArray, Facts, FloatArray, IntArray
from sdcgate.methods.tables.published_figures import (
    CellBounds,
    FactOfCells,
    Published,
    PublishedRatios,
    RoundedValues,
)
from sdcgate.methods.tables.quantities import RECORDS, SUMS, UNITS, quantities_of

PRECISION = 1e-14
"""By how much, as a share of its terms, a row may be missed by what floating point leaves of it."""


class Source(IntEnum):
    """What a row comes from; the numbers are those of the arithmetic's kinds."""

    RATIO = 10
    ROUNDED = 11
    BOUNDS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Rows lower <= sum of factors[k] * value(quantities[k], cells[k]) <= upper, one after the other.

    `sources`, `columns` and `entries` say what each row comes from: the kind, the number of the column among
    all that are published, and the entry in it.
    """

    quantities: IntArray
    cells: IntArray
    factors: FloatArray = field(repr=False)
    starts: IntArray = field(repr=False)
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    sources: IntArray
    columns: IntArray
    entries: IntArray

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def rows(self) -> IntArray:
        """Row of each term."""
        return np.repeat(np.arange(len(self)), np.diff(np.append(self.starts, len(self.cells))))

    def couples(self, hidden: BoolArray) -> bool:
        """Whether a row ties a hidden sum to another hidden quantity; `hidden` is (quantities, cells)."""
        terms = hidden[self.quantities, self.cells]
        rows, quantities = self.rows[terms], self.quantities[terms]
        summed = np.zeros(len(self), dtype=np.bool_)
        summed[rows[quantities >= SUMS]] = True
        kinds = np.unique(np.stack([rows, quantities]), axis=1)
        return bool(np.any(summed & (np.bincount(kinds[0], minlength=len(self)) > 1)))

    def totals(self, values: FloatArray) -> FloatArray:
        """Value of each row, shape (tables, rows), of values, shape (quantities, tables, cells)."""
        if not len(self):
            return np.zeros((values.shape[1], 0))
        terms = values[self.quantities, :, self.cells].T * self.factors
        totals: FloatArray = np.add.reduceat(terms, self.starts, axis=1)
        return totals

    def room(self, truths: FloatArray) -> tuple[FloatArray, FloatArray]:
        """By how much each row may fall and rise from the truth, shape (quantities, cells); 0 at least."""
        totals = self.totals(truths[:, None])[0]
        return np.minimum(self.lower - totals, 0.0), np.maximum(self.upper - totals, 0.0)

    def blur(self, truths: FloatArray) -> FloatArray:
        """What floating point may leave of each row, shape (rows,)."""
        sizes = np.abs(self.factors * truths[self.quantities, self.cells])
        ends = np.maximum(_finite(self.lower), _finite(self.upper))
        if not len(self):
            return ends
        blur: FloatArray = PRECISION * np.maximum(np.add.reduceat(sizes, self.starts), ends)
        return blur


def told_by(published: Sequence[Published], facts: Facts, units_follow: bool) -> Told:
    """The rows of all that is published. Units that follow the records are these."""
    if not published:
        return _nothing_told()
    lacking = [facts.records - measure.valid_records for measure in facts.measures]
    truths = quantities_of(facts)
    found = [row for row in _every_row(published, lacking, truths, units_follow) if row.terms]
    terms = [term for row in found for term in row.terms]
    starts = np.cumsum([0, *(len(row.terms) for row in found)])[:-1]
    return Told(
        quantities=np.array([term[0] for term in terms], dtype=np.int64),
        cells=np.array([term[1] for term in terms], dtype=np.int64),
        factors=np.array([term[2] for term in terms], dtype=np.float64),
        starts=starts.astype(np.int64),
        lower=np.array([row.lower for row in found], dtype=np.float64),
        upper=np.array([row.upper for row in found], dtype=np.float64),
        sources=np.array([row.source for row in found], dtype=np.int64),
        columns=np.array([row.column for row in found], dtype=np.int64),
        entries=np.array([row.entry for row in found], dtype=np.int64),
    )


def _nothing_told() -> Told:
    whole, real = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Told(whole, whole, real, whole, real, real, whole, whole, whole)


@dataclass(frozen=True, slots=True)
class _Row:
    terms: tuple[tuple[int, int, float], ...]
    lower: float
    upper: float
    source: Source
    column: int
    entry: int


def _every_row(
    published: Sequence[Published], lacking: Sequence[IntArray], truths: FloatArray, units_follow: bool
) -> Iterator[_Row]:
    def term(fact: FactOfCells, entry: int, factor: float) -> tuple[tuple[int, int, float], float]:
        """A fact as a quantity times a factor, and what to add to it."""
        quantity, cell = fact.quantity, int(fact.cells[entry])
        quantity = RECORDS if quantity == UNITS and units_follow else quantity
        less = 0 if fact.having is None else int(lacking[fact.having][cell])
        return (quantity, cell, factor), -factor * less

    for column, one in enumerate(published):
        if isinstance(one, PublishedRatios):
            for entry in range(len(one.values)):
                over, over_constant = term(one.numerators, entry, 1.0)
                per, more = term(one.denominators, entry, 1.0)
                sign = 1.0 if truths[per[0], per[1]] + more > 0 else -1.0
                for end, side in _ends(one, entry):
                    below, below_constant = term(one.denominators, entry, -end)
                    constant = 0.0 - (over_constant + below_constant)
                    turned = side * sign
                    yield _Row(
                        _together(over, below),
                        constant if turned <= 0 else -np.inf,
                        constant if turned >= 0 else np.inf,
                        Source.RATIO,
                        column,
                        entry,
                    )
                # What is divided by is not nothing: a count has one at least.
                least = 1.0 if per[0] < SUMS else 0.0
                lower, upper = (least, np.inf) if sign > 0 else (-np.inf, 0.0)
                yield _Row((per,), lower - more, upper - more, Source.RATIO, column, entry)
            continue
        source = Source.ROUNDED if isinstance(one, RoundedValues) else Source.BOUNDS
        lower_ends, upper_ends = _between(one)
        for entry in range(len(lower_ends)):
            own, more = term(one.facts, entry, 1.0)
            yield _Row((own,), lower_ends[entry] - more, upper_ends[entry] - more, source, column, entry)


def _together(
    first: tuple[int, int, float], second: tuple[int, int, float]
) -> tuple[tuple[int, int, float], ...]:
    """Two terms; one where they are of the same quantity of the same cell, none where they cancel out."""
    if first[:2] == second[:2]:
        first, second = (*first[:2], first[2] + second[2]), (*second[:2], 0.0)
    return tuple(term for term in (first, second) if term[2])


def _ends(one: PublishedRatios, entry: int) -> Iterator[tuple[float, float]]:
    """What a numerator is of its denominator, with 1 where at most, -1 where at least, 0 where exactly."""
    value, half = float(one.values[entry]), float(one.half_widths[entry])
    if half == 0:
        yield value / one.times, 0.0
    else:
        yield (value + half) / one.times, 1.0
        yield (value - half) / one.times, -1.0


def _between(one: RoundedValues | CellBounds) -> tuple[FloatArray, FloatArray]:
    if isinstance(one, CellBounds):
        return one.lower, one.upper
    return one.values - one.half_widths, one.values + one.half_widths


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), np.abs(values), 0.0)
