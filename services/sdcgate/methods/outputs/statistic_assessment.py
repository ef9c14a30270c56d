"""The rules of a policy on one statistic of groups: which groups are unsafe, or which percentile of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray, MeasureFacts
from sdcgate.methods.outputs.statistic_facts import (
    PRIMARY_UNITS,
    Statistic,
    StatisticFacts,
    statistic_problems,
)
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import Finding, ReasonCode
from sdcgate.methods.tables.concentration import concentration
from sdcgate.methods.tables.judged import Judged, Unjudged, found
from sdcgate.methods.tables.sensitivity import CLOSE, equal_values, few_units

SUMS = frozenset(
    {
        Statistic.MEAN,
        Statistic.TOTAL,
        Statistic.RATIO,
        Statistic.VARIANCE,
        Statistic.STANDARD_DEVIATION,
        Statistic.SKEWNESS,
        Statistic.KURTOSIS,
        Statistic.GINI,
        Statistic.HERFINDAHL,
        Statistic.CONCENTRATION_RATIO,
        Statistic.LORENZ_CURVE,
        Statistic.CORRELATIONS,
        Statistic.PRINCIPAL_COMPONENTS,
        Statistic.T_TEST,
        Statistic.ANALYSIS_OF_VARIANCE,
    }
)
"""Statistics that tell sums: the rules on contributions and equal values hold for them."""
BOUNDING = frozenset(
    {
        Statistic.VARIANCE,
        Statistic.STANDARD_DEVIATION,
        Statistic.SKEWNESS,
        Statistic.KURTOSIS,
        Statistic.GINI,
        Statistic.HERFINDAHL,
        Statistic.CORRELATIONS,
        Statistic.PRINCIPAL_COMPONENTS,
        Statistic.T_TEST,
        Statistic.ANALYSIS_OF_VARIANCE,
        Statistic.KAPLAN_MEIER,
        Statistic.NELSON_AALEN,
    }
)
"""Statistics that bound the value farthest out, or one of a step."""
ORDERED = frozenset(
    {
        Statistic.PERCENTILES,
        Statistic.LORENZ_CURVE,
        Statistic.HISTOGRAM,
        Statistic.DENSITY,
        Statistic.BOX_PLOT,
        Statistic.HEXAGONAL_BINS,
    }
)
"""Statistics that are computed from percentiles."""
UNEXPLAINED = frozenset(
    {
        Statistic.CORRELATIONS,
        Statistic.PRINCIPAL_COMPONENTS,
        Statistic.T_TEST,
        Statistic.ANALYSIS_OF_VARIANCE,
    }
)
"""Statistics that tell squared residuals."""
EXTREMES: Mapping[Statistic, tuple[str, ...]] = MappingProxyType(
    {
        Statistic.MINIMUM: ("minimum",),
        Statistic.MAXIMUM: ("maximum",),
        Statistic.RANGE: ("minimum", "maximum"),
    }
)
"""The extreme values that each of these statistics tells."""
COUNTED = frozenset(
    {
        Statistic.PROPORTION,
        Statistic.MODE,
        Statistic.CONCENTRATION_RATIO,
        Statistic.ODDS_RATIO,
        Statistic.RISK_RATIO,
        Statistic.KAPLAN_MEIER,
        Statistic.NELSON_AALEN,
        Statistic.CHI_SQUARED_TEST,
        Statistic.T_TEST,
        Statistic.MANN_WHITNEY_TEST,
        Statistic.KOLMOGOROV_SMIRNOV_TEST,
        Statistic.ANALYSIS_OF_VARIANCE,
    }
)
"""Statistics that imply a table of counts."""


@dataclass(frozen=True, slots=True)
class StatisticAssessment:
    """What the rules find in a statistic. `cells` of a finding are groups; its `measure` names the sum, the
    percentile (`P95`), the extreme or the implied table that it is about; `unchecked` could not be judged
    for want of `absent` facts, and is never safe."""

    findings: tuple[Finding, ...]
    unchecked: tuple[ReasonCode, ...] = ()
    absent: tuple[str, ...] = ()

    def unsafe(self, groups: int, measure: str | None = None) -> BoolArray:
        """Groups with a finding, or with one that is about a measure or about no measure; shape (groups,)."""
        unsafe = np.zeros(groups, dtype=np.bool_)
        for finding in self.findings:
            if measure is None or finding.measure in ("", measure):
                unsafe[list(finding.cells)] = True
        return unsafe


def assess_statistic(
    statistic: Statistic, facts: StatisticFacts, rules: StatisticRules, errors: bool = False
) -> StatisticAssessment:
    """Judge every group of a statistic.

    `errors`: standard errors leave with it: they tell variances, which bound the value farthest out. A rule
    whose facts are not given is unchecked, unless the statistic has nothing to do with it.

    Raises:
        FactsError: naming all that is wrong with the facts.
    """
    if problems := statistic_problems(facts):
        raise FactsError(problems)
    findings: list[Finding] = []
    unjudged: list[Unjudged] = []
    for judged in (
        _units(facts, rules),
        _sums(statistic, facts, rules),
        _bounds(errors or statistic in BOUNDING, facts, rules),
        _percentiles(statistic, facts, rules),
        _extremes(statistic, facts, rules),
        _modal_share(statistic, facts, rules),
        _implied(statistic, facts, rules),
        _residual_shares(statistic, facts, rules),
    ):
        for outcome in judged:
            if isinstance(outcome, Finding):
                findings.append(outcome)
            else:
                unjudged.append(outcome)
    findings.sort(key=lambda finding: finding.rule)
    return StatisticAssessment(
        tuple(findings),
        tuple(sorted({outcome.rule for outcome in unjudged})),
        tuple(dict.fromkeys(outcome.fact for outcome in unjudged)),
    )


def _units(facts: StatisticFacts, rules: StatisticRules) -> Iterator[Judged]:
    rule = rules.table.minimum_units
    if rule is None:
        return
    units = facts.table.units
    if not units.size:
        yield Unjudged(ReasonCode.MINIMUM_UNITS, "units")
    yield from found(
        ReasonCode.MINIMUM_UNITS, rule.consequence, few_units(units, rule.units), bound=rule.units
    )


def _sums(statistic: Statistic, facts: StatisticFacts, rules: StatisticRules) -> Iterator[Judged]:
    """The rules of tables on contributions and on equal values."""
    if statistic in SUMS and not facts.table.measures:
        yield Unjudged(ReasonCode.DOMINANCE, "measures")
    for measure in facts.table.measures:
        yield from concentration(measure, rules.table)
        if statistic in SUMS:
            yield from _equal_values(measure, rules)


def _equal_values(measure: MeasureFacts, rules: StatisticRules) -> Iterator[Judged]:
    rule, code = rules.table.equal_values, ReasonCode.EQUAL_VALUES
    if rule is None:
        return
    columns = {name: getattr(measure, name) for name in ("minima", "maxima", "valid_records")}
    absent = [name for name, column in columns.items() if not column.size]
    yield from (Unjudged(code, f"{name} of {measure.name}") for name in absent)
    if not absent:
        unsafe = equal_values(measure.minima, measure.maxima, measure.valid_records, rule.tolerance)
        yield from found(code, rule.consequence, unsafe, measure.name, rule.tolerance)


def _bounds(asked: bool, facts: StatisticFacts, rules: StatisticRules) -> Iterator[Judged]:
    rule = rules.table.p_percent
    if rule is None:
        return
    if asked and not facts.bounds:
        yield Unjudged(ReasonCode.P_PERCENT, "bounds")
    for bound in facts.bounds:
        unsafe = (facts.table.units != 0) & ~(bound.closeness > rule.share * (1 + CLOSE))
        yield from found(ReasonCode.P_PERCENT, rule.consequence, unsafe, bound.name, rule.share)


def _percentiles(statistic: Statistic, facts: StatisticFacts, rules: StatisticRules) -> Iterator[Judged]:
    rule, code = rules.percentiles, ReasonCode.PERCENTILE_UNITS
    if rule is None:
        return
    if statistic in ORDERED and not facts.percentiles:
        yield Unjudged(code, "percentiles")
    occupied = facts.table.units != 0
    for percentile in facts.percentiles:
        enough = (percentile.window_units >= rule.window) & (percentile.side_units >= rule.side)
        yield from found(code, rule.consequence, occupied & ~enough, percentile.name, rule.window)


def _extremes(statistic: Statistic, facts: StatisticFacts, rules: StatisticRules) -> Iterator[Judged]:
    rule, code = rules.extremes, ReasonCode.EXTREME_VALUE
    if rule is None:
        return
    given = {extreme.name for extreme in facts.extremes}
    for name in EXTREMES.get(statistic, ()):
        if name not in given:
            yield Unjudged(code, f"extremes of {name}" if given else "extremes")
    for extreme in facts.extremes:
        unsafe = _few(facts, extreme.sharing_units, rule.units)
        yield from found(code, rule.consequence, unsafe, extreme.name, rule.units)


def _modal_share(statistic: Statistic, facts: StatisticFacts, rules: StatisticRules) -> Iterator[Judged]:
    rule, code = rules.modal_share, ReasonCode.MODAL_SHARE
    if rule is None:
        return
    if facts.modal_shares is None:
        if statistic is Statistic.MODE:
            yield Unjudged(code, "modal_shares")
        return
    unsafe = (facts.table.units != 0) & ~(facts.modal_shares < rule.share * (1 - CLOSE))
    yield from found(code, rule.consequence, unsafe, bound=rule.share)


def _implied(statistic: Statistic, facts: StatisticFacts, rules: StatisticRules) -> Iterator[Judged]:
    rule, code = rules.implied, ReasonCode.IMPLIED_TABLE
    if rule is None:
        return
    if statistic in COUNTED and not facts.implied:
        yield Unjudged(code, "implied")
    # Of a ratio of odds or risks an empty cell tells as much as a full one: nobody of a group, or all of it.
    empty = rule.empty or statistic in (Statistic.ODDS_RATIO, Statistic.RISK_RATIO)
    for table in facts.implied:
        few = (table.units < rule.units) & ((table.units > 0) | empty)
        unsafe = (facts.table.units != 0) & few.any(axis=1)
        about = "" if table.name == PRIMARY_UNITS else table.name
        yield from found(code, rule.consequence, unsafe, about, rule.units)


def _residual_shares(statistic: Statistic, facts: StatisticFacts, rules: StatisticRules) -> Iterator[Judged]:
    rule, code = rules.residual_share, ReasonCode.INFLUENCE
    if rule is None:
        return
    if statistic in UNEXPLAINED and not facts.residual_shares:
        yield Unjudged(code, "residual_shares")
    for one in facts.residual_shares:
        unsafe = (facts.table.units != 0) & ~(one.shares < rule.share * (1 - CLOSE))
        yield from found(code, rule.consequence, unsafe, one.name, rule.share)


def _few(facts: StatisticFacts, units: IntArray, minimum: int) -> BoolArray:
    few: BoolArray = (facts.table.units != 0) & ~(units >= minimum)
    return few
