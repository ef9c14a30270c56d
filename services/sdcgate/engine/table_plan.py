"""How a table is computed: its axes, the groupings it needs, and which totals follow from their parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sdcgate.engine.aggregation import CellColumns, Statement
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.margins import CellArrays
from sdcgate.engine.queries import CellQuery, Condition
from sdcgate.methods.cells import TOTAL, Axis, IntArray


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The axes of a table and what is grouped for its margins.

    `cells[i]` are the dimensions (by position) of cell column i; the first has all of them, the others leave
    out dimensions whose totals cannot be made from their parts.
    """

    axes: tuple[Axis, ...]
    columns: tuple[tuple[str, int], ...]
    """Snapshot column and number of codes of each dimension."""
    kept: tuple[tuple[int, ...], ...]
    """Position on the axis of each code of the level; -1 where it is filtered out."""
    varying: frozenset[int]
    """Dimensions that vary within a unit."""
    cells: tuple[tuple[int, ...], ...]

    def cell_columns(self) -> CellColumns:
        """The (snapshot column, number of codes) of each cell column's dimensions."""
        return tuple(tuple(self.columns[dimension] for dimension in cell) for cell in self.cells)


def plan_conditions(
    dataset: Dataset, filters: Sequence[Condition]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Column and positions of the codes of each condition that leaves something out."""
    conditions = set()
    for condition in filters:
        if not condition.codes:
            raise ValueError(f"the condition on {condition.variable} has no codes")
        dataset.mask(condition.variable, condition.level, condition.codes)
        listed = dataset.level(condition.variable, condition.level)
        positions = tuple(sorted({listed.positions[code] for code in condition.codes}))
        if len(positions) < len(listed.codes):
            conditions.add((dataset.column(condition.variable, condition.level), positions))
    return tuple(sorted(conditions))


def allowed_masks(dataset: Dataset, filters: Sequence[Condition]) -> dict[str, int]:
    """The finest codes that all conditions leave of each variable that they are on. Raises UnknownName."""
    allowed: dict[str, int] = {}
    for condition in filters:
        mask = dataset.mask(condition.variable, condition.level, condition.codes)
        allowed[condition.variable] = allowed.get(condition.variable, mask) & mask
    return allowed


def plan_table(dataset: Dataset, query: CellQuery) -> TablePlan:
    """The plan of a table. Raises UnknownName, ValueError for a variable that is a dimension twice."""
    allowed = allowed_masks(dataset, query.filters)
    axes: list[Axis] = []
    columns: list[tuple[str, int]] = []
    kept: list[tuple[int, ...]] = []
    for variable, level in query.dimensions:
        if any(axis.variable == variable for axis in axes):
            raise ValueError(f"{variable} is a dimension twice")
        listed = dataset.level(variable, level)
        on_axis = listed.reached(allowed.get(variable, -1))
        at = {position: place for place, position in enumerate(on_axis)}
        axes.append(
            Axis(
                variable=variable,
                level=listed.name,
                codes=(*(listed.codes[position] for position in on_axis), TOTAL),
                parents=(*([len(on_axis)] * len(on_axis)), -1),
                identifying=dataset.identifying(variable),
                labels=(*(listed.labels[position] for position in on_axis), "total"),
                sensitive=dataset.sensitive(variable),
                harmless=dataset.harmless(variable, level),
                classes=_classes(dataset, variable, level, on_axis) if dataset.sensitive(variable) else (),
            )
        )
        columns.append((dataset.column(variable, level), len(listed.codes)))
        kept.append(tuple(at.get(position, -1) for position in range(len(listed.codes))))
    levels = query.dimensions
    varying = frozenset(i for i, (name, level) in enumerate(levels) if dataset.varies(name, level))
    return TablePlan(tuple(axes), tuple(columns), tuple(kept), varying, _groupings(dataset, levels, varying))


def _classes(
    dataset: Dataset, variable: str, level: str, on_axis: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """The codes on an axis that lie inside each harmful code of a coarser level, by their place on it."""
    masks = dataset.level(variable, level).masks
    found = (
        tuple(place for place, position in enumerate(on_axis) if not masks[position] & ~coarse)
        for coarse in dataset.harmful_classes(variable, level)
    )
    return tuple(dict.fromkeys(codes for codes in found if len(codes) > 1))


def _groupings(
    dataset: Dataset, dimensions: Sequence[tuple[str, str]], varying: frozenset[int]
) -> tuple[tuple[int, ...], ...]:
    """Sets of dimensions to group by: all without any subset of those over which counts do not add."""
    every = range(len(dimensions))
    left_out = list(_subsets(varying))
    if dataset.household == "id":
        left_out += _subsets(_household_varying(dataset, dimensions))
    if dataset.holdings:
        left_out += _subsets(_holding_varying(dataset, dimensions))
    left_out = list(dict.fromkeys(left_out))
    return tuple(tuple(dimension for dimension in every if dimension not in gone) for gone in left_out)


def _household_varying(dataset: Dataset, dimensions: Sequence[tuple[str, str]]) -> frozenset[int]:
    return frozenset(
        position
        for position, (variable, level) in enumerate(dimensions)
        if dataset.variation[variable].within_household[dataset.level_position(variable, level)]
    )


def _holding_varying(dataset: Dataset, dimensions: Sequence[tuple[str, str]]) -> frozenset[int]:
    return frozenset(
        position
        for position, (variable, level) in enumerate(dimensions)
        if dataset.variation[variable].within_holding[dataset.level_position(variable, level)]
    )


def _subsets(dimensions: frozenset[int]) -> list[frozenset[int]]:
    ordered = sorted(dimensions)
    return [frozenset(chosen) for size in range(len(ordered) + 1) for chosen in combinations(ordered, size)]


def plan_statements(dataset: Dataset, plan: TablePlan) -> list[tuple[int, Statement]]:
    """Cell column and kind of each statement of a table."""
    if dataset.records_per_unit == 1:
        statements: list[tuple[int, Statement]] = [(0, "records and units")]
    else:
        statements = [(0, "records")]
        for left_out in _subsets(plan.varying):
            cell = plan.cells.index(_without(plan, left_out))
            statements.append((cell, "units at once" if left_out == plan.varying else "units"))
    if dataset.household == "id":
        dimensions = [(axis.variable, axis.level) for axis in plan.axes]
        for left_out in _subsets(_household_varying(dataset, dimensions)):
            statements.append((plan.cells.index(_without(plan, left_out)), "households"))
    if dataset.holdings:
        dimensions = [(axis.variable, axis.level) for axis in plan.axes]
        for left_out in _subsets(_holding_varying(dataset, dimensions)):
            statements.append((plan.cells.index(_without(plan, left_out)), "holdings"))
    return statements


def _without(plan: TablePlan, left_out: frozenset[int]) -> tuple[int, ...]:
    return tuple(dimension for dimension in range(len(plan.axes)) if dimension not in left_out)


def cell_positions(plan: TablePlan, cell: int, numbers: IntArray) -> list[IntArray]:
    """Where cells of a cell column lie in the table: on an axis that was left out, at its total."""
    grouped = plan.cells[cell]
    codes = np.unravel_index(numbers, tuple(plan.columns[dimension][1] for dimension in grouped) or (1,))
    places = [np.zeros(len(numbers), dtype=np.int64)]
    for dimension, axis in enumerate(plan.axes):
        if dimension in grouped:
            places.append(np.array(plan.kept[dimension])[codes[grouped.index(dimension)]])
        else:
            places.append(np.full(len(numbers), len(axis.codes) - 1))
    return places


def fill_totals(arrays: CellArrays, dataset: Dataset, plan: TablePlan) -> None:
    """Totals over records on all axes; over units, households, holdings where these lie in one code only."""
    of_records = arrays.names(of_records=True)
    of_holdings = arrays.names_of_respondents() if dataset.holdings else []
    apart = {"households", *of_holdings}
    of_units = [name for name in arrays.names(of_records=False) if name not in apart]
    dimensions = [(axis.variable, axis.level) for axis in plan.axes]
    in_households = _household_varying(dataset, dimensions) if "households" in arrays.arrays else None
    in_holdings = _holding_varying(dataset, dimensions) if of_holdings else frozenset()
    for dimension in range(len(plan.axes)):
        arrays.total(dimension + 1, of_records)
        if dimension not in plan.varying:
            arrays.total(dimension + 1, of_units)
        if in_households is not None and dimension not in in_households:
            arrays.total(dimension + 1, ["households"])
        if dimension not in in_holdings:
            arrays.total(dimension + 1, of_holdings)
