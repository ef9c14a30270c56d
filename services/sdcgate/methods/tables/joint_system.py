"""All tables that agree jointly with what has left: unknown amounts of atoms, and known sums of them.

Amounts are counts, or what `joint_sums` makes of a measure.

Atoms are joint codes of the domain's variables, as far as boxes tell them apart; those that lie in the same
boxes are one column, which is exact. A published zero empties all its atoms.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, count
from math import prod
from types import MappingProxyType

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.boxes import Box, bits
from sdcgate.methods.tables.combinations import Combinations, Held
from sdcgate.methods.tables.combined_sums import CombinedSum, boxes_of, factored
from sdcgate.methods.tables.joint_domain import classes
from sdcgate.methods.tables.splitmix import GAMMA, finalised

TOLERANCE = 1e-6
"""A bound so close to a whole number is that number."""
COUNT_TOLERANCE = 1e-5
"""The same, in records, where amounts are parts of records: their sums have a little room."""


def _none() -> FloatArray:
    return np.zeros(0)


def _no_rows() -> IntArray:
    return np.zeros(0, dtype=np.int64)


def _no_flags() -> BoolArray:
    return np.zeros(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums of columns, a row each: in row `rows[k]` stands column `columns[k]`."""

    rows: IntArray
    columns: IntArray
    shape: tuple[int, int]
    factors: FloatArray | None = field(default=None, repr=False)
    """By which columns are multiplied in their rows, shape (entries,); None where all are 1."""

    def of(self, values: FloatArray) -> FloatArray:
        """The sums, shape (rows,), of values of the columns."""
        return np.bincount(self.rows, self.times(values[self.columns]), self.shape[0]).astype(np.float64)

    def spread(self, weights: FloatArray) -> FloatArray:
        """For each column the weights of its rows added up, shape (columns,)."""
        return np.bincount(self.columns, self.times(weights[self.rows]), self.shape[1]).astype(np.float64)

    def times(self, values: FloatArray) -> FloatArray:
        """Values of the entries, shape (entries,), multiplied by the factors."""
        return values if self.factors is None else values * self.factors


@dataclass(frozen=True, slots=True, eq=False)
class JointSystem:
    """Amounts that are not negative, a column each: sums that are known, and others that must not be."""

    published: tuple[Box, ...]
    """The boxes of the rows of `known`; where only a most is known the row has what lacks as a column."""
    counts: FloatArray = field(repr=False)
    known: Sums = field(repr=False)
    secret: Sums = field(repr=False)
    room: float = 0.0
    """By how much known sums may be off; 0 where all are whole numbers."""
    limits: int = 0
    """Of how many of the sums without factors, the last ones, only a most is known."""
    held: FloatArray | None = field(default=None, repr=False)
    """The amounts that are true, shape (columns,), where they are given: a solution to begin with."""
    places: IntArray | None = field(default=None, repr=False)
    """The column of each combination of which an amount was given, and -1 where it is in none."""
    slack: FloatArray = field(default_factory=_none, repr=False)
    """By how much the last sums, whose columns have factors, may be off; one number for each of these."""
    scales: FloatArray = field(default_factory=_none, repr=False)
    """By what these sums are divided."""
    same: IntArray = field(default_factory=_no_rows, repr=False)
    """Numbers of these sums, from 0 where they are of the same: then a column's factor is the same in all."""
    rounded: BoolArray = field(default_factory=_no_flags, repr=False)
    """Which of these sums are rounded: they say nothing more in whole numbers."""
    counted: "Counted | None" = None
    """How secrets are counted in whole numbers, where amounts are none; None where they are not."""

    @property
    def kinds(self) -> IntArray:
        """Of known sums of the same kind one can be taken from another, shape (known sums,)."""
        own = np.where(self.same < 0, self.same, 1 + self.same)
        return np.concatenate([np.zeros(self.plain, dtype=np.int64), own])

    @property
    def rooms(self) -> FloatArray:
        """By how much each known sum may be off, shape (known sums,)."""
        rooms = np.full(len(self.counts), self.room)
        rooms[self.plain :] += self.slack
        return rooms

    @property
    def plain(self) -> int:
        """Known sums whose columns have no factors; they are the first."""
        return len(self.counts) - len(self.slack)

    @property
    def columns(self) -> int:
        """Unknown amounts."""
        return self.known.shape[1]

    @property
    def whole(self) -> bool:
        """Whether amounts are whole numbers."""
        return self.room == 0.0

    def apart(self, lowest: FloatArray, highest: FloatArray) -> FloatArray:
        """How far apart secrets can be that lie between bounds, shape (secrets,) each.

        In whole numbers where amounts, or secrets, are.
        """
        if self.counted is None:
            return distance(lowest, highest, self.whole)
        least, greatest = self.counted.whole(lowest, highest)
        return self.counted.record * (greatest - least)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Secrets that are numbers of records, where amounts are parts of records."""

    record: float
    """What a record is of amounts."""
    beside: FloatArray | float = field(default=0.0, repr=False)
    """What secrets have besides their columns, of all or of each: with it they are whole records."""

    def whole(self, lowest: FloatArray, highest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest whole number of records between bounds."""
        least = np.ceil((lowest + self.beside) / self.record - COUNT_TOLERANCE) + 0.0
        return least, np.floor((highest + self.beside) / self.record + COUNT_TOLERANCE)


