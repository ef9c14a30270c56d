"""What rule sets for the release of microdata need to know of a file, and what they find.

The rule sets themselves: `researchers_rules` and `public_rules`, after those of Statistics Netherlands
(Handbook on Statistical Disclosure Control, 3.7). They are for microdata about persons, not for businesses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.keys import Missing, checked_codes, checked_weights, group_keys
from sdcgate.methods.risk.threshold import Base, Combination, Identifying, threshold_rule

NAMED = 20
"""Violating values that are named for each combination; all are counted."""


class Regional(Enum):
    """Whether a variable tells where somebody lives."""

    NONE = "none"
    DIRECT = "direct"
    """It names the place: municipality, province, postal code."""
    INDIRECT = "indirect"
    """It describes the place: size class or degree of urbanisation of the municipality."""


class Topic(Enum):
    """What the rules name by its subject."""

    OTHER = "other"
    NATIONALITY = "nationality"
    COUNTRY_OF_BIRTH = "country of birth"
    ETHNICITY = "ethnicity"
    OCCUPATION = "occupation"
    FIRM = "firm"
    EDUCATION = "education"


class Outcome(Enum):
    """What becomes of a rule; only `MET` is no reason to hold a file back."""

    MET = "met"
    VIOLATED = "violated"
    UNDECIDED = "undecided"
    """What is needed to judge it was not told; the explanation says what."""


@dataclass(frozen=True, slots=True)
class ReleasedVariable:
    """One column of the file as it would be released."""

    name: str
    identifying: Identifying = Identifying.NO
    direct_identifier: bool = False
    """Name, address, social security number: tells by itself who it is."""
    sensitive: bool = False
    household: bool = False
    """A household variable: the same for all members."""
    regional: Regional = Regional.NONE
    kind: str = ""
    """Of an indirect regional variable: what it tells of the place, such as size; its name where left out."""
    topic: Topic = Topic.OTHER


@dataclass(frozen=True, slots=True, eq=False)
class Municipalities:
    """The places of the target population, arrays of shape (municipalities,) unless said otherwise."""

    inhabitants: IntArray
    """Persons of the target population in each."""
    provinces: IntArray
    """The province of each, any integers."""
    variables: tuple[int, ...]
    """Columns of the file's regional variables, direct and indirect."""
    codes: IntArray
    """The code of each municipality in these, shape (municipalities, regional variables)."""


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseFile:
    """A file that is to be released, a row a unit, and what rules ask about it. None means not told."""

    variables: tuple[ReleasedVariable, ...]
    codes: IntArray = field(repr=False)
    """Codes of each variable, shape (units, variables), -1 where missing."""
    weights: FloatArray | None = field(default=None, repr=False)
    """Weights (units,), which estimate the population; None where the file is the population."""
    base: Base = Base.POPULATION
    """Whether minimums on values count the population, as the rules say, or the sample."""
    weights_released: bool = False
    design: IntArray | None = field(default=None, repr=False)
    """Design variables that are not released (stratum, cluster, region), shape (units, design variables)."""
    households: IntArray | None = field(default=None, repr=False)
    """The household of each unit, shape (units,), any integers."""
    municipalities: Municipalities | None = None
    panel: bool | None = None
    reference_date: date | None = None
    release_date: date | None = None
    random_order: bool | None = None
    """Whether the steward has put the records in random order; the records may tell otherwise."""

    def __post_init__(self) -> None:
        columns = checked_codes(self.codes)
        units = len(columns)
        if len(self.variables) != columns.shape[1]:
            raise ValueError(f"variables: {len(self.variables)} for {columns.shape[1]} columns of codes")
        if self.weights is not None:
            checked_weights(self.weights, units)
        for name in ("design", "households"):
            given = getattr(self, name)
            if given is not None and len(given) != units:
                raise ValueError(f"{name} must have a value for each of the {units} units")
        if self.municipalities is not None:
            _check_municipalities(self.municipalities, self.variables)

    def columns(self, *regions: Regional) -> list[int]:
        """Columns of the regional variables of these kinds."""
        return [column for column, variable in enumerate(self.variables) if variable.regional in regions]


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that a rule does not allow. Its values are hidden from repr: they are rare."""

    variables: tuple[str, ...]
    codes: tuple[int, ...] = field(default=(), repr=False)
    """The variables' codes, where it is about values."""
    figure: float | None = field(default=None, repr=False)
    """What was found, where it is a number: persons, inhabitants, households, a share."""


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What one rule finds."""

    rule: int
    """Its number in the handbook's list."""
    requirement: str
    outcome: Outcome
    explanation: str
    """In words: why, or what has to be told to judge it. Never a value of a record."""
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleSetFindings:
    """What a rule set finds, rule by rule."""

    rules: tuple[RuleFinding, ...]

    @property
    def met(self) -> bool:
        """Whether every rule is met; a rule that could not be judged is not."""
        return all(finding.outcome is Outcome.MET for finding in self.rules)


