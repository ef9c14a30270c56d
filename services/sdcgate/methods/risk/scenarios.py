"""Disclosure scenarios: what an intruder is taken to know and to do, and the risk of a file under each.

A scenario says which variables the intruder has (the key), whether he knows who took part, and whether he is
after persons or whole households. Three are usual: a nosy neighbour who recognises somebody he knows, and an
archive of individuals or of households with names that is matched with the file. Several apply at once.
Sources: Handbook on Statistical Disclosure Control, 3.3.2 and 3.8.1 (electoral roll, population register);
Benedetti, Capobianchi and Franconi, Individual Risk of Disclosure Using Sampling Design Information, 3.1, for
the factors d, e and t; Handbook 3.3.5 for households.
"""

from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk import household
from sdcgate.methods.risk.file_level import AT_BOUND, at_least
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.keys import Frequencies, Keys, Missing, group_keys
from sdcgate.methods.risk.microdata import KeyVariable, Microdata, by_units
from sdcgate.methods.risk.risk_factors import Factors, final_risk
from sdcgate.methods.risk.wildcards import compatible_frequencies

NO_POPULATION = (
    "nothing tells how many people stand for a unit: give a weight, a sampling fraction or a population, or "
    "say that the intruder knows who took part"
)
NO_HOUSEHOLDS = "the file has no household: name its column"


class ScenarioKind(Enum):
    """The usual disclosure scenarios (Handbook on Statistical Disclosure Control, 3.3.2 and 3.8.1)."""

    NOSY_NEIGHBOUR = "nosy neighbour"
    """Somebody knows one unit or a few very well, and recognises them."""
    INDIVIDUAL_ARCHIVE = "individual archive"
    """A list of persons with their names is matched with the file: an electoral roll."""
    HOUSEHOLD_ARCHIVE = "household archive"
    """A list of households with their members is matched with it: a population register."""


class ScenarioTarget(Enum):
    """What is re-identified at once."""

    INDIVIDUAL = "individual"
    HOUSEHOLD = "household"
    """Who finds one member of a household finds them all."""


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A disclosure scenario on the records of a file; `scenarios` measures the risk under it."""

    name: str
    kind: ScenarioKind | None
    """None where it is none of the usual ones."""
    keys: tuple[KeyVariable, ...]
    """What the intruder knows."""
    codes: IntArray = field(repr=False)
    """Codes of these from 0, -1 where missing, shape (records, keys)."""
    missing: Missing = Missing.CATEGORY
    response_known: bool = False
    """Whether he knows who took part: the sample is then his population."""
    factors: Factors = field(default_factory=Factors)
    """d, e and t, each one number."""
    target: ScenarioTarget = ScenarioTarget.INDIVIDUAL
    threshold: float | None = None
    """Risk at which a unit is unsafe; that of the assessment where it is None."""


class Measure(Enum):
    """What the risk of a unit is under a scenario."""

    POPULATION = "population"
    """r_k = E(1/F_k | f_k): he does not know who took part."""
    RESPONSE = "response"
    """1/f_k: he knows who took part."""


@dataclass(frozen=True, slots=True)
class WorstGroup:
    """The units with the largest risk under a scenario. Their values are not told."""

    units: int
    key_cells: int
    """Keys that these units have."""
    frequency: int
    """Smallest f_k among them."""
    population: float | None
    """Smallest estimate of F_k among them; None where nothing tells it."""
    first_records: IntArray = field(repr=False)
    """Numbers of their first records in the file, from 1: as many as were asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class ScenarioRisk:
    """The risk of a file under one scenario; under `HOUSEHOLD` a unit has the risk of its household."""

    scenario: Scenario
    keys: tuple[KeyVariable, ...]
    """What the intruder knows of a unit: one for each wave where values vary within units."""
    measure: Measure
    units: int
    key_cells: int
    sample_uniques: int
    """Units with f_k = 1."""
    expected_matches: float
    """Expected correct matches: the sum of the units' risks."""
    reidentification_rate: float
    """As a share of the units."""
    maximum: float
    threshold: float
    unsafe_units: int
    """Units with a risk at the threshold or above."""
    unsafe_households: int | None
    """Households with such a risk; None where persons are looked for."""
    worst: WorstGroup
    risks: FloatArray = field(repr=False)
    """Of each row, which is a unit unless units were counted, shape (rows,)."""
    counts: IntArray = field(repr=False)
    """Units of each row."""


