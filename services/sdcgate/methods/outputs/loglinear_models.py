"""Poisson, negative binomial and Gamma regression, all with a logarithmic link.

McCullagh and Nelder (1989), Generalized Linear Models, chapters 6 and 8; negative binomial with variance
mu + alpha mu^2: Cameron and Trivedi (2013), Regression Analysis of Count Data, section 3.3 (NB2).
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
    Part,
    covariance_of,
    exact_share,
    fitting,
    refuse_singular,
    require_convergence,
)
from sdcgate.methods.outputs.influence import Working
from sdcgate.methods.outputs.linear_algebra import gram
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError
from sdcgate.methods.outputs.sandwich import Covariance
from sdcgate.methods.outputs.standardising import standard_columns

ALPHA = "alpha"
MOST_STEPS = 200
NEWTON_STEPS = 35


def fit_loglinear(data: ModelData, options: FitOptions) -> Fit:
    """A model of a count or of a positive amount; Family.POISSON, NEGATIVE_BINOMIAL or GAMMA.

    ModelProblemError where the outcome is none of that kind, or the fit does not converge.
    """
    _refuse_outcome(data, options)
    refuse_singular(data.design, data.values)
    standard = standard_columns(data.values, data.design.constant)
    with fitting():
        result = _fitted(data, standard.values, options.family)
        require_convergence(result)
    columns = len(data.design.columns)
    parameters = np.asarray(result.params).copy()
    mean = np.exp(standard.values @ parameters[:columns])
    parameters[:columns] = standard.back @ parameters[:columns]
    classical = standard.covariance(np.asarray(result.cov_params()))
    dispersion = float(result.scale) if options.family is Family.GAMMA else 1.0
    working = _working(data, options.family, mean, parameters[-1], dispersion)
    covariance, degrees = _covariance(data, options, classical, working, mean, dispersion)
    negative_binomial = options.family is Family.NEGATIVE_BINOMIAL
    names = (*data.design.names, ALPHA) if negative_binomial else data.design.names
    estimate = inferred(
        options.family.name.lower(),
        names,
        parameters,
        np.diag(covariance),
        records=len(data.outcome),
        units=number_of_units(data.units),
        residual_degrees=len(data.outcome) - len(names),
        fit=_fit(data, result, options.family, dispersion),
        degrees=degrees,
        confidence=options.confidence,
        equations=("",) * columns + (("dispersion",) if negative_binomial else ()),
    )
    every = tuple(range(columns))
    return Fit(
        estimate,
        (Part(every, every, working),),
        exact_share=exact_share(data.outcome, mean),
        separated=bool(np.any(mean < SEPARATED * np.mean(data.outcome))),
    )


def _refuse_outcome(data: ModelData, options: FitOptions) -> None:
    outcome = data.outcome
    found = []
    if options.family is Family.GAMMA:
        if np.any(outcome <= 0):
            found.append("has to be above 0 for all of this population in a Gamma regression")
    elif np.any(outcome < 0) or np.any(outcome != np.round(outcome)):
        found.append("has to be a count for all of this population: whole numbers from 0")
    if not found and np.ptp(outcome) == 0:
        found.append("does not vary in this population")
    if options.family is Family.NEGATIVE_BINOMIAL and (
        data.weights is not None or options.covariance is not Covariance.CLASSICAL
    ):
        found.append("of a negative binomial regression is fitted without weights and with classical errors")
    if found:
        raise ModelProblemError([ModelProblem("outcome", message) for message in found])


def _fitted(data: ModelData, values: FloatArray, family: Family) -> Any:
    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM

    if family is Family.NEGATIVE_BINOMIAL:
        from statsmodels.discrete.discrete_model import NegativeBinomial

        model = NegativeBinomial(data.outcome, values)
        found = model.fit(method="newton", disp=0, maxiter=NEWTON_STEPS)
        if found.mle_retvals["converged"] and np.all(np.isfinite(found.bse)) and found.params[-1] > 0:
            return found
        # The usual search arrives from farther, and stops at some five digits of the estimates.
        return model.fit(disp=0, maxiter=MOST_STEPS)
    if family is Family.GAMMA:
        distribution = families.Gamma(families.links.Log())
        return GLM(data.outcome, values, distribution, freq_weights=data.weights).fit()
    if data.weights is not None:
        poisson = families.Poisson()
        return GLM(data.outcome, values, poisson, freq_weights=data.weights).fit(tol=1e-12)
    from statsmodels.discrete.discrete_model import Poisson

    return Poisson(data.outcome, values).fit(disp=0)


def _working(data: ModelData, family: Family, mean: FloatArray, alpha: float, dispersion: float) -> Working:
    weights = 1.0 if data.weights is None else data.weights
    if family is Family.GAMMA:
        return Working(
            data.values,
            None if data.weights is None else data.weights,
            weights * (data.outcome - mean) / mean,
            dispersion,
        )
    if family is Family.NEGATIVE_BINOMIAL:
        spread = 1.0 + alpha * mean
        return Working(data.values, mean / spread, (data.outcome - mean) / spread, 1.0)
    return Working(data.values, weights * mean, weights * (data.outcome - mean), 1.0)


def _covariance(
    data: ModelData,
    options: FitOptions,
    classical: FloatArray,
    working: Working,
    mean: FloatArray,
    dispersion: float,
) -> tuple[FloatArray, float]:
    if options.family is Family.NEGATIVE_BINOMIAL:
        return classical, np.inf
    # the scores are not divided by the dispersion, so neither is the bread
    bread = classical / dispersion
    if options.family is Family.GAMMA and options.covariance is not Covariance.DESIGN:
        observed = data.values.T @ (data.values * (data.outcome / mean)[:, None])
        bread = gram(observed).inverse()
    return covariance_of(data, options, bread, working.scores, classical)


def _fit(data: ModelData, result: Any, family: Family, dispersion: float) -> dict[str, float]:
    """Figures of fit, which weights by pseudo-likelihood do not have."""
    if data.weights is not None:
        return {}
    parameters = len(result.params)
    likelihood = float(result.llf)
    found = information(likelihood, len(data.outcome), parameters)
    if family is Family.GAMMA:
        return found | {"deviance": float(result.deviance), "dispersion": dispersion}
    null = _null_of_negative_binomial if family is Family.NEGATIVE_BINOMIAL else _null_of_poisson
    return found | {"pseudo_r_squared": 1.0 - likelihood / null(data.outcome)}


def _null_of_poisson(outcome: FloatArray) -> float:
    """Log-likelihood of a constant alone: the mean."""
    from scipy.special import gammaln

    mean = float(np.mean(outcome))
    return float(len(outcome) * mean * (np.log(mean) - 1.0) - np.sum(gammaln(outcome + 1.0)))


def _null_of_negative_binomial(outcome: FloatArray) -> float:
    """Log-likelihood of a constant alone: the mean, and the alpha that is likeliest with it."""
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    counts, often = np.unique(outcome, return_counts=True)
    mean = float(np.mean(outcome))

    def unlikelihood(log_alpha: float) -> float:
        size = np.exp(-log_alpha)
        each = gammaln(counts + size) - gammaln(size) - gammaln(counts + 1.0)
        each += size * np.log(size / (size + mean)) + counts * np.log(mean / (size + mean))
        return -float(often @ each)

    return -float(minimize_scalar(unlikelihood, bounds=(-20.0, 10.0), method="bounded").fun)
