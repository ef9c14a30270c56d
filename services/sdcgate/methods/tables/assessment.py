"""The rules of a policy on one table: which cells are unsafe, and whether the table as a whole is."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import (
    Axis,
    BoolArray,
    Facts,
    FloatArray,
    IntArray,
    MeasureFacts,
    number_of_cells,
)
from sdcgate.methods.risk.individual import TableRisk, table_risk
from sdcgate.methods.rules import Consequence, Finding, IndividualRisk, MinimumBase, ReasonCode, Rules
from sdcgate.methods.tables.fact_checks import fact_problems
from sdcgate.methods.tables.group_disclosure import group_disclosing
from sdcgate.methods.tables.sensitivity import (
    CLOSE,
    dominated,
    equal_values,
    estimable,
    few_households,
    few_units,
    few_with_or_without,
)

Judged = Finding | ReasonCode
"""What judging a rule yields: a finding, or the rule itself where it cannot be judged."""


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """The identifying key of a table: one entry a combination of identifying categories.

    `frequencies` f_k are units, `weight_sums` the sums of their weights with each unit once, before any
    suppression. Every unit of the filtered population is in some entry.
    """

    frequencies: IntArray = field(repr=False)
    weight_sums: FloatArray = field(repr=False)


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the rules find in a table; `unchecked` are rules that could not be judged for want of a fact."""

    findings: tuple[Finding, ...]
    risk: TableRisk | None
    unchecked: tuple[ReasonCode, ...]


def assess_table(
    axes: tuple[Axis, ...], facts: Facts, rules: Rules, base_units: int, key: Key | None
) -> Assessment:
    """Judge every cell of a table, margins included, and the table as a whole.

    `facts` hold a value for each cell of `axes`; `base_units` are the units of the filtered population. The
    rules on measures are judged for each measure of `facts`, the thresholds on units for those who have it
    and those who lack it too. Findings come in the order of the rules; an unspecified consequence is read as
    refuse, and so is protect where the rule is about the whole table. `unchecked` is never safe: a caller who
    releases must look at it. Raises ValueError, naming all that is wrong, where facts do not fit together.
    """
    problems = fact_problems(facts, number_of_cells(axes))
    if base_units < 0:
        problems.append("base_units must not be negative")
    if problems:
        raise ValueError("; ".join(problems))
    risk = None if key is None else table_risk(key.frequencies, key.weight_sums, base_units)
    findings: list[Finding] = []
    unchecked: list[ReasonCode] = []
    for judged in (
        _minimum_units(facts, rules),
        _minimum_households(facts, rules),
        _minimum_base(base_units, rules.minimum_base),
        *(_concentration(measure, rules) for measure in facts.measures),
        _group_disclosure(axes, facts, rules),
        *(_equal_values(measure, rules) for measure in facts.measures),
        _individual_risk(risk, rules.individual_risk),
    ):
        for outcome in judged:
            if isinstance(outcome, Finding):
                findings.append(outcome)
            else:
                unchecked.append(outcome)
    findings.sort(key=lambda finding: finding.rule)
    return Assessment(tuple(findings), risk, tuple(sorted(set(unchecked))))


def _minimum_units(facts: Facts, rules: Rules) -> Iterator[Judged]:
    rule = rules.minimum_units
    if rule is None:
        return
    bound = float(rule.units)
    code = ReasonCode.MINIMUM_UNITS
    yield from _found(code, rule.consequence, few_units(facts.units, rule.units), bound=bound)
    for measure in facts.measures:
        unsafe = few_with_or_without(facts, measure, rule.units)
        yield from _found(code, rule.consequence, unsafe, measure.name, bound)


def _minimum_households(facts: Facts, rules: Rules) -> Iterator[Judged]:
    rule = rules.minimum_households
    if rule is None:
        return
    if facts.households is None:
        yield ReasonCode.MINIMUM_HOUSEHOLDS
        return
    unsafe = few_households(facts.households, facts.units, rule.households)
    yield from _found(ReasonCode.MINIMUM_HOUSEHOLDS, rule.consequence, unsafe, bound=rule.households)


def _minimum_base(base_units: int, rule: MinimumBase | None) -> Iterator[Judged]:
    if rule is not None and base_units < rule.units:
        consequence = _for_whole_table(rule.consequence)
        yield Finding(ReasonCode.MINIMUM_BASE, consequence, figure=float(base_units), bound=float(rule.units))


def _concentration(measure: MeasureFacts, rules: Rules) -> Iterator[Judged]:
    largest, sums = measure.largest, measure.absolute_sums
    ranks = largest.shape[1] if largest.size and sums.size else 0
    for rule in rules.dominance:
        if ranks < rule.largest:
            yield ReasonCode.DOMINANCE
            continue
        unsafe = dominated(largest, sums, rule.largest, rule.share)
        yield from _found(ReasonCode.DOMINANCE, rule.consequence, unsafe, measure.name, rule.share)
    if rules.p_percent is None:
        return
    if ranks < 2:
        yield ReasonCode.P_PERCENT
        return
    unsafe = estimable(largest, sums, rules.p_percent.share)
    yield from _found(
        ReasonCode.P_PERCENT, rules.p_percent.consequence, unsafe, measure.name, rules.p_percent.share
    )


def _group_disclosure(axes: tuple[Axis, ...], facts: Facts, rules: Rules) -> Iterator[Judged]:
    rule = rules.group_disclosure
    if rule is not None:
        unsafe = group_disclosing(axes, facts.units, rule.share)
        yield from _found(ReasonCode.GROUP_DISCLOSURE, rule.consequence, unsafe, bound=rule.share)


def _equal_values(measure: MeasureFacts, rules: Rules) -> Iterator[Judged]:
    rule = rules.equal_values
    if rule is None:
        return
    if not measure.minima.size or not measure.maxima.size:
        yield ReasonCode.EQUAL_VALUES
        return
    unsafe = equal_values(measure.minima, measure.maxima, measure.valid_records, rule.tolerance)
    yield from _found(ReasonCode.EQUAL_VALUES, rule.consequence, unsafe, measure.name, rule.tolerance)


def _individual_risk(risk: TableRisk | None, rule: IndividualRisk | None) -> Iterator[Judged]:
    """Expected correct matches against a share of the base: Shlomo 2003, III.A, for a table's key."""
    if rule is None:
        return
    if risk is None:
        yield ReasonCode.INDIVIDUAL_RISK
        return
    figure = risk.expected_matches if rule.all_cells else risk.expected_matches_uniques
    bound = rule.maximum_share * risk.base_units
    if not (figure == 0 or figure < bound * (1 - CLOSE)):
        consequence = _for_whole_table(rule.consequence)
        yield Finding(ReasonCode.INDIVIDUAL_RISK, consequence, figure=figure, bound=bound)


def _found(
    rule: ReasonCode, consequence: Consequence, unsafe: BoolArray, measure: str = "", bound: float = 0.0
) -> Iterator[Finding]:
    """The finding on unsafe cells, if there are any."""
    if unsafe.any():
        cells = tuple(np.flatnonzero(unsafe).tolist())
        yield Finding(rule, consequence or Consequence.REFUSE, cells, measure, bound=bound)


def _for_whole_table(consequence: Consequence) -> Consequence:
    """Withholding cells does not mend a table that is unsafe as a whole."""
    return Consequence.REFER if consequence == Consequence.REFER else Consequence.REFUSE
