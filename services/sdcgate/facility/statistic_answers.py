"""Decisions about statistics, in the words and figures that leave."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from sdcgate.facility.asked import Asked
from sdcgate.facility.decisions import new_decision
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.facility.reasons import reviewed_reason
from sdcgate.facility.recording import Found
from sdcgate.facility.results.printed import STANDARD_ERROR
from sdcgate.facility.statistic_computing import Hexagons
from sdcgate.facility.statistic_errors import add_percentile_errors
from sdcgate.facility.statistic_kinds import OF_MEASURES
from sdcgate.facility.statistic_pictures import (
    computed_curves,
    curves_and_pictures,
    tell_what_is_not_drawn,
)
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistic_suggestions import suggested
from sdcgate.facility.statistics import StatisticInHand, StatisticOutcome
from sdcgate.methods.cells import TOTAL, Axis, BoolArray, IntArray, State, number_of_cells, shape_of
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.rules import Consequence, ReasonCode
from sdcgate.wire.dimensions import axes_to_messages
from sdcgate.wire.models import EVERY_DIGIT, significant
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, statistic_pb2

REFERRED = "An output checker will look at this statistic."
NOBODY = "Nobody is in the population of the statistic, so there is no figure."
REFUSED = "The statistic does not pass the rules of this dataset."
WITHHELD = (
    "Groups, or figures of them, that rest on too few units are withheld, with others that reveal them."
)
OF_STATISTICS = {
    # In one sentence: that a group is withheld for others alone would tell which of those is the small one.
    ReasonCode.MINIMUM_UNITS: (
        "The groups, or figures of them, rest on too few units, or would reveal some that do, together with "
        "other answers."
    ),
    ReasonCode.MINIMUM_BASE: "The population of the statistic is too small.",
    ReasonCode.DIFFERENCING: (
        "Together with what was released before, this statistic would reveal figures that must not be known."
    ),
    ReasonCode.UNPROVED: "It could not be proved that the table beneath the statistic is safe.",
    ReasonCode.PERCENTILE_UNITS: "The groups have too few units for any percentile.",
    ReasonCode.EXTREME_VALUE: "The least or greatest value is that of too few units.",
    ReasonCode.MODAL_SHARE: "(Nearly) all units of the groups have the most frequent category.",
    ReasonCode.IMPLIED_TABLE: "The statistic implies a table with cells of too few units.",
    ReasonCode.NOT_ESTIMABLE: (
        "The statistic cannot be computed: something does not vary, or too few are there for a step or test."
    ),
}
NONE: Mapping[int, Hexagons] = MappingProxyType({})
TOLD = frozenset(
    {
        ReasonCode.PERCENTILE_UNITS,
        ReasonCode.EXTREME_VALUE,
        ReasonCode.MODAL_SHARE,
        ReasonCode.IMPLIED_TABLE,
        ReasonCode.NOT_ESTIMABLE,
    }
)
"""Rules that are told by name; the others are those of cells, which look alike."""


def decided_statistic(
    asked: Asked, hand: StatisticInHand, outcome: StatisticOutcome, reviewed: str = ""
) -> pb.Decision:
    """The decision that an outcome allows; `reviewed` is the query that a checker approves."""
    if outcome.consequence is not None or outcome.withheld is None:
        consequence = outcome.consequence or Consequence.REFUSE
        decision = new_decision(asked, consequence, reviewed or None)
        for code in dict.fromkeys(_as_told(code, hand.plan) for code in outcome.codes):
            decision.reasons.append(statistic_reason(code, hand.plan, consequence))
        if outcome.nobody:
            decision.reasons[0].message = NOBODY
    else:
        told = told_statistic(hand, outcome.assessment, outcome.withheld, hexagons=outcome.hexagons)
        protected = bool(outcome.withheld.any()) or _lacks_figures(hand, outcome)
        decision = new_decision(asked, None, reviewed or None, protected)
        if protected:
            few = policy_pb2.REASON_CODE_MINIMUM_UNITS
            instead = suggested(ReasonCode.MINIMUM_UNITS, hand.plan)
            decision.reasons.append(pb.Reason(code=few, message=WITHHELD, suggestion=instead))
        decision.statistic.CopyFrom(told)
    if reviewed:
        decision.reasons.append(reviewed_reason())
    return decision


def found_statistic(hand: StatisticInHand, outcome: StatisticOutcome, sequence: int) -> Found:
    """What the ledger keeps of it: the table that its answer says something of counts as known."""
    cells = _cells_of_groups(hand)
    of_groups = (
        replace(found, cells=tuple(int(cells[group]) for group in found.cells))
        for found in outcome.assessment.findings
    )
    findings = (*outcome.table.findings, *of_groups)
    judged = replace(
        outcome.table,
        consequence=outcome.consequence,
        codes=outcome.codes,
        findings=findings,
        released=_known(hand, outcome),
    )
    everything = None
    if hand.computed is not None:
        nothing_withheld = np.zeros(len(hand.computed.facts.table), dtype=np.bool_)
        everything = told_statistic(hand, StatisticAssessment(()), nothing_withheld, EVERY_DIGIT, drawn=False)
    windows = () if outcome.consequence is not None else outcome.windows
    events = outcome.events.released if outcome.consequence is None and outcome.events is not None else ()
    return Found(
        computed=hand.cells,
        outcome=judged,
        sequence=sequence,
        statistic=everything,
        implied=(events,),
        windows=windows,
        limit=outcome.table.limit,
    )


def _known(hand: StatisticInHand, outcome: StatisticOutcome) -> tuple[ReleasedTable, ...]:
    """What becomes known: of a refusal only that nobody is there, where it says so."""
    if outcome.consequence is not None and not outcome.nobody:
        return ()
    tables = outcome.table.released
    if hand.table.total_digits:
        cells = _cells_of_groups(hand)[~_showing(hand, outcome)]
        tables = tuple(table.perhaps_of(cells) for table in tables)
    return (*tables, *outcome.powers)


def _showing(hand: StatisticInHand, outcome: StatisticOutcome) -> BoolArray:
    """Groups of which every figure leaves, shape (groups,)."""
    if hand.computed is None or outcome.withheld is None:
        return np.zeros(len(_cells_of_groups(hand)), dtype=np.bool_)
    figures = [np.isfinite(one.shown(outcome.assessment)) for one in hand.computed.figures]
    showing: BoolArray = np.logical_and.reduce([~outcome.withheld, *figures])
    return showing


def _cells_of_groups(hand: StatisticInHand) -> IntArray:
    """Position of each group in its table, where checkers look for findings."""
    axes, groups = hand.cells.table.axes, len(hand.plan.groups)
    every = np.arange(number_of_cells(axes)).reshape(shape_of(axes))
    inner = every[tuple(slice(0, -1) for _ in range(groups))]
    # Of the variables that are counted the total, which comes last.
    cells: IntArray = inner.reshape(*inner.shape[:groups], -1)[..., -1].reshape(-1)
    return cells


def told_statistic(
    hand: StatisticInHand,
    found: StatisticAssessment,
    withheld: BoolArray,
    digits: int | None = None,
    drawn: bool = True,
    hexagons: Mapping[int, Hexagons] = NONE,
) -> statistic_pb2.GroupedStatistic:
    """The message of a statistic; to checkers without anything withheld or rounded."""
    plan, computed = hand.plan, hand.computed
    message = statistic_pb2.GroupedStatistic(
        kind=statistic_pb2.StatisticKind.Name(int(plan.statistic)),
        measure="" if plan.statistic in OF_MEASURES or not plan.measures else plan.measures[0],
        dimensions=axes_to_messages(group_axes(hand), with_cells=True),
        weighted=plan.weighted,
    )
    groups = len(computed.facts.table) if computed is not None else 0
    message.statuses.extend(np.where(withheld, State.WITHHELD, State.PUBLISHED).tolist())
    if computed is None:
        message.ClearField("dimensions")
        if drawn:
            tell_what_is_not_drawn(plan, message)
        return message
    exact = plan.policy.statistics.significant_digits if digits is None else digits
    if plan.statistic is not Statistic.HEXAGONAL_BINS:
        for figure in computed.figures:
            values = figure.shown(found)
            there = np.flatnonzero(np.isfinite(values) & ~withheld)
            one = message.figures.add(name=figure.name, groups=there.tolist())
            if figure.name == "mode" and hand.people is not None:
                one.codes.extend(hand.people.categories[int(values[group])] for group in there)
            else:
                one.values.extend(significant(float(values[group]), exact) for group in there)
    if computed.unreliable is not None:
        occupied = computed.facts.table.units > 0
        message.unreliable.extend(np.flatnonzero(computed.unreliable & occupied & ~withheld).tolist())
    if plan.errors:
        add_percentile_errors(hand, found, withheld, exact, message)
    computed_curves(hand, found, withheld, exact, message)
    if drawn and groups:
        curves_and_pictures(hand, found, withheld, exact, hexagons, message)
        tell_what_is_not_drawn(plan, message)
    return message


def add_standard_errors(decision: pb.Decision, hand: StatisticInHand, digits: int) -> None:
    """Beside the deviations that leave, these divided by the root of the number of records.

    That is pandas' `sem`. The number of records that have the measure counts as told by the table beneath, so
    it tells what the deviation tells.
    """
    if hand.computed is None or hand.people is None:
        return
    deviations, records = hand.computed.figures[0].values, hand.people.sample.records_of_groups
    for shown in [one for one in decision.statistic.figures if one.name == hand.computed.figures[0].name]:
        errors = [float(deviations[group] / np.sqrt(records[group])) for group in shown.groups]
        values = [significant(error, digits) for error in errors]
        decision.statistic.figures.add(name=STANDARD_ERROR, groups=shown.groups, values=values)


def group_axes(hand: StatisticInHand) -> tuple[Axis, ...]:
    """The axes of the groups, without totals."""
    axes = hand.cells.table.axes[: len(hand.plan.groups)]
    return tuple(
        replace(
            axis,
            codes=tuple(code for code in axis.codes if code != TOTAL),
            parents=(-1,) * (len(axis.codes) - 1),
            labels=axis.labels[:-1],
        )
        for axis in axes
    )


def statistic_reason(code: ReasonCode, plan: StatisticPlan, consequence: Consequence) -> pb.Reason:
    """A reason with what to ask instead."""
    message = REFERRED if consequence is Consequence.REFER else OF_STATISTICS.get(code, REFUSED)
    return pb.Reason(
        code=policy_pb2.ReasonCode.Name(code.value),
        message=message,
        suggestion=suggested(code, plan),
    )


def _as_told(code: ReasonCode, plan: StatisticPlan) -> ReasonCode:
    """Rules of cells look alike: which one a cell breaks tells something of the figures in it.

    So does that (nearly) all have one value of a measure: whoever knows his own would know theirs.
    """
    if code is ReasonCode.MODAL_SHARE and plan.measures:
        return ReasonCode.MINIMUM_UNITS
    of_tables = frozenset(OF_STATISTICS) | {ReasonCode.VERSION_DIFFERENCE, ReasonCode.INDIVIDUAL_RISK}
    return code if code in TOLD or code in of_tables else ReasonCode.MINIMUM_UNITS


def _lacks_figures(hand: StatisticInHand, outcome: StatisticOutcome) -> bool:
    """Whether a figure is withheld of a group that shows others."""
    computed = hand.computed
    return computed is not None and any(
        bool((np.isfinite(figure.values) & ~np.isfinite(figure.shown(outcome.assessment))).any())
        for figure in computed.figures
    )
