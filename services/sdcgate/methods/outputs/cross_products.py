"""Sufficient statistics of a linear model: what an engine can sum where the records lie.

Sums of squares about the means keep their digits where raw ones lose them: Chan, Golub and LeVeque (1983),
Algorithms for computing the sample variance, The American Statistician 37(3).
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray

BLOCK = 1 << 14
"""Records that are looked at together: what the processor's own memory holds."""
NEGLIGIBLE = 1e-22
"""Of a mean square: what rounding leaves of a constant's variance is far below it."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossProducts:
    """Counts, means and centred cross-products of the columns and, last, the outcome.

    With weights, means and cross-products are weighted and `weight` is their sum; without it is `records`.
    """

    records: int
    units: int
    weight: float
    means: FloatArray = field(repr=False)
    """Shape (columns + 1,)."""
    centred: FloatArray = field(repr=False)
    """Sums of w (z_i - m_i) (z_j - m_j), shape (columns + 1, columns + 1)."""

    @property
    def weighted(self) -> bool:
        """Whether records count by weights that do not sum to their number."""
        return self.weight != self.records

    def varies(self) -> BoolArray:
        """Which columns, and last whether the outcome, are not constant but for rounding."""
        squares = np.diag(self.centred)
        return np.asarray(squares > NEGLIGIBLE * self.weight * self.means**2, dtype=np.bool_)


def cross_products_of(
    values: FloatArray, outcome: FloatArray, units: IntArray, weights: FloatArray | None = None
) -> CrossProducts:
    """Cross-products of records; `units` has each record's unit as a number from 0."""
    total = float(len(outcome)) if weights is None else float(weights.sum())
    means = np.append(_weighted_sums(values, weights), _weighted_sums(outcome[:, None], weights)) / total
    size = values.shape[1] + 1
    centred = np.zeros((size, size))
    for start in range(0, len(outcome), BLOCK):
        block = slice(start, start + BLOCK)
        about = np.column_stack([values[block], outcome[block]]) - means
        centred += about.T @ (about if weights is None else about * weights[block, None])
    return CrossProducts(len(outcome), number_of_units(units), total, means, (centred + centred.T) / 2)


def number_of_units(units: IntArray) -> int:
    """How many different units there are."""
    return int(np.count_nonzero(np.bincount(units))) if len(units) else 0


def _weighted_sums(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    return np.asarray(values.sum(axis=0) if weights is None else weights @ values, dtype=np.float64)
