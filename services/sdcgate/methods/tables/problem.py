"""The problem of protecting a table, and what an intruder knows.

A cell has records r, units u and, for each measure, a sum x. The intruder knows the table's additive
relations, the public bounds, and r, u and x of every cell that is neither withheld nor absent, whatever
figures were asked: knowing more than he does, he can be held off only by a pattern that holds him off too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod

import numpy as np
import numpy.typing as npt

from sdcgate.methods.cells import (
    Axis,
    BoolArray,
    Facts,
    FloatArray,
    IntArray,
    Relations,
    additive_relations,
    number_of_cells,
)
from sdcgate.methods.positions import FactProblem, FactsError
from sdcgate.methods.tables.published_checks import contradicted, misread, told_twice
from sdcgate.methods.tables.published_figures import Published, blurred, bounded_cells
from sdcgate.methods.tables.published_rows import Told, told_by
from sdcgate.methods.tables.quantities import SUMS, UNITS

SMALLEST_WIDTH = 1e-6
"""Least width of a withheld sum, as a share of the largest sum that is not known."""
ADDITION_ERROR = 1e-9
"""By how much, as a share of their absolute terms, true sums may fail to add up."""
MOST_RECORDS = 2**40
MOST_COST = 2.0**50
MOST_RECORDS_OF_UNITS = (
    "must be at most records_per_unit * units, and most_records * units where that is given"
)
SUM_OF_PARTS = "must be the sum of the parts where a code has parts"


class Proof(IntEnum):
    """Whether a pattern's protection is proved; the numbers are the wire's. Only PROVED leaves."""

    UNSPECIFIED = 0
    PROVED = 1
    REFUTED = 2
    UNPROVED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """Everything that must add up, as sparse rows: sum of `signs[k] * value[cells[k]]` over a row.

    A table's relation is the sum of its parts minus its parent, and is zero; a known sum is a row of ones.
    Rows are stored one after the other, none empty: row i starts at `starts[i]`.
    """

    cells: IntArray
    signs: IntArray
    starts: IntArray

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def rows(self) -> IntArray:
        """Row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(np.append(self.starts, len(self.cells))))

    def residuals(self, values: FloatArray | IntArray) -> FloatArray | IntArray:
        """Value of each row for each table in `values`, shape (tables, cells) to (tables, rows)."""
        if len(self) == 0:
            return values[:, :0]
        terms = values[:, self.cells] * self.signs
        sums: FloatArray | IntArray = np.add.reduceat(terms, self.starts, axis=1)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A table to protect; see the module for what the intruder knows of it.

    `known` are cells whose counts are known from elsewhere, `known_measures` cells of which the sum of a
    measure is (the same cells unless given, shape (measures, cells)); `absent` cells are neither shown nor
    protected; each shape (cells,). Over each set of positions in `known_sums` the sum of records is known,
    and of units where they add up; over each set in `known_measure_sums[m]` that of measure m (the same sets
    unless given). `costs`, shape (cells,), are what withholding a cell costs beside the unsafe ones: its
    records plus one unless given. A withheld count is protected if it can be either of
    two values `count_width` apart, a withheld sum if it can be either of two that are `sum_width` of its
    absolute value apart, and if it can be as much more and less than it is as `upper_levels` and
    `lower_levels` say, shape (measures, cells), where they are given; of what is known nothing is required.
    Everybody knows that a unit has at most `records_per_unit` records, and in each cell at most
    `most_records`, shape (cells,), where that is given; and that a withheld cell has at least
    one unless `zeros_withheld`. Where units do not add up they do along all axes but the `varying_axes`, the
    positions of those along which a unit may be in several cells; along none unless given. Cells of several
    tables have `joint_relations` in place of axes, and their units add up everywhere or nowhere. Everybody
    knows what is `published` of cells, withheld or not: ratios, rounded values, bounds of single cells.

    Raises FactsError, naming all that is wrong, if shapes do not fit or the facts contradict what everybody
    is said to know.
    """

    axes: tuple[Axis, ...]
    facts: Facts = field(repr=False)
    units_additive: bool
    count_width: int
    sum_width: float
    zeros_withheld: bool
    records_per_unit: int
    known: BoolArray = field(repr=False)
    absent: BoolArray = field(repr=False)
    known_sums: tuple[IntArray, ...] = field(default=(), repr=False)
    known_measures: BoolArray | None = field(default=None, repr=False)
    known_measure_sums: tuple[tuple[IntArray, ...], ...] | None = field(default=None, repr=False)
    costs: FloatArray | None = field(default=None, repr=False)
    upper_levels: FloatArray | None = field(default=None, repr=False)
    lower_levels: FloatArray | None = field(default=None, repr=False)
    joint_relations: Relations | None = field(default=None, repr=False)
    published: tuple[Published, ...] = field(default=(), repr=False)
    varying_axes: frozenset[int] | None = None
    most_records: IntArray | None = field(default=None, repr=False)
    told: Told = field(init=False, repr=False)
    """What is published, as rows."""
    blurred: BoolArray = field(init=False, repr=False)
    """What is known rounded where it is shown: records, units, each measure; shape (2 + measures, cells)."""
    relations: Relations = field(init=False, repr=False)
    equations: Equations = field(init=False, repr=False)
    """What must add up in counts of records."""
    unit_relations: Relations = field(init=False, repr=False)
    """The relations along which units add up."""
    unit_equations: Equations = field(init=False, repr=False)
    """What must add up in units: these, and where they are all, the sums that are known from elsewhere."""
    unit_bounds: Relations = field(init=False, repr=False)
    """The others: these totals have no fewer units than any part, and no more than all parts."""
    sum_equations: tuple[Equations, ...] = field(init=False, repr=False)
    """What must add up in the sums of each measure."""
    units_follow: bool = field(init=False, repr=False)
    """Whether units are always the records, so that they need no proof of their own."""

    def __post_init__(self) -> None:
        problems = _misfits(self)
        if problems:
            raise FactsError(problems)
        relations = additive_relations(self.axes) if self.joint_relations is None else self.joint_relations
        object.__setattr__(self, "relations", relations)
        counts = _equations(relations, self.known_sums)
        object.__setattr__(self, "equations", counts)
        adding, bounded = self._relations_of_units(relations)
        known_too = self.known_sums if self.units_additive else ()
        object.__setattr__(self, "unit_relations", adding)
        object.__setattr__(self, "unit_equations", _equations(adding, known_too))
        object.__setattr__(self, "unit_bounds", bounded)
        of_measures = (
            (counts,) * len(self.facts.measures)
            if self.known_measure_sums is None
            else tuple(_equations(relations, known) for known in self.known_measure_sums)
        )
        object.__setattr__(self, "sum_equations", of_measures)
        same = np.array_equal(self.facts.units, self.facts.records)
        follow = bool((self.most_in_cells == 1).all()) or (self.units_additive and same)
        object.__setattr__(self, "units_follow", follow)
        object.__setattr__(self, "told", told_by(self.published, self.facts, follow))
        quantities = 2 + len(self.facts.measures)
        object.__setattr__(self, "blurred", blurred(self.published, quantities, len(self.facts), follow))
        problems = list(_contradictions(self))
        if problems:
            raise FactsError(problems)

    def _relations_of_units(self, relations: Relations) -> tuple[Relations, Relations]:
        """The relations along which units add up, and the others."""
        nothing = additive_relations((), ())
        if self.units_additive:
            return relations, nothing
        if self.varying_axes is None or self.joint_relations is not None:
            return nothing, relations
        others = frozenset(range(len(self.axes))) - self.varying_axes
        return additive_relations(self.axes, others), additive_relations(self.axes, self.varying_axes)

    def equations_of(self, quantity: int) -> Equations:
        """What must add up in a quantity: records, units, then the measures."""
        if quantity >= SUMS:
            return self.sum_equations[quantity - SUMS]
        return self.unit_equations if quantity == UNITS else self.equations

    @property
    def most_in_cells(self) -> IntArray:
        """How many records a unit has in each cell at most, shape (cells,)."""
        everywhere = np.full(len(self.facts), self.records_per_unit, dtype=np.int64)
        return everywhere if self.most_records is None else np.minimum(everywhere, self.most_records)

    @property
    def prices(self) -> FloatArray:
        """What withholding each cell costs, shape (cells,)."""
        return (self.facts.records + 1).astype(np.float64) if self.costs is None else self.costs

    def unknown(self, withheld: BoolArray) -> BoolArray:
        """Cells of which the intruder does not know everything under a pattern, shape (cells,)."""
        unknown: BoolArray = np.logical_or.reduce(self.unknown_quantities(withheld), axis=0)
        return unknown

    def unknown_quantities(self, withheld: BoolArray) -> BoolArray:
        """Quantities that he does not know: records, units, each measure; shape (2 + measures, cells)."""
        unknown: BoolArray = (withheld | self.absent | self.blurred) & ~self.known_quantities
        return unknown

    @property
    def known_quantities(self) -> BoolArray:
        """What is known from elsewhere: records, units, each measure; shape (2 + measures, cells)."""
        measures = len(self.facts.measures)
        sums = np.tile(self.known, (measures, 1)) if self.known_measures is None else self.known_measures
        return np.concatenate([self.known[None], self.known[None], sums.reshape(measures, len(self.known))])

    @property
    def wholly_known(self) -> BoolArray:
        """Cells of which every quantity is known from elsewhere, shape (cells,)."""
        known: BoolArray = np.logical_and.reduce(self.known_quantities, axis=0)
        return known

    def floors(self, withheld: BoolArray) -> IntArray:
        """Fewest units that everybody knows each cell to have under a pattern, shape (cells,)."""
        marked = withheld & ~self.absent
        return np.where(marked & (not self.zeros_withheld), 1, 0).astype(np.int64)

    def missing(self, measure: int) -> IntArray:
        """Records without a measure, shape (cells,).

        The intruder is taken to know them: with r he then knows how many records a sum is made of.
        """
        return self.facts.records - self.facts.measures[measure].valid_records

    def scale(self, measure: int, unknown: BoolArray) -> float:
        """Magnitude of a measure's unknown sums; where all are zero, of its known sums or of its bounds."""
        facts = self.facts.measures[measure]
        candidates = (
            np.abs(facts.sums[unknown]).max(initial=0.0),
            np.abs(facts.sums).max(initial=0.0),
            abs(facts.upper_bound or 0.0),
            abs(facts.lower_bound or 0.0),
        )
        return next((float(size) for size in candidates if size > 0), 1.0)

    def sum_widths(self, unknown: BoolArray) -> FloatArray:
        """Least width of each withheld sum, shape (measures, cells); more than addition can err by."""
        widths = np.zeros((len(self.facts.measures), len(self.facts)))
        for measure, facts in enumerate(self.facts.measures):
            least = SMALLEST_WIDTH * self.scale(measure, unknown)
            widths[measure] = np.maximum(self.sum_width * np.abs(facts.sums), least)
        return widths

    def unbounded(self, withheld: BoolArray) -> tuple[int, ...]:
        """Measures of whose records nothing is known beforehand, nor of a sum that is withheld.

        Some intruder always knows something. Where the policy does not say what, nothing can be proved; one
        bound is enough, the other side is then open for everybody.
        """
        return tuple(
            number
            for number, facts in enumerate(self.facts.measures)
            if facts.lower_bound is None and facts.upper_bound is None and not self._bounds(number, withheld)
        )

    def _bounds(self, measure: int, withheld: BoolArray) -> bool:
        """Whether bounds of cells are known of a measure, for each withheld sum that is not known itself."""
        bounded = bounded_cells(self.published, measure, len(withheld))
        asked = withheld & ~self.known_quantities[2 + measure]
        return bool(bounded.any() and bounded[asked].all())


