"""Which sums of functions of measures a model's estimates and errors tell, by the categories of its terms.

Estimates solve X'Xb = X'y, or X'm(b) = X'y where the link is the family's own (McCullagh and Nelder 1989,
section 2.5), and classical errors are the diagonal of the inverse of X'WX: so all products of two columns,
summed, count as told, those of the outcome with columns among them. Of `y ~ site + square(x)` these are the
squares of x by site, as y is known there. A dispersion or likelihood tells of the outcome's squares in the
population, and errors that do not trust the model (`Covariance`) are sums of squared scores: of the outcome
times a column, by the column's categories. With one factor alone they are, over the squared sum of fitted
values, the squared deviations from each category's mean, of whatever family.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

from sdcgate.facility.joint_look import JointlyUnproved
from sdcgate.facility.model_plan import Level, ModelPlan, levels_of
from sdcgate.methods.outputs.fits import Family
from sdcgate.methods.outputs.formula import Numeric, Predictor
from sdcgate.methods.outputs.sandwich import Covariance

DEGREES = {"": 1, "spline": 1, "square": 2, "cube": 3}
"""The power of a measure that a function of it is; of other functions sums of their own are kept."""
HIGHEST = 8
"""The highest power of which sums are kept."""
HIGHEST_OF_FUNCTIONS = 2
"""That of other functions."""
LOGARITHMS = {"", "square", "cube", "inverse", "sqrt"}
"""Functions whose logarithm is that of the measure but for a factor."""

Told = dict[tuple[frozenset[Level], str], int]
"""By categories, none where it is all of the population, and measure: a power of it."""


Function = tuple[str, str]
"""A measure, and the function of it as formulas name it."""
ToldFunctions = dict[tuple[frozenset[Level], Function], int]
"""By categories and function: up to which power of it."""


@dataclass(frozen=True, slots=True)
class ToldProducts:
    """Sums that a model tells, by categories, none where it is all of the population, and measure."""

    powers: Told
    """The highest power, 2 or more, whose sums are told."""
    functions: ToldFunctions
    """The same of other functions than powers, 1 or more."""


@dataclass(frozen=True, slots=True)
class _Column:
    """What a term, or the outcome, is a product of."""

    levels: frozenset[Level]
    powers: tuple[tuple[str, int], ...]
    functions: tuple[tuple[Function, int], ...]

    def times(self, other: "_Column") -> "_Column":
        """The product of both."""
        powers, functions = dict(self.powers), dict(self.functions)
        for measure, order in other.powers:
            powers[measure] = powers.get(measure, 0) + order
        for function, order in other.functions:
            functions[function] = functions.get(function, 0) + order
        return _Column(self.levels | other.levels, tuple(powers.items()), tuple(functions.items()))


def told_products(plan: ModelPlan) -> ToldProducts:
    """What of a model's measures is told. Raises JointlyUnproved of powers that are not kept."""
    told, functions = Told(), ToldFunctions()
    for found in (*_products(plan), *_of_likelihood(plan)):
        for function, order in found.functions:
            functions[found.levels, function] = max(order, functions.get((found.levels, function), 0))
        for measure, order in found.powers:
            if order >= 2 and measure in plan.valid:
                told[found.levels, measure] = max(order, told.get((found.levels, measure), 0))
    beyond = any(order > HIGHEST for order in told.values())
    if beyond or any(order > HIGHEST_OF_FUNCTIONS for order in functions.values()):
        raise JointlyUnproved
    return ToldProducts(told, functions)


def _of_likelihood(plan: ModelPlan) -> Iterator[_Column]:
    """What a Gamma model's deviance tells of its population, beside sums by the terms: that of logarithms."""
    outcome = plan.formula.outcome
    gamma = plan.options.family is Family.GAMMA
    if gamma and isinstance(outcome, Numeric) and outcome.measure in plan.valid:
        if outcome.transformation not in LOGARITHMS:
            raise JointlyUnproved
        yield _Column(frozenset(), (), (((outcome.measure, "log"), 1),))


def _products(plan: ModelPlan) -> Iterator[_Column]:
    """The products of two columns whose sums are told, and squared scores."""
    every = dict.fromkeys(term for formula in plan.formulas for term in formula.terms)
    terms = [_column(frozenset(levels_of(term, plan.coded)), term, plan.valid) for term in every]
    outcome = plan.formula.outcome
    own = [_column(frozenset(), [outcome], plan.valid)] if isinstance(outcome, Numeric) else []
    for one, other in combinations_with_replacement([*own, *terms], 2):
        yield one.times(other)
    if plan.options.covariance is not Covariance.CLASSICAL:
        for residual in own:
            scores = (residual.times(term) for term in terms)
            yield from (score.times(score) for score in scores)


def _column(levels: frozenset[Level], parts: Iterable[Predictor], measures: tuple[str, ...]) -> _Column:
    powers, functions = dict[str, int](), dict[Function, int]()
    for part in parts:
        if isinstance(part, Numeric) and part.measure in measures:
            if part.transformation in DEGREES:
                powers[part.measure] = powers.get(part.measure, 0) + DEGREES[part.transformation]
            else:
                function = (part.measure, part.transformation)
                functions[function] = functions.get(function, 0) + 1
    return _Column(levels, tuple(powers.items()), tuple(functions.items()))
