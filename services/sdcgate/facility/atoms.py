"""Groups that nobody asked for, but that several filters cut out together.

Tables with the same dimensions, filtered by different codes of one variable, divide it into atoms. Where an
atom of a cell is unsafe, it must not be a sum or difference of what has left, although no table shows it.

Tables of any shape cut groups out of several variables: everybody, those outside a town, those outside a
trade and those outside both tell the people of that trade in that town, by inclusion and exclusion.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Protocol

import numpy as np

from sdcgate.engine.queries import Region
from sdcgate.facility.differencing import TooManyDifferences
from sdcgate.facility.knowledge import KnownQuantity, ReleasedTable, Shapes
from sdcgate.methods.cells import BoolArray, State
from sdcgate.methods.tables.boxes import NOBODY, Box, BoxTable, divided
from sdcgate.methods.tables.span import Span

MOST, MOST_LOOKED_AT = 2_000, 200_000
"""Atoms that are counted for one query, and those whose place in the span is looked up."""
MOST_TOGETHER, MOST_CROSSED = 6, 4_000
"""Variables whose codes are crossed, and crossings whose place in the span is looked up, small ones first."""


class Sensitive(Protocol):
    """Knows the sensitive variables."""

    def category(self, box: Box) -> object:
        """What a box tells of somebody that does harm; None where it tells nothing of the kind."""

    def classes(self) -> Mapping[str, Sequence[int]]:
        """Of each sensitive variable classes of codes that do harm, with and without who is missing."""


class Inspecting(Protocol):
    """Judges regions of the data."""

    @property
    def pulse(self) -> Callable[[], None]:
        """Called again and again on the way; what it raises ends the work."""

    def unsafe(self, regions: Sequence[Region], measures: Sequence[str]) -> BoolArray:
        """Which regions break a rule, shape (regions,)."""


def unsafe_atoms_told(
    new: ReleasedTable,
    known: KnownQuantity,
    span: Span,
    inspector: Inspecting,
    enough: BoolArray | None = None,
    measures: Sequence[str] = (),
    sensitive: Sensitive | None = None,
) -> list[Box]:
    """Unsafe groups that no table shows, and that are in the span of a new table and earlier ones together.

    Looked at are the atoms of the new table's cells, and the crossings of a few variables' codes. `enough`
    are cells of the new table that make every group that they lie in safe by size; None where there are none.
    `measures`: of which the span is. A union of cells that leave is safe by concentration, as they are each.
    `sensitive` says of which boxes the size decides nothing, and which classes of codes are looked at, too.

    Raises:
        TooManyDifferences: more would have to be looked at than can be.
        SpanBudgetExceeded: it cannot be told in time.
    """
    shown = {new.boxes[cell] for cell in np.flatnonzero(new.table.states == State.PUBLISHED).tolist()}
    derivable: dict[Box, None] = {}
    for variable, masks in _filters(new, known.shapes).items():
        whole = new.table.full.get(variable, max(masks))
        parts = divided(whole, masks)
        if len(parts) < 3:
            continue  # the complement of one filter is a difference of two cells, judged as such
        # The cells of a table that was asked were judged then.
        parts = [part for part in parts if not _was_table(new.table, variable, part, known.shapes)]
        if not parts:
            continue
        if len(new.table) * len(parts) > MOST_LOOKED_AT:
            raise TooManyDifferences(f"more than {MOST_LOOKED_AT} groups to look at")
        atoms = _divided_table(new.table, variable, whole, parts)
        inside, boxes = span.contains_cells(atoms), atoms.boxes()
        derivable.update(dict.fromkeys(boxes[cell] for cell in np.flatnonzero(inside).tolist()))
    derivable.update(dict.fromkeys(_crossings_told(new, known, span, inspector, sensitive)))
    # What was shown before, or is now, was judged as a cell.
    hidden = [box for box in derivable if box != NOBODY and box not in shown and box not in known.published]
    if enough is not None:
        told = {box for box in hidden if sensitive is not None and sensitive.category(box) is not None}
        hidden = [box for box in hidden if box in told or not _holds_any(box, new.table, enough)]
    if measures:
        hidden = [box for box in hidden if not _made_of(box, new.table)]
    if len(hidden) > MOST:
        raise TooManyDifferences(f"{len(hidden)} groups to count, at most {MOST}")
    unsafe = inspector.unsafe([Region((box,)) for box in hidden], measures)
    return [hidden[place] for place in np.flatnonzero(unsafe).tolist()]


def _crossings_told(
    new: ReleasedTable, known: KnownQuantity, span: Span, inspector: Inspecting, sensitive: Sensitive | None
) -> Iterator[Box]:
    """Crossings of a few variables' codes that a new table brings into the span; older were judged then."""
    if span.rank == known.span.rank:
        return
    before = known.span.copy(inspector.pulse)
    judged = {NOBODY, *new.boxes}
    for crossed in _crossings(new, known, sensitive.classes() if sensitive is not None else {}):
        boxes = crossed.boxes()
        open_ = [box not in judged and not _was_asked(box, known) for box in boxes]
        if any(open_):
            inside = span.contains_cells(crossed) & np.array(open_)
            if inside.any():
                inside &= ~before.contains_cells(crossed)
                yield from (boxes[cell] for cell in np.flatnonzero(inside).tolist())


