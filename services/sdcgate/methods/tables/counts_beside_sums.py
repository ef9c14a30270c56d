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
from sdcgate.methods.tables.joint_moves import moved
from sdcgate.methods.tables.joint_reduction import Question, everything_of, reduced
from sdcgate.methods.tables.joint_search import Explained, JointIntervals
from sdcgate.methods.tables.joint_sums import (
    LACKING,
    PART,
    PARTS,
    ROOM,
    Amounts,
    Measured,
    P,
    Q,
    of_all_parts,
)
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
) -> tuple[BoolArray, BoolArray]:
    """Counts that may be narrow, as they are not seen to be a record wider, and those not settled in time."""
    floors = _floors(system, required)
    found = joint_bounds(system, required.surely, floors, deadline, question)
    return found.narrow, found.unproved


def wide_by_one_part(
    found: Amounts,
    measured: Measured,
    secrets: Sequence[Box],
    full: Mapping[str, int],
    required: Required,
    asked: BoolArray,
    deadline: Deadline,
) -> BoolArray:
    """Asked counts that are seen to be wide by moving one part of people, all else as it is; (secrets,).

    What people have in truth must agree with what is known. Either part is a system of a third of the
    amounts, and where the most is far above all means nearly all of everybody lies below it.
    """
    parts = found.held(measured).amounts.reshape(-1, PARTS)
    if parts.min(initial=0.0) < 0.0:
        return np.zeros(len(secrets), dtype=np.bool_)
    moving = int(np.argmax(parts[:, :2].sum(axis=0)))
    boxes = {
        of_all_parts(box): 1.0
        for box in found.published
        if dict(box).get(PART, P | Q | LACKING) & (P, Q)[moving]
    }
    own = Held(measured.combinations, parts[:, moving])
    bare = [of_all_parts(box) for box in secrets]
    system = joint_system(frozenset(full), boxes, bare, full, room=ROOM, held=own)
    if system.held is None:
        return np.zeros_like(asked)
    # With others as they are it keeps to every known sum if it keeps to what it has itself.
    system = replace(system, counts=system.known.of(system.held))
    left = reduced(system, replace(everything_of(system), asked=asked), floors=required.floor > 0).system
    if left.held is None or not left.columns:
        return np.zeros_like(asked)
    floors = np.minimum(_floors(left, required), left.secret.of(left.held))
    moves = moved(left, left.held, floors, asked, deadline, required.surely)
    wide: BoolArray = asked & (moves.highest - moves.lowest >= required.surely)
    return wide


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
