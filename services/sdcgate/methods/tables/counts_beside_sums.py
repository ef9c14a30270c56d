"""Withheld counts that a measure's sums help to bound, beside counts: what `joint_sums` makes of both.

With public bounds of single values what people have above the least, and what they have below the most, are
amounts of their own, as shares of a person. Frechet's bounds of each add up to closer ones than those of the
people: ten who have the most and ten who have the least have nobody in common. Asked is the count of each
withheld box in the system of a measure's parts.

Amounts there are no whole numbers, but the count is one: it lies between the bounds rounded inwards. So what
is no more than a record wider than required is looked at by its very bounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Held
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals
from sdcgate.methods.tables.joint_reduction import Question, everything_of
from sdcgate.methods.tables.joint_search import Explained, JointIntervals
from sdcgate.methods.tables.joint_sums import PARTS, ROOM, Amounts, Measured, of_all_parts, parts_of
from sdcgate.methods.tables.joint_system import JointSystem, joint_system, summed
from sdcgate.methods.tables.solver import FEASIBILITY, Deadline

TOLERANCE = 1e-5
"""A bound so close to a whole number of records, in records, is that number: sums have a little room."""


@dataclass(frozen=True, slots=True, eq=False)
class CountBounds:
    """Which counts lie, as whole numbers, less than a width apart; each in the order of the secrets."""

    narrow: BoolArray = field(repr=False)
    unproved: BoolArray = field(repr=False)
    """What could not be told in time."""
    found: JointIntervals = field(repr=False)
    """The bounds of narrow ones and the prices of the sums that they follow from."""


@dataclass(frozen=True, slots=True)
class Required:
    """How uncertain counts must stay, and what a record is of a system's amounts."""

    width: int
    """Least distance of two values that each must be able to have."""
    floor: int
    """What everybody knows each to have at least."""
    record: float

    @property
    def surely(self) -> float:
        """Amounts so far apart hold whole numbers that are a width apart, however they are rounded."""
        return (self.width + 1) * self.record

    def whole(self, lowest: FloatArray, highest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest whole number of records between bounds."""
        least = np.ceil(lowest / self.record - TOLERANCE) + 0.0
        return least, np.floor(highest / self.record + TOLERANCE)


def close_counts(
    system: JointSystem, required: Required, deadline: Deadline, question: Question
) -> JointIntervals:
    """Counts that may be narrow, as they are not seen to be a record wider, and those not settled in time."""
    return joint_bounds(system, required.surely, _floors(system, required), deadline, question)


def wide_in_all(
    of_each: Sequence[tuple[Amounts, Measured]],
    boxes: Sequence[Box],
    full: Mapping[str, int],
    required: Required,
    deadline: Deadline,
) -> tuple[BoolArray, list[bool]]:
    """Counts that are seen to be wide whatever the sums of each of several measures tell, (boxes,).

    One part of people is moved, all else as it is: of each measure that part of which there is more. What
    people have of it at least, and all boxes of any measure, are one system, of a third of the amounts of one
    measure. What solves it, and the rest of the part, solve every measure's.

    Args:
        of_each: what is known of each measure, and what people have of it in truth, of the same combinations.
        boxes: those whose counts are asked for, without parts.
        full: full mask of every variable.
        required: how uncertain counts must stay.
        deadline: what is not settled by then is not seen to be wide.

    Returns:
        And for which of the measures: for those whose truth agrees with what is known.
    """
    parts = [found.held(measured).amounts.reshape(-1, PARTS) / found.record for found, measured in of_each]
    # Where single values lie beyond the bounds taken what is true is no solution.
    inside = [bool(amounts.min(initial=0.0) >= -FEASIBILITY) for amounts in parts]
    most = [
        amounts[:, int(np.argmax(amounts[:, :2].sum(axis=0)))]
        for amounts, usable in zip(parts, inside, strict=True)
        if usable
    ]
    if not most:
        return np.zeros(len(boxes), dtype=np.bool_), inside
    known = sorted({of_all_parts(box) for found, _ in of_each for box in found.published})
    moving = Held(of_each[0][1].combinations, required.record * np.maximum(np.min(most, axis=0), 0.0))
    system = joint_system(frozenset(full), dict.fromkeys(known, 1.0), boxes, full, room=ROOM, held=moving)
    held = system.held
    agreeing = [
        usable and _agrees(system, found, amounts)
        for usable, amounts, (found, _) in zip(inside, parts, of_each, strict=True)
    ]
    if held is None or not any(agreeing):
        return np.zeros(len(boxes), dtype=np.bool_), agreeing
    # With others as they are it keeps to every known sum if it keeps to what it has itself.
    system = replace(system, counts=system.known.of(held))
    floors = np.minimum(_floors(system, required), system.secret.of(held))
    bounds = joint_bounds(system, required.surely, floors, deadline, everything_of(system))
    return ~bounds.narrow & ~bounds.unproved, agreeing


def told_by_counts(
    counts: Mapping[Box, int],
    boxes: Sequence[Box],
    hidden: Sequence[Box],
    full: Mapping[str, int],
    required: Required,
    deadline: Deadline,
    held: Held | None = None,
) -> BoolArray:
    """Counts that other counts alone tell too closely, whatever sums of measures tell besides, (boxes,).

    What is not settled by the deadline is not seen to be told.

    Args:
        counts: what is known, by boxes without parts.
        boxes: those whose counts are asked for, of which it may not be known yet that they are not empty.
        hidden: others that everybody knows not to be.
        full: full mask of every variable.
        required: how uncertain counts must stay.
        deadline: when to give up.
        held: what people have in truth, where it is known.
    """
    system = joint_system(frozenset(full), counts, [*boxes, *hidden], full, held=held)
    floors = np.append(np.zeros(len(boxes)), np.full(len(hidden), float(required.floor)))
    asked = np.append(np.ones(len(boxes), dtype=np.bool_), np.zeros(len(hidden), dtype=np.bool_))
    question = replace(everything_of(system), asked=asked)
    return joint_bounds(system, required.width, floors, deadline, question).narrow[: len(boxes)]


def _agrees(system: JointSystem, found: Amounts, amounts: FloatArray) -> bool:
    """Whether what people have of a measure, records by combination and part, is what is known of it.

    The system has all its boxes as sums, without parts.
    """
    if system.places is None:
        return False
    rows = {box: row for row, box in enumerate(system.published)}
    of_parts = np.array(
        [system.known.of(summed(part, system.places, system.columns)) for part in found.record * amounts.T]
    )
    row = [rows[of_all_parts(box)] for box in found.published]
    masks = np.array([*map(parts_of, found.published)], dtype=np.int64)
    inside = (masks[None, :] >> np.arange(PARTS)[:, None]) & 1
    off = (of_parts[:, row] * inside).sum(axis=0) - np.array(list(found.published.values()))
    return bool(np.abs(off).max(initial=0.0) <= ROOM + FEASIBILITY)


def count_bounds(
    system: JointSystem,
    required: Required,
    deadline: Deadline,
    asked: BoolArray,
    fresh: BoolArray | None = None,
) -> CountBounds:
    """What is narrow in whole numbers, of counts that may be, shape (secrets,).

    Args:
        system: everything that is known jointly.
        required: how uncertain counts must stay.
        deadline: what is not settled by then is unproved.
        asked: counts that are looked at.
        fresh: counts of which it is not known yet that they are not empty; none unless given.
    """
    floors = _floors(system, required)
    if fresh is not None:
        floors[fresh] = 0.0
    found = joint_intervals(system, required.surely, floors, deadline, asked, Explained.EACH)
    least, greatest = required.whole(found.lowest, found.highest)
    narrow = found.narrow & (greatest - least < required.width)
    return CountBounds(narrow, found.unproved, found)


def _floors(system: JointSystem, required: Required) -> FloatArray:
    """What each count is known to be at least, shape (secrets,)."""
    return np.full(system.secret.shape[0], required.floor * required.record)
