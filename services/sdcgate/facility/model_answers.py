"""Decisions about models, in the words and figures that leave."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from sdcgate.facility.asked import Asked
from sdcgate.facility.decisions import new_decision
from sdcgate.facility.model_fitting import Fitted
from sdcgate.facility.model_options import UNIT, WITH_GROUPS
from sdcgate.facility.model_plan import ModelPlan
from sdcgate.facility.model_redesign import ModelProposal
from sdcgate.facility.model_suggestions import model_suggestion
from sdcgate.facility.models import ModelOutcome
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.reasons import MESSAGES, reviewed_reason
from sdcgate.facility.recording import Found
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.outputs.design import Indicator
from sdcgate.methods.outputs.fits import Family
from sdcgate.methods.outputs.problems import ModelProblem
from sdcgate.methods.rules import Consequence, Finding, ReasonCode
from sdcgate.wire.models import model_to_message
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, policy_pb2, table_pb2

REFERRED = "An output checker will look at this model."
REFUSED = "The model does not pass the rules of this dataset."
OF_MODELS = {
    # In one sentence: that a cell is withheld for others alone would tell which of those is the small one.
    ReasonCode.MINIMUM_UNITS: (
        "Categories or values of the model's terms rest on too few units, or would reveal some that do, "
        "together with other answers."
    ),
    ReasonCode.MINIMUM_BASE: "The population of the model is too small.",
    ReasonCode.DIFFERENCING: (
        "Together with what was released before, this model would reveal figures that must not be known."
    ),
    ReasonCode.UNPROVED: "It could not be proved that the tables beneath the model are safe.",
    ReasonCode.RESIDUAL_DEGREES: "The model has too few residual degrees of freedom.",
    ReasonCode.SATURATED: (
        "The model has too many parameters for its units, or as many as its columns tell kinds of people "
        "apart: it is a table of its outcome."
    ),
    ReasonCode.PERFECT_FIT: "The model fits (nearly) perfectly: its coefficients would tell the outcomes.",
    ReasonCode.OUTCOME_CLASS: "A class (or value) of the outcome has too few units, or is told by the terms.",
    ReasonCode.LEVERAGE: "Single units have too much weight in the fit.",
    ReasonCode.INFLUENCE: "A coefficient rests on too few units.",
    ReasonCode.NOT_ESTIMABLE: "The model cannot be estimated on this population.",
}
WITHHELD = "Coefficients of categories that rest on too few units are withheld, with others that reveal them."
LEFT_OUT = (
    "{share:.0%} of the units were left out at random: with all of them the model would reveal figures that "
    "must not be known, together with what was released before."
)
TOGETHER = (
    "Together with the models of this outcome that have left, this one would tell more about the values of "
    "its population than that has units for."
)
TERMS_ASKED_BEFORE = "Ask a model of terms that have been asked of this outcome, or widen the filter."


def decided_model(asked: Asked, plan: ModelPlan, outcome: ModelOutcome, reviewed: str = "") -> pb.Decision:
    """The decision that an outcome allows; `reviewed` is the query that a checker approves."""
    fitted, withheld = outcome.fitted, outcome.withheld
    if outcome.consequence is not None or fitted is None or withheld is None:
        consequence = outcome.consequence or Consequence.REFUSE
        decision = new_decision(asked, consequence, reviewed or None)
        for code in outcome.codes:
            told = TOGETHER if outcome.together else OF_MODELS.get(code, REFUSED)
            message = REFERRED if consequence is Consequence.REFER else told
            why = (f"{problem.path}: {problem.message}." for problem in outcome.not_estimable)
            reason = model_reason(code, " ".join((message, *why)), plan, problems=outcome.not_estimable)
            if outcome.together:
                reason.suggestion = TERMS_ASKED_BEFORE
            decision.reasons.append(reason)
    else:
        limits = plan.policy.models
        protected = bool(withheld.any() or outcome.not_estimated)
        decision = new_decision(asked, None, reviewed or None, protected or outcome.left_out)
        if outcome.left_out:
            message = LEFT_OUT.format(share=limits.left_out_share)
            decision.reasons.append(model_reason(ReasonCode.DIFFERENCING, message, plan, instead=False))
        if protected:
            decision.reasons.append(model_reason(ReasonCode.MINIMUM_UNITS, WITHHELD, plan, instead=False))
        decision.model.CopyFrom(
            told_model(plan, fitted, withheld, limits.significant_digits, limits.counts_base)
        )
        if protected:
            # What a fit leaves unexplained tells the coefficients that are withheld.
            decision.model.ClearField("fit")
        for name in outcome.not_estimated:
            decision.model.coefficients.add(name=name, status=table_pb2.CELL_STATUS_WITHHELD)
        if _hides_interaction(decision.model, fitted):
            _without_errors(decision.model)
        # Its place must not tell whether a withheld coefficient could be estimated.
        _in_order(decision.model, fitted)
    if reviewed:
        decision.reasons.append(reviewed_reason())
    return decision


def found_model(
    plan: ModelPlan, outcome: ModelOutcome, sequence: int, proposals: Sequence[ModelProposal] = ()
) -> Found:
    """What the ledger keeps of it: the tables that its answer, or a promise, says something of are known."""
    nothing = np.zeros(0, dtype=np.int64)
    of_tables = tuple(finding for table in outcome.outcomes for finding in table.findings)
    of_model = tuple(
        Finding(found.rule, found.consequence, (), "", found.figure, found.bound)
        for found in outcome.findings
    )
    judged = Outcome(outcome.consequence, outcome.codes, nothing, (*of_tables, *of_model))
    promised = (table for proposal in proposals for table in proposal.released)
    return Found(
        outcome=judged,
        sequence=sequence,
        inexact=outcome.left_out,
        implied=(*outcome.known_tables, *promised),
        fitted=told_model(plan, outcome.fitted) if outcome.fitted is not None else None,
        limit=outcome.outcomes[-1].limit if outcome.outcomes else None,
        equations=(*outcome.equations, *(one for proposal in proposals for one in proposal.equations)),
        fits=outcome.held_fit,
        drawn=outcome.drawn,
    )


def told_model(
    plan: ModelPlan, fitted: Fitted, withheld: BoolArray | None = None, digits: int = 17, counts_base: int = 1
) -> model_pb2.Model:
    """The message of a fitted model; to checkers without anything withheld or rounded."""
    kind = cast("model_pb2.ModelKind", int(plan.options.family))
    message = model_to_message(fitted.estimate, kind, plan.formula.canonical(), withheld, digits, counts_base)
    message.weighted = plan.weighted
    message.standard_errors = cast("model_pb2.StandardErrors", int(plan.options.covariance))
    if plan.options.family is Family.QUANTILE:
        message.quantile = plan.options.quantile
    if plan.options.family in WITH_GROUPS:
        message.groups = ":".join(plan.groups) if plan.groups else UNIT
    if plan.instruments is not None:
        message.instruments = plan.instruments.canonical()
    return message


def _hides_interaction(model: model_pb2.Model, fitted: Fitted) -> bool:
    """Whether a withheld coefficient is one of several factors together."""
    hidden = {one.name for one in model.coefficients if one.status == table_pb2.CELL_STATUS_WITHHELD}
    return any(
        column.name in hidden and sum(isinstance(part, Indicator) for part in column.parts) > 1
        for column in fitted.design.columns
    )


def _without_errors(model: model_pb2.Model) -> None:
    """Leave estimates alone: errors tell what is left unexplained, and so the means of withheld cells.

    The withheld categories of one factor are fitted as one, which hides them. Cells of several that their
    table withholds are not fitted at all, but those that only the rule on categories withholds are.
    """
    for one in model.coefficients:
        for field in ("standard_error", "statistic", "p_value", "lower", "upper"):
            one.ClearField(field)


def _in_order(model: model_pb2.Model, fitted: Fitted) -> None:
    """Sort the coefficients of each outcome by the columns of the design."""
    place = {name: number for number, name in enumerate(fitted.design.names)}
    outcomes = {outcome: number for number, outcome in enumerate(dict.fromkeys(fitted.estimate.equations))}
    last = len(place)
    ordered = sorted(
        model.coefficients, key=lambda one: (outcomes.get(one.outcome, 0), place.get(one.name, last))
    )
    del model.coefficients[:]
    model.coefficients.extend(ordered)


def model_reason(
    code: ReasonCode,
    message: str,
    plan: ModelPlan,
    instead: bool = True,
    problems: Sequence[ModelProblem] = (),
) -> pb.Reason:
    """A reason with what to ask instead, where that is of any use."""
    return pb.Reason(
        code=policy_pb2.ReasonCode.Name(code.value),
        message=message or MESSAGES.get(code, REFUSED),
        suggestion=model_suggestion(code, plan, problems) if instead else "",
    )
