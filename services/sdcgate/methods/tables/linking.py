"""Tables with common cells as one problem: one set of cells, with the sums of all tables.

Cells are the same if they have the same codes on the same variables, where a table that lacks a variable has
its total. Whoever sees both tables then knows the sums of both, so that a pattern that is proved for the one
problem holds for all tables together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import (
    TOTAL,
    Axis,
    BoolArray,
    Facts,
    FloatArray,
    IntArray,
    MeasureFacts,
    Relations,
    cell_codes,
)
from sdcgate.methods.positions import FactProblem
from sdcgate.methods.tables.problem import ADDITION_ERROR, Problem
from sdcgate.methods.tables.published_figures import moved_to, told_to

SAME = ("units_additive", "count_width", "sum_width", "zeros_withheld", "records_per_unit")
"""What has to be demanded of all tables alike."""


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """Tables as one problem; `places[t]` are the cells of table t in it, in order for the first table."""

    problem: Problem
    places: tuple[IntArray, ...] = field(repr=False)


class LinkError(ValueError):
    """Tables that do not go together; `problems` are pairs of a table's number and what is wrong with it."""

    def __init__(self, problems: Sequence[tuple[int, FactProblem]]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"table {table}: {problem}" for table, problem in problems))


def link(tables: Sequence[Problem]) -> Linked:
    """Tables of the same population as one problem.

    What is known in one table is known; a cell is absent only where no table shows it; costs and levels of a
    common cell are the greatest. Raises LinkError, naming all that is wrong and no figure, where tables
    differ in what they demand, in their measures, or in the facts of common cells.
    """
    problems = [(number, found) for number, table in enumerate(tables) for found in _unlike(tables[0], table)]
    if problems:
        raise LinkError(problems)
    places = _places([table.axes for table in tables])
    twice = [(number, _twice(of)) for number, of in enumerate(places) if len(np.unique(of)) < len(of)]
    if twice:
        raise LinkError(twice)
    count = 1 + max(int(of.max(initial=-1)) for of in places)
    facts, contradictions = _facts(tables, places, count)
    if contradictions:
        raise LinkError(contradictions)
    return Linked(_problem(tables, places, facts), tuple(places))


def joint_flags(flags: Sequence[BoolArray], places: Sequence[IntArray]) -> BoolArray:
    """Cells that are flagged in any table, shape (joint cells,)."""
    joint = np.zeros(1 + max(int(of.max(initial=-1)) for of in places), dtype=np.bool_)
    for own, of in zip(flags, places, strict=True):
        joint[of[own]] = True
    return joint


def with_known(problem: Problem, shown: BoolArray) -> Problem:
    """The problem with some cells known, shape (cells,): withheld in one table, and shown in another."""
    if not shown.any():
        return problem
    known = problem.known_quantities | shown
    return replace(problem, known=known[0], known_measures=known[2:])


def with_shown(linked: Linked, tables: Sequence[Problem], shown: Sequence[BoolArray]) -> Linked:
    """The joint problem without what is rounded of cells that another table shows as they are.

    `shown` are the cells that each table shows, shape (cells,).
    """
    joint = linked.problem
    if not joint.blurred.any():
        return linked
    names, exact = [measure.name for measure in joint.facts.measures], np.zeros_like(joint.blurred)
    for table, of, own in zip(tables, linked.places, shown, strict=True):
        measures = [measure.name for measure in table.facts.measures]
        rows = [0, 1, *(2 + measures.index(name) for name in names)]
        exact[:, of] |= own & ~table.blurred[rows]
    return replace(linked, problem=replace(joint, published=told_to(joint.published, exact)))


