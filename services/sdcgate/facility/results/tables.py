"""From the cells of a printed table to an output that is bound to its dataset."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.results.grids import MISSING_TEXTS, Grid, Row, number
from sdcgate.facility.results.messages import checked_output
from sdcgate.facility.results.names import code_of, level_of, measure_named, variable_named
from sdcgate.facility.results.printed import Unreadable
from sdcgate.methods.cells import MISSING, TOTAL
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2

COUNTS = {
    "units": table_pb2.STATISTIC_UNITS,
    "records": table_pb2.STATISTIC_RECORDS,
    "weighted_units": table_pb2.STATISTIC_WEIGHTED_UNITS,
}
MEASURED = {
    "mean": table_pb2.STATISTIC_MEAN,
    "sum": table_pb2.STATISTIC_SUM,
    "weighted_mean": table_pb2.STATISTIC_WEIGHTED_MEAN,
    "weighted_sum": table_pb2.STATISTIC_WEIGHTED_SUM,
}
LARGEST_COUNT = 2**53
"""Counts beyond are not read exactly."""
CANNOT = "Its {what} cannot be computed again as a table; ask the facility for it instead."


@dataclass(frozen=True, slots=True)
class Shown:
    """What the figures of a table are: `records`, or `mean` with a measure."""

    statistic: str
    measure: str = ""

    @property
    def words(self) -> str:
        """For a person."""
        return f"{self.statistic.upper()} of {self.measure}" if self.measure else self.statistic.upper()


@dataclass(frozen=True, slots=True)
class PrintedDimension:
    """A dimension as it was printed."""

    variable: str
    group: str
    level: str = ""
    """The finest that has all its codes where empty."""


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """The cells of one statistic by their labels; those without a figure are left out."""

    dimensions: tuple[PrintedDimension, ...]
    shown: Shown
    cells: tuple[tuple[Row, float], ...] = field(repr=False)
    filters: tuple[pb.FilterRequest, ...] = ()


def output_of(dataset: Dataset, table: PrintedTable, total: str) -> pb.SubmitOutputRequest:
    """The output that a printed table is.

    Totals that a program printed are over those whose codes are known; that is said by filters.

    Raises:
        Unreadable: its statistic cannot be computed again, or it has no figure.
    """
    if not table.cells:
        raise Unreadable("It shows no figure.")
    request = pb.SubmitOutputRequest(dataset=dataset.name, filter=table.filters)
    margins = any(total in labels for labels, _ in table.cells)
    filtered = {condition.variable for condition in table.filters}
    for place, printed in enumerate(table.dimensions):
        labels = [row[place] for row, _ in table.cells]
        own = [
            label for label in dict.fromkeys(labels) if label != total and label.lower() not in MISSING_TEXTS
        ]
        level = printed.level or level_of(dataset, printed.variable, own)
        known = {
            label: _code(dataset, printed.variable, level, label, total) for label in dict.fromkeys(labels)
        }
        codes = [known[label] for label in labels]
        listed = list(dict.fromkeys(codes))
        at = {code: position for position, code in enumerate(listed)}
        getattr(request, printed.group).add(
            variable=printed.variable, level=level, codes=listed, cells=[at[code] for code in codes]
        )
        if margins and printed.variable not in filtered and MISSING not in listed:
            valid = [code for code in dataset.level(printed.variable, level).codes if code != MISSING]
            request.filter.add(variable=printed.variable, level=level, codes=valid)
    _set_figures(dataset, request, table.shown, [value for _, value in table.cells])
    return checked_output(request)


def _code(dataset: Dataset, variable: str, level: str, label: str, total: str) -> str:
    if label == total:
        return TOTAL
    if label.lower() in MISSING_TEXTS:
        return MISSING
    return code_of(dataset, variable, level, label) or label


def _set_figures(
    dataset: Dataset, request: pb.SubmitOutputRequest, shown: Shown, values: Sequence[float]
) -> None:
    """Facts that give the printed figures: of a mean a sum over one record, as nothing else was printed."""
    if shown.statistic in COUNTS:
        request.figures.add(statistic=COUNTS[shown.statistic])
        if shown.statistic == "weighted_units":
            request.facts.weight_sums.extend(values)
            return
        if any(not value.is_integer() or value < 0 for value in values):
            raise Unreadable(f"Its {shown.statistic} must be whole numbers, and not negative.")
        if max(values) > LARGEST_COUNT:
            raise Unreadable(f"Its {shown.statistic} must be at most {LARGEST_COUNT}.")
        getattr(request.facts, shown.statistic).extend(map(int, values))
        return
    if shown.statistic not in MEASURED:
        raise Unreadable(CANNOT.format(what=shown.statistic[:64]))
    measure = measure_named(dataset, shown.measure)
    if not measure:
        raise Unreadable(f"{shown.measure[:64]!r} is no measure of {dataset.name}.")
    request.figures.add(statistic=MEASURED[shown.statistic], measure=measure)
    facts = request.facts.measures.add(measure=measure)
    weighted = shown.statistic.startswith("weighted")
    (facts.weighted_sums if weighted else facts.sums).extend(values)
    if shown.statistic == "mean":
        facts.valid_records.extend([1] * len(values))
    elif shown.statistic == "weighted_mean":
        facts.valid_weight_sums.extend([1.0] * len(values))


def crossed(
    grid: Grid, index: int, header: int, skipped: int = 0, merged: bool = False
) -> list[tuple[Row, Row, float]]:
    """The figures of a table that has variables down and across: labels down, labels across, figure.

    `index` columns label rows, `header` rows label columns, `skipped` rows follow that label nothing.
    Repeated labels that were left blank are those above, as long as those before them are; where cells may
    be `merged` so are those across, but for the last header row, in which a blank is a label.
    """
    found = []
    across = list(zip(*(row[index:] for row in grid.rows[:header]), strict=True)) if header else []
    if merged and header:
        left: Row = ("",) * (header - 1)
        for column, labels in enumerate(across):
            left = _repeated(labels[:-1], left)
            across[column] = (*left, labels[-1])
    above: Row = ("",) * index
    for place, row in enumerate(grid.rows[header + skipped :], start=header + skipped + 1):
        above = down = _repeated(row[:index], above)
        for column, text in enumerate(row[index:]):
            value = number(text, f"Row {place}, column {index + column + 1}")
            if value is not None:
                found.append((down, across[column] if across else (), value))
    return found


def _repeated(labels: Row, before: Row) -> Row:
    """Labels with the blanks before the first that is another than before as they were before."""
    found: list[str] = []
    for own, last in zip(labels, before, strict=True):
        found.append(own or (last if tuple(found) == before[: len(found)] else ""))
    return tuple(found)


def with_totals(labels: Sequence[str], total: str) -> Row:
    """Labels with the blanks after a total as totals."""
    if total in labels:
        at = labels.index(total)
        return (*labels[:at], *(label or total for label in labels[at:]))
    return tuple(labels)


def named_variable(dataset: Dataset, name: str) -> str:
    """The variable of a name in a table. Raises Unreadable."""
    found = variable_named(dataset, name)
    if not found:
        raise Unreadable(f"{name[:64]!r} is no variable of {dataset.name}.")
    return found
