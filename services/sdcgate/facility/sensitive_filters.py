"""Group disclosure by a filter: a condition on a sensitive variable is a category of it, asked for alone."""

import numpy as np

from sdcgate.engine.queries import Condition
from sdcgate.facility.plan import Plan
from sdcgate.methods.cells import MISSING, Facts, IntArray
from sdcgate.methods.rules import Finding, ReasonCode

CLOSE = 1e-9
"""By how much a share may miss its bound and still count as reaching it."""


def sensitive_conditions(plan: Plan) -> tuple[Condition, ...]:
    """Conditions on sensitive variables that are no dimensions; that a value is known tells nothing of it."""
    shown = {variable for variable, _ in plan.dimensions}
    return tuple(
        condition
        for condition in plan.filters
        if condition.variable not in shown
        and plan.dataset.sensitive(condition.variable)
        and not _any_value(plan, condition)
    )


def _any_value(plan: Plan, condition: Condition) -> bool:
    level = plan.dataset.level(condition.variable, condition.level)
    return set(level.codes) - {MISSING} <= set(condition.codes)


def group_disclosing_filters(plan: Plan, facts: Facts, unfiltered: IntArray | None) -> list[Finding]:
    """Cells of which a condition on a sensitive variable tells what (nearly) all of the group have in common.

    The condition and its contrary are the two categories of a line whose total is the group without it.
    """
    rule = plan.policy.rules.group_disclosure
    if rule is None or unfiltered is None:
        return []
    harm_inside = harm_outside = False
    for condition in sensitive_conditions(plan):
        level = plan.dataset.level(condition.variable, condition.level)
        harmless = {MISSING, *plan.dataset.harmless(condition.variable, condition.level)}
        harm_inside |= any(code not in harmless for code in condition.codes)
        harm_outside |= any(code not in harmless and code not in condition.codes for code in level.codes)
    least = rule.share * unfiltered * (1 - CLOSE)
    inside = (facts.units >= least) & harm_inside
    outside = (unfiltered - facts.units >= least) & harm_outside
    cells = np.flatnonzero((unfiltered > 0) & (inside | outside))
    if not len(cells):
        return []
    return [
        Finding(ReasonCode.GROUP_DISCLOSURE, rule.consequence, tuple(cells.tolist()), "", 0.0, rule.share)
    ]
