"""Axes and true facts of cells between messages and arrays.

On the wire a table's cells are the full product of its dimensions' codes, row-major; `Dimension.cells`
repeats that for readers of single columns and may be left out. Values by column are checked here, with numpy.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sdcgate.methods.cells import (
    Axis,
    BoolArray,
    Facts,
    FloatArray,
    IntArray,
    MeasureFacts,
    cell_codes,
    number_of_cells,
    shape_of,
)
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, join
from sdcgate_proto.sdcgate.types.v1 import table_pb2

MAXIMUM_CELLS = 10_000_000


def integers(values: Any) -> IntArray:
    """A packed integer field as an array."""
    return np.fromiter(values, dtype=np.int64, count=len(values))


def floats(values: Any) -> FloatArray:
    """A packed field of doubles as an array."""
    return np.fromiter(values, dtype=np.float64, count=len(values))


def positions(values: Any, count: int, path: str) -> IntArray:
    """Positions of cells; raises InvalidMessageError where one is no cell or stands twice."""
    array = integers(values)
    if array.size and (array.min() < 0 or array.max() >= count):
        raise InvalidMessageError([FieldProblem(path, f"has positions outside of the table's {count} cells")])
    if np.unique(array).size != array.size:
        raise InvalidMessageError([FieldProblem(path, "names a cell twice")])
    return array


def mask(values: Any, count: int, path: str) -> BoolArray:
    """Positions of cells as a mask, shape (count,)."""
    result = np.zeros(count, dtype=np.bool_)
    result[positions(values, count, path)] = True
    return result


def axes_to_messages(axes: Sequence[Axis], with_cells: bool = False) -> list[table_pb2.Dimension]:
    """Write axes; with_cells adds the position of each cell's code, for readers of a table that leaves."""
    codes = cell_codes(tuple(axes)) if with_cells and axes else None
    return [
        table_pb2.Dimension(
            variable=axis.variable,
            level=axis.level,
            codes=axis.codes,
            parents=axis.parents,
            cells=codes[position].tolist() if codes is not None else (),
            identifying=axis.identifying,
            labels=axis.labels,
            sensitive=axis.sensitive,
            harmless=axis.harmless,
        )
        for position, axis in enumerate(axes)
    ]


def axes_from_messages(
    dimensions: Iterable[table_pb2.Dimension], path: str = "dimensions"
) -> tuple[Axis, ...]:
    """Read axes. Raises InvalidMessageError for wrong parents, repeated codes, cells out of order."""
    found = list(dimensions)
    problems: list[FieldProblem] = []
    axes: list[Axis] = []
    for position, dimension in enumerate(found):
        before = len(problems)
        problems.extend(_dimension_problems(dimension, f"{path}[{position}]"))
        if len(problems) == before:
            axes.append(_axis(dimension))
    if not problems:
        problems.extend(_order_problems(found, tuple(axes), path))
    if problems:
        raise InvalidMessageError(problems)
    return tuple(axes)


def _axis(dimension: table_pb2.Dimension) -> Axis:
    codes = tuple(dimension.codes)
    return Axis(
        variable=dimension.variable,
        level=dimension.level,
        codes=codes,
        parents=tuple(dimension.parents) or (-1,) * len(codes),
        identifying=dimension.identifying,
        labels=tuple(dimension.labels),
        sensitive=dimension.sensitive,
        harmless=tuple(dimension.harmless),
    )


def _dimension_problems(dimension: table_pb2.Dimension, path: str) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    count = len(dimension.codes)
    if not count:
        problems.append(FieldProblem(join(path, "codes"), "must have at least one code"))
    if len(set(dimension.codes)) != count:
        problems.append(FieldProblem(join(path, "codes"), "names a code twice"))
    if dimension.labels and len(dimension.labels) != count:
        problems.append(
            FieldProblem(
                join(path, "labels"),
                f"must be empty or as many as the codes, {count}, not {len(dimension.labels)}",
            )
        )
    if dimension.parents:
        problems.extend(_parent_problems(tuple(dimension.parents), count, join(path, "parents")))
    return problems


def _parent_problems(parents: tuple[int, ...], count: int, path: str) -> list[FieldProblem]:
    if len(parents) != count:
        return [FieldProblem(path, f"must be empty or as many as the codes, {count}, not {len(parents)}")]
    if any(not -1 <= parent < count for parent in parents):
        return [FieldProblem(path, f"must be -1 or the position of a code, 0 to {count - 1}")]
    settled: set[int] = {-1}
    for code in range(count):
        trail: list[int] = []
        above = code
        while above not in settled:
            if above in trail:
                return [FieldProblem(path, "run in a circle")]
            trail.append(above)
            above = parents[above]
        settled.update(trail)
    return []


def _order_problems(
    dimensions: Sequence[table_pb2.Dimension], axes: tuple[Axis, ...], path: str
) -> list[FieldProblem]:
    count = number_of_cells(axes)
    if count > MAXIMUM_CELLS:
        return [FieldProblem(path, f"span {count} cells; at most {MAXIMUM_CELLS} are taken")]
    if not any(dimension.cells for dimension in dimensions):
        return []
    problems: list[FieldProblem] = []
    shape = shape_of(axes)
    for position, dimension in enumerate(dimensions):
        inner = int(np.prod(shape[position + 1 :], dtype=np.int64))
        outer = int(np.prod(shape[:position], dtype=np.int64))
        expected = np.tile(np.repeat(np.arange(shape[position]), inner), outer)
        if not np.array_equal(integers(dimension.cells), expected):
            message = "must be empty or list all combinations of codes, the last dimension fastest"
            problems.append(FieldProblem(f"{path}[{position}].cells", message))
    return problems


