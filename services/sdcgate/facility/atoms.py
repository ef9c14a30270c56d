"""Groups that nobody asked for, but that several filters cut out together.

Tables with the same dimensions, filtered by different codes of one variable, divide it into atoms. Where an
atom of a cell is unsafe, it must not be a sum or difference of what has left, although no table shows it.
"""

from dataclasses import replace

import numpy as np

from sdcgate.engine.queries import Region
from sdcgate.facility.differencing import Inspector, TooManyDifferences
from sdcgate.facility.knowledge import KnownQuantity, ReleasedTable, Shapes
from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import NOBODY, Box, BoxTable, divided
from sdcgate.methods.tables.span import Span

MOST, MOST_LOOKED_AT = 2_000, 200_000
"""Atoms that are counted for one query, and those whose place in the span is looked up."""


def reveals_unsafe_atom(new: ReleasedTable, known: KnownQuantity, span: Span, inspector: Inspector) -> bool:
    """Whether an unsafe atom of a new table's cells, among earlier tables, is in the span of both together.

    Raises:
        TooManyDifferences: more would have to be looked at than can be.
        SpanBudgetExceeded: it cannot be told in time.
    """
    shown = {new.boxes[cell] for cell in np.flatnonzero(new.table.states == State.PUBLISHED).tolist()}
    derivable: dict[Box, None] = {}
    for variable, masks in _filters(new, known.shapes).items():
        parts = divided(new.table.full.get(variable, max(masks)), masks)
        if len(parts) < 3:
            continue  # the complement of one filter is a difference of two cells, judged as such
        if len(new.table) * len(parts) > MOST_LOOKED_AT:
            raise TooManyDifferences(f"more than {MOST_LOOKED_AT} groups to look at")
        atoms = _divided_table(new.table, variable, parts)
        inside, boxes = span.contains_cells(atoms), atoms.boxes()
        derivable.update(dict.fromkeys(boxes[cell] for cell in np.flatnonzero(inside).tolist()))
    # What was shown before, or is now, was judged as a cell.
    hidden = [box for box in derivable if box != NOBODY and box not in shown and box not in known.published]
    if len(hidden) > MOST:
        raise TooManyDifferences(f"{len(hidden)} groups to count, at most {MOST}")
    return bool(inspector.unsafe([Region((box,)) for box in hidden], ()).any())


def _divided_table(table: BoxTable, variable: str, parts: list[int]) -> BoxTable:
    """A table's cells in each part of a variable, as boxes without figures."""
    nothing = np.zeros(len(table) * len(parts), dtype=np.int64)
    return replace(
        table,
        axes=(*table.axes, (variable, tuple(parts))),
        fixed=tuple((name, mask) for name, mask in table.fixed if name != variable),
        full={**table.full, variable: sum(parts)},
        states=nothing,
        records=nothing,
        marks=nothing,
    )


def _filters(new: ReleasedTable, released: Shapes) -> dict[str, list[int]]:
    """For each variable the masks of tables that differ from the new one in a filter on it alone."""
    mine = dict(new.table.fixed)
    found: dict[str, list[int]] = {name: [mask] for name, mask in mine.items()}
    for fixed in released.filters.get(frozenset(variable for variable, _ in new.table.axes), ()):
        theirs = dict(fixed)
        differing = [name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)]
        if len(differing) == 1 and differing[0] in theirs:
            whole = released.full[differing[0]]
            found.setdefault(differing[0], [whole]).append(theirs[differing[0]])
    return found
