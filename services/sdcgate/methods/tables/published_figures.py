"""What is known of cells beside the table's own figures: published ratios, rounded values, bounds.

A ratio `v` of a numerator a and a denominator b, published to a half-width h, says |a - v b| <= h b: that is
linear in what is hidden, so that percentages and rounded means are rows like sums are. A rounded value says
that a fact lies within h of it, bounds of a cell that it lies between them. Each holds at its ends, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, Facts, FloatArray, IntArray
from sdcgate.methods.tables.quantities import RECORDS, SUMS, UNITS, quantities_of


@dataclass(frozen=True, slots=True, eq=False)
class FactOfCells:
    """A quantity of some cells, shape (entries,); of records those alone that have measure `having`."""

    quantity: int
    cells: IntArray = field(repr=False)
    having: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PublishedRatios:
    """`times` numerators over denominators, published as `values` to `half_widths`; shape (entries,) each.

    The intruder is taken to know the sign of a denominator.
    """

    numerators: FactOfCells
    denominators: FactOfCells
    values: FloatArray = field(repr=False)
    half_widths: FloatArray = field(repr=False)
    times: float = 1.0
    path: str = "published_ratios[0]"


@dataclass(frozen=True, slots=True, eq=False)
class RoundedValues:
    """A fact of cells, published as `values` to `half_widths`; shape (entries,) each.

    Of cells that are not withheld nothing more is known of the fact.
    """

    facts: FactOfCells
    values: FloatArray = field(repr=False)
    half_widths: FloatArray = field(repr=False)
    path: str = "rounded_values[0]"


@dataclass(frozen=True, slots=True, eq=False)
class CellBounds:
    """Between what everybody knows a fact of cells to lie, shape (entries,) each; infinite where unknown."""

    facts: FactOfCells
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    path: str = "cell_bounds[0]"


Published = PublishedRatios | RoundedValues | CellBounds


def blurred(published: Sequence[Published], quantities: int, cells: int, units_follow: bool) -> BoolArray:
    """What is published rounded, shape (quantities, cells): units that follow the records with these."""
    flags = np.zeros((quantities, cells), dtype=np.bool_)
    for one in published:
        # Rounded records that have a measure leave open whether the records are told exactly.
        if isinstance(one, RoundedValues) and one.facts.having is None:
            flags[one.facts.quantity, one.facts.cells] = True
    if units_follow:
        flags[[RECORDS, UNITS]] = flags[RECORDS] | flags[UNITS]
    return flags


def bounded_cells(published: Sequence[Published], measure: int, cells: int) -> BoolArray:
    """Cells of which a bound of the sum of a measure is known, shape (cells,)."""
    flags = np.zeros(cells, dtype=np.bool_)
    for one in published:
        if isinstance(one, CellBounds) and one.facts.quantity == SUMS + measure:
            flags[one.facts.cells] |= np.isfinite(one.lower) | np.isfinite(one.upper)
    return flags


def moved_to(one: Published, places: IntArray, rows: Sequence[int]) -> Published:
    """What is published, of cells that now lie at `places`; measures `rows[m]` now are measure m."""
    measures = {own: number for number, own in enumerate(rows)}

    def moved(fact: FactOfCells) -> FactOfCells:
        quantity = fact.quantity if fact.quantity < SUMS else SUMS + measures[fact.quantity - SUMS]
        having = None if fact.having is None else measures[fact.having]
        return FactOfCells(quantity, places[fact.cells], having)

    if isinstance(one, PublishedRatios):
        return replace(one, numerators=moved(one.numerators), denominators=moved(one.denominators))
    return replace(one, facts=moved(one.facts))


def told_to(published: Sequence[Published], known: BoolArray) -> tuple[Published, ...]:
    """The same for somebody who knows some quantities, (quantities, cells): of these nothing is rounded."""
    return tuple(
        _without(one, known[one.facts.quantity, one.facts.cells]) if isinstance(one, RoundedValues) else one
        for one in published
    )


def _without(one: RoundedValues, which: BoolArray) -> RoundedValues:
    facts = replace(one.facts, cells=one.facts.cells[~which])
    return replace(one, facts=facts, values=one.values[~which], half_widths=one.half_widths[~which])


def facts_of(one: Published) -> dict[str, FactOfCells]:
    """What a column is about, by the names that messages have for it."""
    if isinstance(one, PublishedRatios):
        return {"numerators": one.numerators, "denominators": one.denominators}
    return {"facts": one.facts}


def values_of(fact: FactOfCells, facts: Facts) -> FloatArray:
    """True values of a fact, shape (entries,)."""
    if fact.having is not None:
        return facts.measures[fact.having].valid_records[fact.cells].astype(np.float64)
    values: FloatArray = quantities_of(facts)[fact.quantity, fact.cells]
    return values
