"""Problems of protection, patterns and witnesses between messages and arrays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from sdcgate.methods.cells import Axis, BoolArray, FloatArray, IntArray, number_of_cells
from sdcgate.methods.positions import FactsError
from sdcgate.methods.tables.cell_costs import CostKind, cell_costs
from sdcgate.methods.tables.fact_checks import fact_problems
from sdcgate.methods.tables.given_facts import protectable
from sdcgate.methods.tables.leak_sentences import cell_name
from sdcgate.methods.tables.problem import MOST_COST, Problem, Proof, broken_sums
from sdcgate.methods.tables.witnesses import MOST_TABLES, Witnesses
from sdcgate.wire.dimensions import MAXIMUM_CELLS, CellOrder, axes_from_messages, axes_to_messages
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, Problems, join
from sdcgate.wire.published import published_from_message, put_published
from sdcgate.wire.tables import (
    IN_ORDER,
    facts_problems,
    facts_to_message,
    floats,
    given_facts_from_message,
    integers,
    listed,
    mask,
    positions,
)
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2

NO_MEASURE = "is no measure of the facts of which sums are given"


def problem_to_message(problem: Problem) -> protection_pb2.ProtectionProblem:
    """Write a problem."""
    message = protection_pb2.ProtectionProblem(
        dimensions=axes_to_messages(problem.axes),
        facts=facts_to_message(problem.facts),
        units_additive=problem.units_additive,
        varying_dimensions=() if problem.units_additive else sorted(problem.varying_axes or ()),
        count_width=problem.count_width,
        sum_width=problem.sum_width,
        zeros_withheld=problem.zeros_withheld,
        records_per_unit=problem.records_per_unit,
        most_records=() if problem.most_records is None else problem.most_records.tolist(),
        known=listed(problem.known),
        known_measures=_listed_by_measure(problem),
        absent=listed(problem.absent),
        known_sums=_known_sums_to_messages(problem),
        costs=() if problem.costs is None else problem.costs.tolist(),
        sum_levels=_levels_to_messages(problem),
    )
    put_published(message, problem.published, [measure.name for measure in problem.facts.measures])
    return message


@dataclass(frozen=True, slots=True, eq=False)
class TablePart:
    """One of several tables: its axes, where its cells lie among all, and where the sender's lie in it."""

    axes: tuple[Axis, ...]
    places: IntArray = field(repr=False)
    order: CellOrder = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class TableToProtect:
    """What the protection service is asked."""

    problem: Problem
    cells: BoolArray = field(repr=False)
    """The unsafe cells, or those that are withheld."""
    counts: str = "records"
    """Which counts are protected as records: `units` where these stand for them."""
    unchecked: tuple[str, ...] = ()
    """Facts that were not given, as callers know them."""
    order: CellOrder = field(default=IN_ORDER, repr=False)
    """Where the sender's cells lie."""
    known_witnesses: Witnesses | None = field(default=None, repr=False)
    """Of an earlier pattern."""
    parts: tuple[TablePart, ...] = field(default=(), repr=False)
    """The tables, where several are protected together."""

    def name_of(self, place: int) -> str:
        """What a cell is called: its codes, in the first table that has it."""
        for part in self.parts:
            own = np.flatnonzero(part.places == place)
            if len(own):
                return cell_name(part.axes, int(own[0]))
        return cell_name(self.problem.axes, place)


def table_to_protect(
    message: protection_pb2.ProtectTableRequest | protection_pb2.AuditTableRequest,
    most_cells: int = MAXIMUM_CELLS,
) -> TableToProtect:
    """Read a request. Raises InvalidMessageError with all that is wrong with its envelope and columns."""
    problems = Problems(violations(message))
    name = "unsafe" if isinstance(message, protection_pb2.ProtectTableRequest) else "withheld"
    table = read_table(message.problem, getattr(message, name), ("problem", name), most_cells, problems)
    known = None
    if table is not None:
        known = read_known_witnesses(message, table.order, problems)
    problems.check()
    if table is None:
        raise RuntimeError("no problem to protect, and none to tell")
    return replace(table, known_witnesses=known)


def read_known_witnesses(
    message: protection_pb2.ProtectTableRequest | protection_pb2.AuditTableRequest,
    order: CellOrder,
    problems: Problems,
) -> Witnesses | None:
    """Witnesses of an earlier pattern, where there are any; what is wrong with them is noted."""
    if isinstance(message, protection_pb2.AuditTableRequest) or not message.HasField("known_witnesses"):
        return None
    measures = len(message.problem.facts.measures)
    return problems.of(witnesses_from_message, message.known_witnesses, measures, "known_witnesses", order)


