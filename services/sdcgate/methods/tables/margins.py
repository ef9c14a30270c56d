"""Whether the totals of a table are what their parts say.

Records, weights and sums add up. What counts distinct units does not, where a variable varies within a unit:
a total is then at least its largest part and at most the sum of its parts. Households and weights of units
need not even do that: where a unit's household changes its size, or its weight varies, what it counts for
depends on the records that are looked at.
"""

from collections.abc import Iterator

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
    table = np.array([column for _, column in columns], dtype=np.float64).reshape(-1, *shape_of(axes))
    every = tuple(range(1, table.ndim))
    rooms = ADDITION_ERROR * np.maximum.reduce(np.abs(table), axis=every, keepdims=True)
    wrong: BoolArray | None = None
    for place, axis in enumerate(axes, 1):
        for parent, codes in axis.parts():
            where = (slice(None),) * place
            totals = table[*where, parent : parent + 1]
            off = _off(totals, table[*where, _run(codes)], rooms, place, len(adding))
            if np.count_nonzero(off):
                wrong = np.zeros(table.shape, dtype=np.bool_) if wrong is None else wrong
                wrong[*where, parent : parent + 1] |= off
    if wrong is None:
        return []
    return [
        FactProblem(path, _message(row < len(adding)), np.flatnonzero(wrong[row]))
        for row, (path, _) in enumerate(columns)
        if wrong[row].any()
    ]


def _run(codes: IntArray) -> IntArray | slice:
    """Codes that follow each other as a slice, which copies nothing."""
    first, last = int(codes[0]), int(codes[-1])
    return slice(first, last + 1) if last - first + 1 == len(codes) else codes


def _off(totals: FloatArray, parts: FloatArray, rooms: FloatArray, place: int, adding: int) -> BoolArray:
    """Totals that contradict their parts, which lie along an axis; the first columns add up."""
    sums = np.add.reduce(parts, axis=place, keepdims=True)
    off: BoolArray = totals > sums + rooms
    off[:adding] |= totals[:adding] < sums[:adding] - rooms[:adding]
    if adding < len(totals):
        most = np.maximum.reduce(parts[adding:], axis=place, keepdims=True)
        off[adding:] |= totals[adding:] < most - rooms[adding:]
    return off


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
    for place, measure in enumerate(facts.measures):
        for name in ("valid_units", "lacking_units"):
            yield from _known(f"facts.measures[{place}].{name}", getattr(measure, name))


def _known(path: str, column: npt.NDArray[np.generic] | None) -> Iterator[Column]:
    if column is not None and column.size:
        yield path, column