def _equations(relations: Relations, known_sums: tuple[IntArray, ...]) -> Equations:
    """Rows of a table's relations, then of the sums known from elsewhere."""
    sizes = np.diff(relations.offsets)
    # A row is its parts and then, at the place before the next row starts, its parent.
    cells = np.insert(relations.children, relations.offsets[1:], relations.parents)
    signs = np.ones(len(cells), dtype=np.int64)
    signs[np.cumsum(sizes + 1) - 1] = -1
    sets = [np.unique(np.asarray(known, dtype=np.int64)) for known in known_sums if len(known)]
    lengths = np.array([*(sizes + 1), *(len(known) for known in sets)], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])[: len(lengths)]
    ones = [np.ones(len(known), dtype=np.int64) for known in sets]
    return Equations(np.concatenate([cells, *sets]), np.concatenate([signs, *ones]), starts)


def _misfits(problem: Problem) -> list[FactProblem]:
    """Arrays whose length does not fit the axes, and parameters out of range."""
    facts = problem.facts
    cells = number_of_cells(problem.axes) if problem.joint_relations is None else len(facts)
    columns: list[tuple[str, npt.NDArray[np.generic]]] = [
        ("facts.units", facts.units),
        ("facts.records", facts.records),
        ("known", problem.known),
        ("absent", problem.absent),
    ]
    for place, measure in enumerate(facts.measures):
        columns.append((f"facts.measures[{place}].sums", measure.sums))
        columns.append((f"facts.measures[{place}].valid_records", measure.valid_records))
    if problem.costs is not None:
        columns.append(("costs", problem.costs))
    if problem.most_records is not None:
        columns.append(("most_records", problem.most_records))
    found = [
        FactProblem(path, f"must be one value for each of {cells} cells, not {len(column)}")
        for path, column in columns
        if len(column) != cells
    ]
    measures = (len(facts.measures), cells)
    if problem.known_measures is not None and problem.known_measures.shape != measures:
        found.append(FactProblem("known_measures", f"must have shape {measures}"))
    for name in ("upper_levels", "lower_levels"):
        levels = getattr(problem, name)
        if levels is not None and levels.shape != measures:
            found.append(FactProblem(name, f"must have shape {measures}"))
        elif levels is not None and not np.all((levels >= 0) & np.isfinite(levels)):
            found.append(FactProblem(name, "must be finite and not negative"))
    if problem.count_width < 1:
        found.append(FactProblem("count_width", "must be at least 1"))
    if not (np.isfinite(problem.sum_width) and problem.sum_width >= 0):
        found.append(FactProblem("sum_width", "must be finite and not negative"))
    if problem.records_per_unit < 1:
        found.append(FactProblem("records_per_unit", "must be at least 1"))
    if problem.most_records is not None and (problem.most_records < 1).any():
        few = np.flatnonzero(problem.most_records < 1)
        found.append(FactProblem("most_records", "must be at least 1", few))
    return [
        *found,
        *_misplaced_sums(problem, cells),
        *misread(problem.published, cells, len(facts.measures)),
        # Several tables may tell the same of a common cell.
        *(told_twice(problem.published) if problem.joint_relations is None else ()),
    ]


