"""The shared shapes: the axes of a table, its cells by column, and what is true of them.

A table's cells are the full product of its axes' codes, row-major: the last axis runs fastest. An axis
that has a total carries it as its last code, `_T`; `_U` is missing and stands before it.
"""

from collections.abc import Container
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
KeyArray = npt.NDArray[np.uint64]

TOTAL = "_T"
MISSING = "_U"


class State(IntEnum):
    """What becomes of a cell; the numbers are those of the wire's CellStatus."""

    PUBLISHED = 1
    WITHHELD = 2
    ABSENT = 3
    PERTURBED = 4


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a table.

    `parents[i]` is the position of the code that code i is part of, -1 where it is part of none; every
    parent is the sum of its parts. With margins every code has `_T` above it, directly or through others.
    """

    variable: str
    level: str
    codes: tuple[str, ...]
    parents: tuple[int, ...]
    identifying: bool = False
    labels: tuple[str, ...] = ()
    sensitive: bool = False
    harmless: tuple[str, ...] = ()
    """Codes of a sensitive variable that it does no harm to be known to have."""
    classes: tuple[tuple[int, ...], ...] = ()
    """Codes (by position) that together are one that it does harm to have: a code of a coarser level."""

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.codes):
            raise ValueError(f"axis {self.variable}: {len(self.codes)} codes, {len(self.parents)} parents")

    def parts(self) -> list[tuple[int, IntArray]]:
        """Each code that has parts, with the positions of these; in the order of the codes."""
        found: dict[int, list[int]] = {}
        for code, above in enumerate(self.parents):
            if above >= 0:
                found.setdefault(above, []).append(code)
        return [(code, np.array(found[code], dtype=np.int64)) for code in sorted(found)]


def shape_of(axes: tuple[Axis, ...]) -> tuple[int, ...]:
    """Number of codes of each axis."""
    return tuple(len(axis.codes) for axis in axes)


def number_of_cells(axes: tuple[Axis, ...]) -> int:
    """Number of cells of the full product; 1 where there is no axis."""
    return prod(shape_of(axes))


def cell_codes(axes: tuple[Axis, ...]) -> IntArray:
    """Positions of each cell's code on each axis, shape (axes, cells)."""
    return np.indices(shape_of(axes), dtype=np.int64).reshape(len(axes), number_of_cells(axes))


def leaf_cells(axes: tuple[Axis, ...]) -> BoolArray:
    """Cells none of whose codes is a parent of another: the inner cells, shape (cells,)."""
    inner = np.ones(shape_of(axes), dtype=np.bool_)
    for position, axis in enumerate(axes):
        leaf = ~np.isin(np.arange(len(axis.codes)), axis.parents)
        inner &= leaf.reshape([-1 if other == position else 1 for other in range(len(axes))])
    return inner.reshape(-1)


@dataclass(frozen=True, slots=True, eq=False)
class Relations:
    """Sums that hold in a table: cell `parents[j]` is the sum of `children[offsets[j]:offsets[j + 1]]`."""

    parents: IntArray
    offsets: IntArray
    children: IntArray

    def __len__(self) -> int:
        return len(self.parents)

    def parts(self, relation: int) -> IntArray:
        """Cells that add up in one relation."""
        return self.children[self.offsets[relation] : self.offsets[relation + 1]]


def additive_relations(axes: tuple[Axis, ...], along: Container[int] | None = None) -> Relations:
    """All sums of a table along one axis at a time: for each parent code and each cell of the other axes.

    Sums along several axes follow from these. `along` are positions of axes; all of them unless given.
    """
    grid = np.arange(number_of_cells(axes), dtype=np.int64).reshape(shape_of(axes))
    parents: list[IntArray] = []
    groups: list[IntArray] = []
    for position, axis in enumerate(axes):
        if along is not None and position not in along:
            continue
        lines = np.moveaxis(grid, position, 0).reshape(len(axis.codes), -1)
        for parent, parts in axis.parts():
            parents.append(lines[parent])
            groups.extend(lines[parts].T)
    if not parents:
        empty = np.zeros(0, dtype=np.int64)
        return Relations(empty, np.zeros(1, dtype=np.int64), empty)
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    return Relations(np.concatenate(parents), offsets, np.concatenate(groups))


