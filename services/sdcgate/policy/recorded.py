"""Effective policies as the ledger keeps them: the text that the hash is over, and reading it again."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sdcgate.methods.rules import (
    Consequence,
    Contributions,
    Dominance,
    EqualValues,
    GroupDisclosure,
    IndividualRisk,
    LinearSensitivity,
    MinimumBase,
    MinimumHouseholds,
    MinimumUnits,
    NegativeValues,
    PPercent,
    PriorPosterior,
    Rules,
)
from sdcgate.policy import models, statistics
from sdcgate.policy.cell_keys import CellKeyNoise
from sdcgate.policy.effective import HASH_FORMAT, EffectivePolicy, Redesign, hash_of_text

Members = dict[str, Any]

UNKNOWN: Members = {"latency_step_ms": 0}
"""What the text does not hold, as it changes no decision."""

_KINDS: dict[str, Callable[..., Any]] = {
    "minimum_units": MinimumUnits,
    "minimum_households": MinimumHouseholds,
    "minimum_base": MinimumBase,
    "dominance": Dominance,
    "p_percent": PPercent,
    "prior_posterior": PriorPosterior,
    "linear_sensitivity": LinearSensitivity,
    "contributions": Contributions,
    "group_disclosure": GroupDisclosure,
    "equal_values": EqualValues,
    "individual_risk": IndividualRisk,
}


class PolicyUnreadable(ValueError):
    """The text of a recorded policy that this version of sdcgate does not understand."""


def read_canonical(text: str) -> EffectivePolicy:
    """The effective policy of a canonical text, with the hash of that very text.

    Raises:
        PolicyUnreadable: it is none, or one of another version of sdcgate.
    """
    try:
        content = json.loads(text)
        if content.pop("format") != HASH_FORMAT:
            raise KeyError("format")
        rules = _rules(content.pop("rules"))
        members = {name: _read(name, value) for name, value in content.items()}
        policy = EffectivePolicy(**members, **UNKNOWN, rules=rules)
    except (TypeError, KeyError, AttributeError, json.JSONDecodeError) as error:
        raise PolicyUnreadable("the policy was recorded by another version of sdcgate") from error
    object.__setattr__(policy, "hash", hash_of_text(text))
    return policy


def _rules(written: Mapping[str, Any]) -> Rules:
    members: Members = {
        name: tuple(_rule(name, one) for one in rule)
        if isinstance(rule, list)
        else rule and _rule(name, rule)
        for name, rule in written.items()
    }
    return Rules(**members)


def _rule(name: str, written: Mapping[str, Any]) -> Any:
    read: Members = {
        field: tuple(value) if isinstance(value, list) else value for field, value in written.items()
    }
    if name == "contributions":
        read["negative"] = NegativeValues[read["negative"]]
    else:
        read["consequence"] = Consequence[read["consequence"]]
    return _KINDS[name](**read)


def _read(name: str, value: Any) -> Any:
    """A field of EffectivePolicy from JSON."""
    if name.endswith("_consequence"):
        return Consequence[value]
    if name in _READ:
        return _READ[name](value)
    return frozenset(value) if isinstance(value, list) else value


def _in_tuples(value: Any) -> Any:
    return tuple(map(_in_tuples, value)) if isinstance(value, list) else value


_READ: dict[str, Callable[[Any], Any]] = {
    "cell_keys": lambda written: CellKeyNoise(**{name: _in_tuples(part) for name, part in written.items()}),
    "redesign": lambda written: Redesign(**written),
    "models": models.read,
    "statistics": statistics.read,
    "allowed_levels": lambda written: MappingProxyType(
        {variable: frozenset(levels) for variable, levels in written.items()}
    ),
    "forbidden_combinations": lambda written: tuple(map(frozenset, written)),
}
"""Fields that are no plain value or list."""
