"""The windows that a statistic rests on, and which of its figures are kept back for their sake.

They are those of percentiles, of what lies below these where a Lorenz curve tells its share, and of the
largest units in a concentration ratio; a share tells a sum once the total is known, which is a window as
well. Of hexagons, and of ratios where units have several records, the population alone is compared.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.facility.knowledge import COUNTS, Knowledge, ReleasedTable
from sdcgate.facility.percentile_windows import ReleasedWindow
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.weights import WEIGHTED_PREFIX
from sdcgate.facility.window_audit import WindowAudit, WindowMinimum
from sdcgate.methods.cells import Axis, BoolArray, FloatArray, IntArray, shape_of
from sdcgate.methods.outputs.percentiles import Percentiles
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.outputs.statistics import Computed
from sdcgate.methods.rules import Consequence, Finding, ReasonCode
from sdcgate.methods.tables.boxes import Box

EVERYWHERE = (-np.inf, np.inf)
"""Between what values a window lies of which only its place in the order is known."""
NO_VALUES = (0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class ToldWindows:
    """The windows of one measure that a statistic would tell the means or sums of."""

    measure: str
    told: BoolArray = field(repr=False)
    """Shape (groups, points)."""
    lowest: FloatArray = field(repr=False)
    """The least value in each, shape (groups, points) as all others."""
    highest: FloatArray = field(repr=False)
    skipped: IntArray = field(repr=False)
    """Records of the least value, or of whatever value where it is not known, that stand before each."""
    records: IntArray = field(repr=False)
    """Records in each; 0 where only the population is compared."""
    points: tuple[tuple[float, str], ...]
    """How far from the middle each is, and the figure that is kept back with it: `""` for the group."""

    @property
    def ordered_by(self) -> str:
        """The measure itself, where it is the weighted one."""
        return self.measure.removeprefix(WEIGHTED_PREFIX)

    def of_group(self, box: Box, group: int, point: int) -> ReleasedWindow:
        """One of them, as the ledger keeps it."""
        return ReleasedWindow(
            self.measure,
            box,
            float(self.lowest[group, point]),
            float(self.highest[group, point]),
            int(self.skipped[group, point]),
            int(self.records[group, point]),
        )


def told_windows(
    plan: StatisticPlan,
    computed: Computed,
    second: Percentiles | None,
    found: StatisticAssessment,
    shown: BoolArray,
    weights_tell: bool = False,
) -> tuple[ToldWindows, ...]:
    """What a statistic would tell; `shown` are the groups that show anything, shape (groups,).

    `weights_tell`: it is weighted, and everybody knows the weights, as variables decide them: its sums are
    then others than plain ones.
    """
    told = tuple(_told_windows(plan, computed, second, found, shown))
    if weights_tell and plan.statistic is Statistic.LORENZ_CURVE:
        return tuple(replace(one, measure=WEIGHTED_PREFIX + one.measure) for one in told)
    return told


def _told_windows(
    plan: StatisticPlan,
    computed: Computed,
    second: Percentiles | None,
    found: StatisticAssessment,
    shown: BoolArray,
) -> Iterator[ToldWindows]:
    records = computed.facts.table.records
    if plan.statistic is Statistic.CONCENTRATION_RATIO:
        if plan.dataset.records_per_unit > 1:
            yield _population(plan.measures[0], shown)
        else:
            yield _run(plan.measures[0], shown, 0, records)
            largest = np.minimum(plan.policy.statistics.largest, records)
            yield _run(plan.measures[0], shown, records - largest, largest)
        return
    first = computed.percentiles
    if first is None:
        return
    own = computed.figures[: len(first.points)]
    told = np.stack([np.isfinite(figure.shown(found)) for figure in own], axis=1) & shown[:, None]
    if plan.statistic is Statistic.LORENZ_CURVE:
        some: BoolArray = np.logical_or.reduce(told, axis=1)
        yield _run(plan.measures[0], some, 0, records)
        # The share at the middle of a window is that of what is below it, and half of its own.
        yield _below(plan.measures[0], first, told, first.before)
        yield _below(plan.measures[0], first, told, first.before + first.window_records)
        return
    yield _of_percentiles(plan.measures[0], first, told, by_point=second is None)
    if second is not None:
        yield _of_percentiles(plan.measures[1], second, second.available & shown[:, None], by_point=False)
        yield _population(":".join(sorted(plan.measures)), shown)


def _of_percentiles(measure: str, found: Percentiles, told: BoolArray, by_point: bool) -> ToldWindows:
    """The windows of percentiles. A value that all of a window have is nobody's sum."""
    varied = told & (found.highest > found.lowest)
    return ToldWindows(
        measure,
        varied,
        found.lowest,
        found.highest,
        found.skipped,
        found.window_records,
        tuple(_points(found, by_point)),
    )


