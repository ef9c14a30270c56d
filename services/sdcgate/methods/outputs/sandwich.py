"""Covariances of estimates that do not trust the model: bread, meat, bread.

Heteroskedasticity-robust: White (1980) with the factor n / (n - p) of MacKinnon and White (1985).
Cluster-robust: Liang and Zeger (1986) with the factor G / (G - 1) (n - 1) / (n - p) that statsmodels and
Stata use. Of a survey's design: linearised scores, summed within primary units, vary within strata: Binder
(1983), On the variances of asymptotically normal estimators from complex surveys, International Statistical
Review 51, with replacement at the first stage or with a finite population correction.
"""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import BLOCK
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError


class Covariance(IntEnum):
    """How standard errors are estimated."""

    CLASSICAL = 1
    ROBUST = 2
    """Heteroskedasticity-robust: HC1 of linear models, HC0 of others."""
    CLUSTERED = 3
    DESIGN = 4
    """By the survey's weights, strata and primary units."""


@dataclass(frozen=True, slots=True, eq=False)
class SurveyDesign:
    """Each record's stratum and primary unit as numbers from 0; None: one stratum, each record a unit."""

    strata: IntArray | None = field(default=None, repr=False)
    clusters: IntArray | None = field(default=None, repr=False)
    """A cluster's records are all of one stratum."""
    fractions: FloatArray | None = field(default=None, repr=False)
    """Share of its stratum's primary units that were sampled, a record each; None: drawn with replacement."""


@dataclass(frozen=True, slots=True, eq=False)
class Meat:
    """The middle of a sandwich, shape (columns, columns), and what it was summed over."""

    matrix: FloatArray = field(repr=False)
    clusters: int = 0
    """How many clusters or primary units; 0 where it is records."""
    strata: int = 0
    """How many strata; 0 where it is no survey's design."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSquares:
    """The diagonal of bread, meat and bread, shape (columns,), where scores were summed as they lie."""

    diagonal: FloatArray = field(repr=False)
    clusters: int = 0
    strata: int = 0


def meat_of(
    values: FloatArray,
    scores: FloatArray,
    clusters: IntArray | None = None,
    centre: FloatArray | float = 0.0,
) -> Meat:
    """The meat of records, or of clusters; `scores` are residuals, or what takes their place.

    It is that of the values less their `centre`.
    """
    if clusters is not None:
        sums = _sums(values, scores, clusters, centre)
        return Meat(sums.T @ sums, int(np.count_nonzero(np.bincount(clusters))))
    size = values.shape[1]
    total = np.zeros((size, size))
    for start in range(0, len(scores), BLOCK):
        block = (values[start : start + BLOCK] - centre) * scores[start : start + BLOCK, None]
        total += block.T @ block
    return Meat(total)


def design_meat(
    values: FloatArray, scores: FloatArray, design: SurveyDesign, centre: FloatArray | float = 0.0
) -> Meat:
    """The meat of a survey's design; `scores` include the weights, and it is of values less their `centre`.

    ModelProblemError where a stratum has one primary unit.
    """
    records = len(scores)
    clusters = np.arange(records) if design.clusters is None else design.clusters
    strata = np.zeros(records, dtype=np.int64) if design.strata is None else design.strata
    present, first = np.unique(clusters, return_index=True)
    _, of_unit = np.unique(strata[first], return_inverse=True)
    in_stratum = np.bincount(of_unit)
    refuse_lonely(in_stratum)
    sums = _sums(values, scores, clusters, centre)[present]
    means = np.column_stack([np.bincount(of_unit, sums[:, column]) for column in range(sums.shape[1])])
    about = sums - (means / in_stratum[:, None])[of_unit]
    factor = (in_stratum / (in_stratum - 1.0))[of_unit]
    if design.fractions is not None:
        factor = factor * (1.0 - design.fractions[first])
    return Meat((about * factor[:, None]).T @ about, len(present), len(in_stratum))


def sandwich(bread: FloatArray, meat: Meat, records: int, linear: bool = True) -> FloatArray:
    """Covariance of the estimates; ModelProblemError where a single cluster is all there is.

    The factor of HC1 is for linear models alone, as statsmodels has it.
    """
    factor = sandwich_factor(meat, records, len(bread), linear)
    return np.asarray(bread @ meat.matrix @ bread * factor, dtype=np.float64)


def sandwich_factor(meat: Meat | ScoreSquares, records: int, parameters: int, linear: bool = True) -> float:
    """What a sandwich is multiplied by; ModelProblemError as `sandwich`."""
    if meat.strata:
        return 1.0
    if not meat.clusters:
        return records / (records - parameters) if linear else 1.0
    if meat.clusters < 2:
        raise ModelProblemError([ModelProblem("clusters", "there is one cluster; errors need several")])
    return meat.clusters / (meat.clusters - 1) * (records - 1) / (records - parameters)


def refuse_lonely(clusters: IntArray) -> None:
    """ModelProblemError where a stratum has a single primary unit; `clusters` of each stratum."""
    if np.any(clusters < 2):
        message = "a stratum has a single primary unit in this population: no errors by design"
        raise ModelProblemError([ModelProblem("strata", message)])


def inference_degrees(meat: Meat | ScoreSquares | None, residual_degrees: int, parameters: int) -> float:
    """Degrees of freedom of Student's t: those of the residuals, of the clusters, or of the design.

    Of a design: primary units less strata, less all parameters but one (Korn and Graubard 1999, section 5.2,
    as R's survey has it); ModelProblemError where none are left.
    """
    if meat is None or not meat.clusters:
        return float(residual_degrees)
    degrees = meat.clusters - 1 if not meat.strata else meat.clusters - meat.strata - parameters + 1
    if degrees < 1:
        message = "there are too few clusters or primary units for so many parameters"
        raise ModelProblemError([ModelProblem("clusters", message)])
    return float(degrees)


def _sums(
    values: FloatArray, scores: FloatArray, clusters: IntArray, centre: FloatArray | float
) -> FloatArray:
    """Sums of scores times values within clusters, shape (clusters, columns)."""
    count = int(clusters.max(initial=-1)) + 1
    centres = np.broadcast_to(centre, values.shape[1:])
    sums = [
        np.bincount(clusters, (values[:, column] - centres[column]) * scores, count)
        for column in range(values.shape[1])
    ]
    return np.column_stack(sums)
