"""Fixed effects of groups by the within transformation, and mixed linear models with a random constant.

Wooldridge (2010), Econometric Analysis of Cross Section and Panel Data, section 10.5: the outcome and the
columns as differences from their groups' means; the effects of single groups are never computed. Laird and
Ware (1982), Random-effects models for longitudinal data, Biometrics 38(4): only variance components leave, no
group's effect is predicted.
"""

from dataclasses import replace

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import cross_products_of, number_of_units
from sdcgate.methods.outputs.design import Column, Design
from sdcgate.methods.outputs.estimates import inferred
from sdcgate.methods.outputs.fits import (
    Fit,
    FitOptions,
    ModelData,
    Part,
    exact_share,
    fitting,
    refuse_singular,
    without_constant,
)
from sdcgate.methods.outputs.influence import Working
from sdcgate.methods.outputs.ols import solve_least_squares
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError
from sdcgate.methods.outputs.random_constants import observed_covariance, restricted_maximum, usual_search
from sdcgate.methods.outputs.sandwich import Covariance, meat_of, sandwich
from sdcgate.methods.outputs.standardising import as_they_are, standard_columns


def fit_fixed_effects(data: ModelData, options: FitOptions) -> Fit:
    """Least squares within groups, with classical, robust or cluster-robust errors (clusters: the groups)."""
    groups = _groups(data, options, weightless="of fixed effects is fitted without weights")
    kept = without_constant(data, "a model of fixed effects")
    within = np.asfortranarray(data.values[:, kept])
    for column in range(within.shape[1]):
        within[:, column] -= group_means(within[:, column], groups)[groups]
    outcome = data.outcome - group_means(data.outcome, groups)[groups]
    design = _only(data.design, kept)
    solution = solve_least_squares(cross_products_of(within, outcome, data.units), design)
    count = int(groups.max()) + 1
    freedom = len(outcome) - count - len(kept)
    if freedom < 1:
        raise ModelProblemError([ModelProblem("formula", "there are as many parameters as records or more")])
    residuals = outcome - within @ solution.coefficients
    rest = float(residuals @ residuals)
    variances, degrees = _within_variances(options, solution.inverse, within, residuals, groups)
    r_squared = 1.0 - rest / float(outcome @ outcome)
    estimate = inferred(
        "fixed_effects",
        design.names,
        solution.coefficients,
        variances,
        records=len(outcome),
        units=number_of_units(data.units),
        residual_degrees=freedom,
        fit={"r_squared": r_squared, "residual_standard_error": float(np.sqrt(rest / freedom))},
        degrees=degrees,
        confidence=options.confidence,
    )
    every = tuple(range(len(kept)))
    part = Part(every, tuple(kept.tolist()), Working(within, None, residuals), places=every)
    exact = exact_share(data.outcome, data.outcome - residuals)
    return Fit(estimate, (part,), r_squared=r_squared, exact_share=exact)


def fit_mixed(data: ModelData, options: FitOptions) -> Fit:
    """A linear model with a random constant for each group, by restricted maximum likelihood."""
    if options.covariance is not Covariance.CLASSICAL:
        raise ModelProblemError([ModelProblem("covariance", "of a mixed model is classical")])
    groups = _groups(data, options, weightless="of a mixed model is fitted without weights")
    refuse_singular(data.design, data.values)
    covariance: FloatArray | None = None
    with fitting():
        if options.usual_search:
            standard = as_they_are(data.values)
            found = usual_search(standard.values, data.outcome, groups)
            covariance = None if found is None else found.covariance
        else:
            standard = standard_columns(data.values, data.design.constant)
            found = restricted_maximum(standard.values, data.outcome, groups)
            if found is not None:
                covariance = observed_covariance(standard.values, data.outcome, groups, found)
    if found is None or covariance is None:
        message = "the restricted likelihood of this population has no maximum; ask for another grouping"
        raise ModelProblemError([ModelProblem("formula", message)])
    slopes = standard.back @ found.slopes
    # A restricted likelihood depends on how the columns are measured.
    of_columns = float(np.linalg.slogdet(standard.back)[1])
    columns = len(data.design.columns)
    estimate = inferred(
        "mixed",
        data.design.names,
        slopes,
        np.diag(standard.covariance(covariance)),
        records=len(data.outcome),
        units=number_of_units(data.units),
        residual_degrees=len(data.outcome) - columns - 2,
        fit={
            "log_likelihood": found.log_likelihood + of_columns,
            "variance_between": found.between,
            "variance_within": found.within,
        },
        confidence=options.confidence,
    )
    every = tuple(range(columns))
    working = _generalised(data, groups, slopes, found.between / found.within)
    return Fit(estimate, (Part(every, every, working),))


def _within_variances(
    options: FitOptions, bread: FloatArray, within: FloatArray, residuals: FloatArray, groups: IntArray
) -> tuple[FloatArray, float]:
    """Variances of the coefficients, and the degrees of freedom of their tests."""
    count = int(groups.max()) + 1
    freedom = len(residuals) - count - len(bread)
    if options.covariance is Covariance.CLASSICAL:
        return np.diag(bread) * float(residuals @ residuals) / freedom, float(freedom)
    if options.covariance is Covariance.CLUSTERED:
        clustered = sandwich(bread, meat_of(within, residuals, groups), len(residuals))
        return np.diag(clustered), float(count - 1)
    robust = sandwich(bread, meat_of(within, residuals), len(residuals), linear=False)
    return np.diag(robust) * len(residuals) / freedom, float(freedom)


def _generalised(data: ModelData, groups: IntArray, slopes: FloatArray, ratio: float) -> Working:
    """Least squares on outcome and columns less a share of their groups' means: generalised least squares.

    The share is 1 - 1 / sqrt(1 + n ratio), n records being in the group (Wooldridge 2010, section 10.7.2).
    """
    share = (1.0 - 1.0 / np.sqrt(1.0 + np.bincount(groups) * ratio))[groups]
    values = np.empty_like(data.values)
    for column in range(values.shape[1]):
        means = group_means(data.values[:, column], groups)[groups]
        values[:, column] = data.values[:, column] - share * means
    residuals = data.outcome - data.values @ slopes
    return Working(values, None, residuals - share * group_means(residuals, groups)[groups])


def group_means(numbers: FloatArray, groups: IntArray) -> FloatArray:
    """Mean of each group, shape (groups,)."""
    return np.asarray(np.bincount(groups, numbers) / np.bincount(groups), dtype=np.float64)


def _groups(data: ModelData, options: FitOptions, weightless: str) -> IntArray:
    """Each record's group, numbered without gaps."""
    found = []
    if data.groups is None:
        found.append(ModelProblem("groups", "name the variable whose groups have effects of their own"))
    elif len(np.unique(data.groups)) < 2 or len(np.unique(data.groups)) == len(data.outcome):
        found.append(ModelProblem("groups", "have to be several, with several records in some of them"))
    if data.weights is not None or options.covariance is Covariance.DESIGN:
        found.append(ModelProblem("weights", weightless))
    if found or data.groups is None:
        raise ModelProblemError(found)
    return np.unique(data.groups, return_inverse=True)[1].astype(np.int64)


def _only(design: Design, kept: IntArray) -> Design:
    columns: tuple[Column, ...] = tuple(design.columns[place] for place in kept)
    return replace(design, columns=columns)
