"""Logit and probit by maximum likelihood, with weights by pseudo-likelihood.

McCullagh and Nelder (1989), Generalized Linear Models, chapter 4; with survey weights: Binder (1983).
"""

from typing import Any

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.cross_products import number_of_units
from sdcgate.methods.outputs.estimates import inferred, information
from sdcgate.methods.outputs.fits import (
    SEPARATED,
    Family,
    Fit,
    FitOptions,
    ModelData,
    covariance_of,
    fitting,
    refuse_singular,
    require_convergence,
    separation,
    whole,
)
from sdcgate.methods.outputs.implied_tables import Classified
from sdcgate.methods.outputs.influence import Working
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError
from sdcgate.methods.outputs.standardising import standard_columns


def fit_binary(data: ModelData, options: FitOptions) -> Fit:
    """A model of an event, `outcome` being 1 where it happened and 0 elsewhere; Family.LOGIT or PROBIT.

    ModelProblemError where everybody or nobody has it, the terms foretell it, or it does not converge.
    """
    happened = float(np.mean(data.outcome))
    if happened in {0.0, 1.0}:
        raise ModelProblemError([ModelProblem("outcome", "does not vary in this population")])
    refuse_singular(data.design, data.values)
    columns = standard_columns(data.values, data.design.constant)
    with fitting():
        result = _fitted(data, columns.values, options.family)
        require_convergence(result)
        linear = columns.values @ np.asarray(result.params)
        working, probability = _working(data, options.family, linear)
    if np.all(np.abs(data.outcome - probability) < np.sqrt(SEPARATED)):
        raise separation()
    bread = columns.covariance(np.asarray(result.cov_params()))
    covariance, degrees = covariance_of(data, options, bread, working.scores, bread)
    estimate = inferred(
        options.family.name.lower(),
        data.design.names,
        columns.back @ np.asarray(result.params),
        np.diag(covariance),
        records=len(data.outcome),
        units=number_of_units(data.units),
        residual_degrees=len(data.outcome) - len(data.design.columns),
        fit=_fit(data, result, happened),
        degrees=degrees,
        confidence=options.confidence,
    )
    nearest = np.min(np.abs(data.outcome - probability))
    return Fit(
        estimate,
        whole(data, working),
        exact_share=float(np.mean(np.abs(data.outcome - probability) < SEPARATED)),
        separated=bool(nearest < SEPARATED),
        classified=Classified(data.outcome.astype(np.int64), 2),
    )


def _fitted(data: ModelData, values: FloatArray, family: Family) -> Any:
    if data.weights is not None:
        from statsmodels.genmod.families import Binomial
        from statsmodels.genmod.families.links import Logit as LogitLink
        from statsmodels.genmod.families.links import Probit as ProbitLink
        from statsmodels.genmod.generalized_linear_model import GLM

        link = LogitLink() if family is Family.LOGIT else ProbitLink()
        return GLM(data.outcome, values, Binomial(link), freq_weights=data.weights).fit(tol=1e-12)
    from statsmodels.discrete.discrete_model import Logit, Probit

    model = Logit if family is Family.LOGIT else Probit
    return model(data.outcome, values).fit(disp=0)


def _working(data: ModelData, family: Family, linear: FloatArray) -> tuple[Working, FloatArray]:
    from scipy.special import expit, log_ndtr, ndtr

    weights = 1.0 if data.weights is None else data.weights
    if family is Family.LOGIT:
        probability = expit(linear)
        scores = weights * (data.outcome - probability)
        return Working(data.values, weights * probability * (1.0 - probability), scores, 1.0), probability
    probability = ndtr(linear)
    signed = np.where(data.outcome == 1.0, 1.0, -1.0)
    density = np.exp(-(linear**2) / 2.0) / np.sqrt(2.0 * np.pi)
    ratio = signed * density / np.exp(log_ndtr(signed * linear))
    expected = density**2 / np.exp(log_ndtr(linear) + log_ndtr(-linear))
    return Working(data.values, weights * expected, weights * ratio, 1.0), probability


def _fit(data: ModelData, result: Any, happened: float) -> dict[str, float]:
    """Figures of fit, which weights by pseudo-likelihood do not have."""
    if data.weights is not None:
        return {}
    records = len(data.outcome)
    null = records * (happened * np.log(happened) + (1.0 - happened) * np.log1p(-happened))
    likelihood = float(result.llf)
    return {
        **information(likelihood, records, len(data.design.columns)),
        "pseudo_r_squared": 1.0 - likelihood / float(null),
        "deviance": -2.0 * likelihood,
    }
