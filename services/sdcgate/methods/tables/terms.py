"""Terms: indicators of boxes over the joint domain, written as sums of products, and their linear relations.

The indicator of a box is a product of one indicator a variable. With `_U` in a mask it is written as one
minus its complement, so each factor is 1 or a mask of valid codes, and a box becomes a signed sum of terms:
products of valid masks over a set of variables, its block. Terms of different blocks are independent, since
the valid codes' indicators and the constant together are a basis for each variable.

Within a block terms are told apart by a dictionary: a basis of the terms that have occurred, found by
evaluating them at random product points (a random number a code; a term's value is the product of its
masks' sums). A new term either is a combination of the basis or joins it. So finer codes that come later
force nothing to be rebuilt, and a mask of 60 of 66 codes costs as much as one of a single code.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import product

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.modular import gauss_jordan, matmul, unhurried

Block = tuple[str, ...]
"""Variables in alphabetical order."""

Masks = tuple[int, ...]
"""A term of a block: a mask of valid codes for each of its variables."""

CHECKS = 8
"""Points beyond those that a basis needs: a term must agree with a combination at all of them."""

_CHUNK = 64


class SpanBudgetExceeded(Exception):
    """More work or memory than allowed: nothing is known about the span, the query must be referred."""


@dataclass(slots=True)
class Arithmetic:
    """Modulo a prime, for one call: `operations` are the multiplications it may still do.

    `pulse` is called again and again on the way; what it raises ends the call.
    """

    prime: int
    operations: int
    pulse: Callable[[], None] = unhurried

    def product(self, left: IntArray, right: IntArray) -> IntArray:
        """Product of two matrices. Raises SpanBudgetExceeded."""
        self._spend(left.shape[0] * left.shape[1] * right.shape[1])
        return matmul(left, right, self.prime)

    def reduce(self, matrix: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Transform, pivot rows and columns of `gauss_jordan`. Raises SpanBudgetExceeded."""
        self._spend(matrix.size * min(matrix.shape))
        return gauss_jordan(matrix, self.prime, self.pulse)

    def _spend(self, operations: int) -> None:
        self.pulse()
        self.operations -= operations
        if self.operations < 0:
            raise SpanBudgetExceeded("the linear span of the released cells takes too much work")


@dataclass(frozen=True, slots=True, eq=False)
class Occurrences:
    """Terms of some boxes in one block, at most one a box: the boxes' positions, masks, signs (+1 or -1)."""

    rows: IntArray
    masks: list[Masks]
    signs: IntArray


def terms_of(boxes: Sequence[Box], full: Mapping[str, int], most: int) -> dict[Block, Occurrences]:
    """The terms of boxes, by block.

    Raises ValueError where a box is not in the form of `make_box`, SpanBudgetExceeded where one has more than
    `most` terms (2 to the number of its variables with `_U` among their codes).
    """
    found: dict[Block, tuple[list[int], list[Masks], list[int]]] = {}
    for place, box in enumerate(boxes):
        names = [variable for variable, _ in box]
        if names != sorted(set(names)):
            raise ValueError("a box names each variable once, in alphabetical order")
        factors: list[tuple[tuple[str, int, int], ...]] = []
        open_factors = 0
        for variable, mask in box:
            whole = full.get(variable)
            if whole is None or not 0 < mask < whole:
                raise ValueError(f"variable {variable}: unknown, or its mask is empty, full or too long")
            if mask > whole >> 1:
                factors.append((("", 0, 1), (variable, whole & ~mask, -1)))
                open_factors += 1
            else:
                factors.append(((variable, mask, 1),))
        if 1 << open_factors > most:
            raise SpanBudgetExceeded(f"a cell takes in missing codes of {open_factors} restricted variables")
        for term in product(*factors):
            solid = [factor for factor in term if factor[1]]
            rows, masks, signs = found.setdefault(tuple(name for name, _, _ in solid), ([], [], []))
            rows.append(place)
            masks.append(tuple(mask for _, mask, _ in solid))
            signs.append((-1) ** sum(sign < 0 for _, _, sign in solid))
    return {
        block: Occurrences(np.array(rows, dtype=np.int64), masks, np.array(signs, dtype=np.int64))
        for block, (rows, masks, signs) in found.items()
    }


