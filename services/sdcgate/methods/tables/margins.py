"""Whether the totals of a table are what their parts say.

Records, weights and sums add up. What counts distinct units does not, where a variable varies within a unit:
a total is then at least its largest part and at most the sum of its parts. Households need not even do that:
where a unit's household changes its size, its share of one depends on the records that are looked at.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sdcgate.methods.cells import Axis, BoolArray, Facts, FloatArray, IntArray, shape_of
from sdcgate.methods.positions import FactProblem
from sdcgate.methods.tables.problem import ADDITION_ERROR, SUM_OF_PARTS

Column = tuple[str, npt.NDArray[np.generic]]


def margin_problems(axes: tuple[Axis, ...], facts: Facts) -> list[FactProblem]:
    """Every column whose totals contradict their parts, with the cells of these totals.

    `facts` have a value for each cell of `axes`, or none at all, and no NaN. To within a billionth of a
    column's largest value, counts below 2^53.
    """
    if all(parent == -1 for axis in axes for parent in axis.parents):
        return []
    adding, distinct = list(_adding(facts)), list(_distinct(facts))
    if not adding and not distinct:
        return []
    columns = adding + distinct
    values = np.array([column for _, column in columns], dtype=np.float64)
    rooms = ADDITION_ERROR * np.maximum.reduce(np.abs(values), axis=1)[:, None]
    wrong: BoolArray | None = None
    for cells, totals, parts in _totals(axes, values):
        sums = np.add.reduce(parts, axis=1)
        off = totals > sums + rooms
        off[: len(adding)] |= (totals < sums - rooms)[: len(adding)]
        if distinct:
            most = np.maximum.reduce(parts[len(adding) :], axis=1)
            off[len(adding) :] |= totals[len(adding) :] < most - rooms[len(adding) :]
        if np.count_nonzero(off):
            wrong = np.zeros(values.shape, dtype=np.bool_) if wrong is None else wrong
            wrong[:, cells] |= off
    if wrong is None:
        return []
    return [
        FactProblem(path, _message(row < len(adding)), np.flatnonzero(wrong[row]))
        for row, (path, _) in enumerate(columns)
        if wrong[row].any()
    ]


def _message(adds: bool) -> str:
    if adds:
        return SUM_OF_PARTS
    return "must lie between the largest part and the sum of the parts where a code has parts"


def _adding(facts: Facts) -> Iterator[Column]:
    """Columns that add up, where they are known."""
    yield from _known("facts.records", facts.records)
    yield from _known("facts.weight_sums", facts.weight_sums)
    for place, measure in enumerate(facts.measures):
        for name in ("sums", "valid_records", "weighted_sums", "valid_weight_sums"):
            yield from _known(f"facts.measures[{place}].{name}", getattr(measure, name))


def _distinct(facts: Facts) -> Iterator[Column]:
    """Columns that count each unit once, where they are known."""
    yield from _known("facts.units", facts.units)
    yield from _known("facts.unit_weight_sums", facts.unit_weight_sums)
    for place, measure in enumerate(facts.measures):
        for name in ("valid_units", "lacking_units"):
            yield from _known(f"facts.measures[{place}].{name}", getattr(measure, name))


def _known(path: str, column: npt.NDArray[np.generic] | None) -> Iterator[Column]:
    if column is not None and column.size:
        yield path, column


def _totals(axes: tuple[Axis, ...], values: FloatArray) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """For each code with parts its cells, their values, and the values of its parts.

    Shapes (cells,), (columns, cells) and (columns, parts, cells).
    """
    rows = len(values)
    grid = np.arange(values.shape[1], dtype=np.int64).reshape(shape_of(axes))
    table = values.reshape(rows, *grid.shape)
    for place, axis in enumerate(axes):
        for parent, codes in axis.parts():
            at: tuple[Any, ...] = (slice(None),) * place
            # A run of codes is a view, which costs nothing.
            run = codes[-1] - codes[0] + 1 == len(codes)
            which: Any = slice(codes[0], codes[-1] + 1) if run else codes
            parts = np.moveaxis(table[(slice(None), *at, which)], place + 1, 1)
            totals = table[(slice(None), *at, parent)]
            yield (
                grid[(*at, parent)].reshape(-1),
                totals.reshape(rows, -1),
                parts.reshape(rows, len(codes), -1),
            )
