"""Complementary (secondary) suppression: which cells to withhold beside the unsafe ones, and the proof.

For each cell that is not yet protected the cheapest move of the table is sought that changes it by the
required width and leaves all that is known as it is; the cells that it moves are withheld. This is the
linear relaxation of Kelly, Golden and Assad (Networks 22, 1992), with the costs of cells already withheld
set to zero, as Fischetti and Salazar use it to begin with (Management Science 47, 2001). The audit then
says what real numbers overlooked (integers, units, sums), more is withheld where it does, and at last what
turns out to be superfluous is given back.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.audit import Search
from sdcgate.methods.tables.intruder import RECORDS, SUMS, record_bounds
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.solver import INFINITY, Deadline, Program, Rows
from sdcgate.methods.tables.witnesses import Witnesses, no_tables

MOVED = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Protection:
    """A pattern and its proof.

    `withheld` are the unsafe cells and those withheld beside them, `unprotected` those for which no
    protection was found or proved, each shape (cells,); `cost` is the records in cells withheld beside the
    unsafe ones.
    """

    withheld: BoolArray
    proof: Proof
    witnesses: Witnesses = field(repr=False)
    unprotected: BoolArray = field(repr=False)
    cost: int = 0


def protect(problem: Problem, unsafe: BoolArray, time_limit: float) -> Protection:
    """Find a pattern that withholds the unsafe cells, shape (cells,), and prove it in `time_limit` seconds.

    Cells that are known, and empty cells unless zeros may be withheld, are never withheld beside the unsafe
    ones. Only a pattern whose proof is PROVED may leave. Raises ValueError if `unsafe` does not have one
    flag a cell.
    """
    if np.shape(unsafe) != (len(problem.facts),):
        raise ValueError(f"unsafe: {np.shape(unsafe)} flags for {len(problem.facts)} cells")
    deadline = Deadline(time_limit)
    pattern = Pattern(problem, unsafe.astype(np.bool_))
    search = _proved_pattern(pattern, deadline)
    if not search.narrow().any():
        search = _given_back(pattern, search, deadline)
    found = search.verdict()
    beside = pattern.withheld & ~pattern.unsafe
    return Protection(
        withheld=pattern.withheld,
        proof=found.proof,
        witnesses=found.witnesses,
        unprotected=found.unprotected,
        cost=int(problem.facts.records[beside].sum()),
    )


class Pattern:
    """A growing pattern, and the cheapest moves by which it grows."""

    def __init__(self, problem: Problem, unsafe: BoolArray) -> None:
        self.problem = problem
        self.unsafe = unsafe
        self.withheld = unsafe.copy()
        can_be_empty = problem.facts.records > 0 if not problem.zeros_withheld else True
        self.movable: BoolArray = ~problem.known & (can_be_empty | unsafe | problem.absent)
        self.costs = (problem.facts.records + 1).astype(np.float64)
        self._cells: IntArray = np.flatnonzero(self.movable)
        self._program: Program | None = None

    def grow(self, deadline: Deadline) -> None:
        """Withhold what protects the records of all withheld cells against real-valued intruders."""
        width = float(self.problem.count_width)
        highest = np.zeros(len(self.withheld))
        lowest = np.zeros(len(self.withheld))
        tried = self.problem.known.copy()
        while not deadline.over:
            left = np.flatnonzero(self.withheld & (highest - lowest < width - MOVED) & ~tried)
            if len(left) == 0:
                return
            cell = int(left[np.argmax(self.problem.facts.records[left])])
            tried[cell] = True
            for move in self.moves(RECORDS, cell, deadline):
                highest, lowest = np.maximum(highest, move), np.minimum(lowest, move)

    def moves(
        self, quantity: int, cell: int, deadline: Deadline, barred: BoolArray | None = None
    ) -> list[FloatArray]:
        """Cheapest moves that widen a quantity of a cell, shape (cells,) each; their cells get withheld.

        One move by the whole width, up or down; or one up and one down that share it. None if there is none.
        """
        width = self._width(quantity, cell)
        for shares in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5)):
            steps = (np.ceil(width * shares[0]), -np.floor(width * shares[1]))
            if quantity >= SUMS:
                steps = (width * shares[0], -width * shares[1])
            found = [self._move(quantity, cell, step, deadline, barred) for step in steps if step != 0]
            moves = [move for move in found if move is not None]
            if found and len(moves) == len(found):
                for move in moves:
                    self.withheld |= (np.abs(move) > MOVED) & ~self.problem.absent
                return moves
        return []

    def _move(
        self, quantity: int, cell: int, step: float, deadline: Deadline, barred: BoolArray | None
    ) -> FloatArray | None:
        """The cheapest move of the table that changes one cell by a step: a deviation a cell, or None."""
        if not self.movable[cell]:
            return None
        if self._program is None:
            self._program = self._moves_that_add_up()
        up, down = self._room(quantity)
        free = self.withheld | self.problem.absent
        cost = np.where(free, 0.0, self.costs)
        if barred is not None:
            up, down = np.where(barred, 0.0, up), np.where(barred, 0.0, down)
        lower = np.zeros(2 * len(self._cells))
        upper = np.concatenate([up[self._cells], down[self._cells]])
        column = int(np.searchsorted(self._cells, cell))
        here, there = (column, column + len(self._cells)) if step > 0 else (column + len(self._cells), column)
        if upper[here] < abs(step) and barred is None:
            return None
        lower[here] = upper[here] = abs(step)
        upper[there] = 0.0
        price = -np.tile(cost[self._cells], 2)
        values = self._program.maximise(price, lower, upper, deadline)
        if values is None:
            return None
        move = np.zeros(len(self.withheld))
        move[self._cells] = values[: len(self._cells)] - values[len(self._cells) :]
        return move

    def _moves_that_add_up(self) -> Program:
        """Moves up, then moves down, of all cells that can move."""
        place = np.full(len(self.withheld), -1, dtype=np.int64)
        place[self._cells] = np.arange(len(self._cells))
        equations, rows = self.problem.equations, Rows()
        kept = place[equations.cells] >= 0
        used, number = np.unique(equations.rows[kept], return_inverse=True)
        rows.start(np.zeros(len(used)), np.zeros(len(used)))
        columns, signs = place[equations.cells[kept]], equations.signs[kept]
        rows.put(number, columns, signs)
        rows.put(number, columns + len(self._cells), -signs)
        return Program(rows, 2 * len(self._cells))

    def _room(self, quantity: int) -> tuple[FloatArray, FloatArray]:
        """How far each cell can go up and down if it is withheld, shape (cells,) each."""
        problem, facts = self.problem, self.problem.facts
        if quantity < SUMS:
            floors = problem.floors(~problem.absent)
            for measure in range(len(facts.measures)):
                floors = np.maximum(floors, problem.missing(measure))
            room = np.maximum(facts.records - floors, 0).astype(np.float64)
            return np.full(len(room), INFINITY), room
        measure = quantity - SUMS
        low, high, _ = record_bounds(problem, measure)
        sums, valid = facts.measures[measure].sums, facts.measures[measure].valid_records
        scale = problem.scale(measure, problem.unknown(self.withheld))
        return np.maximum(high * valid - sums, 0) / scale, np.maximum(sums - low * valid, 0) / scale

    def _width(self, quantity: int, cell: int) -> float:
        if quantity < SUMS:
            return float(self.problem.count_width)
        unknown = self.problem.unknown(self.withheld)
        width = self.problem.sum_widths(unknown)[quantity - SUMS, cell]
        return 1.02 * float(width) / self.problem.scale(quantity - SUMS, unknown)


def _proved_pattern(pattern: Pattern, deadline: Deadline) -> Search:
    """Grow the pattern until the audit proves it or nothing is left to try."""
    problem = pattern.problem
    pattern.grow(deadline)
    search = Search(problem, pattern.withheld, no_tables(problem))
    search.run(deadline)
    tried: set[tuple[int, int]] = set()
    while search.narrow().any() and not search.hopeless and not deadline.over:
        before = pattern.withheld.copy()
        for quantity, cell in np.argwhere(search.narrow()):
            _widen(pattern, int(quantity), int(cell), tried, deadline)
        if np.array_equal(before, pattern.withheld):
            break
        pattern.grow(deadline)
        search = Search(problem, pattern.withheld, search.tables)
        search.run(deadline)
    return search


def _widen(
    pattern: Pattern, quantity: int, cell: int, tried: set[tuple[int, int]], deadline: Deadline
) -> None:
    """Withhold more for a quantity of a cell that the audit found too narrow.

    First the cheapest way; if that needs no new cell, one that bars all cells withheld already.
    """
    before = pattern.withheld.copy()
    if (quantity, cell) not in tried:
        tried.add((quantity, cell))
        pattern.moves(quantity, cell, deadline)
    if np.array_equal(before, pattern.withheld):
        barred = pattern.withheld.copy()
        barred[cell] = False
        pattern.moves(quantity, cell, deadline, barred)


def _given_back(pattern: Pattern, search: Search, deadline: Deadline) -> Search:
    """Give back cells that the proof can do without, the dearest first."""
    problem, shown, kept = pattern.problem, pattern.withheld.copy(), search.tables
    beside = np.flatnonzero(pattern.withheld & ~pattern.unsafe)
    for cell in beside[np.argsort(-problem.facts.records[beside], kind="stable")]:
        if deadline.over:
            break
        if search.without(int(cell), deadline):
            shown[cell] = False
    fewer = Search(problem, shown, search.tables)
    fewer.run(deadline)
    if fewer.narrow().any():
        return Search(problem, pattern.withheld, kept)
    pattern.withheld = shown
    return fewer
