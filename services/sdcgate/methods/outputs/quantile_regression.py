"""Quantile regression, whose coefficients are solved from as many records as it has parameters.

Koenker and Bassett (1978), Regression quantiles, Econometrica 46(1); errors by a kernel estimate of the
density at the quantile: Powell (1991), as statsmodels has them.
"""

import numpy as np

from sdcgate.methods.outputs.cross_products import number_of_units
from sdcgate.methods.outputs.estimates import inferred
from sdcgate.methods.outputs.fits import (
    Fit,
    FitOptions,
    ModelData,
    exact_share,
    fitting,
    refuse_singular,
    require_convergence,
    whole,
)
from sdcgate.methods.outputs.implied_tables import units_by_group
from sdcgate.methods.outputs.influence import Working
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError
from sdcgate.methods.outputs.sandwich import Covariance
from sdcgate.methods.outputs.standardising import WELL_SCALED, standard_columns

MOST_STEPS = 5000
ON_THE_PLANE = 1e-6
"""Of the spread of the outcome: nearer to the fitted quantile than this a record lies on it."""


def fit_quantile(data: ModelData, options: FitOptions) -> Fit:
    """A quantile of the outcome, linear in the columns.

    The units above and below it are facts: the rules on percentiles ask for enough of both.
    """
    if not 0.0 < options.quantile < 1.0:
        raise ModelProblemError([ModelProblem("quantile", "lies between 0 and 1")])
    if data.weights is not None or options.covariance is not Covariance.CLASSICAL:
        message = "of a quantile regression is fitted without weights and with its own robust errors"
        raise ModelProblemError([ModelProblem("outcome", message)])
    refuse_singular(data.design, data.values)
    standard = standard_columns(data.values, data.design.constant)
    spread = float(np.std(data.outcome))
    # statsmodels takes residuals below a millionth as zero, whatever the outcome is measured in
    unit = 1.0 if 1.0 / WELL_SCALED <= spread <= WELL_SCALED else spread
    with fitting():
        from statsmodels.regression.quantile_regression import QuantReg

        result = QuantReg(data.outcome / unit, standard.values).fit(q=options.quantile, max_iter=MOST_STEPS)
        if result.iterations >= MOST_STEPS:
            message = "the fit did not converge in this population; ask for fewer terms or coarser factors"
            raise ModelProblemError([ModelProblem("formula", message)])
        require_convergence(result)
    residuals = data.outcome - standard.values @ np.asarray(result.params) * unit
    near = ON_THE_PLANE * spread
    sides = np.where(residuals > near, 1, np.where(residuals < -near, 0, 2))
    freedom = len(data.outcome) - len(data.design.columns)
    estimate = inferred(
        "quantile",
        data.design.names,
        standard.back @ np.asarray(result.params) * unit,
        np.diag(standard.covariance(np.asarray(result.cov_params()))) * unit**2,
        records=len(data.outcome),
        units=number_of_units(data.units),
        residual_degrees=freedom,
        fit={"pseudo_r_squared": float(result.prsquared)},
        degrees=float(freedom),
        confidence=options.confidence,
    )
    return Fit(
        estimate,
        whole(
            data, Working(data.values, None, np.where(residuals > 0, 1.0, 0.0) - 1 + options.quantile, 1.0)
        ),
        exact_share=exact_share(data.outcome, data.outcome - residuals),
        outcome_units=units_by_group(sides.astype(np.int64), 3, data.units)[:2],
    )
