"""The rules of an effective policy, and what they find; the numbers of the enums are those of the wire."""

from dataclasses import dataclass
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
    """Unsafe if the total without the two largest units is less than the share p of the largest."""

    share: float
    consequence: Consequence


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
    """Unsafe if the expected correct matches exceed this share of the filtered base."""

    maximum_share: float
    all_cells: bool
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that the risk service judges; None and () are not judged."""

    minimum_units: MinimumUnits | None = None
    minimum_households: MinimumHouseholds | None = None
    minimum_base: MinimumBase | None = None
    dominance: tuple[Dominance, ...] = ()
    p_percent: PPercent | None = None
    group_disclosure: GroupDisclosure | None = None
    equal_values: EqualValues | None = None
    individual_risk: IndividualRisk | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that failed. `cells` are positions of unsafe cells; empty where it is the whole table."""

    rule: ReasonCode
    consequence: Consequence
    cells: tuple[int, ...] = ()
    measure: str = ""
    figure: float = 0.0
    bound: float = 0.0
