"""The typed model of a policy file.

A policy file has `defaults`, what each access level changes of them, and what single datasets change of
that. The three are merged, key by key, before they are validated; a rule set to null is not judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from sdcgate.policy.effective import EffectivePolicy, effective_policy

AccessLevel = Literal["public", "licensed", "remote", "on-site"]
ACCESS_LEVELS: tuple[AccessLevel, ...] = get_args(AccessLevel)

CellConsequence = Literal["protect", "refer", "refuse"]
TableConsequence = Literal["refer", "refuse"]
"""A rule about the whole table cannot be met by withholding cells."""

StatisticName = Literal[
    "UNITS",
    "RECORDS",
    "WEIGHTED_UNITS",
    "SUM",
    "WEIGHTED_SUM",
    "MEAN",
    "WEIGHTED_MEAN",
    "ROW_PERCENT",
    "COLUMN_PERCENT",
    "TOTAL_PERCENT",
]

Name = Annotated[str, Field(min_length=1, max_length=128)]
Share = Annotated[float, Field(gt=0, le=1)]


class PolicyInvalid(ValueError):
    """A policy that cannot be used. `problems` holds all of them, each with its path in the file."""

    def __init__(self, source: str, problems: tuple[tuple[str, str], ...]) -> None:
        self.source = source
        self.problems = problems
        listed = "\n".join(f"  {path}: {message}" if path else f"  {message}" for path, message in problems)
        super().__init__(f"policy {source} cannot be used:\n{listed}")


class AccessLevelUnknown(LookupError):
    """The policy says nothing about this access level, so nothing is allowed at it."""


class Model(BaseModel):
    """Strict and frozen: no unknown keys, no texts read as numbers, no infinities."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class MinimumUnitsRule(Model):
    """Fewer units in a cell than this are unsafe."""

    units: int = Field(ge=1, le=1_000_000)
    consequence: CellConsequence


class MinimumHouseholdsRule(Model):
    """Fewer households in a cell than this are unsafe."""

    households: float = Field(gt=0, le=1_000_000)
    consequence: CellConsequence


class MinimumBaseRule(Model):
    """Fewer units in the filtered population than this are unsafe."""

    units: int = Field(ge=1)
    consequence: TableConsequence


class DominanceRule(Model):
    """(n,k): the largest n units may not hold more than the share k."""

    largest: int = Field(ge=1, le=16)
    share: Share
    consequence: CellConsequence


class PPercentRule(Model):
    """The total without the two largest may not be less than this share of the largest."""

    share: Share
    consequence: CellConsequence


class GroupDisclosureRule(Model):
    """No category may hold this share of the units of its line or more."""

    share: Share
    consequence: CellConsequence


class EqualValuesRule(Model):
    """The values beneath a figure may not lie within this share of the largest of them."""

    tolerance: float = Field(ge=0, le=1)
    consequence: CellConsequence


class IndividualRiskRule(Model):
    """The expected correct matches may not exceed this share of the filtered base."""

    maximum_share: float = Field(ge=0, le=1)
    over: Literal["sample-uniques", "all-cells"]
    consequence: TableConsequence


class RuleSet(Model):
    """Rules on cells and tables; every policy has a minimum number of units."""

    minimum_units: MinimumUnitsRule
    minimum_households: MinimumHouseholdsRule | None = None
    minimum_base: MinimumBaseRule | None = None
    dominance: tuple[DominanceRule, ...] = ()
    p_percent: PPercentRule | None = None
    group_disclosure: GroupDisclosureRule | None = None
    equal_values: EqualValuesRule | None = None
    individual_risk: IndividualRiskRule | None = None


class DimensionLimits(Model):
    """How many variables a table may cross, and how many it may be filtered by."""

    maximum: int = Field(ge=0, le=16)
    maximum_filters: int = Field(ge=0, le=32)
    filters_count: bool
    """Whether a filter variable counts as a dimension."""
    consequence: TableConsequence


class Allowed(Model):
    """What may be asked; null allows everything that the dataset's descriptor has."""

    variables: frozenset[Name] | None = None
    levels: dict[Name, frozenset[Name]] = Field(default_factory=dict)
    """The only levels allowed of a variable; of a variable that is not named all are."""
    statistics: frozenset[StatisticName] | None = None


class Forbidden(Model):
    """What may not be asked, whatever is allowed."""

    variables: frozenset[Name] = frozenset()
    combinations: tuple[Annotated[frozenset[Name], Field(min_length=2)], ...] = ()
    """Variables that may not stand together in a query, as dimensions or filters."""


class Protection(Model):
    """How unsafe cells are protected and what counts as proved."""

    method: Literal["suppression"]
    count_width: int | None = Field(default=None, ge=1)
    """How far apart the bounds of a withheld count must be; null: the minimum number of units."""
    sum_width: float = Field(gt=0, le=10)
    """How far apart the bounds of a withheld sum must be, as a share of it."""
    zeros_withheld: bool | None = None
    """Whether empty cells may be withheld; null: where group disclosure protects."""
    time_limit_ms: int = Field(ge=10, le=600_000)
    unproved: TableConsequence


class Output(Model):
    """In what form answers leave."""

    digits: int = Field(ge=0, le=6)
    """Decimal places of sums, means and percentages."""
    maximum_cells: int = Field(ge=1, le=10_000_000)


class Differencing(Model):
    """What happens when an answer would disclose together with earlier ones."""

    consequence: TableConsequence


class LevelPolicy(Model):
    """Everything that applies at one access level, defaults merged in."""

    rules: RuleSet
    dimensions: DimensionLimits
    allowed: Allowed = Allowed()
    forbidden: Forbidden = Forbidden()
    protection: Protection
    output: Output
    differencing: Differencing


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy: one `LevelPolicy` an access level, and those of datasets that change something."""

    name: str
    version: str
    description: str
    access_levels: Mapping[str, LevelPolicy]
    datasets: Mapping[str, Mapping[str, LevelPolicy]]
    """For each dataset that the file names: its access levels, the changes merged in."""

    def effective(self, access_level: str, dataset: str) -> EffectivePolicy:
        """The policy that applies to one dataset at one access level.

        Raises:
            AccessLevelUnknown: the policy has no such level, so nothing may be asked at it.
        """
        level = self.datasets.get(dataset, {}).get(access_level) or self.access_levels.get(access_level)
        if level is None:
            raise AccessLevelUnknown(
                f"policy {self.name} has no access level {access_level!r}; "
                f"it has {', '.join(self.access_levels) or 'none'}"
            )
        return effective_policy(self.name, access_level, level)
