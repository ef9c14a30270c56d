"""Columns about their means and in units of their spread, for searches that fail on incomes in thousands.

The likelihood does not depend on how columns are measured, but statsmodels' searches do: with a measure of
some tens of thousands they overflow, or stop where they began. Columns that are well scaled are left alone.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray

WELL_SCALED = 100.0
"""Means and spreads up to this, and spreads down to its inverse, are left alone."""


@dataclass(frozen=True, slots=True, eq=False)
class StandardColumns:
    """Columns to fit on, and how to come back from their coefficients to those of the columns as they are."""

    values: FloatArray = field(repr=False)
    back: FloatArray = field(repr=False)
    """Shape (columns, columns): coefficients are this matrix times those of `values`."""

    def covariance(self, found: FloatArray) -> FloatArray:
        """Covariance of coefficients, and of further parameters after them, as the columns are."""
        back = np.eye(len(found))
        back[: len(self.back), : len(self.back)] = self.back
        return np.asarray(back @ found @ back.T, dtype=np.float64)


def as_they_are(values: FloatArray) -> StandardColumns:
    """Columns that are left alone."""
    return StandardColumns(values, np.eye(values.shape[1]))


def standard_columns(values: FloatArray, constant: int | None) -> StandardColumns:
    """Standardised where a column needs it; without a constant column means stay as they are."""
    columns = values.shape[1]
    means, spreads = values.mean(axis=0), values.std(axis=0)
    if constant is None:
        means, spreads = np.zeros(columns), np.sqrt(np.mean(values**2, axis=0))
    else:
        means[constant], spreads[constant] = 0.0, 1.0
    if np.all((np.abs(means) <= WELL_SCALED) & (spreads <= WELL_SCALED) & (spreads >= 1.0 / WELL_SCALED)):
        return as_they_are(values)
    back = np.diag(1.0 / spreads)
    if constant is not None:
        back[constant] -= means / spreads
        back[constant, constant] = 1.0
    return StandardColumns(np.asfortranarray((values - means) / spreads), back)
