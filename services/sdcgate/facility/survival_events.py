"""What a survival curve tells of those who have the event: the sum of their times, and sums over runs.

A step stands at the mean time of its events, and its height tells how many they are. All steps together tell
the sum of a group's times as a table of means would, so this table is judged beside that of units. Each step
by itself, and what is left after the last, is a window of the events in the order of their times: curves of
overlapping populations whose steps end elsewhere tell of the few in between.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.facility.judging import Computation, Judge
from sdcgate.facility.knowledge import COUNTS, Knowledge
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.percentile_windows import ReleasedWindow
from sdcgate.facility.plan import Plan
from sdcgate.facility.window_audit import WindowAudit, WindowMinimum
from sdcgate.methods.cells import BoolArray, IntArray, State, number_of_cells, shape_of
from sdcgate.methods.outputs.statistics import GroupRuns
from sdcgate.methods.rules import Consequence, Finding, ReasonCode


@dataclass(frozen=True, slots=True, eq=False)
class EventsInHand:
    """The table of the times of those who have the event, by the groups of their curves."""

    plan: Plan
    cells: Computation = field(repr=False)

    @property
    def of_groups(self) -> IntArray:
        """The cell of each group, shape (groups,)."""
        axes = self.cells.table.axes
        every = np.arange(number_of_cells(axes)).reshape(shape_of(axes))
        cells: IntArray = every[tuple(slice(0, -1) for _ in axes)].reshape(-1)
        return cells

    def judged(
        self, judge: Judge, known: Knowledge, table: Outcome, left: Callable[[], float], approved: bool
    ) -> Outcome:
        """As though the statistic's table of units had left before it."""
        return judge.judge(self.plan, self.cells, known.grown(table.released), left, approved)

    def hidden(self, outcome: Outcome) -> BoolArray:
        """Groups whose sum may not be told, shape (groups,)."""
        hidden: BoolArray = outcome.states[self.of_groups] == State.WITHHELD
        return hidden

    def windows(self, outcome: Outcome, runs: GroupRuns) -> list[ReleasedWindow]:
        """The runs of a group's events as windows of the measure."""
        # The last table of counts is that of the records that have the measure.
        counts = [table for table in outcome.released if table.quantity == COUNTS][-1]
        box = counts.boxes[self.of_groups[runs.group]]
        columns = zip(runs.lowest.tolist(), runs.highest.tolist(), runs.records.tolist(), strict=True)
        # All of one time are in one step, so that no run begins among equal ones.
        return [
            ReleasedWindow(self.plan.measures[0], box, low, high, 0, number) for low, high, number in columns
        ]


def audited_runs(
    engine: Engine,
    events: EventsInHand,
    outcome: Outcome,
    runs: tuple[GroupRuns, ...],
    known: Knowledge,
    minimum: WindowMinimum,
    pulse: Callable[[], None],
) -> tuple[tuple[Finding, ...], tuple[ReleasedWindow, ...]]:
    """Findings for groups whose steps tell of few beside what has left, and the windows that become known.

    Args:
        engine: reads the records.
        events: the table of those who have the event.
        outcome: what may be decided about it.
        runs: of the groups that would show a curve.
        known: what has left.
        minimum: units and households that any combination of runs must tell of, at least.
        pulse: raises once the caller has gone.
    """
    measure = events.plan.measures[0]
    earlier = [window for window in known.windows if window.ordered_by == measure]
    wanted = [events.windows(outcome, one) for one in runs]
    if not earlier:
        # Runs of one curve, and of groups, have no record in common.
        return (), tuple(window for windows in wanted for window in windows)
    audit = WindowAudit(engine, events.plan.dataset, measure, minimum, pulse, earlier)
    fits = iter(audit.accepted([window for windows in wanted for window in windows]))
    fitting = [all(tuple(islice(fits, len(windows)))) for windows in wanted]
    kept_back = tuple(one.group for one, fit in zip(runs, fitting, strict=True) if not fit)
    findings = (Finding(ReasonCode.DIFFERENCING, Consequence.PROTECT, kept_back),) if kept_back else ()
    left = (window for windows, fit in zip(wanted, fitting, strict=True) if fit for window in windows)
    return findings, tuple(left)
