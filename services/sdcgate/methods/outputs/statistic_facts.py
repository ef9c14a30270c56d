"""What the checks of a statistic need to know of each group: facts that a caller may also tell of his own."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import BoolArray, Facts, FloatArray, IntArray, MeasureFacts
from sdcgate.methods.outputs.sample import Sample, added
from sdcgate.methods.positions import FactProblem
from sdcgate.methods.tables.column_checks import Problems, where
from sdcgate.methods.tables.fact_checks import fact_problems


class Statistic(IntEnum):
    """Classes of statistics, each with checks of its own; the numbers are those of the wire."""

    UNSPECIFIED = 0
    MEAN = 1
    TOTAL = 2
    RATIO = 3
    PROPORTION = 4
    VARIANCE = 5
    STANDARD_DEVIATION = 6
    SKEWNESS = 7
    KURTOSIS = 8
    PERCENTILES = 9
    MODE = 10
    MINIMUM = 11
    MAXIMUM = 12
    RANGE = 13
    GINI = 14
    LORENZ_CURVE = 15
    HERFINDAHL = 16
    CONCENTRATION_RATIO = 17
    ODDS_RATIO = 18
    RISK_RATIO = 19
    HISTOGRAM = 20
    DENSITY = 21
    BOX_PLOT = 22
    HEXAGONAL_BINS = 23
    KAPLAN_MEIER = 24
    NELSON_AALEN = 25
    CORRELATIONS = 26
    PRINCIPAL_COMPONENTS = 27
    CHI_SQUARED_TEST = 28
    T_TEST = 29
    MANN_WHITNEY_TEST = 30
    KOLMOGOROV_SMIRNOV_TEST = 31
    ANALYSIS_OF_VARIANCE = 32


@dataclass(frozen=True, slots=True, eq=False)
class ClosestBound:
    """How closely what a statistic tells bounds one value of each group."""

    name: str
    closeness: FloatArray = field(repr=False)
    """By how much the bound lies beyond the value, as a share of it, shape (groups,); 0: it is the value."""


@dataclass(frozen=True, slots=True, eq=False)
class PercentileFacts:
    """The units beneath one percentile of each group, each shape (groups,)."""

    point: float
    """Share of the population below it, above 0 and below 1."""
    window_units: IntArray = field(repr=False)
    """Units whose values are averaged."""
    side_units: IntArray = field(repr=False)
    """The fewest units that lie below the window, above it, or between it and another of the group."""
    window_households: FloatArray | None = field(default=None, repr=False)
    """Households of the window."""
    side_households: FloatArray | None = field(default=None, repr=False)
    """The fewest households that lie below the window, above it, or between it and another of the group."""

    @property
    def name(self) -> str:
        """As findings name it: `P50`."""
        return f"P{100 * self.point:g}"


@dataclass(frozen=True, slots=True, eq=False)
class ExtremeFacts:
    """How many units of each group have exactly the least or greatest value, shape (groups,)."""

    name: str
    """`minimum` or `maximum`."""
    sharing_units: IntArray = field(repr=False)
    sharing_households: FloatArray | None = field(default=None, repr=False)
    """How many households' members have it."""


TOO_MANY = "must not exceed the units of the group"
PRIMARY_UNITS = "primary units"
"""Name of the implied cells on which all errors of a group rest: what they break withholds every figure."""


@dataclass(frozen=True, slots=True, eq=False)
class ImpliedCells:
    """Units in the cells of a table that a statistic implies, shape (groups, cells)."""

    name: str
    units: IntArray = field(repr=False)
    households: FloatArray | None = field(default=None, repr=False)
    """Households in them, of the same shape."""


@dataclass(frozen=True, slots=True, eq=False)
class ResidualShare:
    """How much of what is left unexplained of each group is one unit's, whoever works together."""

    name: str
    """`a by b` of two measures; `cells`."""
    shares: FloatArray = field(repr=False)
    """Of the largest unit, without what a coalition of the next largest knows as its own; shape (groups,)."""


