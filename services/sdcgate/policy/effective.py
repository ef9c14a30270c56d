"""The effective policy: what applies to one dataset at one access level, flat, hashed and explained."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.rules import (
    ABSOLUTE_VALUES,
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
from sdcgate.policy.budgets import HOLDERS, UNLIMITED, Budget, Budgets
from sdcgate.policy.cell_keys import CellKeyNoise
from sdcgate.policy.explanation import explain
from sdcgate.policy.models import NO_MODELS, ModelLimits
from sdcgate.policy.statistics import NO_STATISTICS, StatisticLimits

if TYPE_CHECKING:
    from sdcgate.policy.model import LevelPolicy
    from sdcgate.policy.rule_set import RuleSet

HASH_FORMAT = 1
"""Raised when a parameter changes its meaning, so that decisions before and after do not share a hash."""
JOINT_CODES = 5_000
"""How many joint codes are looked at together where the policy does not say it."""
MODELS_TIME_LIMIT_MS = 5000
"""How long coarser models are looked for where the policy does not say it."""
CAME_LATER: Mapping[tuple[str, ...], Any] = {
    ("levels_of_rules",): False,
    ("presence_hidden",): False,
    ("attrition_hidden",): False,
    ("subtracted_withheld",): False,
    ("joint_codes",): JOINT_CODES,
    ("protection_costs",): "records",
    ("protection_effort_ms",): 0,
    ("cell_keys",): None,
    ("rules", "prior_posterior"): None,
    ("rules", "linear_sensitivity"): (),
    ("rules", "contributions"): asdict(ABSOLUTE_VALUES),
    ("rules", "p_percent", "coalition"): 1,
    ("rules", "individual_risk", "tolerated_uniques"): 0,
    ("models", "fit", "residual_share"): 0.0,
    ("models", "crossed_factors"): False,
    ("redesign", "models_time_limit_ms"): MODELS_TIME_LIMIT_MS,
}
"""What the text of the first policies did not have, by where it stands there, and what its absence means."""
NOT_HASHED = ("hash", "rules", "latency_step_ms", "budgets", "pairs_of_eyes")
"""When an answer leaves, or how many do, changes none: tuning must not make every query a new one."""


@dataclass(frozen=True, slots=True)
class Redesign:
    """How coarser tables and models are proposed where one does not leave whole."""

    proposals: int = 0
    """How many at most; 0: none is judged."""
    judged: int = 12
    """Designs that are judged for one table or model at most."""
    time_limit_ms: int = 1000
    models_time_limit_ms: int = MODELS_TIME_LIMIT_MS
    withheld_share: float | None = 0.5
    """From which share of withheld cells, or coefficients, on they are proposed, too; None: never."""


class HasConsequence(Protocol):
    """A rule of the model: it says what happens when it fails."""

    @property
    def consequence(self) -> str:
        """Name of the consequence, in lower case."""


@dataclass(frozen=True, slots=True)
class EffectivePolicy:
    """What applies to a query. `hash` is over everything that could change a decision."""

    name: str
    access_level: str
    hash: str = field(init=False)
    rules: Rules
    maximum_dimensions: int
    maximum_filters: int
    filters_count: bool
    dimensions_consequence: Consequence
    maximum_cells: int
    allowed_variables: frozenset[str] | None
    forbidden_variables: frozenset[str]
    allowed_levels: Mapping[str, frozenset[str]]
    forbidden_combinations: tuple[frozenset[str], ...]
    allowed_statistics: frozenset[str] | None
    digits: int
    latency_step_ms: int
    protection_method: str
    count_width: int
    sum_width: float
    zeros_withheld: bool
    protection_time_limit_ms: int
    unproved_consequence: Consequence
    differencing_consequence: Consequence
    redesign: Redesign = Redesign()

    levels_of_rules: bool = False
    """Whether withheld sums must reach the protection levels of the rules that they break."""

    presence_hidden: bool = False
    """Whether empty cells are withheld that would tell where the few of a withheld total are."""

    subtracted_withheld: bool = False
    """Whether a cell that a filter asks to be subtracted is withheld, and its table is not held."""

    attrition_hidden: bool = False
    """Whether unit counts must not tell how few have records in one cell and not in another."""

    joint_codes: int = JOINT_CODES
    """How many joint codes the audit of counts over all tables looks at together, beyond a table's own."""

    protection_costs: str = "records"
    """What withholding a cell beside the unsafe ones costs: `records`, `unit` or `distance`."""

    protection_effort_ms: int = 0
    """Effort that is spent on a cheaper pattern once one is proved: milliseconds, counted and not timed."""

    cell_keys: CellKeyNoise | None = None
    """The noise that cells get in place of being withheld; None where they are withheld."""

    pairs_of_eyes: int = 1
    """How many checkers must approve a referred query."""

    budgets: Budgets = UNLIMITED

    models: ModelLimits = NO_MODELS
    statistics: StatisticLimits = NO_STATISTICS

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", hash_of(self))

    @property
    def count_floor(self) -> int:
        """What everybody knows a withheld count to be at least."""
        return 0 if self.zeros_withheld else 1

    @property
    def statistic_rules(self) -> StatisticRules:
        """The rules on statistics, those on the cells that their groups are among them."""
        return self.statistics.rules(self.rules, self.models.rules.fit)

    def explain(self) -> str:
        """The policy in words, a line a rule."""
        return explain(self)


