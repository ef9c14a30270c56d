"""Survival curves of groups, with the facts by which they are judged.

Each step rests on enough units, as `survival_curve` takes times together. A step stands at the mean time of
its events: the last one would be somebody's time, while the mean is that only where all of a step have it.
So the steps tell the sum of the times of all who have the event, but for those after the last; these have
what is left of that sum where it is known.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import (
    ClosestBound,
    ImpliedCells,
    Statistic,
    StatisticFacts,
    extremes_of_groups,
    facts_of_groups,
    largest_of_groups,
)
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.outputs.statistics import Columns, Computed, Figure, GroupCurve, GroupRuns, given
from sdcgate.methods.outputs.survival import SurvivalCurve, survival_curve
from sdcgate.methods.positions import FactProblem, FactsError

MOST_STEPS = 250
"""More steps are no better to look at: of many events more are taken together."""


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """The curve of one group with the units of each step, shape (steps,)."""

    curve: SurvivalCurve
    times: FloatArray = field(repr=False)
    event_units: IntArray = field(repr=False)
    left_units: IntArray = field(repr=False)
    after_units: IntArray = field(repr=False)
    """Who is still there after the last step: units with the event, and without."""
    closeness: float = field(repr=False)
    lowest: FloatArray = field(repr=False)
    """The least time of each step's events, and of those after the last where there are any."""
    highest: FloatArray = field(repr=False)
    records: IntArray = field(repr=False)
    """Events of each step, and after the last where there are any."""


def group_survival(statistic: Statistic, sample: Sample, rules: StatisticRules, columns: Columns) -> Computed:
    """Kaplan-Meier curves, or Nelson and Aalen's, of each group: values are times, `has` is the event.

    A unit with several records counts once for the units of a step: with at most m records a unit, a step has
    m times as many records as units are needed. A group for which no step can be made has no figure.

    Raises:
        FactsError: there is no rule on implied tables to make steps by, or times are below 0.
    """
    if rules.implied is None:
        raise FactsError([FactProblem("rules.implied", "must be given: steps rest on its units")])
    if np.any(sample.values < 0):
        raise FactsError([FactProblem("values", "must not be below 0: they are times")])
    events, fewest = given(columns.has), rules.implied.units
    coalition = rules.table.coalition
    found = [_steps(sample, records, events, fewest, coalition) for records in sample.members]
    bounds = np.array([np.inf if one is None else one.closeness for one in found])
    facts = StatisticFacts(
        facts_of_groups(sample, (), (), 2),
        bounds=(ClosestBound("step", bounds),),
        implied=(
            _padded("events", [None if one is None else one.event_units for one in found]),
            _padded("left", [None if one is None else one.left_units for one in found]),
            _padded("after", [None if one is None else one.after_units for one in found]),
        ),
    )
    runs = tuple(
        GroupRuns(group, one.lowest, one.highest, one.records)
        for group, one in enumerate(found)
        if one is not None
    )
    return replace(_told(statistic, found, facts), runs=runs)


def _told(statistic: Statistic, found: list[_Steps | None], facts: StatisticFacts) -> Computed:
    """Curves, their last values, and of survival the median where the curve falls so far."""
    curves, last, medians = [], np.full(len(found), np.nan), np.full(len(found), np.nan)
    survival = statistic is Statistic.KAPLAN_MEIER
    name = "survival" if survival else "cumulative_hazard"
    for group, steps in enumerate(found):
        if steps is None:
            continue
        curve = steps.curve
        heights = curve.survival if survival else curve.hazard
        errors = curve.survival_errors if survival else curve.hazard_errors
        curves += [
            GroupCurve(group, name, steps.times, heights),
            GroupCurve(group, f"{name}_error", steps.times, errors),
        ]
        last[group] = heights[-1]
        if (below := np.flatnonzero(curve.survival <= 0.5)).size:
            medians[group] = steps.times[below[0]]
    figures = (Figure(name, last), *((Figure("median", medians),) if survival else ()))
    return Computed(statistic, figures, facts, curves=tuple(curves))


def _steps(
    sample: Sample, records: IntArray, events: BoolArray, fewest: int, coalition: int
) -> _Steps | None:
    """The curve of the records of a group; None where it has no step."""
    if not len(records):
        return None
    times, happened, units = sample.values[records], events[records], sample.units[records]
    _, unit, repeated = np.unique(units, return_inverse=True, return_counts=True)
    enough = max(fewest * int(repeated.max()), -(-int(happened.sum()) // MOST_STEPS))
    try:
        curve = survival_curve(times, happened, enough)
    except ModelProblemError:
        return None
    number = len(curve.ends)
    step = np.searchsorted(curve.ends, times)
    of_events = Sample(times[happened], step[happened], unit[happened], number + 1)
    event_units = of_events.units_of_groups
    left_units = _distinct(step[~happened], unit[~happened], number + 1)
    there = of_events.records_of_groups > 0
    return _Steps(
        curve,
        (of_events.sums(of_events.values) / np.maximum(of_events.records_of_groups, 1))[:number],
        event_units[:number],
        left_units[:number],
        np.array([event_units[number], left_units[number]]),
        _closeness(of_events, there, coalition),
        extremes_of_groups(of_events, of_events.values, least=True)[there],
        extremes_of_groups(of_events, of_events.values, least=False)[there],
        of_events.records_of_groups[there],
    )


def _distinct(places: IntArray, units: IntArray, number: int) -> IntArray:
    """Distinct units at each of `number` places."""
    span = int(units.max(initial=0)) + 1
    return np.bincount(np.unique(places * span + units) // span, minlength=number)


def _closeness(events: Sample, there: BoolArray, coalition: int) -> float:
    """How closely the sum of a step's times tells its largest unit's to others who know theirs, at worst.

    So do those after the last step, of whom `there` says whether there are any. A time that all of a step
    have is enough units' own.
    """
    of_units, _, _ = events.unit_groups
    number = events.number_of_groups
    largest = largest_of_groups(of_units, events.unit_sums(events.values), number, coalition + 1)
    least, greatest = (extremes_of_groups(events, events.values, least=least) for least in (True, False))
    left = events.sums(events.values) - largest.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(least == greatest, np.inf, left / largest[:, 0])[there].min())


def _padded(name: str, counts: list[IntArray | None]) -> ImpliedCells:
    """Cells of groups with as many columns as the group with most has: the others' are empty."""
    widest = max((len(one) for one in counts if one is not None), default=1)
    cells = np.zeros((len(counts), widest), dtype=np.int64)
    for group, one in enumerate(counts):
        if one is not None:
            cells[group, : len(one)] = one
    return ImpliedCells(name, cells)
