"""Correlations and principal components of groups, with the facts by which they are judged.

A correlation is a sum of products of deviations: where few units hold (nearly) all squares of a measure, it
tells theirs. Each measure is therefore judged as its variance and its sum would be, and one of few values as
the table of these, too: a correlation with a measure of two values compares two groups. Of two such measures
it is a function of their table together, as phi is of the counts of two by two.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from sdcgate.methods.cells import IntArray
from sdcgate.methods.outputs.correlation import CorrelationMatrix, correlation_matrix, principal_components
from sdcgate.methods.outputs.cross_products import CrossProducts, cross_products_of
from sdcgate.methods.outputs.implied_tables import few_values, units_by_group
from sdcgate.methods.outputs.moments import moment_bounds
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.residual_shares import largest_held, residuals_of, shares_of
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import (
    ImpliedCells,
    Statistic,
    StatisticFacts,
    facts_of_groups,
)
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.outputs.statistics import Columns, Computed, Figure

Told = Iterator[tuple[str, float]]


def group_correlations(
    statistic: Statistic, sample: Sample, rules: StatisticRules, columns: Columns
) -> Computed:
    """Correlations of `columns.measures`, or their principal components, of each group.

    Figures are `correlation(a,b)` and `p_value(a,b)` of each pair, or `variance(1)` and `loading(1,a)`.
    A group in which a measure does not vary has none.
    """
    coalition = rules.table.coalition
    names = tuple(name for name, _ in columns.measures)
    values = tuple(values for _, values in columns.measures)
    ranks = max(2, rules.table.ranks)
    bounds = [
        replace(bound, name=f"{bound.name} of {name}")
        for name, column in columns.measures
        for bound in moment_bounds(sample.with_values(column), 2, coalition)
    ]
    few = {name: found for name, column in columns.measures if (found := few_values(column)) is not None}
    facts = StatisticFacts(
        facts_of_groups(sample, names, values, ranks),
        bounds=tuple(bounds),
        implied=tuple(
            _cells_of_values(name_of_values(told), sample, [few[name] for name in told])
            for told in alone_and_in_pairs([*few])
        ),
    )
    groups = [_products(sample, columns, records) for records in sample.members]
    nothing = np.zeros((len(names), len(names)))
    centred = np.stack([nothing if sums is None else sums.centred for sums in groups])
    left = residuals_of(names, centred, sample.records_of_groups)
    alone = np.arange(sample.number_of_groups)
    top = largest_held(sample, np.column_stack(values), left, alone, coalition + 1)
    facts = replace(facts, residual_shares=shares_of(left, top, sample.number_of_groups))
    return Computed(statistic, _figures(groups, names, _TOLD[statistic]), facts)


def alone_and_in_pairs(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Measures of few values by themselves, and each two of them: a correlation tells both together."""
    return [*((name,) for name in names), *combinations(names, 2)]


def name_of_values(names: Sequence[str]) -> str:
    """Name of the implied table of measures' values."""
    return f"values of {' and '.join(names)}"


def _cells_of_values(name: str, sample: Sample, measures: Sequence[tuple[IntArray, int]]) -> ImpliedCells:
    """The combinations of few values, as cells: such measures are variables as well."""
    cells, count = sample.groups, 1
    for places, values in measures:
        cells, count = cells * values + places, count * values
    number = sample.number_of_groups * count
    units, homes = units_by_group(cells, number, sample.units), sample.households_at(cells, number)
    return ImpliedCells(name, units.reshape(-1, count), None if homes is None else homes.reshape(-1, count))


def correlations_of_sums(
    statistic: Statistic,
    groups: Sequence[CrossProducts | None],
    names: tuple[str, ...],
    facts: StatisticFacts,
) -> Computed:
    """As `group_correlations`, of groups whose facts and cross-products (`names` in order) are known.

    Of a group without records these are None.
    """
    return Computed(statistic, _figures(groups, names, _TOLD[statistic]), facts)


def _figures(
    groups: Sequence[CrossProducts | None], names: tuple[str, ...], tell: Callable[[CorrelationMatrix], Told]
) -> tuple[Figure, ...]:
    """The figures of groups by their cross-products; None of an empty one."""
    identity = CorrelationMatrix(names, np.eye(len(names)), np.zeros((len(names), len(names))), 0, 0)
    found = {name: np.full(len(groups), np.nan) for name, _ in tell(identity)}
    for group, sums in enumerate(groups):
        if sums is None:
            continue
        try:
            matrix = correlation_matrix(sums, names)
        except ModelProblemError:
            continue
        for name, value in tell(matrix):
            found[name][group] = value
    return tuple(Figure(name, values) for name, values in found.items())


def _products(sample: Sample, columns: Columns, records: IntArray) -> CrossProducts | None:
    """Cross-products of some records."""
    if not len(records):
        return None
    values = np.column_stack([column[records] for _, column in columns.measures])
    return cross_products_of(values[:, :-1], values[:, -1], sample.units[records])


def _pairs(matrix: CorrelationMatrix) -> Told:
    for row, first in enumerate(matrix.names):
        for column, second in enumerate(matrix.names[:row]):
            yield f"correlation({second},{first})", float(matrix.correlations[row, column])
            yield f"p_value({second},{first})", float(matrix.p_values[row, column])


def _components(matrix: CorrelationMatrix) -> Told:
    found = principal_components(matrix)
    for number in range(len(found.variances)):
        yield f"variance({number + 1})", float(found.variances[number])
        for row, name in enumerate(found.names):
            yield f"loading({number + 1},{name})", float(found.loadings[row, number])


_TOLD: Mapping[Statistic, Callable[[CorrelationMatrix], Told]] = {
    Statistic.CORRELATIONS: _pairs,
    Statistic.PRINCIPAL_COMPONENTS: _components,
}
