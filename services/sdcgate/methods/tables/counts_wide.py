"""Withheld counts that are seen to be wide whatever the sums of each of several measures tell beside counts.

One part of people is moved, all else as it is: of each measure that part of which there is more. What people
have of it at least, and all boxes of any measure, are one system, of a third of the amounts of one measure.
What solves it, and the rest of the part, solve every measure's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Held
from sdcgate.methods.tables.combined_sums import CombinedSum, least_slack
from sdcgate.methods.tables.counts_beside_sums import Required, floors_of
from sdcgate.methods.tables.joint_intervals import joint_bounds
from sdcgate.methods.tables.joint_reduction import everything_of
from sdcgate.methods.tables.joint_sums import PARTS, ROOM, Amounts, Measured, of_all_parts, parts_of
from sdcgate.methods.tables.joint_system import Counted, JointSystem, joint_system, summed, with_bounds
from sdcgate.methods.tables.solver import FEASIBILITY, Deadline


@dataclass(frozen=True, slots=True, eq=False)
class _OfMeasure:
    """What is known of a measure, and what is true of it."""

    found: Amounts
    parts: FloatArray = field(repr=False)
    """Records of each combination by part, shape (combinations, parts)."""
    moving: int
    """The part that is moved."""

    @property
    def inside(self) -> bool:
        """Whether no value lies beyond the bounds taken; where some do what is true is no solution."""
        return bool(self.parts.min(initial=0.0) >= -FEASIBILITY)

    def moves(self, box: Box) -> bool:
        """Whether a box has the part that is moved."""
        return bool(parts_of(box) >> self.moving & 1)

    def of_moving(self, one: CombinedSum, name: str, record: float) -> CombinedSum:
        """What is known of several boxes together, as far as it is of that part, by the size of a record."""
        scale = record / self.found.record
        parts = tuple((of_all_parts(box), factor) for box, factor in one.parts if self.moves(box))
        told_by = ((name, 1), *one.told_by)
        return replace(one, told_by=told_by, parts=parts, total=scale * one.total, room=scale * one.room)


def wide_in_all(
    of_each: Sequence[tuple[Amounts, Measured]],
    boxes: Sequence[Box],
    full: Mapping[str, int],
    required: Required,
    deadline: Deadline,
) -> tuple[BoolArray, list[bool]]:
    """Counts that are seen to be wide whatever the sums of each of several measures tell, (boxes,).

    Args:
        of_each: what is known of each measure, and what people have of it in truth, of the same combinations.
        boxes: those whose counts are asked for, without parts.
        full: full mask of every variable.
        required: how uncertain counts must stay.
        deadline: what is not settled by then is not seen to be wide.

    Returns:
        And for which of the measures: for those whose truth agrees with what is known.
    """
    measures = [_of_measure(found, measured) for found, measured in of_each]
    most = [one.parts[:, one.moving] for one in measures if one.inside]
    if not most:
        return np.zeros(len(boxes), dtype=np.bool_), [False for _ in measures]
    moving = Held(of_each[0][1].combinations, required.record * np.maximum(np.min(most, axis=0), 0.0))
    known = sorted({of_all_parts(box) for one in measures for box in one.found.published if one.moves(box)})
    together = [
        (one, sums, one.of_moving(sums, f"measure {place}", required.record))
        for place, one in enumerate(measures)
        for sums in one.found.combined
    ]
    # What is known of records is so beside every measure.
    with_factors = {
        (sums.told_by, own.parts): own for _, sums, own in together if own.parts and own.between is None
    }
    bounded = {
        (sums.told_by, own.parts): _Bounded(one, parts_of(sums.parts[0][0]), own)
        for one, sums, own in together
        if own.parts and own.between is not None
    }
    others = {of_all_parts(box) for one in measures for box in one.found.published} - set(known)
    others |= {one.box for one in bounded.values()}
    hidden, combined = [*boxes, *sorted(others)], [*with_factors.values()]
    shown = dict.fromkeys(known, 1.0)
    system = joint_system(frozenset(full), shown, hidden, full, room=ROOM, held=moving, combined=combined)
    agreeing = [one.inside and _agrees(system, hidden, one) for one in measures]
    if system.held is None or not any(agreeing):
        return np.zeros(len(boxes), dtype=np.bool_), agreeing
    # With others as they are it keeps to every known sum if it keeps to what it has itself. What rounding
    # leaves what is true may have used up.
    counts = system.known.of(system.held)
    slack = least_slack(counts[system.plain :])
    system = replace(system, counts=counts, slack=slack)
    system = _with_bounded(system, hidden, list(bounded.values()), required.record)
    # What is moved is no whole number of records, and with what is not it is one.
    system = replace(system, counted=Counted(required.record, -_of_secrets(system)))
    asked = np.arange(len(hidden)) < len(boxes)
    floors = np.where(asked, np.minimum(floors_of(system, required), _of_secrets(system)), 0.0)
    question = replace(everything_of(system), asked=asked)
    bounds = joint_bounds(system, required.amount, floors, deadline, question)
    return (~bounds.narrow & ~bounds.unproved)[: len(boxes)], agreeing


def _of_measure(found: Amounts, measured: Measured) -> _OfMeasure:
    parts = found.held(measured).amounts.reshape(-1, PARTS) / found.record
    return _OfMeasure(found, parts, int(np.argmax(parts[:, :2].sum(axis=0))))


def _of_secrets(system: JointSystem) -> FloatArray:
    """What secrets have in truth, shape (secrets,)."""
    return np.zeros(0) if system.held is None else system.secret.of(system.held)


def _agrees(system: JointSystem, hidden: Sequence[Box], measure: _OfMeasure) -> bool:
    """Whether what people have of a measure is what is known of it.

    The system has all its boxes, without parts, as sums or as secrets, which are the hidden ones.
    """
    if system.places is None:
        return False
    found = measure.found
    rows = {box: row for row, box in enumerate([*system.published, *hidden])}
    columns = [summed(part, system.places, system.columns) for part in found.record * measure.parts.T]
    of_parts = np.array([np.concatenate([system.known.of(part), system.secret.of(part)]) for part in columns])
    row = [rows[of_all_parts(box)] for box in found.published]
    masks = np.array([*map(parts_of, found.published)], dtype=np.int64)
    inside = (masks[None, :] >> np.arange(PARTS)[:, None]) & 1
    off = (of_parts[:, row] * inside).sum(axis=0) - np.array(list(found.published.values()))
    return bool(np.abs(off).max(initial=0.0) <= ROOM + FEASIBILITY)


@dataclass(frozen=True, slots=True, eq=False)
class _Bounded:
    """A box of which it is known between what it lies."""

    measure: _OfMeasure
    parts: int
    """The parts that it is of."""
    told: CombinedSum

    @property
    def box(self) -> Box:
        """The box, without parts."""
        return self.told.parts[0][0]


def _with_bounded(
    system: JointSystem, hidden: Sequence[Box], bounded: Sequence[_Bounded], record: float
) -> JointSystem:
    """With what is left to the part that is moved, all else as it is, of boxes that are bounded."""
    places = system.places
    if not bounded or places is None:
        return system
    number, hides = {box: place for place, box in enumerate(hidden)}, system.secret
    secrets, moving, ends = [number[one.box] for one in bounded], _of_secrets(system), []
    inside = [hides.columns[hides.rows == secret] for secret in secrets]
    for one, secret, columns in zip(bounded, secrets, inside, strict=True):
        parts = [part for part in range(PARTS) if one.parts >> part & 1]
        fixed = record * one.measure.parts[np.isin(places, columns)][:, parts].sum() - moving[secret]
        ends.append((one.told.total - one.told.room - fixed, one.told.total + one.told.room - fixed))
    rows = np.repeat(np.arange(len(inside)), [len(columns) for columns in inside])
    names = [one.told.told_by for one in bounded]
    return with_bounds(system, names, np.array(ends), rows, np.concatenate(inside))
