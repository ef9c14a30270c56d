"""Percentiles of groups as means of windows of units, none of which overlaps another.

A percentile of a list is a record's value, or lies between two. What is released is the mean over a window of
units around it, each unit counting once; there are enough units below the window, above it, and between it
and any other window of the same group. So everything that is told of a group's order, by whatever sequence
of requests, are sums over the same few runs of its ordered units, each run long enough. Which percentiles
there are depends on the group and the policy alone: if anybody could ask the 50th and the 51st, the
difference of their windows would be that of two single values. Where a minimum of households is asked, each
run has as many of these, too: ten people of two families are two incomes of families.

Two populations have windows that may differ by few units, whatever the populations differ by: what is known
of other windows is judged together with them (`window_spans`).
"""

from dataclasses import dataclass, field
from math import floor

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import ClosestBound, PercentileFacts
from sdcgate.methods.outputs.statistic_rules import PercentileUnits
from sdcgate.methods.tables.sensitivity import CLOSE


@dataclass(frozen=True, slots=True, eq=False)
class Percentiles:
    """Percentiles of groups, each array of shape (groups, points), points ascending."""

    points: tuple[float, ...]
    values: FloatArray = field(repr=False)
    """NaN where the group has too few units for the percentile."""
    window_units: IntArray = field(repr=False)
    """Units in the window; 0 where it would overlap one that is wanted more."""
    side_units: IntArray = field(repr=False)
    """The fewest units below it, above it, or between it and another window."""
    closeness: FloatArray = field(repr=False)
    """The window's sum without its largest unit and a coalition of the next, as a share of the largest."""
    lorenz: FloatArray = field(repr=False)
    """Share of the group's total that the units below the middle of the window hold; NaN as `values`."""
    lowest: FloatArray = field(repr=False)
    """The least value in the window; NaN as `values`."""
    highest: FloatArray = field(repr=False)
    skipped: IntArray = field(repr=False)
    """Records of the least value that stand before the window."""
    window_records: IntArray = field(repr=False)
    before: IntArray = field(repr=False)
    """Records of the group that stand before the window, of whatever value."""
    window_households: FloatArray | None = field(default=None, repr=False)
    """Households in the window, as `window_units`; None where they are not known."""
    side_households: FloatArray | None = field(default=None, repr=False)
    """The fewest households below it, above it, or between it and another window."""
    share_errors: FloatArray | None = field(default=None, repr=False)
    """Standard errors of the shares of the population up to the values; None where none are wanted."""

    @property
    def available(self) -> BoolArray:
        """Whether there is a value, shape (groups, points)."""
        return np.isfinite(self.values)

    def facts(self, points: tuple[float, ...] = ()) -> tuple[PercentileFacts, ...]:
        """What the checks need of some points; of all that the policy has where none is named."""
        return tuple(
            PercentileFacts(
                point,
                self.window_units[:, place],
                self.side_units[:, place],
                None if self.window_households is None else self.window_households[:, place],
                None if self.side_households is None else self.side_households[:, place],
            )
            for place, point in enumerate(self.points)
            if not points or point in points
        )

    def bounds(self, points: tuple[float, ...] = ()) -> tuple[ClosestBound, ...]:
        """How closely the window of each percentile tells its largest value, where there is one."""
        return tuple(
            ClosestBound(fact.name, np.where(self.available, self.closeness, np.inf)[:, place])
            for place, fact in enumerate(self.facts())
            if not points or fact.point in points
        )


