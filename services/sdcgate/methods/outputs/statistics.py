"""One statistic of groups: its figures, and the facts by which they are judged."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs import association, extremes, inequality, linearised_errors, means, moments
from sdcgate.methods.outputs.percentiles import Percentiles, percentiles
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.methods.outputs.statistic_facts import (
    PRIMARY_UNITS,
    ImpliedCells,
    Statistic,
    StatisticFacts,
    facts_of_groups,
)
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.positions import FactProblem, FactsError

Column = TypeVar("Column", FloatArray, IntArray, BoolArray)

LARGEST = 4
"""Whose share of the total a concentration ratio is, unless another number is given."""


@dataclass(frozen=True, slots=True, eq=False)
class FactorColumn:
    """A factor of the records: its name, and the position of each record's code, shape (records,)."""

    name: str
    positions: IntArray = field(repr=False)
    number: int
    """How many codes there are."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """What some statistics need of the records beside values, each shape (records,)."""

    second: FloatArray | None = field(default=None, repr=False)
    """Denominators of a ratio."""
    has: BoolArray | None = field(default=None, repr=False)
    """Who has what a proportion counts, the outcome of a ratio of odds or risks, or the event of a survival
    curve, or is in the first of two samples."""
    exposed: BoolArray | None = field(default=None, repr=False)
    """The exposed of an odds or risk ratio."""
    categories: IntArray | None = field(default=None, repr=False)
    """Positions of the categories of which the mode is wanted."""
    number_of_categories: int = 0
    measures: tuple[tuple[str, FloatArray], ...] = field(default=(), repr=False)
    """Measures that are correlated, by name."""
    factors: tuple[FactorColumn, ...] = field(default=(), repr=False)
    """Of a chi-squared test or an analysis of variance."""


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A figure of each group, shape (groups,); NaN where it is not defined."""

    name: str
    values: FloatArray = field(repr=False)
    about: str = ""
    """The measure of the findings that withhold it; empty: every finding on a group does."""

    def shown(self, assessment: StatisticAssessment) -> FloatArray:
        """The figure with NaN for every group that must not leave, and for all where a rule is unchecked."""
        unsafe = assessment.unsafe(len(self.values), self.about or None)
        hidden = unsafe | bool(assessment.unchecked)
        return np.where(hidden, np.nan, self.values)


