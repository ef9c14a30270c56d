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
    found: list[_Rows] = []
    if published:
        made = _Maker(facts, units_follow)
        found = [rows for column, one in enumerate(published) for rows in made.rows(one, column)]

    def joined(name: str, kind: type) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype=kind), *(getattr(rows, name) for rows in found)])

    lengths, sizes = joined("lengths", np.int64), [len(rows.lower) for rows in found]
    return Told(
        quantities=joined("quantities", np.int64),
        cells=joined("cells", np.int64),
        factors=joined("factors", np.float64),
        starts=np.cumsum(lengths) - lengths,
        lower=joined("lower", np.float64),
        upper=joined("upper", np.float64),
        sources=np.repeat(np.array([rows.source for rows in found], dtype=np.int64), sizes),
        columns=np.repeat(np.array([rows.column for rows in found], dtype=np.int64), sizes),
        entries=joined("entries", np.int64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of one kind of one column: `lengths` terms each, one after the other."""

    quantities: IntArray
    cells: IntArray
    factors: FloatArray
    lengths: IntArray
    lower: FloatArray
    upper: FloatArray
    source: Source
    column: int
    entries: IntArray


class _Maker:
    """Makes rows; a fact is a quantity less the records that lack a measure, as far as it is of others."""

    def __init__(self, facts: Facts, units_follow: bool) -> None:
        self._truths = quantities_of(facts)
        self._lacking = [facts.records - measure.valid_records for measure in facts.measures]
        self._units_follow = units_follow

    def rows(self, one: Published, column: int) -> Iterator[_Rows]:
        """All rows of a column."""
        if isinstance(one, PublishedRatios):
            yield from self._ratios(one, column)
            return
        source = Source.ROUNDED if isinstance(one, RoundedValues) else Source.BOUNDS
        yield self._alone(one.facts, _between(one), (source, column))

    def _alone(self, fact: FactOfCells, ends: tuple[FloatArray, FloatArray], of: tuple[Source, int]) -> _Rows:
        """Each fact between its ends."""
        less, each = self._less(fact), np.arange(len(fact.cells))
        ones = np.ones(len(each))
        quantities = np.full(len(each), self._quantity(fact))
        lengths = ones.astype(np.int64)
        lower, upper = ends
        return _Rows(quantities, fact.cells, ones, lengths, lower + less, upper + less, *of, each)

    def _ratios(self, one: PublishedRatios, column: int) -> Iterator[_Rows]:
        """At most and at least so many times the denominator, which is not nothing."""
        of, per = (Source.RATIO, column), one.denominators
        below = self._truths[self._quantity(per), per.cells] - self._less(per)
        sign = np.where(below > 0, 1.0, -1.0)
        exact, each = one.half_widths == 0, np.arange(len(one.values))
        at_most = (one.values + one.half_widths) / one.times
        at_least = (one.values - one.half_widths) / one.times
        yield self._times(one, at_most, np.where(exact, 0.0, sign), each, of)
        yield self._times(one, at_least, -sign, each[~exact], of)
        # What is divided by is not nothing: a count has one at least.
        least = 1.0 if self._quantity(per) < SUMS else 0.0
        ends = np.where(sign > 0, least, -np.inf), np.where(sign > 0, np.inf, 0.0)
        yield self._alone(per, ends, of)

    def _times(
        self,
        one: PublishedRatios,
        times: FloatArray,
        side: FloatArray,
        entries: IntArray,
        of: tuple[Source, int],
    ) -> _Rows:
        """Numerators at most (1), at least (-1) or exactly (0) so many times their denominators.

        Two terms are one where they are of the same quantity of a cell, and none where they cancel out.
        """
        over, per = one.numerators, one.denominators
        constant = (self._less(over) - times * self._less(per))[entries]
        side, times = side[entries], times[entries]
        quantities = np.tile([self._quantity(over), self._quantity(per)], len(entries))
        cells = np.stack([over.cells[entries], per.cells[entries]], axis=1).reshape(-1)
        factors = np.stack([np.ones(len(entries)), -times], axis=1)
        same = (over.cells[entries] == per.cells[entries]) & (self._quantity(over) == self._quantity(per))
        factors[same] = np.stack([1 - times[same], np.zeros(int(same.sum()))], axis=1)
        lengths = np.count_nonzero(factors, axis=1)
        kept = factors.reshape(-1) != 0
        some = lengths > 0
        lower = np.where(side <= 0, constant, -np.inf)
        upper = np.where(side >= 0, constant, np.inf)
        return _Rows(
            quantities[kept],
            cells[kept],
            factors.reshape(-1)[kept],
            lengths[some],
            lower[some],
            upper[some],
            *of,
            entries[some],
        )

    def _quantity(self, fact: FactOfCells) -> int:
        return RECORDS if fact.quantity == UNITS and self._units_follow else fact.quantity

    def _less(self, fact: FactOfCells) -> FloatArray:
        """Records that lack the measure that a fact is about those with, shape (entries,)."""
        if fact.having is None:
            return np.zeros(len(fact.cells))
        return self._lacking[fact.having][fact.cells].astype(np.float64)


def _between(one: RoundedValues | CellBounds) -> tuple[FloatArray, FloatArray]:
    if isinstance(one, CellBounds):
        return one.lower, one.upper
    return one.values - one.half_widths, one.values + one.half_widths


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), np.abs(values), 0.0)