def facts_to_message(facts: Facts) -> table_pb2.CellFacts:
    """Write true facts. Marks, weighted sums and weights of measures stay in the facility."""
    return table_pb2.CellFacts(
        units=facts.units.tolist(),
        records=facts.records.tolist(),
        households=_listed(facts.households),
        weight_sums=_listed(facts.weight_sums),
        unit_weight_sums=_listed(facts.unit_weight_sums),
        measures=[_measure_to_message(measure) for measure in facts.measures],
    )


def _measure_to_message(measure: MeasureFacts) -> table_pb2.MeasureFacts:
    return table_pb2.MeasureFacts(
        measure=measure.name,
        sums=measure.sums.tolist(),
        valid_records=measure.valid_records.tolist(),
        valid_units=measure.valid_units.tolist(),
        largest=measure.largest.reshape(-1).tolist(),
        ranks=measure.largest.shape[1] if measure.largest.size else 0,
        absolute_sums=measure.absolute_sums.tolist(),
        minima=measure.minima.tolist(),
        maxima=measure.maxima.tolist(),
        lower_bound=measure.lower_bound,
        upper_bound=measure.upper_bound,
        lacking_units=_listed(measure.lacking_units),
    )


def _listed(values: FloatArray | IntArray | None) -> list[Any]:
    found: list[Any] = [] if values is None else values.tolist()
    return found


def facts_from_message(message: table_pb2.CellFacts, count: int, path: str = "facts") -> Facts:
    """Read true facts of `count` cells.

    Raises InvalidMessageError with every column that has a wrong length, NaN, infinity or a negative count.
    """
    columns = _Columns(count)
    facts = Facts(
        units=columns.counts(message.units, join(path, "units")),
        records=columns.counts(message.records, join(path, "records")),
        households=columns.optional(message.households, join(path, "households")),
        weight_sums=columns.optional(message.weight_sums, join(path, "weight_sums")),
        unit_weight_sums=columns.optional(message.unit_weight_sums, join(path, "unit_weight_sums")),
        measures=tuple(
            _measure_from_message(measure, columns, f"{path}.measures[{position}]")
            for position, measure in enumerate(message.measures)
        ),
    )
    names = [measure.name for measure in facts.measures]
    if len(set(names)) != len(names):
        columns.problems.append(FieldProblem(join(path, "measures"), "names a measure twice"))
    if not columns.problems and np.any(facts.units > facts.records):
        columns.problems.append(FieldProblem(join(path, "units"), "must not exceed the records of a cell"))
    if not columns.problems and np.any((facts.units == 0) != (facts.records == 0)):
        columns.problems.append(FieldProblem(join(path, "units"), "must be 0 exactly where records are 0"))
    if columns.problems:
        raise InvalidMessageError(columns.problems)
    return facts


def _measure_from_message(message: table_pb2.MeasureFacts, columns: "_Columns", path: str) -> MeasureFacts:
    ranks = message.ranks
    largest = columns.known(message.largest, join(path, "largest"), ranks)
    lower = message.lower_bound if message.HasField("lower_bound") else None
    upper = message.upper_bound if message.HasField("upper_bound") else None
    if not all(bound is None or np.isfinite(bound) for bound in (lower, upper)):
        columns.problems.append(FieldProblem(path, "bounds must be finite; leave out what nobody knows"))
    elif lower is not None and upper is not None and lower > upper:
        columns.problems.append(FieldProblem(join(path, "lower_bound"), "must not exceed upper_bound"))
    return MeasureFacts(
        name=message.measure,
        sums=columns.values(message.sums, join(path, "sums")),
        valid_records=columns.counts(message.valid_records, join(path, "valid_records")),
        valid_units=columns.counts(message.valid_units, join(path, "valid_units")),
        largest=largest.reshape(columns.count, ranks) if largest.size == columns.count * ranks else largest,
        absolute_sums=columns.known(message.absolute_sums, join(path, "absolute_sums")),
        minima=columns.known(message.minima, join(path, "minima")),
        maxima=columns.known(message.maxima, join(path, "maxima")),
        lower_bound=lower,
        upper_bound=upper,
        lacking_units=columns.counts(message.lacking_units, join(path, "lacking_units"))
        if message.lacking_units
        else None,
    )


class _Columns:
    """Reads the columns of one set of cells and collects their problems."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.problems: list[FieldProblem] = []

    def counts(self, values: Any, path: str) -> IntArray:
        """Counts, one a cell."""
        array = integers(values)
        self._length(array.size, path, 1)
        if array.size and array.min() < 0:
            self.problems.append(FieldProblem(path, "must not be negative"))
        return array

    def values(self, values: Any, path: str, width: int = 1) -> FloatArray:
        """Finite values, `width` a cell."""
        array = floats(values)
        self._length(array.size, path, width)
        if not np.isfinite(array).all():
            self.problems.append(FieldProblem(path, "must be finite numbers"))
        return array

    def known(self, values: Any, path: str, width: int = 1) -> FloatArray:
        """Finite values, `width` a cell, or none at all where they are not known."""
        return self.values(values, path, width) if len(values) else np.zeros(0)

    def optional(self, values: Any, path: str) -> FloatArray | None:
        """Values that are not negative, or None where the column is empty."""
        if not len(values) and self.count:
            return None
        array = self.values(values, path)
        if np.any(array < 0):
            self.problems.append(FieldProblem(path, "must not be negative"))
        return array

    def _length(self, size: int, path: str, width: int) -> None:
        if size != self.count * width:
            each = "one a cell" if width == 1 else f"{width} a cell"
            self.problems.append(
                FieldProblem(path, f"must have {self.count * width} values, {each}, not {size}")
            )