@dataclass(frozen=True, slots=True, eq=False)
class StatisticFacts:
    """True facts of a statistic, a value a group; () and None where unknown. Hidden from repr.

    `table` are the groups as cells, with the sums that the statistic tells of: units, records, and of each
    measure its largest contributors.
    """

    table: Facts
    bounds: tuple[ClosestBound, ...] = ()
    percentiles: tuple[PercentileFacts, ...] = ()
    extremes: tuple[ExtremeFacts, ...] = ()
    modal_shares: FloatArray | None = field(default=None, repr=False)
    """Share of the units in the most frequent category, shape (groups,)."""
    implied: tuple[ImpliedCells, ...] = ()
    residual_shares: tuple[ResidualShare, ...] = ()


def statistic_problems(facts: StatisticFacts) -> list[FactProblem]:
    """All that is wrong with facts: paths and positions of groups, no value."""
    groups = len(facts.table)
    return [*fact_problems(facts.table, groups), *_other_problems(facts, groups)]


def _other_problems(facts: StatisticFacts, groups: int) -> Problems:
    for place, percentile in enumerate(facts.percentiles):
        if not 0 < percentile.point < 1:
            yield FactProblem(f"facts.percentiles[{place}].point", "must be above 0 and below 1")
    yield from _window_problems(facts, groups)
    for place, table in enumerate(facts.implied):
        yield from _implied_problems(facts.table, table, f"facts.implied[{place}]", groups)
    for path, values in _columns(facts):
        if values.shape != (groups,):
            yield FactProblem(path, f"must be one value for each of {groups} groups, not {values.shape}")
        else:
            yield from where(path, np.asarray(values < 0), "must not be negative")
            if path.endswith("_units") and facts.table.units.shape == (groups,):
                yield from where(path, np.asarray(values > facts.table.units), TOO_MANY)
    if facts.modal_shares is not None:
        beyond: BoolArray = facts.modal_shares > 1
        yield from where("facts.modal_shares", beyond, "must not exceed 1")


DIVIDING = frozenset(
    {
        Statistic.PROPORTION,
        Statistic.MODE,
        Statistic.CONCENTRATION_RATIO,
        Statistic.ODDS_RATIO,
        Statistic.RISK_RATIO,
        Statistic.CHI_SQUARED_TEST,
        Statistic.T_TEST,
        Statistic.MANN_WHITNEY_TEST,
        Statistic.KOLMOGOROV_SMIRNOV_TEST,
        Statistic.ANALYSIS_OF_VARIANCE,
    }
)
"""Statistics whose implied tables have each record of a group in one cell."""


def implied_problems(statistic: Statistic, facts: StatisticFacts) -> list[FactProblem]:
    """Implied tables whose cells add up to fewer than the units of their group, or to more than its records.

    Facts whose columns do not fit are not looked at: `statistic_problems` names them.
    """
    found: list[FactProblem] = []
    groups = len(facts.table)
    if statistic not in DIVIDING:
        return found
    for place, table in enumerate(facts.implied):
        if table.name == PRIMARY_UNITS or table.units.ndim != 2 or table.units.shape[0] != groups:
            continue
        path, added_up = f"facts.implied[{place}].units", table.units.sum(axis=1)
        if facts.table.units.shape == (groups,):
            fewer = np.asarray(added_up < facts.table.units)
            said = "add up to fewer than the units of their group, of which who has no value is none"
            found += where(path, fewer, said)
        if facts.table.records.shape == (groups,):
            more = np.asarray(added_up > facts.table.records)
            found += where(path, more, "add up to more than the records of their group")
    return found


def _implied_problems(groups_facts: Facts, table: ImpliedCells, path: str, groups: int) -> Problems:
    if table.units.ndim != 2 or table.units.shape[0] != groups:
        yield FactProblem(f"{path}.units", f"must have a row for each of {groups} groups")
        return
    yield from where(f"{path}.units", table.units.min(axis=1, initial=0) < 0, "must not be negative")
    if groups_facts.units.shape == (groups,):
        most: IntArray = table.units.max(axis=1, initial=0)
        yield from where(f"{path}.units", np.asarray(most > groups_facts.units), TOO_MANY)
    if table.households is None:
        return
    if table.households.shape != table.units.shape:
        yield FactProblem(f"{path}.households", "must be as many as the units")
    else:
        least = table.households.min(axis=1, initial=0)
        yield from where(f"{path}.households", ~(least >= 0), "must not be negative")


