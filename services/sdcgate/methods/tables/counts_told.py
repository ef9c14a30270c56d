"""Withheld counts that a measure's sums tell too closely beside counts, in the audit of a whole history."""

from collections.abc import Mapping, Set
from dataclasses import replace

import numpy as np

from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Held
from sdcgate.methods.tables.counts_beside_sums import Required, close_counts, count_bounds
from sdcgate.methods.tables.joint_history import AuditedBox, Standing, terms_of
from sdcgate.methods.tables.joint_reduction import everything_of
from sdcgate.methods.tables.joint_search import JointIntervals
from sdcgate.methods.tables.joint_sums import PART, ROOM, Amounts, MeasureBoxes, Measured, counts_beside
from sdcgate.methods.tables.joint_system import Counted, JointSystem, joint_system
from sdcgate.methods.tables.solver import Deadline


def counts_told(
    boxes: MeasureBoxes,
    bounds: tuple[float, float],
    full: Mapping[str, int],
    required: tuple[int, int],
    deadline: Deadline,
    measured: Measured | None = None,
    only: Set[Box] | None = None,
) -> list[AuditedBox]:
    """The uncounted boxes that are refuted, with the arithmetic, and those that are unproved.

    The terms of a bound are of boxes and of parts of them (`joint_sums`), each record as 1.

    Args:
        boxes: what is known of the measure and of counts within some variables.
        bounds: what everybody knows single values to be at least and at most.
        full: full mask of each of these variables.
        required: least distance of two values that each count must be able to have, and what everybody
            knows it to be at least.
        deadline: what is not settled by then is unproved.
        measured: what people have of the measure in truth, by these variables; None where it is not known.
        only: the uncounted boxes that are asked for; all where it is None.
    """
    if not (boxes.uncounted and boxes.published):
        return []
    found = counts_beside(boxes, bounds, full)
    wanted = Required(*required, found.record)
    held = None if measured is None else found.held(measured)
    system = _system(found, full, held, apart=False)
    asked = np.array([only is None or box in only for box in found.secrets], dtype=np.bool_)
    close = close_counts(system, wanted, deadline, replace(everything_of(system), asked=asked))
    left, told = close.unproved, []
    if close.narrow.any():
        # From nothing the arithmetic comes out short; from what is true it wanders.
        system = _system(found, full, None, apart=True)
        exact = count_bounds(system, wanted, deadline, close.narrow)
        left = left | exact.unproved
        told = _refuted(found, system, exact, wanted, full)
    unproved = [found.secrets[place] for place in np.flatnonzero(left).tolist()]
    return [*told, *(AuditedBox(box, Standing.UNPROVED, frozenset(full)) for box in unproved)]


def _system(found: Amounts, full: Mapping[str, int], held: Held | None, apart: bool) -> JointSystem:
    """All that is known; `apart`: with empty boxes as rows, so that what they tell is seen."""
    told_apart = found.published.keys() if apart else frozenset[Box]()
    return joint_system(
        {*full, PART},
        found.published,
        found.secrets,
        found.full,
        told_apart,
        ROOM,
        held=held,
        combined=found.combined,
    )


def _refuted(
    found: Amounts, system: JointSystem, exact: JointIntervals, wanted: Required, full: Mapping[str, int]
) -> list[AuditedBox]:
    least, greatest = Counted(wanted.record).whole(exact.lowest, exact.highest)
    return [
        AuditedBox(
            found.secrets[place],
            Standing.REFUTED,
            frozenset(full),
            float(least[place]),
            float(greatest[place]),
            below=terms_of(system, -exact.used[place][1], wanted.record),
            above=terms_of(system, exact.used[place][0], wanted.record),
        )
        for place in np.flatnonzero(exact.narrow).tolist()
    ]
