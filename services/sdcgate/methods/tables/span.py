"""Whether a cell is a linear combination of released cells: the exact span of their indicator vectors.

Released boxes are rows over the dictionaries of `terms`, kept fully reduced within each block. A row has
its pivot in the largest block where it is not zero, so boxes on different variables meet in the smaller
blocks that both have, often in the constant only, and cost each other little.

Arithmetic is modulo a random prime between 2^30 and 2^31. The errors, whatever the data are:

- A box in the span over the rationals is missed only if the prime divides the denominator of every
  combination that gives it: the unsafe direction. A denominator divides a minor of a matrix of r rows of
  zeros and ones, at most r^(r/2) (Hadamard's bound): for r = 10,000 it has at most 2,214 prime factors of
  this size out of 50,697,537, a chance below 5e-5 even against somebody who builds queries for it without
  knowing the prime.
- A box outside may be found inside if the prime divides a minor of the released rows, the same chance: a
  needless refusal.
- A term is taken for a combination of others though it is none if it agrees with one at 8 or more random
  points; in a block of b variables the chance is at most (b / 2^30)^8 (Schwartz-Zippel).

Only equations between sums are used. What follows from values (a published zero empties all boxes inside it,
counts are not negative, bounds, rounding) is left to the joint audit.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray, State
from sdcgate.methods.tables.boxes import NOBODY, Box, BoxTable
from sdcgate.methods.tables.modular import random_prime, unhurried
from sdcgate.methods.tables.terms import (
    Arithmetic,
    Block,
    Dictionary,
    Points,
    SpanBudgetExceeded,
    empty_dictionary,
    express,
    extended,
    terms_of,
    widened,
)

__all__ = ["Span", "SpanBudget", "SpanBudgetExceeded"]


@dataclass(frozen=True, slots=True)
class SpanBudget:
    """What a span may cost: terms of one box, multiplications of one call, numbers stored (8 bytes each)."""

    terms_of_box: int = 1 << 12
    operations: int = 10_000_000_000
    numbers: int = 50_000_000


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Reduced rows whose first block this is: an identity at `pivots`; `tails` are their later blocks."""

    main: IntArray
    pivots: IntArray
    tails: Mapping[Block, IntArray]

    def numbers(self) -> int:
        return self.main.size + sum(tail.size for tail in self.tails.values())


@dataclass(slots=True, eq=False)
class _Batch:
    """Boxes on their way through the blocks: coordinates (boxes, d) in each block that they touch."""

    rows: int
    parts: dict[Block, IntArray] = field(default_factory=dict)
    queue: list[tuple[int, Block]] = field(default_factory=list)

    def part(self, block: Block, width: int) -> IntArray:
        """Coordinates in a block; zeros where there were none."""
        if block not in self.parts:
            self.parts[block] = np.zeros((self.rows, width), dtype=np.int64)
            heapq.heappush(self.queue, (-len(block), block))
        return self.parts[block]


