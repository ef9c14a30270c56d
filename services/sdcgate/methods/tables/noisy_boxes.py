"""Noise in all tables together: whether behind the noisy figures that left other true figures stay possible.

An intruder is taken to know the tables, the method and the perturbation table, and no keys. Cell keys are
keyed hashes of who is in a cell, so that the noise of different populations is independent to him, and all
noise that has a probability can occur together. One person more in a combination of codes that occurs, alike
to one who is there and with nothing to add to any sum, makes no two populations equal that were not. The
figures stay what they are if each noisy count with that combination can be that of one more. Then every count
that has the combination can be its true value or one more, in all tables together: two witnesses, no program
to solve. One person less is as good, if two or more share the combination: no population that was another one
becomes equal. Where exact counts are known, one person more goes with one less among the same exact cells.

A sum stays possible d away, if one of its contributions may be d more (or less) in all noisy sums that it is
in: their noise has any value within bounds that rise with the largest contributions. Values come in whole
multiples of their last decimal, and so does d.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray, State
from sdcgate.methods.tables.boxes import Box, BoxTable, codes_within
from sdcgate.methods.tables.cell_key import may_become
from sdcgate.methods.tables.ptable import PTable
from sdcgate.methods.tables.sensitivity import CLOSE

NOWHERE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The combinations of codes that occur, by the variables of all tables: `codes` (atoms, variables)."""

    variables: tuple[str, ...]
    codes: IntArray = field(repr=False)
    records: IntArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def cells_of(self, table: BoxTable) -> IntArray:
        """Cells of a table that have each atom, shape (atoms, ways); NOWHERE where there are fewer.

        Of a variable that the atoms do not have any code counts: more cells than have it can only hinder.
        """
        cells = np.zeros((len(self), 1), dtype=np.int64)
        for variable, masks in table.axes:
            places = self._places(variable, masks)
            found = cells[:, :, None] * len(masks) + places[:, None, :]
            nowhere = (cells[:, :, None] == NOWHERE) | (places[:, None, :] == NOWHERE)
            cells = np.where(nowhere, NOWHERE, found).reshape(len(self), -1)
        for variable, mask in table.fixed:
            if variable in self.variables:
                cells[~self._within(variable, mask)] = NOWHERE
        return cells

    def within(self, box: Box) -> BoolArray:
        """Atoms that lie in a box, shape (atoms,)."""
        inside = np.ones(len(self), dtype=np.bool_)
        for variable, mask in box:
            inside &= self._within(variable, mask)
        return inside

    def _places(self, variable: str, masks: Sequence[int]) -> IntArray:
        """Places on an axis that have each atom, shape (atoms, most)."""
        codes = self.codes[:, self.variables.index(variable)]
        having = [
            [place for place, mask in enumerate(masks) if mask >> code & 1]
            for code in range(int(codes.max(initial=0)) + 1)
        ]
        most = max(map(len, having), default=0)
        padded = [places + [NOWHERE] * (most - len(places)) for places in having]
        table = np.array(padded, dtype=np.int64).reshape(len(having), most)
        found: IntArray = table[codes]
        return found

    def _within(self, variable: str, mask: int) -> BoolArray:
        return codes_within(mask, self.codes[:, self.variables.index(variable)])


def _nothing() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """One quantity of a table that left with noise: counts, or the sums of a measure; shape (cells,).

    Cells that are PERTURBED left, the others did not. `reach` is the most by which a sum's noise could have
    changed it, `width` by how much it must stay uncertain where it is unsafe; both are empty for counts. An
    `unsafe` count must stay possible to be another one.
    """

    quantity: str
    table: BoxTable
    true: FloatArray = field(repr=False)
    noisy: FloatArray = field(repr=False)
    unsafe: BoolArray = field(repr=False)
    reach: FloatArray = field(default_factory=_nothing, repr=False)
    width: FloatArray = field(default_factory=_nothing, repr=False)

    @property
    def left(self) -> BoolArray:
        """Cells whose noisy figure left."""
        left: BoolArray = self.table.states == State.PERTURBED
        return left

    @property
    def of_sums(self) -> bool:
        """Whether it is of a measure's sums."""
        return len(self.reach) > 0


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """What may change in each atom, shape (atoms,), as far as the noisy counts or sums go that have it."""

    more: FloatArray
    """By how much more a figure may be; for counts 1 or 0."""
    less: FloatArray


def _least(values: FloatArray, cells: IntArray, left: BoolArray) -> FloatArray:
    """The least value of the cells that have each atom and left."""
    padded = np.append(np.where(left, values, np.inf), np.inf)
    found: FloatArray = padded[cells].min(axis=1, initial=np.inf)
    return found


def room_of_counts(tables: Sequence[NoisyTable], atoms: Atoms, ptable: PTable) -> Room:
    """Whether each atom may have one person more, and one less, behind all noisy counts."""
    more, less = np.ones(len(atoms)), np.ones(len(atoms))
    for noisy in tables:
        counts, told = noisy.true.astype(np.int64), noisy.noisy.astype(np.int64)
        cells = atoms.cells_of(noisy.table)
        for found, step in ((more, 1), (less, -1)):
            possible = may_become(counts + step, told, ptable).astype(np.float64)
            np.minimum(found, _least(possible, cells, noisy.left), out=found)
    return Room(more, less)


