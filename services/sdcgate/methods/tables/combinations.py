"""Joint codes of variables, one row each: those that people have, or that an intruder thinks of."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.boxes import Box, codes_within

MARKED = 16
"""So many times as many numbers as there are of records are marked one by one rather than sorted."""


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """Joint codes: `codes[k, v]` is the code of variable v that combination k has, a bit of boxes' masks."""

    variables: tuple[str, ...]
    codes: IntArray = field(repr=False)

    def inside(self, box: Box) -> BoolArray:
        """Which of them lie in a box of these variables, shape (combinations,)."""
        found = np.ones(len(self.codes), dtype=np.bool_)
        for name, mask in box:
            found &= codes_within(mask, self.codes[:, self.variables.index(name)])
        return found

    def of(self, which: IntArray | BoolArray) -> "Combinations":
        """Some of them."""
        return replace(self, codes=self.codes[which])

    def entries(self, boxes: Sequence[Box]) -> tuple[IntArray, IntArray]:
        """Which lie in each of some boxes, as the boxes' numbers and the combinations'."""
        parts = [np.flatnonzero(self.inside(box)) for box in boxes]
        rows = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return rows, np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def with_codes(self, variable: str, codes: int) -> "Combinations":
        """Each with every one of so many codes of one variable more."""
        repeated = np.repeat(self.codes, codes, axis=0)
        more = np.tile(np.arange(codes), len(self.codes))
        return Combinations((*self.variables, variable), np.column_stack([repeated, more]))


def occurring(variables: tuple[str, ...], codes: Sequence[IntArray], records: int) -> "Occurring":
    """The joint codes that records have: `codes` are those of each variable, shape (records,) each."""
    place, found = np.zeros(records, dtype=np.int64), np.zeros((min(records, 1), 0), dtype=np.int64)
    for column in codes:
        size = int(column.max(initial=0)) + 1
        there, place = _distinct(place * size + column, len(found) * size)
        found = np.column_stack([found[there // size], there % size])
    return Occurring(Combinations(variables, found), place)


def _distinct(numbers: IntArray, below: int) -> tuple[IntArray, IntArray]:
    """The distinct ones of some numbers from 0 on and below another, ascending, and which each of them is."""
    if below > MARKED * len(numbers):
        return np.unique(numbers, return_inverse=True)
    there = np.zeros(below, dtype=np.bool_)
    there[numbers] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]


@dataclass(frozen=True, slots=True, eq=False)
class Occurring:
    """Joint codes that records have, in the order of their codes, and which of them each record has."""

    combinations: Combinations
    place: IntArray = field(repr=False)
    """Shape (records,)."""

    def summed(self, weights: FloatArray | None = None) -> FloatArray:
        """Records with each of them, or weights of these added up; shape (combinations,)."""
        return np.bincount(self.place, weights, len(self.combinations.codes)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """The combinations that people have, and how many: what is true of them, amounts (combinations,)."""

    combinations: Combinations
    amounts: FloatArray = field(repr=False)
