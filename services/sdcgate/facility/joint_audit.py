"""The joint audit of a table that is about to leave: what all releases together tell of anything withheld.

The linear span finds what can be computed exactly; this finds what can be bounded, by counts that are not
negative and by published zeros, within as many variables as time allows.
"""

from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import or_

import numpy as np

from sdcgate.facility.decided_sums import cell_of
from sdcgate.facility.joint_look import Extent, Look, Wide, Width, covering
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.facility.leaving import Leaving
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Held
from sdcgate.methods.tables.joint_boxes import Variables, variables_of
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_layers import most_records_told, told_by_layers
from sdcgate.methods.tables.joint_panel import MOST_TOGETHER, Together, together
from sdcgate.methods.tables.joint_scopes import Scope, scopes
from sdcgate.methods.tables.panel_links import Panel, without_link


def telling(
    leaving: Leaving,
    width: Width,
    extent: Extent,
    panel: Panel | None = None,
    wide: Wide | None = None,
    doubted: set[Box] | None = None,
) -> BoolArray:
    """Published cells of new tables without which no withheld count is told too closely, shape (cells,).

    Of records, of units, and of both together where these are few.

    Args:
        leaving: tables of a quantity with the same cells, and what has left of it.
        width: what is required of records, and of units.
        extent: how many joint codes are looked at together, and when to give up.
        panel: how units have several records; None where units are the records.
        wide: what earlier turns of the same table have seen to be uncertain enough.
        doubted: withheld boxes that were perhaps told before; it grows.

    Raises:
        JointlyUnproved: it cannot be told in time.
    """
    # What a table tells by itself its own proof knows.
    nothing = leaving.known.empty and not leaving.known.boxes.limits and not leaving.decided
    if nothing or not leaving.hides:
        return np.zeros(len(leaving.tables[0].table), dtype=np.bool_)
    audit = _Audit(
        leaving,
        width,
        extent,
        {} if wide is None else wide,
        panel,
        set() if doubted is None else doubted,
    )
    kept_back = audit.looked(audit.by_records, shared=True)
    if panel is not None:
        kept_back |= audit.looked(audit.by_units)
        if not kept_back.any() and leaving.tells:
            kept_back = audit.looked(audit.together)
    return kept_back


Found = tuple[BoolArray, Set[Box]]
"""Cells to keep back, shape (cells,), and withheld boxes that may have been told before."""
Looking = Callable[[Leaving, Set[Box] | None], Found]


