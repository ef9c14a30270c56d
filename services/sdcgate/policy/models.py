"""Models in a policy: which may be asked, by which rules they are judged, and in what form they leave."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from pydantic import Field

from sdcgate.methods.outputs import model_rules
from sdcgate.methods.outputs.model_rules import ModelRules
from sdcgate.methods.rules import Consequence
from sdcgate.policy.rule_set import CellConsequence, Model, Share, TableConsequence

ModelName = Literal[
    "LINEAR",
    "LOGIT",
    "PROBIT",
    "POISSON",
    "NEGATIVE_BINOMIAL",
    "GAMMA",
    "MULTINOMIAL_LOGIT",
    "ORDERED_LOGIT",
    "QUANTILE",
    "FIXED_EFFECTS",
    "MIXED",
    "COX",
    "TWO_STAGE",
]


class MinimumResidualDegreesRule(Model):
    """A model has at least so many residual degrees of freedom."""

    degrees: int = Field(ge=1, le=1_000_000)
    """The smallest number."""
    consequence: TableConsequence
    """What happens to a model with fewer."""


class MinimumCategoryRule(Model):
    """Each category, and each value of a column but its most frequent one, has at least so many units."""

    units: int = Field(ge=1, le=1_000_000)
    """The smallest number of units."""
    consequence: CellConsequence
    """What happens where there are fewer; protect withholds the coefficient."""


class MaximumInfluenceRule(Model):
    """The largest units of a coefficient do not hold more than this share of its information."""

    largest: int = Field(ge=1, le=16)
    """How many of the largest units are taken together."""
    share: Share
    """What they may hold: 0.5 is half."""
    consequence: CellConsequence
    """What happens where they hold more; protect withholds the coefficient."""
    dfbetas: float = Field(default=0.0, ge=0)
    """By how many standard errors one unit may move a coefficient; 0: not judged."""


class MaximumLeverageRule(Model):
    """No unit has a greater leverage: how near it is to a parameter of its own, its records together."""

    leverage: float = Field(gt=0)
    """The greatest; a unit with one record has 1 where a parameter is its alone."""
    consequence: TableConsequence
    """What happens where one has more."""


class MaximumFitRule(Model):
    """A model does not fit (nearly) perfectly."""

    r_squared: Share
    """The greatest share of explained variance."""
    exact_share: float = Field(ge=0, le=1)
    """The greatest share of records that are fitted exactly."""
    residual_share: float = Field(default=0.0, ge=0, le=1)
    """The greatest share of the squared residuals that one unit holds; 0: not judged."""
    consequence: TableConsequence
    """What happens to a model that fits better."""


class MinimumOutcomeClassRule(Model):
    """Each class of an outcome has at least so many units, and is not told by the terms."""

    units: int = Field(ge=1, le=1_000_000)
    """The smallest number of units."""
    consequence: TableConsequence
    """What happens where one has fewer."""


class MaximumParametersRule(Model):
    """A model does not have more parameters a unit."""

    per_unit: Share
    """The greatest number of parameters a unit: 0.1 is one for ten units."""
    consequence: TableConsequence
    """What happens to a model with more."""


class SaturationRule(Model):
    """A model with all interactions of its factors is a table; it is judged as one, and beyond that:"""

    consequence: TableConsequence
    """What happens to it."""


class ModelsSetting(Model):
    """Models: which may be asked, what they must fulfil, and in what form they leave."""

    kinds: frozenset[ModelName] = frozenset()
    """The kinds of models that may be asked; none where it is empty."""
    significant_digits: int = Field(default=4, ge=1, le=17)
    """Significant digits of estimates, errors and figures of fit."""
    counts_base: int = Field(default=10, ge=1, le=1_000_000)
    """Units, records and residual degrees leave rounded to a multiple of it."""
    left_out_share: float = Field(default=0.0, ge=0, le=0.5)
    """Share of units left out at random where a model would disclose with earlier answers; 0: it is held."""
    crossed_factors: bool = False
    """Whether the counts of every two factors together are judged as a table, as estimates tell them."""
    residual_degrees: MinimumResidualDegreesRule | None = None
    """The least residual degrees of freedom."""
    categories: MinimumCategoryRule | None = None
    """The least units of a category, and off a column's most frequent value."""
    influence: MaximumInfluenceRule | None = None
    """How much of a coefficient few units may hold."""
    leverage: MaximumLeverageRule | None = None
    """How far a unit may determine its own fitted value."""
    fit: MaximumFitRule | None = None
    """How well a model may fit."""
    outcome_class: MinimumOutcomeClassRule | None = None
    """The least units of a class of the outcome."""
    parameters: MaximumParametersRule | None = None
    """The most parameters a unit."""
    saturation: SaturationRule | None = None
    """Models that are tables."""

    def effective(self) -> "ModelLimits":
        """The same as an effective policy has it; where no model may be asked nothing else matters."""
        if not self.kinds:
            return NO_MODELS
        rules = {}
        for name, kind in RULES.items():
            rule = getattr(self, name)
            if rule is not None:
                members = rule.model_dump()
                rules[name] = kind(**{**members, "consequence": Consequence[rule.consequence.upper()]})
        return ModelLimits(
            self.kinds,
            self.significant_digits,
            self.counts_base,
            self.left_out_share,
            self.crossed_factors,
            ModelRules(**rules),
        )


