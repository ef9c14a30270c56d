"""Whether the totals of a table are what their parts say.

Records, weights and sums add up. What counts distinct units does not, where a variable varies within a unit:
a total is then at least its largest part and at most the sum of its parts. Households need not even do that:
where a unit's household changes its size, its share of one depends on the records that are looked at.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sdcgate.methods.cells import Axis, Facts, FloatArray, IntArray, number_of_cells, shape_of
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
    values = np.array([column for _, column in adding + distinct], dtype=np.float64)
    rooms = ADDITION_ERROR * np.abs(values).max(axis=1, initial=0.0)[:, None]
    wrong = np.zeros(values.shape, dtype=np.bool_)
    for cells, totals, sums, most in _totals(axes, values):
        wrong[:, cells] |= totals > sums + rooms
        wrong[: len(adding), cells] |= (totals < sums - rooms)[: len(adding)]
        wrong[len(adding) :, cells] |= (totals < most - rooms)[len(adding) :]
    return [
        FactProblem(path, _message(row < len(adding)), np.flatnonzero(wrong[row]))
        for row, (path, _) in enumerate(adding + distinct)
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


def _totals(
    axes: tuple[Axis, ...], values: FloatArray
) -> Iterator[tuple[IntArray, FloatArray, FloatArray, FloatArray]]:
    """For each code with parts its cells, their values, and sum and largest of the parts' values."""
    grid = np.arange(number_of_cells(axes), dtype=np.int64).reshape(shape_of(axes))
    table = values.reshape(len(values), *grid.shape)
    for place, axis in enumerate(axes):
        cells = np.moveaxis(grid, place, 0)
        lines = np.moveaxis(table, place + 1, 1)
        for parent, codes in axis.parts():
            parts = lines[:, codes].reshape(len(values), len(codes), -1)
            totals = lines[:, parent].reshape(len(values), -1)
            yield cells[parent].reshape(-1), totals, parts.sum(axis=1), parts.max(axis=1)
