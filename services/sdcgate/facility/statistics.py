"""The way of a statistic query: its table judged as tables are, then computed, checked and decided."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import CellQuery
from sdcgate.facility.alike_groups import alike_groups
from sdcgate.facility.coded_measures import CodedMeasures
from sdcgate.facility.errors import Unavailable
from sdcgate.facility.extremes_beyond import extremes_beyond
from sdcgate.facility.findings import consequence_of
from sdcgate.facility.fitting_room import FittingRoom, nothing
from sdcgate.facility.idle_columns import IdleColumns
from sdcgate.facility.judging import Computation, Judge
from sdcgate.facility.knowledge import Knowledge, ReleasedTable
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.pace import still_time
from sdcgate.facility.percentile_windows import ReleasedWindow
from sdcgate.facility.plan import Plan
from sdcgate.facility.ports import RiskService
from sdcgate.facility.refusals import Refusal, kind_refused, refuse_without_data
from sdcgate.facility.samples_apart import samples_apart
from sdcgate.facility.statistic_computing import (
    Hexagons,
    Task,
    bin_groups,
    compute_task,
    grids_of,
)
from sdcgate.facility.statistic_kinds import ALIKE_OR_NOT, OF_SUMS, OF_VALUES
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistic_png import Font, rendered
from sdcgate.facility.statistic_power_audit import UNPROVED, PowerAudit
from sdcgate.facility.statistic_powers import ToldPower, highest_power
from sdcgate.facility.statistic_ratios import with_ratios
from sdcgate.facility.statistic_records import Population, read_population
from sdcgate.facility.statistic_suggestions import suggested
from sdcgate.facility.statistic_sums import computed_by_sums, sums_suffice
from sdcgate.facility.statistic_windows import audited_windows, boxes_of_groups, told_windows
from sdcgate.facility.survival_events import EventsInHand, audited_runs
from sdcgate.facility.told_extremes import hides_what_bounds_tell, told_extremes
from sdcgate.facility.watching import Stage, watcher
from sdcgate.facility.window_audit import WindowMinimum
from sdcgate.methods.cells import BoolArray, State, shape_of
from sdcgate.methods.outputs.percentiles import Percentiles
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment, assess_statistic
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.outputs.statistics import Computed
from sdcgate.methods.rules import Consequence, Finding, ReasonCode
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

NOTHING_FOUND = StatisticAssessment(())
ALIKE = frozenset({ReasonCode.EQUAL_VALUES, ReasonCode.MODAL_SHARE})
"""Rules that only groups break in which (nearly) all have one value."""


@dataclass(frozen=True, slots=True, eq=False)
class StatisticInHand:
    """A statistic query on its way: what is computed once, whatever the head of the ledger."""

    plan: StatisticPlan
    table: Plan
    cells: Computation = field(repr=False)
    people: Population | None = field(repr=False)
    """None where nobody is in the population, or its sums were computed where the data lie."""
    computed: Computed | None = field(repr=False)
    second: Percentiles | None = field(default=None, repr=False)
    """Of hexagonal bins the percentiles of the second measure."""
    powers: tuple[ToldPower, ...] = field(default=(), repr=False)
    """The sums of powers that it tells of."""
    alike: tuple[Finding, ...] = field(default=(), repr=False)
    """Groups in which (nearly) all have one value."""
    beyond: tuple[Finding, ...] = field(default=(), repr=False)
    """Groups whose extremes or ranks tell what it harms to know of all beyond them."""
    events: EventsInHand | None = field(default=None, repr=False)
    """Of a survival curve the table of the times of those who have the event."""


@dataclass(frozen=True, slots=True, eq=False)
class StatisticOutcome:
    """What may be decided about a statistic at one head of the ledger."""

    consequence: Consequence | None
    """None: released as asked or protected; otherwise refer or refuse."""
    codes: tuple[ReasonCode, ...]
    table: Outcome = field(repr=False)
    """Of its table."""
    assessment: StatisticAssessment = NOTHING_FOUND
    """What withholds single figures, the groups that the table withholds among it."""
    withheld: BoolArray | None = field(default=None, repr=False)
    """Groups that show nothing, shape (groups,)."""
    nobody: bool = False
    """Whether it is held as nobody is there, which its table would tell: that counts as known then."""
    hexagons: Mapping[int, Hexagons] = field(default_factory=dict, repr=False)
    """Of hexagonal bins those of each group that shows any."""
    powers: tuple[ReleasedTable, ...] = field(default=(), repr=False)
    """The sums of powers that become known."""
    windows: tuple[ReleasedWindow, ...] = field(default=(), repr=False)
    """The windows whose means become known."""
    events: Outcome | None = field(default=None, repr=False)
    """Of the table of those who have the event, where there is one."""


class StatisticWay:
    """Steps 2 to 7 for statistics. Stateless: what is known comes in, what may be decided goes out."""

    def __init__(
        self,
        engine: Engine,
        judge: Judge,
        risk: RiskService,
        room: FittingRoom,
        font: Font,
        coded: CodedMeasures,
    ) -> None:
        self._engine = engine
        self._idle = IdleColumns(engine)
        self._coded = coded
        self._judge = judge
        self._risk = risk
        self._room = room
        self._font = font

    def warm_up(self) -> None:
        """Start the processes in which statistics are computed."""
        with suppress(Unavailable):
            self._room.run(nothing, seconds=self._room.limits.seconds)

    def close(self) -> None:
        """End the processes in which statistics are computed."""
        self._room.close()

    def refuse_without_data(self, plan: StatisticPlan) -> Refusal | None:
        """Judge a statistic by the policy alone; None where nothing speaks against it."""
        refused = kind_refused("Statistics", plan.statistic.name, plan.policy.statistics.kinds)
        if refused is not None:
            return refused
        # Without the conditions on missing values, which nobody asked for.
        refusal = refuse_without_data(replace(plan.table(), filters=plan.filters))
        if refusal is not None:
            for told in refusal.reasons:
                # Of the table beneath it what is counted cannot be dropped.
                told.suggestion = suggested(ReasonCode(int(told.code)), plan)
            return Refusal(refusal.consequence, refusal.reasons, ())
        vary = _have_to_vary(plan)
        idle = self._idle.reasons(plan.dataset, plan.measures, plan.counted, vary)
        if idle:
            return Refusal(Consequence.REFUSE, tuple(idle), ())
        return self._coded.refusal(plan.dataset, plan.policy, plan.measures)

    def compute(self, plan: StatisticPlan, left: Callable[[], float]) -> StatisticInHand:
        """Step 3: the table that the statistic says something of, and the statistic.

        Raises:
            Unavailable: the statistic needs more time or memory than it may take.
        """
        lacked = _lacked(self._engine, plan)
        table = plan.table(lacked)
        cells = self._judge.compute(table)
        if sums_suffice(self._engine, plan):
            ends = monotonic() + min(left(), self._room.limits.seconds)
            with watcher().stage(Stage.COMPUTE):
                by_sums = computed_by_sums(self._engine, plan, still_time(lambda: ends - monotonic()))
            computed, powers = (by_sums.computed, by_sums.powers) if by_sums is not None else (None, ())
            return StatisticInHand(plan, table, cells, None, computed, powers=powers)
        with watcher().stage(Stage.COMPUTE):
            people = read_population(self._engine, plan, cells.table.axes)
            alike = alike_groups(self._engine, plan)
            beyond = extremes_beyond(self._engine, plan, cells.table.axes)
            beyond += () if people is None else samples_apart(plan, people)
        if people is None:
            return StatisticInHand(plan, table, cells, None, None)
        rules, largest = plan.rules, plan.policy.statistics.largest
        task = Task(plan.statistic, people, rules, largest, plan.errors, plan.measures, highest_power(plan))
        done = self._room.run(compute_task, task, seconds=left())
        of_events = plan.table_of_events(lacked)
        events = EventsInHand(of_events, self._judge.compute(of_events)) if of_events is not None else None
        return StatisticInHand(
            plan, table, cells, people, done.computed, done.second, done.powers, alike, beyond, events
        )

    def judge(
        self, hand: StatisticInHand, known: Knowledge, left: Callable[[], float], approved: bool = False
    ) -> StatisticOutcome:
        """Steps 4 to 7 at one head: the table first, so that the figures tell of no table that is held."""
        # A correlation that cannot be had tells of the measures' people what a fit does.
        known = known.for_figures(hand.plan.measures)
        table = self._judge.judge(hand.table, hand.cells, known, left, approved)
        if table.consequence is not None:
            return StatisticOutcome(table.consequence, table.codes, table)
        if hand.computed is None:
            return _of_nobody(table)
        events = hand.events.judged(self._judge, known, table, left, approved) if hand.events else None
        if events is not None and events.consequence is not None:
            return StatisticOutcome(events.consequence, events.codes, table)
        outcome = self._judged_figures(hand, hand.computed, table, events, known, left, approved)
        return replace(_with_ratios(hand, outcome), hexagons=self._hexagons(hand, outcome, left))

    def _judged_figures(
        self,
        hand: StatisticInHand,
        computed: Computed,
        table: Outcome,
        events: Outcome | None,
        known: Knowledge,
        left: Callable[[], float],
        approved: bool,
    ) -> StatisticOutcome:
        """The figures, where nothing holds what lies beneath them."""
        found = self._assessed(hand.plan, computed, left())
        found = replace(found, findings=(*hand.alike, *hand.beyond, *found.findings))
        told = _of_shown_groups(found, _hidden(hand, table, events))
        worst = max((consequence_of(finding) for finding in told), default=Consequence.PROTECT)
        if found.unchecked:
            return StatisticOutcome(
                hand.plan.policy.unproved_consequence, (ReasonCode.UNPROVED,), table, found
            )
        if worst is Consequence.REFUSE or (worst is Consequence.REFER and not approved):
            codes = sorted({finding.rule for finding in told if consequence_of(finding) is worst})
            return StatisticOutcome(worst, tuple(codes), table, found)
        outcome = self._protected(hand, computed, table, found, events)
        if hand.powers and outcome.withheld is not None:
            outcome = self._powers_audited(hand, computed, outcome, known, left)
        if outcome.withheld is not None:
            outcome = self._windows_audited(hand, computed, outcome, known, left)
            outcome = self._extremes_audited(hand, computed, outcome, known)
        if computed.runs and outcome.withheld is not None:
            outcome = self._runs_audited(hand, computed, outcome, known, left)
        return outcome

    def _runs_audited(
        self,
        hand: StatisticInHand,
        computed: Computed,
        outcome: StatisticOutcome,
        known: Knowledge,
        left: Callable[[], float],
    ) -> StatisticOutcome:
        """Without the groups whose steps would tell of few units, beside all that have left."""
        rules = hand.plan.rules
        rule, homes = rules.implied, rules.table.minimum_households
        if rule is None or hand.events is None or outcome.events is None or outcome.withheld is None:
            return StatisticOutcome(Consequence.REFER, (ReasonCode.UNPROVED,), outcome.table)
        runs = tuple(one for one in computed.runs if not outcome.withheld[one.group])
        minimum = WindowMinimum(rule.units, homes.households if homes is not None else 0.0)
        with watcher().stage(Stage.PROOF):
            kept_back, windows = audited_runs(
                self._engine, hand.events, outcome.events, runs, known, minimum, still_time(left)
            )
        return replace(self._without(hand, computed, outcome, kept_back), windows=windows)

    def _windows_audited(
        self,
        hand: StatisticInHand,
        computed: Computed,
        outcome: StatisticOutcome,
        known: Knowledge,
        left: Callable[[], float],
    ) -> StatisticOutcome:
        """Without the figures whose windows would tell of few units, beside all that have left."""
        rules = hand.plan.rules
        rule, homes = rules.percentiles, rules.table.minimum_households
        if outcome.withheld is None or rule is None:
            return outcome
        told = told_windows(
            hand.plan,
            computed,
            hand.second,
            outcome.assessment,
            ~outcome.withheld,
            self._judge.weights_tell(hand.plan.dataset, hand.plan.weighted),
        )
        with watcher().stage(Stage.PROOF):
            kept_back, windows = audited_windows(
                self._engine,
                hand.plan,
                hand.cells.table.axes,
                outcome.table.released,
                told,
                known,
                WindowMinimum(rule.window, homes.households if homes is not None else 0.0),
                still_time(left),
            )
        return replace(self._without(hand, computed, outcome, kept_back), windows=windows)

    def _extremes_audited(
        self, hand: StatisticInHand, computed: Computed, outcome: StatisticOutcome, known: Knowledge
    ) -> StatisticOutcome:
        """Without the least and greatest values that bound something withheld more closely than before."""
        if outcome.withheld is None or hand.people is None or not hand.plan.measures:
            return outcome
        boxes = boxes_of_groups(hand.plan, hand.cells.table.axes, outcome.table.released)
        shown, sample = ~outcome.withheld, hand.people.sample
        told = told_extremes(hand.plan, sample, shown, boxes, known.windows)
        if told and hides_what_bounds_tell(known, hand.plan.measures[0]):
            own = Finding(ReasonCode.DIFFERENCING, Consequence.PROTECT, tuple(told))
            return self._without(hand, computed, outcome, (own,))
        return replace(outcome, windows=(*outcome.windows, *told.values()))

    def _powers_audited(
        self,
        hand: StatisticInHand,
        computed: Computed,
        outcome: StatisticOutcome,
        known: Knowledge,
        left: Callable[[], float],
    ) -> StatisticOutcome:
        """Without the groups whose sums of powers would tell others, beside all that has left."""
        if outcome.withheld is None:
            return outcome
        shown = ~outcome.withheld & (computed.facts.table.units > 0)
        audit = PowerAudit(self._engine, hand.plan, known, still_time(left), left)
        try:
            with watcher().stage(Stage.PROOF):
                powers = audit.audited(
                    hand.powers,
                    hand.people,
                    hand.cells.table.axes,
                    outcome.table.released,
                    shown,
                    self._judge.weights_tell(hand.plan.dataset, hand.plan.weighted),
                )
        except UNPROVED:
            unproved = (ReasonCode.UNPROVED,)
            return StatisticOutcome(Consequence.REFER, unproved, outcome.table, outcome.assessment)
        if powers.kept_back.any():
            groups = tuple(np.flatnonzero(powers.kept_back).tolist())
            own = Finding(ReasonCode.DIFFERENCING, Consequence.PROTECT, groups)
            outcome = self._without(hand, computed, outcome, (own,))
        return replace(outcome, powers=powers.released)

    def add_png(self, statistic: statistic_pb2.GroupedStatistic, left: Callable[[], float]) -> None:
        """Render the drawings of a statistic that leaves.

        Raises:
            Unavailable: that needs more time or memory than it may take.
        """
        drawings = [picture.svg for picture in statistic.pictures]
        if drawings:
            for picture, png in zip(statistic.pictures, self.rendered(drawings, left), strict=True):
                picture.png = png

    def rendered(self, drawings: Sequence[str], left: Callable[[], float]) -> list[bytes]:
        """Drawings as PNG; raises as `add_png`."""
        return self._room.run(rendered, drawings, self._font, seconds=left())

    def _assessed(self, plan: StatisticPlan, computed: Computed, timeout: float) -> StatisticAssessment:
        """By the risk service and our own rules: its silence releases nothing."""
        rules = plan.rules
        asked = (computed.statistic, computed.facts, rules, computed.errors)
        with watcher().stage(Stage.ASSESS):
            said, own = self._risk.assess_statistic(*asked, timeout), assess_statistic(*asked)
        return StatisticAssessment(
            tuple(dict.fromkeys((*said.findings, *own.findings))),
            tuple(dict.fromkeys((*said.unchecked, *own.unchecked))),
        )

    def _protected(
        self,
        hand: StatisticInHand,
        computed: Computed,
        table: Outcome,
        found: StatisticAssessment,
        events: Outcome | None = None,
    ) -> StatisticOutcome:
        """Without the groups that the table withholds, and the figures that a rule does."""
        hidden = _hidden(hand, table, events)
        own = Finding(ReasonCode.MINIMUM_UNITS, Consequence.PROTECT, tuple(np.flatnonzero(hidden).tolist()))
        if hidden.any() and own not in found.findings:
            found = replace(found, findings=(own, *found.findings))
        shown = np.any([np.isfinite(figure.shown(found)) for figure in computed.figures], axis=0)
        occupied = computed.facts.table.units > 0
        if not occupied.any():
            return _of_nobody(table)
        # Of a withheld cell nobody may see that it is empty.
        withheld = ~shown & (occupied | hidden)
        if not shown.any():
            told = {finding.rule for finding in _of_shown_groups(found, hidden) if finding.cells}
            codes = tuple(sorted(told | ({own.rule} if hidden.any() else set())))
            codes = codes or (ReasonCode.NOT_ESTIMABLE,)
            return StatisticOutcome(Consequence.REFUSE, codes, table, found)
        return StatisticOutcome(None, (), table, found, withheld, events=events)

    def _without(
        self,
        hand: StatisticInHand,
        computed: Computed,
        outcome: StatisticOutcome,
        kept_back: Sequence[Finding],
    ) -> StatisticOutcome:
        """Without what findings name as well; what an audit has seen before becomes known all the same."""
        if not kept_back:
            return outcome
        found = replace(outcome.assessment, findings=(*kept_back, *outcome.assessment.findings))
        protected = self._protected(hand, computed, outcome.table, found, outcome.events)
        return replace(protected, powers=outcome.powers, windows=outcome.windows)

    def _hexagons(
        self, hand: StatisticInHand, outcome: StatisticOutcome, left: Callable[[], float]
    ) -> Mapping[int, Hexagons]:
        """The hexagons of the groups that show any, on grids of percentiles that may leave."""
        plan, rules = hand.plan, hand.plan.rules.table
        rule, homes = rules.minimum_units, rules.minimum_households
        if plan.statistic is not Statistic.HEXAGONAL_BINS or outcome.withheld is None:
            return {}
        released = hand.computed.released(outcome.assessment) if hand.computed is not None else None
        if released is None or hand.second is None or rule is None:
            return {}
        shown = np.flatnonzero(~outcome.withheld).tolist()
        grids = grids_of(released, hand.second, shown, plan.policy.statistics.significant_digits)
        if not grids:
            return {}
        fewest_homes = homes.households if homes is not None else 0.0
        return self._room.run(bin_groups, hand.people, grids, rule.units, fewest_homes, seconds=left())


def _with_ratios(hand: StatisticInHand, outcome: StatisticOutcome) -> StatisticOutcome:
    """With what its first figure tells of two cells of its table together, in the groups that show it."""
    if hand.computed is None or outcome.withheld is None:
        return outcome
    values = hand.computed.figures[0].shown(outcome.assessment)
    shown = np.isfinite(values) & ~outcome.withheld
    released = with_ratios(hand.plan, hand.cells.table.axes, outcome.table.released, values, shown)
    return replace(outcome, table=replace(outcome.table, released=released))


def _of_nobody(table: Outcome) -> StatisticOutcome:
    """Of nobody there is no figure: said where the table of zeros may leave, and as that tells it."""
    if (table.states == State.WITHHELD).any():
        return StatisticOutcome(Consequence.REFUSE, (ReasonCode.MINIMUM_UNITS,), table)
    return StatisticOutcome(Consequence.REFUSE, (ReasonCode.NOT_ESTIMABLE,), table, nobody=True)


def _hidden(hand: StatisticInHand, table: Outcome, events: Outcome | None) -> BoolArray:
    """Groups of which a table beneath withholds a cell, shape (groups,)."""
    hidden = _hidden_by_table(hand, table)
    if hand.events is not None and events is not None:
        hidden |= hand.events.hidden(events)
    return hidden


def _hidden_by_table(hand: StatisticInHand, table: Outcome) -> BoolArray:
    """Groups of which the table withholds a cell, shape (groups,); what is counted follows from all cells."""
    axes, groups = hand.cells.table.axes, len(hand.plan.groups)
    inner = table.states.reshape(shape_of(axes))[tuple(slice(0, -1) for _ in range(groups))]
    number = int(np.prod(inner.shape[:groups], dtype=np.int64))
    hidden: BoolArray = (inner.reshape(number, -1) == State.WITHHELD).any(axis=1)
    return hidden


def _of_shown_groups(found: StatisticAssessment, hidden: BoolArray) -> tuple[Finding, ...]:
    """What rules say of other groups than those that the table withholds, or in which (nearly) all are alike.

    The rest is for checkers alone: in reasons and verdicts it would tell of the withheld.
    """
    alike = {group for one in found.findings if one.rule in ALIKE for group in one.cells}
    unseen = hidden.copy()
    unseen[[*alike]] = True
    return tuple(
        finding
        for finding in found.findings
        if not (finding.cells and (hidden if finding.rule in ALIKE else unseen)[list(finding.cells)].all())
    )


def _have_to_vary(plan: StatisticPlan) -> bool:
    """Whether a statistic means nothing, or the policy withholds it, where all have the same value."""
    rules = plan.rules
    if plan.statistic in ALIKE_OR_NOT:
        return False
    equal = rules.table.equal_values is not None
    if plan.statistic in OF_SUMS:
        return equal
    numbers = bool(plan.measures)
    return plan.statistic not in OF_VALUES or (equal and numbers) or rules.modal_share is not None


def _lacked(engine: Engine, plan: StatisticPlan) -> tuple[str, ...]:
    """The measures that a record of the population lacks: a condition that all meet is none."""
    if not plan.measures:
        return ()
    total = engine.compute(plan.dataset, CellQuery((), plan.population, plan.measures, 1)).facts
    return tuple(m.name for m in total.measures if (m.valid_records != total.records).any())