def read_table(
    asked: protection_pb2.ProtectionProblem,
    cells: Iterable[int],
    paths: tuple[str, str],
    most_cells: int,
    problems: Problems,
) -> TableToProtect | None:
    """One table and its cells, at these paths; None, with what is wrong noted, where it cannot be read."""
    path, path_of_cells = paths
    read = problems.of(axes_from_messages, asked.dimensions, f"{path}.dimensions", most_cells)
    if read is None:
        return None
    axes, order = read
    flags = problems.of(mask, cells, number_of_cells(axes), path_of_cells, order)
    problem = _problem(asked, axes, order, problems, path)
    if problem is None or flags is None:
        return None
    counts = "units" if asked.facts.units and not asked.facts.records else "records"
    priced = problems.of(_priced, problem[0], asked, flags, path)
    return None if priced is None else TableToProtect(priced, flags, counts, problem[1], order)


def _priced(
    problem: Problem, asked: protection_pb2.ProtectionProblem, cells: BoolArray, path: str
) -> Problem:
    """The problem with costs that are asked for by name. Raises InvalidMessageError."""
    if not asked.HasField("costs_by"):
        return problem
    if len(asked.costs):
        text = "is given in place of costs, not with them"
        raise InvalidMessageError([FieldProblem(f"{path}.costs_by", text)])
    kind = CostKind(asked.costs_by.kind or CostKind.RECORDS)
    measures = [measure.name for measure in problem.facts.measures]
    if kind is CostKind.VALUE and asked.costs_by.measure not in measures:
        raise InvalidMessageError([FieldProblem(f"{path}.costs_by.measure", NO_MEASURE)])
    measure = measures.index(asked.costs_by.measure) if kind is CostKind.VALUE else 0
    power = asked.costs_by.power if asked.costs_by.HasField("power") else 1.0
    costs = cell_costs(kind, problem.axes, problem.facts, cells, measure, power)
    if costs.max(initial=0.0) > MOST_COST:
        text = "makes costs of more than 2^50: take less"
        raise InvalidMessageError([FieldProblem(f"{path}.costs_by.power", text)])
    return replace(problem, costs=costs)


def _problem(
    message: protection_pb2.ProtectionProblem,
    axes: tuple[Axis, ...],
    order: CellOrder,
    problems: Problems,
    path: str,
) -> tuple[Problem, tuple[str, ...]] | None:
    """The problem and what is unchecked in it; None, with what is wrong noted, where it cannot be made."""
    count = number_of_cells(axes)
    if not np.isfinite(message.sum_width):
        problems.found.append(FieldProblem(f"{path}.sum_width", "must be a finite number"))
    known = problems.of(mask, message.known, count, f"{path}.known", order)
    absent = problems.of(mask, message.absent, count, f"{path}.absent", order)
    facts = problems.of(given_facts_from_message, message.facts, count, f"{path}.facts", order)
    if facts is None:
        return None
    try:
        unsound = fact_problems(facts, count)
        if unsound:
            raise FactsError([*unsound, *broken_sums(axes, facts)])
        given = protectable(axes, facts, message.units_additive, message.records_per_unit)
    except FactsError as error:
        problems.found.extend(facts_problems(error, message.facts, order, path))
        return None
    measures = [measure.name for measure in given.facts.measures]
    varying = problems.of(_varying_axes, message, path)
    known_measures = problems.of(_known_measures, message, measures, count, order, path)
    known_sums = problems.of(_known_sums_from_messages, message, measures, count, order, path)
    levels = problems.of(_levels_from_messages, message, measures, count, order, path)
    counts = "units" if message.facts.units and not message.facts.records else "records"
    published = problems.of(
        published_from_message, message, measures, counts, given.unchecked, order, count, path
    )
    if known is None or absent is None or known_sums is None or _told(problems, path):
        return None
    if facts.structural_zeros is not None:
        # That nobody can be in a cell everybody knows.
        known = known | facts.structural_zeros
        known_measures = None if known_measures is None else known_measures | facts.structural_zeros
    upper, lower = levels or (None, None)
    if not given.counted:
        # What nobody gave stands still, so that only sums have to be protected.
        known_measures = np.tile(known, (len(measures), 1)) if known_measures is None else known_measures
        known = np.ones(count, dtype=np.bool_)
    try:
        problem = Problem(
            axes=axes,
            facts=given.facts,
            units_additive=given.units_additive,
            varying_axes=varying,
            count_width=message.count_width,
            sum_width=message.sum_width,
            zeros_withheld=message.zeros_withheld,
            records_per_unit=given.records_per_unit,
            most_records=order.arranged(integers(message.most_records))
            if len(message.most_records)
            else None,
            known=known,
            known_measures=known_measures,
            absent=absent,
            known_sums=known_sums[0],
            known_measure_sums=known_sums[1],
            costs=order.arranged(floats(message.costs)) if len(message.costs) else None,
            upper_levels=upper,
            lower_levels=lower,
            published=published or (),
        )
    except FactsError as error:
        problems.found.extend(facts_problems(error, message.facts, order, path))
        return None
    if published:
        # From here on they are told by where they stand in the request.
        told = tuple(replace(one, path=join(path, one.path)) for one in published)
        problem = replace(problem, published=told)
    return problem, given.unchecked


