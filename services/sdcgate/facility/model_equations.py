"""The equations that a fitted model tells about the values of its outcome."""

from collections.abc import Sequence

from sdcgate.facility.model_fitting import Fitted
from sdcgate.facility.model_plan import ModelPlan
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.released_equations import ReleasedEquations
from sdcgate.methods.outputs.fits import Family
from sdcgate.methods.outputs.formula import Classes, Numeric, Survival

NATURAL = frozenset({Family.LINEAR, Family.LOGIT, Family.POISSON, Family.MULTINOMIAL_LOGIT})
"""Families of which estimates tell sums of the outcome times columns, whatever else stands in the formula."""


def equations_of(
    plan: ModelPlan, fitted: Fitted, outcomes: Sequence[Outcome]
) -> tuple[ReleasedEquations, ...]:
    """The equations that a model tells; none where no table of it leaves."""
    tables = [table for outcome in outcomes for table in outcome.released[:1]]
    outcome = plan.formula.outcome
    if not tables or outcome is None:
        return ()
    counts = tables[0]
    estimate, formula = fitted.estimate, plan.formula.canonical()
    # Of other families what a column tells depends on all others.
    text, _, _ = formula.partition("~")
    natural = plan.options.family in NATURAL and not plan.weighted
    what = text.strip() if natural else f"{plan.kind} {plan.weighted} {formula}"
    each = zip(estimate.equations, estimate.names, strict=True)
    columns = (f"{what} {one} {name}" for one, name in each)
    units = int(counts.facts.units[-1])
    return (ReleasedEquations(_name(outcome), counts.boxes[-1], units, frozenset(columns)),)


def _name(outcome: Numeric | Classes | Survival) -> str:
    if isinstance(outcome, Survival):
        return outcome.time.measure
    return outcome.measure if isinstance(outcome, Numeric) else outcome.factor.variable
