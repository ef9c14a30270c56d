"""What keys that add up tell of noisy counts: the noise of a total goes with that of its parts.

The key of a total is the sum of its parts' keys modulo one, as fractions. Who knows the perturbation table
sees between what the key of each cell lies, for each count that it may have, and so excludes counts that
could stand by themselves. What is possible is shown by counts and keys that explain all noisy counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.problem import Equations
from sdcgate.methods.tables.ptable import PTable
from sdcgate.methods.tables.solver import Deadline, Program, Rows

EDGE = 1e-6
"""How far from the edges of what gives a noise keys are looked for: more than a solver is off."""
MOST_INNER = 8
"""Inner cells beneath a total that are tried."""
MOST_BESIDE = 6
"""Cells beside it in each total against which an inner cell is moved."""
MOST_CHOICES = 20_000
"""Counts that the cells of a table may have all together, for all of them to be looked at."""
WHOLE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCounts:
    """Counts that left with noise, and what gave it: shapes (cells,), `keys` as fractions of one.

    `fixed` are cells whose true counts are known.
    """

    true: IntArray = field(repr=False)
    noisy: IntArray = field(repr=False)
    keys: FloatArray = field(repr=False)
    table: PTable
    fixed: BoolArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Unexplained:
    """Cells of which no two counts so far apart are shown to be possible, shape (cells,)."""

    cells: BoolArray = field(repr=False)
    refuted: bool
    """Whether of one of them it is shown that there are none."""


def beside_key_sums(
    equations: Equations, counts: NoisyCounts, asked: BoolArray, width: int, deadline: Deadline
) -> Unexplained:
    """Of cells that are asked for those that keys may tell: whether other counts, `width` away, explain all.

    The equations of totals hold for keys as well; those without a total are of counts alone.
    """
    near = _Near(equations, counts)
    left = np.array([c for c in np.flatnonzero(asked).tolist() if not near.moves(c, width, deadline)], int)
    found = np.zeros(len(asked), dtype=np.bool_)
    refuted = False
    if len(left):
        found[left] = True
        everything = _Everything.of(equations, counts)
        for cell in left.tolist():
            most = None if everything is None else everything.apart(cell, width, deadline)
            found[cell] = most is None or most < width
            refuted |= most is not None and most < width
    return Unexplained(found, refuted)


class _Brackets:
    """Between what the key of a cell lies, by its count and its noise."""

    def __init__(self, table: PTable) -> None:
        self._last, self._most = table.last_count, table.maximum_noise
        first = np.append(True, table.counts[1:] != table.counts[:-1])
        below = np.where(first, 0.0, np.append(0.0, table.upper[:-1]))
        shape = (self._last + 1, 2 * self._most + 1)
        self._lower, self._upper = np.ones(shape), np.zeros(shape)
        drawn = table.upper - below > 2 * EDGE
        place = table.counts[drawn], table.noise[drawn] + self._most
        self._lower[place], self._upper[place] = below[drawn] + EDGE, table.upper[drawn] - EDGE
        # Nobody is in a cell of 0, whose key is 0.
        self._lower[0], self._upper[0] = 1.0, 0.0
        self._lower[0, self._most] = self._upper[0, self._most] = 0.0

    def of(self, count: int, noisy: int) -> tuple[float, float] | None:
        """Between what the key lies; None where that count does not become this noisy one."""
        noise = noisy - count
        if count < 0 or abs(noise) > self._most:
            return None
        row, column = min(count, self._last), noise + self._most
        lower, upper = float(self._lower[row, column]), float(self._upper[row, column])
        return (lower, upper) if lower <= upper else None


class _Near:
    """Tables in which an inner cell moves with its totals, alone or against another, with keys that fit."""

    def __init__(self, equations: Equations, counts: NoisyCounts) -> None:
        self._counts, self._brackets = counts, _Brackets(counts.table)
        summed = _with_total(equations)
        rows, total = equations.rows, equations.signs < 0
        of_rows = summed[rows]
        self._free = ~counts.fixed
        self._free[equations.cells[~of_rows]] = False
        parent = np.zeros(len(equations), dtype=np.int64)
        parent[rows[total]] = equations.cells[total]
        self._above: dict[int, list[int]] = {}
        self._beneath: dict[int, list[int]] = {}
        parts = of_rows & ~total
        for part, whole in zip(equations.cells[parts].tolist(), parent[rows[parts]].tolist(), strict=True):
            self._above.setdefault(part, []).append(whole)
            self._beneath.setdefault(whole, []).append(part)
        self._program = _key_program(equations, len(counts.true))
        own = [self._within(cell, int(counts.true[cell])) for cell in range(len(counts.true))]
        # Where a key lies within an edge it stays where it is.
        ends = [(min(o[0], 0.0), max(o[1], 0.0)) if o is not None else (0.0, 0.0) for o in own]
        self._lower, self._upper = np.array(ends, dtype=np.float64).reshape(-1, 2).T

    def moves(self, cell: int, width: int, deadline: Deadline) -> bool:
        """Whether a cell may be another count, at least so far away."""
        most = 2 * self._counts.table.maximum_noise
        steps = [side * step for step in range(width, most + 1) for side in (1, -1)]
        for signs in self._directions(cell):
            if deadline.over:
                return False
            if cell in signs and all(self._free[one] for one in signs):
                tables = ({one: sign * step for one, sign in signs.items()} for step in steps)
                if any(self._explains(moved, deadline) for moved in tables):
                    return True
        return False

    def _directions(self, cell: int) -> Iterator[dict[int, int]]:
        """Cells that move together, up (1) or down (-1): an inner cell alone, then against others."""
        inner = [one for one in self._closure(cell, self._beneath) if one not in self._beneath][:MOST_INNER]
        chains = [self._closure(one, self._above) for one in inner]
        for chain in chains:
            yield dict.fromkeys(chain, 1)
        for one, chain in zip(inner, chains, strict=True):
            for total in self._above.get(one, ()):
                for other in [part for part in self._beneath[total] if part != one][:MOST_BESIDE]:
                    less = self._closure(other, self._above)
                    both = {*chain} & {*less}
                    signs = dict.fromkeys(chain, 1) | dict.fromkeys(less, -1)
                    yield {moved: sign for moved, sign in signs.items() if moved not in both}

    @staticmethod
    def _closure(cell: int, to: dict[int, list[int]]) -> list[int]:
        found, waiting = {cell: None}, [cell]
        while waiting:
            for other in to.get(waiting.pop(), ()):
                if other not in found:
                    found[other] = None
                    waiting.append(other)
        return list(found)

    def _within(self, cell: int, count: int) -> tuple[float, float] | None:
        """By how much a cell's key may differ from its own, if it has a count."""
        ends = self._brackets.of(count, int(self._counts.noisy[cell]))
        key = float(self._counts.keys[cell]) if self._counts.true[cell] else 0.0
        return None if ends is None else (ends[0] - key, ends[1] - key)

    def _explains(self, moved: dict[int, int], deadline: Deadline) -> bool:
        """Whether there are keys beside which some cells have so many more."""
        lower, upper = self._lower.copy(), self._upper.copy()
        around: dict[int, float] = {}
        for cell, step in moved.items():
            ends = self._within(cell, int(self._counts.true[cell]) + step)
            if ends is None:
                return False
            # Keys are the same where they differ by one: those of totals nearest to that of their inner cell.
            middle = sum(ends) / 2
            whole = round(around.setdefault(step, middle) - middle)
            lower[cell], upper[cell] = ends[0] + whole, ends[1] + whole
        return self._program.maximise(np.zeros(len(lower)), lower, upper, deadline) is not None


