"""A measure's sums as amounts of a joint system.

Between public bounds L and U of single values a sum s over n records is made of two parts, neither negative:
p = (s - L n) / (U - L) and q = n - p. Where s and n have left so have p and q; of other boxes n = p + q may
have, and the records that lack the measure are a third part. So the system is that of `joint_system`, with
the part as one variable more, and bounds of p are bounds of s = (U - L) p + L n. Where L is not 0 everybody
is taken to know the records of withheld boxes: that is more than he knows.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Combinations, Held
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.intruder import WIDE_BOUND
from sdcgate.methods.tables.problem import SMALLEST_WIDTH

PART = "*part"
"""The variable of the parts; no variable of a dataset is called so, and none comes before it."""
P, Q, LACKING = 1, 2, 4
PARTS = 3
LARGEST, MOST_RECORDS = 1e5, 1e6
"""What the largest part p is scaled to, unless records would become more than so many.

With 6e7 of them HiGHS found no optimum of a system that has one.
"""
ROOM = 1e-6
"""By how much scaled amounts may be off, as addition in another order is."""
NEGLIGIBLE = 1e-7
"""Least width of a withheld sum as a share of the largest published one, far above what `ROOM` can add."""


@dataclass(frozen=True, slots=True)
class Amount:
    """What a box has of a measure."""

    total: float = field(repr=False)
    """The sum."""
    records: int = field(repr=False)
    """Those that have the measure."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasureBoxes:
    """Boxes of a measure that are looked at together, whether or not they ask that records have it."""

    published: Mapping[Box, Amount] = field(repr=False)
    secrets: Mapping[Box, Amount] = field(repr=False)
    """Withheld boxes that never left, with what they are in truth."""
    complete: Set[Box] = field(repr=False)
    """Published boxes in which no record lacks the measure."""
    records: Mapping[Box, int] = field(default_factory=dict, repr=False)
    """Records of boxes whose counts have left."""
    having: Mapping[Box, int] = field(default_factory=dict, repr=False)
    """Records that have the measure, of boxes where these counts have left."""
    uncounted: Set[Box] = frozenset()
    """Boxes, of parts where these are asked for, whose records were withheld and never left."""
    only_sums: Set[Box] = frozenset()
    """Published boxes of which the sum has left, or follows, and not the count."""
    combined: Sequence[CombinedSum] = ()
    """What is known of sums of several boxes together."""
    counted: Sequence[CombinedSum] = ()
    """What is known of records of several boxes together, of parts where these are of who has the measure."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What people have of a measure in truth, by joint codes; arrays of shape (combinations,)."""

    combinations: Combinations = field(repr=False)
    records: FloatArray = field(repr=False)
    having: FloatArray = field(repr=False)
    """Records that have the measure."""
    sums: FloatArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Amounts:
    """A measure as amounts of boxes that say of which part they are."""

    full: Mapping[str, int]
    """All codes of each variable, the parts among them."""
    published: Mapping[Box, float] = field(repr=False)
    secrets: tuple[Box, ...] = field(repr=False)
    widths: Mapping[Box, float] = field(repr=False)
    """How far apart two values of each secret must be able to lie."""
    unit: float = field(repr=False)
    """What a part is of a sum of 1."""
    least: Mapping[Box, float] = field(repr=False)
    """What each secret is at least, by the least that single values are taken to be."""
    rest_on: tuple[float, float, float] = field(repr=False)
    """Least and greatest value and least width taken; while they are the same, what is told stays told."""
    combined: tuple[CombinedSum, ...] = field(default=(), repr=False)
    """What is known of several boxes of parts together."""

    @property
    def record(self) -> float:
        """What a record is, all its parts together."""
        low, high, _ = self.rest_on
        return self.unit * (high - low)

    def held(self, measured: Measured) -> Held:
        """What is true, as amounts of these parts.

        It does not agree with what is known where single values lie beyond the bounds taken.
        """
        low, scale = self.rest_on[0], self.record
        part = self.unit * (measured.sums - low * measured.having)
        parts = [part, scale * measured.having - part, scale * (measured.records - measured.having)]
        return Held(measured.combinations.with_codes(PART, PARTS), np.column_stack(parts).reshape(-1))


def amounts(
    boxes: MeasureBoxes,
    bounds: tuple[float | None, float | None],
    full: Mapping[str, int],
    share: float,
) -> Amounts:
    """The amounts of a measure's boxes.

    Args:
        boxes: what is known of the measure.
        bounds: what everybody knows single values to be at least and at most. An open or very wide side is
            closed at 100 times the largest mean: who knows more is held off by no less.
        full: full mask of every variable.
        share: least width of a withheld sum, as a share of it.
    """
    low, high = _searched(boxes, bounds)
    scale = _scale(boxes, low, high)
    published = _published(boxes, low, high, scale)
    if low != 0.0:
        published |= {of_part(box, P | Q): scale * amount.records for box, amount in boxes.secrets.items()}
    unit = scale / (high - low)
    least = _least_width(boxes)
    widths = {
        of_part(box, P): unit * max(share * abs(amount.total), least) for box, amount in boxes.secrets.items()
    }
    least_sums = {of_part(box, P): low * amount.records for box, amount in boxes.secrets.items()}
    rest_on, combined = (low, high, least), _together(boxes, low, high, scale)
    return Amounts(_with_parts(full), published, tuple(widths), widths, unit, least_sums, rest_on, combined)


