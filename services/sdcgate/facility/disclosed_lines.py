"""Differences of whole lines of a sensitive variable: what is left of a group may all be ill, of whatever.

All people of a town and the young of it are told by illness. Of those left, the old, each illness alone may
be that of half; that none of them is well the healthy tell, all of whom are young.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.queries import Region
from sdcgate.facility.disclosed_groups import DisclosedGroups, Group, SensitiveCodes, without
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.nesting import Nested
from sdcgate.methods.tables.released_cells import ReleasedCells

ROOM = 1e-6
"""Share by which bounds are wider than what they bound."""


@dataclass(slots=True)
class LineDifference:
    """Two groups that are told by a sensitive variable, one inside the other."""

    variable: str
    outer: Box
    inner: Box
    cells: list[tuple[int, int]] = field(default_factory=list)
    """Cells of the new table, each with the row of an earlier one that it is nested with."""
    records: dict[int, int] = field(default_factory=dict)
    """Of codes that both tell of, how many records the outer has more."""
    classes: set[int] = field(default_factory=set)
    """What may be told."""


def line_differences(
    new: ReleasedTable,
    released: ReleasedCells,
    pairs: Nested,
    groups: DisclosedGroups,
    pulse: Callable[[], None],
) -> list[LineDifference]:
    """Differences of lines of a new table and earlier ones.

    `pairs` are nested cells, also of one population; `pulse` is called again and again.
    """
    found: dict[tuple[str, Box, Box], LineDifference] = {}
    restricted = [list(_restrictions(box, groups)) for box in new.boxes]
    told = np.array([bool(one) for one in restricted], dtype=np.bool_)
    earlier: dict[int, dict[str, tuple[Box, int]]] = {}
    for place in np.flatnonzero(told[pairs.new_cells]).tolist():
        if place % 4096 == 0:
            pulse()
        cell, row = int(pairs.new_cells[place]), int(pairs.old_cells[place])
        theirs = earlier.get(row)
        if theirs is None:
            theirs = {name: (line, mask) for name, line, mask in _restrictions(released.box(row), groups)}
            earlier[row] = theirs
        for name, line, mask in restricted[cell]:
            other, code = theirs.get(name, (line, mask))
            if other == line:
                continue
            outer, inner = (other, line) if pairs.new_inside_old[place] else (line, other)
            one = found.setdefault((name, outer, inner), LineDifference(name, outer, inner))
            one.cells.append((cell, row))
            one.classes.update(groups.codes[name].told(mask), groups.codes[name].told(code))
            if code == mask:
                one.records[mask] = int(pairs.difference_records[place])
    return list(found.values())


def perhaps_told(
    one: LineDifference, groups: DisclosedGroups, size: Callable[[Box], int | None], most: int
) -> Iterator[Group]:
    """The classes that (nearly) all of the difference may have.

    `size` are the records of a box where they are known, `most` those of one unit at most.
    """
    codes = groups.codes[one.variable]
    apart = _disjoint(one.records)
    whole = _whole(one, apart, codes, size)
    people = Region((one.outer,), (one.inner,))
    for union in sorted(one.classes):
        others = sum(records for mask, records in apart.items() if mask & codes.valid and not mask & union)
        sure = whole is not None and others > (1 - groups.share) * whole * most * (1 + ROOM)
        if not sure and whole != 0:
            yield Group(people, one.variable, union, asked=False)


def _restrictions(box: Box, groups: DisclosedGroups) -> Iterator[tuple[str, Box, int]]:
    """The sensitive variables that a box restricts: each with the box without it, and its codes."""
    for name, mask in box:
        codes = groups.codes.get(name)
        if codes is not None and codes.restricted(mask):
            yield name, without(box, name), mask


def _disjoint(records: dict[int, int]) -> dict[int, int]:
    """Codes that have nothing in common, single ones first."""
    chosen: dict[int, int] = {}
    seen = 0
    for mask in sorted(records, key=lambda mask: (mask.bit_count(), mask)):
        if not mask & seen:
            chosen[mask], seen = records[mask], seen | mask
    return chosen


def _whole(
    one: LineDifference, apart: dict[int, int], codes: SensitiveCodes, size: Callable[[Box], int | None]
) -> int | None:
    """Records of those who have answered, at most; None where they are not known."""
    if not codes.valid & ~sum(mask & codes.valid for mask in apart):
        return sum(records for mask, records in apart.items() if mask & codes.valid)
    outer, inner = size(one.outer), size(one.inner)
    return None if outer is None or inner is None else outer - inner


def sizes_of(new: ReleasedTable, released: ReleasedCells) -> Callable[[Box], int | None]:
    """How many records a box has, if it is a cell of a new table or has left."""
    own, earlier = dict(zip(new.boxes, new.table.records.tolist(), strict=True)), released.facts().records

    def size(box: Box) -> int | None:
        row = released.row(box)
        return own.get(box) if row is None else int(earlier[row])

    return size
