"""Ordinary and weighted least squares from sufficient statistics.

Searle (1971), Linear Models, chapter 3; errors that are not classical: see `sandwich`.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import CrossProducts, cross_products_of
from sdcgate.methods.outputs.design import Design
from sdcgate.methods.outputs.estimates import CONFIDENCE, ModelEstimate, inferred, information
from sdcgate.methods.outputs.linear_algebra import Gram, dependent_columns, gram
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError, columns_problem
from sdcgate.methods.outputs.sandwich import (
    Covariance,
    Meat,
    ScoreSquares,
    SurveyDesign,
    design_meat,
    inference_degrees,
    meat_of,
    sandwich,
    sandwich_factor,
)

ROUNDING = 1e-13
"""Of a sum of squares: residuals below this share cannot be told from none by their sums of squares."""

NOTHING = 1e-10
"""Of a classical variance: one of another kind below this share cannot be told from none."""

CONSTANT_LEFT = 1e-10
"""What columns leave of the constant, as a share of its square, where it follows from them."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearSolution:
    """Coefficients and what their errors are computed from; an engine needs them for residuals and meats."""

    coefficients: FloatArray = field(repr=False)
    inverse: FloatArray = field(repr=False)
    """Inverse of X'WX, shape (columns, columns)."""
    residual_sum: float = field(repr=False)
    total_sum: float = field(repr=False)
    """About the mean where there is a constant, about 0 otherwise."""
    condition: float
    with_constant: bool
    """Whether a constant is a column or follows from the columns."""


def solve_least_squares(sums: CrossProducts, design: Design) -> LinearSolution:
    """Coefficients of least squares; ModelProblemError where columns are constant or depend on others."""
    constant = design.constant
    means, cross = sums.means[:-1], sums.centred
    _refuse_constants(sums, design)
    if constant is None:
        raw = cross + sums.weight * np.outer(sums.means, sums.means)
        system = _regular(raw[:-1, :-1], design, np.arange(len(means)))
        coefficients = system.solve(raw[:-1, -1])
        implied = _implies_constant(system, means * sums.weight, sums.weight)
        total = float(cross[-1, -1] if implied else raw[-1, -1])
        rest = _rest(raw, coefficients)
        return LinearSolution(coefficients, system.inverse(), rest, total, system.condition, implied)
    slopes = np.delete(np.arange(len(means)), constant)
    system = _regular(cross[np.ix_(slopes, slopes)], design, slopes)
    of_slopes = system.solve(cross[slopes, -1])
    coefficients = np.empty(len(means))
    coefficients[slopes] = of_slopes
    coefficients[constant] = sums.means[-1] - means[slopes] @ of_slopes
    centred = cross[np.ix_([*slopes, -1], [*slopes, -1])]
    return LinearSolution(
        coefficients,
        _with_constant(system.inverse(), means[slopes], slopes, constant, sums.weight),
        _rest(centred, of_slopes),
        float(cross[-1, -1]),
        system.condition,
        True,
    )


def ols_from_cross_products(
    sums: CrossProducts,
    design: Design,
    *,
    covariance: Covariance = Covariance.CLASSICAL,
    meat: Meat | ScoreSquares | None = None,
    confidence: float = CONFIDENCE,
    solution: LinearSolution | None = None,
) -> ModelEstimate:
    """A linear model from its sums; `meat` goes with the errors that are not classical.

    ModelProblemError as `solve_least_squares` has it, where no residual degrees of freedom are left, and
    where errors that are not classical are nothing, as of a category of one record: rounding would decide.
    """
    solution = solution or solve_least_squares(sums, design)
    residual_degrees = sums.records - len(design.columns)
    if residual_degrees < 1:
        raise ModelProblemError([ModelProblem("formula", "there are as many parameters as records or more")])
    classical = np.diag(solution.inverse) * solution.residual_sum / residual_degrees
    if covariance is Covariance.CLASSICAL:
        meat, variances = None, classical
    else:
        if meat is None:
            raise ValueError("errors that are not classical need their meat")
        variances = _sandwiched(solution.inverse, meat, sums.records)
        if not np.all(variances > NOTHING * classical):
            message = "errors of this kind are nothing for a parameter that records without residuals tell"
            raise ModelProblemError([ModelProblem("formula", message)])
    degrees = inference_degrees(meat, residual_degrees, len(design.columns))
    return inferred(
        "ols",
        design.names,
        solution.coefficients,
        variances,
        records=sums.records,
        units=sums.units,
        residual_degrees=residual_degrees,
        fit=_fit(solution, sums, design, residual_degrees),
        degrees=degrees,
        confidence=confidence,
    )


