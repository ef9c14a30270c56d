"""Printed tables of deviations, medians, extremes, modes, shares: which question these are answers to."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.results.grids import MISSING_TEXTS, Row
from sdcgate.facility.results.messages import enveloped
from sdcgate.facility.results.names import code_of, level_of, measure_named, variable_named
from sdcgate.facility.results.printed import CATEGORIES, STANDARD_ERROR, Figures, Printed, Unreadable
from sdcgate.facility.results.tables import PrintedTable
from sdcgate.methods.cells import MISSING, TOTAL
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2, table_pb2

FIGURES = {
    "std": ("STANDARD_DEVIATION", "standard_deviation"),
    "sem": ("STANDARD_DEVIATION", STANDARD_ERROR),
    "var": ("VARIANCE", "variance"),
    "median": ("PERCENTILES", "P50"),
    "min": ("MINIMUM", "minimum"),
    "max": ("MAXIMUM", "maximum"),
    "mode": ("MODE", "mode"),
}
"""What pandas calls a statistic: its kind here, and the figure of that kind."""
OF_OURS = {
    "standard_deviation": "std",
    "standard_error": "sem",
    "variance": "var",
    "median": "median",
    "minimum": "min",
    "maximum": "max",
    "mode": "mode",
    "categories": "nunique",
}
"""Our names of them, in side files."""
_ONE_RECORD = (
    "Its figures are values of single records, the {which} of each cell in the file; these do not leave. "
    "Send a mean or a median; what is the same for all of a cell is a variable: ask for the table by it."
)
UNTOLD: Mapping[str, str] = {
    "first": _ONE_RECORD.format(which="first"),
    "last": _ONE_RECORD.format(which="last"),
    "prod": (
        "Its figures are products of the values of records: of two that differ by one record the ratio is "
        "that one's value, and nothing here judges them. Send sums or means, if need be of logarithms."
    ),
}
"""What pandas computes and nobody here does again, and why."""
PRINTED = frozenset({*FIGURES, "nunique", *UNTOLD})
"""Names of what `statistic_outputs` reads."""
SHARES = {
    "index": table_pb2.STATISTIC_ROW_PERCENT,
    "columns": table_pb2.STATISTIC_COLUMN_PERCENT,
    "all": table_pb2.STATISTIC_TOTAL_PERCENT,
}
"""Pandas' `normalize`, and the percentage that is a hundred times it."""


def statistic_outputs(dataset: Dataset, file: Printed, table: PrintedTable, total: str) -> Iterator[Printed]:
    """The statistics of groups that a table shows: the cells, and its totals, which are of coarser groups.

    Raises:
        Unreadable: its measure, or a code, is not the dataset's.
    """
    if not table.cells:
        raise Unreadable("It shows no figure.")
    if table.shown.statistic in UNTOLD:
        yield replace(file, part=table.shown.words).unread((UNTOLD[table.shown.statistic],))
    elif table.shown.statistic == "nunique":
        yield _category_output(dataset, file, table, total)
    else:
        yield from _grouped(dataset, file, table, total)


def _grouped(dataset: Dataset, file: Printed, table: PrintedTable, total: str) -> Iterator[Printed]:
    kind, figure = FIGURES[table.shown.statistic]
    codes, levels, filters = _bound(dataset, table, total)
    patterns: dict[tuple[bool, ...], list[tuple[Row, float]]] = {}
    for row, (_, value) in zip(codes, table.cells, strict=True):
        patterns.setdefault(tuple(code == TOTAL for code in row), []).append((row, value))
    for totals, cells in patterns.items():
        request = pb.QueryStatisticRequest(dataset=dataset.name, kind=f"STATISTIC_KIND_{kind}")
        request.filter.extend(filters)
        for printed, level, left_out in zip(table.dimensions, levels, totals, strict=True):
            if not left_out:
                request.groups.add(variable=printed.variable, level=level)
        values = _set_measure(dataset, request, table.shown.measure, [value for _, value in cells])
        kept = [tuple(code for code in row if code != TOTAL) for row, _ in cells]
        summed = [d.variable for d, left_out in zip(table.dimensions, totals, strict=True) if left_out]
        words = f"{kind if figure != STANDARD_ERROR else figure.upper()} of {table.shown.measure}"
        # Medians are values of single records: what leaves in their place is not compared with them.
        figures = Figures(figure, tuple(zip(kept, values, strict=True)), compared=figure != "P50")
        yield replace(
            file,
            part=f"{words}, totals over {', '.join(summed)}" if summed else words,
            statistic=enveloped(request),
            figures=figures,
        )


