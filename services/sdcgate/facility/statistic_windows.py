"""The windows that a statistic's percentiles rest on, and which percentiles are kept back for their sake."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.facility.knowledge import COUNTS, Knowledge, ReleasedTable
from sdcgate.facility.percentile_windows import ReleasedWindow
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.window_audit import WindowAudit
from sdcgate.methods.cells import Axis, BoolArray, shape_of
from sdcgate.methods.outputs.percentiles import Percentiles
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.methods.outputs.statistics import Computed
from sdcgate.methods.rules import Consequence, Finding, ReasonCode


@dataclass(frozen=True, slots=True, eq=False)
class ToldWindows:
    """The windows of one measure that a statistic would tell the means of."""

    measure: str
    percentiles: Percentiles = field(repr=False)
    told: BoolArray = field(repr=False)
    """Shape (groups, points)."""
    by_point: bool
    """Whether one percentile can be kept back without its group."""


def told_windows(
    plan: StatisticPlan,
    computed: Computed,
    second: Percentiles | None,
    found: StatisticAssessment,
    shown: BoolArray,
) -> tuple[ToldWindows, ...]:
    """What a statistic would tell; `shown` are the groups that show anything, shape (groups,)."""
    first = computed.percentiles
    if first is None:
        return ()
    own = computed.figures[: len(first.points)]
    points = [np.isfinite(figure.shown(found)) for figure in own]
    told = np.stack(points, axis=1) & shown[:, None]
    windows = [ToldWindows(plan.measures[0], first, told, second is None)]
    if second is not None:
        windows.append(ToldWindows(plan.measures[1], second, second.available & shown[:, None], False))
    return tuple(windows)


def audited_windows(
    engine: Engine,
    plan: StatisticPlan,
    axes: tuple[Axis, ...],
    released: Sequence[ReleasedTable],
    told: Sequence[ToldWindows],
    known: Knowledge,
    minimum: int,
    pulse: Callable[[], None],
) -> tuple[tuple[Finding, ...], tuple[ReleasedWindow, ...]]:
    """Findings for what must not leave, and the windows that become known.

    Args:
        engine: reads the records.
        plan: the statistic.
        axes: of its table.
        released: what its table releases, counts among it.
        told: the windows that it would tell.
        known: what has left.
        minimum: units that any combination of windows must tell of, at least.
        pulse: raises once the caller has gone.
    """
    # The last table of counts is that of the records that have the measures.
    counts = [table for table in released if table.quantity == COUNTS][-1]
    every = np.arange(len(counts.boxes)).reshape(shape_of(axes))
    inner = every[tuple(slice(0, -1) if axis < len(plan.groups) else -1 for axis in range(len(axes)))]
    boxes = [counts.boxes[cell] for cell in inner.reshape(-1).tolist()]
    findings: list[Finding] = []
    left: list[ReleasedWindow] = []
    for one in told:
        earlier = [window for window in known.windows if window.measure == one.measure]
        audit = WindowAudit(engine, plan.dataset, one.measure, minimum, pulse, earlier)
        found = one.percentiles
        # A value that all of a window have is nobody's sum.
        varied = one.told & (found.highest > found.lowest)
        # The most wanted percentiles first, as where there is no room for all.
        order = sorted(range(len(found.points)), key=lambda point: abs(found.points[point] - 0.5))
        wanted = [(group, point) for point in order for group in np.flatnonzero(varied[:, point]).tolist()]
        windows = [
            ReleasedWindow(
                one.measure,
                boxes[group],
                float(found.lowest[group, point]),
                float(found.highest[group, point]),
                int(found.skipped[group, point]),
                int(found.window_records[group, point]),
            )
            for group, point in wanted
        ]
        names = [fact.name for fact in found.facts()]
        for (group, point), window, fits in zip(wanted, windows, audit.accepted(windows), strict=True):
            if fits:
                left.append(window)
            else:
                name = names[point] if one.by_point else ""
                findings.append(Finding(ReasonCode.DIFFERENCING, Consequence.PROTECT, (group,), name))
    return tuple(findings), tuple(left)