def _score_squares(
    values: FloatArray,
    scores: FloatArray,
    design: Design,
    sums: CrossProducts,
    solution: LinearSolution,
    covariance: Covariance,
    clusters: IntArray | None,
    survey: SurveyDesign | None,
) -> ScoreSquares:
    """Bread, meat and bread about the columns' means where there is a constant, to lose no digits."""
    constant, bread = design.constant, solution.inverse.copy()
    centre = np.zeros(len(bread))
    if constant is not None:
        centre = sums.means[:-1].copy()
        centre[constant] = 0.0
        # About their means the columns have nothing in common with the constant.
        bread[:, constant] = 0.0
        bread[constant, constant] = 1.0 / sums.weight
    if covariance is Covariance.DESIGN:
        meat = design_meat(values, scores, survey or SurveyDesign(), centre)
    else:
        meat = meat_of(values, scores, clusters if covariance is Covariance.CLUSTERED else None, centre)
    return ScoreSquares(np.einsum("ij,jk,ik->i", bread, meat.matrix, bread), meat.clusters, meat.strata)


def _sandwiched(bread: FloatArray, meat: Meat | ScoreSquares, records: int) -> FloatArray:
    if isinstance(meat, ScoreSquares):
        return meat.diagonal * sandwich_factor(meat, records, len(bread))
    return np.diag(sandwich(bread, meat, records))


def fit_ols(
    design: Design,
    values: FloatArray,
    outcome: FloatArray,
    units: IntArray,
    *,
    covariance: Covariance = Covariance.CLASSICAL,
    clusters: IntArray | None = None,
    weights: FloatArray | None = None,
    survey: SurveyDesign | None = None,
    confidence: float = CONFIDENCE,
) -> ModelEstimate:
    """A linear model from records: `values` (records, columns), `clusters` each record's cluster from 0.

    With `weights` it is weighted least squares, whose errors by design take the survey's strata and units.
    """
    sums = cross_products_of(values, outcome, units, weights)
    solution = solve_least_squares(sums, design)
    meat: ScoreSquares | None = None
    if covariance is not Covariance.CLASSICAL:
        scores = outcome - values @ solution.coefficients
        if weights is not None:
            scores = scores * weights
        meat = _score_squares(values, scores, design, sums, solution, covariance, clusters, survey)
    return ols_from_cross_products(
        sums, design, covariance=covariance, meat=meat, confidence=confidence, solution=solution
    )


def _refuse_constants(sums: CrossProducts, design: Design) -> None:
    varies = sums.varies()
    if not varies[-1]:
        raise ModelProblemError([ModelProblem("outcome", "does not vary in this population")])
    if design.constant is not None:
        varies[design.constant] = True
        if not varies.all():
            raise ModelProblemError(columns_problem(design, np.flatnonzero(~varies)))


def _regular(cross_products: FloatArray, design: Design, places: IntArray) -> Gram:
    system = gram(cross_products)
    dependent = dependent_columns(system.scaled)
    if len(dependent):
        raise ModelProblemError(columns_problem(design, places[dependent]))
    return system


def _implies_constant(system: Gram, column_sums: FloatArray, weight: float) -> bool:
    return bool(weight - column_sums @ system.solve(column_sums) < CONSTANT_LEFT * weight)


def _rest(cross_products: FloatArray, coefficients: FloatArray) -> float:
    """Sum of squared residuals, never below 0."""
    signed = np.append(-coefficients, 1.0)
    return max(float(signed @ cross_products @ signed), 0.0)


def _with_constant(
    inverse: FloatArray, means: FloatArray, slopes: IntArray, constant: int, weight: float
) -> FloatArray:
    """Inverse of X'X with the constant, from that of the centred columns."""
    whole = np.empty((len(means) + 1, len(means) + 1))
    whole[np.ix_(slopes, slopes)] = inverse
    with_means = -inverse @ means
    whole[constant, slopes] = whole[slopes, constant] = with_means
    whole[constant, constant] = 1.0 / weight - means @ with_means
    return whole


def _fit(
    solution: LinearSolution, sums: CrossProducts, design: Design, residual_degrees: int
) -> dict[str, float]:
    """Figures of fit; ModelProblemError where nothing is left to explain."""
    with_constant = solution.with_constant
    explained_degrees = len(design.columns) - with_constant
    records, rest = sums.records, solution.residual_sum
    if rest <= ROUNDING * solution.total_sum:
        message = "the terms explain the outcome completely: no errors can be estimated"
        raise ModelProblemError([ModelProblem("outcome", message)])
    r_squared = 1.0 - rest / solution.total_sum
    found = {
        "r_squared": r_squared,
        "adjusted_r_squared": 1.0 - (1.0 - r_squared) * (records - with_constant) / residual_degrees,
        "residual_standard_error": float(np.sqrt(rest / residual_degrees)),
    }
    if not sums.weighted:
        likelihood = -records / 2 * (np.log(2 * np.pi * rest / records) + 1)
        found |= information(float(likelihood), records, len(design.columns))
    if explained_degrees:
        explained = (solution.total_sum - rest) / explained_degrees
        found["f_statistic"] = float(explained / (rest / residual_degrees))
    return found