def effective_policy(name: str, access_level: str, level: "LevelPolicy") -> EffectivePolicy:
    """Flattens the merged policy of one access level."""
    rules = rules_of(level.rules)
    protects_groups = (
        rules.group_disclosure is not None and rules.group_disclosure.consequence is Consequence.PROTECT
    )
    zeros_withheld, hidden = level.protection.zeros_withheld, level.protection.presence == "hidden"
    return EffectivePolicy(
        name=name,
        access_level=access_level,
        rules=rules,
        maximum_dimensions=level.dimensions.maximum,
        maximum_filters=level.dimensions.maximum_filters,
        filters_count=level.dimensions.filters_count,
        dimensions_consequence=_consequence(level.dimensions),
        maximum_cells=level.output.maximum_cells,
        allowed_variables=level.allowed.variables,
        forbidden_variables=level.forbidden.variables,
        allowed_levels=MappingProxyType(dict(level.allowed.levels)),
        forbidden_combinations=tuple(sorted(set(level.forbidden.combinations), key=sorted)),
        allowed_statistics=level.allowed.statistics,
        digits=level.output.digits,
        latency_step_ms=level.output.latency_step_ms,
        protection_method=level.protection.method,
        count_width=level.protection.count_width or level.rules.minimum_units.units,
        sum_width=level.protection.sum_width,
        levels_of_rules=level.protection.levels == "rules",
        presence_hidden=hidden,
        attrition_hidden=level.protection.attrition == "hidden",
        subtracted_withheld=level.differencing.filters == "withheld",
        joint_codes=level.protection.joint_codes,
        cell_keys=level.protection.cell_keys.effective() if level.protection.cell_keys else None,
        zeros_withheld=(protects_groups or hidden) if zeros_withheld is None else zeros_withheld,
        protection_time_limit_ms=level.protection.time_limit_ms,
        protection_costs=level.protection.costs,
        protection_effort_ms=level.protection.effort_ms,
        unproved_consequence=Consequence[level.protection.unproved.upper()],
        differencing_consequence=_consequence(level.differencing),
        redesign=Redesign(**level.redesign.model_dump()),
        pairs_of_eyes=level.review.pairs_of_eyes,
        budgets=Budgets(
            *(
                tuple(Budget(**budget.model_dump()) for budget in getattr(level.budgets, holder))
                for holder in HOLDERS
            )
        ),
        models=level.models.effective(),
        statistics=level.statistics.effective(),
    )


