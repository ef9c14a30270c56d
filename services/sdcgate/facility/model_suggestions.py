"""What to ask instead of a model: from formula, filter and the dataset's public levels only."""

from sdcgate.facility.model_plan import Level, ModelPlan
from sdcgate.methods.outputs.formula import Classes, Survival
from sdcgate.methods.rules import ReasonCode

FEWER_TERMS = "Leave out a term or an interaction, ask factors by coarser levels, or widen the filter."
SUGGESTIONS = {
    ReasonCode.RESIDUAL_DEGREES: FEWER_TERMS,
    ReasonCode.SATURATED: FEWER_TERMS,
    ReasonCode.PERFECT_FIT: "Leave out the term that tells the outcome.",
    ReasonCode.LEVERAGE: "Use a transformation such as log1p of a skewed measure, or leave it out.",
    ReasonCode.INFLUENCE: "Ask the factor by a coarser level, or leave the term out.",
    ReasonCode.NOT_ESTIMABLE: (
        "Leave out terms that others determine or that tell the outcome, ask factors by coarser levels, or "
        "widen the filter."
    ),
    ReasonCode.UNPROVED: "",
    ReasonCode.VERSION_DIFFERENCE: "",
    ReasonCode.REVIEW: "",
}
WIDER = "leave out a condition of the filter"


def model_suggestion(code: ReasonCode, plan: ModelPlan) -> str:
    """What may be asked in place of a model that is held for a reason; empty where only waiting helps."""
    match code:
        case ReasonCode.DIFFERENCING:
            return _of_other_people(plan)
        case ReasonCode.MINIMUM_BASE:
            return "Leave out a condition of the filter, or choose more codes."
        case ReasonCode.OUTCOME_CLASS:
            return _of_outcome(plan)
        case _ if code in SUGGESTIONS:
            return SUGGESTIONS[code]
        case _:
            return _of_categories(plan)


def _of_other_people(plan: ModelPlan) -> str:
    if plan.filters:
        return "Ask the model without the filter, or of the people of an earlier answer."
    return "Leave out a variable that some people lack, so that its people are those of an earlier answer."


def _of_outcome(plan: ModelPlan) -> str:
    outcome = plan.formula.outcome
    coarser = ""
    if isinstance(outcome, Classes) and not outcome.event:
        coarser = _coarser(plan, (outcome.factor.variable, outcome.factor.level))
    found = [f"ask the outcome by {coarser}"] if coarser else []
    found += _terms_instead(plan)
    found += [WIDER] if plan.filters else []
    if not isinstance(outcome, Classes | Survival):
        found.append("ask a measure of more values, each of which counts as a class where they are few")
    return _sentence(found)


def _of_categories(plan: ModelPlan) -> str:
    return _sentence([*_terms_instead(plan), *([WIDER] if plan.filters else [])])


def _terms_instead(plan: ModelPlan) -> list[str]:
    levels = dict.fromkeys((factor.variable, factor.level) for factor in plan.factors)
    found = [f"ask {level[0]} by {name}" for level in levels if (name := _coarser(plan, level))]
    for name in plan.numbered:
        finest = plan.dataset.levels(name)[0].name
        if coarser := _coarser(plan, (name, finest)):
            found.append(f"ask {name} as a factor by {coarser}")
    terms = [term for term in plan.formula.terms if term]
    if len(terms) > 1:
        found.append("leave a term or an interaction out")
    return found


def _coarser(plan: ModelPlan, level: Level) -> str:
    """The next level of a variable that the policy allows; empty where there is none."""
    names = [known.name for known in plan.dataset.levels(level[0])]
    return next(iter(names[names.index(level[1]) + 1 :]), "")


def _sentence(found: list[str]) -> str:
    text = ", or ".join(found) or "ask another outcome or another term"
    return f"{text[0].upper()}{text[1:]}."
