"""Whether the facts of a table fit together, before any rule compares them.

A NaN compares as neither safe nor unsafe, and a count below another that it should exceed hides a small
cell: facts with either are rejected, not judged.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sdcgate.methods.cells import BoolArray, Facts, FloatArray, IntArray, MeasureFacts
from sdcgate.methods.positions import at_positions
from sdcgate.methods.tables.sensitivity import CLOSE


def fact_problems(facts: Facts, n_cells: int) -> list[str]:
    """All that is wrong with the facts of a table of `n_cells` cells: names and positions, no values.

    A measure's `largest`, `absolute_sums`, `minima` and `maxima` may be empty: then they are not known.
    """
    names = [measure.name for measure in facts.measures]
    problems = [f"measure {name} is given twice" for name in sorted(set(names)) if names.count(name) > 1]
    shape_problems = [*_shape_problems(facts, n_cells), *_measure_shapes(facts, n_cells)]
    if shape_problems:
        return problems + shape_problems
    problems += _cell_problems(facts)
    for measure in facts.measures:
        problems += [f"measure {measure.name}: {problem}" for problem in _measure_problems(facts, measure)]
    return problems


def _shape_problems(facts: Facts, n_cells: int) -> Iterator[str]:
    yield from _misshapen("units", facts.units, n_cells, "i")
    yield from _misshapen("records", facts.records, n_cells, "i")
    for name, values in (
        ("households", facts.households),
        ("weight_sums", facts.weight_sums),
        ("unit_weight_sums", facts.unit_weight_sums),
    ):
        if values is not None:
            yield from _misshapen(name, values, n_cells)


def _measure_shapes(facts: Facts, n_cells: int) -> Iterator[str]:
    for measure in facts.measures:
        prefix = f"measure {measure.name}: "
        for name, counts in (
            ("valid_records", measure.valid_records),
            ("valid_units", measure.valid_units),
            ("lacking_units", measure.lacking_units),
        ):
            if counts is not None:
                yield from _misshapen(prefix + name, counts, n_cells, "i")
        for name, values in (
            ("sums", measure.sums),
            ("weighted_sums", measure.weighted_sums),
            ("valid_weight_sums", measure.valid_weight_sums),
        ):
            if values is not None:
                yield from _misshapen(prefix + name, values, n_cells)
        for name, values in (
            ("absolute_sums", measure.absolute_sums),
            ("minima", measure.minima),
            ("maxima", measure.maxima),
        ):
            if values.size:
                yield from _misshapen(prefix + name, values, n_cells)
        if measure.largest.size and (measure.largest.ndim != 2 or len(measure.largest) != n_cells):
            yield f"{prefix}largest must have a row for each of {n_cells} cells"


def _misshapen(name: str, values: npt.NDArray[np.generic], n_cells: int, kinds: str = "if") -> Iterator[str]:
    if values.shape != (n_cells,):
        yield f"{name} must be one value for each of {n_cells} cells, not {values.shape}"
    if values.dtype.kind not in kinds:
        yield f"{name} must be {'integers' if kinds == 'i' else 'numbers'}, not {values.dtype}"


def _cell_problems(facts: Facts) -> list[str]:
    units, records = facts.units, facts.records
    problems = [
        *at_positions(units < 0, "units must not be negative"),
        *at_positions(units > records, "units must not exceed records"),
        *at_positions((units == 0) != (records == 0), "units and records must be zero together"),
        *_not_weights("weight_sums", facts.weight_sums),
        *_not_weights("unit_weight_sums", facts.unit_weight_sums),
        *_not_weights("households", facts.households),
    ]
    if facts.households is not None:
        wrong = facts.households > units * (1 + CLOSE)
        problems += at_positions(wrong, "households must not exceed units")
    return problems


def _not_weights(name: str, values: FloatArray | None) -> list[str]:
    """Complaints about what must be finite and not negative."""
    if values is None:
        return []
    return at_positions(~((values >= 0) & np.isfinite(values)), f"{name} must be finite and not negative")


def _measure_problems(facts: Facts, measure: MeasureFacts) -> Iterator[str]:
    valid_units, valid_records = measure.valid_units, measure.valid_records
    yield from at_positions(valid_units < 0, "valid_units must not be negative")
    yield from at_positions(valid_units > facts.units, "valid_units must not exceed units")
    yield from at_positions(valid_units > valid_records, "valid_units must not exceed valid_records")
    yield from at_positions(valid_records > facts.records, "valid_records must not exceed records")
    yield from at_positions(
        (valid_units == 0) != (valid_records == 0), "valid_units and valid_records must be zero together"
    )
    if measure.lacking_units is not None:
        yield from _lacking_problems(facts, measure, measure.lacking_units)
    yield from at_positions(~np.isfinite(measure.sums), "sums must be finite")
    if measure.weighted_sums is not None:
        yield from at_positions(~np.isfinite(measure.weighted_sums), "weighted_sums must be finite")
    yield from _not_weights("valid_weight_sums", measure.valid_weight_sums)
    yield from _not_weights("absolute_sums", measure.absolute_sums)
    yield from _largest_problems(measure.largest)
    yield from at_positions(~(np.isfinite(measure.minima)), "minima must be finite")
    yield from at_positions(~(np.isfinite(measure.maxima)), "maxima must be finite")
    if measure.minima.size and measure.maxima.size:
        yield from at_positions(measure.minima > measure.maxima, "minima must not exceed maxima")
    for name, bound in (("lower_bound", measure.lower_bound), ("upper_bound", measure.upper_bound)):
        if bound is not None and np.isnan(bound):
            yield f"{name} must be a number"


def _lacking_problems(facts: Facts, measure: MeasureFacts, lacking_units: IntArray) -> Iterator[str]:
    lacking_records = facts.records - measure.valid_records
    wrong = (lacking_units < facts.units - measure.valid_units) | (lacking_units > facts.units)
    yield from at_positions(wrong, "lacking_units must lie between units without the measure and all units")
    yield from at_positions(lacking_units > lacking_records, "lacking_units must not exceed lacking records")


def _largest_problems(largest: FloatArray) -> Iterator[str]:
    if not largest.size:
        return
    wrong: BoolArray = ~((largest.min(axis=1) >= 0) & np.isfinite(largest.max(axis=1)))
    unsorted: BoolArray = np.diff(largest, axis=1).max(axis=1, initial=0) > 0
    yield from at_positions(wrong, "largest must be finite and not negative")
    yield from at_positions(unsorted, "largest must come largest first")
