"""Sparse rows in echelon form modulo a prime: what is known of columns, and vectors that must stay outside.

Most rows of released cells, those of tables that leave whole, say of a column that it is known: such a
column is *solved* and is left out of all that follows. What remains, sums of withheld cells as a rule, is
kept as rows with a pivot each. A row is free of the pivots of rows that came before it; a vector is reduced
by the rows whose pivots it has, the oldest first.

Vectors that must stay outside the span are *watched*: each by one column of what is left of it. While no new
row has that column and it is not solved, the vector stays outside and costs nothing.
"""

import heapq
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import IntArray
from sdcgate.methods.tables.modular import unhurried
from sdcgate.methods.tables.terms import NUMBER, SpanBudgetExceeded

Vector = dict[int, int]
"""Values by the name of their column, none of them zero."""

_POSITION = (1 << NUMBER) - 1
_PULSE = 10
"""The pulse is called about every 2^10 steps."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Values by column, the pivot of a row (whose value is 1) left out; `time` tells which row came first."""

    columns: tuple[int, ...]
    values: tuple[int, ...]
    time: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """What columns of a block became: column i the ones named `name` + `places[starts[i]:starts[i + 1]]`."""

    name: int
    places: IntArray
    starts: IntArray

    def of(self, position: int) -> list[int]:
        """The new columns of an old one."""
        found: list[int] = (
            self.places[self.starts[position] : self.starts[position + 1]] + self.name
        ).tolist()
        return found


