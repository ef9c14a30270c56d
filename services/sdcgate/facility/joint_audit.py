"""The joint audit of a table that is about to leave: what all releases together tell of anything withheld.

The linear span finds what can be computed exactly; this finds what can be bounded, by counts that are not
negative and by published zeros, within as many variables as time allows.
"""

from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_

import numpy as np

from sdcgate.facility.joint_look import Extent, Look, Wide, Width, covering
from sdcgate.facility.knowledge import KnownQuantity, ReleasedTable
from sdcgate.methods.cells import BoolArray, State
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.joint_boxes import JointBoxes
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_scopes import scopes
from sdcgate.methods.tables.modular import unhurried
from sdcgate.methods.tables.span import SpanBudgetExceeded

Question = Callable[[], BoolArray]


def questions(
    known: KnownQuantity,
    tables: Sequence[ReleasedTable],
    width: Width,
    extent: Extent,
    varying: Set[str] | None = None,
    wide: Wide | None = None,
) -> list[Question]:
    """What is to be found out of records, and of units, each by itself; nothing where no table can tell.

    Each question finds the published cells of new tables without which nothing withheld is told too closely,
    shape (cells,), or raises JointlyUnproved where it cannot be told in time.

    Args:
        known: what has left of the quantity.
        tables: tables of the quantity with the same cells, in the states that they would leave in.
        width: what is required of records, and of units.
        extent: how many joint codes are looked at together, and when to give up.
        varying: variables that vary within a unit; None where units are the records.
        wide: what earlier turns of the same table have seen to be uncertain enough.
    """
    withholds = any((new.table.states == State.WITHHELD).any() for new in tables)
    # What a table tells by itself its own proof knows.
    if (known.empty and not known.boxes.limits) or not (known.boxes.secret or withholds):
        return []
    boxes = known.boxes
    for new in tables:
        boxes = boxes.grown(new.published(), new.withheld())
    audit = _Audit(known, tables, width, extent, {} if wide is None else wide)
    names = frozenset(name for new in tables for name in new.table.variables())
    fresh = {box for new in tables for box, _ in new.published() if box not in known.published}
    asked: list[Question] = [partial(audit.of_records, boxes.adding_up(varying, False), names, fresh)]
    if varying is not None:
        asked.append(partial(audit.of_units, boxes.adding_up(varying, True), names - varying, fresh))
    return asked


@dataclass(frozen=True, slots=True, eq=False)
class _Audit:
    known: KnownQuantity
    tables: Sequence[ReleasedTable]
    width: Width
    extent: Extent
    wide: Wide

    def of_records(self, boxes: JointBoxes, first: Set[str], fresh: Set[Box]) -> BoolArray:
        return self._looked(boxes, first, fresh - computable(self.known, self.tables), units=False)

    def of_units(self, boxes: JointBoxes, first: Set[str], fresh: Set[Box]) -> BoolArray:
        return self._looked(boxes, first, fresh, units=True)

    def _looked(self, boxes: JointBoxes, first: Set[str], fresh: Set[Box], units: bool) -> BoolArray:
        """Cells to keep back; the variables that are looked at begin with the `first`."""
        known, width, extent = self.known, self.width, self.extent
        full = dict(known.shapes.full)
        for new in self.tables:
            full |= new.table.full
        hidden = {box for new in self.tables for box in new.withheld() if not known.boxes.withheld(box)}
        held = partial(extent.truth.held, units)
        look = Look(
            fresh, hidden, lambda _: width.least, width.floor, extent.deadline, wide=self.wide, held=held
        )
        domain = joint_domain(first, boxes, full, extent.atoms)
        found = scopes(boxes, domain, full, _group(self.tables), fresh, units)
        blamed = [rows for scope in found for rows in look.noted(scope, known.told, (width, units))]
        cells = {box: cell for new in self.tables for cell, box in enumerate(new.boxes)}
        kept_back = np.zeros(len(self.tables[0].table), dtype=np.bool_)
        which = [{cells[box] for box in rows} for rows in blamed]
        kept_back[covering(which, self.tables[0].table.records)] = True
        return kept_back


def _group(tables: Sequence[ReleasedTable]) -> dict[str, int]:
    """The filters that all the tables have, as wide as the widest."""
    first, *others = [dict(new.table.fixed) for new in tables]
    return {
        name: reduce(or_, (filters[name] for filters in others), mask)
        for name, mask in first.items()
        if all(name in filters for filters in others)
    }


def computable(known: KnownQuantity, tables: Sequence[ReleasedTable]) -> set[Box]:
    """Boxes of tables whose amounts can be computed from what has left: they say nothing new."""
    found: set[Box] = set()
    with suppress(SpanBudgetExceeded):
        for new in tables:
            inside = known.derivable(new, unhurried)
            found.update(new.boxes[cell] for cell in np.flatnonzero(inside).tolist())
    return found
