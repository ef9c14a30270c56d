"""Correlation matrices and principal components from cross-products: no record is looked at, no score leaves.

Pearson (1895); Hotelling (1933), Analysis of a complex of statistical variables into principal components.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import CrossProducts, number_of_units
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationMatrix:
    """Correlations of measures on the records that have them all. Hidden from repr: may be withheld."""

    names: tuple[str, ...]
    correlations: FloatArray = field(repr=False)
    """Shape (measures, measures), ones in the diagonal."""
    p_values: FloatArray = field(repr=False)
    """Of no correlation, by Student's t; 0 in the diagonal."""
    records: int
    units: int


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalComponents:
    """Components by falling variance; signs make each one's largest loading positive."""

    names: tuple[str, ...]
    variances: FloatArray = field(repr=False)
    """Of standardised measures, shape (components,); they sum to the number of measures."""
    loadings: FloatArray = field(repr=False)
    """Weights of the standardised measures, shape (measures, components), columns of length 1."""
    records: int
    units: int


def correlation_matrix(sums: CrossProducts, names: tuple[str, ...]) -> CorrelationMatrix:
    """Correlations of `names`, which `sums` has as columns, the last as its outcome.

    ModelProblemError where a measure is constant or there are too few records.
    """
    from scipy.special import stdtr

    constant = [name for name, varies in zip(names, sums.varies(), strict=True) if not varies]
    if constant:
        message = "does not vary in this population"
        raise ModelProblemError([ModelProblem("measures", f"{n} {message}", variable=n) for n in constant])
    if sums.records < 3:
        raise ModelProblemError([ModelProblem("measures", "there are fewer than three records")])
    scale = np.sqrt(np.diag(sums.centred))
    found = np.clip(sums.centred / np.outer(scale, scale), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    degrees = sums.records - 2
    with np.errstate(divide="ignore"):
        statistics = np.abs(found) * np.sqrt(degrees / (1.0 - found**2))
    return CorrelationMatrix(names, found, 2.0 * stdtr(degrees, -statistics), sums.records, sums.units)


def principal_components(correlations: CorrelationMatrix) -> PrincipalComponents:
    """Components of standardised measures."""
    variances, loadings = np.linalg.eigh(correlations.correlations)
    variances, loadings = variances[::-1], loadings[:, ::-1]
    largest = loadings[np.argmax(np.abs(loadings), axis=0), np.arange(len(variances))]
    return PrincipalComponents(
        correlations.names,
        np.maximum(variances, 0.0),
        loadings * np.sign(largest),
        correlations.records,
        correlations.units,
    )


def shares_of_squares(values: FloatArray, units: IntArray, largest: int) -> FloatArray:
    """Share of each measure's sum of squares about its mean that its k largest units hold, k from 1.

    A correlation is a sum of products of these deviations: units that hold (nearly) all squares of a measure
    hold its correlations. Shape (measures, largest).
    """
    shares = np.zeros((values.shape[1], largest))
    taken = min(largest, number_of_units(units))
    for column in range(values.shape[1]):
        about = values[:, column] - values[:, column].mean()
        by_unit = np.bincount(units, about**2)
        top = np.sort(np.partition(by_unit, len(by_unit) - taken)[-taken:])[::-1]
        shares[column, :taken] = np.cumsum(top) / by_unit.sum()
        shares[column, taken:] = 1.0
    return shares
