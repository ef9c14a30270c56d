"""An effective policy in words, for researchers, stewards and auditors."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sdcgate.methods.rules import Consequence, Rules

if TYPE_CHECKING:
    from sdcgate.policy.effective import EffectivePolicy

_WORDS = {
    Consequence.PROTECT: "withheld",
    Consequence.REFER: "referred to an output checker",
    Consequence.REFUSE: "refused",
    Consequence.UNSPECIFIED: "refused",
}


def explain(policy: "EffectivePolicy") -> str:
    """The policy in words, a line a rule."""
    lines = [f"Policy {policy.name}, access level {policy.access_level}", policy.hash, "", "Rules"]
    lines += [f"  {line}" for line in _rules(policy.rules)]
    lines += ["", "What may be asked"]
    lines += [f"  {line}" for line in _limits(policy)]
    lines += ["", "How answers leave"]
    lines += [f"  {line}" for line in _protection(policy)]
    return "\n".join(lines)


def _rules(rules: Rules) -> Iterator[str]:
    if (units := rules.minimum_units) is not None:
        yield f"A cell of fewer than {units.units} units is {_WORDS[units.consequence]}, unless it is empty."
    if (households := rules.minimum_households) is not None:
        yield (
            f"A cell of fewer than {_number(households.households)} households is "
            f"{_WORDS[households.consequence]}."
        )
    if (base := rules.minimum_base) is not None:
        yield f"A table on fewer than {base.units} units is {_WORDS[base.consequence]}."
    for dominance in rules.dominance:
        who = "largest unit holds" if dominance.largest == 1 else f"{dominance.largest} largest units hold"
        yield (
            f"A cell whose {who} more than {_percent(dominance.share)} of a total is "
            f"{_WORDS[dominance.consequence]}."
        )
    if (p_percent := rules.p_percent) is not None:
        yield (
            f"A cell in which the second largest unit could estimate the largest to within "
            f"{_percent(p_percent.share)} is {_WORDS[p_percent.consequence]}."
        )
    if (group := rules.group_disclosure) is not None:
        yield (
            f"A category that holds {_percent(group.share)} or more of its group is "
            f"{_WORDS[group.consequence]}."
        )
    if (equal := rules.equal_values) is not None:
        yield (
            f"A figure over values within {_percent(equal.tolerance)} of each other is "
            f"{_WORDS[equal.consequence]}."
        )
    if (risk := rules.individual_risk) is not None:
        over = "all cells" if risk.all_cells else "sample uniques"
        yield (
            f"A table with more expected correct matches over {over} than "
            f"{_percent(risk.maximum_share)} of its units is {_WORDS[risk.consequence]}."
        )


def _limits(policy: "EffectivePolicy") -> Iterator[str]:
    counted = "filters count" if policy.filters_count else "filters do not count"
    yield (
        f"At most {policy.maximum_dimensions} dimensions ({counted}) and {policy.maximum_filters} "
        f"filter variables; more is {_WORDS[policy.dimensions_consequence]}."
    )
    yield f"At most {policy.maximum_cells} cells, margins included."
    if policy.allowed_variables is not None:
        yield f"Only the variables {_names(policy.allowed_variables)}."
    if policy.forbidden_variables:
        yield f"Not the variables {_names(policy.forbidden_variables)}."
    for variable, levels in sorted(policy.allowed_levels.items()):
        yield f"{variable} only at the levels {_names(levels)}."
    for combination in policy.forbidden_combinations:
        yield f"Not together: {_names(combination)}."
    if policy.allowed_statistics is not None:
        yield f"Only the statistics {_names(policy.allowed_statistics)}."


def _protection(policy: "EffectivePolicy") -> Iterator[str]:
    yield (
        f"By {policy.protection_method}: what is withheld cannot be bounded more tightly than "
        f"{policy.count_width} for counts and {_percent(policy.sum_width)} of the value for sums."
    )
    yield f"Empty cells {'may be' if policy.zeros_withheld else 'are not'} withheld."
    yield f"Decimal places of sums, means and percentages: {policy.digits}."
    if policy.latency_step_ms:
        yield (
            f"Answers that were computed leave at whole multiples of {policy.latency_step_ms} ms after they "
            "were asked."
        )
    else:
        yield "Answers leave as soon as they are ready; their time may tell how much had to be withheld."
    yield (
        f"What cannot be proved safe within {policy.protection_time_limit_ms} ms is "
        f"{_WORDS[policy.unproved_consequence]}."
    )
    yield (f"What would disclose together with earlier answers is {_WORDS[policy.differencing_consequence]}.")


def _percent(share: float) -> str:
    return f"{_number(share * 100)}%"


def _number(value: float) -> str:
    return f"{value:.10g}"


def _names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"
