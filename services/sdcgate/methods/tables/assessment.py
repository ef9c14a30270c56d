"""The rules of a policy on one table: which cells are unsafe, and whether the table as a whole is."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from sdcgate.methods.cells import (
    Axis,
    Facts,
    FloatArray,
    IntArray,
    MeasureFacts,
    number_of_cells,
)
from sdcgate.methods.positions import FactProblem, FactsError
from sdcgate.methods.risk.individual import TableRisk, table_risk
from sdcgate.methods.rules import Consequence, Finding, IndividualRisk, MinimumBase, ReasonCode, Rules
from sdcgate.methods.tables.concentration import concentration
from sdcgate.methods.tables.fact_checks import fact_problems
from sdcgate.methods.tables.group_disclosure import group_widths
from sdcgate.methods.tables.judged import Judged, Unjudged, found
from sdcgate.methods.tables.margins import margin_problems
from sdcgate.methods.tables.protection_levels import Levels
from sdcgate.methods.tables.sensitivity import (
    CLOSE,
    equal_values,
    few_households,
    few_of_measure,
    few_units,
    first_known,
    respondents,
)


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
    """What the rules find in a table; `unchecked` could not be judged for want of `absent` facts."""

    findings: tuple[Finding, ...]
    risk: TableRisk | None
    unchecked: tuple[ReasonCode, ...]
    absent: tuple[str, ...] = ()


def assess_table(
    axes: tuple[Axis, ...], facts: Facts, rules: Rules, base_units: int | None, key: Key | None
) -> Assessment:
    """Judge every cell of a table, margins included, and the table as a whole.

    `facts` hold a value for each cell of `axes`, or none at all where they are not known; `base_units` are
    the units of the filtered population, if known. The rules on measures are judged for each measure of
    `facts`, the thresholds on units for those who have it and those who lack it too. Findings come in the
    order of the rules; an unspecified consequence is read as refuse, and so is protect where the rule is
    about the whole table. `unchecked` is never safe: a caller who releases must look at it. A rule about what
    a table does not have, a measure or a sensitive dimension, has nothing to judge and is not among them.
    What is certain without an absent fact is found all the same: too few records are too few units.

    Raises:
        FactsError: naming all that is wrong, where facts do not fit together, totals contradict their parts,
            or the key does not fit the base.
    """
    problems = fact_problems(facts, number_of_cells(axes))
    if base_units is not None and base_units < 0:
        problems.append(FactProblem("base_units", "must not be negative"))
    elif base_units and facts.units.size and np.any(facts.units > base_units):
        problems.append(FactProblem("base_units", "must be at least the units of every cell"))
    # A table whose columns are not what they should be has no totals to compare.
    problems = problems or margin_problems(axes, facts)
    risk = None
    try:
        risk = None if key is None else table_risk(key.frequencies, key.weight_sums, base_units or 0)
    except ValueError as error:
        problems.append(FactProblem("key", f"does not fit: {error}"))
    if problems:
        raise FactsError(problems)
    findings: list[Finding] = []
    unjudged: list[Unjudged] = []
    for judged in (
        _minimum_units(facts, rules),
        _minimum_households(facts, rules),
        _minimum_base(base_units, rules.minimum_base),
        *(concentration(measure, rules) for measure in facts.measures),
        _group_disclosure(axes, facts, rules),
        *(_equal_values(measure, rules) for measure in facts.measures),
        _individual_risk(risk, base_units, rules.individual_risk),
    ):
        for outcome in judged:
            if isinstance(outcome, Finding):
                findings.append(outcome)
            else:
                unjudged.append(outcome)
    findings.sort(key=lambda finding: finding.rule)
    rules_unchecked = tuple(sorted({outcome.rule for outcome in unjudged}))
    absent = tuple(dict.fromkeys(outcome.fact for outcome in unjudged))
    return Assessment(tuple(findings), risk, rules_unchecked, absent)


def _minimum_units(facts: Facts, rules: Rules) -> Iterator[Judged]:
    rule = rules.minimum_units
    if rule is None:
        return
    bound = float(rule.units)
    code = ReasonCode.MINIMUM_UNITS
    if not facts.units.size:
        yield Unjudged(code, "units")
    few = few_units(respondents(facts.holdings, first_known(facts.units, facts.records)), rule.units)
    levels = Levels(sliding=np.full(len(few), bound))
    yield from found(code, rule.consequence, few, bound=bound, levels=levels)
    for measure in facts.measures:
        absent = [name for name in ("valid_units", "valid_records") if not getattr(measure, name).size]
        yield from (Unjudged(code, f"{name} of {measure.name}") for name in absent)
        unsafe = few_of_measure(facts, measure, rule.units)
        yield from found(code, rule.consequence, unsafe, measure.name, bound)


def _minimum_households(facts: Facts, rules: Rules) -> Iterator[Judged]:
    rule = rules.minimum_households
    if rule is None:
        return
    code = ReasonCode.MINIMUM_HOUSEHOLDS
    if facts.households is None or not facts.households.size:
        yield Unjudged(code, "households")
        return
    occupants = first_known(facts.units, facts.records)
    if not occupants.size:
        # A cell without households may still have somebody in it.
        yield Unjudged(code, "units")
        occupants = np.zeros(len(facts.households), dtype=np.int64)
    unsafe = few_households(facts.households, occupants, rule.households)
    # Each household has at least one unit.
    levels = Levels(sliding=np.full(len(unsafe), float(ceil(rule.households * (1 - CLOSE)))))
    yield from found(code, rule.consequence, unsafe, bound=rule.households, levels=levels)


def _minimum_base(base_units: int | None, rule: MinimumBase | None) -> Iterator[Judged]:
    if rule is None:
        return
    if base_units is None:
        yield Unjudged(ReasonCode.MINIMUM_BASE, "base_units")
    elif base_units < rule.units:
        consequence = _for_whole_table(rule.consequence)
        yield Finding(ReasonCode.MINIMUM_BASE, consequence, figure=float(base_units), bound=float(rule.units))


def _group_disclosure(axes: tuple[Axis, ...], facts: Facts, rules: Rules) -> Iterator[Judged]:
    rule = rules.group_disclosure
    if rule is None or not any(axis.sensitive for axis in axes):
        return
    if not facts.units.size:
        yield Unjudged(ReasonCode.GROUP_DISCLOSURE, "units")
        return
    widths = group_widths(axes, facts.units, rule.share, facts.structural_zeros)
    levels = Levels(sliding=widths.astype(np.float64))
    yield from found(
        ReasonCode.GROUP_DISCLOSURE, rule.consequence, widths > 0, bound=rule.share, levels=levels
    )


def _equal_values(measure: MeasureFacts, rules: Rules) -> Iterator[Judged]:
    rule = rules.equal_values
    if rule is None:
        return
    code, smallest, greatest = ReasonCode.EQUAL_VALUES, measure.minima, measure.maxima
    if not smallest.size or not greatest.size:
        yield Unjudged(code, f"{'maxima' if smallest.size else 'minima'} of {measure.name}")
        return
    valid = first_known(measure.valid_records, measure.valid_units)
    if not valid.size:
        # A cell without any value looks like one of zeros only.
        yield Unjudged(code, f"valid_records of {measure.name}")
        valid = ((smallest != 0) | (greatest != 0)).astype(np.int64)
    unsafe = equal_values(smallest, greatest, valid, rule.tolerance)
    # Who knows how many values there are knows each as closely as their sum.
    levels = Levels(sliding=rule.tolerance * np.abs(measure.sums)) if measure.sums.size else None
    yield from found(code, rule.consequence, unsafe, measure.name, rule.tolerance, levels)


def _individual_risk(
    risk: TableRisk | None, base_units: int | None, rule: IndividualRisk | None
) -> Iterator[Judged]:
    """Expected correct matches against a share of the base: Shlomo 2003, III.A, for a table's key."""
    if rule is None:
        return
    if risk is None or base_units is None:
        yield Unjudged(ReasonCode.INDIVIDUAL_RISK, "key" if risk is None else "base_units")
        return
    figure = risk.expected_matches if rule.all_cells else risk.expected_matches_uniques
    bound = rule.maximum_share * base_units
    tolerated = not rule.all_cells and risk.sample_uniques < rule.tolerated_uniques
    if not (figure == 0 or tolerated or figure < bound * (1 - CLOSE)):
        consequence = _for_whole_table(rule.consequence)
        yield Finding(ReasonCode.INDIVIDUAL_RISK, consequence, figure=figure, bound=bound)


def _for_whole_table(consequence: Consequence) -> Consequence:
    """Withholding cells does not mend a table that is unsafe as a whole."""
    return Consequence.REFER if consequence == Consequence.REFER else Consequence.REFUSE
