"""Tables in CSV and Excel files with a side file that says what they are."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import yaml

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.results.grids import Grid, Row, beside_the_sheet, csv_grid, excel_grid, number
from sdcgate.facility.results.names import variable_named
from sdcgate.facility.results.printed import Printed, Unreadable
from sdcgate.facility.results.statistic_tables import OF_OURS, PRINTED, statistic_outputs
from sdcgate.facility.results.tables import (
    COUNTS,
    MEASURED,
    PrintedDimension,
    PrintedTable,
    Shown,
    crossed,
    output_of,
    with_totals,
)
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

FIELDS = ("dataset", "rows", "columns", "layers", "statistic", "figures", "filter", "total", "sheet")
LARGEST = 64 << 10
BESIDE = "beside the table"
"""The part of a workbook that no sheet of a table is."""
OF_MEASURES = {**{name: name for name in MEASURED}, **OF_OURS}
_STATISTICS = f"{', '.join(COUNTS)}, or {', '.join(OF_MEASURES)} with a measure, such as mean:income"


def described_outputs(
    dataset: Dataset, file: Printed, side: bytes, content: bytes, excel: bool
) -> list[Printed]:
    """The outputs of a described table, one a statistic, each with what it shows.

    Raises:
        Unreadable: with all that is wrong with the side file, or what is with the table.
    """
    told = _Description(dataset, _loaded(side))
    if told.problems:
        raise Unreadable(*told.problems)
    grid = excel_grid(content, told.sheet) if excel else csv_grid(content)
    across = any(one.group == "columns" for one in told.dimensions)
    tables = told.crossed(grid, excel) if across else told.listed(grid)
    found = [output for table in tables for output in _outputs(dataset, file, table, told.total)]
    found = found if len(found) > 1 else [replace(found[0], part="")]
    if excel and (beside := beside_the_sheet(content)):
        # The table may leave, but not the file as it is.
        unread = replace(file, part=BESIDE)
        found.append(unread.unread((f"The workbook also has {', '.join(beside)}, which are not read.",)))
    return found


def _outputs(dataset: Dataset, file: Printed, table: PrintedTable, total: str) -> Iterator[Printed]:
    """The outputs that the figures of one statistic are."""
    if table.shown.statistic in PRINTED:
        yield from statistic_outputs(dataset, file, table, total)
    else:
        yield replace(file, part=table.shown.words, output=output_of(dataset, table, total))


def _loaded(side: bytes) -> Mapping[str, Any]:
    if len(side) > LARGEST:
        raise Unreadable(f"Its side file has more than {LARGEST} bytes.")
    try:
        text = side.decode("utf-8-sig")
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise Unreadable("Its side file has aliases (*); write everything out.")
        found = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError):
        raise Unreadable("Its side file is no YAML or JSON.") from None
    if not isinstance(found, dict):
        raise Unreadable(f"Its side file must be an object with {', '.join(FIELDS)}.")
    return found


class _Description:
    """What a side file says, and all that is wrong with it."""

    def __init__(self, dataset: Dataset, content: Mapping[str, Any]) -> None:
        self.problems: list[str] = []
        self._dataset = dataset
        self._content = content
        for name in content:
            if name not in FIELDS:
                self._wrong(str(name)[:64], f"is not known; the fields are {', '.join(FIELDS)}")
        if content.get("dataset", dataset.name) != dataset.name:
            self._wrong("dataset", f"is not {dataset.name}, with which it was submitted")
        self.dimensions = tuple(
            PrintedDimension(variable_named(dataset, variable) or variable, group, level)
            for group in ("rows", "columns", "layers")
            for variable, _, level in (text.partition(":") for text in self._texts(group))
        )
        self.total = str(content.get("total", "All"))
        self.sheet = str(content.get("sheet", ""))
        self._filters = tuple(self._conditions())
        figures = content.get("figures", {})
        if not isinstance(figures, dict):
            self._wrong(
                "figures", "must say what each column shows, such as {n: records, average: mean:income}"
            )
            figures = {}
        self._figures = {str(name): self._shown(text, f"figures.{name}") for name, text in figures.items()}
        across = any(one.group == "columns" for one in self.dimensions)
        if across == bool(figures) or across != ("statistic" in content):
            self._wrong("statistic", "is needed with columns; without them `figures`, and never both")
        self._statistic = (
            self._shown(content["statistic"], "statistic") if "statistic" in content else Shown("")
        )
        if any(one.group == "layers" for one in self.dimensions) and across:
            self._wrong("layers", "go with figures; write a file a layer, with a filter, or a row a cell")

    def crossed(self, grid: Grid, merged: bool) -> list[PrintedTable]:
        """The table of a file with variables down and across."""
        index = sum(one.group == "rows" for one in self.dimensions)
        header = len(self.dimensions) - index
        self._fits(grid, index + 1, header + 1)
        cells = tuple(
            ((*with_totals(down, self.total), *with_totals(across, self.total)), value)
            for down, across, value in crossed(grid, index, header, merged=merged)
        )
        return [PrintedTable(self.dimensions, self._statistic, cells, self._filters)]

    def listed(self, grid: Grid) -> list[PrintedTable]:
        """The tables of a file that has a row a cell."""
        self._fits(grid, 1, 2)
        places = {name: place for place, name in enumerate(grid.rows[0])}
        # A variable goes by the dataset's name of it, or by that of the file's column.
        named = {variable_named(self._dataset, name): place for name, place in places.items()} | places
        absent = [one.variable[:64] for one in self.dimensions if one.variable not in named]
        absent += [name[:64] for name in self._figures if name not in places]
        if absent:
            raise Unreadable(f"It has no column {', '.join(map(repr, absent))}.")
        tables = []
        for name, shown in self._figures.items():
            cells: list[tuple[Row, float]] = []
            for place, row in enumerate(grid.rows[1:], start=2):
                value = number(row[places[name]], f"Row {place}, column {name[:64]!r}")
                if value is not None:
                    cells.append((tuple(row[named[one.variable]] for one in self.dimensions), value))
            tables.append(PrintedTable(self.dimensions, shown, tuple(cells), self._filters))
        return tables

    def _fits(self, grid: Grid, width: int, rows: int) -> None:
        if grid.width < width or len(grid.rows) < rows:
            raise Unreadable(f"It must have at least {width} columns and {rows} rows, as its side file says.")

    def _texts(self, name: str) -> list[str]:
        found = self._content.get(name, [])
        if not isinstance(found, list) or not all(isinstance(one, str) and one for one in found):
            self._wrong(name, "must be a list of variables, such as [site, age:ten_years]")
            return []
        return found

    def _shown(self, text: Any, path: str) -> Shown:
        statistic, _, measure = str(text).partition(":")
        statistic = statistic.lower()
        if statistic not in (OF_MEASURES if measure else COUNTS):
            self._wrong(path[:64], f"must be {_STATISTICS}")
        return Shown(OF_MEASURES.get(statistic, statistic), measure)

    def _conditions(self) -> list[pb.FilterRequest]:
        given = self._content.get("filter", {})
        if not isinstance(given, dict) or not all(isinstance(codes, list) for codes in given.values()):
            self._wrong("filter", 'must name codes, such as {year: ["1", "2"]}')
            return []
        found = []
        for name, codes in given.items():
            variable, _, level = str(name).partition(":")
            own = variable_named(self._dataset, variable) or variable
            found.append(pb.FilterRequest(variable=own, level=level, codes=[str(code) for code in codes]))
        return found

    def _wrong(self, path: str, message: str) -> None:
        self.problems.append(f"Its side file, {path}: {message}.")
