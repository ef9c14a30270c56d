"""Tests and analyses of variance of groups from the records, means and squares of their cells.

Of a t test the cells of a group are its two samples, of a chi-squared test and an analysis of variance the
combinations of the factors' codes. No record is looked at: whoever can sum by cell can compute them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.analysis_of_variance import SumsOfSquares, analysis_of_variance
from sdcgate.methods.outputs.cross_products import CrossProducts, cross_products_of
from sdcgate.methods.outputs.design import Design, Records, build_design, matrix
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.significance_tests import (
    GroupMoments,
    SignificanceTest,
    chi_squared_test,
    welch_test,
)
from sdcgate.methods.outputs.statistic_facts import Statistic, StatisticFacts
from sdcgate.methods.outputs.statistics import Computed, Figure
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary

OF_CELLS = frozenset({Statistic.T_TEST, Statistic.CHI_SQUARED_TEST, Statistic.ANALYSIS_OF_VARIANCE})
"""Statistics that follow from the sums of cells."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupCells:
    """Sums over the records of each group's cells, shape (groups, cells); hidden from repr."""

    records: IntArray = field(repr=False)
    means: FloatArray = field(repr=False)
    """Of the measure, 0 of an empty cell."""
    squares: FloatArray = field(repr=False)
    """Squared deviations from the cell's own mean, summed."""
    units: IntArray = field(repr=False)
    """Distinct units of each group, shape (groups,)."""


def cells_of_sample(sample: Sample, cell: IntArray, number: int) -> GroupCells:
    """The sums of a sample; `cell` has the cell of each record in its group, from 0 to `number` - 1."""
    by_cell = sample.divided(cell, number)
    records = by_cell.records_of_groups
    means = by_cell.sums(sample.values) / np.maximum(records, 1)
    squares = by_cell.sums((sample.values - means[by_cell.groups]) ** 2)
    shape = (sample.number_of_groups, number)
    return GroupCells(
        records.reshape(shape), means.reshape(shape), squares.reshape(shape), sample.units_of_groups
    )


def taken_together(statistic: Statistic, groups: int, number: int) -> IntArray:
    """The residuals that cells, so many in each group, have in common, by number; shape (cells,).

    A t test tells those of each sample by itself, an analysis of variance of all cells of a group together.
    """
    each = np.arange(groups * number)
    return each if statistic is Statistic.T_TEST else each // number


def tests_of_cells(
    statistic: Statistic, cells: GroupCells, factors: Sequence[tuple[str, int]], facts: StatisticFacts
) -> Computed:
    """A test of each group whose facts are known; a group in which it means nothing has no figures.

    Args:
        statistic: one of `OF_CELLS`.
        cells: of a t test the first sample and the second; of others row-major by the factors' codes.
        factors: names of the factors and how many codes they have.
        facts: of the groups.
    """
    if statistic is Statistic.ANALYSIS_OF_VARIANCE:
        return Computed(statistic, _analyses(cells, factors), facts)
    shape = tuple(number for _, number in factors)

    def test(group: int) -> SignificanceTest:
        if statistic is Statistic.T_TEST:
            return welch_test(*(_moments(cells, group, place) for place in (0, 1)))
        return chi_squared_test(cells.records[group].reshape(shape))

    name = "t" if statistic is Statistic.T_TEST else "chi_squared"
    there = cells.records.sum(axis=1) > 0
    return Computed(statistic, figures_of_tests(there.tolist(), name, test, with_degrees=True), facts)


def figures_of_tests(
    there: Sequence[bool], name: str, test: Callable[[int], SignificanceTest], with_degrees: bool
) -> tuple[Figure, ...]:
    """Statistic, degrees of freedom where it has any, and p-value of each group in which somebody is."""
    found = np.full((len(there), 3), np.nan)
    for group, occupied in enumerate(there):
        if not occupied:
            continue
        try:
            one = test(group)
        except ModelProblemError:
            continue
        found[group] = one.statistic, np.nan if one.degrees is None else one.degrees, one.p_value
    names = (name, "degrees_of_freedom", "p_value")
    return tuple(
        Figure(label, found[:, place])
        for place, label in enumerate(names)
        if with_degrees or label != "degrees_of_freedom"
    )


def _moments(cells: GroupCells, group: int, place: int) -> GroupMoments:
    records = int(cells.records[group, place])
    variance = float(cells.squares[group, place]) / (records - 1) if records > 1 else 0.0
    return GroupMoments(records, float(cells.means[group, place]), variance)


def _analyses(cells: GroupCells, factors: Sequence[tuple[str, int]]) -> tuple[Figure, ...]:
    groups = len(cells.units)
    found: dict[str, FloatArray] = {}
    for group in range(groups):
        try:
            lines = _lines(cells, factors, group) if cells.records[group].any() else {}
        except ModelProblemError:
            continue
        for name, value in lines.items():
            found.setdefault(name, np.full(groups, np.nan))[group] = value
    nothing = {"residual_degrees": np.full(groups, np.nan)}
    return tuple(Figure(*one) for one in (found or nothing).items())


def _lines(cells: GroupCells, factors: Sequence[tuple[str, int]], group: int) -> Mapping[str, float]:
    """The table of an analysis of variance as figures by name, such as `F(site:plan)`."""
    table = analysis_of_variance(*_fitted(cells, factors, group), SumsOfSquares.PARTIAL)
    found: dict[str, float] = {}
    for place, term in enumerate(table.terms):
        # the design calls the factors f0, f1 and so on
        name = ":".join(factors[int(part[1:])][0] for part in term.split(":"))
        found |= {
            f"sum_of_squares({name})": float(table.sums[place]),
            f"degrees_of_freedom({name})": float(table.degrees[place]),
            f"F({name})": float(table.statistics[place]),
            f"p_value({name})": float(table.p_values[place]),
        }
    return found | {
        "residual_sum_of_squares": table.residual_sum,
        "residual_degrees": float(table.residual_degrees),
    }


def _fitted(
    cells: GroupCells, factors: Sequence[tuple[str, int]], group: int
) -> tuple[CrossProducts, Design]:
    """The model with all interactions from the cells: their records, means and squares about these."""
    shape = tuple(number for _, number in factors)
    there = np.flatnonzero(cells.records[group])
    counts = cells.records[group, there]
    keys = [(f"f{at}", f"f{at}") for at in range(len(factors))]
    codes = dict(zip(keys, np.unravel_index(there, shape), strict=True))
    declared = [
        Level(name, tuple(map(str, range(size)))) for (name, _), size in zip(keys, shape, strict=True)
    ]
    vocabulary = Vocabulary(tuple(Categorical(one.name, (one,)) for one in declared), (Measured("y"),))
    occurring = {key: tuple(map(str, np.unique(column).tolist())) for key, column in codes.items()}
    formula = parse_formula(f"y ~ {' * '.join(name for name, _ in keys)}", vocabulary)
    design = build_design(formula, vocabulary, occurring)
    columns = matrix(design, vocabulary, Records(codes, {}, len(there)))
    means, places = cells.means[group, there], np.arange(len(there))
    sums = cross_products_of(columns, means, places, counts.astype(np.float64))
    centred = sums.centred.copy()
    centred[-1, -1] += float(cells.squares[group].sum())
    fitted = replace(sums, records=int(counts.sum()), units=int(cells.units[group]), centred=centred)
    return fitted, design