def _below(measure: str, found: Percentiles, told: BoolArray, records: IntArray) -> ToldWindows:
    """So many records of each group, the least first."""
    low, high = (np.full(told.shape, end) for end in EVERYWHERE)
    nothing, points = np.zeros(told.shape, dtype=np.int64), tuple(_points(found, True))
    return ToldWindows(measure, told & (records > 0), low, high, nothing, records, points)


def _points(found: Percentiles, by_point: bool) -> Iterator[tuple[float, str]]:
    for point, fact in zip(found.points, found.facts(), strict=True):
        yield abs(point - 0.5), fact.name if by_point else ""


def _run(measure: str, told: BoolArray, skipped: IntArray | int, records: IntArray) -> ToldWindows:
    """A run of each group's records in the order of their values."""
    low, high = (np.full((len(told), 1), end) for end in EVERYWHERE)
    before = np.broadcast_to(skipped, records.shape)[:, None]
    return ToldWindows(
        measure, (told & (records > 0))[:, None], low, high, before, records[:, None], ((0.0, ""),)
    )


def _population(measure: str, told: BoolArray) -> ToldWindows:
    """Each group, of which nothing is compared but who is in it."""
    low, high = (np.full((len(told), 1), end) for end in NO_VALUES)
    nothing = np.zeros((len(told), 1), dtype=np.int64)
    return ToldWindows(measure, told[:, None], low, high, nothing, nothing, ((0.0, ""),))


def boxes_of_groups(
    plan: StatisticPlan, axes: tuple[Axis, ...], released: Sequence[ReleasedTable]
) -> list[Box]:
    """The boxes of a statistic's groups, of the records that have its measures."""
    # The last table of counts is that of these.
    counts = [table for table in released if table.quantity == COUNTS][-1]
    every = np.arange(len(counts.boxes)).reshape(shape_of(axes))
    inner = every[tuple(slice(0, -1) if axis < len(plan.groups) else -1 for axis in range(len(axes)))]
    return [counts.boxes[cell] for cell in inner.reshape(-1).tolist()]


def audited_windows(
    engine: Engine,
    plan: StatisticPlan,
    axes: tuple[Axis, ...],
    released: Sequence[ReleasedTable],
    told: Sequence[ToldWindows],
    known: Knowledge,
    minimum: WindowMinimum,
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
        minimum: units and households that any combination of windows must tell of, at least.
        pulse: raises once the caller has gone.
    """
    boxes = boxes_of_groups(plan, axes, released)
    findings: list[Finding] = []
    left: list[ReleasedWindow] = []
    for measure in dict.fromkeys(one.ordered_by for one in told):
        earlier = [window for window in known.windows if window.ordered_by == measure]
        audit = WindowAudit(engine, plan.dataset, measure, minimum, pulse, earlier)
        wanted = _wanted([one for one in told if one.ordered_by == measure], boxes)
        fitting = audit.accepted([window for window, _, _ in wanted])
        for (window, group, name), fits in zip(wanted, fitting, strict=True):
            if fits:
                left.append(window)
            else:
                findings.append(Finding(ReasonCode.DIFFERENCING, Consequence.PROTECT, (group,), name))
    return tuple(dict.fromkeys(findings)), tuple(left)


def _wanted(told: Sequence[ToldWindows], boxes: Sequence[Box]) -> list[tuple[ReleasedWindow, int, str]]:
    """Windows with the group and the figure that rest on each, the most wanted percentiles first."""
    found = [
        (distance, one.of_group(boxes[group], group, point), group, name)
        for one in told
        for point, (distance, name) in enumerate(one.points)
        for group in np.flatnonzero(one.told[:, point]).tolist()
    ]
    return [(window, group, name) for _, window, group, name in sorted(found, key=lambda wanted: wanted[0])]