@dataclass(frozen=True, slots=True, eq=False)
class _Audit:
    leaving: Leaving
    width: Width
    extent: Extent
    wide: Wide
    panel: Panel | None
    doubted: set[Box]

    def looked(self, by: Looking, shared: bool = False) -> BoolArray:
        """Cells to keep back. What may have been told before is looked at again by what was for sure.

        `shared`: shares tell of what is looked at.
        """
        kept_back, told = by(self.leaving, None)
        if self.leaving.certain:
            return kept_back
        self.doubted.update(told)
        only = told | self.leaving.doubted
        if shared:
            only = self.leaving.unshared(only)
        if only and not kept_back.any():
            kept_back |= by(self.leaving.in_doubt, only)[0]
        return kept_back

    def by_records(self, leaving: Leaving, only: Set[Box] | None) -> Found:
        """Cells to keep back for all withheld records, or some, and what may have been told before."""
        fresh = leaving.told_first
        if self.leaving.certain:
            fresh = fresh - leaving.computable
        return self._by(leaving, leaving.variables, False, fresh, leaving.withheld_first, only)

    def by_units(self, leaving: Leaving, only: Set[Box] | None) -> Found:
        """The same of units, in boxes of what does not vary within them."""
        varying = frozenset[str]() if self.panel is None else self.panel.varying
        hidden = {box for box in leaving.withheld_first if variables_of(box).isdisjoint(varying)}
        return self._by(leaving, leaving.variables - varying, True, leaving.units_first, hidden, only)

    def _by(
        self,
        leaving: Leaving,
        names: Variables,
        units: bool,
        fresh: Set[Box],
        hidden: Set[Box],
        only: Set[Box] | None,
    ) -> Found:
        extent, varying = self.extent, None if self.panel is None else self.panel.varying
        boxes = leaving.boxes.adding_up(varying, units)
        held = partial(extent.truth.held, units, needed=bool(boxes.combined))
        domain = joint_domain(names, boxes, leaving.full, extent.atoms, leaving.deciding)
        boxes = boxes.with_shares(domain, fresh)
        if self.panel is not None and leaving.tells:
            news, told = leaving.units_first, told_by_layers if units else most_records_told
            more = told(leaving.boxes, self.panel, domain, leaving.full, news)
            boxes = boxes.combining(more)
            fresh = fresh | {one.told_by for one in more if without_link(one.told_by) in news}
        look = self._look(fresh, hidden, only, held)
        found = scopes(boxes, domain, leaving.full, _group(leaving.tables), fresh, units)
        blamed = [rows for scope in found for rows in self._noted(look, scope, leaving, units)]
        return self._covering(leaving, blamed), look.doubted(hidden)

    def together(self, leaving: Leaving, only: Set[Box] | None) -> Found:
        """The same of records and units together."""
        if self.panel is None:
            return _nothing(leaving), frozenset()
        first, names = leaving.told_first, leaving.variables
        kept_back, doubted = _nothing(leaving), set[Box]()
        for both in together(leaving.boxes, self.panel, names, leaving.full, first, MOST_TOGETHER):
            more, told = self._of_both(both, leaving, only)
            doubted |= told
            kept_back = more
            if more.any():
                break
        return kept_back, doubted

    def _of_both(self, both: Together, leaving: Leaving, only: Set[Box] | None) -> Found:
        first, hidden = leaving.told_first, leaving.withheld_first
        look = self._look(
            both.of_records(first) | both.of_units(leaving.units_first) | leaving.combined_first,
            both.of_records(hidden) | both.of_units(hidden),
            None if only is None else both.of_records(only) | both.of_units(only),
            lambda _: both.held(self.extent.truth.layered),
        )
        # Which kinds there are depends on what is known: of others the same number says something else.
        found = self._noted(look, both.scope, leaving, both.layers)
        blamed = [{both.plain(box) for box in boxes} for boxes in found]
        return self._covering(leaving, blamed), {both.plain(box) for box in look.doubted(look.hidden)}

    def _noted(self, look: Look, scope: Scope, leaving: Leaving, what: Hashable) -> list[set[Box]]:
        """What a look blames; by what was for sure it asks for nothing that is wide beside more knowledge."""
        required, before = (self.width, what, look.only is None), (self.width, what, True)
        seen = self.wide.get((before, scope.extent))
        if look.only is not None and seen is not None:
            look = replace(look, only=look.only - seen.wide)
        return look.noted(scope, leaving.notes, required)

    def _look(
        self,
        fresh: Set[Box],
        hidden: Set[Box],
        only: Set[Box] | None,
        held: Callable[[Variables], Held | None] = lambda _: None,
    ) -> Look:
        width, until = self.width, self.extent.deadline
        return Look(
            fresh, hidden, lambda _: width.least, width.floor, until, wide=self.wide, held=held, only=only
        )

    def _covering(self, leaving: Leaving, blamed: Sequence[Set[Box]]) -> BoolArray:
        """Cells of each of some sets of boxes, shape (cells,)."""
        cells = {box: cell for new in leaving.tables for cell, box in enumerate(new.boxes)}
        kept_back = _nothing(leaving)
        which = [{cells[without_link(cell_of(box))] for box in rows} for rows in blamed]
        records, each = leaving.tables[0].table.records, self.extent.kept_back
        kept_back[covering(which, records, each, self.width.floor)] = True
        return kept_back


def _nothing(leaving: Leaving) -> BoolArray:
    return np.zeros(len(leaving.tables[0].table), dtype=np.bool_)


def _group(tables: Sequence[ReleasedTable]) -> dict[str, int]:
    """The filters that all the tables have, as wide as the widest."""
    first, *others = [dict(new.table.fixed) for new in tables]
    return {
        name: reduce(or_, (filters[name] for filters in others), mask)
        for name, mask in first.items()
        if all(name in filters for filters in others)
    }
