"""Differences are cells: what an answer and earlier answers, or parts of one answer, give by subtraction.

The records of a difference follow from counts; its units, households and contributors do not, so the engine
counts them in the data. Bounds that need no data rule out all but a few candidates first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.queries import Region
from sdcgate.facility.difference_bounds import ROOM, candidates, near_enough
from sdcgate.facility.disclosed_groups import without
from sdcgate.facility.disclosed_lines import line_differences, perhaps_told, sizes_of
from sdcgate.facility.inspector import Inspector
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.facility.weights import judged_by
from sdcgate.methods.cells import Axis, BoolArray, State, additive_relations
from sdcgate.methods.tables.attrition import few_apart
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.nesting import Nested
from sdcgate.methods.tables.released_cells import Near, ReleasedCells


class TooManyDifferences(Exception):
    """More differences than can be counted in the time of a query."""


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Cells of a new table that make an unsafe difference with an earlier release."""

    by_filter: BoolArray = field(repr=False)
    """The two boxes differ only in filters: the table was asked to be subtracted."""
    by_detail: BoolArray = field(repr=False)
    """The new cell refines or contains an old one: withholding the new cell is enough."""

    @classmethod
    def none(cls, cells: int) -> "Differences":
        """No cell of so many; `note` adds to it."""
        return cls(np.zeros(cells, dtype=np.bool_), np.zeros(cells, dtype=np.bool_))

    def note(self, cell: int, only_filters: bool) -> None:
        """Flag a cell."""
        (self.by_filter if only_filters else self.by_detail)[cell] = True


def unsafe_differences(
    tables: Sequence[tuple[ReleasedTable, ReleasedCells]],
    inspector: Inspector,
    implied: Sequence[str] = (),
    most: int = 2_000,
) -> list[Differences]:
    """Of each table's cells those in an unsafe difference with any published cell of its quantity.

    Each table comes with what has left of its quantity. Differences that are counted are judged in the
    `implied` measures, too.

    Raises:
        TooManyDifferences: more than `most` candidates of one table would have to be counted.
    """
    looks = [_looked_at(new, released, inspector, most) for new, released in tables]
    asked = [
        (
            [difference.region for difference in look.differences],
            [*dict.fromkeys((*_measures(look.new, inspector), *implied))],
        )
        for look in looks
    ]
    unsafe = inspector.unsafe_of_each(asked)
    return [_noted(look, found, inspector, most) for look, found in zip(looks, unsafe, strict=True)]


def differences_within(
    axes: tuple[Axis, ...], tables: Sequence[ReleasedTable], inspector: Inspector, most: int = 2_000
) -> BoolArray:
    """Published cells of a table that lie in others, of which they leave something unsafe, shape (cells,).

    What is published between the two, line by line, makes a difference one of safe parts: so nothing is
    looked at where all is published. What several lines leave together is.

    Args:
        axes: of the table.
        tables: its quantities in the states that they would leave in.
        inspector: judges differences.
        most: so many differences of one quantity are counted.

    Raises:
        TooManyDifferences: more would have to be counted.
    """
    found = np.zeros(len(tables[0].boxes), dtype=np.bool_)
    within = replace(inspector, attrition=frozenset())
    for table in tables:
        shown = table.table.of_state(State.PUBLISHED)
        if shown.all() or not judged_by(table.quantity, inspector.rules.contributions.weighted):
            continue
        released = ReleasedCells().grown(table.table, table.boxes, table.facts, shown)
        look = _looked_at(table, released, within, most, _beyond_lines(axes, table, released, shown))
        regions = [difference.region for difference in look.differences]
        unsafe = within.unsafe(regions, _measures(table, within))
        noted = _noted(look, unsafe, within, most)
        found |= (noted.by_filter | noted.by_detail) & shown
    return found


def _measures(table: ReleasedTable, inspector: Inspector) -> list[str]:
    """The measures by whose contributions the sums of a quantity are judged; none of counts."""
    weighted_apart = inspector.rules.contributions.weighted
    return [judged_by(measure.name, weighted_apart) for measure in table.facts.measures]


