"""Quantile regression, whose coefficients are solved from as many records as it has parameters.

Koenker and Bassett (1978), Regression quantiles, Econometrica 46(1); errors by a kernel estimate of the
density at the quantile: Powell (1991), as statsmodels has them.
"""

from typing import Any

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
from sdcgate.methods.outputs.quantile_windows import smallest_category, window
from sdcgate.methods.outputs.sandwich import Covariance
from sdcgate.methods.outputs.standardising import WELL_SCALED, standard_columns

MOST_STEPS = 5000
ON_THE_PLANE = 1e-6
"""Of the spread of the outcome: nearer to the fitted quantile than this a record lies on it."""


def fit_quantile(data: ModelData, options: FitOptions) -> Fit:
    """A quantile of the outcome, linear in the columns.

    With a window its coefficients are the means of those about it (`quantile_windows`), its errors those of
    the quantile itself. The units above and below are facts: the rules on percentiles ask for enough of both.
    """
    if not 0.0 < options.quantile < 1.0:
        raise ModelProblemError([ModelProblem("quantile", "lies between 0 and 1")])
    if data.weights is not None or options.covariance is not Covariance.CLASSICAL:
        message = "of a quantile regression is fitted without weights and with its own robust errors"
        raise ModelProblemError([ModelProblem("outcome", message)])
    refuse_singular(data.design, data.values)
    smallest = smallest_category(data.design, data.values, data.units)
    quantiles = window(options.quantile, options.window, smallest)
    standard = standard_columns(data.values, data.design.constant)
    spread = float(np.std(data.outcome))
    # statsmodels takes residuals below a millionth as zero, whatever the outcome is measured in
    unit = 1.0 if 1.0 / WELL_SCALED <= spread <= WELL_SCALED else spread
    with fitting():
        from statsmodels.regression.quantile_regression import QuantReg

        model = QuantReg(data.outcome / unit, standard.values)
        planes = []
        for quantile in quantiles:
            other = model.fit(q=quantile, max_iter=MOST_STEPS)
            if other.iterations >= MOST_STEPS:
                message = (
                    "the fit did not converge in this population; ask for fewer terms or coarser factors"
                )
                raise ModelProblemError([ModelProblem("formula", message)])
            require_convergence(other)
            planes.append(np.asarray(other.params))
        result = model.fit(q=options.quantile, max_iter=MOST_STEPS) if len(planes) > 1 else other
        require_convergence(result)
    plane = np.mean(planes, axis=0)
    residuals = data.outcome - standard.values @ plane * unit
    near = ON_THE_PLANE * spread
    sides = np.where(residuals > near, 1, np.where(residuals < -near, 0, 2))
    freedom = len(data.outcome) - len(data.design.columns)
    estimate = inferred(
        "quantile",
        data.design.names,
        standard.back @ plane * unit,
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


def _fitted(model: Any, quantile: float) -> Any:
    """One plane; ModelProblemError where it is not found."""
    result = model.fit(q=quantile, max_iter=MOST_STEPS)
    if result.iterations >= MOST_STEPS:
        message = "the fit did not converge in this population; ask for fewer terms or coarser factors"
        raise ModelProblemError([ModelProblem("formula", message)])
    require_convergence(result)
    return result
