"""Whether a cell is a linear combination of released cells: the exact span of their indicator vectors.

Released boxes are sparse rows over the columns of `terms`, in the echelon form of `echelon`. Boxes that must
stay outside are watched: `caught` says when one does not.

Pivots are divided out modulo a random prime between 2^30 and 2^31. The errors, whatever the data are:

- A box in the span over the rationals is missed only if the prime divides the denominator of every
  combination that gives it: the unsafe direction. A denominator divides a minor of a matrix of r rows of
  zeros and ones, at most r^(r/2) (Hadamard's bound): for r = 10,000 it has at most 2,214 prime factors of
  this size out of 50,697,537, a chance below 5e-5 even against somebody who builds queries for it without
  knowing the prime.
- A box outside may be found inside if the prime divides a minor of the released rows, the same chance: a
  needless refusal.

Only equations between sums are used. That counts are not negative, and that a published zero empties all
boxes inside it, is what the joint audit knows (`joint_intervals`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray, State
from sdcgate.methods.tables.boxes import NOBODY, Box, BoxTable
from sdcgate.methods.tables.echelon import Echelon, Vector
from sdcgate.methods.tables.modular import random_prime, unhurried
from sdcgate.methods.tables.terms import (
    NUMBER,
    Block,
    Grid,
    Product,
    SpanBudgetExceeded,
    empty_grid,
    entries,
    finer_grid,
    product_of,
    product_of_box,
)

__all__ = ["Combination", "Span", "SpanBudget", "SpanBudgetExceeded"]

Combination = Sequence[tuple[Box, int]]
"""Boxes with whole factors, of which the sum is known."""

_AT_ONCE = 16
"""Entries of arrays that cost as much as one step in Python."""


@dataclass(frozen=True, slots=True)
class SpanBudget:
    """What a span may cost: terms of one box, steps of one call, numbers stored."""

    terms_of_box: int = 1 << 12
    operations: int = 20_000_000
    numbers: int = 20_000_000


class Span:
    """The span of all released boxes of one source; grows by `add` and `add_table`, one writer at a time.

    `full` has the full mask of each variable, `_U` in the last bit; more variables can be made known later.
    `rng` draws the prime, which stays a secret of the process; no answer depends on it but for the errors
    above.
    """

    def __init__(
        self, full: Mapping[str, int], *, rng: np.random.Generator, budget: SpanBudget | None = None
    ) -> None:
        self._full = dict(full)
        self._budget = budget or SpanBudget()
        self._grids: dict[Block, Grid] = {}
        self._blocks = 0
        self._echelon = Echelon(random_prime(rng))
        self._incomplete = False

    def __repr__(self) -> str:
        return f"Span(rank {self.rank}, {self.numbers} numbers)"

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return self._echelon.rank

    @property
    def numbers(self) -> int:
        """Stored numbers."""
        return self._echelon.numbers + self._echelon.columns() // 8

    @property
    def caught(self) -> bool:
        """Whether a watched box is in the span.

        Raises SpanBudgetExceeded.
        """
        self._answerable()
        return self._echelon.caught

    def give_up_caught(self) -> None:
        """Watch no longer those boxes that are in the span: nothing that is added later tells them."""
        self._echelon.caught = False

    def copy(self, pulse: Callable[[], None] = unhurried) -> "Span":
        """An independent span with the same boxes; what is not changed is shared.

        The copy calls `pulse` again and again while it works; what that raises ends the call.
        """
        twin = object.__new__(Span)
        twin.__dict__.update(self.__dict__)
        twin._full, twin._grids = dict(self._full), dict(self._grids)
        twin._echelon = self._echelon.copy()
        twin._echelon.pulse = pulse
        return twin

    def know(self, full: Mapping[str, int]) -> None:
        """Take in variables; ValueError where one is known with other finest codes."""
        for variable, mask in full.items():
            if self._full.setdefault(variable, mask) != mask:
                raise ValueError(f"variable {variable}: its list of finest codes was another one before")

    def add_table(
        self, table: BoxTable, cells: BoolArray | None = None, watched: BoolArray | None = None
    ) -> None:
        """Add the released cells of a table, and watch others from now on.

        `cells` (cells,) are the published ones unless given, `watched` (cells,) none. See `add`.
        """
        self.know(table.full)
        released = table.of_state(State.PUBLISHED) if cells is None else cells
        self._add([product_of(table, released)])
        if watched is not None and watched.any():
            self._watch(product_of(table, watched))

    def watch_table(self, table: BoxTable, watched: BoolArray) -> None:
        """Watch cells of a table, shape (cells,), of which nothing need have been added.

        Raises SpanBudgetExceeded.
        """
        self.know(table.full)
        whole = product_of(table, np.ones(len(table), dtype=np.bool_))
        self._watch_more([whole], [product_of(table, watched)])

    def watch(self, boxes: Iterable[Box]) -> None:
        """Watch boxes, in the form of `make_box`, of which nothing need have been added.

        Raises SpanBudgetExceeded, and ValueError as `add` does.
        """
        products = [product_of_box(box, self._full) for box in boxes]
        self._watch_more(products, products)

    def add(self, boxes: Iterable[Box]) -> None:
        """Add released boxes, in the form of `make_box`.

        Raises SpanBudgetExceeded, or ValueError where a box is not of that form. After either the span lacks
        released cells, so it answers no more: make trials on a copy.
        """
        self._answerable()
        try:
            products = [product_of_box(box, self._full) for box in dict.fromkeys(boxes) if box != NOBODY]
        except ValueError:
            self._incomplete = True
            raise
        self._add(products)

    def add_sums(self, sums: Iterable[Combination]) -> None:
        """Add what is known of several boxes together, these in the form of `make_box`; see `add`."""
        self._answerable()
        self._start()
        try:
            parts = [
                [(product_of_box(box, self._full), factor) for box, factor in one if box != NOBODY]
                for one in sums
            ]
            vectors = self._align([boxes for one in parts for boxes, _ in one])
            vectors += [self._combined(one) for one in parts]
            self._echelon.insert(np.zeros(0, dtype=np.int64), [vector for vector in vectors if vector])
        except Exception:
            self._incomplete = True
            raise

    def _combined(self, parts: Sequence[tuple[Product, int]]) -> Vector:
        """What is not solved of single boxes with factors."""
        whole: Vector = {}
        for boxes, factor in parts:
            for column, value in self._vectors(boxes)[0].items():
                whole[column] = whole.get(column, 0) + factor * value
        return {column: value for column, value in whole.items() if value % self._echelon.prime}

    def contains(self, boxes: Sequence[Box]) -> BoolArray:
        """Whether each box is a linear combination of the added ones, shape (boxes,); changes nothing.

        A box that no record can be in always is. Raises SpanBudgetExceeded, and ValueError as `add` does.
        """
        self._start()
        inside = [box == NOBODY or self._inside(product_of_box(box, self._full))[0] for box in boxes]
        return np.array(inside, dtype=np.bool_)

    def contains_cells(self, table: BoxTable) -> BoolArray:
        """Whether each cell of a table is, shape (cells,)."""
        self._start()
        return self._inside(product_of(table, np.ones(len(table), dtype=np.bool_)))

    def _answerable(self) -> None:
        if self._incomplete:
            raise SpanBudgetExceeded("released cells are missing from the linear span: adding them failed")

    def _start(self) -> None:
        self._answerable()
        self._echelon.steps = self._budget.operations

    def _add(self, products: Sequence[Product]) -> None:
        self._start()
        try:
            vectors = self._align(products)
            known = []
            for boxes in products:
                solved, rest = _peeled(*self._rows_of(boxes)[:3])
                known.append(solved)
                vectors += rest
            self._echelon.insert(np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *known])), vectors)
            if self.numbers > self._budget.numbers:
                raise SpanBudgetExceeded("the linear span of the released cells takes too much memory")
        except Exception:
            self._incomplete = True
            raise

    def _watch_more(self, shapes: Sequence[Product], watched: Sequence[Product]) -> None:
        """Watch boxes, once atoms are cut by all masks of some shapes."""
        self._start()
        try:
            self._echelon.insert(np.zeros(0, dtype=np.int64), self._align(shapes))
        except Exception:
            self._incomplete = True
            raise
        for boxes in watched:
            self._watch(boxes)

    def _watch(self, boxes: Product) -> None:
        """Watch boxes whose masks are unions of atoms."""
        try:
            for vector in self._vectors(boxes).values():
                self._echelon.watch(vector)
        except Exception:
            self._incomplete = True
            raise

    def _inside(self, boxes: Product) -> BoolArray:
        """Whether each box is in the span, shape (boxes,)."""
        inside = np.ones(len(boxes.chosen), dtype=np.bool_)
        rows, columns, values, outside = self._rows_of(boxes)
        inside[outside] = False
        kept = inside[rows]
        for row, vector in _by_row(rows[kept], columns[kept], values[kept]).items():
            self._echelon.reduce(vector)
            inside[row] = not vector
        return inside

    def _vectors(self, boxes: Product) -> dict[int, Vector]:
        """What is not solved of each box; all of them can be told."""
        rows, columns, values, _ = self._rows_of(boxes)
        found: dict[int, Vector] = {row: {} for row in np.flatnonzero(boxes.chosen).tolist()}
        return found | _by_row(rows, columns, values)

    def _align(self, products: Sequence[Product]) -> list[Vector]:
        """Split atoms where a mask cuts them; returns sums of columns that have to be inserted again."""
        wanted: dict[Block, list[set[int]]] = {}
        for boxes in products:
            masks = {f.variable: {mask for _, mask, _ in f.inner()} for f in boxes.factors}
            for block, _ in boxes.blocks(self._budget.terms_of_box):
                sets = wanted.setdefault(block, [set() for _ in block])
                for place, variable in enumerate(block):
                    sets[place] |= masks[variable]
        loose: list[Vector] = []
        for block, sets in wanted.items():
            grid = self._grids.get(block)
            if grid is None:
                grid = empty_grid(block, self._blocks)
                self._echelon.open(grid.name >> NUMBER, len(grid))
                self._blocks += 1
            self._grids[block], parents = finer_grid(block, grid, sets, self._blocks)
            if parents is not None:
                self._blocks += 1
                self._echelon.spend(len(parents) // _AT_ONCE)
                loose += self._echelon.divide(grid.name >> NUMBER, self._grids[block].name >> NUMBER, parents)
        return loose

    def _rows_of(self, boxes: Product) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Boxes as sparse rows: row, column and value of each entry on columns that are not solved.

        Last come the boxes that no sum of columns is.
        """
        parts, outside = [], [np.zeros(0, dtype=np.int64)]
        for block, within in boxes.blocks(self._budget.terms_of_box):
            grid = self._grids.get(block)
            found = entries(boxes, within, grid, self._spend)
            outside.append(found.outside)
            if grid is None:
                continue
            kept = ~self._echelon.solved(grid.name >> NUMBER)[found.columns - grid.name]
            parts.append([found.rows[kept], found.columns[kept], found.values[kept]])
        rows, columns, values = (
            np.concatenate([np.zeros(0, dtype=np.int64), *(part[place] for part in parts)])
            for place in range(3)
        )
        return rows, columns, values, np.concatenate(outside)

    def _spend(self, entries: int) -> None:
        self._echelon.spend(entries // _AT_ONCE)


def _peeled(rows: IntArray, columns: IntArray, values: IntArray) -> tuple[IntArray, list[Vector]]:
    """Columns that rows alone make known, one after the other, and what is left of the other rows."""
    names, places = np.unique(columns, return_inverse=True)
    known = np.zeros(len(names), dtype=np.bool_)
    open_ = np.ones(len(rows), dtype=np.bool_)
    while True:
        entries_left = np.bincount(rows[open_], minlength=rows.max(initial=-1) + 1)
        alone = open_ & (entries_left[rows] == 1)
        if not alone.any():
            break
        known[places[alone]] = True
        open_ &= ~known[places]
    return names[known], list(_by_row(rows[open_], columns[open_], values[open_]).values())


def _by_row(rows: IntArray, columns: IntArray, values: IntArray) -> dict[int, Vector]:
    """Sparse rows as vectors."""
    found: dict[int, Vector] = {}
    for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
        found.setdefault(row, {})[column] = value
    return found
