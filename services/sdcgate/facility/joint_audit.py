"""The joint audit of a table that is about to leave: what all releases together tell of anything withheld.

The linear span finds what can be computed exactly; this finds what can be bounded, by counts that are not
negative and by published zeros, within as many variables as time allows.
"""

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import numpy as np

from sdcgate.facility.knowledge import KnownQuantity, ReleasedTable
from sdcgate.methods.cells import BoolArray, IntArray, State
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.joint_boxes import JointBoxes
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_intervals import (
    JointIntervals,
    joint_bounds,
    joint_intervals,
    told_by,
)
from sdcgate.methods.tables.joint_reduction import Question, everything_of
from sdcgate.methods.tables.joint_scopes import Scope, scopes
from sdcgate.methods.tables.joint_system import JointSystem, joint_system
from sdcgate.methods.tables.modular import unhurried
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.span import SpanBudgetExceeded

MOST_ATOMS = 5_000
"""Joint codes of the variables that are looked at together, beyond the table's own."""


class JointlyUnproved(Exception):
    """What all releases tell together could not be found out in time."""


@dataclass(frozen=True, slots=True)
class Width:
    """How uncertain a withheld count must stay."""

    least: int
    """Least distance of two values that it must be able to have."""
    floor: int
    """What everybody knows it to have at least."""


def telling(
    known: KnownQuantity,
    tables: Sequence[ReleasedTable],
    width: Width,
    deadline: Deadline,
    varying: Set[str] | None = None,
) -> BoolArray:
    """Published cells of new tables without which nothing withheld is told too closely, shape (cells,).

    Args:
        known: what has left of the quantity.
        tables: tables of the quantity with the same cells, in the states that they would leave in.
        width: what is required of records, and of units.
        deadline: when to give up.
        varying: variables that vary within a unit; None where units are the records.

    Raises:
        JointlyUnproved: it cannot be told in time.
    """
    kept_back = np.zeros(len(tables[0].table), dtype=np.bool_)
    withholds = any((new.table.states == State.WITHHELD).any() for new in tables)
    # What a table tells by itself its own proof knows.
    if known.empty or not (known.boxes.secret or withholds):
        return kept_back
    full = dict(known.shapes.full)
    boxes = known.boxes
    for new in tables:
        full |= new.table.full
        boxes = boxes.grown(new.published(), new.withheld())
    names = frozenset(name for new in tables for name in new.table.variables())
    fresh = {box for new in tables for box, _ in new.published() if box not in known.published}
    cells = {box: cell for new in tables for cell, box in enumerate(new.boxes)}
    hidden = {box for new in tables for box in new.withheld() if not known.boxes.withheld(box)}
    news = fresh - _computable(known, tables)
    looks = [_Look(boxes, names, full, _group(tables), news, hidden, units=False)]
    if varying is not None:
        # Units add up over what no unit is in twice.
        units = boxes.without(varying)
        looks.append(_Look(units, names - varying, full, _group(tables), fresh, hidden, units=True))
    for look in looks:
        blamed = look.blamed(known.told.setdefault((width, look.units), set()), width, deadline)
        which = [{cells[box] for box in told} for told in blamed]
        kept_back[_covering(which, tables[0].table.records)] = True
    return kept_back


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """Boxes with their records or their units, and those that a table about to leave adds."""

    boxes: JointBoxes
    first: Set[str]
    full: Mapping[str, int]
    group: Mapping[str, int]
    """Filters of the table."""
    fresh: Set[Box]
    """Published boxes that are new."""
    hidden: Set[Box]
    """Withheld ones that are."""
    units: bool

    def blamed(self, told: set[Box], width: Width, deadline: Deadline) -> list[set[Box]]:
        """For each withheld box that fresh ones help to bound too closely: these.

        `told` are boxes that were too close before, which are no more looked at; it grows.
        """
        domain = joint_domain(self.first, self.boxes, self.full, MOST_ATOMS)
        found = scopes(self.boxes, domain, self.full, self.group, self.fresh, self.units)
        return [boxes for scope in found for boxes in self._blamed(scope, told, width, deadline)]

    def _blamed(self, scope: Scope, told: set[Box], width: Width, deadline: Deadline) -> list[set[Box]]:
        if not (self.fresh & scope.published.keys() or (width.floor and self.hidden)):
            return []
        # Of what is told already nothing is known but its sums, or that it is not empty.
        secrets = [box for box in scope.secrets if width.floor or box not in told]
        narrow = self._narrow(scope, secrets, told, width, deadline)
        if narrow.any():
            before = self._before(scope, secrets, narrow, width, deadline)
            told.update(secrets[place] for place in np.flatnonzero(before).tolist())
            narrow &= ~before
        if not narrow.any():
            return []
        system = self._system(scope, secrets)
        found = _settled(joint_intervals(system, width.least, width.floor, deadline, narrow))
        blamed = [
            {box for row in told_by(found, secret) if (box := system.published[row]) in self.fresh}
            for secret in np.flatnonzero(found.narrow).tolist()
        ]
        if not all(blamed) or len(blamed) < np.count_nonzero(narrow):
            # It is the withholding that tells, as nothing withheld is empty: no cell can be kept back for it.
            raise JointlyUnproved
        return blamed

    def _system(self, scope: Scope, secrets: Sequence[Box]) -> JointSystem:
        """All that is known; fresh empty boxes are sums as well, so that what they tell can be seen."""
        return joint_system(scope.domain, scope.published, secrets, scope.full, told_apart=self.fresh)

    def _narrow(
        self, scope: Scope, secrets: Sequence[Box], told: Set[Box], width: Width, deadline: Deadline
    ) -> BoolArray:
        """Boxes not told before that are told too closely, where fresh ones can be why; (secrets,)."""
        asked = np.array([box not in told for box in secrets], dtype=np.bool_)
        if not asked.any():
            return asked
        system = self._system(scope, secrets)
        question = Question(
            asked,
            np.array([box in self.fresh for box in system.published], dtype=np.bool_),
            np.array([box in self.hidden for box in secrets], dtype=np.bool_),
        )
        return _settled(joint_bounds(system, width.least, width.floor, deadline, question)).narrow

    def _before(
        self, scope: Scope, secrets: Sequence[Box], narrow: BoolArray, width: Width, deadline: Deadline
    ) -> BoolArray:
        """Which of the narrow boxes were so without anything fresh, shape (secrets,)."""
        before = {box: count for box, count in scope.published.items() if box not in self.fresh}
        floors = np.array([0.0 if box in self.hidden else width.floor for box in secrets])
        system = joint_system(scope.domain, before, secrets, scope.full)
        question = replace(everything_of(system), asked=narrow)
        return _settled(joint_bounds(system, width.least, floors, deadline, question)).narrow