def joint_system(
    domain: Set[str],
    published: Mapping[Box, float],
    secret: Sequence[Box],
    full: Mapping[str, int],
    told_apart: Set[Box] = frozenset(),
    room: float = 0.0,
    limits: Mapping[Box, float] = MappingProxyType({}),
    held: Held | None = None,
    combined: Sequence[CombinedSum] = (),
) -> JointSystem:
    """The system of boxes that restrict no variables but the domain's.

    Args:
        domain: variables.
        published: boxes with their amounts.
        secret: boxes that must stay uncertain.
        full: full mask of every variable of the domain.
        told_apart: published boxes that are rows even where they are empty.
        room: by how much amounts may be off; 0 for whole numbers.
        limits: other boxes with the most that they may have.
        held: what people have in truth, where it is known: by the domain's variables.
        combined: what is known of several boxes together.
    """
    exact = [box for box, count in published.items() if count or box in told_apart]
    nothing = [box for box, count in published.items() if not (count or box in told_apart)]
    shown = [*exact, *limits]
    bounded = [(one, ends) for one in combined if (ends := one.between) is not None]
    others = [one for one in combined if one.between is None]
    parted = boxes_of([*(one for one, _ in bounded), *others])
    grid = _Grid(domain, [*nothing, *shown, *secret, *parted], full)
    rows, atoms = grid.inside()
    of_nothing, empty = rows < len(nothing), np.zeros(grid.atoms, dtype=np.bool_)
    empty[atoms[of_nothing]] = True
    left = ~(of_nothing | empty[atoms])
    rows, atoms = rows[left] - len(nothing), atoms[left]
    first = first_alike(rows, atoms, grid.atoms)
    chosen = first == np.arange(grid.atoms)
    column = np.cumsum(chosen) - 1
    kept = chosen[atoms]
    rows, columns, size = rows[kept], column[atoms[kept]], int(chosen.sum())
    known, hidden = rows < len(shown), len(shown) + len(secret)
    # What a limited box lacks of the most that it may have is an amount by itself.
    lacking = np.arange(len(limits))
    known_rows = np.concatenate([rows[known], len(exact) + lacking])
    known_columns = np.concatenate([columns[known], size + lacking])
    people, places = None, None
    if held is not None:
        places = _columns(grid.atoms_of(held.combinations), first, column)
        people = with_lacking(summed(held.amounts, places, size), rows, columns, len(exact), limits)
    size += len(limits)
    withheld = ~known & (rows < hidden)
    system = JointSystem(
        tuple(shown),
        np.array([*(published[box] for box in exact), *limits.values()], dtype=np.float64),
        Sums(known_rows, known_columns, (len(shown), size)),
        Sums(rows[withheld] - len(shown), columns[withheld], (len(secret), size)),
        room,
        len(limits),
        people,
        places,
    )
    if bounded:
        inside = (rows >= hidden) & (rows < hidden + len(bounded))
        names, between = [one.told_by for one, _ in bounded], np.array([ends for _, ends in bounded])
        system = with_bounds(system, names, between, rows[inside] - hidden, columns[inside])
    if others:
        inside = rows >= hidden + len(bounded)
        system = _with_factors(system, others, rows[inside] - hidden - len(bounded), columns[inside])
    return system