RULES: Mapping[str, Any] = {
    "residual_degrees": model_rules.MinimumResidualDegrees,
    "categories": model_rules.MinimumCategory,
    "influence": model_rules.MaximumInfluence,
    "leverage": model_rules.MaximumLeverage,
    "fit": model_rules.MaximumFit,
    "outcome_class": model_rules.MinimumOutcomeClass,
    "parameters": model_rules.MaximumParameters,
    "saturation": model_rules.NoImpliedTable,
}
"""The rules on models by their names in a policy."""


NOT_JUDGED = ModelRules()


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Which models may be asked, in what form they leave, and the rules on them."""

    kinds: frozenset[str] = frozenset()
    significant_digits: int = 4
    counts_base: int = 10
    left_out_share: float = 0.0
    crossed_factors: bool = False
    rules: ModelRules = NOT_JUDGED

    def written(self) -> dict[str, Any]:
        """As a policy's text has it: names of consequences, sorted kinds."""
        found: dict[str, Any] = {
            "kinds": sorted(self.kinds),
            "significant_digits": self.significant_digits,
            "counts_base": self.counts_base,
            "left_out_share": self.left_out_share,
            "crossed_factors": self.crossed_factors,
        }
        for name in RULES:
            rule = getattr(self.rules, name)
            found[name] = None if rule is None else _members(rule)
        return found

    def as_file(self) -> dict[str, Any]:
        """As a policy file has it."""
        written = self.written()
        for name in RULES:
            if written[name] is not None:
                written[name]["consequence"] = written[name]["consequence"].lower()
        return written


NO_MODELS = ModelLimits()
"""Of a policy that says nothing of models."""


def read(written: Mapping[str, Any]) -> ModelLimits:
    """What `ModelLimits.written` wrote."""
    rules = {
        name: kind(**{**written[name], "consequence": Consequence[written[name]["consequence"]]})
        for name, kind in RULES.items()
        if written[name] is not None
    }
    digits, base, left_out = (
        written[name] for name in ("significant_digits", "counts_base", "left_out_share")
    )
    crossed = written.get("crossed_factors", False)  # came later
    return ModelLimits(frozenset(written["kinds"]), digits, base, left_out, crossed, ModelRules(**rules))


def _members(rule: Any) -> dict[str, Any]:
    found = {member.name: getattr(rule, member.name) for member in fields(rule)}
    return {**found, "consequence": rule.consequence.name}


def sentences(limits: ModelLimits) -> dict[str, str]:
    """A sentence for each setting, by its name in a policy file: `models.fit`."""
    rules = limits.rules
    said = dict.fromkeys(RULES, "Not judged.")
    if rules.residual_degrees:
        said["residual_degrees"] = _held(
            f"A model with fewer than {rules.residual_degrees.degrees} residual degrees of freedom",
            rules.residual_degrees,
        )
    if rules.categories:
        said["categories"] = _held(
            f"A coefficient that rests on fewer than {rules.categories.units} units", rules.categories
        )
    if rules.influence:
        units = "unit holds" if rules.influence.largest == 1 else f"{rules.influence.largest} units hold"
        moved = rules.influence.dfbetas
        beside = f", or that one unit moves by more than {moved:g} standard errors," if moved else ""
        said["influence"] = _held(
            f"A coefficient of which the largest {units} more than {rules.influence.share:g} of the "
            f"information{beside}",
            rules.influence,
        )
    if rules.leverage:
        said["leverage"] = _held(
            f"A model in which a unit has a leverage above {rules.leverage.leverage:g}", rules.leverage
        )
    if rules.fit:
        share = rules.fit.residual_share
        alone = f" or of which one unit holds more than {share:g} of the squared residuals," if share else ""
        said["fit"] = _held(
            f"A model that explains more than {rules.fit.r_squared:g} of the variance, or fits more than "
            f"{rules.fit.exact_share:g} of the records exactly,{alone}",
            rules.fit,
        )
    if rules.outcome_class:
        said["outcome_class"] = _held(
            f"A model with a class of its outcome that has fewer than {rules.outcome_class.units} units, or "
            "that its terms tell,",
            rules.outcome_class,
        )
    if rules.parameters:
        said["parameters"] = _held(
            f"A model with more than {rules.parameters.per_unit:g} parameters a unit", rules.parameters
        )
    if rules.saturation:
        said["saturation"] = _held("A model that is a table of its factors", rules.saturation)
    kinds = ", ".join(sorted(limits.kinds))
    said["kinds"] = f"Only the models {kinds}." if kinds else "No model may be asked."
    said["significant_digits"] = f"Figures of models have {limits.significant_digits} significant digits."
    said["left_out_share"] = (
        f"Where a model would disclose together with earlier answers, {limits.left_out_share:.0%} of the "
        "units are left out at random."
        if limits.left_out_share
        else "No units are left out where a model would disclose together with earlier answers."
    )
    said["crossed_factors"] = (
        "A model of several factors is judged by the counts of every two of them together."
        if limits.crossed_factors
        else "What estimates tell of the counts of two factors together is not judged."
    )
    said["counts_base"] = f"Counts of models are rounded to multiples of {limits.counts_base}."
    return {f"models.{name}": sentence for name, sentence in said.items()}


_HELD = {
    Consequence.PROTECT: "is withheld",
    Consequence.REFER: "is referred to an output checker",
    Consequence.REFUSE: "is refused",
    Consequence.UNSPECIFIED: "is refused",
}


def _held(what: str, rule: Any) -> str:
    return f"{what} {_HELD[rule.consequence]}."