def _holds_any(box: Box, table: BoxTable, cells: BoolArray) -> bool:
    """Whether any of some cells of a table lies inside a box."""
    wanted = dict(box)
    for name, mask in table.fixed:
        if name in wanted and mask & ~wanted.pop(name):
            return False
    if not wanted.keys() <= {name for name, _ in table.axes}:
        return False
    inside = np.ones((), dtype=np.bool_)
    for name, masks in table.axes:
        limit = wanted.get(name, table.full[name])
        inside = np.logical_and.outer(inside, np.array([not mask & ~limit for mask in masks]))
    return bool((inside.reshape(-1) & cells).any())


def _made_of(box: Box, table: BoxTable) -> bool:
    """Whether a box is made of published cells of a table that have nothing in common.

    Concentration of their union is then no more than theirs (Cox 1981: linear sensitivity measures are
    subadditive), and it has as many units as one of them at least.
    """
    wanted = dict(box)
    if any(wanted.pop(name, None) != mask for name, mask in table.fixed):
        return False
    if not wanted.keys() <= {name for name, _ in table.axes}:
        return False
    chosen = np.ones((), dtype=np.bool_)
    for name, masks in table.axes:
        left, codes = wanted.get(name, table.full[name]), np.zeros(len(masks), dtype=np.bool_)
        for code in sorted(range(len(masks)), key=lambda code: -masks[code].bit_count()):
            if masks[code] and not masks[code] & ~left:
                codes[code], left = True, left & ~masks[code]
        if left:
            return False
        chosen = np.logical_and.outer(chosen, codes)
    return bool((table.states[chosen.reshape(-1)] == State.PUBLISHED).all())


def _was_asked(box: Box, known: KnownQuantity) -> bool:
    """Whether a box left, or was withheld and is watched."""
    return box in known.published or known.boxes.withheld(box)


def _crossings(
    new: ReleasedTable, known: KnownQuantity, classes: Mapping[str, Sequence[int]]
) -> Iterator[BoxTable]:
    """Tables without figures that cross the codes of a few variables as far as any box tells them apart.

    Only variables that some table has restricted together: of others no crossing is in the span. First are
    single codes, then the groups of codes that were asked for, and what these leave out; last the classes
    of codes of a sensitive variable.
    """
    full = {**known.shapes.full, **new.table.full}
    masks = {name: set[int]() for name in full}
    for of_boxes in known.boxes.masks.values():
        for name in of_boxes.keys() & masks.keys():
            masks[name] |= of_boxes[name]
    for name, own in (*new.table.axes, *((name, (mask,)) for name, mask in new.table.fixed)):
        masks[name] |= set(own)
    asked = {name: those for name, those in masks.items() if those}
    together = {*known.boxes.masks, frozenset(new.table.variables())}
    chosen = {
        names
        for restricted in together
        for count in range(1, MOST_TOGETHER + 1)
        for names in combinations(sorted(restricted & asked.keys()), count)
    }
    told_apart = {name: _told_apart(full[name], those) for name, those in asked.items()}
    groups = {name: _groups(full[name], those) for name, those in asked.items()}
    of_classes = [
        ({**told_apart, name: tuple(of)}, {names for names in chosen if name in names})
        for name, of in classes.items()
        if of and name in asked
    ]
    for parts, those in [(told_apart, chosen), (groups, chosen), *of_classes]:
        sizes = {names: prod(len(parts[name]) for name in names) for names in those}
        left = MOST_CROSSED
        for names in sorted(sizes, key=lambda names: (sizes[names], names)):
            left -= sizes[names]
            if left < 0:
                break
            nothing = np.zeros(sizes[names], dtype=np.int64)
            axes = tuple((name, parts[name]) for name in names)
            yield BoxTable(axes, (), {name: full[name] for name in names}, nothing, nothing, nothing)


def _told_apart(full: int, masks: set[int]) -> tuple[int, ...]:
    """The codes of a variable as far as masks tell them apart, and what masks of most codes leave out."""
    left_out = {full & ~mask for mask in masks if mask.bit_count() > full.bit_count() / 2} - {0}
    return tuple(dict.fromkeys([*divided(full, sorted(masks)), *sorted(left_out)]))


def _groups(full: int, masks: set[int]) -> tuple[int, ...]:
    """The same with the masks themselves, and all that they leave out."""
    left_out = {full & ~mask for mask in masks} - {0}
    return tuple(dict.fromkeys([*_told_apart(full, masks), *sorted(masks | left_out)]))


def _divided_table(table: BoxTable, variable: str, whole: int, parts: list[int]) -> BoxTable:
    """A table's cells in each part of a variable, as boxes without figures."""
    nothing = np.zeros(len(table) * len(parts), dtype=np.int64)
    return replace(
        table,
        axes=(*table.axes, (variable, tuple(parts))),
        fixed=tuple((name, mask) for name, mask in table.fixed if name != variable),
        full={**table.full, variable: whole},
        states=nothing,
        records=nothing,
        marks=nothing,
    )


def _was_table(table: BoxTable, variable: str, mask: int, released: Shapes) -> bool:
    """Whether the table with another filter on one variable left."""
    fixed = dict(table.fixed) | {variable: mask}
    return (tuple(sorted(table.axes)), tuple(sorted(fixed.items()))) in released.tables


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