def with_bounds(
    system: JointSystem, names: Sequence[Box], ends: FloatArray, rows: IntArray, columns: IntArray
) -> JointSystem:
    """A system with boxes of which it is known between what they lie.

    What a box lacks of the most, and has more than the least, are amounts by themselves that add up.

    Args:
        system: everything else that is known.
        names: by what each is told.
        ends: the least and the most of each, shape (boxes, 2).
        rows: numbers of boxes, shape (entries,).
        columns: the columns that lie in them, shape (entries,).
    """
    if system.whole:
        ends = np.column_stack([np.ceil(ends[:, 0] - TOLERANCE), np.floor(ends[:, 1] + TOLERANCE)])
    least, most = np.maximum(ends[:, 0], 0.0), ends[:, 1]
    known, each, count = system.known, np.arange(len(names)), len(names)
    # Those of which only a most is known stay the last.
    first = system.plain - system.limits
    lacking, beyond = known.shape[1] + each, known.shape[1] + count + each
    of_limits = np.where(known.rows >= first, known.rows + 2 * count, known.rows)
    new_rows = [first + rows, first + each, first + count + each, first + count + each]
    factors = known.factors
    if factors is not None:
        factors = np.concatenate([factors, np.ones(len(rows) + 3 * count)])
    sums = Sums(
        np.concatenate([of_limits, *new_rows]),
        np.concatenate([known.columns, columns, lacking, lacking, beyond]),
        (known.shape[0] + 2 * count, known.shape[1] + 2 * count),
        factors,
    )
    held = system.held
    if held is not None:
        inside = np.bincount(rows, held[columns], count)
        held = np.concatenate([held, most - inside, inside - least])
    secret = system.secret
    return replace(
        system,
        published=(*system.published[:first], *names, *names, *system.published[first:]),
        counts=np.insert(system.counts, first, np.concatenate([most, most - least])),
        known=sums,
        secret=Sums(secret.rows, secret.columns, (secret.shape[0], sums.shape[1])),
        held=held,
    )


def _with_factors(
    system: JointSystem, combined: Sequence[CombinedSum], parts: IntArray, columns: IntArray
) -> JointSystem:
    """With sums of several boxes, where `parts` are the numbers of these, one sum's after the other's."""
    found, known, first = factored(combined, parts, columns, system.columns), system.known, len(system.counts)
    sums = Sums(
        np.concatenate([known.rows, first + found.rows]),
        np.concatenate([known.columns, found.columns]),
        (first + len(combined), system.columns),
        np.concatenate([np.ones(len(known.rows)), found.factors]),
    )
    return replace(
        system,
        published=(*system.published, *(one.told_by for one in combined)),
        counts=np.concatenate([system.counts, found.totals]),
        known=sums,
        slack=found.slack,
        scales=found.scales,
        same=found.same,
        rounded=found.rounded,
    )


def distance(lowest: FloatArray, highest: FloatArray, whole: bool) -> FloatArray:
    """How far apart two values can be that lie between bounds; of whole numbers, where all is whole."""
    if not whole:
        return highest - lowest
    return np.asarray(np.floor(highest + TOLERANCE) - np.ceil(lowest - TOLERANCE), dtype=np.float64)


def _columns(atoms: IntArray, first: IntArray, column: IntArray) -> IntArray:
    """The columns of atoms, where `first` are the first ones alike and `column` those of these."""
    alike = np.where(atoms >= 0, first[atoms], -1)
    return np.where(alike >= 0, column[alike], -1)


def summed(amounts: FloatArray, places: IntArray, columns: int) -> FloatArray:
    """Amounts added up by the columns that they stand in, of -1 none, shape (columns,)."""
    inside = places >= 0
    return np.bincount(places[inside], amounts[inside], columns).astype(np.float64)


