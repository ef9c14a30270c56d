"""Quantile regression, whose coefficients are solved from as many records as it has parameters.

Koenker and Bassett (1978), Regression quantiles, Econometrica 46(1); errors by a kernel estimate of the
density at the quantile: Powell (1991), with the bandwidth of Hall and Sheather (1988), as in statsmodels.
"""

from math import exp, pi, sqrt

import numpy as np
from scipy.special import ndtri

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.cross_products import number_of_units
from sdcgate.methods.outputs.estimates import inferred
from sdcgate.methods.outputs.fits import (
    Fit,
    FitOptions,
    ModelData,
    exact_share,
    refuse_singular,
    whole,
)
from sdcgate.methods.outputs.implied_tables import units_by_group
from sdcgate.methods.outputs.influence import Working
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError, not_converged
from sdcgate.methods.outputs.quantile_planes import Plane, quantile_planes
from sdcgate.methods.outputs.quantile_windows import fewest_units, smallest_category, window
from sdcgate.methods.outputs.sandwich import Covariance
from sdcgate.methods.outputs.standardising import standard_columns

ON_THE_PLANE = 1e-6
"""Of the spread of the outcome: nearer to the fitted quantile than this a record lies on it."""
ON_NEITHER = 2
"""The side of the records on the plane, beside those below and above."""
ROUNDING = 1e-9
"""Of the spread of the outcome: what is left by rounding of a residual that is 0."""
WIDER = (1, 2, 4)
"""How many times as many planes as a cell must have units are averaged over, the fewest that do first."""
BANDWIDTH_LEVEL = 0.05
"""One less the confidence that the bandwidth is for."""
QUARTILES_OF_NORMAL = 1.34
"""How far the quartiles of a normal distribution are apart, in standard deviations."""


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
    standard = standard_columns(data.values, data.design.constant)
    averaged, at = _planes(standard.values, data, options, smallest)
    plane = np.mean([one.coefficients for one in averaged], axis=0)
    own = data.outcome - standard.values @ at.coefficients
    covariance = _covariance(standard.values, data.outcome, own, options.quantile)
    residuals = data.outcome - standard.values @ plane
    near = ON_THE_PLANE * float(np.std(data.outcome))
    sides = np.where(residuals > near, 1, np.where(residuals < -near, 0, ON_NEITHER))
    freedom = len(data.outcome) - len(data.design.columns)
    estimate = inferred(
        "quantile",
        data.design.names,
        standard.back @ plane,
        np.diag(standard.covariance(covariance)),
        records=len(data.outcome),
        units=number_of_units(data.units),
        residual_degrees=freedom,
        fit={"pseudo_r_squared": _explained(data.outcome, own, options.quantile)},
        degrees=float(freedom),
        confidence=options.confidence,
    )
    return Fit(
        estimate,
        whole(
            data, Working(data.values, None, np.where(residuals > 0, 1.0, 0.0) - 1 + options.quantile, 1.0)
        ),
        # Whoever is on neither side lies on the plane.
        exact_share=max(
            exact_share(data.outcome, data.outcome - residuals), float(np.mean(sides == ON_NEITHER))
        ),
        outcome_units=units_by_group(sides.astype(np.int64), 3, data.units)[:2],
    )


def _planes(
    values: FloatArray, data: ModelData, options: FitOptions, smallest: int
) -> tuple[list[Plane], Plane]:
    """The planes that are averaged over, more where few units carry them, and the one at the quantile.

    ModelProblemError where too few units carry them all the same.
    """
    for times in WIDER:
        quantiles = window(options.quantile, times * options.window, smallest)
        wanted = np.union1d(quantiles, options.quantile)
        planes = quantile_planes(values, data.outcome, wanted.tolist())
        averaged = [planes[place] for place in np.flatnonzero(np.isin(wanted, quantiles)).tolist()]
        if options.window == 1 or fewest_units(averaged, values, data.outcome, data.units) >= options.window:
            return averaged, planes[int(np.searchsorted(wanted, options.quantile))]
    message = (
        "goes through the records of too few units; leave out a term, ask factors by coarser levels, or "
        "use a transformation such as log1p of a skewed measure"
    )
    raise ModelProblemError([ModelProblem("quantile", message)])


def check_loss(residuals: FloatArray, quantile: float) -> float:
    """What a plane at a quantile makes least: residuals above it count q times, below it 1 - q times."""
    return float(np.sum(np.where(residuals < 0, (quantile - 1) * residuals, quantile * residuals)))


def _explained(outcome: FloatArray, residuals: FloatArray, quantile: float) -> float:
    """The loss that the columns save, as a share of that about the quantile (Koenker and Machado 1999)."""
    about = outcome - np.percentile(outcome, 100 * quantile)
    return 1.0 - check_loss(residuals, quantile) / check_loss(about, quantile)


def _covariance(
    values: FloatArray, outcome: FloatArray, residuals: FloatArray, quantile: float
) -> FloatArray:
    """Of the coefficients: (X'X)^-1 X'DX (X'X)^-1, D with the density of the residuals at 0 (Powell 1991).

    ModelProblemError where there is no residual near to the plane.
    """
    lower, upper = np.percentile(residuals, [25, 75])
    width = _bandwidth(len(outcome), quantile)
    spread = min(float(np.std(outcome)), float(upper - lower) / QUARTILES_OF_NORMAL)
    width = spread * float(ndtri(quantile + width) - ndtri(quantile - width))
    if not width > 0:
        raise not_converged()
    distances = residuals / width
    kernel = np.where(np.abs(distances) <= 1, 0.75 * (1 - distances**2), 0.0)
    density = float(kernel.sum()) / (len(outcome) * width)
    if not density > 0:
        raise not_converged()
    # Records that the plane goes through are not above it, whatever is left of them by rounding.
    near = ROUNDING * float(np.std(outcome))
    above = np.where(residuals > near, (quantile / density) ** 2, ((1 - quantile) / density) ** 2)
    inverse = np.linalg.pinv(values.T @ values)
    return np.asarray(inverse @ (values.T @ (values * above[:, None])) @ inverse, dtype=np.float64)


def _bandwidth(records: int, quantile: float) -> float:
    """Hall and Sheather (1988), Journal of the Royal Statistical Society B 50(3)."""
    at = float(ndtri(quantile))
    density = exp(-(at**2) / 2) / sqrt(2 * pi)
    level = float(ndtri(1 - BANDWIDTH_LEVEL / 2))
    return float((level**2 * 1.5 * density**2 / (2 * at**2 + 1) / records) ** (1 / 3))
