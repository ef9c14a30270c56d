"""Which cells of two tables are the same, and which lie inside one another: each such pair is a difference.

A difference of two published cells is a cell that anybody can form; the rules hold for it as for any other.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray, State
from sdcgate.methods.tables.boxes import MARK_MODULUS, BoxTable

_Pairs = tuple[IntArray, IntArray, BoolArray]
_ORIGIN = np.zeros(1, dtype=np.int64)
_ALIKE = np.ones(1, dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Nested:
    """Pairs of cells with one strictly inside the other, a value a pair. Differences are confidential."""

    new_cells: IntArray
    old_cells: IntArray
    new_inside_old: BoolArray
    difference_records: IntArray = field(repr=False)
    """Records in the outer cell and not in the inner one."""
    difference_marks: IntArray = field(repr=False)
    """Mark of the difference's population: equal marks and equal records mean the same population."""

    def __len__(self) -> int:
        return len(self.new_cells)

    def of(self, which: BoolArray) -> "Nested":
        """Some of the pairs, shape (pairs,)."""
        records, marks = self.difference_records[which], self.difference_marks[which]
        return Nested(
            self.new_cells[which], self.old_cells[which], self.new_inside_old[which], records, marks
        )

    def distinct(self) -> IntArray:
        """Positions of one pair for each different population among the differences.

        The same difference shows in many pairs; its units need be counted only once.
        """
        keys = np.stack([self.difference_records, self.difference_marks], axis=1)
        return np.sort(np.unique(keys, axis=0, return_index=True)[1]).astype(np.int64)


def same_cells(new: BoxTable, old: BoxTable) -> IntArray:
    """Pairs (cell of new, cell of old) that are the same cell, shape (pairs, 2), in order; all states.

    They have the same box, or the same population whatever they are called: equal records, at least one,
    and equal marks. The second finds "plan 17" in another grouping, or a filter that leaves nobody out.
    Raises ValueError where a variable has other finest codes in the two.
    """
    new_cells, old_cells, _ = _inside(new, old, equal=True)
    alike_new, alike_old = _same_populations(new, old)
    places = np.concatenate([new_cells * len(old) + old_cells, alike_new * len(old) + alike_old])
    return np.stack(np.divmod(np.unique(places), max(len(old), 1)), axis=1)


def nested_pairs(
    new: BoxTable,
    old: BoxTable,
    new_states: tuple[State, ...] = (State.PUBLISHED,),
    old_states: tuple[State, ...] = (State.PUBLISHED,),
) -> Nested:
    """Every pair of a cell of new and one of old, in the given states, one's box strictly inside the other's.

    Pairs with the same population (equal records and marks) have no difference and are left out, as are
    boxes that no record can be in. Raises ValueError where a variable has other finest codes in the two.
    """
    inside = _strict(_inside(new, old), new.of_state(*new_states), old.of_state(*old_states))
    around = _strict(_inside(old, new), old.of_state(*old_states), new.of_state(*new_states))
    new_cells = np.concatenate([inside[0], around[1]])
    old_cells = np.concatenate([inside[1], around[0]])
    return _differences(new, old, new_cells, old_cells, len(inside[0]))


def nested_within(table: BoxTable, states: tuple[State, ...] = (State.PUBLISHED,)) -> Nested:
    """The same within one table, each pair once: `new_cells` lie inside `old_cells`.

    A row total and a cell of the row: their difference is the rest of the row.
    """
    chosen = table.of_state(*states)
    inner, outer = _strict(_inside(table, table), chosen, chosen)
    return _differences(table, table, inner, outer, len(inner))


def _strict(pairs: _Pairs, inner: BoolArray, outer: BoolArray) -> tuple[IntArray, IntArray]:
    """Pairs of chosen cells that are not the same box."""
    keep = inner[pairs[0]] & outer[pairs[1]] & ~pairs[2]
    return pairs[0][keep], pairs[1][keep]


def _differences(
    new: BoxTable, old: BoxTable, new_cells: IntArray, old_cells: IntArray, inside: int
) -> Nested:
    """Nested pairs without equal populations; in the first `inside` the new cell lies in the old one."""
    records = old.records[old_cells] - new.records[new_cells]
    marks = old.marks[old_cells] - new.marks[new_cells]
    np.negative(marks[inside:], out=marks[inside:])
    marks &= MARK_MODULUS - 1
    keep = ((records != 0) | (marks != 0)).nonzero()[0]
    return Nested(new_cells[keep], old_cells[keep], keep < inside, np.abs(records[keep]), marks[keep])


def _inside(inner: BoxTable, outer: BoxTable, *, equal: bool = False) -> _Pairs:
    """Pairs of cells with the inner table's box inside the outer's or equal to it, and whether it is equal.

    A box lies inside another if it does so in every variable, so the pairs of cells are the product of
    the pairs of codes: the work is that of the answer, not that of cells times cells. With `equal`, equal
    boxes only.
    """
    lines: list[tuple[IntArray, IntArray, BoolArray]] = []
    for variable in dict.fromkeys(inner.variables() + outer.variables()):
        full = inner.full.get(variable, outer.full.get(variable, 0))
        if outer.full.get(variable, full) != full:
            raise ValueError(f"variable {variable}: the two tables have different lists of finest codes")
        inner_masks, inner_step = inner.masks(variable) if variable in inner.full else ((full,), 0)
        outer_masks, outer_step = outer.masks(variable) if variable in outer.full else ((full,), 0)
        inner_codes, outer_codes, same = _pairs_of_codes(inner_masks, outer_masks, equal)
        lines.append((inner_codes * inner_step, outer_codes * outer_step, same))
    if not all(len(same) for _, _, same in lines):
        return _ORIGIN[:0], _ORIGIN[:0], _ALIKE[:0]
    inner_cells, outer_cells, alike = _ORIGIN, _ORIGIN, _ALIKE
    for inner_steps, outer_steps, same in lines:
        inner_cells = (inner_cells[:, None] + inner_steps).ravel()
        outer_cells = (outer_cells[:, None] + outer_steps).ravel()
        alike = (alike[:, None] & same).ravel()
    return inner_cells, outer_cells, alike


@lru_cache(maxsize=4096)
def _pairs_of_codes(inner: tuple[int, ...], outer: tuple[int, ...], equal: bool) -> _Pairs:
    """Codes of two axes on one variable, one mask inside the other, and whether they are equal."""
    found = [
        (first, second, mask == whole)
        for first, mask in enumerate(inner)
        for second, whole in enumerate(outer)
        if mask and not mask & ~whole and (mask == whole or not equal)
    ]
    columns = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return columns[0].copy(), columns[1].copy(), columns[2].astype(np.bool_)


def _same_populations(new: BoxTable, old: BoxTable) -> tuple[IntArray, IntArray]:
    """Pairs of cells with equal marks and equal records, at least one record."""
    order = np.argsort(old.marks)
    marks = old.marks[order]
    low = np.searchsorted(marks, new.marks, side="left")
    counts = np.where(new.records > 0, np.searchsorted(marks, new.marks, side="right") - low, 0)
    new_cells = np.repeat(np.arange(len(new), dtype=np.int64), counts)
    offsets = np.arange(len(new_cells), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    old_cells = order[np.repeat(low, counts) + offsets]
    keep = new.records[new_cells] == old.records[old_cells]
    return new_cells[keep], old_cells[keep]
