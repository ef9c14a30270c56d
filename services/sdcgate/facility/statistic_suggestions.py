"""What to ask in place of a statistic that may not leave: what there is to coarsen, drop or leave out."""

from sdcgate.facility.reasons import OF_TABLES, either, next_level
from sdcgate.facility.statistic_plan import Level, StatisticPlan
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.rules import ReasonCode

OUTERMOST = "Ask PERCENTILES: the outermost ones stand for minimum and maximum."
NOTHING_COARSER = "ask other {}: of these nothing coarser can be asked"
NO_OTHER = frozenset({ReasonCode.UNPROVED, ReasonCode.REVIEW, ReasonCode.PERTURBED})
"""Of these nothing can be suggested."""


def suggested(code: ReasonCode, plan: StatisticPlan) -> str:
    """What could be asked, from public levels and the request alone; what is counted is never dropped."""
    if code in NO_OTHER:
        return ""
    if code is ReasonCode.VERSION_DIFFERENCE:
        return OF_TABLES
    if code is ReasonCode.EXTREME_VALUE:
        return OUTERMOST
    ways = [*_other_groups(plan), *_other_population(plan)]
    if plan.errors and code is ReasonCode.IMPLIED_TABLE:
        ways.insert(0, "ask it without errors")
    if code is ReasonCode.MODAL_SHARE and (finer := _finer(plan)):
        ways.insert(0, finer)
    else:
        ways += _coarser(plan, plan.factors if plan.mode_of is None else (plan.mode_of,))
    if code is ReasonCode.DIFFERENCING and plan.groups:
        ways.append("ask the groups that were released before")
    return either(ways, NOTHING_COARSER.format("variables" if plan.counted else "measures"))


def _other_groups(plan: StatisticPlan) -> list[str]:
    if coarser := _coarser(plan, plan.groups):
        return coarser
    return [f"leave out the groups of {plan.groups[-1][0]}"] if plan.groups else []


def _other_population(plan: StatisticPlan) -> list[str]:
    return ["leave out a condition of the filter or choose more codes of it"] if plan.filters else []


def _coarser(plan: StatisticPlan, asked: tuple[Level, ...]) -> list[str]:
    found = [
        f"{variable} by {coarser}"
        for variable, level in asked
        if (coarser := next_level(plan.dataset, plan.policy, variable, level))
    ]
    return [f"ask {' or '.join(found)}"] if found else []


def _finer(plan: StatisticPlan) -> str:
    """A mode by the level below, where the variable has one."""
    if plan.statistic is not Statistic.MODE or plan.mode_of is None:
        return ""
    variable, level = plan.mode_of
    levels = [known.name for known in plan.dataset.levels(variable)]
    place = levels.index(level)
    return f"ask {variable} by {levels[place - 1]}" if place else ""