@dataclass(frozen=True, slots=True, eq=False)
class GroupCurve:
    """A curve of one group, which leaves where the group's figures do; shapes (points,)."""

    group: int
    name: str
    x: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class GroupRuns:
    """Runs of a group's records in the order of their values, of which sums are told; each shape (runs,)."""

    group: int
    lowest: FloatArray = field(repr=False)
    highest: FloatArray = field(repr=False)
    records: IntArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A statistic as computed: nothing of it may leave before it is assessed."""

    statistic: Statistic
    figures: tuple[Figure, ...]
    facts: StatisticFacts
    errors: bool = False
    """Whether standard errors are among the figures."""
    unreliable: BoolArray | None = field(default=None, repr=False)
    """Groups whose estimate is flagged as too uncertain, shape (groups,); None where nothing is estimated."""
    percentiles: Percentiles | None = field(default=None, repr=False)
    """What curves and box plots are made from."""
    curves: tuple[GroupCurve, ...] = field(default=(), repr=False)
    """Curves that are computed from the records."""
    runs: tuple[GroupRuns, ...] = field(default=(), repr=False)
    """Of survival the events of each step and after the last: all that have the event, in runs."""

    def released(self, assessment: StatisticAssessment) -> Percentiles | None:
        """The percentiles that may leave, in all groups: what curves and pictures are drawn from."""
        if self.percentiles is None:
            return None
        points = [figure.shown(assessment) for figure in self.figures[: len(self.percentiles.points)]]
        hidden = ~np.isfinite(np.stack(points, axis=1))
        found = self.percentiles
        return replace(
            found,
            values=np.where(hidden, np.nan, found.values),
            lorenz=np.where(hidden, np.nan, found.lorenz),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    statistic: Statistic
    sample: Sample
    rules: StatisticRules
    columns: Columns
    largest: int
    errors: bool

    @property
    def name(self) -> str:
        return self.statistic.name.lower()

    @property
    def coalition(self) -> int:
        return self.rules.table.coalition

    def facts(self, **measures: FloatArray) -> StatisticFacts:
        """Groups as cells with the sums that a statistic tells of."""
        ranks = max(2, self.rules.table.ranks)
        return StatisticFacts(facts_of_groups(self.sample, tuple(measures), tuple(measures.values()), ranks))

    def computed(self, values: FloatArray, facts: StatisticFacts) -> Computed:
        """A statistic of one figure."""
        return Computed(self.statistic, (Figure(self.name, values),), facts)


def compute(
    statistic: Statistic,
    sample: Sample,
    rules: StatisticRules,
    columns: Columns | None = None,
    largest: int = LARGEST,
    errors: bool = True,
) -> Computed:
    """Compute a statistic of each group, with all the facts that its checks need.

    `largest` is the n of a concentration ratio. Without `errors` an estimate has no standard error beside it,
    and tells no variance: it may leave where the error may not. Scatter by hexagons has a module
    of its own.

    Raises:
        FactsError: a column that the statistic needs is not given or does not fit, there is no rule on
            percentiles to compute them by, or values are below 0 where shares of a total are asked.
    """
    columns = columns or Columns()
    problems = [
        FactProblem(name, f"must have one value for each of {len(sample.values)} records")
        for name in _NEEDED.get(statistic, ())
        if (column := getattr(columns, name)) is None or column.shape != sample.values.shape
    ]
    if statistic not in _COMPUTED:
        problems.append(FactProblem("statistic", "must be one that is computed from one measure's records"))
    if problems:
        raise FactsError(problems)
    computed = _COMPUTED[statistic](_Asked(statistic, sample, rules, columns, largest, errors))
    return _with_primary_units(computed, sample)


def _with_primary_units(computed: Computed, sample: Sample) -> Computed:
    """With the number of each group's primary units, where there are and the errors rest on them.

    Errors are sums of squared deviations of their totals: of two in a stratum, error and total tell both,
    however few people one of them has. As many are asked for as a cell that is implied must have units.
    """
    of_points = computed.percentiles is not None and computed.percentiles.share_errors is not None
    with_errors = of_points or any(figure.name.startswith("standard_error") for figure in computed.figures)
    if sample.design.clusters is None or not with_errors:
        return computed
    homes = sample.households_of_groups
    drawn = ImpliedCells(
        PRIMARY_UNITS, means.primary_units(sample)[:, None], None if homes is None else homes[:, None]
    )
    return replace(computed, facts=replace(computed.facts, implied=(*computed.facts.implied, drawn)))


def _mean(asked: _Asked) -> Computed:
    facts = asked.facts(values=asked.sample.values)
    return _estimated(asked, means.means(asked.sample), facts, np.ones(len(asked.sample.values)))


def _total(asked: _Asked) -> Computed:
    facts = asked.facts(values=asked.sample.values)
    return _estimated(asked, means.totals(asked.sample), facts)


def _ratio(asked: _Asked) -> Computed:
    below = given(asked.columns.second)
    facts = asked.facts(values=asked.sample.values, denominators=below)
    return _estimated(asked, means.ratios(asked.sample, below), facts, below)


def _estimated(
    asked: _Asked, found: means.Estimates, facts: StatisticFacts, below: FloatArray | None = None
) -> Computed:
    """An estimate, with its standard error where that is asked: it tells a variance, that of units' totals.

    `below` are the denominators of a ratio, 1 for a mean.
    """
    if asked.errors:
        bounds = moments.moment_bounds(asked.sample, 2, asked.coalition)
        # Of one record a unit the error of a mean tells what the variance does.
        beside = asked.statistic is Statistic.RATIO or moments.has_several_records(asked.sample)
        if below is not None and beside:
            bounds += (moments.ratio_error_bounds(asked.sample, below, asked.coalition),)
        facts = replace(facts, bounds=bounds)
    return replace(_with_errors(asked, found, facts), errors=asked.errors)


def _proportion(asked: _Asked) -> Computed:
    has = given(asked.columns.has)
    found = means.means(asked.sample.with_values(has.astype(np.float64)))
    facts = replace(asked.facts(), implied=(association.implied_by_share(asked.sample, has),))
    return _with_errors(asked, found, facts)


def _with_errors(asked: _Asked, found: means.Estimates, facts: StatisticFacts) -> Computed:
    figures: tuple[Figure, ...] = (Figure(asked.name, found.values),)
    if asked.errors:
        figures += (
            Figure("standard_error", found.standard_errors),
            Figure("coefficient_of_variation", found.coefficients_of_variation),
        )
    flagged = means.unreliable(found, asked.sample.units_of_groups, asked.rules.reliability)
    return Computed(asked.statistic, figures, facts, unreliable=flagged)


def _where_asked(asked: _Asked, computed: Computed) -> Computed:
    """Without errors nothing is said of them: whether one is large tells powers that are not audited then."""
    return replace(computed, errors=asked.errors, unreliable=computed.unreliable if asked.errors else None)


def _spread(asked: _Asked) -> Computed:
    """A variance or deviation, with its standard error where that is asked: it tells fourth powers."""
    found = moments.moments(asked.sample)
    of = linearised_errors.variances
    if asked.statistic is Statistic.STANDARD_DEVIATION:
        of = linearised_errors.standard_deviations
    bounds = moments.moment_bounds(asked.sample, 4 if asked.errors else 2, asked.coalition)
    facts = replace(asked.facts(values=asked.sample.values), bounds=bounds)
    return _where_asked(asked, _with_errors(asked, of(asked.sample, found), facts))


def _moments(asked: _Asked) -> Computed:
    """Skewness or kurtosis, with its standard error where that is asked: it tells powers twice as high."""
    found = moments.moments(asked.sample)
    of, highest = {
        Statistic.SKEWNESS: (linearised_errors.skewnesses, 3),
        Statistic.KURTOSIS: (linearised_errors.kurtoses, 4),
    }[asked.statistic]
    bounds = moments.moment_bounds(asked.sample, (1 + asked.errors) * highest, asked.coalition)
    facts = replace(asked.facts(values=asked.sample.values), bounds=bounds)
    return _where_asked(asked, _with_errors(asked, of(asked.sample, found), facts))


def _ordered(asked: _Asked) -> Computed:
    if asked.rules.percentiles is None:
        raise FactsError([FactProblem("rules.percentiles", "must be given: percentiles rest on windows")])
    homes = asked.rules.table.minimum_households
    fewest = homes.households if homes else 0.0
    found = percentiles(asked.sample, asked.rules.percentiles, fewest, asked.coalition)
    if asked.errors and asked.statistic is Statistic.PERCENTILES:
        found = replace(found, share_errors=linearised_errors.share_errors(asked.sample, found))
    facts, values = asked.facts(), found.values
    if asked.statistic is Statistic.LORENZ_CURVE:
        facts = asked.facts(values=asked.sample.values)
        values = inequality.lorenz_curve(asked.sample, found).shares
    names = [fact.name for fact in found.facts()]
    figures = tuple(Figure(name, values[:, place], about=name) for place, name in enumerate(names))
    shares, bounds = association.shares_of_most_frequent_values(asked.sample), found.bounds()
    if asked.statistic is Statistic.LORENZ_CURVE:
        bounds += inequality.lorenz_bounds(asked.sample, found, asked.coalition)
    facts = replace(facts, percentiles=found.facts(), bounds=bounds, modal_shares=shares)
    if asked.errors and asked.statistic is Statistic.LORENZ_CURVE:
        told = linearised_errors.lorenz_ordinates(asked.sample, found)
        bounds = (*facts.bounds, *linearised_errors.lorenz_error_bounds(asked.sample, found, asked.coalition))
        facts, figures = replace(facts, bounds=bounds), (*figures, *_errors_of_points(names, told))
    return Computed(asked.statistic, figures, facts, percentiles=found)


def _errors_of_points(names: list[str], told: tuple[means.Estimates, ...]) -> Iterator[Figure]:
    """Error and coefficient of variation of each point, which leave where the point does."""
    for name, one in zip(names, told, strict=True):
        yield Figure(f"standard_error({name})", one.standard_errors, about=name)
        yield Figure(f"coefficient_of_variation({name})", one.coefficients_of_variation, about=name)


def _mode(asked: _Asked) -> Computed:
    columns = asked.columns
    found = association.modes(asked.sample, given(columns.categories), columns.number_of_categories)
    categories = np.where(found.categories >= 0, found.categories.astype(np.float64), np.nan)
    facts = replace(asked.facts(), implied=(found.implied,), modal_shares=found.unit_shares)
    modal = np.equal(given(columns.categories), found.categories[asked.sample.groups]).astype(np.float64)
    told = _with_errors(asked, means.means(asked.sample.with_values(modal)), facts)
    figures = (Figure("mode", categories), Figure("share", found.shares), *told.figures[1:])
    return replace(told, figures=figures)


def _extreme(asked: _Asked) -> Computed:
    found = extremes.extremes(asked.sample)
    values, told = {
        Statistic.MINIMUM: (found.minima, found.facts[:1]),
        Statistic.MAXIMUM: (found.maxima, found.facts[1:]),
        Statistic.RANGE: (found.ranges, found.facts),
    }[asked.statistic]
    shares = association.shares_of_most_frequent_values(asked.sample)
    return asked.computed(values, replace(asked.facts(), extremes=told, modal_shares=shares))


def _gini(asked: _Asked) -> Computed:
    """The index, with its standard error where that is asked: it tells a sum of squares."""
    found = inequality.gini(asked.sample, asked.coalition)
    bounds = found.bounds
    if asked.errors:
        bounds += linearised_errors.gini_error_bounds(asked.sample, asked.coalition)
    facts = replace(asked.facts(values=asked.sample.values), bounds=bounds)
    estimated = linearised_errors.gini_indices(asked.sample, found.values)
    return _where_asked(asked, _with_errors(asked, estimated, facts))


def _herfindahl(asked: _Asked) -> Computed:
    found = inequality.herfindahl(asked.sample, asked.coalition)
    return asked.computed(found.values, replace(asked.facts(values=asked.sample.values), bounds=found.bounds))


def _concentration(asked: _Asked) -> Computed:
    """The ratio with the group's sum and the two that it is divided in, each of which is a cell's."""
    values = asked.sample.values
    found = inequality.concentration_ratios(asked.sample, asked.largest)
    parts = {found.implied.name: found.among, f"all but {found.implied.name}": ~found.among}
    facts = asked.facts(values=values, **{name: np.where(part, values, 0.0) for name, part in parts.items()})
    facts = replace(facts, implied=(found.implied,))
    return asked.computed(found.values, facts)


def _association(asked: _Asked) -> Computed:
    table = association.two_by_two(asked.sample, given(asked.columns.exposed), given(asked.columns.has))
    found = table.odds_ratios() if asked.statistic is Statistic.ODDS_RATIO else table.risk_ratios()
    lower, upper = found.interval()
    figures = (
        Figure(asked.name, found.values),
        Figure("lower_limit", lower),
        Figure("upper_limit", upper),
    )
    facts, units = replace(asked.facts(), implied=(table.implied,)), asked.sample.units_of_groups
    # To the first order the error of the logarithm is the coefficient of variation of the ratio.
    one = np.ones(len(units))
    of_logarithm = means.Estimates(one, found.log_standard_errors, units)
    flagged = means.unreliable(of_logarithm, units, asked.rules.reliability)
    return Computed(asked.statistic, figures, facts, unreliable=flagged)


def given(column: Column | None) -> Column:
    """A column that a statistic needs. Raises FactsError where it is not given."""
    if column is None:
        raise FactsError([FactProblem("columns", "must have what the statistic needs")])
    return column


_NEEDED: Mapping[Statistic, tuple[str, ...]] = {
    Statistic.RATIO: ("second",),
    Statistic.PROPORTION: ("has",),
    Statistic.MODE: ("categories",),
    Statistic.ODDS_RATIO: ("exposed", "has"),
    Statistic.RISK_RATIO: ("exposed", "has"),
}
_COMPUTED: Mapping[Statistic, Callable[[_Asked], Computed]] = {
    Statistic.MEAN: _mean,
    Statistic.TOTAL: _total,
    Statistic.RATIO: _ratio,
    Statistic.PROPORTION: _proportion,
    Statistic.VARIANCE: _spread,
    Statistic.STANDARD_DEVIATION: _spread,
    Statistic.SKEWNESS: _moments,
    Statistic.KURTOSIS: _moments,
    Statistic.PERCENTILES: _ordered,
    Statistic.MODE: _mode,
    Statistic.MINIMUM: _extreme,
    Statistic.MAXIMUM: _extreme,
    Statistic.RANGE: _extreme,
    Statistic.GINI: _gini,
    Statistic.LORENZ_CURVE: _ordered,
    Statistic.HERFINDAHL: _herfindahl,
    Statistic.CONCENTRATION_RATIO: _concentration,
    Statistic.ODDS_RATIO: _association,
    Statistic.RISK_RATIO: _association,
    Statistic.HISTOGRAM: _ordered,
    Statistic.DENSITY: _ordered,
    Statistic.BOX_PLOT: _ordered,
}
