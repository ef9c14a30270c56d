"""What every fit hands on: its estimate, and itself as weighted least squares for the checks."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.design import Design
from sdcgate.methods.outputs.estimates import CONFIDENCE, ModelEstimate
from sdcgate.methods.outputs.implied_tables import Classified
from sdcgate.methods.outputs.influence import Working
from sdcgate.methods.outputs.linear_algebra import dependent_columns, gram
from sdcgate.methods.outputs.problems import (
    ModelProblem,
    ModelProblemError,
    NotConverged,
    columns_problem,
    not_converged,
)
from sdcgate.methods.outputs.sandwich import (
    Covariance,
    Meat,
    SurveyDesign,
    design_meat,
    inference_degrees,
    meat_of,
    sandwich,
)

SEPARATED = 1e-8
"""A probability fitted nearer to 0 or 1, or a mean to 0, comes from terms that foretell the outcome."""


class Family(IntEnum):
    """A family of models."""

    LINEAR = 1
    LOGIT = 2
    PROBIT = 3
    POISSON = 4
    NEGATIVE_BINOMIAL = 5
    GAMMA = 6
    MULTINOMIAL_LOGIT = 7
    ORDERED_LOGIT = 8
    QUANTILE = 9
    FIXED_EFFECTS = 10
    MIXED = 11
    COX = 12
    TWO_STAGE = 13


WITH_WEIGHTS = frozenset({Family.LINEAR, Family.LOGIT, Family.PROBIT, Family.POISSON, Family.GAMMA})
"""Families that are fitted with weights, and whose errors may be by design."""
WITH_CLUSTERS = WITH_WEIGHTS | {Family.FIXED_EFFECTS, Family.TWO_STAGE}
"""Families whose errors may be robust or clustered."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelData:
    """Records of a model's population: columns, outcome and units; hidden from repr."""

    design: Design
    values: FloatArray = field(repr=False)
    """Shape (records, columns), in the order of `design.columns`."""
    outcome: FloatArray = field(repr=False)
    """Shape (records,): numbers, 0 and 1 for an event, positions of classes, or times."""
    units: IntArray = field(repr=False)
    """Each record's unit as a number from 0."""
    classes: tuple[str, ...] = ()
    """Classes of the outcome in the order of their positions, where it has some."""
    weights: FloatArray | None = field(default=None, repr=False)
    survey: SurveyDesign = field(default_factory=SurveyDesign, repr=False)
    clusters: IntArray | None = field(default=None, repr=False)
    """For cluster-robust errors; the units where None."""
    groups: IntArray | None = field(default=None, repr=False)
    """Groups of fixed or random effects, as numbers from 0."""
    events: FloatArray | None = field(default=None, repr=False)
    """1 where a time ended with the event, 0 where observation ended."""
    instruments: FloatArray | None = field(default=None, repr=False)
    """Columns of the instruments, with all that instrument themselves, shape (records, instruments)."""


@dataclass(frozen=True, slots=True)
class FitOptions:
    """What is fitted and how its errors are estimated."""

    family: Family
    covariance: Covariance = Covariance.CLASSICAL
    confidence: float = CONFIDENCE
    quantile: float = 0.5
    window: int = 1
    """Units of the smallest category whose quantiles a quantile regression averages over; 1: one plane."""
    outcome_of_classes: bool = True
    """Whether a number that has few values here has few in the whole dataset, so that each is a class."""
    usual_search: bool = False
    """Whether a mixed model is that of statsmodels' own search: what jobs print, which may stop early."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Parameters of an estimate that belong to columns, with the fit as least squares on these."""

    parameters: tuple[int, ...]
    """Positions in the estimate."""
    columns: tuple[int, ...]
    """The design's column of each."""
    working: Working = field(repr=False)
    places: tuple[int, ...] | None = None
    """The column of `working` of each; None where it has all columns of the design, in their order."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A fitted model."""

    estimate: ModelEstimate
    parts: tuple[Part, ...]
    r_squared: float | None = None
    exact_share: float = 0.0
    separated: bool = False
    classified: Classified | None = None
    outcome_units: IntArray | None = None
    """Units of each class, where it is not the classes of `classified`."""


