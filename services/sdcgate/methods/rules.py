"""The rules of an effective policy, and what they find; the numbers of the enums are those of the wire."""

from dataclasses import dataclass, field
from enum import IntEnum


class Consequence(IntEnum):
    """What happens when a rule fails; unspecified is read as refuse."""

    UNSPECIFIED = 0
    PROTECT = 1
    REFER = 2
    REFUSE = 3


class ReasonCode(IntEnum):
    """Codes of rules and reasons."""

    UNSPECIFIED = 0
    MINIMUM_UNITS = 1
    MINIMUM_HOUSEHOLDS = 2
    MINIMUM_BASE = 3
    MAXIMUM_DIMENSIONS = 4
    NOT_ALLOWED = 5
    DOMINANCE = 6
    P_PERCENT = 7
    GROUP_DISCLOSURE = 8
    EQUAL_VALUES = 9
    INDIVIDUAL_RISK = 10
    DIFFERENCING = 11
    WITHHELD_BEFORE = 12
    UNPROVED = 13
    VERSION_DIFFERENCE = 14
    REVIEW = 15
    MAXIMUM_CELLS = 16
    BINDING = 17
    PRIOR_POSTERIOR = 18
    LINEAR_SENSITIVITY = 19
    RESIDUAL_DEGREES = 20
    SATURATED = 21
    PERFECT_FIT = 22
    OUTCOME_CLASS = 23
    LEVERAGE = 24
    INFLUENCE = 25
    NOT_ESTIMABLE = 26
    PERCENTILE_UNITS = 27
    EXTREME_VALUE = 28
    MODAL_SHARE = 29
    IMPLIED_TABLE = 30
    BUDGET = 40
    PERTURBED = 41


class NegativeValues(IntEnum):
    """How contributions below zero are measured; unspecified is read as absolute."""

    UNSPECIFIED = 0
    ABSOLUTE = 1
    SHIFTED = 2
    """By how far values lie above the measure's lower bound."""


@dataclass(frozen=True, slots=True)
class MinimumUnits:
    """Fewer units than this is unsafe; an empty cell is not."""

    units: int
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class MinimumHouseholds:
    """Fewer households than this is unsafe; an empty cell is not."""

    households: float
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class MinimumBase:
    """A filtered population with fewer units than this is unsafe."""

    units: int
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class Dominance:
    """(n,k): unsafe if the largest n units hold more than the share k of all absolute contributions."""

    largest: int
    share: float
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class PPercent:
    """Unsafe if a coalition of the largest others can estimate the largest unit to within the share p.

    With a coalition of one: if the total without the two largest is less than p times the largest.
    """

    share: float
    consequence: Consequence
    coalition: int = 1


@dataclass(frozen=True, slots=True)
class PriorPosterior:
    """(p,q): p% where everybody knows each contribution to within the share q beforehand."""

    p: float
    q: float
    consequence: Consequence
    coalition: int = 1


@dataclass(frozen=True, slots=True)
class LinearSensitivity:
    """Unsafe if weights of the largest units and a negative one of all others sum to more than 0."""

    weights: tuple[float, ...]
    rest: float
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class Contributions:
    """What counts as a unit's contribution to a cell, for dominance, p%, (p,q) and linear measures."""

    negative: NegativeValues = NegativeValues.ABSOLUTE
    weighted: bool = False
    """Whether it is weight times value: then what is judged is the weighted total."""
    sampling_probability: float = 0.0
    """How likely sampling may leave an estimate by p% or (p,q) to be too close; 0: it is not counted on."""


ABSOLUTE_VALUES = Contributions()
"""What a contribution is unless a policy says otherwise."""


@dataclass(frozen=True, slots=True)
class GroupDisclosure:
    """Unsafe if one category of a sensitive variable holds at least this share of the units of its line."""

    share: float
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class EqualValues:
    """Unsafe if largest and smallest value differ by at most this share of the largest absolute one."""

    tolerance: float
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class IndividualRisk:
    """Unsafe if the expected correct matches exceed this share of the filtered base.

    Over sample uniques the rule is silent where fewer than `tolerated_uniques` units are alone: in a small
    base it would tell of them by its consequence.
    """

    maximum_share: float
    all_cells: bool
    consequence: Consequence
    tolerated_uniques: int = 0


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that the risk service judges; None and () are not judged."""

    minimum_units: MinimumUnits | None = None
    minimum_households: MinimumHouseholds | None = None
    minimum_base: MinimumBase | None = None
    dominance: tuple[Dominance, ...] = ()
    p_percent: PPercent | None = None
    prior_posterior: PriorPosterior | None = None
    linear_sensitivity: tuple[LinearSensitivity, ...] = ()
    contributions: Contributions = ABSOLUTE_VALUES
    group_disclosure: GroupDisclosure | None = None
    equal_values: EqualValues | None = None
    individual_risk: IndividualRisk | None = None

    @property
    def ranks(self) -> int:
        """How many of the largest contributors of a cell the rules look at."""
        of_coalitions = [rule.coalition + 1 for rule in (self.p_percent, self.prior_posterior) if rule]
        of_linear = [len(rule.weights) for rule in self.linear_sensitivity]
        return max([rule.largest for rule in self.dominance] + of_coalitions + of_linear, default=0)

    @property
    def coalition(self) -> int:
        """Units that put together what they know to estimate the contribution of one more."""
        return self.p_percent.coalition if self.p_percent is not None else 1


@dataclass(frozen=True, slots=True)
class ProtectionLevels:
    """How uncertain each unsafe cell has to stay, in the order of a finding's cells; () is 0 in all.

    Of a finding on a measure they are about the sum, otherwise about the number of units. It must be
    possible that the true value is `upper` more, and that it is `lower` less than it is; and its least and
    greatest possible value must lie `sliding` apart, wherever they lie.
    """

    upper: tuple[float, ...] = ()
    lower: tuple[float, ...] = ()
    sliding: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that failed. `cells` are positions of unsafe cells; empty where it is the whole table."""

    rule: ReasonCode
    consequence: Consequence
    cells: tuple[int, ...] = ()
    measure: str = ""
    figure: float = 0.0
    bound: float = 0.0
    levels: ProtectionLevels = field(default=ProtectionLevels(), repr=False)