def _window_problems(facts: StatisticFacts, groups: int) -> Problems:
    """Windows that leave no room beside them: each unit in the window and on its sides has a record there.

    Between two windows that touch nobody is beside, and the sides are those of the window itself.
    """
    records = facts.table.records
    for place, one in enumerate(facts.percentiles):
        if records.shape == one.window_units.shape == one.side_units.shape == (groups,):
            sides = np.where(one.side_units == one.window_units, 0, 2 * one.side_units)
            beyond = np.asarray(one.window_units + sides > records)
            message = "must not exceed the records of the group with what lies beside it"
            yield from where(f"facts.percentiles[{place}].window_units", beyond, message)


def _columns(facts: StatisticFacts) -> Iterator[tuple[str, FloatArray | IntArray]]:
    """What has one value a group, with its path."""
    for place, percentile in enumerate(facts.percentiles):
        path = f"facts.percentiles[{place}]"
        yield f"{path}.window_units", percentile.window_units
        yield f"{path}.side_units", percentile.side_units
        if percentile.window_households is not None:
            yield f"{path}.window_households", percentile.window_households
        if percentile.side_households is not None:
            yield f"{path}.side_households", percentile.side_households
    for place, extreme in enumerate(facts.extremes):
        yield f"facts.extremes[{place}].sharing_units", extreme.sharing_units
        if extreme.sharing_households is not None:
            yield f"facts.extremes[{place}].sharing_households", extreme.sharing_households
    for place, bound in enumerate(facts.bounds):
        yield f"facts.bounds[{place}].closeness", bound.closeness
    for place, residual in enumerate(facts.residual_shares):
        yield f"facts.residual_shares[{place}].shares", residual.shares
    if facts.modal_shares is not None:
        yield "facts.modal_shares", facts.modal_shares


def facts_of_groups(
    sample: Sample, names: tuple[str, ...], measures: tuple[FloatArray, ...], ranks: int
) -> Facts:
    """Groups as cells: units, records, and of each measure (values of the records) its contributors.

    `measures` are arrays of shape (records,), `ranks` how many of the largest contributors are wanted.
    """
    return Facts(
        units=sample.units_of_groups,
        records=sample.records_of_groups,
        households=sample.households_of_groups,
        measures=tuple(
            measure_facts(sample, name, values, ranks) for name, values in zip(names, measures, strict=True)
        ),
    )


def measure_facts(sample: Sample, name: str, values: FloatArray, ranks: int) -> MeasureFacts:
    """The contributors to a sum of each group. A unit's contribution is the absolute sum of its records."""
    groups, _, _ = sample.unit_groups
    held = np.abs(sample.unit_sums(values))
    weighted = None if sample.weights is None else sample.sums(sample.weights * values)
    return MeasureFacts(
        name=name,
        sums=sample.sums(values),
        valid_records=sample.records_of_groups,
        valid_units=sample.units_of_groups,
        largest=largest_of_groups(groups, held, sample.number_of_groups, ranks),
        absolute_sums=added(groups, held, sample.number_of_groups),
        minima=extremes_of_groups(sample, values, least=True),
        maxima=extremes_of_groups(sample, values, least=False),
        weighted_sums=weighted,
        valid_weight_sums=None if sample.weights is None else sample.sums(sample.weights),
    )


def largest_of_groups(groups: IntArray, held: FloatArray, number_of_groups: int, ranks: int) -> FloatArray:
    """The largest of each group in descending order, 0 where there are fewer, shape (groups, ranks)."""
    order = np.lexsort((-held, groups))
    starts = np.searchsorted(groups[order], np.arange(number_of_groups))
    rank = np.arange(len(groups)) - starts[groups[order]]
    shown = rank < ranks
    largest = np.zeros((number_of_groups, ranks))
    largest[groups[order][shown], rank[shown]] = held[order][shown]
    return largest


def extremes_of_groups(sample: Sample, values: FloatArray, least: bool) -> FloatArray:
    """Least or greatest value of each group, 0 of an empty one, shape (groups,)."""
    found = np.full(sample.number_of_groups, np.inf if least else -np.inf)
    (np.minimum if least else np.maximum).at(found, sample.groups, values)
    return np.where(sample.records_of_groups > 0, found, 0.0)