def _together(boxes: MeasureBoxes, low: float, high: float, scale: float) -> tuple[CombinedSum, ...]:
    """What is known of several boxes together as what is known of parts."""
    of_records = (replace(one, total=scale * one.total, room=scale * one.room) for one in boxes.counted)
    return (*(_of_parts(one, low, high, scale) for one in boxes.combined), *of_records)


def _of_parts(one: CombinedSum, low: float, high: float, scale: float) -> CombinedSum:
    """What is known of sums together as what is known of parts: a sum is `high` each p and `low` each q."""
    ends = ((P, high - one.less), (Q, low - one.less))
    parts = [(of_part(box, part), end * factor) for box, factor in one.parts for part, end in ends]
    shown = tuple((box, factor) for box, factor in parts if factor)
    return replace(one, parts=shown, total=scale * one.total, room=scale * one.room, less=0.0)


def counts_beside(boxes: MeasureBoxes, bounds: tuple[float, float], full: Mapping[str, int]) -> Amounts:
    """The amounts of a measure's boxes where what is asked for is their `uncounted` ones.

    Of no box records are taken to be known that have not left. Where only its sum has, that is the part p if
    single values can be nothing; otherwise it is left out, and so is a most that a refusal told of counts.

    Args:
        boxes: what is known of the measure and of counts.
        bounds: what everybody knows single values to be at least and at most: where one side is open, sums
            bound no count but that somebody is there.
        full: full mask of every variable.
    """
    low, high = _searched(replace(boxes, secrets={}), bounds)
    of_both = {box: amount for box, amount in boxes.published.items() if box not in boxes.only_sums}
    shown = replace(boxes, published=of_both, secrets={})
    scale = _scale(shown, low, high)
    published, unit = _published(shown, low, high, scale), scale / (high - low)
    if low == 0.0:
        published |= {of_part(box, P): unit * boxes.published[box].total for box in sorted(boxes.only_sums)}
    asked = tuple(sorted(boxes.uncounted))
    combined = _together(boxes, low, high, scale)
    return Amounts(_with_parts(full), published, asked, {}, unit, {}, (low, high, 0.0), combined)


def _with_parts(full: Mapping[str, int]) -> dict[str, int]:
    return {**full, PART: P | Q | LACKING}


def _published(boxes: MeasureBoxes, low: float, high: float, scale: float) -> dict[Box, float]:
    """What is known of parts, in the unit that a record is `scale` of."""
    published = {box: scale * records for box, records in boxes.records.items() if box not in boxes.complete}
    published |= {
        of_part(box, P | Q): scale * records
        for box, records in boxes.having.items()
        if box not in boxes.published
    }
    for box, amount in boxes.published.items():
        part = scale * (amount.total - low * amount.records) / (high - low)
        published[of_part(box, P)] = part
        published[of_part(box, Q)] = scale * amount.records - part
    # In an order that is the same in every process: which programs blame which sums may rest on it.
    return published | {of_part(box, LACKING): 0.0 for box in sorted(boxes.complete)}


def of_part(box: Box, part: int) -> Box:
    """A box of some parts only."""
    return ((PART, part), *box)


def of_all_parts(box: Box) -> Box:
    """A box whatever part it was of."""
    return box[1:] if box and box[0][0] == PART else box


def parts_of(box: Box) -> int:
    """The parts that a box is of."""
    return box[0][1] if box and box[0][0] == PART else P | Q | LACKING


def in_all_parts(box: Box) -> tuple[Box, ...]:
    """The boxes of which an amount can say something of a box: itself, and it by parts."""
    return (box, *(of_part(box, part) for part in (P, Q, P | Q, LACKING)))


def _searched(boxes: MeasureBoxes, bounds: tuple[float | None, float | None]) -> tuple[float, float]:
    """Bounds of single values within which sums are searched."""
    both = chain(boxes.published.values(), boxes.secrets.values())
    means = [abs(amount.total) / amount.records for amount in both if amount.records]
    means += [abs(one.less) for one in boxes.combined]
    limit = WIDE_BOUND * (max(means, default=0.0) or 1.0)
    lower, upper = bounds
    low = -limit if lower is None else max(lower, -limit)
    high = limit if upper is None else min(upper, limit)
    return low, high if high > low else low + limit


def _scale(boxes: MeasureBoxes, low: float, high: float) -> float:
    """What parts and records are multiplied by."""
    both = [*boxes.published.values(), *boxes.secrets.values()]
    parts = [(amount.total - low * amount.records) / (high - low) for amount in both]
    counts = [amount.records for amount in both] + [*boxes.records.values(), *boxes.having.values()]
    return min(LARGEST / (max(parts, default=0.0) or 1.0), MOST_RECORDS / (max(counts, default=0) or 1))


def _least_width(boxes: MeasureBoxes) -> float:
    """Least width of any withheld sum, above what addition can err by."""
    hidden = max((abs(amount.total) for amount in boxes.secrets.values()), default=0.0)
    shown = max((abs(amount.total) for amount in boxes.published.values()), default=0.0)
    return max(SMALLEST_WIDTH * hidden, NEGLIGIBLE * shown)


def as_array(widths: Mapping[Box, float], secrets: Sequence[Box]) -> FloatArray:
    """The widths of some secrets, shape (secrets,)."""
    return np.array([widths[box] for box in secrets], dtype=np.float64)
