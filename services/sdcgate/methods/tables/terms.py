"""Terms: indicators of boxes over the joint domain as sums of products, and the columns they stand on.

The indicator of a box is a product of one indicator a variable. With `_U` in a mask it is written as one
minus its complement, so each factor is 1 or a mask of valid codes, and a box becomes a signed sum of terms:
products of valid masks over a set of variables, its block. Terms of different blocks are independent, since
the valid codes' indicators and the constant together are a basis for each variable.

Within a block codes that no box tells apart stay together in an atom, and the products of atoms are the
columns: a term is the sum of those inside it. A mask of 60 of 66 codes costs as much as one of a single code
until something cuts it; then the atom is split, and each of its columns becomes several.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.tables.boxes import Box, BoxTable

Block = tuple[str, ...]
"""Variables in alphabetical order."""

NUMBER, LENGTH = 32, 56
"""Bits of a column's name at which the number of its block begins, and how many variables that has."""
MOST_COLUMNS = 10_000_000


class SpanBudgetExceeded(Exception):
    """More work or memory than allowed: nothing is known about the span, the query must be referred."""


@dataclass(frozen=True, slots=True)
class Factor:
    """What a variable contributes to the cells of a product: a mask a code, none twice in a box."""

    variable: str
    masks: tuple[int, ...]
    full: int

    def inner(self) -> Iterator[tuple[int, int, int]]:
        """Codes that restrict a term: their positions, valid masks and signs."""
        for code, mask in enumerate(self.masks):
            if 0 < mask < self.full:
                turned = mask > self.full >> 1
                yield code, (self.full & ~mask if turned else mask), (-1 if turned else 1)

    def outer(self) -> list[int]:
        """Codes of which a term is not restricted: the full one, and those told by their complement."""
        return [code for code, mask in enumerate(self.masks) if mask > self.full >> 1]


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """Boxes that are the product of factors, row-major; `chosen` are those that are meant."""

    factors: tuple[Factor, ...]
    chosen: BoolArray

    def blocks(self, most: int) -> list[tuple[Block, tuple[bool, ...]]]:
        """The blocks that the boxes' terms stand in, and which factors they are of.

        Raises SpanBudgetExceeded where there are more than `most`.
        """
        ways = [
            ([True] if any(factor.inner()) else []) + ([False] if factor.outer() else [])
            for factor in self.factors
        ]
        if prod(map(len, ways)) > most:
            restricted = sum(len(way) > 1 for way in ways)
            raise SpanBudgetExceeded(f"a cell takes in missing codes of {restricted} restricted variables")
        return [
            (
                tuple(sorted(f.variable for f, within in zip(self.factors, inside, strict=True) if within)),
                inside,
            )
            for inside in product(*ways)
        ]


def product_of(table: BoxTable, chosen: BoolArray) -> Product:
    """The boxes of a table's cells; those that nobody can be in are left out."""
    lines = (*table.axes, *((variable, (mask,)) for variable, mask in table.fixed))
    some = np.ones(1, dtype=np.bool_)
    for _, masks in lines:
        some = (some[:, None] & np.array([mask > 0 for mask in masks])).ravel()
    factors = tuple(Factor(variable, masks, table.full[variable]) for variable, masks in lines)
    return Product(factors, chosen & some)


def product_of_box(box: Box, full: Mapping[str, int]) -> Product:
    """A single box.

    Raises ValueError where it is not in the form of `make_box`.
    """
    names = [variable for variable, _ in box]
    if names != sorted(set(names)):
        raise ValueError("a box names each variable once, in alphabetical order")
    for variable, mask in box:
        whole = full.get(variable)
        if whole is None or not 0 < mask < whole:
            raise ValueError(f"variable {variable}: unknown, or its mask is empty, full or too long")
    factors = tuple(Factor(variable, (mask,), full[variable]) for variable, mask in box)
    return Product(factors, np.ones(1, dtype=np.bool_))


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The columns of a block: products of `atoms`, disjoint masks a variable, row-major.

    `name` is that of column 0, the others follow; a grid whose atoms were split has another. `unions` are
    masks of each variable that are known to be unions of its atoms.
    """

    name: int
    atoms: tuple[tuple[int, ...], ...]
    unions: tuple[frozenset[int], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of atoms of each variable."""
        return tuple(map(len, self.atoms))

    def __len__(self) -> int:
        return prod(self.shape)


def empty_grid(block: Block, number: int) -> Grid:
    """The grid of a block before any term; that of the constant has its one column."""
    return Grid(_name(block, number), ((),) * len(block), (frozenset(),) * len(block))


