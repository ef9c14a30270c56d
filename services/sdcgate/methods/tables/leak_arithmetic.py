"""By which arithmetic a withheld value can be bounded: a proof of the bound that anybody can add up.

The smallest and greatest value that an intruder can exclude are optima of a linear program (Fischetti and
Salazar, Management Science 47, 2001). The dual prices at the optimum say how often each thing that he knows
is counted so that everything else that is withheld cancels out or stands at the end of what it may be: by
linear duality the known values, counted so, add up to the bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.audit import Leak
from sdcgate.methods.tables.problem import Equations, Problem
from sdcgate.methods.tables.quantities import RECORDS, SUMS, UNITS, quantities_of
from sdcgate.methods.tables.solver import INFINITY, Deadline, Program, Rows

TOLERANCE = 1e-7
"""What the solver's tolerance may leave of a factor, and of what must cancel out."""
DENOMINATORS = range(1, 13)


class Kind(IntEnum):
    """Why a statement holds; the numbers are the wire's."""

    ADDS_UP = 1
    """The parts of a total add up to it."""
    KNOWN_SUM = 2
    """A sum is known from elsewhere."""
    KNOWN_CELL = 3
    """The cell itself is known from elsewhere."""
    NOT_EMPTY = 4
    """A withheld cell has somebody in it, as empty cells are not withheld."""
    NOT_NEGATIVE = 5
    """No count is below zero."""
    LACKING = 6
    """At least the records that lack a measure are in a cell."""
    UNITS_AND_RECORDS = 7
    """A unit has a record, and no more than the most that one can have."""
    BOUNDS_OF_VALUES = 8
    """No value of a record lies outside of what everybody knows of it."""
    PARTS_OF_UNITS = 9
    """Distinct units of a total: no fewer than of a part, no more than of all parts together."""
    PUBLISHED_RATIO = 10
    """A ratio of two facts was published, so that what is below is not 0 either."""
    ROUNDED_VALUE = 11
    """A rounded value of the cell was published."""
    BOUNDS_OF_CELL = 12
    """Everybody knows between what the cell lies."""


class Sense(IntEnum):
    """How the two sides of a statement compare; the numbers are the wire's."""

    EQUAL = 1
    AT_LEAST = 2
    AT_MOST = 3


@dataclass(frozen=True, slots=True)
class Term:
    """A quantity of a cell, how often it is counted, and its value where it is published."""

    cell: int
    quantity: int
    coefficient: float
    value: float = field(default=0.0, repr=False)


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that everybody knows: what the hidden terms come to, or at least or at most come to."""

    kind: Kind
    sense: Sense
    hidden: tuple[Term, ...]
    published: tuple[Term, ...] = ()
    constant: float = field(default=0.0, repr=False)
    factor: float = 1.0
    """How often it is counted."""
    figure: tuple[int, int] | None = None
    """The published figure that says so: the number of its column, and its entry there."""

    @property
    def value(self) -> float:
        """What is known: the published terms and a constant."""
        return self.constant + sum(term.coefficient * term.value for term in self.published)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Statements that bound a hidden value.

    Counted by their factors, their hidden sides add up to that value alone and their values to `bound`. For
    an upper bound what is at most is counted with a factor above 0 and what is at least with one below; for a
    lower bound it is the reverse.
    """

    bound: float = field(repr=False)
    steps: tuple[Statement, ...]


def arithmetic_of(
    problem: Problem, withheld: BoolArray, leak: Leak, deadline: Deadline
) -> tuple[Arithmetic | None, Arithmetic | None]:
    """The arithmetic of a leak's lower and of its upper bound; None where it is not found in time.

    Of real numbers: where only whole numbers exclude more, the bound is farther off than the leak's. Sums of
    measures are brought in only where they tell more of a count.
    """
    unknown = problem.unknown_quantities(withheld)
    if not unknown[leak.quantity, leak.cell]:
        truth = quantities_of(problem.facts)[leak.quantity, leak.cell]
        own = Term(leak.cell, leak.quantity, 1.0, float(truth))
        known = Statement(Kind.KNOWN_CELL, Sense.EQUAL, (replace(own, value=0.0),), (own,))
        return (Arithmetic(float(truth), (known,)),) * 2
    counts = (RECORDS,) if problem.units_follow else (RECORDS, UNITS)
    everything = (*counts, *range(SUMS, SUMS + len(problem.facts.measures)))
    found: list[Arithmetic | None] = []
    for direction, stated in ((-1.0, leak.lower), (1.0, leak.upper)):
        best: Arithmetic | None = None
        for quantities in dict.fromkeys((counts, everything) if leak.quantity < SUMS else (everything,)):
            told = _Bounding(problem, withheld, unknown, quantities).bound(leak, direction, deadline)
            if told is not None and (best is None or direction * told.bound < direction * best.bound):
                best = told
            if best is not None and np.isclose(whole(best.bound, direction, leak), stated, rtol=1e-6):
                break
        found.append(best)
    return found[0], found[1]


