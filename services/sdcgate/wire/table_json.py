"""A table as JSON, by column: code lists once, then a column a dimension, a figure, and the status.

Column names: a dimension has its variable's name, a figure its statistic's in lower case with the measure
(`units`, `mean_meddol`), the last is `status`. A name that is taken gets a number (`age_2`), so that no two
columns ever share one; `dimensions` and `figures` say which column is whose. A figure is null wherever its
cell is not shown, as it is or with noise, or has no value.
"""

from typing import Any

from sdcgate.wire.json import Shape, enum_texts
from sdcgate_proto.sdcgate.types.v1 import table_pb2

STATUS_COLUMN = "status"
_SHOWN = frozenset({table_pb2.CELL_STATUS_PUBLISHED, table_pb2.CELL_STATUS_PERTURBED})


def table_to_value(table: table_pb2.Table) -> dict[str, Any]:
    """Turn a table into `{"dimensions": [...], "figures": [...], "columns": {...}}`.

    Raises ValueError where its columns differ in length or a status is not known: half a table is not sent.
    """
    taken = {STATUS_COLUMN}
    dimensions: list[dict[str, Any]] = []
    figures: list[dict[str, Any]] = []
    columns: dict[str, list[Any]] = {}
    for dimension in table.dimensions:
        name = free_name(dimension.variable, taken)
        columns[name] = list(dimension.cells)
        entry = {
            "variable": dimension.variable,
            "level": dimension.level,
            "column": name,
            "codes": list(dimension.codes),
        }
        dimensions.append({**entry, "labels": list(dimension.labels)} if dimension.labels else entry)
    published = [status in _SHOWN for status in table.statuses]
    for figure in table.figures:
        statistic = _name(table_pb2.Statistic, figure.statistic)
        name = free_name(_figure_name(statistic, figure.measure), taken)
        columns[name] = _figure_values(figure, published)
        figures.append({"statistic": statistic, "measure": figure.measure, "column": name})
    columns[STATUS_COLUMN] = [_name(table_pb2.CellStatus, status) for status in table.statuses]
    if any(len(column) != len(published) for column in columns.values()):
        raise ValueError("the columns of a table differ in length")
    return {"dimensions": dimensions, "figures": figures, "columns": columns}


SHAPES: dict[str, Shape] = {table_pb2.Table.DESCRIPTOR.full_name: table_to_value}
"""For `sdcgate.wire.json.to_json`."""


def free_name(name: str, taken: set[str]) -> str:
    """`name`, or with the first number that makes it free; notes it as taken."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate


def _figure_name(statistic: str, measure: str) -> str:
    return f"{statistic.lower()}_{measure}" if measure else statistic.lower()


def _figure_values(figure: table_pb2.Figure, published: list[bool]) -> list[float | int | None]:
    """Values of the published cells, null elsewhere; counts without a decimal point."""
    if figure.defined and len(figure.defined) != len(figure.values):
        raise ValueError("a figure's `defined` differs in length from its values")
    if len(figure.values) != len(published):
        raise ValueError("a figure's values differ in length from the cells")
    defined = figure.defined or published
    counts = figure.statistic in (table_pb2.STATISTIC_UNITS, table_pb2.STATISTIC_RECORDS)
    return [
        (int(value) if counts else value) if shown and has_value else None
        for value, shown, has_value in zip(figure.values, published, defined, strict=True)
    ]


def _name(enum: Any, number: int) -> str:
    name = enum_texts(enum.DESCRIPTOR).get(number)
    if name is None:
        raise ValueError(f"a {enum.DESCRIPTOR.name} is unspecified or unknown")
    return name
