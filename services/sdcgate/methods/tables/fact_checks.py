"""Whether the facts of a table fit together, before any rule compares them.

A NaN compares as neither safe nor unsafe, and a count below another that it should exceed hides a small
cell: facts with either are rejected, not judged. What is not known (an empty column) is not compared.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sdcgate.methods.cells import BoolArray, Facts, FloatArray, IntArray, MeasureFacts
from sdcgate.methods.positions import FactProblem
from sdcgate.methods.tables.sensitivity import CLOSE

Problems = Iterator[FactProblem]


def fact_problems(facts: Facts, n_cells: int) -> list[FactProblem]:
    """All that is wrong with the facts of a table of `n_cells` cells: paths and positions, no value.

    A column may be empty: then it is not known.
    """
    names = [measure.name for measure in facts.measures]
    problems = [
        FactProblem(_path(place), f"names {name} a second time")
        for place, name in enumerate(names)
        if name in names[:place]
    ]
    shape_problems = [*_shape_problems(facts, n_cells), *_measure_shapes(facts, n_cells)]
    if shape_problems:
        return problems + shape_problems
    problems += _cell_problems(facts)
    for place, measure in enumerate(facts.measures):
        problems += _measure_problems(facts, measure, _path(place))
    return problems


def _path(place: int) -> str:
    return f"facts.measures[{place}]"


def _shape_problems(facts: Facts, n_cells: int) -> Problems:
    yield from _misshapen("facts.units", facts.units, n_cells, "i")
    yield from _misshapen("facts.records", facts.records, n_cells, "i")
    for name, values in (
        ("facts.households", facts.households),
        ("facts.weight_sums", facts.weight_sums),
        ("facts.unit_weight_sums", facts.unit_weight_sums),
    ):
        if values is not None:
            yield from _misshapen(name, values, n_cells)


def _measure_shapes(facts: Facts, n_cells: int) -> Problems:
    for place, measure in enumerate(facts.measures):
        path = _path(place)
        for name in ("valid_records", "valid_units", "lacking_units"):
            counts = getattr(measure, name)
            if counts is not None:
                yield from _misshapen(f"{path}.{name}", counts, n_cells, "i")
        for name in ("sums", "absolute_sums", "minima", "maxima", "weighted_sums", "valid_weight_sums"):
            values = getattr(measure, name)
            if values is not None:
                yield from _misshapen(f"{path}.{name}", values, n_cells)
        if measure.largest.size and (measure.largest.ndim != 2 or len(measure.largest) != n_cells):
            yield FactProblem(f"{path}.largest", f"must have a row for each of {n_cells} cells")


def _misshapen(path: str, values: npt.NDArray[np.generic], n_cells: int, kinds: str = "if") -> Problems:
    if not values.size:
        return
    if values.shape != (n_cells,):
        yield FactProblem(path, f"must be one value for each of {n_cells} cells, not {values.shape}")
    if values.dtype.kind not in kinds:
        yield FactProblem(path, f"must be {'integers' if kinds == 'i' else 'numbers'}, not {values.dtype}")


def _where(path: str, wrong: BoolArray, message: str) -> Problems:
    """The problem of a column, where some cell has it."""
    if np.count_nonzero(wrong):
        yield FactProblem(path, message, np.flatnonzero(wrong))


def _cell_problems(facts: Facts) -> Problems:
    units, records = facts.units, facts.records
    yield from _where("facts.units", units < 0, "must not be negative")
    yield from _where("facts.records", records < 0, "must not be negative")
    if units.size and records.size:
        yield from _where("facts.units", units > records, "must not exceed records")
        yield from _where(
            "facts.units", (units == 0) != (records == 0), "must be 0 exactly where records are 0"
        )
    yield from _not_weights("facts.weight_sums", facts.weight_sums)
    yield from _not_weights("facts.unit_weight_sums", facts.unit_weight_sums)
    yield from _not_weights("facts.households", facts.households)
    if facts.households is not None and facts.households.size and units.size:
        yield from _where("facts.households", facts.households > units * (1 + CLOSE), "must not exceed units")


def _not_weights(path: str, values: FloatArray | None) -> Problems:
    """Complaints about what must be finite and not negative."""
    if values is not None:
        yield from _where(path, ~((values >= 0) & np.isfinite(values)), "must be finite and not negative")


def _measure_problems(facts: Facts, measure: MeasureFacts, path: str) -> Problems:
    yield from _count_problems(facts, measure, path)
    if measure.lacking_units is not None and measure.lacking_units.size:
        yield from _lacking_problems(facts, measure, measure.lacking_units, f"{path}.lacking_units")
    for name in ("sums", "weighted_sums", "minima", "maxima"):
        values = getattr(measure, name)
        if values is not None:
            yield from _where(f"{path}.{name}", ~np.isfinite(values), "must be finite")
    yield from _not_weights(f"{path}.valid_weight_sums", measure.valid_weight_sums)
    yield from _not_weights(f"{path}.absolute_sums", measure.absolute_sums)
    yield from _largest_problems(measure, f"{path}.largest")
    if measure.minima.size and measure.maxima.size:
        yield from _where(f"{path}.minima", measure.minima > measure.maxima, "must not exceed maxima")
    for name, bound in (("lower_bound", measure.lower_bound), ("upper_bound", measure.upper_bound)):
        if bound is not None and np.isnan(bound):
            yield FactProblem(f"{path}.{name}", "must be a number")


def _count_problems(facts: Facts, measure: MeasureFacts, path: str) -> Problems:
    """What is wrong with the units and records that have a measure."""
    units, records = measure.valid_units, measure.valid_records
    yield from _where(f"{path}.valid_units", units < 0, "must not be negative")
    yield from _where(f"{path}.valid_records", records < 0, "must not be negative")
    if units.size and facts.units.size:
        yield from _where(f"{path}.valid_units", units > facts.units, "must not exceed units")
    if records.size and facts.records.size:
        yield from _where(f"{path}.valid_records", records > facts.records, "must not exceed records")
    if units.size and records.size:
        yield from _where(f"{path}.valid_units", units > records, "must not exceed valid_records")
        wrong = (units == 0) != (records == 0)
        yield from _where(f"{path}.valid_units", wrong, "must be 0 exactly where valid_records are 0")


def _lacking_problems(facts: Facts, measure: MeasureFacts, lacking: IntArray, path: str) -> Problems:
    yield from _where(path, lacking < 0, "must not be negative")
    if facts.units.size:
        yield from _where(path, lacking > facts.units, "must not exceed units")
        if measure.valid_units.size:
            wrong = lacking < facts.units - measure.valid_units
            yield from _where(path, wrong, "must be at least the units without the measure")
    if facts.records.size and measure.valid_records.size:
        wrong = lacking > facts.records - measure.valid_records
        yield from _where(path, wrong, "must not exceed lacking records")


def _largest_problems(measure: MeasureFacts, path: str) -> Problems:
    largest = measure.largest
    if not largest.size:
        return
    wrong: BoolArray = ~((largest.min(axis=1) >= 0) & np.isfinite(largest.max(axis=1)))
    yield from _where(path, wrong, "must be finite and not negative")
    unsorted: BoolArray = np.diff(largest, axis=1).max(axis=1, initial=0) > 0
    yield from _where(path, unsorted, "must come largest first")
    if measure.absolute_sums.size:
        short = largest.sum(axis=1) > measure.absolute_sums * (1 + CLOSE)
        yield from _where(path, short, "must not exceed absolute_sums")
