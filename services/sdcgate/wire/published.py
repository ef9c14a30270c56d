"""Published ratios, rounded values and bounds of cells between messages and arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.tables.published_checks import MOST, MOST_TIMES, NO_NUMBER, NO_TIMES
from sdcgate.methods.tables.published_figures import (
    CellBounds,
    FactOfCells,
    Published,
    PublishedRatios,
    RoundedValues,
)
from sdcgate.methods.tables.quantities import RECORDS, SUMS, UNITS
from sdcgate.wire.dimensions import CellOrder
from sdcgate.wire.problems import FieldProblem, InvalidMessageError
from sdcgate.wire.tables import IN_ORDER, floats, integers
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb

NO_MEASURE = "is no measure of the facts of which sums are given"
NOT_GIVEN = "asks for {fact}, of which the facts have none: give facts.{fact}"
NO_ENDS = "must have lower, upper or both"


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads what is published of a table, and collects what is wrong."""

    measures: Sequence[str]
    counts: str
    unchecked: Sequence[str]
    order: CellOrder
    count: int
    path: str
    problems: list[FieldProblem] = field(default_factory=list)

    def wrong(self, path: str, text: str) -> None:
        """Note what is wrong at a path within the problem."""
        self.problems.append(FieldProblem(f"{self.path}.{path}", text))

    def fact(self, message: pb.FactOfCells, path: str) -> FactOfCells | None:
        """A fact of cells; what is wrong with the kind is told by the envelope."""
        cells = integers(message.cells)
        outside = bool(cells.size) and (cells.min() < 0 or cells.max() >= self.count)
        if outside:
            self.wrong(f"{path}.cells", f"has positions outside of the table's {self.count} cells")
        having, quantity = None, RECORDS
        if message.fact in (pb.CELL_FACT_SUMS, pb.CELL_FACT_VALID_RECORDS):
            if message.measure not in self.measures:
                self.wrong(f"{path}.measure", NO_MEASURE)
                return None
            measure = self.measures.index(message.measure)
            if message.fact == pb.CELL_FACT_SUMS:
                quantity = SUMS + measure
            else:
                having = measure
        elif message.measure:
            self.wrong(f"{path}.measure", "is for SUMS and VALID_RECORDS: leave it out")
            return None
        if quantity == RECORDS and not self._given(message, having, path):
            return None
        if message.fact == pb.CELL_FACT_UNITS and self.counts != "units":
            quantity = UNITS
        return None if outside else FactOfCells(quantity, self.order.places_of(cells), having)

    def _given(self, message: pb.FactOfCells, having: int | None, path: str) -> bool:
        """Whether the facts have counts of a kind; noted where they have none."""
        of_measure = having is not None
        fact = "units" if message.fact == pb.CELL_FACT_UNITS else "records"
        missing = fact in self.unchecked and not (of_measure and "units" not in self.unchecked)
        if missing:
            self.wrong(f"{path}.fact", NOT_GIVEN.format(fact=fact))
        return not missing

    def column(self, values: Any, count: int, path: str, default: float | None = None) -> FloatArray:
        """Finite values, one an entry; one for all or none where there is a default."""
        column = floats(values)
        if default is not None and column.size in (0, 1):
            column = np.full(count, float(column[0]) if column.size else default)
        if column.size != count:
            self.wrong(path, f"must have one value for each of {count} cells, not {column.size}")
        if not np.all(np.abs(column) <= MOST):
            self.wrong(path, NO_NUMBER)
        elif path.endswith("half_widths") and np.any(column < 0):
            self.wrong(path, "must not be negative")
        return column


def published_from_message(
    message: pb.ProtectionProblem,
    measures: Sequence[str],
    counts: str,
    unchecked: Sequence[str],
    order: CellOrder,
    count: int,
    path: str,
) -> tuple[Published, ...]:
    """Read what is published of a table's cells, at `path`.

    `counts` is the name of what stands as records, `unchecked` are facts that were not given. Raises
    InvalidMessageError with all that is wrong.
    """
    reader = _Reader(measures, counts, unchecked, order, count, path)
    found = [
        *(_ratios(one, f"published_ratios[{n}]", reader) for n, one in enumerate(message.published_ratios)),
        *(_rounded(one, f"rounded_values[{n}]", reader) for n, one in enumerate(message.rounded_values)),
        *(_bounds(one, f"cell_bounds[{n}]", reader) for n, one in enumerate(message.cell_bounds)),
    ]
    if reader.problems:
        raise InvalidMessageError(reader.problems)
    return tuple(one for one in found if one is not None)