def whole(data: ModelData, working: Working) -> tuple[Part, ...]:
    """The one part of a model that has a parameter for each column."""
    every = tuple(range(len(data.design.columns)))
    return (Part(every, every, working),)


def covariance_of(
    data: ModelData, options: FitOptions, bread: FloatArray, scores: FloatArray, classical: FloatArray
) -> tuple[FloatArray, float]:
    """Covariance of the estimates and degrees of freedom for their tests, inf where the normal one is meant.

    `scores` times values are each record's scores, with weights; classical errors are tested by the normal
    distribution.
    """
    meat = _meat(data, options, scores)
    if meat is None:
        return classical, np.inf
    found = sandwich(bread, meat, len(scores), linear=False)
    if options.covariance is Covariance.DESIGN:
        return found, inference_degrees(meat, len(scores) - len(bread), len(bread))
    return found, np.inf


def _meat(data: ModelData, options: FitOptions, scores: FloatArray) -> Meat | None:
    match options.covariance:
        case Covariance.CLASSICAL:
            return None
        case Covariance.ROBUST:
            return meat_of(data.values, scores)
        case Covariance.CLUSTERED:
            return meat_of(data.values, scores, data.units if data.clusters is None else data.clusters)
        case _:
            return design_meat(data.values, scores, data.survey)


def refuse_singular(design: Design, values: FloatArray, weights: FloatArray | None = None) -> None:
    """ModelProblemError where columns are constant or follow from others."""
    system = gram(values.T @ (values if weights is None else values * weights[:, None]))
    dependent = dependent_columns(system.scaled)
    if len(dependent):
        raise ModelProblemError(columns_problem(design, dependent))


def without_constant(data: ModelData, family: str) -> IntArray:
    """Positions of the columns beside the constant, for families with a baseline of their own.

    ModelProblemError where the formula takes the constant away or has nothing else.
    """
    constant = data.design.constant
    if constant is None or len(data.design.columns) == 1:
        message = f"{family} has a baseline of its own: leave `- 1` out and name at least one term"
        raise ModelProblemError([ModelProblem("formula", message)])
    return np.delete(np.arange(len(data.design.columns)), constant)


@contextmanager
def fitting() -> Iterator[None]:
    """Within it warnings of statsmodels are quiet, and its exceptions are problems told in words."""
    from statsmodels.tools.sm_exceptions import PerfectSeparationError

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except PerfectSeparationError:
        raise separation() from None
    except np.linalg.LinAlgError:
        message = "the model cannot be estimated: its columns follow from each other in this population"
        raise NotConverged([ModelProblem("formula", message)]) from None


class Separated(ModelProblemError):
    """Some people's outcome is told by the terms."""


def separation() -> Separated:
    """The problem that the terms foretell the outcome."""
    message = (
        "the terms foretell the outcome of some people completely, so that there are no finite estimates"
    )
    return Separated([ModelProblem("outcome", message)])


def require_convergence(result: Any) -> None:
    """ModelProblemError where a fit did not converge or has figures that are no numbers."""
    retvals = getattr(result, "mle_retvals", None)
    converged = retvals.get("converged", True) if isinstance(retvals, dict) else True
    converged = converged and getattr(result, "converged", True)
    finite = np.all(np.isfinite(np.asarray(result.params))) and np.all(np.isfinite(np.asarray(result.bse)))
    if not (converged and finite):
        raise not_converged()


def exact_share(outcome: FloatArray, fitted: FloatArray) -> float:
    """Share of records whose outcome is fitted but for rounding."""
    scale = np.max(np.abs(outcome), initial=0.0)
    return float(np.mean(np.abs(outcome - fitted) <= 1e-9 * scale)) if len(outcome) else 0.0
