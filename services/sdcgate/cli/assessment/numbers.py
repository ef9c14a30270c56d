"""Numbers that identify by being far from others: read, looked at, told in words."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sdcgate.cli.assessment.parts import Section, Table, count, percent, plural
from sdcgate.engine.data_files import column_names, read_columns
from sdcgate.engine.descriptor import DataFile
from sdcgate.engine.microdata import MicrodataUnusable
from sdcgate.engine.table_columns import TableColumns, coded, lacking_columns
from sdcgate.methods.risk.density import largest_units, neighbourhoods

LARGEST = 3
"""Units that everybody knows, for they are the largest of their categories."""


@dataclass(frozen=True, slots=True)
class Near:
    """How far two values of a number may be apart and still be confused."""

    column: str
    width: float
    of_the_value: bool = False
    """Whether the width is a share of the value."""


def near_of(text: str) -> Near:
    """`sales=10%` or `employees=5`. Raises ValueError where it is neither."""
    column, _, width = text.rpartition("=")
    try:
        number = float(width.removesuffix("%"))
    except ValueError:
        number = 0.0
    if not (column and np.isfinite(number) and number > 0):
        raise ValueError(
            f"--near {text}: write a number and a width above 0, such as sales=10% or employees=5"
        )
    return Near(column, number / 100 if width.endswith("%") else number, width.endswith("%"))


def numbers_section(
    file: Path,
    near: tuple[Near, ...],
    categories: tuple[str, ...],
    minimum: int,
    missing: tuple[str, ...],
    delimiter: str,
) -> Section:
    """How many records stand alone with their numbers among those of their categories.

    Raises MicrodataUnusable with all problems of the columns, ValueError for a minimum below 1 and numbers of
    0 or less whose width is a share.
    """
    data = DataFile(path=file.name, delimiter=delimiter)
    named = [*(("near", one.column) for one in near), *(("keys", name) for name in categories)]
    problems = lacking_columns(named, column_names(file, data))
    if problems:
        raise MicrodataUnusable(problems)
    columns = TableColumns(
        read_columns(file, data, list(dict.fromkeys(name for _, name in named))), missing, []
    )
    numbers = [columns.numbers("near", one.column) for one in near]
    texts = [columns.texts("keys", name) for name in categories]
    if columns.problems:
        raise MicrodataUnusable(columns.problems)
    values = np.column_stack([one for one in numbers if one is not None])
    shares = np.array([one.of_the_value for one in near])
    if (values[:, shares] <= 0).any():
        raise ValueError("--near: a width in % is for numbers above 0")
    codes = np.column_stack([coded(one)[1] for one in texts if one is not None]) if categories else None
    points = values.copy()
    points[:, shares] = np.log(values[:, shares])
    widths = np.array([np.log1p(one.width) if one.of_the_value else one.width for one in near])
    found = neighbourhoods(points, widths, minimum, codes)
    isolated, outside = int(found.isolated.sum()), int(found.outside.sum())
    among = int(largest_units(values, LARGEST, codes).among.sum())
    boxes = ", ".join(
        f"{one.column} within {percent(one.width) if one.of_the_value else f'{one.width:g}'}" for one in near
    )
    words = (
        f"A record can be confused with others that have the same {', '.join(categories) or 'numbers'} and "
        f"{boxes}. {plural(isolated, 'record has', 'records have')} fewer than {minimum} of them: "
        f"{percent(isolated / len(values))}.",
        "The widths are what an intruder does not know; in a sample people outside of it are near, too.",
    )
    rows = (
        (f"fewer than {minimum} neighbours: isolated", count(isolated)),
        ("isolated, and near no record that is not", count(outside)),
        (f"among the {LARGEST} largest of their categories in some number", count(among)),
    )
    return Section("Numbers", words, (Table(("records that are", "number"), rows),))