def with_lacking(
    amounts: FloatArray, rows: IntArray, columns: IntArray, exact: int, limits: Mapping[Box, float]
) -> FloatArray:
    """Amounts of columns, and what limited boxes, the rows after the exact ones, lack of the most."""
    limited = (rows >= exact) & (rows < exact + len(limits))
    inside = np.bincount(rows[limited] - exact, amounts[columns[limited]], len(limits))
    return np.concatenate([amounts, np.array([*limits.values()], dtype=np.float64) - inside])


def numbered(rows: IntArray, factors: FloatArray) -> tuple[IntArray, IntArray]:
    """Numbers of entries, the same where row and factor are, shape (entries,); and the row of each number."""
    different, factor = np.unique(factors, return_inverse=True)
    own, number = np.unique(rows * len(different) + factor, return_inverse=True)
    return number, own // max(len(different), 1)


class _Grid:
    """The atoms of some variables, row-major in alphabetical order of the variables."""

    def __init__(self, domain: Set[str], boxes: Sequence[Box], full: Mapping[str, int]) -> None:
        pairs = defaultdict[tuple[str, int], int](count().__next__)
        self._pair = np.array([pairs[pair] for box in boxes for pair in box], dtype=np.int64)
        self._box = np.repeat(np.arange(len(boxes)), np.fromiter(map(len, boxes), np.int64, len(boxes)))
        masks: dict[str, set[int]] = {name: set() for name in domain}
        for name, mask in pairs:
            masks[name].add(mask)
        self._parts = {name: classes(full[name], frozenset(masks[name])) for name in sorted(domain)}
        self._pairs, self._boxes = list(pairs), len(boxes)
        self.atoms = prod(len(parts) for parts in self._parts.values())

    def inside(self) -> tuple[IntArray, IntArray]:
        """The atoms of the boxes, as the boxes' numbers and the atoms', one box after the other."""
        from sdcgate.methods.tables.atom_loops import atoms_inside

        number = {name: place for place, name in enumerate(self._parts)}
        lists = [[*range(len(parts))] for parts in self._parts.values()]
        lists += [self._inside(*pair) for pair in self._pairs]
        which = np.tile(np.arange(len(number)), (self._boxes, 1))
        variables = np.array([number[name] for name, _ in self._pairs], dtype=np.int64)
        which[self._box, variables[self._pair]] = len(number) + self._pair
        starts = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        sizes = np.array([len(parts) for parts in self._parts.values()], dtype=np.int64)
        parts = np.fromiter(chain.from_iterable(lists), np.int64, int(starts[-1]))
        return atoms_inside(which, starts, parts, sizes)

    def atoms_of(self, combinations: Combinations) -> IntArray:
        """The atom of each combination, and -1 of who has other codes; shape (combinations,)."""
        atoms, inside = np.zeros((2, len(combinations.codes)), dtype=np.int64)
        inside += 1
        for name, parts in self._parts.items():
            codes = combinations.codes[:, combinations.variables.index(name)]
            part = np.full(1 + max(int(codes.max(initial=0)), *(mask.bit_length() for mask in parts)), -1)
            for place, mask in enumerate(parts):
                part[bits(mask, len(part))] = place
            atoms = atoms * len(parts) + part[codes]
            inside &= part[codes] >= 0
        return np.where(inside > 0, atoms, -1)

    def _inside(self, name: str, mask: int) -> list[int]:
        return [place for place, part in enumerate(self._parts[name]) if not part & ~mask]


def first_alike(rows: IntArray, atoms: IntArray, count: int) -> IntArray:
    """For each atom the first one that lies in the same rows, and -1 for those in no row; shape (count,).

    Two atoms in different rows are taken for one if 64-bit sums of scrambled row numbers agree.
    """
    from sdcgate.methods.tables.atom_loops import first_of_same

    numbers = np.arange(1, int(rows.max(initial=-1)) + 2, dtype=np.uint64)
    return first_of_same(rows, atoms, finalised(numbers * GAMMA), count)
