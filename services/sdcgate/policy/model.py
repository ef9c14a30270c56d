"""The typed model of a policy file.

A policy file has `defaults`, what each access level changes of them, and what single datasets change of
that. The three are merged, key by key, before they are validated; a rule set to null is not judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from sdcgate.policy.budgets import Period
from sdcgate.policy.cell_keys import CELL_KEY, CellKeysSetting, unfit_for_noise
from sdcgate.policy.effective import JOINT_CODES, EffectivePolicy, effective_policy, rules_of
from sdcgate.policy.models import ModelsSetting
from sdcgate.policy.rule_set import Model, RuleSet, TableConsequence
from sdcgate.policy.statistics import StatisticsSetting

AccessLevel = Literal["public", "licensed", "remote", "on-site"]
ACCESS_LEVELS: tuple[AccessLevel, ...] = get_args(AccessLevel)

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

Tree = dict[str, Any]
Name = Annotated[str, Field(min_length=1, max_length=128)]


class Problem(NamedTuple):
    """What is wrong in a policy file, where, and in which line if that is known."""

    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        places = (f"line {self.line}" if self.line else "", self.path)
        return ": ".join([*(place for place in places if place), self.message])


class PolicyInvalid(ValueError):
    """A policy, or its examples, that cannot be used. `problems` holds all that is wrong."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        listed = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(f"policy {source} cannot be used:\n{listed}")


class AccessLevelUnknown(LookupError):
    """The policy says nothing about this access level, so nothing is allowed at it."""


class DimensionLimits(Model):
    """How many variables a table may cross, and how many it may be filtered by."""

    maximum: int = Field(ge=0, le=16)
    """How many variables may be crossed."""
    maximum_filters: int = Field(ge=0, le=32)
    """How many variables may filter."""
    filters_count: bool
    """Whether a filtering variable that is no dimension counts towards `maximum`."""
    consequence: TableConsequence
    """What happens to a table of more."""


class Allowed(Model):
    """What may be asked; null allows everything that the dataset's descriptor has."""

    variables: frozenset[Name] | None = None
    """The only variables allowed, as dimensions or filters; null: all that the dataset has."""
    levels: dict[Name, frozenset[Name]] = Field(default_factory=dict)
    """The only levels allowed of a variable; of a variable that is not named all are."""
    statistics: frozenset[StatisticName] | None = None
    """The only statistics allowed; null: all."""


class Forbidden(Model):
    """What may not be asked, whatever is allowed."""

    variables: frozenset[Name] = frozenset()
    """Variables that may be neither dimension nor filter."""
    combinations: tuple[Annotated[frozenset[Name], Field(min_length=2)], ...] = ()
    """Variables that may not stand together in a query, as dimensions or filters."""


class Protection(Model):
    """How unsafe cells are protected and what counts as proved."""

    method: Literal["suppression", "cell_key"]
    """How cells are protected: withheld, with others that would reveal them; or changed by cell keys."""
    cell_keys: CellKeysSetting | None = None
    """The noise that cell keys give, where they are the method."""
    count_width: int | None = Field(default=None, ge=1)
    """How far apart the bounds of a withheld count must be; null: the minimum number of units."""
    sum_width: float = Field(gt=0, le=10)
    """How far apart the bounds of a withheld sum must be, as a share of it."""
    levels: Literal["widths", "rules"] = "widths"
    """Whether what is withheld must also reach the protection levels of the rules that it breaks."""
    zeros_withheld: bool | None = None
    """Whether empty cells may be withheld; null: where group disclosure protects."""
    presence: Literal["shown", "hidden"] = "shown"
    """Whether empty cells may tell where the few units of a total below the minimum are."""
    attrition: Literal["shown", "hidden"] = "shown"
    """Whether unit counts may tell how few units have records in one year, say, and not in another."""
    joint_codes: int = Field(default=JOINT_CODES, ge=100, le=1_000_000)
    """How many joint codes the audit of counts over all tables looks at together, beyond a table's own."""
    costs: Literal["records", "unit", "distance"] = "records"
    """What withholding a cell beside the unsafe ones costs: the least is sought."""
    time_limit_ms: int = Field(ge=10, le=600_000)
    """Milliseconds for finding and proving a pattern, once a round."""
    effort_ms: int = Field(default=0, ge=0, le=600_000)
    """Effort for a cheaper pattern once one is proved: milliseconds, counted and not timed."""
    unproved: TableConsequence
    """What happens to a table that is not proved safe."""

    @model_validator(mode="after")
    def _hides_by_empty_cells(self) -> Self:
        if self.presence == "hidden" and self.zeros_withheld is False:
            message = (
                "presence is hidden by withholding empty cells: leave zeros_withheld out, or set it true"
            )
            raise PydanticCustomError("presence", message)
        return self


class Output(Model):
    """In what form answers leave."""

    digits: int = Field(ge=0, le=6)
    """Decimal places of sums, means and percentages."""
    maximum_cells: int = Field(ge=1, le=10_000_000)
    """The largest table that is computed, margins and missing codes included."""
    latency_step_ms: int = Field(default=0, ge=0, le=60_000)
    """Answers leave at whole multiples of it after they were asked, so that time tells little; 0: at once."""


class Differencing(Model):
    """Answers that would disclose together with earlier ones."""

    consequence: TableConsequence
    """What happens to one that cannot be mended by withholding a cell of it."""
    filters: Literal["held", "withheld"] = "held"
    """Whether a table is held where a cell differs from an earlier one by a filter only, and by too few, or
    leaves without that cell."""