def _unlike(first: Problem, table: Problem) -> Iterator[FactProblem]:
    """Where a table differs from the first in what must be alike."""
    for name in SAME:
        if getattr(table, name) != getattr(first, name):
            yield FactProblem(name, "must be the same for all linked tables")
    own, others = ([m.name for m in one.facts.measures] for one in (table, first))
    if sorted(own) != sorted(others):
        yield FactProblem("facts.measures", "must be the same measures in all linked tables")
        return
    for place, measure in enumerate(table.facts.measures):
        other = first.facts.measures[others.index(measure.name)]
        for name in ("lower_bound", "upper_bound"):
            if getattr(measure, name) != getattr(other, name):
                path = f"facts.measures[{place}].{name}"
                yield FactProblem(path, "must be the same in all linked tables")


def _twice(places: IntArray) -> FactProblem:
    _, first = np.unique(places, return_index=True)
    again = np.setdiff1d(np.arange(len(places)), first)
    text = "has a cell twice: codes of two levels of one variable must have different names"
    return FactProblem("dimensions", text, again)


def _places(tables: Sequence[tuple[Axis, ...]]) -> list[IntArray]:
    """Place of each table's cells among all, numbered as they come first."""
    tokens: dict[tuple[str, str], int] = {}
    most = max(len(axes) for axes in tables)
    keys = []
    for axes in tables:
        codes = cell_codes(axes)
        names = np.zeros((codes.shape[1], most), dtype=np.int64)
        for place, axis in enumerate(axes):
            own = [
                0 if code == TOTAL else tokens.setdefault((axis.variable, code), 1 + len(tokens))
                for code in axis.codes
            ]
            names[:, place] = np.array(own, dtype=np.int64)[codes[place]]
        keys.append(np.sort(names, axis=1))
    _, first, which = np.unique(np.concatenate(keys), axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.split(rank[which.reshape(-1)], np.cumsum([len(own) for own in keys])[:-1])


def _facts(
    tables: Sequence[Problem], places: list[IntArray], count: int
) -> tuple[Facts, list[tuple[int, FactProblem]]]:
    """Facts of all cells, and where tables contradict each other."""
    problems: list[tuple[int, FactProblem]] = []
    text = "must be the same as in the other tables that have these cells"

    def joined(columns: Sequence[FloatArray | IntArray], paths: Sequence[str]) -> FloatArray:
        joint = np.zeros(count)
        for column, of in reversed(list(zip(columns, places, strict=True))):
            joint[of] = column
        for number, (column, of) in enumerate(zip(columns, places, strict=True)):
            room = ADDITION_ERROR * np.abs(column).max(initial=0) if column.dtype.kind == "f" else 0
            wrong = np.abs(joint[of] - column) > room
            if wrong.any():
                problems.append((number, FactProblem(paths[number], text, np.flatnonzero(wrong))))
        return joint

    units = joined([table.facts.units for table in tables], ["facts.units"] * len(tables))
    records = joined([table.facts.records for table in tables], ["facts.records"] * len(tables))
    measures = []
    for first in tables[0].facts.measures:
        spots = [[m.name for m in table.facts.measures].index(first.name) for table in tables]
        own = [table.facts.measures[spot] for table, spot in zip(tables, spots, strict=True)]
        paths = [f"facts.measures[{spot}]" for spot in spots]
        sums = joined([measure.sums for measure in own], [f"{path}.sums" for path in paths])
        valid = joined(
            [measure.valid_records for measure in own], [f"{path}.valid_records" for path in paths]
        )
        measures.append(_measure(first, sums, valid.astype(np.int64)))
    return Facts(units.astype(np.int64), records.astype(np.int64), measures=tuple(measures)), problems


def _measure(of: MeasureFacts, sums: FloatArray, valid: IntArray) -> MeasureFacts:
    """What protection needs of a measure."""
    none = np.zeros(0)
    return MeasureFacts(
        of.name, sums, valid, valid[:0], none[:, None], none, none, none, of.lower_bound, of.upper_bound
    )


def _problem(tables: Sequence[Problem], places: list[IntArray], facts: Facts) -> Problem:
    """The problem of all cells; measures are in the order of the first table."""
    names = [measure.name for measure in facts.measures]
    rows = [[[m.name for m in table.facts.measures].index(name) for name in names] for table in tables]
    count, first = len(facts), tables[0]
    known_sums = tuple(
        of[known] for table, of in zip(tables, places, strict=True) for known in table.known_sums
    )
    return Problem(
        axes=(),
        facts=facts,
        known=joint_flags([table.known for table in tables], places),
        known_measures=_known_measures(tables, places, rows, count),
        absent=~joint_flags([~table.absent for table in tables], places),
        known_sums=known_sums,
        known_measure_sums=_known_measure_sums(tables, places, rows),
        costs=_costs(tables, places, count),
        most_records=_most_records(tables, places, count),
        upper_levels=_levels(tables, places, rows, "upper_levels", count),
        lower_levels=_levels(tables, places, rows, "lower_levels", count),
        joint_relations=_relations(tables, places),
        published=tuple(
            moved_to(one, of, own)
            for table, of, own in zip(tables, places, rows, strict=True)
            for one in table.published
        ),
        **{name: getattr(first, name) for name in SAME},
    )


def _most_records(tables: Sequence[Problem], places: list[IntArray], count: int) -> IntArray | None:
    """What any table says of a common cell."""
    if all(table.most_records is None for table in tables):
        return None
    most = np.full(count, tables[0].records_per_unit, dtype=np.int64)
    for table, of in zip(tables, places, strict=True):
        most[of] = np.minimum(most[of], table.most_in_cells)
    return most


def _known_measures(
    tables: Sequence[Problem], places: list[IntArray], rows: list[list[int]], count: int
) -> BoolArray:
    known = np.zeros((len(rows[0]), count), dtype=np.bool_)
    for table, of, own in zip(tables, places, rows, strict=True):
        known[:, of] |= table.known_quantities[2:][own]
    return known


def _known_measure_sums(
    tables: Sequence[Problem], places: list[IntArray], rows: list[list[int]]
) -> tuple[tuple[IntArray, ...], ...]:
    """Known sums of each measure: those of the counts where a table tells none of its own."""
    return tuple(
        tuple(
            of[known]
            for table, of, own in zip(tables, places, rows, strict=True)
            for known in (
                table.known_sums if table.known_measure_sums is None else table.known_measure_sums[own[m]]
            )
        )
        for m in range(len(rows[0]))
    )


def _costs(tables: Sequence[Problem], places: list[IntArray], count: int) -> FloatArray:
    costs = np.zeros(count)
    for table, of in zip(tables, places, strict=True):
        costs[of] = np.maximum(costs[of], table.prices)
    return costs


def _levels(
    tables: Sequence[Problem], places: list[IntArray], rows: list[list[int]], side: str, count: int
) -> FloatArray | None:
    if all(getattr(table, side) is None for table in tables):
        return None
    levels = np.zeros((len(rows[0]), count))
    for table, of, own in zip(tables, places, rows, strict=True):
        of_table = getattr(table, side)
        if of_table is not None:
            levels[:, of] = np.maximum(levels[:, of], of_table[own])
    return levels


def _relations(tables: Sequence[Problem], places: list[IntArray]) -> Relations:
    """The sums of all tables, each once."""
    found: dict[tuple[int, bytes], IntArray] = {}
    for table, of in zip(tables, places, strict=True):
        for relation, parent in enumerate(of[table.relations.parents].tolist()):
            parts = np.sort(of[table.relations.parts(relation)])
            found.setdefault((parent, parts.tobytes()), parts)
    parents = np.array([parent for parent, _ in found], dtype=np.int64)
    groups = list(found.values())
    offsets = np.cumsum([0, *(len(parts) for parts in groups)])
    children = np.concatenate(groups) if groups else np.zeros(0, dtype=np.int64)
    return Relations(parents, offsets.astype(np.int64), children)