def _told(problems: Problems, path: str) -> bool:
    """Whether something is wrong within a message at a path."""
    return any(problem.path.startswith(f"{path}.") for problem in problems.found)


def _known_sums_to_messages(problem: Problem) -> list[protection_pb2.KnownSum]:
    of_measures = problem.known_measure_sums
    if of_measures is None:
        of_measures = (problem.known_sums,) * len(problem.facts.measures)
    names = ["", *(measure.name for measure in problem.facts.measures)]
    return [
        protection_pb2.KnownSum(cells=cells.tolist(), measure=name)
        for name, sets in zip(names, (problem.known_sums, *of_measures), strict=True)
        for cells in sets
    ]


def _known_sums_from_messages(
    message: protection_pb2.ProtectionProblem,
    measures: list[str],
    count: int,
    order: CellOrder,
    path: str,
) -> tuple[tuple[IntArray, ...], tuple[tuple[IntArray, ...], ...]]:
    """Sets of cells with known sums: of the counts, and of each measure."""
    found: dict[str, list[IntArray]] = {"": [], **{measure: [] for measure in measures}}
    problems = Problems()
    for place, known in enumerate(message.known_sums):
        where = f"{path}.known_sums[{place}]"
        cells = problems.of(positions, known.cells, count, f"{where}.cells", order)
        if known.measure not in found:
            problems.found.append(FieldProblem(f"{where}.measure", NO_MEASURE))
        elif cells is not None:
            found[known.measure].append(cells)
    problems.check()
    counts = tuple(found.pop(""))
    return counts, tuple(tuple(sets) for sets in found.values())


def _levels_to_messages(problem: Problem) -> list[protection_pb2.SumLevels]:
    if problem.upper_levels is None and problem.lower_levels is None:
        return []
    nothing = np.zeros((len(problem.facts.measures), 0))
    sides = [nothing if side is None else side for side in (problem.upper_levels, problem.lower_levels)]
    return [
        protection_pb2.SumLevels(measure=measure.name, upper=upper.tolist(), lower=lower.tolist())
        for measure, upper, lower in zip(problem.facts.measures, *sides, strict=True)
    ]


def _levels_from_messages(
    message: protection_pb2.ProtectionProblem,
    measures: list[str],
    count: int,
    order: CellOrder,
    path: str,
) -> tuple[FloatArray, FloatArray] | None:
    """Levels above and below the sums of each measure, (measures, cells) each; None where there are none."""
    if not message.sum_levels:
        return None
    sides = (np.zeros((len(measures), count)), np.zeros((len(measures), count)))
    found: list[FieldProblem] = []
    for place, levels in enumerate(message.sum_levels):
        where = f"{path}.sum_levels[{place}]"
        if levels.measure not in measures:
            found.append(FieldProblem(f"{where}.measure", NO_MEASURE))
        for name, side in zip(("upper", "lower"), sides, strict=True):
            column = floats(getattr(levels, name))
            if column.size not in (0, count):
                text = f"must have {count} values, one a cell, not {column.size}"
                found.append(FieldProblem(f"{where}.{name}", text))
            elif not np.all((column >= 0) & np.isfinite(column)):
                found.append(FieldProblem(f"{where}.{name}", "must be finite and not negative"))
            elif column.size and levels.measure in measures:
                side[measures.index(levels.measure)] = order.arranged(column)
    if found:
        raise InvalidMessageError(found)
    return sides