class Span:
    """The span of all released boxes of one source; grows by `add`, one writer at a time.

    `full` has the full mask of each variable, `_U` in the last bit; more variables can be made known later.
    `rng` draws the prime and the points, which stay a secret of the process; no answer depends on them but
    for the errors above.
    """

    def __init__(
        self, full: Mapping[str, int], *, rng: np.random.Generator, budget: SpanBudget | None = None
    ) -> None:
        self._full = dict(full)
        self._budget = budget or SpanBudget()
        self._prime = random_prime(rng)
        self._points = Points(int(rng.integers(1 << 62)), self._prime)
        self._seen: frozenset[Box] = frozenset()
        self._dictionaries: dict[Block, Dictionary] = {}
        self._rows: dict[Block, _Rows] = {}
        self._incomplete = False
        self._pulse: Callable[[], None] = unhurried

    def __repr__(self) -> str:
        return f"Span({len(self._seen)} boxes, rank {self.rank})"

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return sum(len(rows.pivots) for rows in self._rows.values())

    @property
    def numbers(self) -> int:
        """Stored numbers, 8 bytes each."""
        stored = sum(dictionary.numbers() for dictionary in self._dictionaries.values())
        return stored + sum(rows.numbers() for rows in self._rows.values())

    def copy(self, pulse: Callable[[], None] = unhurried) -> "Span":
        """An independent span with the same boxes; all arrays are shared, none is ever changed.

        The copy calls `pulse` again and again while it works; what that raises ends the call.
        """
        twin = object.__new__(Span)
        twin.__dict__.update(self.__dict__)
        twin._pulse = pulse
        twin._full = dict(self._full)
        twin._dictionaries = dict(self._dictionaries)
        twin._rows = dict(self._rows)
        return twin

    def know(self, full: Mapping[str, int]) -> None:
        """Take in variables; ValueError where one is known with other finest codes."""
        for variable, mask in full.items():
            if self._full.setdefault(variable, mask) != mask:
                raise ValueError(f"variable {variable}: its list of finest codes was another one before")

    def add_table(self, table: BoxTable, cells: BoolArray | None = None) -> None:
        """Add the released cells of a table: `cells` (cells,), or its published ones; see `add`."""
        chosen = table.of_state(State.PUBLISHED) if cells is None else cells
        released = [box for box, leaves in zip(table.boxes(), chosen, strict=True) if leaves]
        self.know(table.full)
        self.add(released)

    def add(self, boxes: Iterable[Box]) -> None:
        """Add released boxes, in the form of `make_box`.

        Raises SpanBudgetExceeded, or ValueError where a box is not of that form. After either the span lacks
        released cells, so it answers no more: make trials on a copy.
        """
        self._answerable()
        new = [box for box in dict.fromkeys(boxes) if box not in self._seen and box != NOBODY]
        if not new:
            return
        before = dict(self._dictionaries), dict(self._rows)
        try:
            arithmetic = Arithmetic(self._prime, self._budget.operations, self._pulse)
            batch = _Batch(len(new))
            for block, found in terms_of(new, self._full, self._budget.terms_of_box).items():
                dictionary = self._dictionaries.get(block) or empty_dictionary()
                dictionary = extended(dictionary, block, found.masks, self._points, arithmetic)
                self._dictionaries[block] = dictionary
                coordinates, _ = express(dictionary, block, found.masks, self._points, arithmetic)
                self._place(batch, block, found.rows, found.signs[:, None] * coordinates)
            self._sweep(batch, arithmetic, insert=True)
            if self.numbers > self._budget.numbers:
                raise SpanBudgetExceeded("the linear span of the released cells takes too much memory")
        except Exception:
            self._dictionaries, self._rows = before
            self._incomplete = True
            raise
        self._seen |= frozenset(new)

    def contains(self, boxes: Sequence[Box]) -> BoolArray:
        """Whether each box is a linear combination of the added ones, shape (boxes,); changes nothing.

        A box that no record can be in always is. Raises SpanBudgetExceeded, and ValueError as `add` does.
        """
        self._answerable()
        inside = np.ones(len(boxes), dtype=np.bool_)
        asked = [place for place, box in enumerate(boxes) if box not in self._seen and box != NOBODY]
        if not asked:
            return inside
        arithmetic = Arithmetic(self._prime, self._budget.operations, self._pulse)
        batch = _Batch(len(asked))
        outside = np.zeros(len(asked), dtype=np.bool_)
        terms = terms_of([boxes[place] for place in asked], self._full, self._budget.terms_of_box)
        for block, sought in terms.items():
            dictionary = self._dictionaries.get(block)
            if dictionary is None:
                outside[sought.rows] = True
                continue
            coordinates, found = express(dictionary, block, sought.masks, self._points, arithmetic)
            outside[sought.rows[~found]] = True
            self._place(batch, block, sought.rows[found], (sought.signs[:, None] * coordinates)[found])
        outside |= self._sweep(batch, arithmetic, insert=False)
        inside[asked] = ~outside
        return inside

    def _answerable(self) -> None:
        if self._incomplete:
            raise SpanBudgetExceeded("released cells are missing from the linear span: adding them failed")

    def _place(self, batch: _Batch, block: Block, rows: IntArray, coordinates: IntArray) -> None:
        if len(rows):
            batch.part(block, len(self._dictionaries[block]))[rows] = coordinates % self._prime

    def _sweep(self, batch: _Batch, arithmetic: Arithmetic, *, insert: bool) -> BoolArray:
        """Reduce boxes block by block, the largest first; what is left over becomes rows if it should.

        Returns which boxes had something left, shape (boxes,).
        """
        left = np.zeros(batch.rows, dtype=np.bool_)
        while batch.queue:
            block = heapq.heappop(batch.queue)[1]
            part = batch.parts.pop(block)
            rows = self._rows.get(block)
            if rows is not None:
                self._clear(part, rows, batch, arithmetic)
            active = np.flatnonzero(part.any(axis=1))
            left[active] = True
            if insert and len(active):
                self._insert(block, part, active, batch, arithmetic)
        return left

    def _clear(self, part: IntArray, rows: _Rows, batch: _Batch, arithmetic: Arithmetic) -> None:
        """Subtract reduced rows, so that boxes are zero at their pivots; in later blocks too."""
        factors = part[:, rows.pivots]
        touched = np.flatnonzero(factors.any(axis=1))
        used = np.flatnonzero(factors.any(axis=0))
        if not len(used):
            return
        factors = factors[np.ix_(touched, used)]
        main = widened(rows.main[used], part.shape[1])
        part[touched] = (part[touched] - arithmetic.product(factors, main)) % self._prime
        for later, tail in rows.tails.items():
            width = len(self._dictionaries[later])
            change = arithmetic.product(factors, widened(tail[used], width))
            other = batch.part(later, width)
            other[touched] = (other[touched] - change) % self._prime

    def _insert(
        self, block: Block, part: IntArray, active: IntArray, batch: _Batch, arithmetic: Arithmetic
    ) -> None:
        """Make rows of what is left in a block; the other boxes of the batch become zero there."""
        transform, chosen, columns = arithmetic.reduce(part[active])
        main = arithmetic.product(transform[chosen], part[active])
        tails: dict[Block, IntArray] = {}
        for later, other in batch.parts.items():
            if not other[active].any():
                continue
            turned = arithmetic.product(transform, other[active])
            if turned[chosen].any():
                tails[later] = turned[chosen]
            turned[chosen] = 0
            other[active] = turned
        old = self._rows.get(block)
        new = _Rows(main, columns, tails)
        self._rows[block] = new if old is None else self._joined(old, new, arithmetic)

    def _joined(self, old: _Rows, new: _Rows, arithmetic: Arithmetic) -> _Rows:
        """The rows of a block with new ones, the old ones cleared at the new pivots."""
        wide = widened(old.main, new.main.shape[1])
        factors = wide[:, new.pivots]
        main = (wide - arithmetic.product(factors, new.main)) % self._prime
        tails: dict[Block, IntArray] = {}
        for later in dict.fromkeys((*old.tails, *new.tails)):
            width = len(self._dictionaries[later])
            upper = widened(old.tails.get(later, np.zeros((len(old.pivots), 0), dtype=np.int64)), width)
            lower = widened(new.tails.get(later, np.zeros((len(new.pivots), 0), dtype=np.int64)), width)
            upper = (upper - arithmetic.product(factors, lower)) % self._prime
            tails[later] = np.concatenate([upper, lower])
        return _Rows(np.concatenate([main, new.main]), np.concatenate([old.pivots, new.pivots]), tails)
