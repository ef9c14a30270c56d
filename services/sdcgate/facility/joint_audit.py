"""The joint audit of a table that is about to leave: what all releases together tell of anything withheld.

The linear span finds what can be computed exactly; this finds what can be bounded, by counts that are not
negative and by published zeros, within as many variables as time allows.
"""

from collections.abc import Sequence, Set
from contextlib import closing, suppress
from functools import partial, reduce
from operator import or_

import numpy as np

from sdcgate.facility.joint_look import Extent, Look, Wide, Width, covering
from sdcgate.facility.knowledge import KnownQuantity, ReleasedTable
from sdcgate.facility.side_by_side import answers
from sdcgate.methods.cells import BoolArray, State
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.joint_boxes import JointBoxes
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_scopes import scopes
from sdcgate.methods.tables.modular import unhurried
from sdcgate.methods.tables.span import SpanBudgetExceeded


def telling(
    known: KnownQuantity,
    tables: Sequence[ReleasedTable],
    width: Width,
    extent: Extent,
    varying: Set[str] | None = None,
    wide: Wide | None = None,
) -> BoolArray:
    """Published cells of new tables without which nothing withheld is told too closely, shape (cells,).

    Args:
        known: what has left of the quantity.
        tables: tables of the quantity with the same cells, in the states that they would leave in.
        width: what is required of records, and of units.
        extent: how many joint codes are looked at together, and when to give up.
        varying: variables that vary within a unit; None where units are the records.
        wide: what earlier turns of the same table have seen to be uncertain enough.

    Raises:
        JointlyUnproved: it cannot be told in time.
    """
    kept_back = np.zeros(len(tables[0].table), dtype=np.bool_)
    withholds = any((new.table.states == State.WITHHELD).any() for new in tables)
    # What a table tells by itself its own proof knows.
    if (known.empty and not known.boxes.limits) or not (known.boxes.secret or withholds):
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
    looks = [(boxes.adding_up(varying, False), names, fresh - computable(known, tables), False)]
    if varying is not None:
        looks.append((boxes.adding_up(varying, True), names - varying, fresh, True))
    group, seen = _group(tables), {} if wide is None else wide

    def looked(those: JointBoxes, first: Set[str], news: Set[Box], units: bool) -> list[int]:
        """Cells to keep back for what is told of records, or of units."""
        held = partial(extent.truth.held, units)
        look = Look(news, hidden, lambda _: width.least, width.floor, extent.deadline, wide=seen, held=held)
        domain = joint_domain(first, those, full, extent.atoms)
        found = scopes(those, domain, full, group, news, units)
        blamed = [box_set for scope in found for box_set in look.noted(scope, known.told, (width, units))]
        which = [{cells[box] for box in box_set} for box_set in blamed]
        return covering(which, tables[0].table.records)

    with closing(answers([partial(looked, *look) for look in looks])) as found:
        for chosen in found:
            kept_back[chosen] = True
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
