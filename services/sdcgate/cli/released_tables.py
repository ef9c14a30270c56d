"""Tables that `sdcgate protect` wrote earlier: what of a new table has left already, and binds."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sdcgate.methods.cells import TOTAL, Axis, FloatArray, number_of_cells, shape_of

COUNTS = ("units", "records")


def released_values(axes: tuple[Axis, ...], files: Sequence[Path]) -> FloatArray:
    """Values of the cells that stand in earlier tables too, NaN for the others, shape (cells,).

    A cell of another table is the same where the dimensions that only one of the two has are totals.

    Raises ValueError, with file and line, for what is no such table or contradicts another.
    """
    values = np.full(number_of_cells(axes), np.nan)
    for file in files:
        with file.open(encoding="utf-8", newline="") as opened:
            reader = csv.DictReader(opened)
            names = reader.fieldnames or ()
            counts = [name for name in names if name in COUNTS]
            if len(counts) != 1:
                raise ValueError(
                    f"{file.name} has no column {' or '.join(COUNTS)}: it is no table with values"
                )
            others = set(names) - {counts[0], *(axis.variable for axis in axes)}
            for line, row in enumerate(reader, 2):
                if all(row[name] == TOTAL for name in others) and row[counts[0]]:
                    _enter(values, axes, row, row[counts[0]], f"{file.name}, line {line}")
    return values


def _enter(values: FloatArray, axes: tuple[Axis, ...], row: dict[str, str], text: str, where: str) -> None:
    """Note the value of the cell that a row is about."""
    codes = []
    for axis in axes:
        code = row.get(axis.variable, TOTAL)
        if code not in axis.codes:
            raise ValueError(f"{where}: {axis.variable} has no code {code!r} in this file")
        codes.append(axis.codes.index(code))
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{where}: {text!r} is no number") from None
    cell = np.ravel_multi_index(codes, shape_of(axes))
    if not np.isnan(values[cell]) and values[cell] != value:
        raise ValueError(f"{where}: another table has another value of the same cell")
    values[cell] = value