def _ratios(message: pb.PublishedRatios, path: str, reader: _Reader) -> PublishedRatios | None:
    over = reader.fact(message.numerators, f"{path}.numerators")
    per = reader.fact(message.denominators, f"{path}.denominators")
    count = len(message.numerators.cells)
    if len(message.denominators.cells) != count:
        text = f"must have as many cells as numerators, {count}"
        reader.wrong(f"{path}.denominators.cells", text)
    values = reader.column(message.values, count, f"{path}.values")
    half = reader.column(message.half_widths, count, f"{path}.half_widths", default=0.0)
    times = message.times if message.HasField("times") else 1.0
    if not 1 / MOST_TIMES <= times <= MOST_TIMES:
        reader.wrong(f"{path}.times", NO_TIMES)
    if over is None or per is None:
        return None
    return PublishedRatios(over, per, values, half, times, path)


def _rounded(message: pb.RoundedValues, path: str, reader: _Reader) -> RoundedValues | None:
    facts, count = reader.fact(message.facts, f"{path}.facts"), len(message.facts.cells)
    values = reader.column(message.values, count, f"{path}.values")
    half = reader.column(message.half_widths, count, f"{path}.half_widths", default=0.0)
    return None if facts is None else RoundedValues(facts, values, half, path)


def _bounds(message: pb.CellBounds, path: str, reader: _Reader) -> CellBounds | None:
    facts, count = reader.fact(message.facts, f"{path}.facts"), len(message.facts.cells)
    if not (len(message.lower) or len(message.upper)):
        reader.wrong(path, NO_ENDS)
    lower, upper = (
        reader.column(values, count, f"{path}.{name}") if len(values) else np.full(count, none)
        for name, values, none in (("lower", message.lower, -np.inf), ("upper", message.upper, np.inf))
    )
    return None if facts is None else CellBounds(facts, lower, upper, path)


def put_published(
    message: pb.ProtectionProblem,
    published: Sequence[Published],
    measures: Sequence[str],
    order: CellOrder = IN_ORDER,
) -> None:
    """Write what is published into a problem."""
    for one in published:
        if isinstance(one, PublishedRatios):
            message.published_ratios.add(
                numerators=_fact_to_message(one.numerators, measures, order),
                denominators=_fact_to_message(one.denominators, measures, order),
                values=one.values.tolist(),
                half_widths=one.half_widths.tolist(),
                times=one.times,
            )
        elif isinstance(one, RoundedValues):
            message.rounded_values.add(
                facts=_fact_to_message(one.facts, measures, order),
                values=one.values.tolist(),
                half_widths=one.half_widths.tolist(),
            )
        else:
            message.cell_bounds.extend(_bounds_to_messages(one, measures, order))


def _bounds_to_messages(
    one: CellBounds, measures: Sequence[str], order: CellOrder
) -> Iterator[pb.CellBounds]:
    """Bounds, cells that have the same ends together: what nobody knows is not told."""
    below, above = np.isfinite(one.lower), np.isfinite(one.upper)
    for has_lower, has_upper in ((True, True), (True, False), (False, True)):
        chosen = (below == has_lower) & (above == has_upper)
        if chosen.any():
            facts = FactOfCells(one.facts.quantity, one.facts.cells[chosen], one.facts.having)
            yield pb.CellBounds(
                facts=_fact_to_message(facts, measures, order),
                lower=one.lower[chosen].tolist() if has_lower else (),
                upper=one.upper[chosen].tolist() if has_upper else (),
            )


def _fact_to_message(fact: FactOfCells, measures: Sequence[str], order: CellOrder) -> pb.FactOfCells:
    kinds = {RECORDS: pb.CELL_FACT_RECORDS, UNITS: pb.CELL_FACT_UNITS}
    kind, measure = kinds.get(fact.quantity, pb.CELL_FACT_SUMS), ""
    if fact.quantity >= SUMS:
        measure = measures[fact.quantity - SUMS]
    elif fact.having is not None:
        kind, measure = pb.CELL_FACT_VALID_RECORDS, measures[fact.having]
    return pb.FactOfCells(fact=kind, measure=measure, cells=order.cells_at(fact.cells).tolist())