def percentiles(
    sample: Sample, rule: PercentileUnits, households: float = 0.0, coalition: int = 1
) -> Percentiles:
    """The percentiles that a policy lets leave, weighted where the sample is.

    The window of p is centred where half of a record's own weight added to all below it is the share p of the
    weights (Hyndman and Fan's definition 5, Sample quantiles in statistical packages, 1996, The American
    Statistician 50), and grows until it has `rule.window` distinct units, and `households` where the sample
    has any. Points are tried in the policy's order, and one whose window or runs would be too short is left
    out. `coalition` units put together what they have in a window.
    """
    order = np.lexsort((sample.values, sample.groups))
    ends = np.searchsorted(sample.groups[order], np.arange(sample.number_of_groups), side="right")
    starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])
    found = [
        _Group(sample, order[start:end], rule, households, coalition).percentiles()
        if units and units >= rule.window + 2 * rule.side
        else _nothing(rule, units)
        for start, end, units in zip(
            starts.tolist(), ends.tolist(), sample.units_of_groups.tolist(), strict=True
        )
    ]
    ascending = np.argsort(rule.points)
    columns = np.array(found, dtype=np.float64)[:, ascending, :]
    homes = sample.households is not None
    return Percentiles(
        tuple(sorted(rule.points)),
        values=columns[:, :, 0],
        window_units=columns[:, :, 1].astype(np.int64),
        side_units=columns[:, :, 2].astype(np.int64),
        closeness=columns[:, :, 3],
        lorenz=columns[:, :, 4],
        lowest=columns[:, :, 5],
        highest=columns[:, :, 6],
        skipped=columns[:, :, 7].astype(np.int64),
        window_records=columns[:, :, 8].astype(np.int64),
        before=columns[:, :, 9].astype(np.int64),
        window_households=columns[:, :, 10] if homes else None,
        side_households=columns[:, :, 11] if homes else None,
    )


Row = tuple[float, float, float, float, float, float, float, float, float, float, float, float]
"""Of one point: value, window units, side units, closeness, share of the total below; of its window the least
and greatest value, records of the least before it, records, records before it of whatever value, households;
and households beside it."""
NO_WINDOW = (np.nan, np.nan, 0.0, 0.0, 0.0)


def _nothing(rule: PercentileUnits, units: int) -> list[Row]:
    """Of a group that has no room for any window and its sides."""
    return [(np.nan, units, 0, 0, np.nan, *NO_WINDOW, 0.0, 0.0)] * len(rule.points)


