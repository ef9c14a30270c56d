"""Which keys of two releases of one source agree, where each codes the variables that they share its own way.

A level is told by the code of every finest code, and a code stands for the finest codes that it holds. Two
records agree where, of every shared variable, their codes have a finest code in common. See `several_files`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.risk.keys import Missing, checked_codes, checked_weights, group_keys
from sdcgate.methods.risk.units import group_ids

LARGEST_PAIRS = 2e9
"""Pairs of keys that are compared one by one where levels lie crosswise: about a minute."""
LARGEST_TABLE = 100_000_000
"""Pairs of codes of one variable whose levels lie crosswise."""
_BLOCK = 4_000_000
"""Pairs that are compared at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """One release, a row a unit."""

    codes: IntArray = field(repr=False)
    """Its key variables, -1 where missing, shape (units, keys)."""
    weights: FloatArray | None = field(default=None, repr=False)
    """Finite and above 0, shape (units,); None where it is the population."""
    ids: IntArray | None = field(default=None, repr=False)
    """Who each unit is, the same integers in both releases, each once; None where that is not known."""

    def __post_init__(self) -> None:
        units = len(checked_codes(self.codes))
        if not units:
            raise ValueError("codes: the release has no units")
        if self.weights is not None:
            checked_weights(self.weights, units)
        if self.ids is not None and (group_ids(self.ids, units, "ids").counts > 1).any():
            raise ValueError("ids: a unit stands more than once; reduce records to units first")


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """A variable that both releases show, each at a level of its own."""

    first: int
    """Its column in the first release."""
    second: int
    first_level: IntArray
    """The first release's code of each finest code, -1 where it has none for it, shape (finest codes,)."""
    second_level: IntArray

    def __post_init__(self) -> None:
        first, second = np.asarray(self.first_level), np.asarray(self.second_level)
        if first.shape != second.shape or first.ndim != 1 or not len(first):
            raise ValueError("levels: must give a code for each finest code, in both releases")
        if min(first.min(), second.min()) < -1:
            raise ValueError("levels: codes must count from 0")
        if not ((first >= 0) & (second >= 0)).any():
            raise ValueError("levels: the releases have no finest code in common")

    @property
    def pairs(self) -> IntArray:
        """Codes of both releases that have a finest code in common, shape (pairs, 2)."""
        pairs = np.unique(np.column_stack([self.first_level, self.second_level]), axis=0)
        found: IntArray = pairs[(pairs >= 0).all(axis=1)].astype(np.int64)
        return found