def share_output(dataset: Dataset, file: Printed, table: PrintedTable, total: str, of: str) -> Printed:
    """The table of percentages that a table of shares is; `of` is a name in `SHARES`.

    Raises:
        Unreadable: it has no figure, or a code is not the dataset's.
    """
    if not table.cells:
        raise Unreadable("It shows no figure.")
    codes, levels, filters = _bound(dataset, table, total, always=True)
    request = pb.QueryTableRequest(dataset=dataset.name, margins=True, filter=filters)
    request.figures.add(statistic=SHARES[of])
    for printed, level in zip(table.dimensions, levels, strict=True):
        getattr(request, printed.group).add(variable=printed.variable, level=level)
    name = table_pb2.Statistic.Name(SHARES[of]).removeprefix("STATISTIC_")
    shares = tuple((row, 100.0 * value) for row, (_, value) in zip(codes, table.cells, strict=True))
    if not all(math.isfinite(share) for _, share in shares):
        raise Unreadable("It shows shares that are too large to be any.")
    return replace(file, part=name, table=enveloped(request), figures=Figures(name, shares))


def _category_output(dataset: Dataset, file: Printed, table: PrintedTable, total: str) -> Printed:
    """The table of units by the variable whose codes were counted: how many there are can be seen in it."""
    variable = variable_named(dataset, table.shown.measure)
    if not variable:
        name = table.shown.measure[:64]
        raise Unreadable(
            f"{name!r} is no variable of {dataset.name}; different values of a measure are not counted."
        )
    if any(not value.is_integer() or value < 0 for _, value in table.cells):
        raise Unreadable("Its numbers of categories must be whole, and not negative.")
    codes, levels, filters = _bound(dataset, table, total)
    request = pb.QueryTableRequest(dataset=dataset.name, margins=True, filter=filters)
    request.figures.add(statistic=table_pb2.STATISTIC_UNITS)
    for printed, level in zip(table.dimensions, levels, strict=True):
        getattr(request, printed.group).add(variable=printed.variable, level=level)
    request.layers.add(variable=variable, level=dataset.levels(variable)[0].name)
    numbers = tuple((row, str(int(value))) for row, (_, value) in zip(codes, table.cells, strict=True))
    part = f"{CATEGORIES.upper()} of {variable}"
    return replace(file, part=part, table=enveloped(request), figures=Figures(CATEGORIES, numbers))


def _bound(
    dataset: Dataset, table: PrintedTable, total: str, always: bool = False
) -> tuple[list[Row], list[str], list[pb.FilterRequest]]:
    """The codes of each cell, the level of each dimension, and the population.

    A program drops records with a missing code from totals and shares; filters say so.
    """
    columns, levels, filters = [], [], list(table.filters)
    filtered = {condition.variable for condition in table.filters}
    with_totals = always or any(total in labels for labels, _ in table.cells)
    for place, printed in enumerate(table.dimensions):
        labels = [row[place] for row, _ in table.cells]
        own = [label for label in labels if label != total and label.lower() not in MISSING_TEXTS]
        level = printed.level or level_of(dataset, printed.variable, dict.fromkeys(own))
        known = {
            label: _code(dataset, printed.variable, level, label, total) for label in dict.fromkeys(labels)
        }
        columns.append([known[label] for label in labels])
        levels.append(level)
        if with_totals and printed.variable not in filtered and MISSING not in known.values():
            valid = [code for code in dataset.level(printed.variable, level).codes if code != MISSING]
            filters.append(pb.FilterRequest(variable=printed.variable, level=level, codes=valid))
    rows: list[Row] = list(zip(*columns, strict=True)) if columns else [()] * len(table.cells)
    if len(set(rows)) < len(rows):
        raise Unreadable("It names a cell twice.")
    return rows, levels, filters


def _code(dataset: Dataset, variable: str, level: str, label: str, total: str) -> str:
    if label == total:
        return TOTAL
    if label.lower() in MISSING_TEXTS:
        return MISSING
    code = code_of(dataset, variable, level, label)
    if not code:
        raise Unreadable(f"{label[:64]!r} is no code of {variable}.")
    return code


def _set_measure(
    dataset: Dataset, request: pb.QueryStatisticRequest, name: str, values: Sequence[float]
) -> list[float | str]:
    """Name what the statistic is of; of a mode the values are codes."""
    if request.kind != statistic_pb2.STATISTIC_KIND_MODE:
        request.measure = measure_named(dataset, name)
        if not request.measure:
            raise Unreadable(f"{name[:64]!r} is no measure of {dataset.name}.")
        return [*values]
    variable = variable_named(dataset, name)
    if not variable:
        raise Unreadable(f"{name[:64]!r} is no variable of {dataset.name}; a mode is asked of codes.")
    request.mode_of.variable = variable
    level = dataset.levels(variable)[0].name
    return [_code(dataset, variable, level, repr(value), "") for value in values]
