"""All cells that have left of a quantity, by column, and which of them lie inside or around a new table's.

A difference of two published cells is a cell that anybody can form. Pairs of nested cells are many; those
whose difference may be unsafe are few, and bounds that need no data find them. Cells are kept once however
often they left, so that a query costs what is different in what left before, not how many tables there were.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, Facts, FloatArray, IntArray, MeasureFacts
from sdcgate.methods.tables.boxes import MARK_MODULUS, NOBODY, Box, BoxTable
from sdcgate.methods.tables.nesting import Nested

Array = np.ndarray

_FIRST_ROOM = 256


RANKS = 3
"""Largest contributors that are kept of each cell, of those that were computed."""


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """How small a difference of two cells must be to be looked at, by its records or by a measure's sums.

    It has fewer than `records` records, or its sum is at most `new` (cells,) or `old` (rows,), whichever cell
    is the outer one; `new_sums` and `old_sums` are the cells' absolute sums. Or the cells' units are
    fewer than `units` apart; `new_units` are those of the new cells. Or the outer cell has perhaps fewer than
    `households` more than the inner one; `new_households` and `old_households` are the least and the most
    that each can have, shape (2, cells) and (2, rows).
    """

    records: float
    new: FloatArray | None = field(default=None, repr=False)
    old: FloatArray | None = field(default=None, repr=False)
    new_sums: FloatArray | None = field(default=None, repr=False)
    old_sums: FloatArray | None = field(default=None, repr=False)
    units: int = 0
    new_units: IntArray | None = field(default=None, repr=False)
    households: float = 0.0
    new_households: FloatArray | None = field(default=None, repr=False)
    old_households: FloatArray | None = field(default=None, repr=False)
    same: bool = False
    """Whether pairs of one population are wanted, too: they have no difference."""


class ReleasedCells:
    """Published cells of one quantity with their facts; never changed, `grown` gives another.

    Those that grow one from the other share their columns, of which each sees as many rows as it has.
    """

    def __init__(self) -> None:
        self._store = _Store()
        self._rows = 0
        self._nobody = False

    def __len__(self) -> int:
        return self._rows

    def __contains__(self, box: Box) -> bool:
        if box == NOBODY:
            return self._nobody
        return self.row(box) is not None

    def among(self, boxes: Sequence[Box]) -> BoolArray:
        """Which boxes are among the cells, shape (boxes,)."""
        return np.array([box in self for box in boxes], dtype=np.bool_)

    def grown(
        self, table: BoxTable, boxes: Sequence[Box], facts: Facts, chosen: BoolArray
    ) -> "ReleasedCells":
        """With the chosen cells of one more table, each once for every set of axes that it stood on."""
        twin = ReleasedCells()
        # Somebody else may have grown the same cells in another way.
        twin._store = self._store if self._store.size == self._rows else self._store.copy(self._rows)
        twin._store.add(table, boxes, facts, chosen)
        twin._rows = twin._store.size
        twin._nobody = self._nobody or any(boxes[cell] == NOBODY for cell in np.flatnonzero(chosen).tolist())
        return twin

    def box(self, row: int) -> Box:
        """The box of a cell."""
        return self._store.boxes[row]

    def row(self, box: Box) -> int | None:
        """The first row of a box; None where it is not among the cells."""
        row = self._store.row_of.get(box)
        return row if row is not None and row < self._rows else None

    def axes(self, row: int) -> frozenset[str]:
        """Variables on the axes of the table that the cell stood in."""
        return self._store.axes_of(row)

    def facts(self) -> Facts:
        """Units, records and households of the cells, and of their measure what bounds differences."""
        return self._store.facts(self._rows)

    def nested(self, new: BoxTable, near: Near) -> Nested:
        """Every pair of a cell of a table and one of these, one strictly inside the other, that is near.

        Pairs with the same population have no difference and are left out unless `near` wants them; all cells
        of the table take part.
        """
        store, rows = self._store, self._rows
        if not rows:
            none = np.zeros(0, dtype=np.int64)
            return Nested(none, none, none > 0, none, none)
        inside = _near_pairs(store.inside(new, rows), near, new, store, new_inside=False)
        around = _near_pairs(store.around(new, rows), near, new, store, new_inside=True)
        new_cells = np.concatenate([inside[0], around[0]])
        old_cells = np.concatenate([inside[1], around[1]])
        new_inside = np.arange(len(new_cells)) >= len(inside[0])
        records = np.abs(store.columns["records"][old_cells] - new.records[new_cells])
        marks = store.columns["marks"][old_cells] - new.marks[new_cells]
        marks = np.where(new_inside, marks, -marks) & (MARK_MODULUS - 1)
        kept = (records != 0) | (marks != 0) | near.same
        return Nested(new_cells[kept], old_cells[kept], new_inside[kept], records[kept], marks[kept])


Pairs = Iterator[tuple[IntArray, IntArray]]


def _near_pairs(
    pairs: Pairs, near: Near, new: BoxTable, store: "_Store", new_inside: bool
) -> tuple[IntArray, IntArray]:
    """Of pairs (cells, rows) those whose difference is small."""
    found: list[tuple[IntArray, IntArray]] = [(np.zeros(0, dtype=np.int64),) * 2]
    sign = 1 if new_inside else -1
    for cells, rows in pairs:
        small = sign * (store.columns["records"][rows] - new.records[cells]) < near.records
        if near.new_sums is not None and near.old_sums is not None:
            left = sign * (near.old_sums[rows] - near.new_sums[cells])
            least = near.old[rows] if new_inside else near.new[cells]  # type: ignore[index]
            small |= left <= least
        if near.new_units is not None:
            small |= sign * (store.columns["units"][rows] - near.new_units[cells]) < near.units
        if near.new_households is not None and near.old_households is not None:
            mine, theirs = near.new_households[:, cells], near.old_households[:, rows]
            small |= (theirs[0] - mine[1] if new_inside else mine[0] - theirs[1]) < near.households
        found.append((cells[small], rows[small]))
    return np.concatenate([cells for cells, _ in found]), np.concatenate([rows for _, rows in found])


class _Store:
    """Columns with room to grow. A mask is told by its number in its variable; number 0 restricts nothing."""

    def __init__(self) -> None:
        self.size = 0
        self.columns: dict[str, Array] = {}
        self.boxes: list[Box] = []
        self.axes: list[frozenset[str]] = []
        self.row_of: dict[Box, int] = {}
        """The first row of each box; `_next` has those that follow it."""
        self._next: dict[int, int] = {}
        self._measure: MeasureFacts | None = None
        self._masks: dict[str, Array] = {}
        self._numbers: dict[str, dict[int, tuple[int, tuple[str, int]]]] = {}
        self._variables: list[frozenset[str]] = []
        self._positions: dict[tuple[str, frozenset[str]], int] = {}
        self._relations: dict[tuple[bool, str, tuple[int, ...]], BoolArray] = {}

    def copy(self, rows: int) -> "_Store":
        """The first rows in a store of their own."""
        twin = _Store()
        twin.size, twin._measure = rows, self._measure
        twin.columns = {name: column.copy() for name, column in self.columns.items()}
        twin._masks = {name: column.copy() for name, column in self._masks.items()}
        for column in twin._masks.values():
            column[rows:] = 0
        twin.boxes, twin.axes = self.boxes[:rows], list(self.axes)
        twin.row_of = {box: row for box, row in self.row_of.items() if row < rows}
        twin._next = {row: later for row, later in self._next.items() if later < rows}
        twin._numbers = {name: dict(numbers) for name, numbers in self._numbers.items()}
        twin._variables, twin._positions = list(self._variables), dict(self._positions)
        return twin

    def add(self, table: BoxTable, boxes: Sequence[Box], facts: Facts, chosen: BoolArray) -> None:
        """Add cells that do not stand here yet on fewer axes: these would tell nothing more."""
        axes = frozenset(variable for variable, _ in table.axes)
        on_axes = self._position("axes", axes, self.axes)
        fresh = [
            cell
            for cell in np.flatnonzero(chosen).tolist()
            if boxes[cell] != NOBODY and not self._stands(boxes[cell], axes)
        ]
        start, end = self.size, self.size + len(fresh)
        for name, values in _columns(table, facts).items():
            _roomy(self.columns, name, end, values)[start:end] = values[fresh]
        _roomy(self.columns, "axes", end, np.zeros(0, dtype=np.int32))[start:end] = on_axes
        restricted: list[int] = []
        numbers: dict[str, list[tuple[int, int]]] = {}
        for row, cell in enumerate(fresh, start):
            pairs = []
            for variable, mask in boxes[cell]:
                known = self._numbers.setdefault(variable, {})
                number, pair = known.setdefault(mask, (len(known) + 1, (variable, mask)))
                numbers.setdefault(variable, []).append((row, number))
                pairs.append(pair)
            self._note(tuple(pairs), row)
            names = frozenset(variable for variable, _ in pairs)
            restricted.append(self._position("variables", names, self._variables))
        _roomy(self.columns, "variables", end, np.zeros(0, dtype=np.int32))[start:end] = restricted
        for variable, found in numbers.items():
            rows, values = np.array(found).T
            _roomy(self._masks, variable, end, np.zeros(0, dtype=np.int32))[rows] = values
        if facts.measures:
            self._measure = _nothing_of(facts.measures[0])
        self.size = end

    def axes_of(self, row: int) -> frozenset[str]:
        """Variables on the axes of the table that a row stood in."""
        return self.axes[int(self.columns["axes"][row])]

    def _stands(self, box: Box, axes: frozenset[str]) -> bool:
        """Whether a box stands here on these axes or fewer."""
        row = self.row_of.get(box)
        while row is not None:
            if self.axes_of(row) <= axes:
                return True
            row = self._next.get(row)
        return False

    def _note(self, box: Box, row: int) -> None:
        first = self.row_of.setdefault(box, row)
        self.boxes.append(self.boxes[first] if first != row else box)
        if first != row:
            last = first
            while last in self._next:
                last = self._next[last]
            self._next[last] = row

    def _position(self, kind: str, names: frozenset[str], listed: list[frozenset[str]]) -> int:
        place = self._positions.setdefault((kind, names), len(listed))
        if place == len(listed):
            listed.append(names)
        return place

    def facts(self, rows: int) -> Facts:
        """The facts of the first rows."""
        found = {name: column[:rows] for name, column in self.columns.items()}
        none = np.zeros(0, dtype=np.int64)
        measures: tuple[MeasureFacts, ...] = ()
        if self._measure is not None:
            sums, largest = found["absolute_sums"], found["largest"]
            measures = (replace(self._measure, absolute_sums=sums, largest=largest),)
        return Facts(
            units=found.get("units", none),
            records=found.get("records", none),
            households=found.get("households"),
            measures=measures,
        )

    def inside(self, new: BoxTable, rows: int) -> Pairs:
        """Pairs (cells, rows) with the row inside the cell; equal boxes too."""
        chosen = np.arange(rows, dtype=np.int64)
        for variable, mask in new.fixed:
            related = self._related(variable, (mask,), new.full[variable], around=False)
            chosen = chosen[related[0][self._numbers_of(variable, chosen)]]
        layers = [
            (len(masks), self._related(name, masks, new.full[name], around=False), name, _disjoint(masks))
            for name, masks in new.axes
        ]

        def walk(place: int, cells: IntArray, chosen: IntArray) -> Pairs:
            if place == len(layers):
                yield cells, chosen
                return
            size, related, name, groups = layers[place]
            numbers = self._numbers_of(name, chosen)
            for group in groups:
                # The codes of a group are disjoint: a row lies inside one of them at most.
                within = related[group]
                code_of = np.where(within.any(axis=0), group[within.argmax(axis=0)], -1)[numbers]
                kept = np.flatnonzero(code_of >= 0)
                if len(kept):
                    yield from walk(place + 1, cells[kept] * size + code_of[kept], chosen[kept])

        return walk(0, np.zeros(rows, dtype=np.int64)[: len(chosen)], chosen)

    def around(self, new: BoxTable, rows: int) -> Pairs:
        """Pairs (cells, rows) with the cell inside the row; equal boxes too."""
        within = set(new.variables())
        few = np.array([names <= within for names in self._variables], dtype=np.bool_)
        chosen = np.flatnonzero(few[self.columns["variables"][:rows]]).astype(np.int64)
        for variable, mask in new.fixed:
            related = self._related(variable, (mask,), new.full[variable], around=True)
            chosen = chosen[related[0][self._numbers_of(variable, chosen)]]
        layers = [(len(m), self._related(name, m, new.full[name], around=True), name) for name, m in new.axes]

        def walk(place: int, cell: int, chosen: IntArray) -> Pairs:
            if place == len(layers):
                yield np.full(len(chosen), cell, dtype=np.int64), chosen
                return
            size, related, name = layers[place]
            found = related[:, self._numbers_of(name, chosen)]
            if place == len(layers) - 1:
                codes, at = np.nonzero(found)
                yield cell * size + codes, chosen[at]
                return
            for code in np.flatnonzero(found.any(axis=1)).tolist():
                yield from walk(place + 1, cell * size + code, chosen[found[code]])

        return walk(0, 0, chosen)

    def _numbers_of(self, variable: str, rows: IntArray) -> IntArray:
        """Numbers of the masks that rows have on a variable."""
        column = self._masks.get(variable)
        if column is None:
            return np.zeros(len(rows), dtype=np.int64)
        if len(rows) and rows[-1] >= len(column):
            # The variable restricts none of the later rows.
            column = np.concatenate([column, np.zeros(int(rows[-1]) + 1 - len(column), dtype=column.dtype)])
        return column[rows]

    def _related(self, variable: str, masks: tuple[int, ...], full: int, *, around: bool) -> BoolArray:
        """Whether each mask of a table lies around, or inside, each one here; shape (masks, numbers)."""
        key = (around, variable, masks)
        found = self._relations.get(key)
        listed = [full, *self._numbers.get(variable, ())]
        known = 0 if found is None else found.shape[1]
        if known < len(listed):
            more = np.array(
                [
                    [
                        bool(mask) and not (mask & ~other if around else other & ~mask)
                        for other in listed[known:]
                    ]
                    for mask in masks
                ],
                dtype=np.bool_,
            )
            found = more if found is None else np.concatenate([found, more], axis=1)
            self._relations[key] = found
        assert found is not None
        return found


def _columns(table: BoxTable, facts: Facts) -> dict[str, Array]:
    """What is kept of cells, a column each."""
    found: dict[str, Array] = {"records": table.records, "marks": table.marks, "units": facts.units}
    # Where households are not known a difference has as many as the new cell alone tells: never too few.
    found["households"] = np.zeros(len(facts)) if facts.households is None else facts.households
    for measure in facts.measures[:1]:
        # As many ranks of every table, whatever the rules of its time looked at.
        # Ranks that are not there, as where nobody contributes, are at most the last that is.
        lacking = max(RANKS - measure.largest.shape[1], 0) if measure.largest.shape[1] else 0
        largest = np.pad(measure.largest[:, :RANKS], ((0, 0), (0, lacking)), mode="edge")
        found |= {"absolute_sums": measure.absolute_sums, "largest": largest}
    return found


def _nothing_of(measure: MeasureFacts) -> MeasureFacts:
    """A measure's name and bounds without cells."""
    whole, none = np.zeros(0, dtype=np.int64), np.zeros(0)
    return MeasureFacts(
        measure.name, none, whole, whole, none, none, none, none, measure.lower_bound, measure.upper_bound
    )


def _roomy(columns: dict[str, Array], name: str, rows: int, like: Array) -> Array:
    """A column with room for rows, made larger where it has not; what is new is 0."""
    column = columns.get(name)
    if column is None or len(column) < rows:
        larger = np.zeros((max(_FIRST_ROOM, 2 * rows), *like.shape[1:]), dtype=like.dtype)
        if column is not None:
            larger[: len(column)] = column
        columns[name] = column = larger
    return column


def _disjoint(masks: tuple[int, ...]) -> list[IntArray]:
    """Codes of an axis in groups of masks that have nothing in common: the total is one of its own."""
    groups: list[tuple[int, list[int]]] = []
    for code, mask in enumerate(masks):
        for place, (taken, codes) in enumerate(groups):
            if not taken & mask:
                groups[place] = (taken | mask, [*codes, code])
                break
        else:
            groups.append((mask, [code]))
    return [np.array(codes, dtype=np.int64) for _, codes in groups]