def finer_grid(
    block: Block, grid: Grid, masks: Sequence[AbstractSet[int]], number: int
) -> tuple[Grid, IntArray | None]:
    """A grid on which these masks, a set a variable, are unions of atoms.

    With it comes for each of its columns the one of the old grid that it was part of, or -1; nothing if the
    columns are the old ones.

    Raises SpanBudgetExceeded where it would have too many columns.
    """
    unions = tuple(known | new for known, new in zip(grid.unions, masks, strict=True))
    if unions == grid.unions:
        return grid, None
    divided = [
        split(atoms, new - known) for atoms, known, new in zip(grid.atoms, grid.unions, masks, strict=True)
    ]
    atoms = tuple(parts for parts, _ in divided)
    if atoms == grid.atoms:
        return replace(grid, unions=unions), None
    if prod(map(len, atoms)) > MOST_COLUMNS:
        raise SpanBudgetExceeded("the released cells tell too many groups apart")
    old = np.zeros(1, dtype=np.int64)
    for size, (_, parents) in zip(grid.shape, divided, strict=True):
        old = np.where((old[:, None] < 0) | (parents < 0), -1, old[:, None] * size + parents).ravel()
    return Grid(_name(block, number), atoms, unions), old


def _name(block: Block, number: int) -> int:
    return len(block) << LENGTH | number << NUMBER


def split(atoms: Sequence[int], masks: Iterable[int]) -> tuple[tuple[int, ...], IntArray]:
    """Atoms of which each mask is a union, and for each the old atom it was part of, or -1."""
    parts = [(atom, place) for place, atom in enumerate(atoms)]
    for mask in masks:
        pieces: list[tuple[int, int]] = []
        rest = mask
        for atom, parent in parts:
            rest &= ~atom
            pieces += [(piece, parent) for piece in (atom & mask, atom & ~mask) if piece]
        parts = [*pieces, (rest, -1)] if rest else pieces
    return tuple(atom for atom, _ in parts), np.array([parent for _, parent in parts], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Boxes as sparse rows: `values` (1 or -1) of box `rows` on the columns named `columns`."""

    rows: IntArray
    columns: IntArray
    values: IntArray
    outside: IntArray
    """Boxes that no sum of columns is."""


def entries(
    boxes: Product, inside: tuple[bool, ...], grid: Grid | None, spend: Callable[[int], None]
) -> Entries:
    """What boxes have in one block, of which the factors `inside` are the variables.

    Without a grid nothing has a column. `spend` is told the work.
    """
    order = sorted((f.variable, place) for place, f in enumerate(boxes.factors) if inside[place])
    atoms = {place: grid.atoms[at] if grid else () for at, (_, place) in enumerate(order)}
    steps, step = {}, 1
    for _, place in reversed(order):
        steps[place], step = step, step * len(atoms[place])
    cells, columns, values = (np.zeros(1, dtype=np.int64) for _ in range(3))
    values += 1
    lost = np.zeros(1, dtype=np.bool_)
    for place, factor in enumerate(boxes.factors):
        if inside[place]:
            lines = [_on_atoms(mask, atoms[place], code, sign) for code, mask, sign in factor.inner()]
            found = np.concatenate(lines)
        else:
            found = np.array([(code, 0, 1, 0) for code in factor.outer()], dtype=np.int64)
        codes, at, signs, cut = found.T
        spend(len(cells) * len(codes))
        cells = (cells[:, None] * len(factor.masks) + codes).ravel()
        columns = (columns[:, None] + at * steps.get(place, 0)).ravel()
        values = (values[:, None] * signs).ravel()
        lost = (lost[:, None] | (cut > 0)).ravel()
    chosen = boxes.chosen[cells]
    if grid is None:
        none = cells[:0]
        return Entries(none, none, none, np.unique(cells[chosen]))
    kept = np.flatnonzero(chosen & ~lost)
    return Entries(cells[kept], columns[kept] + grid.name, values[kept], np.unique(cells[chosen & lost]))


def _on_atoms(mask: int, atoms: Sequence[int], code: int, sign: int) -> IntArray:
    """The atoms that make up a mask, as rows (code, atom, sign, 0); (code, 0, sign, 1) if none do."""
    at = [place for place, atom in enumerate(atoms) if atom & mask]
    rest = mask
    for place in at:
        rest &= ~atoms[place]
    if rest or any(atoms[place] & ~mask for place in at):
        return np.array([(code, 0, sign, 1)], dtype=np.int64)
    return np.array([(code, place, sign, 0) for place in at], dtype=np.int64)