class _Everything:
    """Every count of every cell, with keys: an integer program, for tables that are not large."""

    def __init__(self, equations: Equations, counts: NoisyCounts, choices: list[tuple[int, int]]) -> None:
        """`choices` are cells with counts that they may have."""
        self._counts = counts
        self._cells, self._values = np.array(choices, dtype=np.int64).T
        size, chosen = len(counts.true), len(choices)
        brackets = _Brackets(counts.table)
        ends = [brackets.of(count, int(counts.noisy[cell])) or (0.0, 0.0) for cell, count in choices]
        ends_of = np.array(ends, dtype=np.float64)
        each, places = np.arange(size), np.arange(chosen)
        rows = Rows()
        one = rows.start(np.ones(size), np.ones(size))
        rows.put(one + self._cells, places, 1.0)
        # The key of a cell lies where the count that is chosen for it has it.
        for side, lower, upper in ((0, 0.0, np.inf), (1, -np.inf, 0.0)):
            first = rows.start(np.full(size, lower), np.full(size, upper))
            rows.put(first + each, chosen + each, 1.0)
            rows.put(first + self._cells, places, -ends_of[:, side])
        sides = equations.residuals(counts.true[None])[0].astype(np.float64)
        first = rows.start(sides, sides)
        self._put_counts(rows, first, equations)
        summed = np.flatnonzero(_with_total(equations))
        keys = np.isin(equations.rows, summed)
        first = rows.start(np.zeros(len(summed)), np.zeros(len(summed)))
        line = first + np.searchsorted(summed, equations.rows[keys])
        rows.put(line, chosen + equations.cells[keys], equations.signs[keys])
        rows.put(first + np.arange(len(summed)), chosen + size + np.arange(len(summed)), -1.0)
        turns = np.bincount(np.searchsorted(summed, equations.rows[keys]), minlength=len(summed))
        whole = np.concatenate([np.ones(chosen), np.zeros(size), np.ones(len(summed))]).astype(np.bool_)
        self._upper = np.concatenate([np.ones(chosen + size), turns]).astype(np.float64)
        self._program = Program(rows, len(whole), whole)

    @classmethod
    def of(cls, equations: Equations, counts: NoisyCounts) -> "_Everything | None":
        """None where there is too much to look at, or the true counts are too near to an edge."""
        choices = list(_choices(counts))
        if len(choices) > MOST_CHOICES or len({cell for cell, _ in choices}) < len(counts.true):
            return None
        return cls(equations, counts, choices)

    def apart(self, cell: int, width: int, deadline: Deadline) -> int | None:
        """How far apart two counts of a cell can be, up to a width; None where that was not found in time."""
        cost = np.zeros(len(self._upper))
        cost[: len(self._values)][self._cells == cell] = self._values[self._cells == cell]
        ends = []
        for side in (1.0, -1.0):
            best = self._program.best(side * cost, np.zeros(len(cost)), self._upper, deadline)
            if best.values is None:
                return None
            ends.append((side * float(np.rint(best.values @ cost)), best.bound))
        (high, at_most), (low, at_least) = ends
        if high + low >= width:
            return int(high + low)
        most = int(np.floor(at_most + at_least + WHOLE))
        return most if most < width else None

    def _put_counts(self, rows: Rows, first: int, equations: Equations) -> None:
        """What must add up, in the counts that are chosen."""
        order = np.argsort(self._cells, kind="stable")
        starts = np.searchsorted(self._cells[order], np.arange(len(self._counts.true) + 1))
        for row, cell, sign in zip(
            equations.rows.tolist(), equations.cells.tolist(), equations.signs.tolist(), strict=True
        ):
            places = order[starts[cell] : starts[cell + 1]]
            rows.put(np.full(len(places), first + row), places, sign * self._values[places])


def _choices(counts: NoisyCounts) -> Iterator[tuple[int, int]]:
    """Each cell with each count that may have become its noisy one."""
    brackets, most = _Brackets(counts.table), counts.table.maximum_noise
    for cell, (true, noisy) in enumerate(zip(counts.true.tolist(), counts.noisy.tolist(), strict=True)):
        for count in [true] if counts.fixed[cell] else range(max(0, noisy - most), noisy + most + 1):
            if brackets.of(count, noisy) is not None:
                yield cell, count


def _with_total(equations: Equations) -> BoolArray:
    """Equations that have a total, shape (equations,): others are sums that are known."""
    summed = np.zeros(len(equations), dtype=np.bool_)
    summed[equations.rows[equations.signs < 0]] = True
    return summed


def _key_program(equations: Equations, cells: int) -> Program:
    """By how much keys may differ, so that they add up: a column a cell."""
    summed = np.flatnonzero(_with_total(equations))
    kept = np.isin(equations.rows, summed)
    rows = Rows()
    first = rows.start(np.zeros(len(summed)), np.zeros(len(summed)))
    line = first + np.searchsorted(summed, equations.rows[kept])
    rows.put(line, equations.cells[kept], equations.signs[kept])
    return Program(rows, cells)
