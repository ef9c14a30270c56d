"""From a data frame that a job made to the JSON of an output: its cells by column."""

from collections.abc import Hashable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from sdcgate_client.requests import Dimensions, Filter, conditions, dimension, items

if TYPE_CHECKING:
    import pandas

TOTAL, MISSING = "_T", "_U"
COUNTS = {"units": "UNITS", "records": "RECORDS", "weight_sums": "WEIGHTED_UNITS"}
MOST_ROWS = 5
"""Rows that an error names."""
OF_MEASURES = ("sums", "valid_records", "weighted_sums", "valid_weight_sums")


def output_request(
    frame: "pandas.DataFrame",
    rows: Dimensions = (),
    columns: Dimensions = (),
    layers: Dimensions = (),
    *,
    units: str = "",
    records: str = "",
    weight_sums: str = "",
    measures: Mapping[str, Mapping[str, str]] | None = None,
    filter: Filter | None = None,
    total: Hashable = "All",
    project: str = "",
    label: str = "",
) -> dict[str, Any]:
    """The body of `POST /v1/datasets/{dataset}/outputs`, from a frame with a row a cell.

    Args:
        frame: A row a cell: a column of codes for each variable, and the columns named below.
        rows: Variables down, as `"site"` or `"age:ten_years"`; their columns have the variable's name.
        columns: Variables across.
        layers: Variables that make a table each.
        units: Column with the units of each cell; shown where it is named, as are the others.
        records: Column with the records of each cell.
        weight_sums: Column with the sum of the weights of each cell.
        measures: For each measure the columns of its facts, such as
            `{"income": {"sums": "income_sum", "valid_records": "n"}}`; `valid_records` shows the mean.
        filter: The population: such as `{"female": ["1"]}`.
        total: What stands for a total in the columns of codes. A missing value is the code `_U`.
        project: On whose behalf it was computed.
        label: What it is called, for the output checker.

    Raises:
        ValueError: a column is not there, or nothing is shown.
    """
    figures: list[dict[str, str]] = []
    facts: dict[str, Any] = {}
    for name, column in (("units", units), ("records", records), ("weight_sums", weight_sums)):
        if column:
            facts[name] = numbers(frame, column)
            figures.append({"statistic": COUNTS[name]})
    for measure, of_measure in (measures or {}).items():
        facts.setdefault("measures", []).append(_measure(frame, measure, of_measure))
        for weighted in ("", "weighted_"):
            if f"{weighted}sums" in of_measure:
                mean = ("valid_weight_sums" if weighted else "valid_records") in of_measure
                statistic = f"{weighted}{'mean' if mean else 'sum'}".upper()
                figures.append({"statistic": statistic, "measure": measure})
    if not figures:
        raise ValueError("nothing is shown: name the column of units, of records, or of a measure's sums")
    return {
        "rows": [_dimension(frame, item, total) for item in items(rows)],
        "columns": [_dimension(frame, item, total) for item in items(columns)],
        "layers": [_dimension(frame, item, total) for item in items(layers)],
        "figures": figures,
        "facts": facts,
        "filter": conditions(filter),
        "project": project,
        "label": label,
    }


def _measure(frame: "pandas.DataFrame", measure: str, columns: Mapping[str, str]) -> dict[str, Any]:
    unknown = set(columns) - set(OF_MEASURES)
    if unknown:
        known = ", ".join(OF_MEASURES)
        raise ValueError(f"{', '.join(sorted(unknown))} of {measure}: the facts of a measure are {known}")
    return {"measure": measure} | {name: numbers(frame, column) for name, column in columns.items()}


def _dimension(frame: "pandas.DataFrame", item: str | Mapping[str, str], total: Hashable) -> dict[str, Any]:
    asked = dimension(item)
    return {**asked, **codes_of(frame, asked["variable"], total)}


def codes_of(frame: "pandas.DataFrame", column: str, total: Hashable) -> dict[str, Any]:
    """The codes of a column, and the position of each cell's code."""
    texts = [_code(value, total) for value in _column(frame, column)]
    codes = list(dict.fromkeys(texts))
    place = {code: position for position, code in enumerate(codes)}
    return {"codes": codes, "cells": [place[text] for text in texts]}


def _code(value: Any, total: Hashable) -> str:
    import pandas

    if pandas.isna(value):
        return MISSING
    if value == total:
        return TOTAL
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def numbers(frame: "pandas.DataFrame", column: str) -> list[int | float]:
    """A column's values.

    Raises:
        ValueError: it is not there, or has values that are missing or infinite.
    """
    found: list[int | float] = _column(frame, column)
    rows = [row for row, value in enumerate(found) if isinstance(value, float) and not isfinite(value)]
    if rows:
        shown = ", ".join(map(str, rows[:MOST_ROWS])) + (", ..." if len(rows) > MOST_ROWS else "")
        raise ValueError(f"column {column!r} has missing or infinite values, in rows {shown} counted from 0")
    return found


def _column(frame: "pandas.DataFrame", name: str) -> list[Any]:
    if name not in frame.columns:
        raise ValueError(f"the frame has no column {name!r}; give cells a row each, with reset_index()")
    values: list[Any] = frame[name].tolist()
    return values
