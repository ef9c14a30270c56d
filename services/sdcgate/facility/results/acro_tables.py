"""Tables in the CSV files that ACRO writes: pandas' crosstab and pivot_table, with variables in the header.

Whatever ACRO says of a table (passed, suppressed) is not looked at: its cells are computed again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.results.acro_commands import Command, read_command
from sdcgate.facility.results.grids import Grid, Row, csv_grid
from sdcgate.facility.results.names import measure_named, variable_named
from sdcgate.facility.results.printed import Printed, Unreadable
from sdcgate.facility.results.statistic_tables import PRINTED, SHARES, share_output, statistic_outputs
from sdcgate.facility.results.tables import (
    PrintedDimension,
    PrintedTable,
    Shown,
    crossed,
    named_variable,
    output_of,
    with_totals,
)

OF_PANDAS = {"count": "records", "mean": "mean", "sum": "sum"}
OF_VARIABLES = ("mode", "nunique")
MOST_HEADERS = 8


@dataclass(frozen=True, slots=True)
class _Header:
    """The rows above the figures: their number, and what each level of the labels is."""

    index: tuple[str, ...]
    rows: int
    skipped: int
    names: tuple[str, ...] = field(default=())
    """What pandas calls each level; empty where it says nothing."""


def table_outputs(dataset: Dataset, file: Printed, entry: Mapping[str, Any], content: bytes) -> list[Printed]:
    """The outputs that a table is, one a statistic, each with what it shows.

    Raises:
        Unreadable: with what is missing or cannot be computed again.
    """
    grid = csv_grid(content)
    command = read_command(str(entry.get("command", "")))
    header = _header(dataset, grid)
    across = list(zip(*(row[len(header.index) :] for row in grid.rows[: header.rows]), strict=True))
    kinds = _kinds(dataset, header, across, _variables_across(dataset, entry, command, header), command)
    tables: dict[Shown, list[tuple[Row, float]]] = {}
    for down, labels, value in crossed(grid, len(header.index), header.rows, header.skipped):
        shown = _shown(dataset, kinds, labels, command, entry)
        own = [
            label for kind, label in zip(kinds, labels, strict=True) if kind not in ("statistic", "measure")
        ]
        cell = (*with_totals(down, command.total), *with_totals(own, command.total))
        tables.setdefault(shown, []).append((cell, value))
    dimensions = [PrintedDimension(variable, "rows") for variable in header.index]
    dimensions += [
        PrintedDimension(kind, "columns") for kind in kinds if kind not in ("statistic", "measure")
    ]
    if not tables:
        raise Unreadable("It shows no figure: all its cells are empty.")
    found = [
        output
        for shown, cells in tables.items()
        for output in _outputs(dataset, file, PrintedTable(tuple(dimensions), shown, tuple(cells)), command)
    ]
    return found if len(found) > 1 else [replace(found[0], part="")]


def _outputs(dataset: Dataset, file: Printed, table: PrintedTable, command: Command) -> Iterator[Printed]:
    """The outputs that the figures of one statistic are."""
    shown = table.shown
    if command.normalized:
        if shown.statistic != "records" or command.normalized not in SHARES:
            raise Unreadable("It shows shares that are not of records; send what they are made of.")
        yield share_output(dataset, file, table, command.total, command.normalized)
    elif shown.statistic in PRINTED:
        yield from statistic_outputs(dataset, file, table, command.total)
    else:
        yield replace(file, part=shown.words, output=output_of(dataset, table, command.total))


def _header(dataset: Dataset, grid: Grid) -> _Header:
    """Where the figures begin: after the first row, or after a row that names the variables down."""
    for place, row in enumerate(grid.rows[:MOST_HEADERS]):
        named = next((at for at, text in enumerate(row) if not text), len(row))
        known = all(variable_named(dataset, text) for text in row[:named])
        if place and 0 < named < len(row) and known and not any(row[named:]):
            names = tuple(above[0] for above in grid.rows[:place])
            index = tuple(named_variable(dataset, text) for text in row[:named])
            return _Header(index, place, 1, names)
    first = grid.rows[0]
    named = next((at for at, text in enumerate(first) if not variable_named(dataset, text)), len(first))
    if not named:
        raise Unreadable(f"Its first column, {first[0][:64]!r}, is no variable of {dataset.name}.")
    return _Header(tuple(named_variable(dataset, text) for text in first[:named]), 1, 0, ("",))


def _variables_across(
    dataset: Dataset, entry: Mapping[str, Any], command: Command, header: _Header
) -> list[str]:
    """Variables across that the header does not name, from the command or ACRO's own list of them."""
    fair = entry.get("fair")
    listed = fair.get("independent") if isinstance(fair, dict) else None
    names = [*command.columns] or [str(name) for name in listed or () if isinstance(name, str)]
    found = [variable_named(dataset, name) or name for name in names]
    return [name for name in found if name not in header.index]


def _kinds(
    dataset: Dataset, header: _Header, across: Sequence[Row], unnamed: list[str], command: Command
) -> list[str]:
    """What each level of the labels across is: `statistic`, `measure`, or a variable."""
    kinds = []
    named = {variable_named(dataset, name) for name in header.names}
    left = [name for name in unnamed if name not in named]
    for place, name in enumerate(header.names):
        texts = {labels[place] for labels in across} - {"", command.total}
        if texts and texts <= {*OF_PANDAS, *PRINTED}:
            kinds.append("statistic")
        elif variable_named(dataset, name):
            kinds.append(variable_named(dataset, name))
        elif texts and all(measure_named(dataset, text) for text in texts):
            kinds.append("measure")
        elif left:
            kinds.append(named_variable(dataset, left.pop(0)))
        else:
            raise Unreadable("Its header does not say which variable its columns are.")
    return kinds


def _shown(
    dataset: Dataset, kinds: Sequence[str], labels: Row, command: Command, entry: Mapping[str, Any]
) -> Shown:
    told = dict(zip(kinds, labels, strict=True))
    fair = entry.get("fair")
    dependent = fair.get("dependent") if isinstance(fair, dict) else None
    measures = [*command.values] or [str(dependent)] * (isinstance(dependent, str) and dependent != "unknown")
    measure = told.get("measure") or (measures[0] if len(measures) == 1 else "")
    statistic = told.get("statistic") or (command.statistics[0] if len(command.statistics) == 1 else "")
    if not statistic and not measure and command.method == "crosstab" and not command.statistics:
        return Shown("records")
    if not statistic:
        raise Unreadable("Neither its header nor its command says which statistic it shows.")
    if statistic == "count":
        return Shown("records")
    of_variable = variable_named(dataset, measure) if statistic in OF_VARIABLES else ""
    named = of_variable or measure_named(dataset, measure)
    return Shown(OF_PANDAS.get(statistic, statistic), named or measure)