class Agreement:
    """Which distinct shared keys of one release agree with which of the other.

    The codes of each variable fall into blocks that agree with nothing outside. Where all within a block
    agree, levels group each other and the block is all that counts; other variables, whose levels lie
    crosswise, are compared pair by pair.
    """

    def __init__(self, first: Release, second: Release, shared: tuple[Shared, ...], missing: Missing) -> None:
        own = first.codes[:, [_column(one.first, first) for one in shared]]
        others = second.codes[:, [_column(one.second, second) for one in shared]]
        self.first, self.second = group_keys(own), group_keys(others)
        self._codes = own[self.first.first], others[self.second.first]
        levels = [
            _Levels(one, int(mine.max()), int(theirs.max()), missing)
            for one, mine, theirs in zip(shared, own.T, others.T, strict=True)
        ]
        labels = [
            np.concatenate([level.blocks[0][mine], level.blocks[1][theirs]])
            for level, mine, theirs in zip(levels, self._codes[0].T, self._codes[1].T, strict=True)
        ]
        joint = group_keys(np.column_stack(labels)).group
        self._block = joint[: len(self.first)], joint[len(self.first) :]
        self._crosswise = [(place, level.table()) for place, level in enumerate(levels) if not level.grouped]

    def counts(self, heed: Callable[[], None] | None = None) -> tuple[IntArray, IntArray, IntArray]:
        """Units of the second that each key of the first agrees with, and the other way round.

        And, where that is one unit, the key of the second that a key of the first agrees with. `heed` is
        called before each part of the pairs.
        """
        candidates = np.zeros(len(self.first), dtype=np.int64)
        back = np.zeros(len(self.second), dtype=np.int64)
        only = np.full(len(self.first), -1, dtype=np.int64)
        for rows, columns in self._pairs():
            if heed is not None:
                heed()
            if not self._crosswise:
                candidates[rows] = self.second.counts[columns].sum()
                back[columns] += self.first.counts[rows].sum()
                only[rows] = columns[0]
                continue
            agrees = self._compare(rows, columns)
            candidates[rows] = agrees @ self.second.counts[columns]
            back[columns] += self.first.counts[rows] @ agrees
            single = agrees.sum(axis=1) == 1
            only[rows[single]] = columns[agrees[single].argmax(axis=1)]
        return candidates, back, only

    def agree(self, rows: IntArray, columns: IntArray) -> BoolArray:
        """Whether keys of the first agree with keys of the second, pair by pair."""
        found: BoolArray = self._block[0][rows] == self._block[1][columns]
        for place, table in self._crosswise:
            found &= table[self._codes[0][rows, place], self._codes[1][columns, place]]
        return found

    def _pairs(self) -> list[tuple[IntArray, IntArray]]:
        """Keys of both releases by their block, the first's in parts whose pairs fit in memory."""
        first, second = _members(self._block[0]), _members(self._block[1])
        both = sorted(first.keys() & second.keys())
        if not self._crosswise:
            return [(first[block], second[block]) for block in both]
        pairs = sum(len(first[block]) * len(second[block]) for block in both)
        if pairs > LARGEST_PAIRS:
            raise ValueError(f"shared: {pairs:.1e} pairs of keys would be compared; share coherent levels")
        found = []
        for block in both:
            step = max(_BLOCK // len(second[block]), 1)
            for begin in range(0, len(first[block]), step):
                found.append((first[block][begin : begin + step], second[block]))
        return found

    def _compare(self, rows: IntArray, columns: IntArray) -> BoolArray:
        agrees = np.ones((len(rows), len(columns)), dtype=np.bool_)
        for place, table in self._crosswise:
            agrees &= table[np.ix_(self._codes[0][rows, place], self._codes[1][columns, place])]
        return agrees


class _Levels:
    """Which codes of one variable agree; the last code of each release, also found as -1, is missing."""

    def __init__(self, shared: Shared, highest: int, highest_other: int, missing: Missing) -> None:
        self._sizes = int(shared.first_level.max()) + 2, int(shared.second_level.max()) + 2
        if highest >= self._sizes[0] - 1 or highest_other >= self._sizes[1] - 1:
            raise ValueError("levels: a release has a code that its level does not have")
        lacking = self._sizes[0] - 1, self._sizes[1] - 1
        pairs = [shared.pairs, np.array([lacking])]
        if missing is Missing.WILDCARD:
            pairs.append(np.column_stack([np.full(self._sizes[1], lacking[0]), np.arange(self._sizes[1])]))
            pairs.append(np.column_stack([np.arange(self._sizes[0]), np.full(self._sizes[0], lacking[1])]))
        self._pairs = np.unique(np.vstack(pairs), axis=0)
        self.blocks = _blocks(self._pairs, self._sizes)
        sizes = [np.bincount(labels[labels >= 0], minlength=1) for labels in self.blocks]
        shortest = min(map(len, sizes))
        self.grouped = int((sizes[0][:shortest] * sizes[1][:shortest]).sum()) == len(self._pairs)

    def table(self) -> BoolArray:
        """Whether each code of the first agrees with each of the second."""
        if self._sizes[0] * self._sizes[1] > LARGEST_TABLE:
            raise ValueError("levels: too many codes lie crosswise to be compared")
        table = np.zeros(self._sizes, dtype=np.bool_)
        table[self._pairs[:, 0], self._pairs[:, 1]] = True
        return table


def _blocks(pairs: IntArray, sizes: tuple[int, int]) -> tuple[IntArray, IntArray]:
    """The block of each code of both releases: what pairs connect; a code of no pair is one of its own."""
    parent = list(range(sum(sizes)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = at = parent[parent[at]]
        return at

    for one, other in pairs.tolist():
        parent[root(sizes[0] + other)] = root(one)
    labels = np.unique([root(at) for at in range(len(parent))], return_inverse=True)[1].astype(np.int64)
    return labels[: sizes[0]], labels[sizes[0] :]


def _members(block: IntArray) -> dict[int, IntArray]:
    """Positions by their block."""
    order = np.argsort(block, kind="stable")
    values, begins = np.unique(block[order], return_index=True)
    return dict(zip(values.tolist(), np.split(order, begins[1:]), strict=True))


def _column(column: int, release: Release) -> int:
    if not 0 <= column < release.codes.shape[1]:
        raise ValueError("shared: a column is not in its release")
    return column
