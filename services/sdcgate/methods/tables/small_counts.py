"""Small-count rounding: small inner counts become 0 or the base, and all margins are their sums.

Langsrud and Heldal 2018, An Algorithm for Small Count Rounding of Tabular Data, PSD 2018. They search by
partial least squares; here an integer program finds the roundings whose margins move least.
"""

import numpy as np

from sdcgate.methods.cells import (
    Axis,
    BoolArray,
    FloatArray,
    IntArray,
    Relations,
    additive_relations,
    leaf_cells,
    number_of_cells,
)
from sdcgate.methods.tables.controlled_rounding import ControlledTable, Found
from sdcgate.methods.tables.solver import INFINITY, Deadline, Program, Rows

WHOLE = 1e-6


def small_count_rounding(
    axes: tuple[Axis, ...], counts: IntArray, base: int, seconds: float, published: BoolArray | None = None
) -> ControlledTable:
    """The table without small counts whose published cells move least.

    `counts` and `published` (all cells unless given) have shape (cells,). Inner counts that a published count
    below the base is made of become 0 or the base; others below it may, or stay; no other published count
    falls below the base. Of tables whose published cells move by the same sum that is taken whose inner cells
    move least. `distance` is the sum over the published margins; all values stay within `steps` bases.

    Raises ValueError where counts are negative, not one a cell, or do not add up, or the base is below 2.
    """
    cells = number_of_cells(axes)
    if counts.shape != (cells,) or np.any(counts < 0):
        raise ValueError(f"must be one count for each of {cells} cells, none negative")
    if base < 2:
        raise ValueError("the base must be at least 2")
    table = _Table(axes, counts, base, np.ones(cells, dtype=np.bool_) if published is None else published)
    return table.round(seconds)


class _Table:
    """The integer program: for each small inner count whether it becomes the base and whether it stays (else
    it becomes 0), then for each margin how far it goes up and how far down."""

    def __init__(self, axes: tuple[Axis, ...], counts: IntArray, base: int, published: BoolArray) -> None:
        self._inner = leaf_cells(axes)
        self._chain = _chain(axes)
        self._base, self._published = base, published
        self._true = _with_margins(self._chain, np.where(self._inner, counts, 0).astype(np.float64))
        if np.any(self._true != counts):
            raise ValueError("counts must add up")
        self._small = np.flatnonzero(self._inner & (counts > 0) & (counts < base))
        small = self._small
        # All inner cells together cost less than a margin that moves by one.
        self._share = 1 / (2 * base * max(1, len(small)))

    def round(self, seconds: float) -> ControlledTable:
        """Solve it."""
        small, values = self._small, self._true[self._small]
        up = self._share * (self._base - 2 * values)
        moved = np.repeat(self._published[self._chain.parents][None], 2, axis=0).reshape(-1)
        costs = -np.concatenate([up, -self._share * values, moved.astype(np.float64)])
        lower, upper = self._bounds()
        best = self._program().best(costs, lower, upper, Deadline(seconds))
        if best.values is not None:
            ups, stays = np.rint(best.values[: 2 * len(small)]).reshape(2, -1)
        elif self._published.all():
            # Any choice will do where every inner count is rounded by itself.
            ups, stays = 2 * values >= self._base, np.zeros(len(small))
        else:
            return ControlledTable(Found.UNKNOWN, None, 0, np.inf, 0.0)
        inner = np.where(self._inner, self._true, 0.0)
        inner[small] = self._base * ups + values * stays
        rounded = _with_margins(self._chain, inner)
        margins = self._published & ~self._inner
        if np.any(margins & (self._true >= self._base) & (rounded < self._base)):
            # Without the program a margin may have fallen below the base, which nobody reckons with.
            return ControlledTable(Found.UNKNOWN, None, 0, np.inf, 0.0)
        distance = float(np.abs(rounded - self._true)[margins].sum())
        # The margins' part of what is paid is whole, the inner cells' from 0 to below 1.
        least = max(0.0, float(np.floor(self._share * values.sum() - best.bound + WHOLE)))
        found = Found.OPTIMAL if distance <= least else Found.FEASIBLE
        steps = int(np.abs(rounded - self._true).max(initial=0.0) // self._base) + 1
        return ControlledTable(found, rounded, steps, distance, min(least, distance))

    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        """Of the columns: who may not stay, and how far margins may fall."""
        small, parents = self._small, self._chain.parents
        disclosed = self._published & (self._true > 0) & (self._true < self._base)
        for number, parent in reversed(list(enumerate(parents.tolist()))):
            if disclosed[parent]:
                disclosed[self._chain.parts(number)] = True
        true = self._true[parents]
        fall = np.where(self._published[parents] & (true >= self._base), true - self._base, INFINITY)
        upper = np.concatenate(
            [np.ones(len(small)), np.where(disclosed[small], 0.0, 1.0), np.full(len(parents), INFINITY), fall]
        )
        return np.zeros(len(upper)), upper

    def _program(self) -> Program:
        """The rows: a margin changes by what its parts change; nothing both stays and becomes the base."""
        margins, small = len(self._chain.parents), len(self._small)
        place = {int(cell): column for column, cell in enumerate(self._small)}
        margin = {int(cell): number for number, cell in enumerate(self._chain.parents)}
        entries: list[tuple[int, int, float]] = []
        sides = np.zeros(margins)
        for row in range(margins):
            entries += [(row, 2 * small + row, -1.0), (row, 2 * small + margins + row, 1.0)]
            for cell in self._chain.parts(row).tolist():
                if cell in place:
                    column, value = place[cell], float(self._true[cell])
                    entries += [(row, column, float(self._base)), (row, small + column, value)]
                    sides[row] += value
                elif cell in margin:
                    column = 2 * small + margin[cell]
                    entries += [(row, column, 1.0), (row, column + margins, -1.0)]
        for column in range(small):
            entries += [(margins + column, column, 1.0), (margins + column, small + column, 1.0)]
        rows = Rows()
        nothing = np.zeros(small)
        rows.start(np.concatenate([sides, nothing]), np.concatenate([sides, nothing + 1]))
        if entries:
            numbers, columns, values = map(np.array, zip(*entries, strict=True))
            rows.put(numbers, columns, values)
        return Program(rows, 2 * (small + margins), np.arange(2 * (small + margins)) < 2 * small)


def _chain(axes: tuple[Axis, ...]) -> Relations:
    """One sum for each margin, in an order in which its parts come first."""
    relations = additive_relations(axes)
    inner = leaf_cells(axes)
    known = inner.copy()
    chosen: list[int] = []
    waiting = list(range(len(relations)))
    while waiting:
        later: list[int] = []
        for relation in waiting:
            parent = relations.parents[relation]
            if known[parent]:
                continue
            if known[relations.parts(relation)].all():
                known[parent] = True
                chosen.append(relation)
            else:
                later.append(relation)
        waiting = later
    parts = [relations.parts(relation) for relation in chosen]
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    children = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    return Relations(relations.parents[chosen], offsets, children)


def _with_margins(chain: Relations, inner: FloatArray) -> FloatArray:
    """The table of these inner cells."""
    values = inner.copy()
    for number, parent in enumerate(chain.parents):
        values[parent] = values[chain.parts(number)].sum()
    return values