def hash_of(policy: EffectivePolicy) -> str:
    """SHA-256 over the canonical text of an effective policy, as `sha256:<hex>`."""
    return hash_of_text(canonical_text(policy))


def hash_of_text(text: str) -> str:
    """The hash of a canonical text."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def canonical_text(policy: EffectivePolicy) -> str:
    """All of a policy that can change a decision as JSON, in one spelling.

    What came after others were recorded stands there where it is used. So a policy that uses none of it keeps
    its hash, and what was answered under it is found again.
    """
    content: dict[str, Any] = {
        name: getattr(policy, name) for name in policy.__dataclass_fields__ if name not in NOT_HASHED
    }
    content["rules"], content["redesign"] = asdict(policy.rules), asdict(policy.redesign)
    content["cell_keys"] = None if policy.cell_keys is None else asdict(policy.cell_keys)
    content["models"], content["statistics"] = policy.models.written(), policy.statistics.written()
    used = (policy.redesign.proposals, policy.models.kinds, policy.statistics.kinds)
    for name, any_of_it in zip(("redesign", "models", "statistics"), used, strict=True):
        if not any_of_it:
            del content[name]
    for path, unused in CAME_LATER.items():
        _leave_out(content, path, unused)
    content["format"] = HASH_FORMAT
    return json.dumps(
        _plain(content), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _leave_out(content: dict[str, Any], path: tuple[str, ...], unused: Any) -> None:
    """Take out what stands at a path, if it is there and as if it were not used."""
    *above, name = path
    place: dict[str, Any] | None = content
    for part in above:
        place = place.get(part) if place is not None else None
    if place is not None and place[name] == unused:
        del place[name]


def rules_of(rules: "RuleSet") -> Rules:
    """The rules of a policy file as the methods take them."""
    units, households, base = rules.minimum_units, rules.minimum_households, rules.minimum_base
    p_percent, prior, how, group, equal, risk = (
        rules.p_percent,
        rules.prior_posterior,
        rules.contributions,
        rules.group_disclosure,
        rules.equal_values,
        rules.individual_risk,
    )
    return Rules(
        minimum_units=MinimumUnits(units.units, _consequence(units)),
        minimum_households=MinimumHouseholds(households.households, _consequence(households))
        if households
        else None,
        minimum_base=MinimumBase(base.units, _consequence(base)) if base else None,
        dominance=tuple(
            Dominance(rule.largest, rule.share, _consequence(rule))
            for rule in sorted(rules.dominance, key=lambda rule: (rule.largest, rule.share))
        ),
        p_percent=PPercent(p_percent.share, _consequence(p_percent), p_percent.coalition)
        if p_percent
        else None,
        prior_posterior=PriorPosterior(prior.p, prior.q, _consequence(prior), prior.coalition)
        if prior
        else None,
        linear_sensitivity=tuple(
            LinearSensitivity(rule.weights, rule.rest, _consequence(rule))
            for rule in sorted(rules.linear_sensitivity, key=lambda rule: (rule.weights, rule.rest))
        ),
        contributions=Contributions(NegativeValues[how.negative.upper()], how.weighted)
        if how
        else ABSOLUTE_VALUES,
        group_disclosure=GroupDisclosure(group.share, _consequence(group)) if group else None,
        equal_values=EqualValues(equal.tolerance, _consequence(equal)) if equal else None,
        individual_risk=IndividualRisk(
            risk.maximum_share, risk.over == "all-cells", _consequence(risk), risk.tolerated_uniques
        )
        if risk
        else None,
    )


def _consequence(rule: "HasConsequence") -> Consequence:
    return Consequence[rule.consequence.upper()]


def _plain(value: Any) -> Any:
    """Sets as sorted lists, enums as names, mappings as dicts."""
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value