class RedesignProposals(Model):
    """Coarser tables and models that are proposed where one is refused, referred or mostly withheld.

    What is proposed is judged as if it were asked, and counts as released: asked later, it leaves.
    """

    proposals: int = Field(default=0, ge=0, le=3)
    """How many are proposed at most; 0: none is judged, and what could be asked is told unjudged."""
    judged: int = Field(default=12, ge=1, le=100)
    """How many are judged to find them, at most."""
    time_limit_ms: int = Field(default=1000, ge=10, le=60_000)
    """Milliseconds for finding tables."""
    models_time_limit_ms: int = Field(default=5000, ge=10, le=60_000)
    """Milliseconds for finding models, each of which is fitted."""
    withheld_share: float | None = Field(default=0.5, gt=0, le=1)
    """From which share of withheld cells, or coefficients, on they are proposed, too; null: never."""


class ReviewSetting(Model):
    """How referred queries are reviewed."""

    pairs_of_eyes: Literal[1, 2] = 1
    """How many checkers must approve a referred query before it leaves; one is enough to refuse it."""


class BudgetSetting(Model):
    """How much may be asked in each period; whatever is answered, a question costs the same."""

    period: Period
    """The period, in UTC; weeks begin on Monday. What is left at its end is lost."""
    queries: int | None = Field(default=None, ge=1, le=1_000_000_000)
    """How many questions may be asked; null: any number."""
    cells: int | None = Field(default=None, ge=1, le=1_000_000_000_000)
    """How many cells may be asked for, margins and what may be proposed included; null: any number."""

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.queries is None and self.cells is None:
            raise PydanticCustomError("budget", "name a number of queries, of cells, or both")
        return self


class BudgetsSetting(Model):
    """How much may be asked of one source of data. A question that was answered before costs nothing."""

    researcher: tuple[BudgetSetting, ...] = ()
    """What each researcher may ask; all budgets of the list hold."""
    project: tuple[BudgetSetting, ...] = ()
    """What may be asked for each project, which is what the question says."""
    dataset: tuple[BudgetSetting, ...] = ()
    """What all may ask together."""


class LevelPolicy(Model):
    """Everything that applies at one access level, defaults merged in."""

    rules: RuleSet
    """What cells and tables must fulfil."""
    dimensions: DimensionLimits
    """How many variables a query may name."""
    allowed: Allowed = Allowed()
    """What may be asked."""
    forbidden: Forbidden = Forbidden()
    """What may not be asked."""
    protection: Protection
    """How unsafe cells are protected."""
    output: Output
    """In what form answers leave."""
    differencing: Differencing
    """What happens to an answer that would disclose together with earlier ones."""
    redesign: RedesignProposals = RedesignProposals()
    """What is proposed in place of a table that does not leave whole."""
    review: ReviewSetting = ReviewSetting()
    """How referred queries are reviewed."""
    budgets: BudgetsSetting = BudgetsSetting()
    """How much may be asked."""
    models: ModelsSetting = ModelsSetting()
    """Which models may be asked, and what they must fulfil."""
    statistics: StatisticsSetting = StatisticsSetting()
    """Which statistics may be asked, and what they must fulfil."""

    @model_validator(mode="after")
    def _fits_the_method(self) -> Self:
        by_keys = self.protection.method == CELL_KEY
        problem = ""
        if by_keys != (self.protection.cell_keys is not None):
            problem = "protection.cell_keys and protection.method cell_key go together, or neither is there"
        elif by_keys and self.redesign.proposals:
            problem = (
                "redesign.proposals must be 0 with cell keys: no cell is withheld that a coarser one has"
            )
        elif by_keys and self.models.kinds:
            problem = "models.kinds must be empty with cell keys: models have no noise"
        elif by_keys and self.statistics.kinds:
            problem = "statistics.kinds must be empty with cell keys: statistics have no noise"
        elif by_keys:
            problem = unfit_for_noise(rules_of(self.rules))
        if problem:
            raise PydanticCustomError("method", "{what}", {"what": problem})
        return self


class PolicyFile(Model):
    """A policy file: what applies at which access level, and what single datasets change of it."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")
    """Name of the policy: lower-case letters, digits and -."""
    version: str = Field(min_length=1, max_length=64)
    """Version, a text in quotes."""
    description: str = Field(min_length=1, max_length=10_000)
    """What the policy is for, and where its rules come from."""
    defaults: Tree = Field(default_factory=dict)
    """What applies at every access level unless that changes it."""
    access_levels: dict[AccessLevel, Tree | None] = Field(min_length=1)
    """What each access level changes of the defaults; a level that is not named allows nothing."""
    datasets: dict[Name, dict[AccessLevel, Tree]] = Field(default_factory=dict)
    """What single datasets change of an access level."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy: one `LevelPolicy` an access level, and those of datasets that change something."""

    name: str
    version: str
    description: str
    access_levels: Mapping[str, LevelPolicy]
    datasets: Mapping[str, Mapping[str, LevelPolicy]]
    """For each dataset that the file names: its access levels, the changes merged in."""

    def without_budgets(self) -> "Policy":
        """The same policy, under which any number of questions may be asked."""
        unlimited = {"budgets": BudgetsSetting()}
        return replace(
            self,
            access_levels={
                name: level.model_copy(update=unlimited) for name, level in self.access_levels.items()
            },
            datasets={
                dataset: {name: level.model_copy(update=unlimited) for name, level in levels.items()}
                for dataset, levels in self.datasets.items()
            },
        )

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
