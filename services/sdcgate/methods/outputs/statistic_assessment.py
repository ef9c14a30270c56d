"""The rules of a policy on one statistic of groups: which groups are unsafe, or which percentile of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray, MeasureFacts
from sdcgate.methods.outputs.statistic_facts import (
    PRIMARY_UNITS,
    Statistic,
    StatisticFacts,
    implied_problems,
    statistic_problems,
)
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import Finding, ReasonCode
from sdcgate.methods.tables.concentration import concentration
from sdcgate.methods.tables.judged import Judged, Unjudged, found
from sdcgate.methods.tables.sensitivity import CLOSE, equal_values, few_of_measure, few_units, respondents

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
    if problems := [*statistic_problems(facts), *implied_problems(statistic, facts)]:
        raise FactsError(problems)
    findings: list[Finding] = []
    unjudged: list[Unjudged] = []
    for judged in (
        _units(facts, rules),
        _households(facts, rules),
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
    code, table = ReasonCode.MINIMUM_UNITS, facts.table
    if not table.units.size:
        yield Unjudged(code, "units")
    few = few_units(respondents(table.holdings, table.units), rule.units)
    yield from found(code, rule.consequence, few, bound=rule.units)
    for measure in table.measures:
        # Where nothing is said of who has a measure the group is those who have it.
        unsafe = few_of_measure(table, measure, rule.units)
        if unsafe.size == few.size:
            yield from found(code, rule.consequence, unsafe & ~few, measure.name, rule.units)


def _households(facts: StatisticFacts, rules: StatisticRules) -> Iterator[Judged]:
    homes = facts.table.households
    columns = [("households", None if homes is None or not homes.size else homes)]
    yield from _few_homes(facts, rules, ReasonCode.MINIMUM_HOUSEHOLDS, "", columns)


def _counted(rule: object | None, rules: StatisticRules) -> bool:
    """Whether anything is asked where a statistic rests on few: units by a rule of its own, or households."""
    return rule is not None or rules.table.minimum_households is not None


def _few_homes(
    facts: StatisticFacts,
    rules: StatisticRules,
    code: ReasonCode,
    about: str,
    columns: Sequence[tuple[str, FloatArray | None]],
) -> Iterator[Judged]:
    """Groups where something rests on fewer households than cells must have; unjudged where none are known.

    `columns` are the households of each group with the name of the fact; where there are several the fewest
    count.
    """
    rule = rules.table.minimum_households
    if rule is None:
        return
    given = [column for _, column in columns if column is not None]
    if len(given) < len(columns):
        yield from (Unjudged(code, name) for name, column in columns if column is None)
        return
    few = ~(np.min(given, axis=0) >= rule.households * (1 - CLOSE))
    unsafe: BoolArray = (facts.table.units != 0) & few
    yield from found(code, rule.consequence, unsafe, about, rule.households)


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
    if not _counted(rule, rules):
        return
    if statistic in ORDERED and not facts.percentiles:
        yield Unjudged(code, "percentiles")
    occupied = facts.table.units != 0
    for percentile in facts.percentiles:
        if rule is not None:
            enough = (percentile.window_units >= rule.window) & (percentile.side_units >= rule.side)
            yield from found(code, rule.consequence, occupied & ~enough, percentile.name, rule.window)
        window = (f"window households of {percentile.name}", percentile.window_households)
        side = (f"side households of {percentile.name}", percentile.side_households)
        # Where the policy asks for no units beside a window it asks for no households there.
        columns = [window, side] if rule is None or rule.side else [window]
        yield from _few_homes(facts, rules, code, percentile.name, columns)


def _extremes(statistic: Statistic, facts: StatisticFacts, rules: StatisticRules) -> Iterator[Judged]:
    rule, code = rules.extremes, ReasonCode.EXTREME_VALUE
    if not _counted(rule, rules):
        return
    given = {extreme.name for extreme in facts.extremes}
    for name in EXTREMES.get(statistic, ()):
        if name not in given:
            yield Unjudged(code, f"extremes of {name}" if given else "extremes")
    for extreme in facts.extremes:
        if rule is not None:
            unsafe = _few(facts, extreme.sharing_units, rule.units)
            yield from found(code, rule.consequence, unsafe, extreme.name, rule.units)
        columns = [(f"sharing households of {extreme.name}", extreme.sharing_households)]
        yield from _few_homes(facts, rules, code, extreme.name, columns)


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
    if not _counted(rule, rules):
        return
    if statistic in COUNTED and not facts.implied:
        yield Unjudged(code, "implied")
    for table in facts.implied:
        about = "" if table.name == PRIMARY_UNITS else table.name
        if rule is not None:
            # Of a ratio of odds or risks an empty cell tells as much: nobody of a group, or all of it.
            empty = rule.empty or statistic in (Statistic.ODDS_RATIO, Statistic.RISK_RATIO)
            few = (table.units < rule.units) & ((table.units > 0) | empty)
            unsafe = (facts.table.units != 0) & few.any(axis=1)
            yield from found(code, rule.consequence, unsafe, about, rule.units)
        homes = table.households
        if homes is not None:
            # An empty cell is the rule's own matter.
            homes = np.where(table.units > 0, homes, np.inf).min(axis=1, initial=np.inf)
        yield from _few_homes(facts, rules, code, about, [(f"households of {table.name}", homes)])


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
