"""The joint audit of a table that is about to leave: what all releases together tell of anything withheld.

The linear span finds what can be computed exactly; this finds what can be bounded, by counts that are not
negative and by published zeros, within as many variables as time allows.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_

import numpy as np

from sdcgate.facility.decided_sums import cell_of
from sdcgate.facility.joint_look import Extent, Look, Wide, Width, covering
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.facility.leaving import Leaving
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.joint_boxes import variables_of
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_scopes import scopes


def telling(
    leaving: Leaving,
    width: Width,
    extent: Extent,
    varying: Set[str] | None = None,
    wide: Wide | None = None,
    doubted: set[Box] | None = None,
) -> BoolArray:
    """Published cells of new tables without which no withheld count is told too closely, shape (cells,).

    Of records, and of units.

    Args:
        leaving: tables of a quantity with the same cells, and what has left of it.
        width: what is required of records, and of units.
        extent: how many joint codes are looked at together, and when to give up.
        varying: variables that vary within a unit; None where units are the records.
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
        varying,
        set() if doubted is None else doubted,
    )
    kept_back = audit.looked(units=False)
    if varying is not None:
        kept_back |= audit.looked(units=True)
    return kept_back


@dataclass(frozen=True, slots=True, eq=False)
class _Audit:
    leaving: Leaving
    width: Width
    extent: Extent
    wide: Wide
    varying: Set[str] | None
    doubted: set[Box]

    def looked(self, units: bool) -> BoolArray:
        """Cells to keep back. What may have been told before is looked at again by what was for sure."""
        kept_back, told = self._by(self.leaving, units)
        if self.leaving.certain:
            return kept_back
        self.doubted.update(told)
        only = told | self.leaving.doubted
        if not units:
            only = self.leaving.unshared(only)
        if only and not kept_back.any():
            kept_back |= self._by(self.leaving.in_doubt, units, only)[0]
        return kept_back

    def _by(self, leaving: Leaving, units: bool, only: Set[Box] | None = None) -> tuple[BoolArray, Set[Box]]:
        """Cells to keep back for all that is withheld, or for some, and what may have been told before."""
        width, extent = self.width, self.extent
        boxes, names = leaving.boxes.adding_up(self.varying, units), leaving.variables
        fresh, hidden = leaving.units_first if units else leaving.told_first, leaving.withheld_first
        if units:
            # Units of boxes of what varies within them are not looked at.
            names -= self.varying or set()
            hidden = {box for box in hidden if variables_of(box).isdisjoint(self.varying or ())}
        elif self.leaving.certain:
            fresh = fresh - leaving.computable
        look = Look(
            fresh,
            hidden,
            lambda _: width.least,
            width.floor,
            extent.deadline,
            wide=self.wide,
            held=partial(extent.truth.held, units, needed=bool(boxes.combined)),
            only=only,
        )
        domain = joint_domain(names, boxes, leaving.full, extent.atoms)
        boxes = boxes.with_shares(domain, fresh)
        found = scopes(boxes, domain, leaving.full, _group(leaving.tables), fresh, units)
        required = (width, units, only is None)
        notes = leaving.notes
        blamed = [rows for scope in found for rows in look.noted(scope, notes, required)]
        cells = {box: cell for new in leaving.tables for cell, box in enumerate(new.boxes)}
        records = leaving.tables[0].table.records
        kept_back = np.zeros(len(records), dtype=np.bool_)
        which = [{cells[cell_of(box)] for box in rows} for rows in blamed]
        kept_back[covering(which, records)] = True
        return kept_back, look.doubted(hidden)


def _group(tables: Sequence[ReleasedTable]) -> dict[str, int]:
    """The filters that all the tables have, as wide as the widest."""
    first, *others = [dict(new.table.fixed) for new in tables]
    return {
        name: reduce(or_, (filters[name] for filters in others), mask)
        for name, mask in first.items()
        if all(name in filters for filters in others)
    }