@dataclass(frozen=True, slots=True)
class Area:
    """A place that the file's regional variables tell apart; `codes` in the order of their columns."""

    codes: tuple[int, ...]
    inhabitants: int
    provinces: int
    """From how many provinces its municipalities come."""
    largest_share: float
    """Share of its inhabitants in its largest municipality; 1 where it has none."""


def areas(file: ReleaseFile, columns: Sequence[int]) -> list[Area] | None:
    """The places that these regional variables tell apart together and in which somebody in the file lives.

    A missing code is no information: the place is then all that the other codes leave. None where the
    municipalities, or some of the columns, were not told.
    """
    places = file.municipalities
    if places is None or not set(columns) <= set(places.variables):
        return None
    told = places.codes[:, [places.variables.index(column) for column in columns]]
    rows = np.asarray(file.codes)[:, list(columns)]
    found = []
    for row in rows[group_keys(rows).first].tolist() if len(rows) else []:
        within = ((told == row) | (np.asarray(row) < 0)).all(axis=1)
        inhabitants = places.inhabitants[within]
        total = int(inhabitants.sum())
        share = float(inhabitants.max() / total) if total else 1.0
        found.append(Area(tuple(row), total, len(np.unique(places.provinces[within])), share))
    return found


def judge(
    rule: int, requirement: str, violations: Sequence[Violation], violated: str, met: str
) -> RuleFinding:
    """A finding that is violated where there are violations, with the explanation that fits."""
    outcome = Outcome.VIOLATED if violations else Outcome.MET
    return RuleFinding(rule, requirement, outcome, violated if violations else met, tuple(violations))


def undecided(rule: int, requirement: str, needed: str) -> RuleFinding:
    """A finding that says what has to be told."""
    return RuleFinding(rule, requirement, Outcome.UNDECIDED, f"Cannot be judged: tell {needed}.")


def judge_names(rule: int, requirement: str, names: Sequence[str], wrong: str) -> RuleFinding:
    """A finding on variables that may not be in the file."""
    violations = [Violation((name,)) for name in names]
    return judge(rule, requirement, violations, f"{wrong}: {', '.join(names)}.", "The file has none.")


def judge_combinations(
    rule: int, requirement: str, file: ReleaseFile, combined: Sequence[Combination]
) -> RuleFinding:
    """A finding on combinations of values that too few have; missing values agree with all."""
    if not combined:
        return judge(rule, requirement, [], "", "The file has no such variables.")
    found = threshold_rule(file.codes, combined, file.base, file.weights, Missing.WILDCARD, NAMED)
    violations = [
        Violation(tuple(file.variables[key].name for key in one.keys), tuple(codes), frequency)
        for one in found.combinations
        for codes, frequency in zip(one.codes.tolist(), one.frequencies.tolist(), strict=True)
    ]
    unsafe = [one for one in found.combinations if one.unsafe_cells]
    listed = "; ".join(
        f"{' x '.join(file.variables[key].name for key in one.keys)}: {one.unsafe_cells}" for one in unsafe
    )
    return judge(
        rule,
        requirement,
        violations,
        f"{found.unsafe_cells} values are too rare, {found.unsafe_units} units have one: {listed}.",
        f"All values of {len(combined)} combinations are common enough.",
    )


def _check_municipalities(places: Municipalities, variables: tuple[ReleasedVariable, ...]) -> None:
    number = len(places.inhabitants)
    if len(places.provinces) != number or np.shape(places.codes) != (number, len(places.variables)):
        raise ValueError(
            "municipalities: inhabitants, provinces and codes must be of the same municipalities"
        )
    if number and int(np.min(places.inhabitants)) < 0:
        raise ValueError("municipalities: inhabitants must not be negative")
    for column in places.variables:
        if not (0 <= column < len(variables)) or variables[column].regional is Regional.NONE:
            raise ValueError(f"municipalities: column {column} is no regional variable")
