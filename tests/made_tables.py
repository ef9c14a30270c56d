"""Small tables to protect: from records that a test makes up, and from the RAND experiment."""

import csv
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from sdcgate.methods.cells import TOTAL, Axis, Facts, MeasureFacts, cell_codes, number_of_cells, shape_of
from sdcgate.methods.tables.problem import Problem


def axis(name: str, codes: Sequence[str]) -> Axis:
    """An axis with a total."""
    return Axis(name, name, (*codes, TOTAL), (len(codes),) * len(codes) + (-1,))


def table(
    axes: Sequence[Axis],
    positions: np.ndarray,
    units: np.ndarray,
    values: dict[str, np.ndarray] | None = None,
    bounds: dict[str, tuple[float | None, float | None]] | None = None,
) -> Facts:
    """Facts of a table counted from records: positions (records, axes), unit ids, values (NaN is missing)."""
    axes = tuple(axes)
    cells: list[tuple[int, ...]] = []
    columns: dict[str, list[Any]] = {"units": [], "records": []}
    values, bounds = values or {}, bounds or {}
    sums: dict[str, list[float]] = {name: [] for name in values}
    valid: dict[str, list[int]] = {name: [] for name in values}
    for cell in cell_codes(axes).T:
        cells.append(tuple(cell))
        inside = np.ones(len(positions), dtype=bool)
        for place, (code, one) in enumerate(zip(cell, axes, strict=True)):
            if one.codes[code] != TOTAL:
                inside &= positions[:, place] == code
        columns["units"].append(len(np.unique(units[inside])))
        columns["records"].append(int(inside.sum()))
        for name, column in values.items():
            have = inside & ~np.isnan(column)
            sums[name].append(float(column[have].sum()))
            valid[name].append(int(have.sum()))
    return facts(columns["units"], columns["records"], sums, valid, bounds)


def facts(
    units: Sequence[int],
    records: Sequence[int],
    sums: dict[str, Sequence[float]] | None = None,
    valid: dict[str, Sequence[int]] | None = None,
    bounds: dict[str, tuple[float | None, float | None]] | None = None,
) -> Facts:
    """Facts with measures of which only sums, valid records and bounds matter."""
    measures = []
    for name, column in (sums or {}).items():
        low, high = (bounds or {}).get(name, (0.0, None))
        have = np.asarray((valid or {}).get(name, records), dtype=np.int64)
        total = np.asarray(column, dtype=np.float64)
        nothing = np.zeros(len(have))
        measures.append(
            MeasureFacts(
                name, total, have, have, nothing[:, None], np.abs(total), nothing, nothing, low, high
            )
        )
    return Facts(
        np.asarray(units, dtype=np.int64), np.asarray(records, dtype=np.int64), measures=tuple(measures)
    )


def problem(axes: Sequence[Axis], of: Facts, **changed: Any) -> Problem:
    """A problem with everyday requirements, changed where told."""
    cells = number_of_cells(tuple(axes))
    said: dict[str, Any] = {
        "units_additive": True,
        "count_width": 1,
        "sum_width": 0.1,
        "zeros_withheld": False,
        "records_per_unit": 1,
        "known": np.zeros(cells, dtype=np.bool_),
        "absent": np.zeros(cells, dtype=np.bool_),
    }
    return Problem(tuple(axes), of, **(said | changed))


def with_margins(inner: np.ndarray) -> np.ndarray:
    """An array of inner cells with the total of each axis appended, flat and row-major."""
    for place in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=place, keepdims=True)], axis=place)
    return inner.reshape(-1)


def counts(inner: Any, **changed: Any) -> Problem:
    """A table of records that are persons, given its inner cells."""
    inner = np.asarray(inner)
    axes = [axis("abc"[place], [str(code) for code in range(size)]) for place, size in enumerate(inner.shape)]
    records = with_margins(inner)
    return problem(axes, facts(records, records), **changed)


def at(of: Problem, *codes: int) -> int:
    """Position of a cell, given the positions of its codes; -1 is the total."""
    shape = shape_of(of.axes)
    return int(
        np.ravel_multi_index(tuple(code % size for code, size in zip(codes, shape, strict=True)), shape)
    )


def flags(of: Problem, *cells: int) -> np.ndarray:
    """One flag a cell, True at these positions."""
    chosen = np.zeros(len(of.facts), dtype=np.bool_)
    chosen[list(cells)] = True
    return chosen


def margins_absent(of: Sequence[Axis]) -> np.ndarray:
    """Flags of the cells with a total among their codes."""
    absent = np.zeros(shape_of(tuple(of)), dtype=np.bool_)
    for place in range(absent.ndim):
        np.moveaxis(absent, place, 0)[-1] = True
    return absent.reshape(-1)


@cache
def _rand_columns() -> dict[str, np.ndarray]:
    where = Path(find_spec("statsmodels").submodule_search_locations[0])  # type: ignore[union-attr, index]
    with open(where / "datasets" / "randhie" / "src" / "randhie.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ("site", "plan", "female", "year", "zper", "meddol", "mdvis")
    return {name: np.array([float(row[name]) for row in rows]) for name in names}


def rand_problem(variables: Sequence[str], measures: Sequence[str] = (), **changed: Any) -> Problem:
    """A table with margins of the RAND Health Insurance Experiment, as statsmodels ships it."""
    columns = _rand_columns()
    axes, positions = [], []
    for name in variables:
        codes, place = np.unique(columns[name], return_inverse=True)
        axes.append(axis(name, [f"{code:g}" for code in codes]))
        positions.append(place)
    where = np.stack(positions)
    inner = shape_of(tuple(axes))
    units = np.zeros(inner, dtype=np.int64)
    records = np.zeros(inner, dtype=np.int64)
    sums = {name: np.zeros(inner) for name in measures}
    for kept in product((False, True), repeat=len(axes)):
        # Each record counts in the cell of its own codes on the kept axes and of totals on the others.
        place = np.where(np.array(kept)[:, None], where, np.array(inner)[:, None] - 1)
        cell = np.ravel_multi_index(tuple(place), inner)
        records.reshape(-1)[:] += np.bincount(cell, minlength=records.size)
        persons = np.unique(np.stack([cell, columns["zper"].astype(np.int64)]), axis=1)[0]
        units.reshape(-1)[:] += np.bincount(persons, minlength=units.size)
        for name in measures:
            sums[name].reshape(-1)[:] += np.bincount(cell, weights=columns[name], minlength=records.size)
    of = facts(units.reshape(-1), records.reshape(-1), {name: sums[name].reshape(-1) for name in measures})
    return problem(axes, of, **({"records_per_unit": 5, "count_width": 3} | changed))
