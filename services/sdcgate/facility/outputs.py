"""Reading a submitted output: its cells by column, checked as far as that needs no dataset."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.plan import FigureAsked, Layout, figures_asked
from sdcgate.methods.cells import TOTAL, Axis, Facts, FloatArray, IntArray, MeasureFacts, State, shape_of
from sdcgate.wire.problems import FieldProblem, join
from sdcgate.wire.tables import floats, integers
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2 as types

GROUPS = ("rows", "columns", "layers")
MAXIMUM_CELLS = 1_000_000

OF_CELLS = {
    types.STATISTIC_UNITS: ("units",),
    types.STATISTIC_RECORDS: ("records",),
    types.STATISTIC_WEIGHTED_UNITS: ("weight_sums",),
    types.STATISTIC_ROW_PERCENT: ("records",),
    types.STATISTIC_COLUMN_PERCENT: ("records",),
    types.STATISTIC_TOTAL_PERCENT: ("records",),
}
OF_MEASURES = {
    types.STATISTIC_SUM: ("sums",),
    types.STATISTIC_MEAN: ("sums", "valid_records"),
    types.STATISTIC_WEIGHTED_SUM: ("weighted_sums",),
    types.STATISTIC_WEIGHTED_MEAN: ("weighted_sums", "valid_weight_sums"),
}
"""Facts that a figure is made of."""


@dataclass(frozen=True, slots=True, eq=False)
class SubmittedOutput:
    """An output on the full product of its own codes, totals last; cells that it does not have are absent."""

    axes: tuple[Axis, ...]
    states: IntArray = field(repr=False)
    facts: Facts = field(repr=False)
    figures: tuple[FigureAsked, ...]
    rows: int
    columns: int

    def layout(self, digits: int) -> Layout:
        """Which figures it shows, how."""
        columns = range(self.rows, self.rows + self.columns)
        return Layout(tuple(range(self.rows)), tuple(columns), self.figures, digits)


def read_output(request: pb.SubmitOutputRequest) -> SubmittedOutput:
    """Read an output's cells by column.

    Raises:
        InvalidRequest: with every column that is ragged, has impossible values, or is not there.
    """
    dimensions = list(_dimensions(request))
    figures = figures_asked(request.figures)
    lengths = {len(dimension.cells) for _, dimension in dimensions}
    product = prod(len(dimension.codes) for _, dimension in dimensions)
    columns = _Columns(max(lengths, default=0) or min(product, MAXIMUM_CELLS))
    problems = list(_shape_problems(dimensions, lengths, product))
    facts = columns.facts(request.facts)
    problems += [*columns.problems, *_missing_facts(request.facts, figures)]
    if problems:
        raise InvalidRequest(problems)
    axes = tuple(_axis(dimension) for _, dimension in dimensions)
    cells = _cells(dimensions, axes)
    if len(np.unique(cells)) < len(cells):
        raise InvalidRequest([FieldProblem("rows", "name a cell twice: give each combination of codes once")])
    states = np.full(product, State.ABSENT, dtype=np.int64)
    states[cells] = State.PUBLISHED
    spread = facts_onto(facts, cells, product)
    return SubmittedOutput(axes, states, spread, figures, len(request.rows), len(request.columns))


def facts_onto(facts: Facts, places: IntArray, count: int) -> Facts:
    """Facts of cells as facts of a larger table, in which they lie at `places`; the others are zero."""

    def onto(values: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        spread: npt.NDArray[Any] = np.zeros(count, dtype=np.float64 if values is None else values.dtype)
        if values is not None:
            spread[places] = values
        return spread

    return Facts(
        units=onto(facts.units),
        records=onto(facts.records),
        weight_sums=onto(facts.weight_sums),
        measures=tuple(
            replace(
                measure,
                sums=onto(measure.sums),
                valid_records=onto(measure.valid_records),
                weighted_sums=onto(measure.weighted_sums),
                valid_weight_sums=onto(measure.valid_weight_sums),
            )
            for measure in facts.measures
        ),
    )


def _dimensions(request: pb.SubmitOutputRequest) -> Iterator[tuple[str, types.Dimension]]:
    for group in GROUPS:
        for position, dimension in enumerate(getattr(request, group)):
            yield f"{group}[{position}]", dimension


def _shape_problems(
    dimensions: list[tuple[str, types.Dimension]], lengths: set[int], product: int
) -> Iterator[FieldProblem]:
    seen: set[str] = set()
    for path, dimension in dimensions:
        if dimension.variable in seen:
            message = f"{dimension.variable} is a dimension already; name it once"
            yield FieldProblem(join(path, "variable"), message)
        seen.add(dimension.variable)
        if not dimension.codes:
            yield FieldProblem(join(path, "codes"), "must have at least one code")
        if len(set(dimension.codes)) < len(dimension.codes):
            yield FieldProblem(join(path, "codes"), "names a code twice")
        if len(lengths) > 1:
            message = "must be empty in all dimensions, or have one position a cell in each"
            yield FieldProblem(join(path, "cells"), message)
        if any(code >= len(dimension.codes) for code in dimension.cells):
            message = f"must be positions of codes, 0 to {len(dimension.codes) - 1}"
            yield FieldProblem(join(path, "cells"), message)
    if product > MAXIMUM_CELLS:
        yield FieldProblem(
            GROUPS[0], f"span {product} cells with the other dimensions; at most {MAXIMUM_CELLS}"
        )


def _axis(dimension: types.Dimension) -> Axis:
    codes = sorted(dimension.codes, key=lambda code: code == TOTAL)
    parents = (-1,) * len(codes)
    if codes[-1] == TOTAL:
        parents = (len(codes) - 1,) * (len(codes) - 1) + (-1,)
    return Axis(dimension.variable, dimension.level, tuple(codes), parents)


def _cells(dimensions: list[tuple[str, types.Dimension]], axes: tuple[Axis, ...]) -> IntArray:
    """Where the submitted cells lie in the product of the axes."""
    given = [len(dimension.codes) for _, dimension in dimensions]
    if not any(dimension.cells for _, dimension in dimensions):
        columns = list(np.indices(given).reshape(len(given), prod(given)))
    else:
        columns = [integers(dimension.cells) for _, dimension in dimensions]
    placed = []
    for (_, dimension), axis, column in zip(dimensions, axes, columns, strict=True):
        at = {code: place for place, code in enumerate(axis.codes)}
        places = np.array([at[code] for code in dimension.codes], dtype=np.int64)
        placed.append(places[column])
    return np.ravel_multi_index(tuple(placed), shape_of(axes)) if axes else np.zeros(1, dtype=np.int64)


def _missing_facts(facts: types.CellFacts, figures: tuple[FigureAsked, ...]) -> Iterator[FieldProblem]:
    measures = {measure.measure: measure for measure in facts.measures}
    known = types.Statistic.values()
    for position, figure in enumerate(figures):
        if figure.statistic not in known:
            continue  # a problem of the envelope
        name = types.Statistic.Name(figure.statistic).removeprefix("STATISTIC_")
        for column in OF_CELLS.get(figure.statistic, ()):
            if not getattr(facts, column):
                yield FieldProblem(f"facts.{column}", f"is needed, as the output shows {name}")
        for column in OF_MEASURES.get(figure.statistic, ()):
            measure = measures.get(figure.measure)
            if figure.measure and (measure is None or not getattr(measure, column)):
                message = f"must have {column} of {figure.measure}, as the output shows {name}"
                yield FieldProblem("facts.measures", message)
        if figure.statistic in OF_MEASURES and not figure.measure:
            yield FieldProblem(f"figures[{position}].measure", f"name the measure of {name}")


class _Columns:
    """Reads the columns of `count` cells, and collects their problems; a column that is not given is zero."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.problems: list[FieldProblem] = []

    def facts(self, message: types.CellFacts) -> Facts:
        """The facts of the cells."""
        return Facts(
            units=self.counts(message.units, "facts.units"),
            records=self.counts(message.records, "facts.records"),
            households=self.values(message.households, "facts.households", True),
            weight_sums=self.values(message.weight_sums, "facts.weight_sums", True),
            unit_weight_sums=self.values(message.unit_weight_sums, "facts.unit_weight_sums", True),
            measures=tuple(
                self.measure(measure, f"facts.measures[{position}]")
                for position, measure in enumerate(message.measures)
            ),
        )

    def measure(self, message: types.MeasureFacts, path: str) -> MeasureFacts:
        """The facts of one measure."""
        self.values(message.largest, join(path, "largest"), True, message.ranks)
        return MeasureFacts(
            name=message.measure,
            sums=self.values(message.sums, join(path, "sums")),
            valid_records=self.counts(message.valid_records, join(path, "valid_records")),
            valid_units=self.counts(message.valid_units, join(path, "valid_units")),
            largest=np.zeros((self._count, 1)),
            absolute_sums=self.values(message.absolute_sums, join(path, "absolute_sums"), True),
            minima=self.values(message.minima, join(path, "minima")),
            maxima=self.values(message.maxima, join(path, "maxima")),
            weighted_sums=self.values(message.weighted_sums, join(path, "weighted_sums")),
            valid_weight_sums=self.values(message.valid_weight_sums, join(path, "valid_weight_sums"), True),
        )

    def counts(self, values: Any, path: str) -> IntArray:
        """Counts, one a cell."""
        given = integers(values)
        if given.size and given.min() < 0:
            self.problems.append(FieldProblem(path, "must not be negative"))
        return given if self._fits(given.size, path, 1) else np.zeros(self._count, dtype=np.int64)

    def values(self, values: Any, path: str, positive: bool = False, width: int = 1) -> FloatArray:
        """Finite values, `width` a cell."""
        given = floats(values)
        if not np.isfinite(given).all():
            self.problems.append(FieldProblem(path, "must be finite numbers"))
        elif positive and given.size and given.min() < 0:
            self.problems.append(FieldProblem(path, "must not be negative"))
        return given if self._fits(given.size, path, width) else np.zeros(self._count)

    def _fits(self, size: int, path: str, width: int) -> bool:
        if size and size != self._count * width:
            each = "one a cell" if width == 1 else f"{width} a cell"
            message = f"must have {self._count * width} values, {each}, not {size}"
            self.problems.append(FieldProblem(path, message))
        return size == self._count * width