@dataclass(frozen=True, slots=True, eq=False)
class Contributors:
    """Contributions of single respondents to cells, none below zero; empty or None where unknown.

    A respondent is a unit, or a holding where units belong to holdings. Hidden from repr: they may be
    withheld.
    """

    largest: FloatArray = field(repr=False)
    """The largest, shape (cells, ranks), largest first, 0 where fewer."""
    totals: FloatArray = field(repr=False)
    """Sums of all, shape (cells,)."""
    unwaived: FloatArray | None = field(default=None, repr=False)
    """The largest of those who gave no waiver, shape as `largest`; None where nobody gave one."""
    variances: FloatArray | None = field(default=None, repr=False)
    """Variances of estimated totals by sampling, shape (cells,); None where none are told."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasureFacts:
    """True facts of one measure, a value a cell; empty or None where unknown.

    Hidden from repr: they may be withheld.
    """

    name: str
    sums: FloatArray = field(repr=False)
    valid_records: IntArray = field(repr=False)
    valid_units: IntArray = field(repr=False)
    largest: FloatArray = field(repr=False)
    """Largest absolute contributions of single respondents, (cells, ranks), largest first, 0 where fewer."""
    absolute_sums: FloatArray = field(repr=False)
    minima: FloatArray = field(repr=False)
    maxima: FloatArray = field(repr=False)
    lower_bound: float | None = None
    upper_bound: float | None = None
    weighted_sums: FloatArray | None = field(default=None, repr=False)
    valid_weight_sums: FloatArray | None = field(default=None, repr=False)
    lacking_units: IntArray | None = field(default=None, repr=False)
    """Units with at least one record that lacks the measure; a unit may both have and lack it."""
    unwaived_largest: FloatArray | None = field(default=None, repr=False)
    """As `largest`, of those who gave no waiver; None where nobody gave one."""
    shifted: Contributors | None = None
    """Contributions as far as values lie above the lower bound; None where unknown."""
    weighted: Contributors | None = None
    """Absolute contributions times weights; None where unknown."""
    valid_holdings: IntArray | None = field(default=None, repr=False)
    """Holdings with a unit that has the measure; None where units belong to no holdings."""
    keys: KeyArray | None = field(default=None, repr=False)
    """Keys of the units that have the measure, as those of the cells; None where they were not asked for."""
    sum_keys: KeyArray | None = field(default=None, repr=False)
    """Keys of the sums, of the records that are summed and nothing else; None as `keys`."""


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """True facts of cells, a value a cell; empty or None where unknown.

    Hidden from repr: they may be withheld. The engine knows units and records always; a caller who has his
    own table checked may not.
    """

    units: IntArray = field(repr=False)
    records: IntArray = field(repr=False)
    households: FloatArray | None = field(default=None, repr=False)
    weight_sums: FloatArray | None = field(default=None, repr=False)
    unit_weight_sums: FloatArray | None = field(default=None, repr=False)
    measures: tuple[MeasureFacts, ...] = field(default=(), repr=False)
    holdings: IntArray | None = field(default=None, repr=False)
    """Distinct holdings, a unit of none counted as one itself; None where units belong to no holdings."""
    structural_zeros: BoolArray | None = field(default=None, repr=False)
    """Cells that everybody knows nobody can be in; None where there are none."""
    marks: IntArray | None = field(default=None, repr=False)
    """Sum of secret record marks modulo 2^62: equal marks and equal records mean the same population."""
    keys: KeyArray | None = field(default=None, repr=False)
    """Secret keys of the cells, of who is in them and nothing else; None where they were not asked for."""

    def __len__(self) -> int:
        return len(self.units)
