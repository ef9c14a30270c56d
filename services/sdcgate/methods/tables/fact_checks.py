"""Whether the facts of a table fit together, before any rule compares them.

A NaN compares as neither safe nor unsafe, and a count below another that it should exceed hides a small
cell: facts with either are rejected, not judged. What is not known (an empty column) is not compared.
"""

import numpy as np

from sdcgate.methods.cells import Facts, IntArray, MeasureFacts
from sdcgate.methods.positions import FactProblem
from sdcgate.methods.tables.column_checks import Problems, misshapen, not_weights, where
from sdcgate.methods.tables.contributor_checks import contributor_problems, contributor_shapes
from sdcgate.methods.tables.sensitivity import CLOSE


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
    yield from misshapen("facts.units", facts.units, n_cells, "i")
    yield from misshapen("facts.records", facts.records, n_cells, "i")
    yield from misshapen("facts.holdings", facts.holdings, n_cells, "i")
    yield from misshapen("facts.structural_zeros", facts.structural_zeros, n_cells, "b")
    for name, values in (
        ("facts.households", facts.households),
        ("facts.weight_sums", facts.weight_sums),
        ("facts.unit_weight_sums", facts.unit_weight_sums),
    ):
        if values is not None:
            yield from misshapen(name, values, n_cells)


def _measure_shapes(facts: Facts, n_cells: int) -> Problems:
    for place, measure in enumerate(facts.measures):
        path = _path(place)
        for name in ("valid_records", "valid_units", "lacking_units", "valid_holdings"):
            counts = getattr(measure, name)
            if counts is not None:
                yield from misshapen(f"{path}.{name}", counts, n_cells, "i")
        for name in ("sums", "minima", "maxima", "weighted_sums", "valid_weight_sums"):
            values = getattr(measure, name)
            if values is not None:
                yield from misshapen(f"{path}.{name}", values, n_cells)
        yield from contributor_shapes(measure, path, n_cells)


def _cell_problems(facts: Facts) -> Problems:
    units, records = facts.units, facts.records
    yield from where("facts.units", units < 0, "must not be negative")
    yield from where("facts.records", records < 0, "must not be negative")
    if units.size and records.size:
        yield from where("facts.units", units > records, "must not exceed records")
        yield from where(
            "facts.units", (units == 0) != (records == 0), "must be 0 exactly where records are 0"
        )
    yield from not_weights("facts.weight_sums", facts.weight_sums)
    yield from not_weights("facts.unit_weight_sums", facts.unit_weight_sums)
    yield from not_weights("facts.households", facts.households)
    yield from _holding_problems("facts.holdings", facts.holdings, facts.units, "units")
    if facts.structural_zeros is not None and facts.structural_zeros.size:
        for name, counts in (("units", units), ("records", records)):
            if counts.size:
                wrong = facts.structural_zeros & (counts != 0)
                yield from where("facts.structural_zeros", wrong, f"names cells with {name}")
    if facts.households is not None and facts.households.size and units.size:
        yield from where("facts.households", facts.households > units * (1 + CLOSE), "must not exceed units")


def _holding_problems(path: str, holdings: IntArray | None, units: IntArray, name: str) -> Problems:
    """Each holding in a cell has a unit there."""
    if holdings is None or not holdings.size:
        return
    yield from where(path, holdings < 0, "must not be negative")
    if units.size:
        yield from where(path, holdings > units, f"must not exceed {name}")
        yield from where(path, (holdings == 0) != (units == 0), f"must be 0 exactly where {name} are 0")


def _measure_problems(facts: Facts, measure: MeasureFacts, path: str) -> Problems:
    yield from _count_problems(facts, measure, path)
    if measure.lacking_units is not None and measure.lacking_units.size:
        yield from _lacking_problems(facts, measure, measure.lacking_units, f"{path}.lacking_units")
    for name in ("sums", "weighted_sums", "minima", "maxima"):
        values = getattr(measure, name)
        if values is not None:
            yield from where(f"{path}.{name}", ~np.isfinite(values), "must be finite")
    yield from not_weights(f"{path}.valid_weight_sums", measure.valid_weight_sums)
    yield from contributor_problems(measure, path)
    yield from _holding_problems(
        f"{path}.valid_holdings", measure.valid_holdings, measure.valid_units, "valid_units"
    )
    if measure.minima.size and measure.maxima.size:
        yield from where(f"{path}.minima", measure.minima > measure.maxima, "must not exceed maxima")
    for name, bound in (("lower_bound", measure.lower_bound), ("upper_bound", measure.upper_bound)):
        if bound is not None and np.isnan(bound):
            yield FactProblem(f"{path}.{name}", "must be a number")


def _count_problems(facts: Facts, measure: MeasureFacts, path: str) -> Problems:
    """What is wrong with the units and records that have a measure."""
    units, records = measure.valid_units, measure.valid_records
    yield from where(f"{path}.valid_units", units < 0, "must not be negative")
    yield from where(f"{path}.valid_records", records < 0, "must not be negative")
    if units.size and facts.units.size:
        yield from where(f"{path}.valid_units", units > facts.units, "must not exceed units")
    if records.size and facts.records.size:
        yield from where(f"{path}.valid_records", records > facts.records, "must not exceed records")
    if units.size and records.size:
        yield from where(f"{path}.valid_units", units > records, "must not exceed valid_records")
        wrong = (units == 0) != (records == 0)
        yield from where(f"{path}.valid_units", wrong, "must be 0 exactly where valid_records are 0")


def _lacking_problems(facts: Facts, measure: MeasureFacts, lacking: IntArray, path: str) -> Problems:
    yield from where(path, lacking < 0, "must not be negative")
    if facts.units.size:
        yield from where(path, lacking > facts.units, "must not exceed units")
        if measure.valid_units.size:
            wrong = lacking < facts.units - measure.valid_units
            yield from where(path, wrong, "must be at least the units without the measure")
    if facts.records.size and measure.valid_records.size:
        wrong = lacking > facts.records - measure.valid_records
        yield from where(path, wrong, "must not exceed lacking records")
