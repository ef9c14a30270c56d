"""The typed rules of a policy file: what cells and tables must fulfil."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from sdcgate.methods.tables.linear_sensitivity import misweighted

CellConsequence = Literal["protect", "refer", "refuse"]
TableConsequence = Literal["refer", "refuse"]
"""A rule about the whole table cannot be met by withholding cells."""

Share = Annotated[float, Field(gt=0, le=1)]
Coalition = Annotated[int, Field(ge=1, le=15)]


class Model(BaseModel):
    """Strict and frozen: no unknown keys, no texts read as numbers, no infinities."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class MinimumUnitsRule(Model):
    """A cell that is not empty has at least so many units."""

    units: int = Field(ge=1, le=1_000_000)
    """The smallest number of units, counted without weights."""
    consequence: CellConsequence
    """What happens where a cell has fewer."""


class MinimumHouseholdsRule(Model):
    """A cell has at least so many households; not judged for a dataset that has none."""

    households: float = Field(gt=0, le=1_000_000)
    """The smallest number of households; may be a fraction."""
    consequence: CellConsequence
    """What happens where a cell has fewer."""


class MinimumBaseRule(Model):
    """The population that the filter leaves has at least so many units."""

    units: int = Field(ge=1)
    """The smallest number of units."""
    consequence: TableConsequence
    """What happens to a table on fewer."""


class DominanceRule(Model):
    """(n,k): the largest n units of a cell do not hold more than the share k of a measure's sum."""

    largest: int = Field(ge=1, le=16)
    """How many of the largest units are taken together, n."""
    share: Share
    """What they may hold of the sum, k: 0.5 is half."""
    consequence: CellConsequence
    """What happens where they hold more."""


class PPercentRule(Model):
    """A measure's sum without its two largest units is not less than this share of the largest."""

    share: Share
    """How closely nobody may estimate the largest unit: 0.1 is to within 10%."""
    coalition: Coalition = 1
    """How many other units put together what they know; the largest of them are supposed to."""
    consequence: CellConsequence
    """What happens where they could."""


class PriorPosteriorRule(Model):
    """(p,q): the p% rule where everybody knows each unit's value to within q beforehand."""

    p: Share
    """How closely nobody may estimate a unit once the sum is known; at most q."""
    q: Share
    """How closely everybody knows each unit beforehand: 0.5 is to within half; 1 is the p% rule."""
    coalition: Coalition = 1
    """How many other units put together what they know; the largest of them are supposed to."""
    consequence: CellConsequence
    """What happens where they could."""

    @model_validator(mode="after")
    def _learns_something(self) -> Self:
        if self.p > self.q:
            message = "p must not exceed q: what everybody knows beforehand cannot be kept from anybody"
            raise PydanticCustomError("prior_posterior", message)
        return self


class LinearSensitivityRule(Model):
    """A linear sensitivity measure of a cell's largest units, and of all others, is not above 0."""

    weights: tuple[float, ...] = Field(min_length=1, max_length=16)
    """Weights of the largest units, the largest first; they do not rise, and the first is above 0."""
    rest: float = Field(lt=0)
    """Weight of all other units, below 0; no other weight is below it."""
    consequence: CellConsequence
    """What happens where the measure is above 0."""

    @model_validator(mode="after")
    def _is_a_measure(self) -> Self:
        if wrong := misweighted(self.weights, self.rest):
            raise PydanticCustomError("linear_sensitivity", "{wrong}", {"wrong": wrong})
        return self


class ContributionsSetting(Model):
    """What counts as a unit's contribution to a sum."""

    negative: Literal["absolute", "shifted"] = "absolute"
    """How contributions below zero count: absolutely, or by how far they lie above the lower bound."""
    weighted: bool = False
    """Whether a contribution to a weighted sum or mean is weight times value; otherwise it is the value."""

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        if self.weighted and self.negative == "shifted":
            message = "weighted contributions are absolute: leave out weighted, or shifted"
            raise PydanticCustomError("contributions", message)
        return self


class GroupDisclosureRule(Model):
    """No category of a sensitive variable holds this share of its line's units or more."""

    share: Share
    """The share from which on a group is disclosed; 1 means everybody."""
    consequence: CellConsequence
    """What happens where one does."""


class EqualValuesRule(Model):
    """The values beneath a figure differ by more than this share of the largest of them."""

    tolerance: float = Field(ge=0, le=1)
    """How close values count as the same; 0 means equal."""
    consequence: CellConsequence
    """What happens where they are the same."""


class IndividualRiskRule(Model):
    """The expected correct matches do not exceed this share of the filtered base's units."""

    maximum_share: float = Field(ge=0, le=1)
    """The largest share of expected correct matches."""
    over: Literal["sample-uniques", "all-cells"]
    """Over which cells of the identifying variables the matches are summed."""
    tolerated_uniques: int = Field(default=0, ge=0)
    """Over sample uniques: fewer than so many are tolerated, as a refusal would tell that they are alone."""
    consequence: TableConsequence
    """What happens to a table with more."""

    @model_validator(mode="after")
    def _tolerates_uniques(self) -> Self:
        if self.tolerated_uniques and self.over != "sample-uniques":
            message = "tolerated_uniques goes with `over: sample-uniques` only: leave it out"
            raise PydanticCustomError("individual_risk", message)
        return self


class RuleSet(Model):
    """What cells and tables must fulfil; a rule that is left out or null is not judged."""

    minimum_units: MinimumUnitsRule
    """The least units of a cell; every policy has it."""
    minimum_households: MinimumHouseholdsRule | None = None
    """The least households of a cell."""
    minimum_base: MinimumBaseRule | None = None
    """The least units of a filtered population."""
    dominance: tuple[DominanceRule, ...] = ()
    """Dominance of the largest units in a measure; any number of such rules."""
    p_percent: PPercentRule | None = None
    """The p% rule of a measure."""
    prior_posterior: PriorPosteriorRule | None = None
    """The prior-posterior rule (p,q) of a measure."""
    linear_sensitivity: tuple[LinearSensitivityRule, ...] = ()
    """Linear sensitivity measures of an agency's own; any number of such rules."""
    contributions: ContributionsSetting | None = None
    """What counts as a contribution in the rules above, from dominance on; null: absolute values."""
    group_disclosure: GroupDisclosureRule | None = None
    """Categories that hold nearly all of their line."""
    equal_values: EqualValuesRule | None = None
    """Figures over values that are all the same."""
    individual_risk: IndividualRiskRule | None = None
    """The risk of re-identification of the table as a whole."""