def _misplaced_sums(problem: Problem, cells: int) -> Iterator[FactProblem]:
    """Known sums of what is no cell."""
    named = {"known_sums": problem.known_sums}
    if problem.known_measure_sums is not None:
        if len(problem.known_measure_sums) != len(problem.facts.measures):
            yield FactProblem("known_measure_sums", "must have one entry a measure")
        named |= {f"known_measure_sums[{m}]": sets for m, sets in enumerate(problem.known_measure_sums)}
    for name, sets in named.items():
        for position, known in enumerate(sets):
            if len(known) and (np.min(known) < 0 or np.max(known) >= cells):
                yield FactProblem(f"{name}[{position}]", f"must name cells 0 to {cells - 1}")


def _contradictions(problem: Problem) -> Iterator[FactProblem]:
    """Where the facts are not a table that the intruder could believe in. Names no figure."""
    units, records = problem.facts.units, problem.facts.records
    if problem.costs is not None:
        senseless = ~((problem.costs > 0) & (problem.costs <= MOST_COST))
        yield from _where("costs", senseless, "must be greater than 0 and at most 2^50")
    outside = (records < 0) | (records > MOST_RECORDS)
    yield from _where("facts.records", outside, "must lie between 0 and 2^40")
    if not outside.any():
        yield from _where("facts.records", _broken(problem, records), SUM_OF_PARTS)
    implausible = (units < 0) | (units > records)
    yield from _where("facts.units", implausible, "must lie between 0 and records")
    many = ~implausible & ~outside & (records > problem.most_in_cells.astype(np.float64) * units)
    yield from _where("facts.records", many, MOST_RECORDS_OF_UNITS)
    if not (implausible.any() or many.any()):
        wrong = _not_sums(problem.unit_relations, problem.unit_equations, units)
        yield from _where("facts.units", wrong, f"are said to add up, and {SUM_OF_PARTS}")
        wrong = _beyond_parts(problem.unit_bounds, units)
        message = "must lie between the largest part and the sum of the parts where a code has parts"
        yield from _where("facts.units", wrong, message)
    for place in range(len(problem.facts.measures)):
        yield from _contradicted_bounds(problem, place)
    yield from contradicted(problem.published, problem.facts, problem.units_follow)


