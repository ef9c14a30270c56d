"""Withheld counts that a measure's sums help to bound, beside counts: what `joint_sums` makes of both.

With public bounds of single values what people have above the least, and what they have below the most, are
amounts of their own, as shares of a person. Frechet's bounds of each add up to closer ones than those of the
people: ten who have the most and ten who have the least have nobody in common. Asked is the count of each
withheld box in the system of a measure's parts.

Amounts there are no whole numbers, but the count is one: it lies between the bounds rounded inwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Held
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals
from sdcgate.methods.tables.joint_reduction import Question, everything_of
from sdcgate.methods.tables.joint_search import Explained, JointIntervals
from sdcgate.methods.tables.joint_system import Counted, JointSystem, joint_system
from sdcgate.methods.tables.solver import Deadline


@dataclass(frozen=True, slots=True)
class Required:
    """How uncertain counts must stay, and what a record is of a system's amounts."""

    width: int
    """Least distance of two values that each must be able to have."""
    floor: int
    """What everybody knows each to have at least."""
    record: float

    @property
    def amount(self) -> float:
        """The width as an amount."""
        return self.width * self.record


def close_counts(
    system: JointSystem, required: Required, deadline: Deadline, question: Question
) -> JointIntervals:
    """Counts that are told too closely, and those not settled in time."""
    system = replace(system, counted=Counted(required.record))
    return joint_bounds(system, required.amount, floors_of(system, required), deadline, question)


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
) -> JointIntervals:
    """By what counts are told too closely.

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
    system = replace(system, counted=Counted(required.record))
    return joint_intervals(system, required.amount, floors, deadline, asked, Explained.EACH)


def floors_of(system: JointSystem, required: Required) -> FloatArray:
    """What each count is known to be at least, shape (secrets,)."""
    return np.full(system.secret.shape[0], required.floor * required.record)
