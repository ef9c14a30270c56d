"""Significance tests and analyses of variance of groups, with the facts by which they are judged.

A test tells of the table beneath it: of two samples with their means and variances, of a table of counts, of
the cells of the factors. The cells are judged; the order tests tell no more than how many are on each side.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.analysis_of_variance import SumsOfSquares, analysis_of_variance
from sdcgate.methods.outputs.association import implied_by_share, tables_of_groups
from sdcgate.methods.outputs.cross_products import (
    CrossProducts,
    cross_products_of,
    number_of_units,
)
from sdcgate.methods.outputs.design import Design, Records, build_design, matrix
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.moments import moment_bounds
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.sample import Sample, added
from sdcgate.methods.outputs.significance_tests import (
    GroupMoments,
    SignificanceTest,
    chi_squared_test,
    kolmogorov_smirnov_test,
    mann_whitney_test,
    welch_test,
)
from sdcgate.methods.outputs.statistic_facts import (
    ClosestBound,
    ImpliedCells,
    Statistic,
    StatisticFacts,
    facts_of_groups,
)
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.outputs.statistics import Columns, Computed, FactorColumn, Figure, given
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary


def group_tests(statistic: Statistic, sample: Sample, rules: StatisticRules, columns: Columns) -> Computed:
    """A test in each group; a group in which it means nothing has no figures.

    Two samples are the records that `columns.has` and the others; a chi-squared test has two
    `columns.factors`, an analysis of variance any number, with all their interactions.
    """
    return _TESTS[statistic](statistic, sample, rules, columns)


def _two_samples(statistic: Statistic, sample: Sample, rules: StatisticRules, columns: Columns) -> Computed:
    has = given(columns.has)
    means = statistic is Statistic.T_TEST
    facts = replace(_facts(sample, rules, means), implied=(implied_by_share(sample, has),))
    if means:
        facts = replace(facts, bounds=_cell_bounds(sample, rules, (~has).astype(np.int64), 2))

    def test(records: IntArray) -> SignificanceTest:
        values, first = sample.values[records], has[records]
        return _OF_VALUES[statistic](values[first], values[~first])

    name = {
        Statistic.T_TEST: "t",
        Statistic.MANN_WHITNEY_TEST: "u",
        Statistic.KOLMOGOROV_SMIRNOV_TEST: "d",
    }[statistic]
    return Computed(statistic, _of_groups(sample, name, test, with_degrees=means), facts)


def _welch(first: FloatArray, second: FloatArray) -> SignificanceTest:
    if min(len(first), len(second)) < 2:
        return welch_test(GroupMoments(len(first), 0.0, 0.0), GroupMoments(len(second), 0.0, 0.0))
    return welch_test(*(GroupMoments(len(v), float(v.mean()), float(v.var(ddof=1))) for v in (first, second)))


def _chi_squared(statistic: Statistic, sample: Sample, rules: StatisticRules, columns: Columns) -> Computed:
    first, second = columns.factors
    cell, number = _cells(columns.factors)
    counts, units = tables_of_groups(sample, cell, number)
    tables = counts.astype(np.int64).reshape(-1, first.number, second.number)

    def test(records: IntArray) -> SignificanceTest:
        return chi_squared_test(tables[sample.groups[records[0]]])

    facts = replace(_facts(sample, rules), implied=(ImpliedCells("cells", units),))
    return Computed(statistic, _of_groups(sample, "chi_squared", test, with_degrees=True), facts)


def _analysis_of_variance(
    statistic: Statistic, sample: Sample, rules: StatisticRules, columns: Columns
) -> Computed:
    cell, number = _cells(columns.factors)
    _, units = tables_of_groups(sample, cell, number)
    facts = replace(
        _facts(sample, rules, sums=True),
        implied=(ImpliedCells("cells", units),),
        bounds=_cell_bounds(sample, rules, cell, number),
    )
    found: dict[str, FloatArray] = {}
    for group, records in enumerate(sample.members):
        try:
            lines = _lines(sample, columns.factors, records) if len(records) else {}
        except ModelProblemError:
            continue
        for name, value in lines.items():
            found.setdefault(name, np.full(sample.number_of_groups, np.nan))[group] = value
    nothing = {"residual_degrees": np.full(sample.number_of_groups, np.nan)}
    return Computed(statistic, tuple(Figure(*one) for one in (found or nothing).items()), facts)


def _lines(sample: Sample, factors: tuple[FactorColumn, ...], records: IntArray) -> dict[str, float]:
    """The table of an analysis of variance as figures by name, such as `F(site:plan)`."""
    table = analysis_of_variance(*_cells_fitted(sample, factors, records), SumsOfSquares.PARTIAL)
    found: dict[str, float] = {}
    for place, term in enumerate(table.terms):
        # the design calls the factors f0, f1 and so on
        name = ":".join(factors[int(part[1:])].name for part in term.split(":"))
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


def _cells_fitted(
    sample: Sample, factors: tuple[FactorColumn, ...], records: IntArray
) -> tuple[CrossProducts, Design]:
    """The model with all interactions from the cells: their records, means and squares about these."""
    shape = tuple(factor.number for factor in factors)
    cell = np.ravel_multi_index([factor.positions[records] for factor in factors], shape)
    values = sample.values[records]
    there, place, counts = np.unique(cell, return_inverse=True, return_counts=True)
    means = added(place, values, len(there)) / counts
    within = float(np.sum((values - means[place]) ** 2))
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
    sums = cross_products_of(columns, means, np.arange(len(there)), counts.astype(np.float64))
    centred = sums.centred.copy()
    centred[-1, -1] += within
    units = number_of_units(sample.units[records])
    return replace(sums, records=len(records), units=units, centred=centred), design


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


def _cell_bounds(
    sample: Sample, rules: StatisticRules, cell: IntArray, number: int
) -> tuple[ClosestBound, ...]:
    """How closely the variance within a cell tells its outermost value, in the worst cell of each group."""
    coalition = rules.table.coalition
    by_cell = Sample(
        sample.values, sample.groups * number + cell, sample.units, sample.number_of_groups * number
    )
    empty = (by_cell.records_of_groups == 0).reshape(-1, number)
    return tuple(
        ClosestBound(bound.name, np.where(empty, np.inf, bound.closeness.reshape(-1, number)).min(axis=1))
        for bound in moment_bounds(by_cell, 2, coalition)
    )


def _of_groups(
    sample: Sample, name: str, test: Callable[[IntArray], SignificanceTest], with_degrees: bool
) -> tuple[Figure, ...]:
    """Statistic, degrees of freedom where it has any, and p-value of each group."""
    found = np.full((sample.number_of_groups, 3), np.nan)
    for group, records in enumerate(sample.members):
        if not len(records):
            continue
        try:
            one = test(records)
        except ModelProblemError:
            continue
        found[group] = one.statistic, np.nan if one.degrees is None else one.degrees, one.p_value
    names = (name, "degrees_of_freedom", "p_value")
    return tuple(
        Figure(label, found[:, place])
        for place, label in enumerate(names)
        if with_degrees or label != "degrees_of_freedom"
    )


_OF_VALUES: Mapping[Statistic, Callable[[FloatArray, FloatArray], SignificanceTest]] = {
    Statistic.T_TEST: _welch,
    Statistic.MANN_WHITNEY_TEST: mann_whitney_test,
    Statistic.KOLMOGOROV_SMIRNOV_TEST: kolmogorov_smirnov_test,
}
_TESTS: Mapping[Statistic, Callable[[Statistic, Sample, StatisticRules, Columns], Computed]] = {
    Statistic.T_TEST: _two_samples,
    Statistic.MANN_WHITNEY_TEST: _two_samples,
    Statistic.KOLMOGOROV_SMIRNOV_TEST: _two_samples,
    Statistic.CHI_SQUARED_TEST: _chi_squared,
    Statistic.ANALYSIS_OF_VARIANCE: _analysis_of_variance,
}