def _where(path: str, wrong: BoolArray, message: str) -> Iterator[FactProblem]:
    if wrong.any():
        yield FactProblem(path, message, np.flatnonzero(wrong))


def _contradicted_bounds(problem: Problem, place: int) -> Iterator[FactProblem]:
    """What is wrong with one measure."""
    measure, path = problem.facts.measures[place], f"facts.measures[{place}]"
    sums, valid = measure.sums, measure.valid_records
    infinite, impossible = ~np.isfinite(sums), (valid < 0) | (valid > problem.facts.records)
    yield from _where(f"{path}.sums", infinite, "must be finite")
    yield from _where(f"{path}.valid_records", impossible, "must lie between 0 and records")
    if infinite.any() or impossible.any():
        return
    yield from _where(f"{path}.sums", _broken(problem, sums), SUM_OF_PARTS)
    yield from _where(f"{path}.valid_records", _broken(problem, valid), SUM_OF_PARTS)
    room = ADDITION_ERROR * np.abs(sums).max(initial=0.0)
    low, high = measure.lower_bound, measure.upper_bound
    with np.errstate(over="ignore", invalid="ignore"):
        # Beyond what a float holds a bound excludes nothing; infinite ones are wrong themselves.
        least = -np.inf if low is None else low * valid - room
        most = np.inf if high is None else high * valid + room
    if low is not None:
        wrong = np.full(len(sums), not np.isfinite(low)) | ~(sums >= least)
        yield from _where(
            f"{path}.lower_bound", wrong, "must be finite, and no sum below it times its records"
        )
    if high is not None:
        wrong = np.full(len(sums), not np.isfinite(high)) | ~(sums <= most)
        yield from _where(
            f"{path}.upper_bound", wrong, "must be finite, and no sum above it times its records"
        )
    yield from _where(
        f"{path}.sums", (valid == 0) & (sums != 0), "must be 0 where there are no valid_records"
    )


