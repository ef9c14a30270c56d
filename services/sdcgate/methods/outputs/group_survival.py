"""Survival curves of groups, with the facts by which they are judged.

Each step rests on enough units, as `survival_curve` takes times together. A step stands at the mean time of
its events: the last one would be somebody's time, while the mean is that only where all of a step have it.
So the steps tell the sum of the times of all who have the event, but for those after the last; these have
what is left of that sum where it is known.
"""

from collections.abc import Callable, Sequence
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
from sdcgate.methods.tables.sensitivity import CLOSE

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
    homes: tuple[FloatArray, FloatArray, FloatArray] | None = field(repr=False)
    """Households of these three; None where they are not known."""
    closeness: float = field(repr=False)
    lowest: FloatArray = field(repr=False)
    """The least time of each step's events, and of those after the last where there are any."""
    highest: FloatArray = field(repr=False)
    records: IntArray = field(repr=False)
    """Events of each step, and after the last where there are any."""

    def of_few(self, households: float) -> bool:
        """Whether any cell in which somebody is has fewer households."""
        if self.homes is None:
            return True
        cells = zip((self.event_units, self.left_units, self.after_units), self.homes, strict=True)
        return any(bool((homes[units > 0] < households * (1 - CLOSE)).any()) for units, homes in cells)


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
    events = given(columns.has)
    found = [_steps(sample, records, events, rules) for records in sample.members]
    bounds = np.array([np.inf if one is None else one.closeness for one in found])
    facts = StatisticFacts(
        facts_of_groups(sample, (), (), 2),
        bounds=(ClosestBound("step", bounds),),
        implied=(
            _padded("events", found, lambda one: one.event_units, 0),
            _padded("left", found, lambda one: one.left_units, 1),
            _padded("after", found, lambda one: one.after_units, 2),
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


def _steps(sample: Sample, records: IntArray, events: BoolArray, rules: StatisticRules) -> _Steps | None:
    """The curve of the records of a group; None where it has no step.

    Steps of enough units may be of too few households: then more are taken together.
    """
    if not len(records) or rules.implied is None:
        return None
    _, repeated = np.unique(sample.units[records], return_counts=True)
    happened = int(events[records].sum())
    enough = max(rules.implied.units * int(repeated.max()), -(-happened // MOST_STEPS))
    homes, found = rules.table.minimum_households, None
    while enough <= max(happened, 1):
        found = _steps_of(sample, records, events, enough, rules.table.coalition)
        if found is None or homes is None or found.homes is None or not found.of_few(homes.households):
            return found
        enough *= 2
    return found


def _steps_of(
    sample: Sample, records: IntArray, events: BoolArray, enough: int, coalition: int
) -> _Steps | None:
    """The curve whose steps are of so many records at least; None where there is none."""
    times, happened = sample.values[records], events[records]
    _, unit = np.unique(sample.units[records], return_inverse=True)
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
        _homes(sample, records, step, happened, number),
        _closeness(of_events, there, coalition),
        extremes_of_groups(of_events, of_events.values, least=True)[there],
        extremes_of_groups(of_events, of_events.values, least=False)[there],
        of_events.records_of_groups[there],
    )


def _homes(
    sample: Sample, records: IntArray, step: IntArray, happened: BoolArray, number: int
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Households with and without the event by step, and of those after the last."""
    if sample.households is None:
        return None
    places = np.full(len(sample.values), number + 1, dtype=np.int64)
    places[records] = step
    having = np.zeros(len(sample.values), dtype=np.bool_)
    having[records] = happened
    inside = np.zeros(len(sample.values), dtype=np.bool_)
    inside[records] = True
    events = given(sample.households_at(places, number + 2, inside & having))
    left = given(sample.households_at(places, number + 2, inside & ~having))
    return events[:number], left[:number], np.array([events[number], left[number]])


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


def _padded(
    name: str, found: Sequence[_Steps | None], units: Callable[[_Steps], IntArray], place: int
) -> ImpliedCells:
    """Cells of groups with as many columns as the group with most has: the others' are empty."""
    widest = max((len(units(one)) for one in found if one is not None), default=1)
    cells, homes = np.zeros((len(found), widest), dtype=np.int64), np.zeros((len(found), widest))
    known = all(one is None or one.homes is not None for one in found)
    for group, one in enumerate(found):
        if one is not None:
            own = units(one)
            cells[group, : len(own)] = own
            if one.homes is not None:
                homes[group, : len(own)] = one.homes[place]
    return ImpliedCells(name, cells, homes if known else None)
