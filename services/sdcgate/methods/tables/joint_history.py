"""The joint audit of a whole history: every box ever withheld, within as many variables as can be.

Nothing is about to leave here, so it may take its time, and says of each withheld box what stands: refuted,
with the sums that bound it; proved; wide within the variables looked at; or unproved.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.joint_boxes import JointBoxes, Variables, variables_of
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_intervals import (
    TOLERANCE,
    JointIntervals,
    joint_bounds,
    joint_intervals,
)
from sdcgate.methods.tables.joint_system import JointSystem, joint_system
from sdcgate.methods.tables.solver import Deadline


class Standing(IntEnum):
    """What all releases together tell of a withheld box, the worst last."""

    PROVED = 0
    """It can be two values a width apart, and no released box reaches beyond the variables looked at."""
    WIDE = 1
    """It can within the variables looked at; there are boxes of others as well."""
    UNPROVED = 2
    """It could not be told in time."""
    REFUTED = 3
    """It is told more closely than the width."""


@dataclass(frozen=True, slots=True)
class Term:
    """A published count times a factor, in the arithmetic of a bound."""

    factor: float
    box: Box
    count: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class AuditedBox:
    """A withheld box and what stands of it."""

    box: Box
    standing: Standing
    variables: Variables
    """Those looked at together."""
    lowest: float = field(default=0.0, repr=False)
    highest: float = field(default=0.0, repr=False)
    """Where it is refuted, between what it must lie."""
    below: tuple[Term, ...] = field(default=(), repr=False)
    above: tuple[Term, ...] = field(default=(), repr=False)
    """Where it is refuted: sums that it cannot be less than, and more than."""


def audit_history(
    boxes: JointBoxes,
    full: Mapping[str, int],
    width: int,
    floor: int,
    most_atoms: int,
    deadline: Deadline,
    units: bool = False,
) -> list[AuditedBox]:
    """What stands of each box that was withheld and never left.

    Args:
        boxes: everything of one quantity that left or was withheld.
        full: full mask of every variable.
        width: least distance of two values that a withheld count must be able to have.
        floor: least count that everybody knows a withheld box to have.
        most_atoms: joint codes that are looked at together.
        deadline: what is not settled by then is unproved.
        units: look at units, which add up over these boxes, rather than at records.
    """
    secrets = boxes.secrets_within(set(full))
    standing: dict[Box, AuditedBox] = {}
    for domain in _domains(secrets, boxes, full, most_atoms):
        published, within = boxes.within(domain, units), boxes.secrets_within(domain)
        found = joint_bounds(joint_system(domain, published, within, full), width, floor, deadline)
        closed = all(names <= domain or not names & domain for names in boxes.masks)
        told = [AuditedBox(box, _standing(found, place, closed), domain) for place, box in enumerate(within)]
        refuted = [audited.box for audited in told if audited.standing is Standing.REFUTED]
        if refuted:
            # Once more with the empty boxes as rows, so that what they tell is seen.
            system = joint_system(domain, published, refuted, full, told_apart=published.keys())
            told += _refuted(refuted, system, joint_intervals(system, width, floor, deadline), domain)
        for audited in told:
            before = standing.get(audited.box)
            if before is None or _outweighs(audited, before):
                standing[audited.box] = audited
    return [standing[box] for box in secrets]


def _domains(
    secrets: list[Box], boxes: JointBoxes, full: Mapping[str, int], most_atoms: int
) -> list[Variables]:
    """The variables to look at together for each set that withheld boxes have, the fewest first."""
    firsts = sorted({variables_of(box) for box in secrets}, key=lambda names: (len(names), sorted(names)))
    return list(dict.fromkeys(joint_domain(names, boxes, full, most_atoms) for names in firsts))


def _outweighs(new: AuditedBox, old: AuditedBox) -> bool:
    """Refuted counts for good, best with its arithmetic; else what was settled, within more variables."""
    if Standing.REFUTED in (new.standing, old.standing):
        explained = bool(old.above or old.below)
        return new.standing is Standing.REFUTED and not explained
    return (-new.standing, len(new.variables)) > (-old.standing, len(old.variables))


def _standing(found: JointIntervals, place: int, closed: bool) -> Standing:
    if found.narrow[place]:
        return Standing.REFUTED
    if found.unproved[place]:
        return Standing.UNPROVED
    return Standing.PROVED if closed else Standing.WIDE


def _refuted(
    boxes: list[Box], system: JointSystem, found: JointIntervals, domain: Variables
) -> list[AuditedBox]:
    """Refuted boxes with the arithmetic, as far as it was found in time."""
    return [
        AuditedBox(
            box,
            Standing.REFUTED,
            domain,
            float(found.lowest[place]),
            float(found.highest[place]),
            below=_terms(system, -found.used[place][1]),
            above=_terms(system, found.used[place][0]),
        )
        for place, box in enumerate(boxes)
        if found.narrow[place]
    ]


def _terms(system: JointSystem, prices: FloatArray) -> tuple[Term, ...]:
    return tuple(
        Term(round(float(prices[row]), 9), system.published[row], int(system.counts[row]))
        for row in np.flatnonzero(np.abs(prices) > TOLERANCE)
    )
