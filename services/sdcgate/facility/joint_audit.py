"""The joint audit of a table that is about to leave: what all releases together tell of anything withheld.

The linear span finds what can be computed exactly; this finds what can be bounded, by counts that are not
negative and by published zeros, within as many variables as time allows.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain
from operator import or_

import numpy as np

from sdcgate.facility.joint_look import Extent, Look, Wide, Width, covering
from sdcgate.facility.knowledge import KnownQuantity, ReleasedTable
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.joint_boxes import RECORDS, UNITS, variables_of
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
    doubted: set[Box] | None = None,
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
        doubted: withheld boxes that were perhaps told before; it grows.
    """
    # What a table tells by itself its own proof knows.
    if (known.empty and not known.boxes.limits) or not hides(known, tables):
        return []
    audit = _Audit(
        known,
        tables,
        width,
        extent,
        {} if wide is None else wide,
        varying,
        set() if doubted is None else doubted,
    )
    asked: list[Question] = [partial(audit.looked, units=False)]
    if varying is not None:
        asked.append(partial(audit.looked, units=True))
    return asked


@dataclass(frozen=True, slots=True, eq=False)
class _Audit:
    known: KnownQuantity
    tables: Sequence[ReleasedTable]
    width: Width
    extent: Extent
    wide: Wide
    varying: Set[str] | None
    doubted: set[Box]

    def looked(self, units: bool) -> BoolArray:
        """Cells to keep back. What may have been told before is looked at again by what was for sure."""
        kept_back, told = self._by(self.known, self.tables, units)
        if certain([self.known], self.tables):
            return kept_back
        self.doubted.update(told)
        only = told | doubted_before(self.known, self.tables)
        if only and not kept_back.any():
            tables = [new.taking_nothing() for new in self.tables]
            kept_back |= self._by(self.known.surely(), tables, units, only)[0]
        return kept_back

    def _by(
        self,
        known: KnownQuantity,
        tables: Sequence[ReleasedTable],
        units: bool,
        only: Set[Box] | None = None,
    ) -> tuple[BoolArray, Set[Box]]:
        """Cells to keep back for all that is withheld, or for some, and what may have been told before."""
        width, extent = self.width, self.extent
        boxes = known.boxes
        for new in tables:
            boxes = boxes.grown(new.published(), new.withheld())
        boxes, names = boxes.adding_up(self.varying, units), set[str]()
        full = dict(known.shapes.full)
        for new in tables:
            full |= new.table.full
            names.update(new.table.variables())
        if units:
            names -= self.varying or set()
        fresh = told_first(known, tables, units)
        if not units and certain([self.known], self.tables):
            fresh -= computable(known, tables)
        hidden = withheld_first(known, tables)
        if units:
            # Units of boxes of what varies within them are not looked at.
            hidden = {box for box in hidden if variables_of(box).isdisjoint(self.varying or ())}
        look = Look(
            fresh,
            hidden,
            lambda _: width.least,
            width.floor,
            extent.deadline,
            wide=self.wide,
            held=partial(extent.truth.held, units),
            only=only,
        )
        domain = joint_domain(names, boxes, full, extent.atoms)
        found = scopes(boxes, domain, full, _group(tables), fresh, units)
        required = (width, units, only is None)
        blamed = [rows for scope in found for rows in look.noted(scope, known.told, required)]
        cells = {box: cell for new in tables for cell, box in enumerate(new.boxes)}
        kept_back = np.zeros(len(tables[0].table), dtype=np.bool_)
        which = [{cells[box] for box in rows} for rows in blamed]
        kept_back[covering(which, tables[0].table.records)] = True
        return kept_back, look.doubted(hidden)


def doubted_before(known: KnownQuantity, tables: Iterable[ReleasedTable]) -> set[Box]:
    """Withheld boxes that were perhaps told before, and those that tables take for known."""
    return {*known.doubted, *chain.from_iterable(new.doubted() for new in tables)}


def hides(known: KnownQuantity, tables: Iterable[ReleasedTable]) -> bool:
    """Whether anything was withheld, or is now, be it taken for known."""
    return bool(known.surely().boxes.secret) or any(new.withheld() or new.told.cells for new in tables)


def certain(known: Iterable[KnownQuantity], tables: Iterable[ReleasedTable]) -> bool:
    """Whether all that left of quantities, and is about to, tells all its figures for sure."""
    return all(one.sure is None for one in known) and all(new.certain for new in tables)


def withheld_first(known: KnownQuantity, tables: Iterable[ReleasedTable]) -> set[Box]:
    """Boxes that tables withhold, and that were not withheld before."""
    return {box for new in tables for box in new.withheld() if not known.boxes.withheld(box)}


def told_first(before: KnownQuantity, tables: Iterable[ReleasedTable], units: bool = False) -> set[Box]:
    """Boxes of which tables tell the records, the units or the sum, and nothing told them before.

    That nobody is in a box is no news where nobody is in a larger one.
    """
    told, found = UNITS if units else RECORDS, set[Box]()
    for new in tables:
        empty = before.empty_cells(new.table).tolist()
        found.update(
            box
            for (box, counts), nobody in zip(new.cells(), empty, strict=True)
            if counts.told & told and not (nobody or before.boxes.told(box) & told)
        )
    return found


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
