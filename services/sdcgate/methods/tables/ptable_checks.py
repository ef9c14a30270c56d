"""Perturbation tables made elsewhere: read, and checked before any noise is drawn from them."""

import csv
import io
from collections.abc import Iterator

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.positions import at_positions
from sdcgate.methods.tables.ptable import MOST_NOISE, PTable, PTableError, table_from_rows

PRINTED = 1e-6
"""By how much sums of printed probabilities may be off."""
MOST_ROWS = 10_000
COLUMNS = ("i", "j", "p", "v", "p_int_ub")
ANY_COUNT = "all"

Found = Iterator[tuple[str, str]]


def checked_ptable(
    counts: IntArray, noise: IntArray, probabilities: FloatArray, upper: FloatArray | None = None
) -> PTable:
    """A perturbation table of given rows, blocks of counts one after the other.

    `upper` are the cumulated probabilities that keys are compared with, unless given those of
    `probabilities`.

    Raises PTableError with all that is wrong: rows that do not sum to 1, biased noise, a zero that does not
    stay zero, a count that could become negative, and so on.
    """
    problems = list(_misshapen(counts, noise, probabilities, upper))
    if problems:
        raise PTableError(problems)
    problems = [*_unsound_rows(counts, noise, probabilities), *_unsound_blocks(counts, noise, probabilities)]
    if upper is not None:
        problems += _unsound_bounds(counts, probabilities, upper)
    if problems:
        raise PTableError(problems)
    made = table_from_rows(counts, noise, probabilities)
    return made if upper is None else PTable(counts, noise, probabilities, upper)


def _misshapen(
    counts: IntArray, noise: IntArray, probabilities: FloatArray, upper: FloatArray | None
) -> Found:
    if not 0 < len(counts) <= MOST_ROWS:
        yield "counts", f"must have from 1 to {MOST_ROWS} rows"
        return
    for name, column in (("noise", noise), ("probabilities", probabilities), ("upper_bounds", upper)):
        if column is not None and len(column) != len(counts):
            yield name, f"must have a value for each of {len(counts)} rows, not {len(column)}"
    steps = np.diff(counts)
    if counts[0] != 0 or np.any((steps != 0) & (steps != 1)):
        yield "counts", "must start at 0 and go up by 0 or 1 from row to row"


def _unsound_rows(counts: IntArray, noise: IntArray, probabilities: FloatArray) -> Found:
    wrong = ~((probabilities >= 0) & (probabilities <= 1))
    for message in at_positions(wrong, "must be from 0 to 1"):
        yield "probabilities", message
    for message in at_positions(np.abs(noise) > MOST_NOISE, f"must be from -{MOST_NOISE} to {MOST_NOISE}"):
        yield "noise", message
    for message in at_positions(counts + noise < 0, "must not make a count negative"):
        yield "noise", message
    for message in at_positions((counts == 0) & (noise != 0), "must be 0 where the count is 0"):
        yield "noise", message
    pairs, first = np.unique(np.column_stack([counts, noise]), axis=0, return_index=True)
    again = np.ones(len(counts), dtype=np.bool_)
    again[first] = False
    if len(pairs) < len(counts):
        yield "noise", at_positions(again, "must be different within a count")[0]


def _unsound_blocks(counts: IntArray, noise: IntArray, probabilities: FloatArray) -> Found:
    sums = np.bincount(counts, weights=probabilities)
    means = np.bincount(counts, weights=probabilities * noise)
    for count in np.flatnonzero(~(np.abs(sums - 1) <= PRINTED)).tolist():
        yield "probabilities", f"must sum to 1 for count {count}, not to {sums[count]:.9g}"
    for count in np.flatnonzero(~(np.abs(means) <= PRINTED)).tolist():
        yield "noise", f"must have mean 0 for count {count}, not {means[count]:.9g}"


def _unsound_bounds(counts: IntArray, probabilities: FloatArray, upper: FloatArray) -> list[tuple[str, str]]:
    expected = table_from_rows(counts, np.zeros_like(counts), probabilities).upper
    wrong = ~(np.abs(upper - expected) <= PRINTED)
    last = np.append(np.diff(counts) > 0, True)
    found = at_positions(wrong, "must be the cumulated probabilities of the count")
    found += at_positions(last & (upper != 1), "must be 1 in the last row of a count")
    falls = np.append(False, (np.diff(upper) < 0) & (np.diff(counts) == 0))
    found += at_positions(falls, "must not fall within a count")
    return [("upper_bounds", message) for message in found]


def ptable_from_csv(text: str) -> PTable:
    """A perturbation table from a CSV file with the columns that the R package ptable writes.

    These are i (count), j (what it becomes), p, v (= j - i), p_int_ub, and type, where given, always `all`;
    others are left alone. Rows are used in their order.

    Raises PTableError with all that is wrong, by line.
    """
    reader = csv.DictReader(io.StringIO(text))
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise PTableError([("line 1", f"must name the columns {', '.join(missing)}")])
    problems: list[tuple[str, str]] = []
    rows: list[tuple[float, ...]] = []
    for line, row in enumerate(reader, 2):
        if len(rows) >= MOST_ROWS:
            raise PTableError([(f"line {line}", f"is one too many: at most {MOST_ROWS} rows")])
        values = _numbers(row)
        problems += [(f"line {line}", what) for what in _wrong_line(row, values)]
        rows.append(tuple(0.0 if value is None else value for value in values))
    if problems:
        raise PTableError(problems)
    table = np.array(rows, dtype=np.float64).reshape(-1, len(COLUMNS))
    whole = table[:, [0, 3]].astype(np.int64)
    return checked_ptable(whole[:, 0], whole[:, 1], table[:, 2], table[:, 4])


def _numbers(row: dict[str, str]) -> list[float | None]:
    """The columns as finite numbers; None where one is none."""
    found: list[float | None] = []
    for name in COLUMNS:
        try:
            value = float(row[name])
        except (TypeError, ValueError):
            value = float("nan")
        found.append(value if np.isfinite(value) else None)
    return found


def _wrong_line(row: dict[str, str], values: list[float | None]) -> Iterator[str]:
    for name, value in zip(COLUMNS, values, strict=True):
        if value is None:
            yield f"{name} must be a number"
        elif name in "ijv" and (value != round(value) or abs(value) > MOST_ROWS):
            yield f"{name} must be a whole number of at most {MOST_ROWS}"
    i, j, _, v, _ = values
    if i is not None and j is not None and v is not None and j - i != v:
        yield "v must be j - i"
    if row.get("type", ANY_COUNT) != ANY_COUNT:
        yield f"type must be {ANY_COUNT}: tables for some counts only are not read"
