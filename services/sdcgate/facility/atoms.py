"""Groups that nobody asked for, but that several filters cut out together.

Tables with the same dimensions, filtered by different codes of one variable, divide it into atoms. Where an
atom of a cell is unsafe, it must not be a sum or difference of what has left, although no table shows it.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from sdcgate.engine.queries import Region
from sdcgate.facility.differencing import Inspector
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.methods.tables.boxes import NOBODY, Box, make_box

MOST = 600
"""Atoms that are counted for one query; beyond them see docs/limits.md."""


def unsafe_atoms(new: ReleasedTable, released: Sequence[ReleasedTable], inspector: Inspector) -> set[Box]:
    """Boxes of unsafe atoms of a new table's cells among earlier tables that differ from it in one filter."""
    candidates: dict[Box, None] = {}
    for variable, masks in _filters(new, released).items():
        parts = divided(new.table.full.get(variable, max(masks)), masks)
        if len(parts) < 3:
            continue  # the complement of one filter is a difference of two cells, judged as such
        full = {**new.table.full, variable: sum(parts)}
        for box in set(new.boxes) - {NOBODY}:
            rest = [(name, mask) for name, mask in box if name != variable]
            candidates.update(dict.fromkeys(make_box([*rest, (variable, part)], full) for part in parts))
    boxes = sorted(candidates)[:MOST]
    unsafe = inspector.unsafe([Region((box,)) for box in boxes], ())
    return {boxes[place] for place in np.flatnonzero(unsafe).tolist()}


def divided(whole: int, masks: Iterable[int]) -> list[int]:
    """The atoms into which masks divide a whole; each mask is a union of them."""
    parts = [whole]
    for mask in masks:
        parts = [piece for part in parts for piece in (part & mask, part & ~mask) if piece]
    return parts


def _filters(new: ReleasedTable, released: Sequence[ReleasedTable]) -> dict[str, list[int]]:
    """For each variable the masks of tables that differ from the new one in a filter on it alone."""
    mine = dict(new.table.fixed)
    axes = {variable for variable, _ in new.table.axes}
    found: dict[str, list[int]] = {name: [mask] for name, mask in mine.items()}
    for known in released:
        theirs = dict(known.table.fixed)
        if {variable for variable, _ in known.table.axes} != axes:
            continue
        differing = [name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)]
        if len(differing) == 1 and differing[0] in theirs:
            whole = known.table.full[differing[0]]
            found.setdefault(differing[0], [whole]).append(theirs[differing[0]])
    return found
