"""An effective policy setting by setting: as a policy file would write it, and in a sentence each."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from enum import IntEnum
from typing import Any

from sdcgate.methods.rules import Consequence, Rules
from sdcgate.policy.budgets import HOLDERS
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.policy.explanation import sentences

NOT_RECORDED = frozenset(
    {"output.latency_step_ms", "review.pairs_of_eyes", *(f"budgets.{holder}" for holder in HOLDERS)}
)
"""Settings that change no answer; they are not kept with one."""

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name and value as in a policy file, and what it means."""

    name: str
    value: Any
    explanation: str

    @property
    def text(self) -> str:
        """The value on one line, as YAML reads it."""
        return flow(self.value)


def settings(policy: EffectivePolicy) -> tuple[Setting, ...]:
    """All settings of an effective policy, in the order of a policy file."""
    explained = sentences(policy)
    return tuple(
        Setting(f"{section}.{name}", value, explained[f"{section}.{name}"])
        for section, members in as_file(policy).items()
        for name, value in members.items()
    )


def as_file(policy: EffectivePolicy) -> dict[str, Tree]:
    """The effective policy as an access level of a policy file, every setting written out.

    Loaded again as the only access level of a file, it is the same effective policy with the same hash.
    """
    return {
        "rules": dict(_rules(policy.rules)),
        "dimensions": {
            "maximum": policy.maximum_dimensions,
            "maximum_filters": policy.maximum_filters,
            "filters_count": policy.filters_count,
            "consequence": _name(policy.dimensions_consequence),
        },
        "allowed": {
            "variables": _sorted(policy.allowed_variables),
            "levels": {
                variable: sorted(levels) for variable, levels in sorted(policy.allowed_levels.items())
            },
            "statistics": _sorted(policy.allowed_statistics),
        },
        "forbidden": {
            "variables": sorted(policy.forbidden_variables),
            "combinations": [sorted(combination) for combination in policy.forbidden_combinations],
        },
        "protection": {
            "method": policy.protection_method,
            "cell_keys": policy.cell_keys.as_file() if policy.cell_keys else None,
            "count_width": policy.count_width,
            "sum_width": policy.sum_width,
            "levels": "rules" if policy.levels_of_rules else "widths",
            "zeros_withheld": policy.zeros_withheld,
            "presence": "hidden" if policy.presence_hidden else "shown",
            "attrition": "hidden" if policy.attrition_hidden else "shown",
            "joint_codes": policy.joint_codes,
            "costs": policy.protection_costs,
            "time_limit_ms": policy.protection_time_limit_ms,
            "effort_ms": policy.protection_effort_ms,
            "unproved": _name(policy.unproved_consequence),
        },
        "output": {
            "digits": policy.digits,
            "maximum_cells": policy.maximum_cells,
            "latency_step_ms": policy.latency_step_ms,
        },
        "differencing": {
            "consequence": _name(policy.differencing_consequence),
            "filters": "withheld" if policy.subtracted_withheld else "held",
        },
        "redesign": asdict(policy.redesign),
        "review": {"pairs_of_eyes": policy.pairs_of_eyes},
        "budgets": {holder: [asdict(budget) for budget in policy.budgets.of(holder)] for holder in HOLDERS},
        "models": policy.models.as_file(),
        "statistics": policy.statistics.as_file(),
    }


def flow(value: Any) -> str:
    """A value on one line, as YAML and people read it: `{units: 10, consequence: protect}`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(part) for part in value) + "]"
    if isinstance(value, float):
        # YAML takes a number with an exponent but no point for a text.
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    return _key(value) if isinstance(value, str) else json.dumps(value)


def _key(text: str) -> str:
    """A text without quotes where YAML reads it as that text."""
    plain = text.replace("-", "").replace("_", "")
    bare = plain.isalnum() and not plain[0].isdigit() and text[0] != "-" and plain.isascii()
    if bare and text.lower() not in _WORDS_OF_YAML:
        return text
    return json.dumps(text, ensure_ascii=False)


_WORDS_OF_YAML = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def _rules(rules: Rules) -> Iterator[tuple[str, Any]]:
    for name in rules.__dataclass_fields__:
        rule = getattr(rules, name)
        if isinstance(rule, tuple):
            yield name, [_rule(asdict(one)) for one in rule]
        else:
            yield name, None if rule is None else _rule(asdict(rule))


def _rule(members: Tree) -> Tree:
    if "all_cells" in members:
        over = "all-cells" if members.pop("all_cells") else "sample-uniques"
        members = {"maximum_share": members["maximum_share"], "over": over, **members}
    # Policies do not set it, as the facility knows no variances of what it sums.
    members.pop("sampling_probability", None)
    consequence = members.pop("consequence", None)
    told = {name: _plain(value) for name, value in members.items()}
    return told if consequence is None else {**told, "consequence": _name(consequence)}


def _plain(value: Any) -> Any:
    if isinstance(value, IntEnum):
        return value.name.lower()
    return list(value) if isinstance(value, tuple) else value


def _name(consequence: Consequence) -> str:
    return consequence.name.lower()


def _sorted(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)
