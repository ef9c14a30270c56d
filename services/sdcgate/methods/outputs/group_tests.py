"""Significance tests and analyses of variance of groups, with the facts by which they are judged.

A test tells of the table beneath it: of two samples with their means and variances, of a table of counts, of
the cells of the factors. The cells are judged; the order tests tell no more than how many are on each side.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.association import (
    households_of_cells,
    implied_by_share,
    tables_of_groups,
)
from sdcgate.methods.outputs.cell_tests import (
    OF_CELLS,
    GroupCells,
    cells_of_sample,
    figures_of_tests,
    taken_together,
    tests_of_cells,
)
from sdcgate.methods.outputs.moments import moment_bounds
from sdcgate.methods.outputs.residual_shares import largest_held, residuals_of_cells, shares_of
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.significance_tests import (
    SignificanceTest,
    kolmogorov_smirnov_test,
    mann_whitney_test,
)
from sdcgate.methods.outputs.statistic_facts import (
    ClosestBound,
    ImpliedCells,
    ResidualShare,
    Statistic,
    StatisticFacts,
    facts_of_groups,
)
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.outputs.statistics import Columns, Computed, FactorColumn, given


def group_tests(statistic: Statistic, sample: Sample, rules: StatisticRules, columns: Columns) -> Computed:
    """A test in each group; a group in which it means nothing has no figures.

    Two samples are the records that `columns.has` and the others; a chi-squared test has two
    `columns.factors`, an analysis of variance any number, with all their interactions.
    """
    return (
        _of_cells(statistic, sample, rules, columns)
        if statistic in OF_CELLS
        else _of_ranks(statistic, sample, rules, columns)
    )


def _of_ranks(statistic: Statistic, sample: Sample, rules: StatisticRules, columns: Columns) -> Computed:
    has, members = given(columns.has), sample.members
    facts = replace(_facts(sample, rules), implied=(implied_by_share(sample, has),))
    name, compare = _OF_RANKS[statistic]

    def test(group: int) -> SignificanceTest:
        values, first = sample.values[members[group]], has[members[group]]
        return compare(values[first], values[~first])

    there = [len(records) > 0 for records in members]
    return Computed(statistic, figures_of_tests(there, name, test, with_degrees=False), facts)


def _of_cells(statistic: Statistic, sample: Sample, rules: StatisticRules, columns: Columns) -> Computed:
    if statistic is Statistic.T_TEST:
        has = given(columns.has)
        cell, number = (~has).astype(np.int64), 2
        implied = implied_by_share(sample, has)
    else:
        cell, number = _cells(columns.factors)
        _, units = tables_of_groups(sample, cell, number)
        implied = ImpliedCells("cells", units, households_of_cells(sample, cell, number))
    told = statistic is not Statistic.CHI_SQUARED_TEST
    facts = replace(_facts(sample, rules, told), implied=(implied,))
    cells = cells_of_sample(sample, cell, number)
    if told:
        by_cell, coalition = sample.divided(cell, number), rules.table.coalition
        facts = replace(
            facts,
            bounds=_cell_bounds(by_cell, number, coalition),
            residual_shares=_shares(statistic, by_cell, cells, coalition),
        )
    factors = [(factor.name, factor.number) for factor in columns.factors]
    return tests_of_cells(statistic, cells, factors, facts)


def _facts(sample: Sample, rules: StatisticRules, sums: bool = False) -> StatisticFacts:
    names, measures = (("values",), (sample.values,)) if sums else ((), ())
    return StatisticFacts(facts_of_groups(sample, names, measures, max(2, rules.table.ranks)))


def _cells(factors: tuple[FactorColumn, ...]) -> tuple[IntArray, int]:
    """The cell of each record among all combinations of codes, row-major, and their number."""
    cell, number = np.zeros(len(factors[0].positions), dtype=np.int64), 1
    for factor in factors:
        cell = cell * factor.number + factor.positions
        number *= factor.number
    return cell, number


def _cell_bounds(by_cell: Sample, number: int, coalition: int) -> tuple[ClosestBound, ...]:
    """How closely the variance within a cell tells its outermost value, in the worst cell of each group."""
    empty = (by_cell.records_of_groups == 0).reshape(-1, number)
    return tuple(
        ClosestBound(bound.name, np.where(empty, np.inf, bound.closeness.reshape(-1, number)).min(axis=1))
        for bound in moment_bounds(by_cell, 2, coalition)
    )


def _shares(
    statistic: Statistic, by_cell: Sample, cells: GroupCells, coalition: int
) -> tuple[ResidualShare, ...]:
    """What one unit holds of the squares about means: of each sample, or of all cells together."""
    groups, number = cells.records.shape
    wholes = taken_together(statistic, groups, number)
    sizes = by_cell.sums(by_cell.values**2)
    left = residuals_of_cells(cells.squares.reshape(-1), cells.records.reshape(-1), sizes, wholes)
    top = largest_held(by_cell, by_cell.values[:, None], left, wholes, coalition + 1)
    return shares_of(left, top, groups)


_OF_RANKS: Mapping[Statistic, tuple[str, Callable[[FloatArray, FloatArray], SignificanceTest]]] = {
    Statistic.MANN_WHITNEY_TEST: ("u", mann_whitney_test),
    Statistic.KOLMOGOROV_SMIRNOV_TEST: ("d", kolmogorov_smirnov_test),
}
