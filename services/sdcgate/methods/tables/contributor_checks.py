"""Whether the largest contributors of cells fit together, and with the totals that they are part of."""

from collections.abc import Iterator

import numpy as np

from sdcgate.methods.cells import BoolArray, Contributors, FloatArray, MeasureFacts
from sdcgate.methods.positions import FactProblem
from sdcgate.methods.tables.column_checks import Problems, misshapen, not_weights, where
from sdcgate.methods.tables.sensitivity import CLOSE


def contributor_shapes(measure: MeasureFacts, path: str, n_cells: int) -> Problems:
    """Columns of contributions that do not fit `n_cells` cells."""
    for given, totals, at in _every(measure, path):
        yield from misshapen(totals, given.totals, n_cells)
        yield from misshapen(f"{at}variances", given.variances, n_cells)
        ranks = given.largest.shape[1] if given.largest.ndim == 2 else 0
        if given.largest.size and (given.largest.ndim != 2 or len(given.largest) != n_cells):
            yield FactProblem(f"{at}largest", f"must have a row for each of {n_cells} cells")
        if given.unwaived is not None and given.unwaived.shape != (n_cells, ranks):
            yield FactProblem(f"{at}{_unwaived(at, path)}", "must have as many values a cell as largest")


def contributor_problems(measure: MeasureFacts, path: str) -> Problems:
    """Contributions that contradict each other, of columns that fit the cells."""
    for given, totals, at in _every(measure, path):
        yield from not_weights(totals, given.totals)
        yield from not_weights(f"{at}variances", given.variances)
        yield from _ranked(f"{at}largest", given.largest, given.totals, totals)
        if given.unwaived is not None:
            unwaived = f"{at}{_unwaived(at, path)}"
            yield from _ranked(unwaived, given.unwaived, given.totals, totals)
            beyond = np.max(given.unwaived - given.largest, axis=1, initial=0) > 0
            yield from where(unwaived, beyond, "must not exceed largest, rank by rank")
    yield from _shift_problems(measure, path)


def _every(measure: MeasureFacts, path: str) -> Iterator[tuple[Contributors, str, str]]:
    """The contributions of a measure, with the path of their totals and what other paths begin with."""
    plain = Contributors(measure.largest, measure.absolute_sums, measure.unwaived_largest)
    yield plain, f"{path}.absolute_sums", f"{path}."
    for name in ("shifted", "weighted"):
        given = getattr(measure, name)
        if given is not None:
            yield given, f"{path}.{name}.totals", f"{path}.{name}."


def _unwaived(at: str, path: str) -> str:
    return "unwaived_largest" if at == f"{path}." else "unwaived"


def _ranked(path: str, largest: FloatArray, totals: FloatArray, of_totals: str) -> Problems:
    if not largest.size:
        return
    wrong: BoolArray = ~((largest.min(axis=1) >= 0) & np.isfinite(largest.max(axis=1)))
    yield from where(path, wrong, "must be finite and not negative")
    unsorted: BoolArray = np.diff(largest, axis=1).max(axis=1, initial=0) > 0
    yield from where(path, unsorted, "must come largest first")
    if totals.size:
        beyond = largest.sum(axis=1) > totals * (1 + CLOSE)
        yield from where(path, beyond, f"must not exceed {of_totals.rpartition('.')[2]}")


def _shift_problems(measure: MeasureFacts, path: str) -> Problems:
    """What lies above the lower bound is the sum less the bound of each record."""
    if measure.shifted is None:
        return
    low, sums, valid = measure.lower_bound, measure.sums, measure.valid_records
    if low is None:
        yield FactProblem(f"{path}.shifted", "needs the lower_bound above which it is measured")
    elif measure.shifted.totals.size and sums.size and valid.size:
        expected = sums - low * valid
        room = CLOSE * (np.abs(sums) + np.abs(low * valid))
        wrong: BoolArray = ~(np.abs(measure.shifted.totals - expected) <= room)
        message = "must be the sums less lower_bound times valid_records"
        yield from where(f"{path}.shifted.totals", wrong, message)