def _group(tables: Sequence[ReleasedTable]) -> dict[str, int]:
    """The filters that all the tables have, as wide as the widest."""
    first, *others = [dict(new.table.fixed) for new in tables]
    return {
        name: reduce(or_, (filters[name] for filters in others), mask)
        for name, mask in first.items()
        if all(name in filters for filters in others)
    }


def _computable(known: KnownQuantity, tables: Sequence[ReleasedTable]) -> set[Box]:
    """Boxes of tables whose records can be computed from what has left: they say nothing new."""
    found: set[Box] = set()
    with suppress(SpanBudgetExceeded):
        for new in tables:
            inside = known.derivable(new, unhurried)
            found.update(new.boxes[cell] for cell in np.flatnonzero(inside).tolist())
    return found


def _settled(found: JointIntervals) -> JointIntervals:
    if found.unproved.any():
        raise JointlyUnproved
    return found


def _covering(blamed: list[set[int]], records: IntArray) -> list[int]:
    """Cells of which at least one is among those blamed for each secret: few, and small ones."""
    chosen = list[int]()
    while blamed := [cells for cells in blamed if cells]:
        counts: dict[int, int] = {}
        for cells in blamed:
            for cell in cells:
                counts[cell] = counts.get(cell, 0) + 1
        best = max(counts, key=lambda cell: (counts[cell] / (1.0 + float(records[cell])), -cell))
        chosen.append(best)
        blamed = [cells for cells in blamed if best not in cells]
    return chosen