def whole(bound: float, direction: float, leak: Leak) -> float:
    """What a bound says of a leak's quantity: counts are whole numbers."""
    if leak.quantity >= SUMS:
        return bound
    return float(np.floor(bound + TOLERANCE) if direction > 0 else np.ceil(bound - TOLERANCE))


class _Bounding:
    """The linear program over the hidden quantities, with a row for each statement."""

    def __init__(
        self, problem: Problem, withheld: BoolArray, unknown: BoolArray, quantities: tuple[int, ...]
    ) -> None:
        self._scales = {
            quantity: 1.0 if quantity < SUMS else problem.scale(quantity - SUMS, unknown[quantity])
            for quantity in quantities
        }
        self._statements = list(_Known(problem, withheld, unknown, quantities).statements())
        hidden = dict.fromkeys(
            (term.quantity, term.cell) for statement in self._statements for term in statement.hidden
        )
        self._columns = {place: column for column, place in enumerate(hidden)}
        truths = quantities_of(problem.facts)
        self._truths = np.array([truths[place] for place in hidden], dtype=np.float64)

    def bound(self, leak: Leak, direction: float, deadline: Deadline) -> Arithmetic | None:
        """The arithmetic of the greatest (1) or smallest (-1) value; None where there is none in time."""
        target = self._columns.get((leak.quantity, leak.cell))
        if target is None or deadline.over:
            return None
        rows, sizes = self._rows()
        cost = np.zeros(len(self._columns))
        cost[target] = direction
        free = np.full(len(cost), INFINITY)
        program = Program(rows, len(cost))
        if program.maximise(cost, -free, free, deadline) is None:
            return None
        factors = direction * program.prices / sizes * self._scales[leak.quantity]
        for tried in (_simple(factors), factors):
            steps = tuple(
                replace(statement, factor=float(factor))
                for statement, factor in zip(self._statements, tried, strict=True)
                if abs(factor) > TOLERANCE
            )
            if proves(steps, leak, direction):
                return Arithmetic(sum(step.factor * step.value for step in steps), steps)
        return None

    def _rows(self) -> tuple[Rows, FloatArray]:
        """Deviations from the true table, each quantity in its scale, and what each row is divided by."""
        rows, sizes = Rows(), np.ones(len(self._statements))
        for number, statement in enumerate(self._statements):
            columns = np.array([self._columns[term.quantity, term.cell] for term in statement.hidden])
            values = np.array([term.coefficient * self._scales[term.quantity] for term in statement.hidden])
            plain = np.array([term.coefficient for term in statement.hidden])
            sizes[number] = np.abs(values).max()
            room = (statement.value - plain @ self._truths[columns]) / sizes[number]
            least = -INFINITY if statement.sense is Sense.AT_MOST else min(room, 0.0)
            most = INFINITY if statement.sense is Sense.AT_LEAST else max(room, 0.0)
            first = rows.start(np.array([least]), np.array([most]))
            rows.put(np.full(len(columns), first), columns, values / sizes[number])
        return rows, sizes


def proves(steps: tuple[Statement, ...], leak: Leak, direction: float) -> bool:
    """Whether statements, counted by their factors, bound a value from above (1) or below (-1)."""
    left: dict[tuple[int, int], float] = {}
    for step in steps:
        turned = {Sense.EQUAL: 0.0, Sense.AT_MOST: -1.0, Sense.AT_LEAST: 1.0}[step.sense]
        if turned * direction * step.factor > 0:
            return False
        for term in step.hidden:
            place = (term.quantity, term.cell)
            left[place] = left.get(place, 0.0) + step.factor * term.coefficient
    target = (leak.quantity, leak.cell)
    largest = max(
        (abs(step.factor * term.coefficient) for step in steps for term in step.hidden), default=0.0
    )
    left[target] = left.get(target, 0.0) - 1.0
    return all(abs(rest) <= TOLERANCE * max(1.0, largest) for rest in left.values())


def _simple(factors: FloatArray) -> FloatArray:
    """Factors as fractions of small denominators, where they are."""
    simple = factors.copy()
    for denominator in reversed(DENOMINATORS):
        near = np.rint(factors * denominator) / denominator
        close = np.abs(factors - near) <= TOLERANCE
        simple[close] = near[close]
    return simple


