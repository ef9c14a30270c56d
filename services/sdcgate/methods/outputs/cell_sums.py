"""Cross-products of a linear model from sums by cell: what is computed where the records lie.

A *cell* is a combination of codes of the factors, so that in it each column is a constant or a constant times
one *number* (a product of transformed measures). Within cells and between their means, sums of squares are
taken about means: Chan, Golub and LeVeque (1983), Algorithms for computing the sample variance, The American
Statistician 37(3), equation 1.5. Sums come as whole numbers and are exact until they are centred.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import CrossProducts

BITS = 60
"""Sums are in units of 2^-60."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """A number as centre + reach z, z from -1 to 1."""

    centre: float = field(repr=False)
    reach: float = field(repr=False)
    whole: int = field(default=0, repr=False)
    """The centre in the snapshot's whole numbers, where the number is a measure as it is."""
    factor: float = field(default=0.0, repr=False)
    """What a difference to the centre, whole where that is, is multiplied by for z; 0 of a constant."""


@dataclass(frozen=True, slots=True, eq=False)
class CellMoments:
    """Sums over the records of each cell, as Python's whole numbers."""

    weights: tuple[int, ...] = field(repr=False)
    """Sums of whole weights, or records, shape (cells,)."""
    heaviest: int = field(repr=False)
    """The whole weight that counts as 1 in the sums that follow; 1 without weights."""
    first: np.ndarray[tuple[int, int], np.dtype[np.object_]] = field(repr=False)
    """Sums of z, shape (numbers, cells), in units of 2^-60."""
    second: np.ndarray[tuple[int, int, int], np.dtype[np.object_]] = field(repr=False)
    """Sums of z z', shape (numbers, numbers, cells)."""


@dataclass(frozen=True, slots=True, eq=False)
class CellColumns:
    """What each column is in each cell: an indicator times a number."""

    numbers: IntArray = field(repr=False)
    """Number of each column, from 1; 0 where it is an indicator alone; shape (columns,)."""
    on: FloatArray = field(repr=False)
    """Its indicator, 0 or 1, shape (cells, columns)."""

    @property
    def everywhere(self) -> BoolArray:
        """Columns whose indicator is 1 in all cells."""
        return np.asarray(self.on.all(axis=0), dtype=np.bool_)

    def of_number(self, number: int) -> IntArray:
        """Positions of the columns with a number."""
        return np.flatnonzero(self.numbers == number)


@dataclass(frozen=True, slots=True, eq=False)
class CellSums:
    """Cross-products with what the columns are about their means where all z are 0."""

    products: CrossProducts
    at_centre: FloatArray = field(repr=False)
    """Columns, and last the outcome, less their means, all numbers at their centres; (cells, columns + 1)."""


def cell_sums(
    moments: CellMoments,
    columns: CellColumns,
    scalings: Sequence[Scaling],
    records: int,
    units: int,
    weight_unit: float = 1.0,
) -> CellSums:
    """Cross-products of columns and outcome; the outcome is the last number.

    `weight_unit` is what a whole weight of 1 weighs.
    """
    numbers = np.append(columns.numbers, len(scalings))
    on = np.column_stack([columns.on, np.ones(len(columns.on))])
    centres = np.array([1.0, *(one.centre for one in scalings)])[numbers]
    reaches = np.array([0.0, *(one.reach for one in scalings)])
    weights = np.array(moments.weights, dtype=np.float64) * weight_unit
    total = float(weights.sum())
    beyond = on * (_means(moments) * reaches[:, None])[numbers].T
    share = weights @ on / total
    share[on.all(axis=0)] = 1.0
    # A column's own centre is taken out before it can hide digits.
    away = weights @ beyond / total
    about = (on - share) * centres
    between = about + beyond - away
    centred = (between * weights[:, None]).T @ between
    within = _within(moments) * weight_unit
    for a in range(1, len(reaches)):
        for b in range(1, len(reaches)):
            first, second = np.flatnonzero(numbers == a), np.flatnonzero(numbers == b)
            added = (on[:, first] * within[a - 1, b - 1][:, None]).T @ on[:, second]
            centred[np.ix_(first, second)] += added * reaches[a] * reaches[b]
    products = CrossProducts(records, units, total, share * centres + away, (centred + centred.T) / 2)
    return CellSums(products, about - away)


def _means(moments: CellMoments) -> FloatArray:
    """Means of z by cell, with a row of zeros before the numbers' own."""
    weights = np.array(moments.weights, dtype=object)
    means = np.array((moments.first * moments.heaviest) / (weights << BITS), dtype=np.float64)
    return np.vstack([np.zeros(len(weights)), means])


def _within(moments: CellMoments) -> FloatArray:
    """Sums of squares and products about the cells' means, in whole weights, (numbers, numbers, cells)."""
    weights, heaviest = np.array(moments.weights, dtype=object), moments.heaviest
    outer = moments.first[:, None] * moments.first[None] * heaviest
    exact = (moments.second * weights << BITS) - outer
    found = np.array(exact / (weights << 2 * BITS), dtype=np.float64) * float(heaviest)
    places = np.arange(len(found))
    found[places, places] = np.maximum(found[places, places], 0.0)
    return found