@dataclass(frozen=True, slots=True)
class Together:
    """All scenarios at once: each unit at the largest risk that it has under any."""

    expected_matches: float
    reidentification_rate: float
    maximum: float
    unsafe_units: int
    """Units at the threshold of a scenario, or above, in at least one."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedUnits:
    """Units counted by their values: a row stands for all units that have the same."""

    keys: tuple[KeyVariable, ...]
    codes: IntArray = field(repr=False)
    """Shape (rows, keys), -1 where missing."""
    counts: IntArray = field(repr=False)
    """Units of each row, at least 1, shape (rows,)."""
    weight_sums: FloatArray | None = field(repr=False)
    """Sum of their weights, shape (rows,); None where nothing tells how many people a unit stands for."""
    households: IntArray | None = field(default=None, repr=False)
    """Household of each row, where each is one unit, any integers."""
    first: IntArray | None = field(default=None, repr=False)
    """First record of each row in the file, where each is one unit that a caller handed in."""


def scenario_risk(file: Microdata, scenario: Scenario, threshold: float, named: int = 0) -> ScenarioRisk:
    """The risk of a file under one scenario.

    `threshold` holds where the scenario has none of its own; `named` records of the worst group are told by
    number. Raises ValueError where the file lacks what the scenario needs, or a figure is out of range.
    """
    units = by_units(
        replace(file, keys=scenario.keys, codes=scenario.codes, sensitive=(), scenarios=(), release=None)
    )
    ones = np.ones(len(units), dtype=np.int64)
    counted = CountedUnits(units.keys, units.codes, ones, units.weights, units.households, units.first)
    return counted_scenario_risk(counted, scenario, threshold, named)


def counted_scenario_risk(
    units: CountedUnits, scenario: Scenario, threshold: float, named: int = 0
) -> ScenarioRisk:
    """The risk under a scenario of units that were counted by its keys, as `scenario_risk`.

    The codes are those of `units`; of the scenario everything else holds. Households need a row a unit.
    """
    own = threshold if scenario.threshold is None else scenario.threshold
    if not 0 < own <= 1:
        raise ValueError("threshold must be above 0 and at most 1")
    keys = group_keys(units.codes)
    common = _frequencies(keys, units, scenario.missing)
    measure = Measure.RESPONSE if scenario.response_known else Measure.POPULATION
    risks = final_risk(_own_risks(units, common, measure), scenario.factors)
    unsafe_households = None
    if scenario.target is ScenarioTarget.HOUSEHOLD:
        if units.households is None:
            raise ValueError(NO_HOUSEHOLDS)
        found = household.household_risk(risks, units.households)
        unsafe_households = int(at_least(found.risks, own).sum())
        risks = found.risks[found.household]
    number, total = int(units.counts.sum()), float(units.counts @ risks)
    return ScenarioRisk(
        scenario=scenario,
        keys=units.keys,
        measure=measure,
        units=number,
        key_cells=len(keys),
        sample_uniques=int((common.f == 1).sum()),
        expected_matches=total,
        reidentification_rate=total / number,
        maximum=float(risks.max()),
        threshold=own,
        unsafe_units=int(units.counts[at_least(risks, own)].sum()),
        unsafe_households=unsafe_households,
        worst=_worst(units, keys, common, risks, named),
        risks=risks,
        counts=units.counts,
    )


def together(found: tuple[ScenarioRisk, ...]) -> Together:
    """All scenarios at once. Raises ValueError where there is none, or they are of different files."""
    if not found or any(not np.array_equal(one.counts, found[0].counts) for one in found):
        raise ValueError("scenarios: must be one or more of the same units")
    counts = found[0].counts
    largest = np.max([one.risks for one in found], axis=0)
    unsafe = np.any([at_least(one.risks, one.threshold) for one in found], axis=0)
    total = float(counts @ largest)
    return Together(
        expected_matches=total,
        reidentification_rate=total / float(counts.sum()),
        maximum=float(largest.max()),
        unsafe_units=int(counts[unsafe].sum()),
    )


def _frequencies(keys: Keys, units: CountedUnits, missing: Missing) -> Frequencies:
    """How common the key of each row is, in units and in their weights."""
    counts: FloatArray = np.bincount(keys.group, units.counts, len(keys)).astype(np.float64)
    f = np.rint(counts).astype(np.int64)
    sums = counts
    if units.weight_sums is not None:
        sums = np.bincount(keys.group, units.weight_sums, len(keys)).astype(np.float64)
    if missing is Missing.WILDCARD:
        f, sums = compatible_frequencies(np.asarray(units.codes)[keys.first], f, sums)
    return Frequencies(f[keys.group], sums[keys.group])


def _own_risks(units: CountedUnits, common: Frequencies, measure: Measure) -> FloatArray:
    """Each unit's own risk before the factors, shape (units,)."""
    if measure is Measure.RESPONSE:
        return np.asarray(1.0 / common.f, dtype=np.float64)
    if units.weight_sums is None:
        raise ValueError(NO_POPULATION)
    return individual_risk(common.f, sampling_probabilities(common.f, common.weight_sums))


def _worst(units: CountedUnits, keys: Keys, common: Frequencies, risks: FloatArray, named: int) -> WorstGroup:
    """The units whose risk is the largest, to within rounding."""
    worst = np.flatnonzero(risks >= risks.max() * (1 - AT_BOUND))
    numbers = np.zeros(0, dtype=np.int64) if units.first is None else units.first[worst[:named]] + 1
    return WorstGroup(
        units=int(units.counts[worst].sum()),
        key_cells=len(np.unique(keys.group[worst])),
        frequency=int(common.f[worst].min()),
        population=None if units.weight_sums is None else float(common.weight_sums[worst].min()),
        first_records=numbers,
    )
