"""Least and greatest values that left: all values of a population lie between them, as between bounds.

They are kept with windows of values, as one of the whole population. What they add to the declared bounds is
reckoned with in the proofs of tables within that population, and in the joint audit where it is everybody.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from sdcgate.facility.knowledge import COUNTS, Knowledge
from sdcgate.facility.percentile_windows import ReleasedWindow
from sdcgate.facility.powers import Bounds
from sdcgate.facility.region_records import without_measures
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.methods.cells import BoolArray, Facts
from sdcgate.methods.outputs.extremes import extremes
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_assessment import EXTREMES
from sdcgate.methods.tables.boxes import Box, is_inside

PREFIX = "extremes:"


def told_extremes(
    plan: StatisticPlan,
    sample: Sample,
    shown: BoolArray,
    boxes: Sequence[Box],
    left: Sequence[ReleasedWindow],
) -> dict[int, ReleasedWindow]:
    """What a statistic of the extremes adds, by shown group, to declared bounds and those that `left`.

    A range tells both ends as soon as one is known.
    """
    ends = EXTREMES.get(plan.statistic, ())
    if not ends:
        return {}
    measure, found = plan.dataset.measure(plan.measures[0]), extremes(sample)
    low = found.minima if "minimum" in ends else np.full(len(shown), -np.inf)
    high = found.maxima if "maximum" in ends else np.full(len(shown), np.inf)
    told: dict[int, ReleasedWindow] = {}
    for group in np.flatnonzero(shown & (sample.records_of_groups > 0)).tolist():
        name, box = PREFIX + measure.name, boxes[group]
        window = ReleasedWindow(name, box, float(low[group]), float(high[group]), 0, 0)
        inside, declared = without_measures(box), (measure.lower_bound, measure.upper_bound)
        before = narrowed(left, measure.name, declared, inside)
        if narrowed([window], measure.name, before, inside) != before:
            told[group] = window
    return told


def narrowed(windows: Iterable[ReleasedWindow], measure: str, bounds: Bounds, box: Box = ()) -> Bounds:
    """A measure's bounds within a box, with what extremes of boxes around it add."""
    low, high = bounds
    for window in windows:
        if window.measure == PREFIX + measure and is_inside(box, without_measures(window.box)):
            low = max(window.lowest, -np.inf if low is None else low)
            high = min(window.highest, np.inf if high is None else high)
    return (
        None if low is None or np.isinf(low) else float(low),
        None if high is None or np.isinf(high) else float(high),
    )


def narrowing(windows: Iterable[ReleasedWindow], box: Box = ()) -> Callable[[str, Bounds], Bounds]:
    """`narrowed` by some windows within a box, of any measure."""
    kept = [window for window in windows if window.measure.startswith(PREFIX)]
    return lambda measure, bounds: narrowed(kept, measure, bounds, box)


def with_narrowed(facts: Facts, within: Callable[[str, Bounds], Bounds]) -> Facts:
    """Facts of which the measures have narrower bounds; the same where none is."""
    declared = [(measure.lower_bound, measure.upper_bound) for measure in facts.measures]
    told = [within(one.name, bounds) for one, bounds in zip(facts.measures, declared, strict=True)]
    if told == declared:
        return facts
    measures = zip(facts.measures, told, strict=True)
    return replace(
        facts,
        measures=tuple(replace(one, lower_bound=low, upper_bound=high) for one, (low, high) in measures),
    )


def hides_what_bounds_tell(known: Knowledge, measure: str) -> bool:
    """Whether something was withheld that closer bounds of a measure may tell: sums, or counts beside.

    What a statistic perhaps told is no less withheld.
    """
    sums, counts = known.of(measure).surely(), known.of(COUNTS).surely()
    return bool(sums.boxes.secret) or (bool(counts.boxes.secret) and not sums.empty)
