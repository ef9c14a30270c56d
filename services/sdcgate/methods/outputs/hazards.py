"""Proportional hazards: Cox (1972), Regression models and life-tables, JRSS B 34(2), ties after Efron (1977).

Only coefficients are estimated: a baseline hazard has a step for each event and would tell when it happened.
"""

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.cross_products import number_of_units
from sdcgate.methods.outputs.estimates import inferred, information
from sdcgate.methods.outputs.fits import (
    Fit,
    FitOptions,
    ModelData,
    Part,
    fitting,
    refuse_singular,
    require_convergence,
    without_constant,
)
from sdcgate.methods.outputs.implied_tables import Classified
from sdcgate.methods.outputs.influence import Working
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError
from sdcgate.methods.outputs.sandwich import Covariance
from sdcgate.methods.outputs.standardising import standard_columns


def fit_hazards(data: ModelData, options: FitOptions) -> Fit:
    """Proportional hazards; `outcome` has times, `events` 1 where they ended with the event."""
    events = np.zeros(len(data.outcome)) if data.events is None else data.events
    _refuse(data, options, events)
    kept = without_constant(data, "a model of proportional hazards")
    refuse_singular(data.design, data.values)
    standard = standard_columns(data.values, data.design.constant)
    values = standard.values[:, kept]
    with fitting():
        from statsmodels.duration.hazard_regression import PHReg

        # about their means the exponentials of the predictors stay in range
        about = values - values.mean(axis=0)
        result = PHReg(data.outcome, about, status=events, ties="efron").fit(disp=0)
        require_convergence(result)
    slopes = np.asarray(result.params)
    scale = np.diag(standard.back)[kept]
    likelihood = float(result.llf)
    happened = int(events.sum())
    estimate = inferred(
        "cox",
        tuple(data.design.names[column] for column in kept),
        scale * slopes,
        (scale * np.asarray(result.bse)) ** 2,
        records=len(data.outcome),
        units=number_of_units(data.units),
        residual_degrees=happened - len(kept),
        fit=information(likelihood, happened, len(kept)),
        confidence=options.confidence,
    )
    expected = _expected(data.outcome, events, about @ slopes)
    working = Working(data.values, expected, events - expected, 1.0)
    part = Part(tuple(range(len(kept))), tuple(kept.tolist()), working)
    return Fit(estimate, (part,), classified=Classified(events.astype(np.int64), 2))


def _refuse(data: ModelData, options: FitOptions, events: FloatArray) -> None:
    found = []
    if np.any(data.outcome < 0):
        found.append(ModelProblem("outcome", "has times below 0 in this population"))
    if np.all(events == 0):
        found.append(ModelProblem("outcome", "nobody of this population has the event"))
    if data.weights is not None or options.covariance is not Covariance.CLASSICAL:
        message = "of proportional hazards is fitted without weights and with classical errors"
        found.append(ModelProblem("outcome", message))
    if found:
        raise ModelProblemError(found)


def _expected(times: FloatArray, events: FloatArray, linear: FloatArray) -> FloatArray:
    """Expected events of each record: its risk times Breslow's cumulative hazard at its time.

    With them as weights the fit is a Poisson regression (Whitehead 1980, Applied Statistics 29(3)), whose
    information, without a constant, is close to that of the partial likelihood.
    """
    risk = np.exp(linear)
    moments, at = np.unique(times, return_inverse=True)
    happened = np.bincount(at, events, len(moments))
    exposed = np.cumsum(np.bincount(at, risk, len(moments))[::-1])[::-1]
    hazard = np.cumsum(happened / exposed)
    return np.asarray(risk * hazard[at], dtype=np.float64)