def _beyond_lines(
    axes: tuple[Axis, ...], table: ReleasedTable, released: ReleasedCells, shown: BoolArray
) -> Callable[[Nested], BoolArray]:
    """Which pairs of a table's published cells no published ones lead to, from the inner one line by line."""
    lines = additive_relations(axes)
    order = np.argsort(lines.children, kind="stable")
    parts, parents = lines.children[order], np.repeat(lines.parents, np.diff(lines.offsets))[order]
    above: dict[int, frozenset[Box]] = {}

    def reached(cell: int) -> frozenset[Box]:
        if cell not in above:
            start, end = np.searchsorted(parts, (cell, cell + 1))
            own = [parent for parent in parents[start:end].tolist() if shown[parent]]
            above[cell] = frozenset(table.boxes[one] for one in own).union(*map(reached, own))
        return above[cell]

    # A difference that is a cell which was known tells nothing.
    populations = table.populations()
    known = {populations[cell] for cell in table.told.cells}

    def kept(pairs: Nested) -> BoolArray:
        found = pairs.new_inside_old & shown[pairs.new_cells]
        for place in np.flatnonzero(found).tolist():
            population = (int(pairs.difference_records[place]), int(pairs.difference_marks[place]))
            outer = released.box(int(pairs.old_cells[place]))
            found[place] = population not in known and outer not in reached(int(pairs.new_cells[place]))
        return found

    return kept


@dataclass(frozen=True, slots=True)
class _Difference:
    """One population that can be computed by subtraction, and the new cells that give it."""

    region: Region
    by_filter: list[int] = field(default_factory=list)
    by_detail: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """A new table beside what has left of its quantity, before anything is counted."""

    new: ReleasedTable
    released: ReleasedCells
    pairs: Nested
    sensitive: bool
    """Whether a cell has a category that it may do harm to be known to have."""
    differences: list[_Difference]
    """Those that could break a rule."""
    noted: Differences
    """What is unsafe by units alone."""


def _looked_at(
    new: ReleasedTable,
    released: ReleasedCells,
    inspector: Inspector,
    most: int,
    kept: Callable[[Nested], BoolArray] | None = None,
) -> _Look:
    """The differences of a table that have to be counted; `kept` says of which pairs, all unless given.

    Raises:
        TooManyDifferences: there are more than `most`.
    """
    noted = Differences.none(len(new.table))
    found: dict[tuple[int, int], _Difference] = {}
    earlier = released.facts()
    sensitive = inspector.groups is not None and any(map(inspector.groups.restricts, new.boxes))
    # How many changed between versions no figures of one table tell.
    every = kept is not None and inspector.also is not None
    near = Near(np.inf, same=sensitive)
    if not (sensitive or every):
        near = near_enough(new.facts, earlier, inspector)
    pairs = released.nested(new.table, near)
    if kept is not None:
        pairs = pairs.of(kept(pairs))
    _note_attrition(new, released, pairs, inspector, noted)
    possible = candidates(new.facts, earlier, pairs, inspector)
    if every:
        possible |= pairs.difference_records > 0
    if sensitive:
        possible |= _perhaps_disclosing(new, released, pairs, inspector)
    for place in np.flatnonzero(possible).tolist():
        cell, row = int(pairs.new_cells[place]), int(pairs.old_cells[place])
        mine, theirs = new.boxes[cell], released.box(row)
        inner, outer = (mine, theirs) if pairs.new_inside_old[place] else (theirs, mine)
        population = (int(pairs.difference_records[place]), int(pairs.difference_marks[place]))
        difference = found.setdefault(population, _Difference(Region((outer,), (inner,))))
        only_filters = differ_in_filters(new, cell, released, row)
        (difference.by_filter if only_filters else difference.by_detail).append(cell)
        if len(found) > most:
            raise TooManyDifferences(f"more than {most} differences to count")
    return _Look(new, released, pairs, sensitive, list(found.values()), noted)


def _noted(look: _Look, unsafe: BoolArray, inspector: Inspector, most: int) -> Differences:
    """The cells of differences that are unsafe.

    Raises:
        TooManyDifferences: of lines of a sensitive variable more than `most` would have to be counted.
    """
    new, noted, differences = look.new, look.noted, look.differences
    for place in np.flatnonzero(unsafe).tolist():
        noted.by_filter[differences[place].by_filter] = True
        noted.by_detail[differences[place].by_detail] = True
    if look.sensitive:
        found_unsafe = [differences[place] for place in np.flatnonzero(unsafe).tolist()]
        noted.by_detail[_beside_disclosed(new, found_unsafe, inspector)] = True
        _note_lines(new, look.released, look.pairs, inspector, noted, most)
    return noted


