"""Household risk: the probability that at least one member of a household is re-identified.

Who recognises one member knows them all, since a file with households shows who belongs together. Source:
Handbook on Statistical Disclosure Control, 3.3.5, from "The household risk" to the end; Polettini 2003.
"""

from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.positions import at_positions
from sdcgate.methods.risk.file_level import at_least
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.keys import group_keys, weight_sums
from sdcgate.methods.risk.units import group_ids


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdRisks:
    """The risk of each household, in the order in which they first appear; arrays of shape (households,)."""

    household: IntArray
    """Position of each unit's household, shape (units,)."""
    sizes: IntArray
    """Members |g| in the file."""
    risks: FloatArray
    """r_g = 1 - product of (1 - r_i): exact where members are re-identified independently."""
    lower: FloatArray
    """Largest r_i: no dependence makes the risk smaller."""
    upper: FloatArray
    """Sum of r_i, 1 at most: no dependence makes it larger."""

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, slots=True)
class HierarchicalFileRisk:
    """The risk of a file whose households are recognisable."""

    units: int
    households: int
    expected_matches: float
    """Expected re-identified units, sum of |g| r_g: with one member all others are re-identified."""
    reidentification_rate: float
    """xi^h = expected matches / units."""
    maximum: float
    """Largest r_g."""


@dataclass(frozen=True, slots=True, eq=False)
class UnsafeHouseholds:
    """What a threshold r* on the household risk makes unsafe."""

    thresholds: FloatArray
    """delta_g = r* / |g|, the threshold on each member's own risk, shape (households,)."""
    households: BoolArray
    """r_g >= r*, shape (households,)."""
    units: BoolArray
    """Members of unsafe households with r_i >= delta_g, shape (units,). With their risks below delta_g no
    household is at r* or above."""


@dataclass(frozen=True, slots=True, eq=False)
class SizeRisks:
    """How recognisable households are by their size alone, which no suppression hides; shape (sizes,)."""

    sizes: IntArray
    """The sizes that occur, rising."""
    households: IntArray
    """Households of the sample of each size."""
    risks: FloatArray
    """Individual risk with the household as unit and its size as key."""
    unsafe: BoolArray
    """At the threshold or above it: merge these sizes, or leave the household's id out of the file."""


def household_risk(risks: FloatArray, households: IntArray) -> HouseholdRisks:
    """The risk of each household from its members' risks.

    `risks` r_i (units,) lie in [0, 1]; `households` (units,) is the id of each unit's household, any
    integer. Raises ValueError where a risk is out of range or an id is no integer.
    """
    r = np.asarray(risks, dtype=np.float64)
    if r.ndim != 1:
        raise ValueError(f"risks must be one number a unit, not {r.shape}")
    problems = at_positions(~((r >= 0) & (r <= 1)), "risks must lie between 0 and 1")
    if problems:
        raise ValueError(problems[0])
    grouped = group_ids(households, len(r), "households")
    with np.errstate(divide="ignore"):  # log(0) of a certain match: the household's risk is 1
        escapes = np.bincount(grouped.group, np.log1p(-r), len(grouped))
    largest = np.zeros(len(grouped))
    np.maximum.at(largest, grouped.group, r)
    sums = np.bincount(grouped.group, r, len(grouped))
    return HouseholdRisks(
        household=grouped.group,
        sizes=grouped.counts,
        risks=np.maximum(-np.expm1(escapes), largest),
        lower=largest,
        upper=np.clip(sums, largest, 1.0),
    )


def hierarchical_file_risk(found: HouseholdRisks) -> HierarchicalFileRisk:
    """The risk of a whole hierarchical file. Raises ValueError where it has no household.

    A threshold on the household risk that keeps a rate: `file_level.threshold_for_rate` of the households'
    risks with their sizes.
    """
    if not len(found):
        raise ValueError("households: there is none, so there is no risk to tell")
    matches = float(found.sizes @ found.risks)
    return HierarchicalFileRisk(
        units=len(found.household),
        households=len(found),
        expected_matches=matches,
        reidentification_rate=matches / len(found.household),
        maximum=float(found.risks.max()),
    )


def unsafe_households(found: HouseholdRisks, risks: FloatArray, threshold: float) -> UnsafeHouseholds:
    """Which households a threshold r* makes unsafe, and which of their members have to be protected.

    `found` are the risks of the households of `risks` (units,); `threshold` is above 0 and at most 1. Two
    units of the same key may differ here, where their households differ in size and size is no key. Raises
    ValueError where the threshold is no probability or the risks are others.
    """
    r = np.asarray(risks, dtype=np.float64)
    if not 0 < threshold <= 1:
        raise ValueError("threshold must be above 0 and at most 1")
    if r.shape != found.household.shape:
        raise ValueError(f"risks must be those of the {len(found.household)} units of the households")
    thresholds = threshold / found.sizes
    unsafe = at_least(found.risks, threshold)
    members = unsafe[found.household] & at_least(r, thresholds[found.household])
    return UnsafeHouseholds(thresholds, unsafe, members)


def household_size_risk(sizes: IntArray, weights: FloatArray | None, threshold: float) -> SizeRisks:
    """How recognisable households are by their size alone.

    `sizes` (households,) at least 1, `weights` (households,) of the households, or None where the file has
    all; `threshold` above 0 and at most 1. Raises ValueError where a value is out of range.
    """
    members = np.asarray(sizes)
    if not 0 < threshold <= 1:
        raise ValueError("threshold must be above 0 and at most 1")
    if members.dtype.kind not in "iu" or members.ndim != 1:
        raise ValueError("sizes must be one integer a household")
    problems = at_positions(members < 1, "sizes must be at least 1")
    if problems:
        raise ValueError(problems[0])
    by_size = group_keys(members[:, None])
    probabilities = sampling_probabilities(by_size.counts, weight_sums(by_size, weights))
    risks = individual_risk(by_size.counts, probabilities)
    occurring = members[by_size.first].astype(np.int64)
    order = np.argsort(occurring)
    return SizeRisks(
        sizes=occurring[order],
        households=by_size.counts[order],
        risks=risks[order],
        unsafe=at_least(risks[order], threshold),
    )