def room_of_sums(tables: Sequence[NoisyTable], atoms: Atoms, share: float, signed: bool = False) -> Room:
    """By how much one contribution of each atom may be more, and less, behind all noisy sums of a measure.

    `share` is the most by which noise changes a sum, of its largest contribution: with a contribution that
    falls the bounds may fall, with one that rises they do not; but of a `signed` measure, as -100 rises to
    -90.
    """
    more, less = np.full(len(atoms), np.inf), np.full(len(atoms), np.inf)
    for noisy in tables:
        cells = atoms.cells_of(noisy.table)
        noise = noisy.noisy - noisy.true
        rising = (noisy.reach + noise) / (1 + share if signed else 1)
        np.minimum(more, _least(rising, cells, noisy.left), out=more)
        np.minimum(less, _least((noisy.reach - noise) / (1 + share), cells, noisy.left), out=less)
    return Room(np.maximum(more, 0.0), np.maximum(less, 0.0))


def in_multiples(width: FloatArray, unit: float) -> FloatArray:
    """The least by which sums of whole multiples of a unit differ that differ by a width, shape (cells,)."""
    steps: FloatArray = np.maximum(np.ceil(width / unit - CLOSE), 1.0) * unit
    return steps


def largest_may_rise(
    tables: Sequence[NoisyTable], atoms: Atoms, largest: float, width: float, share: float
) -> BoolArray:
    """Whether a contribution may be a width more behind all noisy sums of a measure, shape (atoms,).

    It is as great as the `largest` of some cell, of whoever has one record, and of what is never below 0:
    where it is the largest, or becomes it, the noise may be that much more. `share` is the most by which
    noise changes a sum, of its largest contribution and of no others.
    """
    may = np.ones(len(atoms), dtype=np.bool_)
    for noisy in tables:
        grown = np.maximum(largest + width - noisy.reach / share, 0.0) * share
        room = noisy.reach + grown + noisy.noisy - noisy.true
        may &= _least(room, atoms.cells_of(noisy.table), noisy.left) >= width
    return may


def only_multiple(noisy: FloatArray, unit: float, share: float) -> BoolArray:
    """Noisy sums of what is never below 0, in whole multiples of a unit, of which only one is possible.

    `share` is the most by which noise changes a sum, of its largest contribution, which is no more than the
    sum. Shape (cells,).
    """
    # A little wider than floating point has it: a sum at an end of what is possible may come from there.
    least = np.ceil(noisy / (1 + share) / unit - CLOSE)
    most = np.floor(noisy / (1 - share) / unit + CLOSE) if share < 1 else np.full(len(noisy), np.inf)
    found: BoolArray = most <= least
    return found


def answers_of(tables: Sequence[BoxTable], atoms: Atoms) -> IntArray:
    """How many of the cells that left have each atom, each population once, shape (atoms,)."""
    answers, seen = np.zeros(len(atoms), dtype=np.int64), set[tuple[int, int]]()
    for table in tables:
        people = list(zip(table.records.tolist(), table.marks.tolist(), strict=True))
        new = np.zeros(len(table) + 1, dtype=np.int64)
        for cell in np.flatnonzero(table.states == State.PERTURBED).tolist():
            new[cell] = people[cell] not in seen and people[cell][0] > 0
            seen.add(people[cell])
        answers += new[atoms.cells_of(table)].sum(axis=1)
    return answers


def movable(
    counts: Room,
    atoms: Atoms,
    exact: Sequence[Box],
    alone: bool,
    sums_left: bool,
    within: BoolArray | None = None,
) -> BoolArray:
    """Atoms that may have one person more or less in a whole population that explains all that is known.

    Counts of the boxes in `exact` are known. `alone` says that every person has one record, without which
    nobody is taken away; nor is anybody where sums left, as he would take his values along. Of the atoms
    `within` a cell it is those whose person changes its count: where one goes with another, that is outside.
    """
    more = counts.more > 0
    less = (counts.less > 0) & (atoms.records > 1) & alone & (not sums_left)
    where = np.array([atoms.within(box) for box in exact], dtype=np.bool_).reshape(len(exact), len(atoms)).T
    free = ~where.any(axis=1)
    _, group = np.unique(where, axis=0, return_inverse=True)
    group = group.reshape(-1)
    outside = np.ones_like(free) if within is None else ~within
    givers = np.bincount(group, weights=less & outside)[group] - (less & outside)
    takers = np.bincount(group, weights=more & outside)[group] - (more & outside)
    found: BoolArray = (more & (free | (givers > 0))) | (less & (free | (takers > 0)))
    return found if within is None else found & within


def within_reach(noisy: NoisyTable, atoms: Atoms, possible: FloatArray, every: bool = False) -> FloatArray:
    """By how much an atom in each cell may change, or `every` atom, shape (cells,); -inf where there is none.

    `possible` is by how much each atom may change, shape (atoms,).
    """
    found = np.full(len(noisy.table) + 1, -np.inf)
    cells = atoms.cells_of(noisy.table)
    if every:
        found[cells.reshape(-1)] = np.inf
    for column in cells.T:
        (np.minimum if every else np.maximum).at(found, column, possible)
    return found[:-1]