def _note_lines(
    new: ReleasedTable,
    released: ReleasedCells,
    pairs: Nested,
    inspector: Inspector,
    noted: Differences,
    most: int,
) -> None:
    """Flag cells of lines of which, less an earlier line, a class of several codes is told.

    Raises:
        TooManyDifferences: more than `most` would have to be counted.
    """
    groups = inspector.groups
    if groups is None:
        return
    size, records = sizes_of(new, released), inspector.records_per_respondent
    lines = line_differences(new, released, pairs, groups, inspector.pulse)
    found = [(one, group) for one in lines for group in perhaps_told(one, groups, size, records)]
    if len(found) > most:
        raise TooManyDifferences(f"more than {most} differences of lines to count")
    told = groups.disclosed([group for _, group in found])
    for one in {id(one): one for (one, _), unsafe in zip(found, told, strict=True) if unsafe}.values():
        for cell, row in one.cells:
            noted.note(cell, differ_in_filters(new, cell, released, row))


def _perhaps_disclosing(
    new: ReleasedTable, released: ReleasedCells, pairs: Nested, inspector: Inspector
) -> BoolArray:
    """Pairs in a sensitive category of whose difference so many may have it that it is told; (pairs,)."""
    found, groups = np.zeros(len(pairs), dtype=np.bool_), inspector.groups
    if groups is None:
        return found
    of_new = dict(zip(new.boxes, new.table.records.tolist(), strict=True))
    of_old = released.facts().records
    categories = [groups.category(box) for box in new.boxes]
    restricted = np.array([category is not None for category in categories], dtype=np.bool_)
    for place in np.flatnonzero(restricted[pairs.new_cells] & (pairs.difference_records > 0)).tolist():
        cell, theirs = int(pairs.new_cells[place]), released.box(int(pairs.old_cells[place]))
        category = categories[cell]
        if category is None or dict(theirs).get(category[0]) != category[1]:
            continue
        mine = of_new.get(without(new.boxes[cell], category[0]))
        other = released.row(without(theirs, category[0]))
        if mine is None or other is None:
            found[place] = True  # the whole is not known: it is counted
            continue
        at_most = int(pairs.difference_records[place]) * inspector.records_per_respondent
        found[place] = at_most >= groups.share * abs(mine - int(of_old[other])) * (1 - ROOM)
    return found


def _beside_disclosed(
    new: ReleasedTable, differences: Sequence[_Difference], inspector: Inspector
) -> list[int]:
    """Cells of lines of which a category is told: that nobody has the others says the same."""
    groups, detailed = inspector.groups, [one for one in differences if one.by_detail]
    if groups is None:
        return []
    told, lines = groups.unsafe([one.region for one in detailed]), set[tuple[str, Box]]()
    for place in np.flatnonzero(told).tolist():
        for cell in detailed[place].by_detail:
            category = groups.category(new.boxes[cell])
            if category is not None:
                lines.add((category[0], without(new.boxes[cell], category[0])))
    return [
        cell
        for cell, box in enumerate(new.boxes)
        if any((name, without(box, name)) in lines for name, _ in box)
    ]


def _note_attrition(
    new: ReleasedTable, released: ReleasedCells, pairs: Nested, inspector: Inspector, noted: Differences
) -> None:
    """Flag new cells whose units and an earlier cell's tell, subtracted, of few in one of them only."""
    minimum = inspector.rules.minimum_units
    if not inspector.attrition or minimum is None:
        return
    mine, theirs = new.facts.units[pairs.new_cells], released.facts().units[pairs.old_cells]
    inside = pairs.new_inside_old
    few = few_apart(np.where(inside, theirs, mine), np.where(inside, mine, theirs), minimum.units)
    for place in np.flatnonzero(few).tolist():
        cell, row = int(pairs.new_cells[place]), int(pairs.old_cells[place])
        if differing_variables(new.boxes[cell], released.box(row)) & inspector.attrition:
            noted.note(cell, differ_in_filters(new, cell, released, row))


def differ_in_filters(new: ReleasedTable, cell: int, released: ReleasedCells, row: int) -> bool:
    """Whether a new cell and an earlier one differ in filters alone: in variables on no axis of either."""
    axes = released.axes(row).union(variable for variable, _ in new.table.axes)
    return differing_variables(new.boxes[cell], released.box(row)).isdisjoint(axes)


def differing_variables(first: Box, second: Box) -> set[str]:
    """Variables in which two boxes differ."""
    one, other = dict(first), dict(second)
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