class _Group:
    """The ordered records of one group, and the windows that it has so far."""

    def __init__(
        self, sample: Sample, order: IntArray, rule: PercentileUnits, households: float, coalition: int
    ) -> None:
        self.rule = rule
        self.coalition = coalition
        self.homes = None if sample.households is None else sample.households.part(order)
        self.fewest_homes = 0.0 if self.homes is None else households * (1 - CLOSE)
        self.values = sample.values[order]
        self.units = sample.units[order]
        weights = sample.counted[order]
        self.middles = (np.cumsum(weights) - weights / 2) / weights.sum()
        held = np.concatenate([np.zeros(1), np.cumsum(weights * self.values)])
        self.held = held / held[-1] if held[-1] > 0 else np.full(len(held), np.nan)
        self.one_record_each = len(np.unique(self.units)) == len(self.units)
        self.windows: list[tuple[int, int]] = []

    def percentiles(self) -> list[Row]:
        centres = np.interp(self.rule.points, self.middles, np.arange(len(self.values)))
        return [self._point(centre) for centre in centres.tolist()]

    def _point(self, centre: float) -> Row:
        rule = self.rule
        first, last = self._window(centre)
        below = max((end for _, end in self.windows if end <= first), default=0)
        above = min((start for start, _ in self.windows if start >= last), default=len(self.values))
        if any(start < last and first < end for start, end in self.windows):
            return np.nan, 0, 0, 0, np.nan, *NO_WINDOW, 0.0, 0.0
        beside = self._beside(below, first, last, above)
        window, side = self._distinct(first, last), min(self._distinct(*run) for run in beside)
        homes = self._households(first, last), min(self._households(*run) for run in beside)
        # Where the policy asks for no units beside a window it asks for no households there.
        too_few = homes[0] < self.fewest_homes or (rule.side > 0 and homes[1] < self.fewest_homes)
        if window < rule.window or side < rule.side or too_few:
            return np.nan, window, side, 0, np.nan, *NO_WINDOW, *homes
        self.windows.append((first, last))
        means = self._unit_means(first, last)
        share = (self.held[first] + self.held[last]) / 2
        low, high = float(self.values[first]), float(self.values[last - 1])
        skipped = first - int(np.searchsorted(self.values, low))
        told = float(means.mean()), window, side, self._closeness(first, last, means), float(share)
        return *told, low, high, skipped, last - first, first, *homes

    def _window(self, centre: float) -> tuple[int, int]:
        """The shortest run around a place with people enough: first record, and the one after the last."""
        records = len(self.values)

        def run(width: int) -> tuple[int, int]:
            first = min(max(floor(centre - (width - 1) / 2 + 0.5), 0), records - width)
            return first, first + width

        least = most = min(self.rule.window, records)
        # A unit, or a household, may have any number of records side by side: doubled first, then halved.
        while most < records and not self._enough(*run(most)):
            least, most = most + 1, min(2 * most, records)
        while least < most:
            middle = (least + most) // 2
            if self._enough(*run(middle)):
                most = middle
            else:
                least = middle + 1
        return run(most)

    def _enough(self, first: int, last: int) -> bool:
        if self._distinct(first, last) < self.rule.window:
            return False
        return not self.fewest_homes or self._households(first, last) >= self.fewest_homes

    def _beside(self, below: int, first: int, last: int, above: int) -> list[tuple[int, int]]:
        """The runs beside a window, or itself; two windows may touch, a window and an end not."""
        runs = [(below, first, below == 0), (last, above, above == len(self.values))]
        return [(start, end) for start, end, is_end in runs if is_end or start < end] or [(first, last)]

    def _households(self, first: int, last: int) -> float:
        """Households in a run, never more than its units; 0 where they are not known."""
        return 0.0 if self.homes is None else min(self.homes.within(first, last), self._distinct(first, last))

    def _distinct(self, first: int, last: int) -> int:
        return last - first if self.one_record_each else len(np.unique(self.units[first:last]))

    def _closeness(self, first: int, last: int, means: FloatArray) -> float:
        """What a window's sum leaves unknown of its largest value, as `unknown_share` says.

        Also to whoever knows how many of the window have a value that as many of the group have as fill a
        window, the minimum wage say: the sum of the others is what is left.
        """
        own, others = unknown_share(means, self.coalition), means
        for value in {float(self.values[first]), float(self.values[last - 1])}:
            if self._having(value) >= self.rule.window:
                others = others[others != value]
        if not len(others) or len(others) == len(means):
            return own
        if others.min() == others.max() and self._having(float(others[0])) > 1:
            return own
        return min(own, unknown_share(others, self.coalition))

    def _having(self, value: float) -> int:
        """Units of the group with a record of this value."""
        first, last = (int(np.searchsorted(self.values, value, side)) for side in ("left", "right"))
        return self._distinct(first, last)

    def _unit_means(self, first: int, last: int) -> FloatArray:
        values = self.values[first:last]
        if self.one_record_each:
            return values
        _, position = np.unique(self.units[first:last], return_inverse=True)
        means: FloatArray = np.bincount(position, weights=values) / np.bincount(position)
        return means


def unknown_share(
    held: FloatArray, coalition: int, whole: FloatArray | None = None, others: float = 0.0
) -> float:
    """What others than the largest and a coalition of the next add to a sum, as a share of the largest.

    `held` is what each unit adds, `whole` what it has, of which the share is; `held` where nothing is said.
    `others` is what more units add that are neither among the largest nor the least.
    Infinite where all add the same of what they have, 0 among it: that is enough units' own.
    """
    if whole is None and (not held.any() or (len(held) > 1 and held.min() == held.max())):
        return float("inf")
    amounts = np.abs(held)
    largest = np.partition(amounts, max(len(amounts) - coalition - 1, 0))[-coalition - 1 :]
    target = largest.max() if whole is None else whole[amounts.argmax()]
    return float(max(amounts.sum() - largest.sum() + others, 0.0) / target)
