"""The table that leaves: figures from facts, rounded as the policy says, null where withheld."""

from collections.abc import Iterator

import numpy as np

from sdcgate.facility.plan import PERCENTAGES, FigureAsked, Layout
from sdcgate.methods.cells import (
    Axis,
    BoolArray,
    Facts,
    FloatArray,
    IntArray,
    MeasureFacts,
    State,
    cell_codes,
    number_of_cells,
    shape_of,
)
from sdcgate_proto.sdcgate.types.v1 import table_pb2 as types

COUNTS = frozenset({types.STATISTIC_UNITS, types.STATISTIC_RECORDS})


def denominators(axes: tuple[Axis, ...], layout: Layout) -> IntArray:
    """For each percentage asked, the cell that each cell is a share of, shape (percentages, cells)."""
    shape = shape_of(axes)
    codes = cell_codes(axes)
    summed_over = {
        types.STATISTIC_ROW_PERCENT: layout.columns,
        types.STATISTIC_COLUMN_PERCENT: layout.rows,
        types.STATISTIC_TOTAL_PERCENT: range(len(axes)),
    }
    found = []
    for figure in layout.figures:
        if figure.statistic in summed_over:
            above = codes.copy()
            for position in summed_over[figure.statistic]:
                above[position] = shape[position] - 1
            found.append(np.ravel_multi_index(tuple(above), shape) if shape else np.zeros(1, dtype=np.int64))
    return np.array(found, dtype=np.int64).reshape(len(found), number_of_cells(axes))


def shown_cells(layout: Layout, axes: tuple[Axis, ...], states: IntArray) -> IntArray:
    """The cells that leave, as the table that was asked has them: by its last dimension fastest."""
    shown = np.flatnonzero(states != State.ABSENT)
    codes = cell_codes(axes)[:, shown]
    order = np.lexsort([codes[position] for position in reversed(layout.asked(len(axes)))] or [shown])
    return np.asarray(shown[order], dtype=np.int64)


def released_table(layout: Layout, axes: tuple[Axis, ...], facts: Facts, states: IntArray) -> types.Table:
    """The table as it leaves: absent cells (margins not asked for) left out, withheld ones 0 and marked."""
    shown = shown_cells(layout, axes, states)
    published = np.isin(states[shown], (State.PUBLISHED, State.PERTURBED))
    codes = cell_codes(axes)
    table = types.Table(statuses=states[shown].tolist())
    for position in layout.asked(len(axes)):
        axis = axes[position]
        kept = np.unique(codes[position, shown]) if len(shown) else np.zeros(0, dtype=np.int64)
        place = np.full(len(axis.codes), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        parents = [int(place[axis.parents[code]]) if axis.parents[code] >= 0 else -1 for code in kept]
        table.dimensions.add(
            variable=axis.variable,
            level=axis.level,
            codes=[axis.codes[code] for code in kept],
            parents=parents,
            cells=place[codes[position, shown]].tolist(),
            identifying=axis.identifying,
            labels=[axis.labels[code] for code in kept] if axis.labels else [],
            sensitive=axis.sensitive,
        )
    shares = iter(denominators(axes, layout))
    for figure in layout.figures:
        values, defined = _values(figure, facts, shares)
        values, defined = values[shown], defined[shown]
        if figure.statistic not in COUNTS:
            values = np.round(values, layout.digits) + 0.0
        values = np.where(published & defined, values, 0.0)
        table.figures.add(
            statistic=figure.statistic,
            measure=figure.measure,
            values=values.tolist(),
            defined=[] if defined[published].all() else (defined & published).tolist(),
        )
    return table


def _values(figure: FigureAsked, facts: Facts, shares: Iterator[IntArray]) -> tuple[FloatArray, BoolArray]:
    """The figure in every cell, and whether it has a value there."""
    everywhere = np.ones(len(facts), dtype=np.bool_)
    counts = {
        types.STATISTIC_UNITS: facts.units.astype(np.float64),
        types.STATISTIC_RECORDS: facts.records.astype(np.float64),
        types.STATISTIC_WEIGHTED_UNITS: facts.weight_sums,
    }
    if figure.statistic in counts:
        return _known(counts[figure.statistic]), everywhere
    if figure.statistic in PERCENTAGES:
        records = facts.records.astype(np.float64)
        share, defined = _ratio(records, records[next(shares)])
        return share * 100.0, defined
    measure = measure_of(facts, figure.measure)
    if figure.statistic == types.STATISTIC_SUM:
        return measure.sums, np.isfinite(measure.sums)
    if figure.statistic == types.STATISTIC_WEIGHTED_SUM:
        weighted = _known(measure.weighted_sums)
        return weighted, np.isfinite(weighted)
    if figure.statistic == types.STATISTIC_MEAN:
        return _ratio(measure.sums, measure.valid_records.astype(np.float64))
    return _ratio(_known(measure.weighted_sums), _known(measure.valid_weight_sums))


def measure_of(facts: Facts, name: str) -> MeasureFacts:
    """The facts of one measure.

    Raises:
        LookupError: the engine has not computed it.
    """
    for measure in facts.measures:
        if measure.name == name:
            return measure
    raise LookupError(f"no facts of the measure {name}")


def _ratio(numerator: FloatArray, denominator: FloatArray) -> tuple[FloatArray, BoolArray]:
    defined = (denominator != 0) & np.isfinite(numerator)
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=defined), defined


def _known(values: FloatArray | None) -> FloatArray:
    if values is None:
        raise LookupError("the engine has not computed weights")
    return values
