"""An intruder with linear programs who knows how the rules work, and nothing of the product's own reasoning.

Everything that was told is an equation or inequality over the finest groups of people, each with its records
or units and the sum of a measure with public bounds. Independent of sdcgate: HiGHS and numpy only.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import highspy
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from attack.random_requests import MEASURE
from attack.told_figures import MINIMUM, RECORDS, SUM, SUM_WIDTH, UNITS, Box, Heard, Told
from attack.world import MISSING, World

CLOSE = 1e-6
NOTHING = 1e-9
"""Rows are of zeros and ones: a singular value below it is rounding."""
SECONDS = 5.0
"""For one program: what takes longer is not known."""
Wide = Callable[[float, float], bool]
"""Whether an interval is as wide as the policy wants it."""
Row = tuple[np.ndarray, float, float]
Group = np.ndarray
"""Which of the finest groups lie in a box, shape (groups,)."""


@dataclass(frozen=True)
class Learnt:
    """What the intruder knows that he must not: an interval, and what is true."""

    what: str
    query: int
    box: str
    truth: float
    low: float
    high: float


class Groups:
    """The finest groups of a world, and what is true of each."""

    def __init__(self, world: World) -> None:
        self._world = world
        sides = [[*one.codes, MISSING] for one in world.variables]
        self._atoms = list(itertools.product(*sides))
        self._all = tuple(frozenset(side) for side in sides)
        self._names = [one.name for one in world.variables]
        place = {atom: number for number, atom in enumerate(self._atoms)}
        self._within: dict[Box, Group] = {}
        where = [place[atom] for atom in zip(*(world.records[name] for name in self._names), strict=True)]
        self.of_records = np.array(where)
        """Which of them each record is in."""
        self.records = np.bincount(where, minlength=len(place)).astype(float)
        self.sums = np.bincount(where, world.records[MEASURE], len(place))
        # Units are counted in boxes of what does not vary within them: the first record of each will do.
        first = ~world.records["id"].duplicated().to_numpy()
        self.units = np.bincount(self.of_records[first], minlength=len(place)).astype(float)

    def within(self, box: Box) -> Group:
        """Of a box."""
        if box not in self._within:
            inside = [all(map(frozenset.__contains__, box, atom)) for atom in self._atoms]
            self._within[box] = np.array(inside)
        return self._within[box]

    def boxes(self) -> Iterator[Box]:
        """Boxes of single codes, of those of a level, of all but the missing ones, or of all."""
        sides = []
        for variable, full in zip(self._world.variables, self._all, strict=True):
            grouped = [set(parts) for level in variable.levels.values() for parts in level.values()]
            sides.append([full, full - {MISSING}, *({code} for code in full), *grouped])
        for box in itertools.product(*sides):
            yield tuple(map(frozenset, box))

    def words(self, box: Box) -> str:
        """A box in words."""
        named = zip(self._names, box, self._all, strict=True)
        return ", ".join(f"{name} {'+'.join(sorted(side))}" for name, side, full in named if side != full)


class Program:
    """Bounds of linear functions of some amounts, none of them negative, within rows that hold."""

    def __init__(self, rows: Sequence[Row], truth: np.ndarray) -> None:
        self._matrix = np.array([row for row, _, _ in rows]).reshape(len(rows), len(truth))
        self._low, self._high = (np.array([row[end] for row in rows]) for end in (1, 2))
        self._seen = [truth]
        """Amounts that agree with everything: what they show to be far apart needs no program."""
        sparse = csr_array(self._matrix)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(truth), len(rows)
        model.col_cost_, model.col_lower_ = np.zeros(len(truth)), np.zeros(len(truth))
        model.col_upper_ = np.full(len(truth), highspy.kHighsInf)
        model.row_lower_, model.row_upper_ = self._low, self._high
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_ = sparse.indptr, sparse.indices
        model.a_matrix_.value_ = sparse.data
        self._solver = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        self._solver.passModel(model)

    def interval(self, of: np.ndarray, wide: Wide) -> tuple[float, float]:
        """Between what a function lies, or two values of it that are wide enough apart."""
        values = [one @ of for one in self._seen]
        if wide(min(values), max(values)):
            return min(values), max(values)
        low, high = (self._least(sign * of) * sign for sign in (1.0, -1.0))
        return (low, high) if wide(low, high) else self._surely(of)

    def _least(self, cost: np.ndarray) -> float:
        self._solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + SECONDS)
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            # Begun where the last program ended it may lose its way, or there is no end.
            self._solver.clearSolver()
            return self._surely_least(cost)
        self._seen.append(np.array(self._solver.getSolution().col_value))
        return float(self._seen[-1] @ cost)

    def _surely(self, of: np.ndarray) -> tuple[float, float]:
        """The same by SciPy, without presolve and from nothing: what seems known is looked at twice."""
        return self._surely_least(of), -self._surely_least(-of)

    def _surely_least(self, cost: np.ndarray) -> float:
        above, below = np.isfinite(self._high), np.isfinite(self._low)
        matrix = np.vstack([self._matrix[above], -self._matrix[below]])
        limits = np.concatenate([self._high[above], -self._low[below]])
        found = linprog(
            cost,
            csr_array(matrix),
            limits,
            method="highs",
            options={"presolve": False, "time_limit": SECONDS},
        )
        # Truth agrees with all rows: where there is no end, or none in time, it can be as little as anything.
        return float(found.fun) if found.status == 0 else -np.inf


class Intruder:
    """Puts together what was told until a query, and bounds what was withheld."""

    def __init__(self, heard: Heard) -> None:
        self._heard, self._groups = heard, Groups(heard.world)
        self._panel = any(one.varies for one in heard.world.variables)
        told = [self._named(one) for one in heard.told]
        self._told = [one for one in told if one.quantity != UNITS or not heard.varies(one.box)]
        self._first: dict[tuple[Box, bool], int] = {}
        """When a box was withheld first, and when its sum was."""
        for one in heard.withheld:
            for of_sum in {False, one.quantity == SUM}:
                self._first.setdefault((one.box, of_sum), one.query)

    def learnt(self) -> list[Learnt]:
        """All that he must not know: withheld counts and sums, and the number of a group of one or two."""
        records = list(self._bounded(RECORDS, (RECORDS,)))
        units = list(self._bounded(UNITS, (UNITS,))) if self._panel else []
        beside = list(self._bounded(RECORDS, (RECORDS, SUM)))
        known = {one.box for one in records}
        return [
            *records,
            *units,
            *(one for one in beside if one.box not in known),
            *self._bounded(SUM, (RECORDS, SUM)),
            *self._computed(),
        ]

    def untrue(self) -> list[Told]:
        """What does not hold in truth, so that it was misread or computed wrongly."""
        known = (RECORDS, UNITS, SUM)
        truth = self._truth(known)

        def holds(row: np.ndarray, low: float, high: float) -> bool:
            return bool(low - CLOSE <= row @ truth <= high + CLOSE)

        return [one for one in self._told if not all(holds(*row) for row in self._rows(one, known))]

    def _named(self, one: Told) -> Told:
        """Where nothing varies within a unit, units are records."""
        if self._panel or one.quantity != UNITS:
            return one
        times = one.times and (one.times[0], RECORDS)
        return replace(one, quantity=RECORDS, times=times)

    def _bounded(self, of: str, known: tuple[str, ...]) -> Iterator[Learnt]:
        """Withheld boxes of which a quantity is bounded too closely by what is told of some quantities."""
        program = Program(self._everything(known), self._truth(known))
        for (box, of_sum), query in self._first.items():
            if of_sum != (of == SUM) or (of == UNITS and self._heard.varies(box)):
                continue
            row = self._row(box, of, known)
            true = float(row @ self._truth(known))
            wide = partial(_sums_are_wide, true) if of == SUM else _counts_are_wide
            low, high = program.interval(row, wide)
            if wide(low, high) or self._known_before(box, row, known, wide, query):
                continue
            if of == UNITS and self._records_known(box, query):
                continue
            what = f"{of} by {' and '.join(known)}"
            yield Learnt(what, query, self._groups.words(box), true, low, high)

    def _records_known(self, box: Box, query: int) -> bool:
        """Whether records were known when a box was withheld first: its units count as told, too, by then."""
        row = self._row(box, RECORDS, (RECORDS,))
        return self._known_before(box, row, (RECORDS,), _counts_are_wide, query)

    def _known_before(
        self, box: Box, row: np.ndarray, known: tuple[str, ...], wide: Wide, query: int
    ) -> bool:
        """Whether that was told before the box was withheld first: nothing can be kept back then."""
        rows = [*self._everything(known, query), *self._marks([box], known)]
        return not wide(*Program(rows, self._truth(known)).interval(row, wide))

    def _everything(self, known: tuple[str, ...], until: int | None = None) -> list[Row]:
        """Rows of all that was told, before a query if one is given."""
        last = math.inf if until is None else until
        told = [one for one in self._told if one.query < last]
        marked = [box for (box, of_sum), query in self._first.items() if not of_sum and query < last]
        rows = [row for one in told for row in self._rows(one, known)]
        rows += self._marks(marked, known)
        if SUM in known:
            rows += self._public_bounds(known)
        return rows

    def _marks(self, boxes: Iterable[Box], known: tuple[str, ...]) -> list[Row]:
        """Zeros are not withheld under the policy: somebody is in each cell that is."""
        chosen = [box for box in boxes if known[0] == RECORDS or not self._heard.varies(box)]
        return [(self._row(box, known[0], known), 1.0, np.inf) for box in chosen]

    def _rows(self, told: Told, known: tuple[str, ...]) -> list[Row]:
        if told.quantity not in known or (told.times and told.times[1] not in known):
            return []
        row = self._row(told.box, told.quantity, known)
        if not told.times:
            return [(row, told.low, told.high)]
        times = self._row(*told.times, known)
        return [(row - told.low * times, 0.0, np.inf), (row - told.high * times, -np.inf, 0.0)]

    def _public_bounds(self, known: tuple[str, ...]) -> list[Row]:
        """No value is above the greatest; the least is zero."""
        one, most = np.eye(len(self._groups.records)), self._heard.world.most
        rows = np.hstack([-most * one if quantity == RECORDS else one for quantity in known])
        return [(row, -np.inf, 0.0) for row in rows]

    def _row(self, box: Box, quantity: str, known: tuple[str, ...]) -> np.ndarray:
        group = self._groups.within(box).astype(float)
        return np.concatenate([group if one == quantity else 0.0 * group for one in known])

    def _truth(self, known: tuple[str, ...]) -> np.ndarray:
        of = {RECORDS: self._groups.records, UNITS: self._groups.units, SUM: self._groups.sums}
        return np.concatenate([of[one] for one in known])

    def _computed(self) -> Iterator[Learnt]:
        """Groups of one or two that follow by adding and subtracting counts that were told.

        What follows from what was published elsewhere everybody knew.
        """
        quantity = UNITS if self._panel else RECORDS
        rows = {one.box: one.query for one in self._told if one.quantity == quantity and not one.times}
        told, before = (
            self._follows(quantity, [b for b, q in rows.items() if q < end]) for end in (math.inf, 0)
        )
        for box in self._groups.boxes():
            row = self._row(box, quantity, (quantity,))
            true = float(row @ self._truth((quantity,)))
            if 0 < true < MINIMUM and not self._heard.varies(box) and told(row) and not before(row):
                what, last = f"{quantity} by subtraction", max(rows.values())
                yield Learnt(what, last, self._groups.words(box), true, true, true)

    def _follows(self, quantity: str, boxes: Sequence[Box]) -> Callable[[np.ndarray], bool]:
        """Whether what a row is of follows from the numbers of boxes."""
        return span_of([self._row(box, quantity, (quantity,)) for box in boxes])


def span_of(rows: Sequence[np.ndarray]) -> Callable[[np.ndarray], bool]:
    """Whether a row follows from others by adding and subtracting."""
    if not len(rows):
        return lambda _: False
    _, values, right = np.linalg.svd(np.array(rows, dtype=float))
    free = right[int((values > NOTHING).sum()) :]
    return lambda row: bool(np.abs(free @ row).max(initial=0) < CLOSE)


def _counts_are_wide(low: float, high: float) -> bool:
    """People come in whole numbers."""
    return not np.isfinite(high - low) or math.floor(high + CLOSE) - math.ceil(low - CLOSE) >= MINIMUM


def _sums_are_wide(true: float, low: float, high: float) -> bool:
    return high - low >= SUM_WIDTH * true - CLOSE * max(1.0, true)
