"""What to ask instead of a model: from formula, filter and the dataset's public levels only.

Each can be done with the model that was asked, and makes another one of it.
"""

from collections.abc import Callable, Mapping, Sequence

from sdcgate.facility.model_plan import Level, ModelPlan
from sdcgate.facility.model_vocabulary import vocabulary
from sdcgate.facility.reasons import OF_TABLES, either, next_level
from sdcgate.methods.outputs.fits import Family
from sdcgate.methods.outputs.formula import Classes, Numeric, Survival, Term
from sdcgate.methods.outputs.problems import ModelProblem
from sdcgate.methods.rules import ReasonCode

WIDER = "leave out a condition of the filter"
ANOTHER = "ask another outcome or another term"
MEDIAN = 0.5
NEARER = f"ask a quantile nearer to {MEDIAN}"
SEPARATE = "leave out the term that tells the outcome"
DAMPING = ("log1p", "log", "sqrt")
"""Transformations that make a skewed measure less so, the usual one first."""
WITHOUT = frozenset({ReasonCode.UNPROVED, ReasonCode.REVIEW})
"""Reasons of which only waiting helps."""


def model_suggestion(code: ReasonCode, plan: ModelPlan, problems: Sequence[ModelProblem] = ()) -> str:
    """What may be asked in place of a model that is held for a reason; empty where only waiting helps.

    `problems` are those for which it cannot be estimated.
    """
    if code in WITHOUT:
        return ""
    if code is ReasonCode.VERSION_DIFFERENCE:
        return OF_TABLES
    if code is ReasonCode.NOT_ESTIMABLE:
        return _of_problems(plan, problems)
    found = _WAYS[code](plan) if code in _WAYS else [*_terms_instead(plan), *_wider(plan)]
    return either(found, ANOTHER)


def _of_other_people(plan: ModelPlan) -> list[str]:
    """Who lacks what is not public: so it is not said which variable to leave out."""
    found = ["ask the model without the filter"] if plan.filters else []
    if _may_lose_a_term(plan):
        found.append("leave out a term with a variable that some people lack, where there is one")
    return [*found, "ask it of the people of an earlier answer, such as those who have a variable of it"]


def _of_outcome(plan: ModelPlan) -> list[str]:
    found = _of_few(plan)
    if not isinstance(plan.formula.outcome, Classes | Survival):
        found.append("ask a measure of more values")
    return found


def _of_few(plan: ModelPlan) -> list[str]:
    """Classes of the outcome are categories of each term's table."""
    outcome = plan.formula.outcome
    coarser = ""
    if isinstance(outcome, Classes) and not outcome.event:
        coarser = _coarser(plan, (outcome.factor.variable, outcome.factor.level))
    found = [f"ask the outcome by {coarser}"] if coarser else []
    return [*found, *_terms_instead(plan), *_wider(plan)]


def _of_problems(plan: ModelPlan, problems: Sequence[ModelProblem]) -> str:
    """By what stands in the way: terms, the outcome, groups, instruments."""
    paths = {problem.path for problem in problems}
    found: list[str] = []
    if "groups" in paths:
        found += ["ask groups of another variable", "ask LINEAR, which has none"]
    if "quantile" in paths:
        found += [*([] if plan.options.quantile == MEDIAN else [NEARER]), *_terms_instead(plan)]
    if "instruments" in paths:
        found += ["name other instruments"]
    if "outcome" in paths and plan.options.family is Family.COX:
        found += ["name another event"]
    elif paths & {"outcome", "formula"} or not paths:
        # A number that parts the classes of the outcome parts them by its categories, too.
        found += _terms_instead(
            plan, "leave out a term that others determine or that tells the outcome", "outcome" not in paths
        )
    return either([*found, *_wider(plan)], ANOTHER)


def _of_perfect_fit(plan: ModelPlan) -> list[str]:
    return [SEPARATE] if _may_lose_a_term(plan) else []


def _of_weight(plan: ModelPlan) -> list[str]:
    return [*_transformed(plan), *_terms_instead(plan), *_wider(plan)]


def _terms_instead(
    plan: ModelPlan, leaving: str = "leave a term or an interaction out", numbers_as_factors: bool = True
) -> list[str]:
    levels = dict.fromkeys((factor.variable, factor.level) for factor in plan.factors)
    found = [f"ask {level[0]} by {name}" for level in levels if (name := _coarser(plan, level))]
    for name in plan.numbered if numbers_as_factors else ():
        finest = plan.dataset.levels(name)[0].name
        in_terms = any(number.measure == name for number in _numbers(plan))
        if in_terms and (coarser := _coarser(plan, (name, finest))):
            found.append(f"ask {name} as a factor by {coarser}")
    return [*found, leaving] if _may_lose_a_term(plan) else found


def _transformed(plan: ModelPlan) -> list[str]:
    """A measure of the terms by a function that it may be asked by, or without the one that it has."""
    found = []
    for number in _numbers(plan):
        known = vocabulary(plan.dataset).measure(number.measure)
        damping = [name for name in DAMPING if known is not None and name in known.transformations]
        if number.transformation:
            found.append(f"ask {number.measure} without {number.transformation}")
        elif damping:
            found.append(f"ask {damping[0]}({number.measure}) in place of {number.measure}")
    return found


def _numbers(plan: ModelPlan) -> list[Numeric]:
    return [part for term in _terms(plan) for part in term if isinstance(part, Numeric)]


def _wider(plan: ModelPlan) -> list[str]:
    return [f"{WIDER} or choose more codes"] if plan.filters else []


def _terms(plan: ModelPlan) -> list[Term]:
    return [term for term in plan.formula.terms if term]


def _may_lose_a_term(plan: ModelPlan) -> bool:
    return len(_terms(plan)) > 1


def _coarser(plan: ModelPlan, level: Level) -> str:
    return next_level(plan.dataset, plan.policy, *level)


_WAYS: Mapping[ReasonCode, Callable[[ModelPlan], list[str]]] = {
    ReasonCode.DIFFERENCING: _of_other_people,
    ReasonCode.MINIMUM_BASE: _wider,
    ReasonCode.MINIMUM_UNITS: _of_few,
    ReasonCode.OUTCOME_CLASS: _of_outcome,
    ReasonCode.PERFECT_FIT: _of_perfect_fit,
    ReasonCode.LEVERAGE: _of_weight,
    ReasonCode.INFLUENCE: _of_weight,
}
"""What may be asked for a reason; for all others coarser terms and a wider filter."""