def broken_sums(axes: tuple[Axis, ...], facts: Facts) -> list[FactProblem]:
    """Totals that are not the sum of their parts, of facts of which something else is wrong as well.

    What is wrong with a table is told at once. Columns that do not fit or are not finite are left out.
    """
    relations = additive_relations(axes)
    equations = _equations(relations, ())
    columns: dict[str, FloatArray | IntArray] = {"facts.records": facts.records}
    columns |= {f"facts.measures[{place}].sums": one.sums for place, one in enumerate(facts.measures)}
    cells = prod(len(axis.codes) for axis in axes)
    return [
        problem
        for path, values in columns.items()
        if values.shape == (cells,) and np.isfinite(values).all()
        for problem in _where(path, _not_sums(relations, equations, values), SUM_OF_PARTS)
    ]


def _broken(problem: Problem, values: FloatArray | IntArray) -> BoolArray:
    """Totals that are not the sum of their parts along an axis, shape (cells,)."""
    return _not_sums(problem.relations, problem.equations, values)


def _not_sums(relations: Relations, equations: Equations, values: FloatArray | IntArray) -> BoolArray:
    parents = relations.parents
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(equations.residuals(values[None, :])[0, : len(parents)])
    broken = np.zeros(len(values), dtype=np.bool_)
    broken[parents[~(off <= ADDITION_ERROR * np.abs(values[parents]).max(initial=0))]] = True
    return broken


def _beyond_parts(relations: Relations, units: IntArray) -> BoolArray:
    """Totals with fewer units than a part or more than all parts, shape (cells,)."""
    beyond = np.zeros(len(units), dtype=np.bool_)
    if len(relations):
        parts, starts = units[relations.children], relations.offsets[:-1]
        totals = units[relations.parents]
        wrong = (totals < np.maximum.reduceat(parts, starts)) | (totals > np.add.reduceat(parts, starts))
        beyond[relations.parents[wrong]] = True
    return beyond


def units_agree(problem: Problem, units: IntArray) -> BoolArray:
    """Whether units add up, or max(parts) <= parent <= sum(parts), as they do; (tables, cells) to (tables,).

    These bounds hold for distinct units whatever varies within a unit.
    """
    agree: BoolArray
    agree = np.all(problem.unit_equations.residuals(units - problem.facts.units) == 0, axis=1)
    relations = problem.unit_bounds
    if len(relations) == 0:
        return agree
    parts, starts = units[:, relations.children], relations.offsets[:-1]
    parents = units[:, relations.parents]
    above = np.maximum.reduceat(parts, starts, axis=1) <= parents
    below = parents <= np.add.reduceat(parts, starts, axis=1)
    agree &= np.all(above & below, axis=1)
    return agree
