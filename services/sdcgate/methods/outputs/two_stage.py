"""Two-stage least squares: predictors that are correlated with the errors, by instruments that are not.

Wooldridge (2010), Econometric Analysis of Cross Section and Panel Data, section 5.1.
"""

import numpy as np

from sdcgate.methods.outputs.cross_products import number_of_units
from sdcgate.methods.outputs.estimates import inferred
from sdcgate.methods.outputs.fits import Fit, FitOptions, ModelData, exact_share, refuse_singular, whole
from sdcgate.methods.outputs.influence import Working
from sdcgate.methods.outputs.linear_algebra import dependent_columns, gram
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError
from sdcgate.methods.outputs.sandwich import Covariance, inference_degrees, meat_of, sandwich


def fit_two_stage(data: ModelData, options: FitOptions) -> Fit:
    """A linear model whose columns are predicted by `instruments` first.

    ModelProblemError where instruments are fewer than columns, or predict these to be dependent.
    """
    instruments = data.instruments
    if instruments is None or instruments.shape[1] < data.values.shape[1]:
        message = "name at least as many instruments as terms; terms that are exogenous are among them"
        raise ModelProblemError([ModelProblem("instruments", message)])
    if data.weights is not None or options.covariance is Covariance.DESIGN:
        raise ModelProblemError([ModelProblem("weights", "of two-stage least squares are not offered")])
    refuse_singular(data.design, data.values)
    first = gram(instruments.T @ instruments)
    if len(dependent_columns(first.scaled)):
        raise ModelProblemError([ModelProblem("instruments", "follow from each other in this population")])
    predicted = instruments @ np.column_stack(
        [first.solve(instruments.T @ data.values[:, column]) for column in range(data.values.shape[1])]
    )
    second = gram(predicted.T @ predicted)
    if len(dependent_columns(second.scaled)):
        message = "do not tell the terms apart in this population"
        raise ModelProblemError([ModelProblem("instruments", message)])
    coefficients = second.solve(predicted.T @ data.outcome)
    residuals = data.outcome - data.values @ coefficients
    freedom = len(data.outcome) - len(coefficients)
    rest = float(residuals @ residuals)
    meat = None
    if options.covariance is Covariance.CLASSICAL:
        variances = np.diag(second.inverse()) * rest / freedom
    else:
        clusters = data.units if data.clusters is None else data.clusters
        clustered = options.covariance is Covariance.CLUSTERED
        meat = meat_of(predicted, residuals, clusters if clustered else None)
        variances = np.diag(sandwich(second.inverse(), meat, len(residuals)))
    estimate = inferred(
        "two_stage",
        data.design.names,
        coefficients,
        variances,
        records=len(data.outcome),
        units=number_of_units(data.units),
        residual_degrees=freedom,
        fit={"residual_standard_error": float(np.sqrt(rest / freedom))},
        degrees=inference_degrees(meat, freedom, len(coefficients)),
        confidence=options.confidence,
    )
    return Fit(
        estimate,
        whole(data, Working(np.asfortranarray(predicted), None, residuals)),
        exact_share=exact_share(data.outcome, data.outcome - residuals),
    )
