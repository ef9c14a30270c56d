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
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals
from sdcgate.methods.tables.joint_reduction import Question, everything_of
from sdcgate.methods.tables.joint_search import Explained, JointIntervals
from sdcgate.methods.tables.joint_system import JointSystem, joint_system
from sdcgate.methods.tables.solver import Deadline

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
    return joint_bounds(system, required.surely, floors_of(system, required), deadline, question)


def told_by_counts(
    counts: Mapping[Box, int],
    boxes: Sequence[Box],
    hidden: Sequence[Box],
    full: Mapping[str, int],
    required: Required,
    deadline: Deadline,
    held: Held | None = None,
    together: Sequence[CombinedSum] = (),
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
        together: what is known of several counts together, of boxes without parts.
    """
    system = joint_system(frozenset(full), counts, [*boxes, *hidden], full, held=held, combined=together)
    floors = np.append(np.zeros(len(boxes)), np.full(len(hidden), float(required.floor)))
    asked = np.append(np.ones(len(boxes), dtype=np.bool_), np.zeros(len(hidden), dtype=np.bool_))
    question = replace(everything_of(system), asked=asked)
    return joint_bounds(system, required.width, floors, deadline, question).narrow[: len(boxes)]


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
    floors = floors_of(system, required)
    if fresh is not None:
        floors[fresh] = 0.0
    found = joint_intervals(system, required.surely, floors, deadline, asked, Explained.EACH)
    least, greatest = required.whole(found.lowest, found.highest)
    narrow = found.narrow & (greatest - least < required.width)
    return CountBounds(narrow, found.unproved, found)


def floors_of(system: JointSystem, required: Required) -> FloatArray:
    """What each count is known to be at least, shape (secrets,)."""
    return np.full(system.secret.shape[0], required.floor * required.record)
