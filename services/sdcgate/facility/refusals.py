"""Refusals that need no data: dimensions, variables, levels, combinations, statistics, size."""

from collections.abc import Collection
from dataclasses import dataclass

from sdcgate.facility.noise_limits import without_noise
from sdcgate.facility.plan import Plan
from sdcgate.facility.reasons import alternatives, fewer_dimensions, reason
from sdcgate.methods.rules import Consequence, ReasonCode
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, table_pb2

MOST_CODES_SHOWN = 20_000
"""Codes of one dimension, of which a filter may leave some of a longer list. Each code is a set of codes, as
many bits as the list is long: of 100,000 they take gigabytes, and proofs as long as a call may."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a plan cannot be answered, before any microdata are touched."""

    consequence: Consequence
    reasons: tuple[pb.Reason, ...]
    alternatives: tuple[pb.Alternative, ...]


def refuse_without_data(plan: Plan, submitted: bool = False) -> Refusal | None:
    """Judge a plan by its policy alone; None where nothing speaks against it.

    `submitted`: the figures come from elsewhere, as they are.
    """
    reasons = [*_dimensions(plan), *names_refused(plan), *_size(plan), *_noise(plan, submitted)]
    if not reasons:
        return None
    policy = plan.policy
    only_dimensions = all(int(found.code) == ReasonCode.MAXIMUM_DIMENSIONS for found in reasons)
    refer = only_dimensions and policy.dimensions_consequence is Consequence.REFER
    offered = (
        fewer_dimensions(plan, policy.maximum_dimensions)
        if len(plan.dimensions) > policy.maximum_dimensions
        else alternatives(plan)
    )
    return Refusal(Consequence.REFER if refer else Consequence.REFUSE, tuple(reasons), tuple(offered))


def kind_refused(what: str, kind: str, allowed: Collection[str]) -> Refusal | None:
    """That models or statistics of a kind may not be asked; None where they may."""
    if kind in allowed:
        return None
    found = pb.Reason(
        code=policy_pb2.REASON_CODE_NOT_ALLOWED,
        message=f"{kind} may not be asked at this access level.",
        suggestion=f"{what} that may be asked: {', '.join(sorted(allowed))}." if allowed else "Ask tables.",
    )
    return Refusal(Consequence.REFUSE, (found,), ())


def _dimensions(plan: Plan) -> list[pb.Reason]:
    policy = plan.policy
    variables = {variable for variable, _ in plan.dimensions}
    filtering = {condition.variable for condition in plan.filters} - variables
    found = []
    counted = len(variables) + (len(filtering) if policy.filters_count else 0)
    if counted > policy.maximum_dimensions:
        what = "dimensions and filters" if policy.filters_count else "dimensions"
        message = f"A table may have {policy.maximum_dimensions} {what}; this one has {counted}."
        found.append(reason(ReasonCode.MAXIMUM_DIMENSIONS, plan, message))
    if len(plan.filters) > policy.maximum_filters:
        message = (
            f"A table may be filtered by {policy.maximum_filters} variables; this one by {len(plan.filters)}."
        )
        found.append(reason(ReasonCode.MAXIMUM_DIMENSIONS, plan, message))
    return found


def names_refused(plan: Plan) -> list[pb.Reason]:
    """What speaks against the variables, levels, combinations and statistics of a plan."""
    policy = plan.policy
    asked = [*plan.dimensions, *((c.variable, c.level) for c in plan.filters)]
    variables = {variable for variable, _ in asked}
    found = []
    for variable in sorted(variables):
        if variable in policy.forbidden_variables or (
            policy.allowed_variables is not None and variable not in policy.allowed_variables
        ):
            found.append(f"{variable} may not be used in tables at this access level.")
    for variable, level in asked:
        levels = policy.allowed_levels.get(variable)
        if levels is not None and level not in levels:
            found.append(f"{variable} may be asked by {', '.join(sorted(levels))}, not by {level}.")
    for together in policy.forbidden_combinations:
        if together <= variables:
            found.append(f"{', '.join(sorted(together))} may not be combined.")
    if policy.allowed_statistics is not None:
        for figure in plan.figures:
            name = table_pb2.Statistic.Name(figure.statistic).removeprefix("STATISTIC_")
            if name not in policy.allowed_statistics:
                found.append(f"{name} may not be shown at this access level.")
    return [reason(ReasonCode.NOT_ALLOWED, plan, message) for message in found]


def _noise(plan: Plan, submitted: bool) -> list[pb.Reason]:
    return [reason(ReasonCode.NOT_ALLOWED, plan, message) for message in without_noise(plan, submitted)]


def too_large(plan: Plan) -> str:
    """What is said of a plan of too many cells, or codes of one variable; empty where it has not."""
    for variable, level in plan.dimensions:
        codes = len(plan.dataset.level(variable, level).codes)
        if codes > MOST_CODES_SHOWN and (codes := plan.codes_shown(variable, level)) > MOST_CODES_SHOWN:
            return (
                f"The table would have {codes} codes of {variable}; at most {MOST_CODES_SHOWN} of one "
                f"variable are computed."
            )
    cells, most = plan.number_of_cells(), plan.policy.maximum_cells
    return f"The table would have {cells} cells; at most {most} are computed." if cells > most else ""


def _size(plan: Plan) -> list[pb.Reason]:
    message = too_large(plan)
    return [reason(ReasonCode.MAXIMUM_CELLS, plan, message)] if message else []
