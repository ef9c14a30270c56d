"""Multinomial and ordered logit by maximum likelihood.

Multinomial: McFadden (1974), Conditional logit analysis of qualitative choice behavior; ordered, with
proportional odds: McCullagh (1980), Regression models for ordinal data, JRSS B 42(2).
"""

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import number_of_units
from sdcgate.methods.outputs.cumulative_odds import maximise
from sdcgate.methods.outputs.design import Design
from sdcgate.methods.outputs.estimates import inferred, information
from sdcgate.methods.outputs.fits import (
    SEPARATED,
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
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError, not_converged
from sdcgate.methods.outputs.sandwich import Covariance
from sdcgate.methods.outputs.standardising import StandardColumns, standard_columns

THRESHOLDS = "thresholds"
MOST_CLASSES = 20


def fit_multinomial(data: ModelData, options: FitOptions) -> Fit:
    """Each class against the first, an equation a class; `outcome` has positions in `classes`."""
    _refuse(data, options, fewest=3)
    refuse_singular(data.design, data.values)
    with fitting():
        from statsmodels.discrete.discrete_model import MNLogit

        standard = standard_columns(data.values, data.design.constant)
        classes = data.outcome.astype(np.int64)
        start = _of_shares(classes, data.design)
        result = MNLogit(classes, standard.values).fit(disp=0, maxiter=100, start_params=start)
        require_convergence(result)
        probabilities = np.asarray(result.predict())
    columns, equations = len(data.design.columns), data.classes[1:]
    back = np.kron(np.eye(len(equations)), standard.back)
    estimate = inferred(
        "multinomial_logit",
        data.design.names * len(equations),
        back @ np.asarray(result.params).T.reshape(-1),
        np.diag(back @ np.asarray(result.cov_params()) @ back.T),
        records=len(data.outcome),
        units=number_of_units(data.units),
        residual_degrees=len(data.outcome) - columns * len(equations),
        fit=_fit(data, float(result.llf), columns * len(equations)),
        confidence=options.confidence,
        equations=tuple(name for name in equations for _ in range(columns)),
    )
    parts = []
    every = tuple(range(columns))
    for number in range(1, len(data.classes)):
        probability = probabilities[:, number]
        scores = (data.outcome == number) - probability
        working = Working(data.values, probability * (1.0 - probability), scores, 1.0)
        first = (number - 1) * columns
        parts.append(Part(tuple(range(first, first + columns)), every, working))
    of_class = probabilities[np.arange(len(data.outcome)), data.outcome.astype(np.int64)]
    return _classified(data, Fit(estimate, tuple(parts)), of_class)


def _of_shares(classes: IntArray, design: Design) -> FloatArray | None:
    """Where a search begins: the classes' shares in all, as statsmodels has parameters, an equation a class.

    From coefficients of 0, as it begins by itself, a search with many classes of very different sizes
    oversteps and overflows. None without a constant.
    """
    if design.constant is None:
        return None
    counts = np.bincount(classes).astype(np.float64)
    start = np.zeros((len(design.columns), len(counts) - 1))
    start[design.constant] = np.log(counts[1:] / counts[0])
    return start.ravel(order="F")


def fit_ordered(data: ModelData, options: FitOptions) -> Fit:
    """Cumulative odds of the classes in their order; thresholds take the place of the constant."""
    _refuse(data, options, fewest=3)
    kept = without_constant(data, "ordered logit")
    refuse_singular(data.design, data.values)
    standard = standard_columns(data.values, data.design.constant)
    values = standard.values[:, kept]
    with fitting():
        result = maximise(values, data.outcome.astype(np.int64), len(data.classes))
        if result is None or not np.all(np.diag(result.covariance) > 0):
            raise not_converged()
    thresholds, covariance = result.thresholds, result.covariance
    found = np.append(result.slopes, thresholds)
    back = _back(standard, data.design.constant, kept, len(thresholds))
    working, of_class = _ordered_working(data, values @ result.slopes, thresholds)
    cuts = tuple(f"{below}|{above}" for below, above in zip(data.classes, data.classes[1:], strict=False))
    names = tuple(data.design.names[column] for column in kept)
    estimate = inferred(
        "ordered_logit",
        (*names, *cuts),
        back @ found,
        np.diag(back @ covariance @ back.T),
        records=len(data.outcome),
        units=number_of_units(data.units),
        residual_degrees=len(data.outcome) - len(names) - len(cuts),
        fit=_fit(data, result.log_likelihood, len(names) + len(cuts)),
        confidence=options.confidence,
        equations=("",) * len(names) + (THRESHOLDS,) * len(cuts),
    )
    every = tuple(range(len(kept)))
    # the constant stays among the working columns: slopes are informed by what it leaves
    part = Part(every, tuple(kept.tolist()), working)
    return _classified(data, Fit(estimate, (part,)), of_class)


def _refuse(data: ModelData, options: FitOptions, fewest: int) -> None:
    count = len(data.classes)
    if np.any(np.bincount(data.outcome.astype(np.int64), minlength=count) == 0):
        raise ValueError("a class that nobody has is no class of the outcome")
    found = []
    if count < fewest:
        found.append("has fewer than three classes in this population: ask for a logit")
    if count > MOST_CLASSES:
        found.append(f"has more than {MOST_CLASSES} classes: name a coarser level")
    if data.weights is not None or options.covariance is not Covariance.CLASSICAL:
        found.append("of several classes is fitted without weights and with classical errors")
    if found:
        raise ModelProblemError([ModelProblem("outcome", message) for message in found])


def _back(standard: StandardColumns, constant: int | None, kept: IntArray, thresholds: int) -> FloatArray:
    """To slopes and thresholds of the columns as they are; thresholds take the constant's turned part."""
    back = np.eye(len(kept) + thresholds)
    back[: len(kept), : len(kept)] = standard.back[np.ix_(kept, kept)]
    back[len(kept) :, : len(kept)] = -standard.back[constant, kept]
    return back


def _ordered_working(
    data: ModelData, linear: FloatArray, thresholds: FloatArray
) -> tuple[Working, FloatArray]:
    """Expected information and scores of the linear predictor, and each record's probability of its class."""
    from scipy.special import expit

    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    cumulative = expit(edges[None, :] - linear[:, None])
    density = cumulative * (1.0 - cumulative)
    probability = np.diff(cumulative, axis=1)
    slope = -np.diff(density, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        information_share = np.where(probability > 0, slope**2 / probability, 0.0)
        relative = np.where(probability > 0, slope / probability, 0.0)
    at = data.outcome.astype(np.int64)
    rows = np.arange(len(at))
    working = Working(data.values, information_share.sum(axis=1), relative[rows, at], 1.0)
    return working, probability[rows, at]


def _fit(data: ModelData, likelihood: float, parameters: int) -> dict[str, float]:
    counts = np.bincount(data.outcome.astype(np.int64))
    # with a constant or with thresholds alone, each class has its share as probability
    null = float(np.sum(counts * np.log(counts / counts.sum())))
    return {
        **information(likelihood, len(data.outcome), parameters),
        "pseudo_r_squared": 1.0 - likelihood / null,
        "deviance": -2.0 * likelihood,
    }


def _classified(data: ModelData, fit: Fit, of_class: FloatArray) -> Fit:
    certain = of_class > 1.0 - SEPARATED
    return Fit(
        fit.estimate,
        fit.parts,
        exact_share=float(np.mean(certain)),
        separated=bool(np.any(certain)),
        classified=Classified(data.outcome.astype(np.int64), len(data.classes)),
    )