class Echelon:
    """The rows; a column's name has the number of its block above the bits of its position."""

    def __init__(self, prime: int) -> None:
        self._prime = prime
        # By the number of the block: a byte a column, rows by pivot, watched vectors by column.
        self._solved: dict[int, bytes] = {}
        self._rows: dict[int, dict[int, _Row]] = {}
        self._watched: dict[int, dict[int, tuple[_Row, ...]]] = {}
        self._split: dict[int, _Split] = {}
        self._own: set[int] = set()
        self._time = 0
        self.rank = 0
        self.numbers = 0
        """Values stored in rows and watched vectors."""
        self.caught = False
        """Whether a watched vector is in the span."""
        self.steps = 0
        """Steps that may still be taken; below zero SpanBudgetExceeded is raised."""
        self.pulse: Callable[[], None] = unhurried
        """Called again and again; what it raises ends the work."""

    def copy(self) -> "Echelon":
        """An independent echelon with the same rows; what is not changed is shared."""
        twin = copy(self)
        for name in ("_solved", "_rows", "_watched", "_split"):
            setattr(twin, name, dict(getattr(self, name)))
        self._own, twin._own = set(), set()
        return twin

    @property
    def prime(self) -> int:
        """The modulus."""
        return self._prime

    def spend(self, steps: int) -> None:
        """Count steps."""
        if self.steps >> _PULSE != (self.steps - steps) >> _PULSE:
            self.pulse()
        self.steps -= steps
        if self.steps < 0:
            raise SpanBudgetExceeded("the linear span of the released cells takes too much work")

    def columns(self) -> int:
        """Number of columns of all blocks."""
        return sum(map(len, self._solved.values()))

    def solved(self, number: int) -> np.ndarray:
        """Which columns of a block are solved, shape (columns,)."""
        return np.frombuffer(self._solved[number], dtype=np.bool_)

    def open(self, number: int, columns: int) -> None:
        """Begin a block of columns of which nothing is known."""
        self._solved[number] = bytes(columns)

    def divide(self, number: int, new: int, parents: IntArray) -> list[Vector]:
        """Replace a block by a finer one, `new`; `parents` is the old column of each new one, or -1.

        Returns sums of columns that have to be inserted again.
        """
        old = self.solved(number)
        places = np.argsort(parents, kind="stable")
        starts = np.searchsorted(parents[places], np.arange(len(old) + 1))
        divided = _Split(new << NUMBER, places, starts)
        sizes = np.diff(starts)
        alone = np.zeros(len(old) + 1, dtype=np.bool_)
        alone[:-1] = old & (sizes == 1)
        self._solved[new] = alone[parents].tobytes()
        del self._solved[number]
        self._split[number] = divided
        self.rank -= int((old & ~alone[:-1]).sum())
        self._move(number, new, divided)
        return [
            dict.fromkeys(divided.of(position), 1) for position in np.flatnonzero(old & ~alone[:-1]).tolist()
        ]

    def _move(self, number: int, new: int, divided: _Split) -> None:
        """Rows and watched vectors of a block that was divided: under the first part of their column."""
        rows = {}
        for pivot, row in self._rows.pop(number, {}).items():
            first, *others = divided.of(pivot & _POSITION)
            self.numbers += len(others)
            rows[first] = _Row((*others, *row.columns), (*(1 for _ in others), *row.values), row.time)
        watched = {
            divided.of(column & _POSITION)[0]: vectors
            for column, vectors in self._watched.pop(number, {}).items()
        }
        if rows:
            self._rows[new] = rows
        if watched:
            self._watched[new] = watched
        self._own |= {new, ~new}

    def insert(self, known: IntArray, vectors: Iterable[Vector]) -> None:
        """Take in columns that are known by themselves, and vectors."""
        changed: set[int] = set()
        waiting = self._solve(known, changed)
        waiting += sorted(vectors, key=len)
        while waiting:
            vector = self._current(waiting.pop(0))
            self.reduce(vector)
            if not vector:
                continue
            if len(vector) == 1:
                waiting += self._solve(np.array(list(vector), dtype=np.int64), changed)
                continue
            pivot = max(vector)
            inverse = pow(vector.pop(pivot), -1, self._prime)
            row = _Row(tuple(vector), tuple(v * inverse % self._prime for v in vector.values()), self._time)
            self._time += 1
            self.rank += 1
            self.numbers += len(vector)
            self._rows_of(pivot >> NUMBER)[pivot] = row
            changed.update((pivot, *row.columns))
        self._wake(changed)

    def _solve(self, columns: IntArray, changed: set[int]) -> list[Vector]:
        """Note that columns are known; returns what is left of rows that had them as pivots."""
        left: list[Vector] = []
        numbers = columns >> NUMBER
        for number in np.unique(numbers).tolist():
            names = columns[numbers == number]
            flags = self.solved(number).copy()
            flags[names & _POSITION] = True
            self._solved[number] = flags.tobytes()
            self.rank += len(names)
            pivots = self._rows.get(number, {})
            for name in [name for name in names.tolist() if name in pivots] if pivots else ():
                row = self._rows_of(number).pop(name)
                self.rank -= 1
                self.numbers -= len(row.columns)
                left.append(dict(zip(row.columns, row.values, strict=True)))
            if number in self._watched:
                changed.update(names.tolist())
        return left

    def reduce(self, vector: Vector) -> None:
        """Subtract rows until a vector, in place, has no pivot; it has no solved columns."""
        due = [(row.time, column) for column in vector if (row := self._row_at(column)) is not None]
        heapq.heapify(due)
        while due:
            column = heapq.heappop(due)[1]
            factor = vector.pop(column, 0)
            if not factor:
                continue
            row = self._row_at(column)
            assert row is not None
            for other, value in self._current(dict(zip(row.columns, row.values, strict=True))).items():
                before = vector.get(other, 0)
                after = (before - factor * value) % self._prime
                if not after:
                    vector.pop(other, None)
                    continue
                vector[other] = after
                if not before and (later := self._row_at(other)) is not None:
                    heapq.heappush(due, (later.time, other))

    def _row_at(self, column: int) -> _Row | None:
        rows = self._rows.get(column >> NUMBER)
        return None if rows is None else rows.get(column)

    def _current(self, vector: Vector) -> Vector:
        """A vector in today's columns without those that are solved."""
        self.spend(len(vector) + 1)
        found: Vector = {}
        for column, value in vector.items():
            number = column >> NUMBER
            solved = self._solved.get(number)
            if solved is not None:
                if not solved[column & _POSITION]:
                    found[column] = value
            else:
                found |= self._current(dict.fromkeys(self._split[number].of(column & _POSITION), value))
        return found

    def watch(self, vector: Vector) -> None:
        """Watch a vector from now on; it has no solved columns."""
        self.reduce(vector)
        if not vector:
            self.caught = True
            return
        column = max(vector)
        watched = self._watched_of(column >> NUMBER)
        kept = _Row(tuple(vector), tuple(vector.values()))
        watched[column] = (*watched.get(column, ()), kept)
        self.numbers += len(vector)

    def _wake(self, changed: set[int]) -> None:
        """Look again at vectors that are watched by columns of which something new is known."""
        woken: list[_Row] = []
        for column in changed:
            number = column >> NUMBER
            if column in self._watched.get(number, ()):
                woken += self._watched_of(number).pop(column)
        for vector in woken:
            self.numbers -= len(vector.columns)
            self.watch(self._current(dict(zip(vector.columns, vector.values, strict=True))))

    def _rows_of(self, number: int) -> dict[int, _Row]:
        """The rows of a block, to be changed."""
        if number not in self._own:
            self._rows[number] = dict(self._rows.get(number, {}))
            self._own.add(number)
        return self._rows.setdefault(number, {})

    def _watched_of(self, number: int) -> dict[int, tuple[_Row, ...]]:
        """The watched vectors of a block by column, to be changed."""
        if ~number not in self._own:
            self._watched[number] = dict(self._watched.get(number, {}))
            self._own.add(~number)
        return self._watched.setdefault(number, {})