def _varying_axes(message: protection_pb2.ProtectionProblem, path: str) -> frozenset[int] | None:
    """Positions of the axes that vary within a unit; None where it is not said which do."""
    where, found = f"{path}.varying_dimensions", list[FieldProblem]()
    if message.units_additive and message.varying_dimensions:
        found.append(FieldProblem(where, "must be empty where units_additive: nothing varies within a unit"))
    for place, position in enumerate(message.varying_dimensions):
        if position >= len(message.dimensions):
            text = f"must be the position of a dimension, 0 to {len(message.dimensions) - 1}"
            found.append(FieldProblem(f"{where}[{place}]", text))
    if found:
        raise InvalidMessageError(found)
    return frozenset(message.varying_dimensions) or None


def _listed_by_measure(problem: Problem) -> list[protection_pb2.KnownMeasure]:
    if problem.known_measures is None:
        return []
    names = [measure.name for measure in problem.facts.measures]
    return [
        protection_pb2.KnownMeasure(measure=name, cells=listed(known))
        for name, known in zip(names, problem.known_measures, strict=True)
    ]


def _known_measures(
    message: protection_pb2.ProtectionProblem,
    measures: list[str],
    count: int,
    order: CellOrder,
    path: str,
) -> BoolArray | None:
    """Cells of which each measure is known; None where the message says nothing of measures."""
    if not message.known_measures:
        return None
    place = {measure: number for number, measure in enumerate(measures)}
    known = np.zeros((len(place), count), dtype=np.bool_)
    problems = Problems()
    for number, found in enumerate(message.known_measures):
        where = f"{path}.known_measures[{number}]"
        cells = problems.of(mask, found.cells, count, f"{where}.cells", order)
        if found.measure not in place:
            problems.found.append(FieldProblem(f"{where}.measure", NO_MEASURE))
        elif cells is not None:
            known[place[found.measure]] |= cells
    problems.check()
    return known


def proof_to_message(proof: Proof) -> protection_pb2.Proof:
    """The wire's number, which is the same."""
    return cast("protection_pb2.Proof", int(proof))


def proof_from_message(number: int) -> Proof:
    """A proof; what this version does not know is unproved."""
    known = {member.value for member in Proof}
    return Proof(number) if number in known else Proof.UNPROVED


def witnesses_to_message(
    witnesses: Witnesses, order: CellOrder = IN_ORDER, unchecked: Sequence[str] = ()
) -> protection_pb2.Witnesses:
    """Write witnesses: table after table, sums measure after measure, without counts that nobody gave."""
    return protection_pb2.Witnesses(
        tables=len(witnesses),
        cells=order.cells_at(witnesses.cells).tolist(),
        records=() if "records" in unchecked else witnesses.records.reshape(-1).tolist(),
        units=() if "units" in unchecked else witnesses.units.reshape(-1).tolist(),
        sums=witnesses.sums.reshape(-1).tolist(),
    )


def witnesses_from_message(
    message: protection_pb2.Witnesses, measures: int, path: str = "witnesses", order: CellOrder = IN_ORDER
) -> Witnesses:
    """Read witnesses of a problem with so many measures; whether they prove anything is for `verify` to say.

    Raises InvalidMessageError where columns have wrong lengths.
    """
    tables, count = message.tables, len(message.cells)
    problems: list[FieldProblem] = []
    if tables > MOST_TABLES:
        problems.append(FieldProblem(join(path, "tables"), f"must be at most {MOST_TABLES}"))
    columns: list[tuple[str, Any, int]] = [
        ("records", message.records, tables * count),
        ("units", message.units, tables * count),
        ("sums", message.sums, measures * tables * count),
    ]
    for name, values, expected in columns:
        if len(values) != expected:
            problems.append(FieldProblem(join(path, name), f"must have {expected} values, not {len(values)}"))
    cells = integers(message.cells)
    if order.places is not None and np.any(cells >= len(order.places)):
        problems.append(FieldProblem(join(path, "cells"), f"must be below {len(order.places)}"))
    if problems:
        raise InvalidMessageError(problems)
    records: IntArray = integers(message.records).reshape(tables, count)
    units: IntArray = integers(message.units).reshape(tables, count)
    sums: FloatArray = floats(message.sums).reshape(measures, tables, count)
    return Witnesses(order.places_of(cells), records, units, sums)