class _Known:
    """What everybody knows of the hidden quantities."""

    def __init__(
        self, problem: Problem, withheld: BoolArray, unknown: BoolArray, quantities: tuple[int, ...]
    ) -> None:
        self._problem, self._withheld, self._unknown = problem, withheld, unknown
        self._quantities = quantities
        self._truths = quantities_of(problem.facts)

    def statements(self) -> Iterator[Statement]:
        """All of it, as far as something in it is hidden."""
        problem = self._problem
        for quantity in self._quantities:
            yield from self._sums(quantity, problem.equations_of(quantity))
            yield from self._floors(quantity) if quantity < SUMS else self._values(quantity)
        if UNITS in self._quantities:
            yield from self._units_and_records()
            yield from self._parts_of_units()
        yield from self._told()

    def _told(self) -> Iterator[Statement]:
        """What is published beside the table's figures, as far as nothing else is hidden in it."""
        told = self._problem.told
        ends = np.append(told.starts, len(told.cells))[1:]
        hidden = self._unknown[told.quantities, told.cells]
        looked_at = np.isin(told.quantities, self._quantities)
        for row, (start, end) in enumerate(zip(told.starts, ends, strict=True)):
            places = range(start, end)
            if any(hidden[place] and not looked_at[place] for place in places):
                continue
            terms = [
                Term(int(told.cells[place]), int(told.quantities[place]), float(told.factors[place]))
                for place in places
            ]
            lower, upper = float(told.lower[row]), float(told.upper[row])
            kind, figure = Kind(told.sources[row]), (int(told.columns[row]), int(told.entries[row]))
            if lower == upper:
                sides = [(Sense.EQUAL, lower)]
            else:
                sides = [(Sense.AT_LEAST, lower), (Sense.AT_MOST, upper)]
            for sense, side in sides:
                if np.isfinite(side):
                    for statement in self._statement(kind, sense, terms, side):
                        yield replace(statement, figure=figure)

    def _statement(
        self, kind: Kind, sense: Sense, terms: list[Term], constant: float = 0.0
    ) -> Iterator[Statement]:
        """A statement over terms of any cells, those that are published on the side of its value."""
        hidden = tuple(term for term in terms if self._unknown[term.quantity, term.cell])
        if not hidden:
            return
        published = tuple(
            Term(term.cell, term.quantity, -term.coefficient, float(self._truths[term.quantity][term.cell]))
            for term in terms
            if not self._unknown[term.quantity, term.cell]
        )
        yield Statement(kind, sense, hidden, published, constant)

    def _sums(self, quantity: int, equations: Equations) -> Iterator[Statement]:
        ends = np.append(equations.starts, len(equations.cells))[1:]
        for row, (start, end) in enumerate(zip(equations.starts, ends, strict=True)):
            cells, signs = equations.cells[start:end], equations.signs[start:end]
            terms = [Term(int(cell), quantity, float(sign)) for cell, sign in zip(cells, signs, strict=True)]
            if row < len(self._problem.relations):
                yield from self._statement(Kind.ADDS_UP, Sense.EQUAL, terms)
            else:
                known = float(signs @ self._truths[quantity][cells])
                yield from self._statement(Kind.KNOWN_SUM, Sense.EQUAL, terms, known)

    def _floors(self, quantity: int) -> Iterator[Statement]:
        floors = self._problem.floors(self._withheld)
        for cell in np.flatnonzero(self._unknown[quantity]).tolist():
            term, least = [Term(cell, quantity, 1.0)], float(floors[cell])
            kind = Kind.NOT_EMPTY if least else Kind.NOT_NEGATIVE
            yield from self._statement(kind, Sense.AT_LEAST, term, least)
            for measure in range(len(self._problem.facts.measures)) if quantity == RECORDS else ():
                lacking = float(self._problem.missing(measure)[cell])
                if lacking > least:
                    yield from self._statement(Kind.LACKING, Sense.AT_LEAST, term, lacking)

    def _values(self, quantity: int) -> Iterator[Statement]:
        """low times the records that have the measure <= sum <= high times them."""
        measure = quantity - SUMS
        facts, lacking = self._problem.facts.measures[measure], self._problem.missing(measure)
        for cell in np.flatnonzero(self._unknown[quantity]).tolist():
            for bound, sense in ((facts.lower_bound, Sense.AT_LEAST), (facts.upper_bound, Sense.AT_MOST)):
                if bound is not None:
                    terms = [Term(cell, quantity, 1.0)]
                    terms += [Term(cell, RECORDS, -bound)] if bound else []
                    yield from self._statement(
                        Kind.BOUNDS_OF_VALUES, sense, terms, -bound * float(lacking[cell])
                    )

    def _units_and_records(self) -> Iterator[Statement]:
        most = self._problem.most_in_cells
        for cell in np.flatnonzero(self._unknown[RECORDS] | self._unknown[UNITS]).tolist():
            records, units = Term(cell, RECORDS, 1.0), Term(cell, UNITS, -1.0)
            yield from self._statement(Kind.UNITS_AND_RECORDS, Sense.AT_LEAST, [records, units])
            many = [records, replace(units, coefficient=-float(most[cell]))]
            yield from self._statement(Kind.UNITS_AND_RECORDS, Sense.AT_MOST, many)

    def _parts_of_units(self) -> Iterator[Statement]:
        relations = self._problem.unit_bounds
        for number in range(len(relations)):
            total = Term(int(relations.parents[number]), UNITS, 1.0)
            parts = [Term(int(cell), UNITS, -1.0) for cell in relations.parts(number)]
            yield from self._statement(Kind.PARTS_OF_UNITS, Sense.AT_MOST, [total, *parts])
            for part in parts:
                yield from self._statement(Kind.PARTS_OF_UNITS, Sense.AT_LEAST, [total, part])
