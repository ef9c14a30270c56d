"""Problems of protection, patterns and witnesses between messages and arrays."""

from typing import Any, cast

import numpy as np

from sdcgate.methods.cells import BoolArray, Facts, FloatArray, IntArray, number_of_cells
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.witnesses import MOST_TABLES, Witnesses
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, join
from sdcgate.wire.tables import (
    axes_from_messages,
    axes_to_messages,
    facts_from_message,
    facts_to_message,
    floats,
    integers,
    mask,
    positions,
)
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2


def problem_to_message(problem: Problem) -> protection_pb2.ProtectionProblem:
    """Write a problem."""
    return protection_pb2.ProtectionProblem(
        dimensions=axes_to_messages(problem.axes),
        facts=facts_to_message(problem.facts),
        units_additive=problem.units_additive,
        count_width=problem.count_width,
        sum_width=problem.sum_width,
        zeros_withheld=problem.zeros_withheld,
        records_per_unit=problem.records_per_unit,
        known=listed(problem.known),
        known_measures=_listed_by_measure(problem),
        absent=listed(problem.absent),
        known_sums=_known_sums_to_messages(problem),
    )


def problem_from_message(message: protection_pb2.ProtectionProblem, path: str = "problem") -> Problem:
    """Read a problem. Raises InvalidMessageError with all that is wrong with it."""
    axes = axes_from_messages(message.dimensions, join(path, "dimensions"))
    count = number_of_cells(axes)
    facts = facts_from_message(message.facts, count, join(path, "facts"))
    if not np.isfinite(message.sum_width):
        raise InvalidMessageError([FieldProblem(join(path, "sum_width"), "must be a finite number")])
    known_measures = _known_measures(message, facts, count, path)
    known_sums, known_measure_sums = _known_sums_from_messages(message, facts, count, path)
    try:
        return Problem(
            axes=axes,
            facts=facts,
            units_additive=message.units_additive,
            count_width=message.count_width,
            sum_width=message.sum_width,
            zeros_withheld=message.zeros_withheld,
            records_per_unit=message.records_per_unit,
            known=mask(message.known, count, join(path, "known")),
            known_measures=known_measures,
            absent=mask(message.absent, count, join(path, "absent")),
            known_sums=known_sums,
            known_measure_sums=known_measure_sums,
        )
    except InvalidMessageError:
        raise
    except ValueError as error:
        # The text names columns and what does not fit, no figure.
        raise InvalidMessageError([FieldProblem(path, str(error))]) from None


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
    message: protection_pb2.ProtectionProblem, facts: Facts, count: int, path: str
) -> tuple[tuple[IntArray, ...], tuple[tuple[IntArray, ...], ...]]:
    """Sets of cells with known sums: of the counts, and of each measure."""
    found: dict[str, list[IntArray]] = {"": [], **{measure.name: [] for measure in facts.measures}}
    for place, known in enumerate(message.known_sums):
        where = f"{path}.known_sums[{place}]"
        if known.measure not in found:
            raise InvalidMessageError([FieldProblem(f"{where}.measure", "is no measure of the facts")])
        found[known.measure].append(positions(known.cells, count, f"{where}.cells"))
    counts = tuple(found.pop(""))
    return counts, tuple(tuple(sets) for sets in found.values())


def _listed_by_measure(problem: Problem) -> list[protection_pb2.KnownMeasure]:
    if problem.known_measures is None:
        return []
    names = [measure.name for measure in problem.facts.measures]
    return [
        protection_pb2.KnownMeasure(measure=name, cells=listed(known))
        for name, known in zip(names, problem.known_measures, strict=True)
    ]


def _known_measures(
    message: protection_pb2.ProtectionProblem, facts: Facts, count: int, path: str
) -> BoolArray | None:
    """Cells of which each measure is known; None where the message says nothing of measures."""
    if not message.known_measures:
        return None
    place = {measure.name: number for number, measure in enumerate(facts.measures)}
    known = np.zeros((len(place), count), dtype=np.bool_)
    for number, found in enumerate(message.known_measures):
        where = f"{path}.known_measures[{number}]"
        if found.measure not in place:
            raise InvalidMessageError([FieldProblem(f"{where}.measure", "is no measure of the facts")])
        known[place[found.measure]] |= mask(found.cells, count, f"{where}.cells")
    return known


def listed(mask: BoolArray) -> list[int]:
    """Positions where a mask is true."""
    found: list[int] = np.flatnonzero(mask).tolist()
    return found


def proof_to_message(proof: Proof) -> protection_pb2.Proof:
    """The wire's number, which is the same."""
    return cast("protection_pb2.Proof", int(proof))


def proof_from_message(number: int) -> Proof:
    """A proof; what this version does not know is unproved."""
    known = {member.value for member in Proof}
    return Proof(number) if number in known else Proof.UNPROVED


def witnesses_to_message(witnesses: Witnesses) -> protection_pb2.Witnesses:
    """Write witnesses: table after table, sums measure after measure."""
    return protection_pb2.Witnesses(
        tables=len(witnesses),
        cells=witnesses.cells.tolist(),
        records=witnesses.records.reshape(-1).tolist(),
        units=witnesses.units.reshape(-1).tolist(),
        sums=witnesses.sums.reshape(-1).tolist(),
    )


def witnesses_from_message(
    message: protection_pb2.Witnesses, measures: int, path: str = "witnesses"
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
    if problems:
        raise InvalidMessageError(problems)
    records: IntArray = integers(message.records).reshape(tables, count)
    units: IntArray = integers(message.units).reshape(tables, count)
    sums: FloatArray = floats(message.sums).reshape(measures, tables, count)
    return Witnesses(integers(message.cells), records, units, sums)
