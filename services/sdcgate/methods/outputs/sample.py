"""The records that a statistic is computed from: one measure, in groups, with units, weights and a design."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.households import Households
from sdcgate.methods.positions import FactProblem, FactsError
from sdcgate.methods.tables.column_checks import Problems, where


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """How records were drawn: strata, and within them clusters, the first stage of sampling."""

    strata: IntArray | None = field(default=None, repr=False)
    """Stratum of each record, 0.., shape (records,); None: one stratum."""
    clusters: IntArray | None = field(default=None, repr=False)
    """Cluster of each record, 0.., shape (records,), numbered over all strata; None: each unit is one."""
    sampled: IntArray | None = field(default=None, repr=False)
    """Clusters drawn in each stratum, shape (strata,), those without a record here included; None: only
    those that have one, which is right where groups and filter cut through no stratum."""
    fractions: FloatArray | None = field(default=None, repr=False)
    """Sampling fraction of each stratum's clusters, shape (strata,); None: drawn with replacement."""


SIMPLE = Design()
"""A simple random sample of units."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Records of one measure in groups; every array has shape (records,).

    Records without a value are left out before: the population of a statistic has the measure.

    Raises:
        FactsError: naming all that is wrong, by arrays and positions, never a value.
    """

    values: FloatArray = field(repr=False)
    groups: IntArray = field(repr=False)
    """Group of each record, 0..number_of_groups - 1: the cells of a table without totals."""
    units: IntArray = field(repr=False)
    """Unit of each record, 0..; a unit may have several records."""
    number_of_groups: int
    weights: FloatArray | None = field(default=None, repr=False)
    """Weights above 0; None: each record counts once."""
    design: Design = SIMPLE
    households: Households | None = field(default=None, repr=False)
    """None where nobody asks how many there are, or it is not known."""

    def __post_init__(self) -> None:
        if problems := list(_problems(self)):
            raise FactsError(problems)

    @cached_property
    def counted(self) -> FloatArray:
        """Weights, 1 where there are none, shape (records,)."""
        return np.ones(len(self.values)) if self.weights is None else self.weights

    @cached_property
    def records_of_groups(self) -> IntArray:
        """Records of each group, shape (groups,)."""
        return np.bincount(self.groups, minlength=self.number_of_groups)

    @cached_property
    def unit_groups(self) -> tuple[IntArray, IntArray, IntArray]:
        """Pairs of a group and a unit with a record there, by group: groups, units, pair of each record."""
        span = int(self.units.max(initial=0)) + 1
        pairs, of_records = np.unique(self.groups * span + self.units, return_inverse=True)
        return pairs // span, pairs % span, of_records

    @cached_property
    def units_of_groups(self) -> IntArray:
        """Distinct units of each group, shape (groups,)."""
        groups, _, _ = self.unit_groups
        return np.bincount(groups, minlength=self.number_of_groups)

    @property
    def members(self) -> list[IntArray]:
        """Positions of each group's records, ascending, an array a group."""
        order = np.argsort(self.groups, kind="stable")
        return np.split(order, np.cumsum(self.records_of_groups)[:-1])

    def sums(self, per_record: FloatArray) -> FloatArray:
        """Sums over each group's records, shape (groups,)."""
        return added(self.groups, per_record, self.number_of_groups)

    def unit_sums(self, per_record: FloatArray) -> FloatArray:
        """Sums over the records of each unit in each group, in the order of `unit_groups`."""
        groups, _, of_records = self.unit_groups
        return added(of_records, per_record, len(groups))

    def distinct_units(self, of: BoolArray) -> IntArray:
        """Distinct units of each group with a record among some, shape (groups,); `of` is (records,)."""
        groups, _, of_records = self.unit_groups
        return np.bincount(groups[np.unique(of_records[of])], minlength=self.number_of_groups)

    @cached_property
    def households_of_groups(self) -> FloatArray | None:
        """Households of each group, shape (groups,); None where they are not known."""
        return self.households_at(self.groups, self.number_of_groups)

    def households_at(self, places: IntArray, number: int, of: BoolArray | None = None) -> FloatArray | None:
        """Households with a record at each of `number` places, shape (number,), or with one among some.

        Never more than units, though a unit may have moved between households. None where they are not known.
        `places` and `of` are (records,).
        """
        if self.households is None:
            return None
        records = np.arange(len(places)) if of is None else np.flatnonzero(of)
        there = places[records]
        span = int(self.units.max(initial=0)) + 1
        units = np.bincount(np.unique(there * span + self.units[records]) // span, minlength=number)
        return np.minimum(self.households.part(records).at_places(there, number), units)

    def with_values(self, values: FloatArray) -> "Sample":
        """The same records with other values. Raises FactsError as the class does."""
        return replace(self, values=values)

    @property
    def plain(self) -> "Sample":
        """The same records, each of which counts once, as though drawn at random."""
        return replace(self, weights=None, design=SIMPLE)

    def divided(self, parts: IntArray, number: int) -> "Sample":
        """The same values without weights, each group in `number` parts; `parts` has those of the records."""
        places = self.groups * number + parts
        return replace(self.plain, groups=places, number_of_groups=self.number_of_groups * number)


def added(places: IntArray, amounts: FloatArray, number: int) -> FloatArray:
    """Sums of the amounts at each of `number` places, shape (number,)."""
    sums: FloatArray = np.bincount(places, amounts, number).astype(np.float64)
    return sums


def _problems(sample: Sample) -> Problems:
    misfits = list(_misfits(sample))
    yield from misfits
    if misfits:
        return
    yield from where("values", ~np.isfinite(sample.values), "must be finite")
    outside = (sample.groups < 0) | (sample.groups >= sample.number_of_groups)
    yield from where("groups", outside, f"must be from 0 to {sample.number_of_groups - 1}")
    yield from where("units", sample.units < 0, "must not be negative")
    if sample.weights is not None:
        # A record of weight 0 would be a unit that counts for the threshold and adds nothing.
        wrong = ~(np.isfinite(sample.weights) & (sample.weights > 0))
        yield from where("weights", wrong, "must be finite and above 0")
    yield from _design_problems(sample.design)


def _misfits(sample: Sample) -> Problems:
    """Columns that are not one value a record."""
    records = len(sample.values)
    if sample.number_of_groups < 1:
        yield FactProblem("number_of_groups", "must be at least 1")
    if not records:
        yield FactProblem("values", "must not be empty: no record is left to compute from")
    columns = {
        "values": sample.values,
        "groups": sample.groups,
        "units": sample.units,
        "weights": sample.weights,
        "design.strata": sample.design.strata,
        "design.clusters": sample.design.clusters,
        "households": None if sample.households is None else sample.households.holders,
    }
    for path, column in columns.items():
        if column is not None and column.shape != (records,):
            yield FactProblem(path, f"must have one value for each of {records} records")


def _design_problems(design: Design) -> Problems:
    for path, column in (("design.strata", design.strata), ("design.clusters", design.clusters)):
        if column is not None:
            yield from where(path, column < 0, "must not be negative")
    strata = 1 if design.strata is None else int(design.strata.max(initial=0)) + 1
    for path, of_strata in (("design.sampled", design.sampled), ("design.fractions", design.fractions)):
        if of_strata is not None and of_strata.shape != (strata,):
            yield FactProblem(path, f"must have one value for each of {strata} strata")
    if design.sampled is not None:
        yield from where("design.sampled", design.sampled < 0, "must not be negative")
    if design.fractions is not None:
        outside = ~((design.fractions >= 0) & (design.fractions <= 1))
        yield from where("design.fractions", outside, "must be from 0 to 1")
