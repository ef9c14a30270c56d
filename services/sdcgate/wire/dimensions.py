"""Axes of a table between messages and arrays, and the order in which a sender has its cells.

A table's cells are the full product of its dimensions' codes. `Dimension.cells` says for each cell which code
it has; left out, the cells are row-major, as arrays are everywhere else.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sdcgate.methods.cells import TOTAL, Axis, IntArray, cell_codes, number_of_cells, shape_of
from sdcgate.methods.positions import named
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, join
from sdcgate_proto.sdcgate.types.v1 import table_pb2

MAXIMUM_CELLS = 10_000_000

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class CellOrder:
    """Where a sender's cells lie among the cells of the axes, row-major."""

    places: IntArray | None = field(default=None, repr=False)
    """Place of each of the sender's cells; None where his order is row-major."""

    def arranged(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """The sender's values, one a cell or one row a cell, in row-major order."""
        if self.places is None or len(values) != len(self.places):
            return values
        arranged = np.empty_like(values)
        arranged[self.places] = values
        return arranged

    def sent(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Values in row-major order, one a cell, in the sender's."""
        return values if self.places is None else values[self.places]

    def places_of(self, cells: IntArray) -> IntArray:
        """Places of some of the sender's cells."""
        return cells if self.places is None else self.places[cells]

    def cells_at(self, places: IntArray) -> IntArray:
        """The sender's positions of some places, in the order of these."""
        if self.places is None:
            return places
        cells = np.empty_like(self.places)
        cells[self.places] = np.arange(len(self.places))
        return cells[places]

    def told(self, places: Sequence[int]) -> Sequence[int]:
        """The sender's positions of some places, ascending."""
        if self.places is None:
            return places
        told: list[int] = np.sort(self.cells_at(np.array(places, dtype=np.int64))).tolist()
        return told


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
            classes=[table_pb2.CodeClass(codes=codes) for codes in axis.classes],
        )
        for position, axis in enumerate(axes)
    ]


def axes_from_messages(
    dimensions: Iterable[table_pb2.Dimension], path: str = "dimensions", most_cells: int = MAXIMUM_CELLS
) -> tuple[tuple[Axis, ...], CellOrder]:
    """Read axes, and the order of the sender's cells.

    Raises InvalidMessageError with every wrong parent, every repeated code, and cells that are none.
    """
    found = list(dimensions)
    problems: list[FieldProblem] = []
    axes: list[Axis] = []
    for position, dimension in enumerate(found):
        before = len(problems)
        problems.extend(_dimension_problems(dimension, f"{path}[{position}]"))
        if len(problems) == before:
            axes.append(_axis(dimension))
    problems.extend(_repeated(found, path))
    count = math.prod(len(dimension.codes) for dimension in found)
    if count > most_cells:
        problems.append(FieldProblem(path, f"span {count} cells; at most {most_cells} are taken"))
    if problems:
        raise InvalidMessageError(problems)
    return tuple(axes), _order(found, tuple(axes), path)


def _axis(dimension: table_pb2.Dimension) -> Axis:
    codes = tuple(dimension.codes)
    return Axis(
        variable=dimension.variable,
        level=dimension.level,
        codes=codes,
        parents=tuple(dimension.parents) or _usual_parents(codes),
        identifying=dimension.identifying,
        labels=tuple(dimension.labels),
        sensitive=dimension.sensitive,
        harmless=tuple(dimension.harmless),
        classes=tuple(tuple(one.codes) for one in dimension.classes),
    )


def _usual_parents(codes: tuple[str, ...]) -> tuple[int, ...]:
    """Every code is part of the total where there is one: an audit that leaves out a sum is worth nothing."""
    total = codes.index(TOTAL) if TOTAL in codes else -1
    return tuple(-1 if place == total else total for place in range(len(codes)))


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
    for place, one in enumerate(dimension.classes):
        if not one.codes or max(one.codes) >= count:
            text = f"must be positions of codes, 0 to {count - 1}"
            problems.append(FieldProblem(join(path, f"classes[{place}].codes"), text))
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
        trail: set[int] = set()
        above = code
        while above not in settled:
            if above in trail:
                return [FieldProblem(path, "run in a circle")]
            trail.add(above)
            above = parents[above]
        settled |= trail
    return []


def _repeated(dimensions: Sequence[table_pb2.Dimension], path: str) -> list[FieldProblem]:
    """Dimensions that stand twice: a variable at two levels is two dimensions."""
    names = [(dimension.variable, dimension.level) for dimension in dimensions]
    return [
        FieldProblem(f"{path}[{place}].variable", "is a dimension already, at the same level")
        for place, name in enumerate(names)
        if name in names[:place]
    ]


def _order(dimensions: Sequence[table_pb2.Dimension], axes: tuple[Axis, ...], path: str) -> CellOrder:
    """The order of the cells. Raises InvalidMessageError unless they are all combinations, once each."""
    if not any(dimension.cells for dimension in dimensions):
        return CellOrder()
    count = number_of_cells(axes)
    problems: list[FieldProblem] = []
    columns = tuple(np.array(dimension.cells, dtype=np.int64) for dimension in dimensions)
    for place, (column, axis) in enumerate(zip(columns, axes, strict=True)):
        where, codes = f"{path}[{place}].cells", len(axis.codes)
        if len(column) != count:
            text = f"must have {count} positions, one for each combination of codes, not {len(column)}"
            problems.append(FieldProblem(where, text))
        if column.max(initial=0) >= codes:
            problems.append(FieldProblem(where, f"must be positions of codes, 0 to {codes - 1}"))
    if problems:
        raise InvalidMessageError(problems)
    places = np.ravel_multi_index(columns, shape_of(axes)).astype(np.int64)
    if np.array_equal(places, np.arange(count)):
        return CellOrder()
    _, first = np.unique(places, return_index=True)
    if len(first) < count:
        again = named(np.setdiff1d(np.arange(count), first))
        text = f"must name each combination of codes once; some cells repeat one{again}, others are missing"
        raise InvalidMessageError([FieldProblem(path, text)])
    return CellOrder(places)
