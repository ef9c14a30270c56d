"""A linear model's population by cells: what a first look at it, where it lies, tells of its columns."""

from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.linear_records import LinearQuery
from sdcgate.engine.linear_statements import Grouping
from sdcgate.engine.linear_sums import CellRanges, LinearSums
from sdcgate.facility.model_plan import Level
from sdcgate.facility.model_vocabulary import vocabulary
from sdcgate.methods.cells import IntArray
from sdcgate.methods.outputs.cell_sums import CellColumns, Scaling
from sdcgate.methods.outputs.design import (
    Column,
    Design,
    Indicator,
    Part,
    part_at,
    refuse_undefined,
)
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError


@dataclass(frozen=True, slots=True, eq=False)
class CellPopulation:
    """The cells that occur, and what the columns of a design are in them."""

    query: LinearQuery
    ranges: CellRanges = field(repr=False)
    positions: dict[Level, IntArray] = field(repr=False)
    """Code of each cell at each level, as a position."""
    design: Design
    """Columns that are not 0 for everybody."""
    columns: CellColumns = field(repr=False)
    scalings: tuple[Scaling, ...] = field(repr=False)
    records: int
    units: int

    @property
    def least_outcome(self) -> float:
        """Least value of the outcome."""
        return float(self.ranges.lowest[-1].min())

    @property
    def largest_outcome(self) -> float:
        """Largest absolute value of the outcome."""
        ends = np.abs([self.ranges.lowest[-1].min(), self.ranges.highest[-1].max()])
        return float(ends.max())


def look_at(sums: LinearSums, query: LinearQuery, dataset: Dataset, design: Design) -> CellPopulation:
    """Cells, records, extremes of all numbers. ModelProblemError where a column is not defined for all."""
    ranges = sums.ranges()
    widths = tuple(len(dataset.level(*level).codes) for level in query.levels) or (1,)
    codes = np.unravel_index(ranges.cells, widths)
    positions = {level: np.asarray(codes[place], dtype=np.int64) for place, level in enumerate(query.levels)}
    if len(ranges.cells):
        _refuse_undefined(query, dataset, design, ranges)
    columns = _columns(query, dataset, design, positions, len(ranges.cells))
    design, columns = _occurring(design, columns, ranges)
    records = int(ranges.records.sum())
    return CellPopulation(
        query,
        ranges,
        positions,
        design,
        columns,
        tuple(scaling_of(query, dataset, ranges, a, records) for a in range(len(query.numbers))),
        records,
        records if sums.single or not records else int(sums.units_by(Grouping(by_cell=False))[0]),
    )


def refuse_population(people: CellPopulation, weighted: bool) -> None:
    """What nothing can be estimated from: ModelProblemError with all that stands in the way."""
    found = []
    if people.records <= len(people.design.columns):
        found.append(ModelProblem("formula", "there are as many parameters as records or more"))
    ends = np.hstack([people.ranges.lowest, people.ranges.highest])
    finite = np.atleast_1d(np.isfinite(ends).all(axis=1))
    if not finite[-1]:
        found.append(ModelProblem("outcome", "has values that are no numbers in this population"))
    if not finite[:-1].all():
        found.append(ModelProblem("formula", "a term has values that are no finite numbers"))
    if weighted and people.ranges.lightest <= 0:
        found.append(ModelProblem("weights", "have to be above 0 for all of this population"))
    if found:
        raise ModelProblemError(found)


def _refuse_undefined(query: LinearQuery, dataset: Dataset, design: Design, ranges: CellRanges) -> None:
    """In the order in which columns would be computed, the outcome last."""
    words = vocabulary(dataset)
    for part in (*(part for column in design.columns for part in column.parts), *query.numbers[-1]):
        if not isinstance(part, Indicator):
            place, scale = query.measures.index(part.measure), _scale(dataset, part.measure)
            ends = np.array([ranges.least[place].min(), ranges.most[place].max()]) / scale
            refuse_undefined(part, words, ends)


def _scale(dataset: Dataset, measure: str) -> int:
    return dataset.profiles[measure].scale if measure in dataset.profiles else 1


def _columns(
    query: LinearQuery, dataset: Dataset, design: Design, positions: dict[Level, IntArray], cells: int
) -> CellColumns:
    on = np.ones((cells, len(design.columns)))
    numbers = np.zeros(len(design.columns), dtype=np.int64)
    for place, column in enumerate(design.columns):
        for part in column.parts:
            if isinstance(part, Indicator):
                at = dataset.level(part.variable, part.level).positions[part.code]
                on[:, place] *= positions[part.variable, part.level] == at
        number = number_of(column)
        numbers[place] = query.numbers.index(number) + 1 if number else 0
    return CellColumns(numbers, on)


def number_of(column: Column) -> tuple[Part, ...]:
    """A column without its indicators."""
    return tuple(part for part in column.parts if not isinstance(part, Indicator))


def _occurring(design: Design, columns: CellColumns, ranges: CellRanges) -> tuple[Design, CellColumns]:
    """Without the columns that are 0 for everybody: of them there is nothing to estimate."""
    anything = np.vstack([np.ones(len(ranges.cells)), (ranges.lowest != 0) | (ranges.highest != 0)])
    there = np.flatnonzero(((columns.on > 0) & (anything[columns.numbers].T > 0)).any(axis=0))
    kept = replace(design, columns=tuple(design.columns[place] for place in there))
    return kept, CellColumns(columns.numbers[there], columns.on[:, there])


def scaling_of(
    query: LinearQuery, dataset: Dataset, ranges: CellRanges, number: int, records: int
) -> Scaling:
    """The number at the means of its measures for centre, and the farthest from it for reach."""
    if not records:
        return Scaling(0.0, 0.0)
    measure = query.as_it_is(number)
    if measure:
        place, scale = query.measures.index(measure), _scale(dataset, measure)
        least, most = int(ranges.least[place].min()), int(ranges.most[place].max())
        centre = (2 * ranges.sums[place] + records) // (2 * records)
        reach = max(most - centre, centre - least)
        return Scaling(centre / scale, reach / scale, centre, 1.0 / reach if reach else 0.0)
    lowest, highest = float(ranges.lowest[number].min()), float(ranges.highest[number].max())
    if not np.isfinite([lowest, highest]).all():
        return Scaling(0.0, 0.0)
    value = 1.0
    for part in query.numbers[number]:
        if isinstance(part, Indicator):
            raise TypeError("a number has no indicators")
        place, scale = query.measures.index(part.measure), _scale(dataset, part.measure)
        value *= part_at(part, ranges.sums[place] / records / scale)
    centre_ = float(np.clip(value, lowest, highest))
    reach_ = max(highest - centre_, centre_ - lowest)
    return Scaling(centre_, reach_, factor=1.0 / reach_ if reach_ else 0.0)
