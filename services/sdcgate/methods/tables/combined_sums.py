"""What is known of several boxes together: a sum of their amounts, each with a factor of its own.

Everybody of a town may have the same weight. Then the sum of weights of a trade is one equation of how many
people of the trade each town has, with the weights as factors. That a quarter of those who answered are ill
is one, too: the ill less a quarter of those who answered are none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.boxes import Box

LEAST_ROOM, ROUNDING = 1e-7, 1e-12
"""By how much a sum may be off at least: as programs work, and for its size."""
MOST_DECIMALS = 6
"""Decimal places of factors that are taken for whole numbers of their last one."""


@dataclass(frozen=True, slots=True)
class CombinedSum:
    """A known sum of amounts of boxes with factors. Its boxes may overlap."""

    told_by: Box
    """A name of its own, by which it is told who told it."""
    parts: tuple[tuple[Box, float], ...]
    """Boxes with their factors."""
    total: float
    room: float = 0.0
    """By how much the total may be off."""
    of: str = ""
    """What is summed, where everybody has the same factor in all sums of it; empty where nothing is."""
    rounded: bool = False
    """Whether its room is the rounding of a figure: then it is not looked at in whole numbers."""
    less: float = 0.0
    """Of sums of a measure: by how much each value counts less than it is."""

    @property
    def between(self) -> tuple[float, float] | None:
        """Between what it says that a single box lies; None where it says more."""
        one_box = self.rounded and len(self.parts) == 1 and self.parts[0][1] == 1.0
        return (self.total - self.room, self.total + self.room) if one_box else None


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """What everybody has of a quantity, by the codes of variables that decide it."""

    parts: tuple[tuple[Box, float], ...] = field(repr=False)
    """Boxes apart from each other, with what each record in them has; others have none."""
    full: Mapping[str, int]
    """Full masks of the variables."""

    @property
    def variables(self) -> frozenset[str]:
        """The variables that decide it."""
        return frozenset(self.full)


def whole_factors(parts: Sequence[tuple[Box, float]]) -> tuple[tuple[Box, int], ...]:
    """Boxes with factors that are whole numbers, in the same ratios; none where they have more places."""
    for decimals in range(MOST_DECIMALS + 1):
        scaled = [(box, factor * 10.0**decimals) for box, factor in parts]
        if all(abs(factor - round(factor)) <= LEAST_ROOM for _, factor in scaled):
            return tuple((box, round(factor)) for box, factor in scaled)
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Factored:
    """Combined sums over columns: in row `rows[k]` stands column `columns[k]`, `factors[k]` times."""

    rows: IntArray
    columns: IntArray
    factors: FloatArray = field(repr=False)
    totals: FloatArray = field(repr=False)
    slack: FloatArray = field(repr=False)
    """By how much the totals may be off."""
    scales: FloatArray = field(repr=False)
    """By what they were divided, shape (sums,)."""
    same: IntArray = field(repr=False)
    """A number from 0, the same for sums of the same; another one below 0 for each other sum; (sums,)."""
    rounded: BoolArray = field(repr=False)
    """Those that are rounded, shape (sums,)."""


def variables_together(one: CombinedSum) -> frozenset[str]:
    """All variables that boxes of a sum restrict."""
    return frozenset(name for box, _ in one.parts for name, _ in box)


def boxes_of(combined: Iterable[CombinedSum]) -> list[Box]:
    """All boxes of some sums, one sum's after the other's."""
    return [box for one in combined for box, _ in one.parts]


def factored(combined: Sequence[CombinedSum], parts: IntArray, columns: IntArray, count: int) -> Factored:
    """Combined sums over columns, divided by the greatest factor of all that are of the same.

    Args:
        combined: sums.
        parts: numbers of boxes, as `boxes_of` has them: shape (entries,).
        columns: the columns that lie in them, shape (entries,).
        count: how many columns there are.
    """
    of_part = np.array([factor for one in combined for _, factor in one.parts], dtype=np.float64)
    row_of_part = np.repeat(np.arange(len(combined)), [len(one.parts) for one in combined])
    places, entry = np.unique(row_of_part[parts] * count + columns, return_inverse=True)
    factors = np.bincount(entry, of_part[parts], len(places))
    kept = factors != 0.0
    rows, factors = places[kept] // count, factors[kept]
    numbers = {of: number for number, of in enumerate(dict.fromkeys(one.of for one in combined if one.of))}
    of = [numbers.get(one.of, -1 - place) for place, one in enumerate(combined)]
    same = np.array(of, dtype=np.int64)
    # Of those below 0 there are no more than sums: they count from the end.
    greatest = np.zeros(len(combined) + len(numbers))
    np.maximum.at(greatest, same[rows], np.abs(factors))
    size = np.where(greatest > 0.0, greatest, 1.0)[same]
    totals = np.array([one.total for one in combined], dtype=np.float64) / size
    rooms = np.array([one.room for one in combined], dtype=np.float64) / size
    slack = np.maximum(rooms, least_slack(totals))
    rounded = np.array([one.rounded for one in combined], dtype=np.bool_)
    return Factored(rows, places[kept] % count, factors / size[rows], totals, slack, size, same, rounded)


def least_slack(totals: FloatArray) -> FloatArray:
    """By how much sums may be off at least, shape (sums,)."""
    return LEAST_ROOM + ROUNDING * np.abs(totals)
