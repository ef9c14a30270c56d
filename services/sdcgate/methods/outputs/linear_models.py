"""Linear models as a family among others: least squares with the fit that its checks look at."""

import numpy as np

from sdcgate.methods.outputs.fits import Fit, FitOptions, ModelData, exact_share, whole
from sdcgate.methods.outputs.influence import Working
from sdcgate.methods.outputs.ols import fit_ols


def fit_linear(data: ModelData, options: FitOptions) -> Fit:
    """Least squares, with weights weighted; see `ols`."""
    estimate = fit_ols(
        data.design,
        data.values,
        data.outcome,
        data.units,
        covariance=options.covariance,
        clusters=data.units if data.clusters is None else data.clusters,
        weights=data.weights,
        survey=data.survey,
        confidence=options.confidence,
    )
    fitted = data.values @ estimate.estimates
    residuals = data.outcome - fitted
    scores = residuals if data.weights is None else residuals * data.weights
    return Fit(
        estimate,
        whole(data, Working(data.values, data.weights, np.asarray(scores))),
        r_squared=estimate.fit["r_squared"],
        exact_share=exact_share(data.outcome, fitted),
    )
