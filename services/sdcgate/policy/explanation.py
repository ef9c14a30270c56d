"""An effective policy in words, for researchers, stewards and auditors: a sentence a setting."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sdcgate.methods.rules import Consequence, NegativeValues, Rules
from sdcgate.policy import models, statistics
from sdcgate.policy.budgets import HOLDERS, Budget, Holder

if TYPE_CHECKING:
    from sdcgate.policy.effective import EffectivePolicy, Redesign

_WORDS = {
    Consequence.PROTECT: "withheld",
    Consequence.REFER: "referred to an output checker",
    Consequence.REFUSE: "refused",
    Consequence.UNSPECIFIED: "refused",
}
NOT_JUDGED = "Not judged."
_HEADINGS = {
    "Rules": ("rules",),
    "What may be asked": ("dimensions", "allowed", "forbidden"),
    "Models": ("models",),
    "Statistics": ("statistics",),
    "How answers leave": ("protection", "output", "differencing", "redesign", "review", "budgets"),
}


def explain(policy: "EffectivePolicy") -> str:
    """The policy in words under three headings, a line a setting."""
    lines = [f"Policy {policy.name}, access level {policy.access_level}", policy.hash]
    said = sentences(policy)
    for heading, sections in _HEADINGS.items():
        lines += ["", heading]
        lines += [
            f"  {sentence}" if sentence != NOT_JUDGED else f"  {name.partition('.')[2]}: not judged."
            for name, sentence in said.items()
            if name.partition(".")[0] in sections
        ]
    return "\n".join(lines)


def sentences(policy: "EffectivePolicy") -> dict[str, str]:
    """A sentence for each setting, by its name in a policy file: `rules.minimum_units`."""
    rules = {f"rules.{name}": NOT_JUDGED for name in policy.rules.__dataclass_fields__}
    rules |= {f"rules.{name}": sentence for name, sentence in _rules(policy.rules)}
    if policy.cell_keys is not None:
        rules = {
            name: said.replace("is withheld", "stays hidden by its noise") for name, said in rules.items()
        }
    return {
        **rules,
        **_limits(policy),
        **_protection(policy),
        **models.sentences(policy.models),
        **statistics.sentences(policy.statistics),
    }


def _rules(rules: Rules) -> Iterator[tuple[str, str]]:
    if (units := rules.minimum_units) is not None:
        yield (
            "minimum_units",
            f"A cell of fewer than {units.units} units is {_WORDS[units.consequence]}, unless it is empty.",
        )
    if (households := rules.minimum_households) is not None:
        yield (
            "minimum_households",
            f"A cell of fewer than {_number(households.households)} households is "
            f"{_WORDS[households.consequence]}.",
        )
    if (base := rules.minimum_base) is not None:
        yield "minimum_base", f"A table on fewer than {base.units} units is {_WORDS[base.consequence]}."
    if rules.dominance:
        yield "dominance", " ".join(_dominance(rules))
    yield from _estimates(rules)
    if (group := rules.group_disclosure) is not None:
        yield (
            "group_disclosure",
            f"A category that holds {_percent(group.share)} or more of its group is "
            f"{_WORDS[group.consequence]}.",
        )
    if (equal := rules.equal_values) is not None:
        yield (
            "equal_values",
            f"A figure over values within {_percent(equal.tolerance)} of each other is "
            f"{_WORDS[equal.consequence]}.",
        )
    if (risk := rules.individual_risk) is not None:
        over = "all cells" if risk.all_cells else "sample uniques"
        least = f"{risk.tolerated_uniques} sample uniques and " if risk.tolerated_uniques else ""
        yield (
            "individual_risk",
            f"A table with {least}more expected correct matches over {over} than "
            f"{_percent(risk.maximum_share)} of its units is {_WORDS[risk.consequence]}.",
        )


def _estimates(rules: Rules) -> Iterator[tuple[str, str]]:
    """The other rules on contributions, and what contributions are."""
    if (p_percent := rules.p_percent) is not None:
        yield (
            "p_percent",
            f"A cell in which {_coalition(p_percent.coalition)} could estimate the largest to within "
            f"{_percent(p_percent.share)} is {_WORDS[p_percent.consequence]}.",
        )
    if (prior := rules.prior_posterior) is not None:
        yield (
            "prior_posterior",
            f"A cell in which {_coalition(prior.coalition)} could estimate the largest to within "
            f"{_percent(prior.p)}, where everybody knows all to within {_percent(prior.q)} beforehand, is "
            f"{_WORDS[prior.consequence]}.",
        )
    if rules.linear_sensitivity:
        yield (
            "linear_sensitivity",
            " ".join(
                f"A cell whose largest units, weighted {', '.join(map(_number, rule.weights))}, come to more "
                f"than {_number(-rule.rest)} of all others is {_WORDS[rule.consequence]}."
                for rule in rules.linear_sensitivity
            ),
        )
    shifted = rules.contributions.negative is NegativeValues.SHIFTED
    above = "measured by how far they lie above a measure's lower bound" if shifted else "absolute"
    weighted = (
        ", and times their weights to weighted sums: alone where only these are asked"
        if rules.contributions.weighted
        else ""
    )
    yield "contributions", f"Contributions to sums are {above}{weighted}."


def _coalition(members: int) -> str:
    return "the second largest unit" if members == 1 else f"the {members} largest others together"


def _dominance(rules: Rules) -> Iterator[str]:
    for rule in rules.dominance:
        who = "largest unit holds" if rule.largest == 1 else f"{rule.largest} largest units hold"
        yield (
            f"A cell whose {who} more than {_percent(rule.share)} of a total is {_WORDS[rule.consequence]}."
        )


def _limits(policy: "EffectivePolicy") -> dict[str, str]:
    counts = "counts" if policy.filters_count else "does not count"
    only_levels = [
        f"{variable} only at the levels {_names(levels)}."
        for variable, levels in sorted(policy.allowed_levels.items())
    ]
    apart = [f"Not together: {_names(combination)}." for combination in policy.forbidden_combinations]
    variables, statistics = policy.allowed_variables, policy.allowed_statistics
    return {
        "dimensions.maximum": f"At most {policy.maximum_dimensions} dimensions.",
        "dimensions.maximum_filters": f"At most {policy.maximum_filters} filter variables.",
        "dimensions.filters_count": f"A filter variable that is no dimension {counts} as one.",
        "dimensions.consequence": "A table of more dimensions or filters is "
        f"{_WORDS[policy.dimensions_consequence]}.",
        "allowed.variables": "All variables of the dataset."
        if variables is None
        else f"Only the variables {_names(variables)}.",
        "allowed.levels": " ".join(only_levels) or "All levels of a variable.",
        "allowed.statistics": "All statistics."
        if statistics is None
        else f"Only the statistics {_names(statistics)}.",
        "forbidden.variables": f"Not the variables {_names(policy.forbidden_variables)}."
        if policy.forbidden_variables
        else "No variable is forbidden.",
        "forbidden.combinations": " ".join(apart) or "No combination of variables is forbidden.",
    }


_COSTS = {
    "records": "Beside unsafe cells as few records are withheld as can be.",
    "unit": "Beside unsafe cells as few cells are withheld as can be.",
    "distance": "Beside unsafe cells those are withheld that are nearest to them.",
}


def _protection(policy: "EffectivePolicy") -> dict[str, str]:
    withheld = "Unsafe cells are withheld, with others that would reveal them."
    noise = policy.cell_keys
    return {
        "protection.method": "All cells are changed by cell keys; none is withheld." if noise else withheld,
        "protection.cell_keys": noise.words() if noise else "Figures are exact.",
        "protection.count_width": "What is withheld cannot be bounded more tightly than "
        f"{policy.count_width} for counts.",
        "protection.sum_width": "What is withheld cannot be bounded more tightly than "
        f"{_percent(policy.sum_width)} of the value for sums.",
        "protection.levels": "A withheld sum must possibly be as far above and below its value as the rules "
        "that it breaks ask."
        if policy.levels_of_rules
        else "Where the bounds of a withheld sum lie about its value does not matter.",
        "protection.zeros_withheld": "Empty cells may be withheld, too."
        if policy.zeros_withheld
        else "Empty cells are not withheld.",
        "protection.presence": "Empty cells that would tell where few units are are withheld with them."
        if policy.presence_hidden
        else "Empty cells may tell where few units are.",
        "protection.attrition": "Unit counts do not tell how few units are in one year and not in another."
        if policy.attrition_hidden
        else "Unit counts may tell how few units are in one year and not in another.",
        "protection.joint_codes": "What all tables together tell of withheld counts is looked at over "
        f"{policy.joint_codes} joint codes, or a table's own.",
        "protection.costs": _COSTS[policy.protection_costs],
        "protection.time_limit_ms": "Finding and proving what to withhold may take "
        f"{policy.protection_time_limit_ms} ms a round.",
        "protection.effort_ms": "Once it is proved, withholding less is tried for an effort of "
        f"{policy.protection_effort_ms} ms."
        if policy.protection_effort_ms
        else "Once it is proved, withholding less is tried for a moment only.",
        "protection.unproved": f"What cannot be proved safe is {_WORDS[policy.unproved_consequence]}.",
        "output.digits": f"Decimal places of sums, means and percentages: {policy.digits}.",
        "output.maximum_cells": f"At most {policy.maximum_cells} cells, margins included.",
        "output.latency_step_ms": "Answers that were computed leave at whole multiples of "
        f"{policy.latency_step_ms} ms after they were asked."
        if policy.latency_step_ms
        else "Answers leave as soon as they are ready; their time may tell how much had to be withheld.",
        "differencing.consequence": "What would disclose together with earlier answers is "
        f"{_WORDS[policy.differencing_consequence]}.",
        "differencing.filters": "Cells that a filter asks to be subtracted from earlier ones are withheld."
        if policy.subtracted_withheld
        else "A table of which a filter asks a cell to be subtracted from an earlier one is held.",
        **_redesign(policy.redesign),
        "review.pairs_of_eyes": "A referred query leaves when an output checker approves it."
        if policy.pairs_of_eyes == 1
        else "A referred query leaves when two output checkers approve it.",
        **{f"budgets.{holder}": _budgets(holder, policy.budgets.of(holder)) for holder in HOLDERS},
    }


_WHO: dict[Holder, tuple[str, str]] = {
    "researcher": ("A researcher", "Each researcher may ask as much as he likes."),
    "project": ("A project", "For each project as much may be asked as one likes."),
    "dataset": ("Everybody together", "All together may ask as much as they like."),
}


def _budgets(holder: Holder, budgets: tuple[Budget, ...]) -> str:
    return " ".join(budget_sentence(holder, budget) for budget in budgets) or _WHO[holder][1]


def budget_sentence(holder: Holder, budget: Budget) -> str:
    """What a budget allows: `A researcher may ask at most 20 queries and 500 cells a month.`"""
    parts = [
        f"{number} {what}"
        for number, what in ((budget.queries, "queries"), (budget.cells, "cells"))
        if number is not None
    ]
    article = "an" if budget.period == "hour" else "a"
    return f"{_WHO[holder][0]} may ask at most {' and '.join(parts)} {article} {budget.period}."


def _redesign(redesign: "Redesign") -> dict[str, str]:
    share = redesign.withheld_share
    return {
        "redesign.proposals": "In place of a table or model that does not leave up to "
        f"{redesign.proposals} coarser ones are proposed, which will."
        if redesign.proposals
        else "What could be asked in place of a table or model is told, not judged.",
        "redesign.judged": f"To find them at most {redesign.judged} are judged.",
        "redesign.time_limit_ms": f"Finding tables may take {redesign.time_limit_ms} ms.",
        "redesign.models_time_limit_ms": f"Finding models may take {redesign.models_time_limit_ms} ms.",
        "redesign.withheld_share": "They are not proposed beside what leaves."
        if share is None
        else f"They are proposed beside what leaves, too, if {_percent(share)} or more of its cells or "
        "coefficients are withheld.",
    }


def _percent(share: float) -> str:
    return f"{_number(share * 100)}%"


def _number(value: float) -> str:
    return f"{value:.10g}"


def _names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"
