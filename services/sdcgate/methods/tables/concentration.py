"""The rules on contributions of a policy on one measure: dominance, p%, (p,q), linear measures.

What a contribution is the policy says (`Contributions`): the absolute value, how far values lie above the
measure's lower bound, or weight times value. A negative value never switches a rule off. In a weighted total
w_i y_i is the contribution of the one respondent i, however many its weight stands for: whoever knows the
weights can subtract it; where they are 1 it is the value itself, the worst case (Skinner 2.2.2).
"""

from collections.abc import Iterator

import numpy as np

from sdcgate.methods.cells import BoolArray, Contributors, FloatArray, MeasureFacts
from sdcgate.methods.rules import (
    Contributions,
    Dominance,
    LinearSensitivity,
    NegativeValues,
    PPercent,
    PriorPosterior,
    ReasonCode,
    Rules,
)
from sdcgate.methods.tables.judged import Judged, Unjudged, found
from sdcgate.methods.tables.linear_sensitivity import LinearMeasure, linear_sensitivity, linearly_sensitive
from sdcgate.methods.tables.protection_levels import (
    both_sides,
    dominance_excess,
    linear_excess,
    prior_posterior_excess,
)
from sdcgate.methods.tables.sampling_uncertainty import chance_of_closeness
from sdcgate.methods.tables.sensitivity import against_coalition, dominated, estimable

Rule = Dominance | PPercent | PriorPosterior | LinearSensitivity

_CODES = {
    Dominance: ReasonCode.DOMINANCE,
    PPercent: ReasonCode.P_PERCENT,
    PriorPosterior: ReasonCode.PRIOR_POSTERIOR,
    LinearSensitivity: ReasonCode.LINEAR_SENSITIVITY,
}
_UNKNOWN = Contributors(np.zeros((0, 0)), np.zeros(0))


def rules_on_contributions(rules: Rules) -> tuple[Rule, ...]:
    """The rules of a policy that are about contributions."""
    of_coalitions = tuple(rule for rule in (rules.p_percent, rules.prior_posterior) if rule is not None)
    return (*rules.dominance, *of_coalitions, *rules.linear_sensitivity)


def concentration(measure: MeasureFacts, rules: Rules) -> Iterator[Judged]:
    """Judges one measure of all cells; a rule whose facts are absent is unjudged."""
    contributors, absent = contributors_of(measure, rules.contributions)
    for rule in rules_on_contributions(rules):
        code = _CODES[type(rule)]
        if absent or contributors.largest.shape[1] < ranks_of(rule):
            yield Unjudged(code, f"{absent or 'largest'} of {measure.name}")
            continue
        unsafe = sensitive(rule, contributors)
        if rules.contributions.sampling_probability and isinstance(rule, PPercent | PriorPosterior):
            unsafe &= _likely(rule, contributors, rules.contributions.sampling_probability)
        if unsafe.any():
            levels = both_sides(excess(rule, contributors), measure, rules.contributions.weighted)
            yield from found(code, rule.consequence, unsafe, measure.name, bound_of(rule), levels)


def contributors_of(measure: MeasureFacts, how: Contributions) -> tuple[Contributors, str]:
    """The contributions that the policy means, and the name of the fact that is absent, if one is."""
    chosen, prefix = Contributors(measure.largest, measure.absolute_sums, measure.unwaived_largest), ""
    if how.weighted:
        chosen, prefix = measure.weighted or _UNKNOWN, "weighted."
    elif how.negative is NegativeValues.SHIFTED:
        if measure.lower_bound is None:
            return chosen, "lower_bound"
        if measure.lower_bound < 0:
            chosen, prefix = measure.shifted or _UNKNOWN, "shifted."
    if not chosen.totals.size:
        return chosen, f"{prefix}totals" if prefix else "absolute_sums"
    return chosen, "" if chosen.largest.size else f"{prefix}largest"


def with_ranks(largest: FloatArray, ranks: int) -> FloatArray:
    """At least so many ranks, where those that are not known are at most the last that is; (cells, ranks)."""
    if not largest.shape[1] or largest.shape[1] >= ranks:
        return largest
    return np.pad(largest, ((0, 0), (0, ranks - largest.shape[1])), mode="edge")


def ranks_of(rule: Rule) -> int:
    """How many of the largest contributors a rule looks at."""
    match rule:
        case Dominance():
            return rule.largest
        case LinearSensitivity():
            return len(rule.weights)
        case _:
            return rule.coalition + 1


def bound_of(rule: Rule) -> float:
    """What a finding names as the bound: the share k or p; of a linear measure 0, which S must not exceed."""
    match rule:
        case Dominance() | PPercent():
            return rule.share
        case PriorPosterior():
            return rule.p
        case _:
            return 0.0


def sensitive(rule: Rule, contributors: Contributors) -> BoolArray:
    """Cells that break a rule, shape (cells,). Raises ValueError where the ranks are too few.

    Waivers count for dominance, p% and (p,q): who gave one makes no cell sensitive, but is as good a partner
    of a coalition as others. A linear measure knows none, which marks more cells and never less.
    """
    largest, totals, unwaived = contributors.largest, contributors.totals, contributors.unwaived
    match rule:
        case Dominance():
            return dominated(largest if unwaived is None else unwaived, totals, rule.largest, rule.share)
        case PPercent():
            return estimable(largest, totals, rule.share, coalition=rule.coalition, unwaived=unwaived)
        case PriorPosterior():
            return estimable(
                largest, totals, rule.p, prior=rule.q, coalition=rule.coalition, unwaived=unwaived
            )
        case LinearSensitivity():
            return linearly_sensitive(LinearMeasure(rule.weights, rule.rest), largest, totals)


def _likely(rule: PPercent | PriorPosterior, contributors: Contributors, most: float) -> BoolArray:
    """Cells of which sampling leaves it more likely than `most` that the estimate is close, shape (cells,).

    Without variances nothing is counted on: every cell may be estimated.
    """
    largest, totals, variances = contributors.largest, contributors.totals, contributors.variances
    if variances is None:
        return np.ones(len(totals), dtype=np.bool_)
    p, q = (rule.share, 1.0) if isinstance(rule, PPercent) else (rule.p, rule.q)
    target, remainder = against_coalition(largest, totals, rule.coalition, contributors.unwaived)
    likely: BoolArray = ~(chance_of_closeness(p * target, q * remainder, variances) <= most)
    return likely


def excess(rule: Rule, contributors: Contributors) -> FloatArray:
    """By how much each total is too small to be safe, below 0 where it is not; shape (cells,)."""
    largest, totals, unwaived = contributors.largest, contributors.totals, contributors.unwaived
    match rule:
        case Dominance():
            held = (largest if unwaived is None else unwaived)[:, : rule.largest].sum(axis=1)
            return dominance_excess(held, totals, rule.share)
        case PPercent() | PriorPosterior():
            p, q = (rule.share, 1.0) if isinstance(rule, PPercent) else (rule.p, rule.q)
            target, remainder = against_coalition(largest, totals, rule.coalition, unwaived)
            return prior_posterior_excess(target, remainder, p, q)
        case LinearSensitivity():
            measure = LinearMeasure(rule.weights, rule.rest)
            return linear_excess(linear_sensitivity(measure, largest, totals), rule.rest)
