"""Decisions: what may be decided about a request, in the words and figures that leave."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from sdcgate.facility import answers
from sdcgate.facility.asked import Asked
from sdcgate.facility.binding import Unbound, cells_of, differing
from sdcgate.facility.charges import FREE, Account, budget_reason
from sdcgate.facility.figures import released_table
from sdcgate.facility.judging import Computation
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.outputs import SubmittedOutput
from sdcgate.facility.plan import Plan
from sdcgate.facility.query_ids import new_query_id
from sdcgate.facility.reasons import (
    REFERRED,
    REFUSED,
    alternatives,
    binding_reason,
    promised,
    ready_to_ask,
    reason,
    reviewed_reason,
)
from sdcgate.facility.redesign import Proposal
from sdcgate.ledger.spending import Spent
from sdcgate.methods.cells import IntArray, State, leaf_cells
from sdcgate.methods.rules import Consequence, ReasonCode
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

DIFFERS = "Published figures of the output are not those of its dataset."
RETURNED = "An output checker has returned this query to you."
EXCEPTION = "An output checker released this output on his own responsibility; nothing is proved of it."


def new_decision(
    asked: Asked, consequence: Consequence | None, query: str | None = None, withheld: bool = False
) -> pb.Decision:
    """A decision without reasons and table; None releases."""
    match consequence:
        case None:
            verdict = pb.VERDICT_RELEASED_PROTECTED if withheld else pb.VERDICT_RELEASED
        case Consequence.REFER:
            verdict = pb.VERDICT_REFERRED
        case _:
            verdict = pb.VERDICT_REFUSED
    now = datetime.now(UTC)
    return answers.new_decision(query or new_query_id(now), asked, verdict, now)


def seen_at(decision: pb.Decision, moment: datetime) -> None:
    """Date a decision at which it will be seen, id and all: when it was made tells how long it took."""
    decision.query = new_query_id(moment)
    decision.decided.FromDatetime(moment)


def decided(
    asked: Asked,
    plan: Plan,
    computed: Computation,
    outcome: Outcome,
    output: SubmittedOutput | None,
    reviewed: str = "",
    proposals: tuple[Proposal, ...] | None = None,
) -> tuple[pb.Decision, tuple[str, ...]]:
    """The decision that an outcome allows, and where a submitted output differs from its dataset.

    A table leaves with the facility's own figures only. `reviewed` is the query that a checker approves;
    `proposals` are what is promised in place of it, None where nothing was looked for.
    """
    shown = _shown(plan, computed, outcome.states, output)
    if output is not None and outcome.consequence is None and not reviewed:
        binding = differing(plan, computed.table.axes, computed.table.facts, shown, output)
        if binding:
            # What is compared is told by the answer, so the table counts as released all the same.
            decision = new_decision(asked, Consequence.REFER)
            decision.reasons.append(binding_reason(f"{DIFFERS} {' '.join(binding)} {REFERRED}"))
            return decision, binding
    withheld = bool(np.isin(shown, (State.WITHHELD, State.PERTURBED)).any())
    decision = new_decision(asked, outcome.consequence, reviewed or None, withheld)
    held = outcome.consequence is not None
    for code in outcome.codes if held or withheld else ():
        message = outcome.message or _message(code, outcome.consequence)
        decision.reasons.append(reason(code, plan, message))
    if not held:
        axes = computed.table.axes
        facts = computed.table.facts if outcome.noisy is None else outcome.noisy.facts
        decision.table.CopyFrom(released_table(plan.layout, axes, facts, shown))
    offered: list[pb.Alternative] = []
    if proposals is not None:
        offered = [promised(proposal.plan) for proposal in proposals]
    elif decision.reasons and outcome.noisy is None:
        offered = alternatives(plan)
    decision.alternatives.extend(ready_to_ask(offered, asked.request))
    if reviewed:
        decision.reasons.append(reviewed_reason())
    return decision, ()


def _message(code: ReasonCode, consequence: Consequence | None) -> str:
    """What is said of a table that is held; empty where the code's own message fits."""
    if consequence is Consequence.REFER and code is not ReasonCode.VERSION_DIFFERENCE:
        return REFERRED
    return REFUSED if consequence is Consequence.REFUSE and code is ReasonCode.MINIMUM_UNITS else ""


def over_budget(asked: Asked, researcher: str, account: Account, spent: Spent) -> tuple[Asked, pb.Decision]:
    """The refusal of a question that costs more than is left, and what the ledger keeps it as.

    It is the researcher's alone, and only for this question at this level of the budget.
    """
    found = budget_reason(account, spent, asked.charge.cells or 0)
    told = {"over_budget": asked.canonical_hash(), "researcher": researcher, "reason": found.message}
    canonical = json.dumps(told, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode()
    refused = replace(asked, canonical=canonical, charge=FREE)
    decision = new_decision(refused, Consequence.REFUSE)
    decision.reasons.append(found)
    return refused, decision


def not_approved(asked: Asked, request: pb.ReviewQueryRequest) -> pb.Decision:
    """A checker's refusal, or return: then the researcher is told what to change."""
    decision = new_decision(asked, Consequence.REFUSE, request.query)
    decision.reasons.append(reviewed_reason(RETURNED if request.returned else "", request.returned))
    return decision


def excepted(asked: Asked, output: SubmittedOutput, query: str) -> pb.Decision:
    """The release of an output as it was submitted, by a checker who answers for it."""
    decision = new_decision(asked, None, query)
    decision.reasons.append(reviewed_reason(EXCEPTION))
    table = released_table(output.layout(asked.policy.digits), output.axes, output.facts, output.states)
    decision.table.CopyFrom(table)
    return decision


def unbound(asked: Asked, error: Unbound) -> pb.Decision:
    """The decision about an output that cannot be bound to its dataset: an output checker looks at it."""
    decision = new_decision(asked, Consequence.REFER)
    message = f"The output cannot be bound to {asked.dataset.name}. {' '.join(error.problems)} {REFERRED}"
    decision.reasons.append(binding_reason(message))
    return decision


def _shown(plan: Plan, computed: Computation, states: IntArray, output: SubmittedOutput | None) -> IntArray:
    """States of the cells that were asked for; the others follow from them and count as released."""
    asked = leaf_cells(computed.table.axes) if not plan.margins else None
    if output is not None:
        asked = cells_of(computed.table.axes, output)
    if asked is None:
        return states
    shown = states.copy()
    shown[~asked] = State.ABSENT
    return shown