class Points:
    """Random product points and the values of terms there: the same for the same seed and prime."""

    def __init__(self, seed: int, prime: int) -> None:
        self._seed = seed
        self._prime = prime
        self._codes: dict[tuple[str, int], IntArray] = {}
        self._sums: dict[tuple[str, int], IntArray] = {}

    def values(self, block: Block, terms: Sequence[Masks], points: int) -> IntArray:
        """Values of a block's terms at the first points, shape (terms, points)."""
        values = np.ones((len(terms), points), dtype=np.int64)
        if not terms:
            return values
        for position, variable in enumerate(block):
            column = [masks[position] for masks in terms]
            distinct = {mask: place for place, mask in enumerate(dict.fromkeys(column))}
            sums = np.stack([self._sum(variable, mask, points) for mask in distinct])
            values = values * sums[[distinct[mask] for mask in column]] % self._prime
        return values

    def _sum(self, variable: str, mask: int, points: int) -> IntArray:
        """Sums of the random numbers of a mask's codes at the first points."""
        found = self._sums.get((variable, mask))
        if found is None or len(found) < points:
            codes = [code for code in range(mask.bit_length()) if mask >> code & 1]
            numbers = np.stack([self._code(variable, code, points) for code in codes])
            found = np.asarray(numbers.sum(axis=0) % self._prime, dtype=np.int64)
            self._sums[variable, mask] = found
        return found[:points]

    def _code(self, variable: str, code: int, points: int) -> IntArray:
        """The random numbers of one code at the first points."""
        found = self._codes.get((variable, code))
        if found is None or len(found) < points:
            name = int.from_bytes(blake2b(variable.encode(), digest_size=8).digest(), "little")
            found = self._codes[variable, code] = np.concatenate(
                [
                    np.random.default_rng([self._seed, name, code, chunk]).integers(0, self._prime, _CHUNK)
                    for chunk in range(-(-points // _CHUNK))
                ]
            )
        return found[:points]


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """The terms of one block: coordinates of each over a basis of d of them.

    `values` (d, points) are reduced values of the basis, an identity at the points `pivots`; `inverse` (d, d)
    takes values at the pivots to coordinates. Coordinates of a term may be shorter than d: zeros follow.
    """

    values: IntArray
    inverse: IntArray
    pivots: IntArray
    basis: tuple[Masks, ...]
    coordinates: Mapping[Masks, IntArray]

    def __len__(self) -> int:
        return len(self.basis)

    def numbers(self) -> int:
        """Stored numbers."""
        return self.values.size + self.inverse.size + len(self.coordinates) * len(self.basis)


def empty_dictionary() -> Dictionary:
    """The dictionary of a block before any term."""
    nothing = np.zeros((0, 0), dtype=np.int64)
    return Dictionary(nothing, nothing, np.zeros(0, dtype=np.int64), (), {})


def express(
    dictionary: Dictionary, block: Block, masks: Sequence[Masks], points: Points, arithmetic: Arithmetic
) -> tuple[IntArray, BoolArray]:
    """Coordinates of terms over the dictionary, shape (terms, d), and which terms have any."""
    coordinates = np.zeros((len(masks), len(dictionary)), dtype=np.int64)
    found = np.ones(len(masks), dtype=np.bool_)
    for place, mask in enumerate(masks):
        row = dictionary.coordinates.get(mask)
        if row is not None:
            coordinates[place, : len(row)] = row
    new = [place for place, mask in enumerate(masks) if mask not in dictionary.coordinates]
    if new:
        wanted = [masks[place] for place in new]
        _, pivoted, residual = _reduced(dictionary, block, wanted, points, arithmetic)
        coordinates[new] = arithmetic.product(pivoted, dictionary.inverse)
        found[new] = ~residual.any(axis=1)
    return coordinates, found


def extended(
    dictionary: Dictionary, block: Block, masks: Sequence[Masks], points: Points, arithmetic: Arithmetic
) -> Dictionary:
    """A dictionary in which all these terms have coordinates; what has no combination joins the basis."""
    new = [mask for mask in dict.fromkeys(masks) if mask not in dictionary.coordinates]
    if not new:
        return dictionary
    prime = arithmetic.prime
    dictionary, pivoted, residual = _reduced(dictionary, block, new, points, arithmetic)
    coordinates = arithmetic.product(pivoted, dictionary.inverse)
    transform, rows, columns = arithmetic.reduce(residual)
    width = len(dictionary) + len(rows)
    # New reduced rows are transform @ (new terms minus their part in the old basis).
    fresh_values = arithmetic.product(transform[rows], residual)
    old_part = -arithmetic.product(transform[rows], coordinates) % prime
    fresh_inverse = np.concatenate([old_part, transform[rows][:, rows]], axis=1)
    # Old reduced rows are cleared at the new pivots.
    factors = dictionary.values[:, columns]
    values = (dictionary.values - arithmetic.product(factors, fresh_values)) % prime
    inverse = widened(dictionary.inverse, width) - arithmetic.product(factors, fresh_inverse)
    # What is left of a term is the combination of new reduced rows that its values at the new pivots say.
    coordinates = widened(coordinates, width) + arithmetic.product(residual[:, columns], fresh_inverse)
    return Dictionary(
        values=np.concatenate([values, fresh_values]),
        inverse=np.concatenate([inverse % prime, fresh_inverse]),
        pivots=np.concatenate([dictionary.pivots, columns]),
        basis=(*dictionary.basis, *(new[row] for row in rows)),
        coordinates={**dictionary.coordinates, **dict(zip(new, coordinates % prime, strict=True))},
    )


def _reduced(
    dictionary: Dictionary, block: Block, masks: Sequence[Masks], points: Points, arithmetic: Arithmetic
) -> tuple[Dictionary, IntArray, IntArray]:
    """The dictionary with points to spare, new terms' values at its pivots, and what is left of all."""
    needed = len(dictionary) + len(masks) + CHECKS
    if dictionary.values.shape[1] < needed:
        own = points.values(block, dictionary.basis, max(_CHUNK, 1 << (needed - 1).bit_length()))
        dictionary = replace(dictionary, values=arithmetic.product(dictionary.inverse, own))
    values = points.values(block, masks, dictionary.values.shape[1])
    pivoted = values[:, dictionary.pivots]
    left = (values - arithmetic.product(pivoted, dictionary.values)) % arithmetic.prime
    return dictionary, pivoted, left


def widened(matrix: IntArray, width: int) -> IntArray:
    """The matrix with columns of zeros up to a width."""
    missing = width - matrix.shape[1]
    if missing == 0:
        return matrix
    return np.concatenate([matrix, np.zeros((len(matrix), missing), dtype=np.int64)], axis=1)
