"""Correlations, components, t tests, chi-squared tests and analyses of variance by sums of the engine.

They say what `compute_statistic` and `told_powers` say of the same records. Where holdings are
respondents, of measures of few values where households have a minimum, or of very many groups or measures,
the records are read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from sdcgate.engine.database import ComputationFailed
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.linear_records import LinearQuery
from sdcgate.engine.moment_sums import DivisionQuery
from sdcgate.engine.product_sums import GroupProducts, ProductQuery, ProductSums
from sdcgate.engine.queries import CellQuery
from sdcgate.engine.record_groups import GroupedLevel, RecordGroups
from sdcgate.facility.statistic_computing import Done
from sdcgate.facility.statistic_kinds import OF_MEASURES
from sdcgate.facility.statistic_plan import Level, StatisticPlan
from sdcgate.facility.statistic_powers import ToldPower, highest_power
from sdcgate.methods.cells import TOTAL, Axis, Facts, FloatArray, IntArray, MeasureFacts
from sdcgate.methods.outputs.cell_tests import OF_CELLS, GroupCells, taken_together, tests_of_cells
from sdcgate.methods.outputs.cross_products import CrossProducts
from sdcgate.methods.outputs.design import Transformed
from sdcgate.methods.outputs.group_correlations import (
    alone_and_in_pairs,
    correlations_of_sums,
    name_of_values,
)
from sdcgate.methods.outputs.implied_tables import FEW_VALUES
from sdcgate.methods.outputs.power_sums import PowerSums
from sdcgate.methods.outputs.residual_shares import residuals_of, residuals_of_cells, shares_of
from sdcgate.methods.outputs.statistic_facts import (
    ClosestBound,
    ImpliedCells,
    ResidualShare,
    Statistic,
    StatisticFacts,
)
from sdcgate.methods.tables.redesigned_cells import finest_cells

MOST_MEASURES = 24
"""Of one statement, as in linear models."""
MOST_COMBINATIONS = 10_000
"""Of codes that are joined with the records."""


def sums_suffice(engine: Engine, plan: StatisticPlan) -> bool:
    """Whether a statistic can be computed by sums, and these cost less than the records."""
    if plan.statistic not in OF_MEASURES | OF_CELLS or plan.dataset.holdings:
        return False
    levels = (*plan.groups, *plan.counted)
    combinations = prod(len(_codes(plan.dataset, level)) for level in levels)
    small = len(plan.measures) <= MOST_MEASURES and combinations <= MOST_COMBINATIONS
    if not small or not engine.sums_rather_than_records(plan.dataset):
        return False
    if plan.statistic in OF_MEASURES and plan.rules.table.minimum_households is not None:
        # Whose households have a value no table tells.
        return not _of_few_values(engine, plan, lambda: None)
    return True


def computed_by_sums(engine: Engine, plan: StatisticPlan, in_time: Callable[[], None]) -> Done | None:
    """The statistic, its facts and the sums of powers that it tells of; None where nobody is there.

    `in_time` raises once the time is over. Raises ComputationFailed.
    """
    in_time()
    ranks = max(2, plan.policy.rules.ranks)
    query = CellQuery(plan.groups, plan.population, plan.measures, ranks, valid=plan.measures)
    table = engine.compute(plan.dataset, query)
    facts = _inner(table.axes, table.facts)
    if not facts.records.any():
        return None
    groups = groups_of(plan, table.axes)
    compute = _of_measures if plan.statistic in OF_MEASURES else _of_cells
    return compute(engine, plan, groups, facts, in_time)


def _of_measures(
    engine: Engine,
    plan: StatisticPlan,
    groups: RecordGroups,
    facts: Facts,
    in_time: Callable[[], None],
) -> Done:
    """Correlations or components, by cross-products."""
    sums = engine.product_sums(plan.dataset, ProductQuery(plan.measures, groups, plan.population), in_time)
    products = sums.products()
    _same_people((facts.records, products.records), (facts.units, products.units))
    powers = _told(_moments(engine, plan, (groups, groups.together), in_time))
    told = StatisticFacts(
        facts,
        bounds=tuple(ClosestBound(f"variance of {one.measure}", one.of_samples.closeness) for one in powers),
        implied=tuple(
            ImpliedCells(name_of_values(names), sums.units_of_values(*names))
            for names in alone_and_in_pairs(_of_few_values(engine, plan, in_time))
        ),
    )
    in_time()
    left = residuals_of(plan.measures, products.centred, products.records)
    ranks = plan.policy.rules.coalition + 1
    top = sums.largest_held(left, np.arange(groups.number), ranks)
    told = replace(told, residual_shares=shares_of(left, top, groups.number))
    found = correlations_of_sums(plan.statistic, _cross_products(products), plan.measures, told)
    return Done(found, None, powers)


def _of_cells(
    engine: Engine,
    plan: StatisticPlan,
    groups: RecordGroups,
    facts: Facts,
    in_time: Callable[[], None],
) -> Done:
    """Tests and analyses of variance, by the sums of cells."""
    cells, shape = _with_cells(plan, groups), (groups.number, -1)
    sums = engine.product_sums(plan.dataset, ProductQuery(plan.measures, cells, plan.population), in_time)
    products = sums.products()
    records = products.records.reshape(shape)
    _same_people((facts.records, records.sum(axis=1)))
    name = "proportion" if plan.statistic is Statistic.T_TEST else "cells"
    told = StatisticFacts(
        replace(facts, measures=tuple(replace(one, name="values") for one in facts.measures)),
        implied=(ImpliedCells(name, products.units.reshape(shape), _households(engine, plan, in_time)),),
    )
    means, squares = np.zeros(records.shape), np.zeros(records.shape)
    powers: tuple[ToldPower, ...] = ()
    if plan.measures:
        means, squares = products.means[:, 0].reshape(shape), products.centred[:, 0, 0].reshape(shape)
        samples = cells if plan.statistic is Statistic.T_TEST else _undivided(cells, len(groups.levels))
        moments = _moments(engine, plan, (samples, cells.together, cells), in_time)
        powers = _told(moments)
        told = replace(
            told,
            bounds=(_closest_cell(moments[plan.measures[0]][2][0], groups.number),),
            residual_shares=_cell_shares(plan, sums, products, groups.number),
        )
    factors = [(variable, len(_codes(plan.dataset, (variable, level)))) for variable, level in plan.factors]
    found = tests_of_cells(plan.statistic, GroupCells(records, means, squares, facts.units), factors, told)
    return Done(found, None, powers)


def _households(engine: Engine, plan: StatisticPlan, in_time: Callable[[], None]) -> FloatArray | None:
    """Households of the cells of each group, shape (groups, cells); None where none are asked.

    Of a sample those of its code that has most: a union has at least so many.
    """
    if plan.rules.table.minimum_households is None:
        return None
    in_time()
    query = CellQuery((*plan.groups, *plan.counted), plan.population, plan.measures, 1, valid=plan.measures)
    table = engine.compute(plan.dataset, query)
    found = finest_cells(table.axes, table.facts).facts.households
    if found is None:
        return None
    own, others = table.axes[: len(plan.groups)], table.axes[len(plan.groups) :]
    groups = prod(len(axis.codes) - 1 for axis in own)
    homes = found.reshape(groups, *(len(axis.codes) - 1 for axis in others))
    if plan.having is not None:
        wanted = np.isin([code for code in others[0].codes if code != TOTAL], plan.having.codes)
        return np.stack([homes[:, of].max(axis=1, initial=0.0) for of in (wanted, ~wanted)], axis=1)
    for place, (level, axis) in enumerate(zip(plan.factors, others, strict=True), 1):
        listed = {code: at for at, code in enumerate(_codes(plan.dataset, level))}
        every = np.zeros((*homes.shape[:place], len(listed), *homes.shape[place + 1 :]))
        at = [listed[code] for code in axis.codes if code != TOTAL]
        every[(slice(None),) * place + (at,)] = homes
        homes = every
    return homes.reshape(groups, -1)


def _moments(
    engine: Engine, plan: StatisticPlan, divisions: tuple[RecordGroups, ...], in_time: Callable[[], None]
) -> Mapping[str, tuple[tuple[PowerSums, ...], ...]]:
    """Of each measure, by division, the sums of powers that are told."""
    coalition = plan.policy.rules.coalition
    query = DivisionQuery(plan.measures, highest_power(plan), coalition, divisions, plan.population)
    found = engine.moment_sums(plan.dataset, in_time).of_divisions(query)
    return dict(zip(plan.measures, found, strict=True))


def _told(moments: Mapping[str, tuple[tuple[PowerSums, ...], ...]]) -> tuple[ToldPower, ...]:
    """The first division has the samples that are told of, the second all of them together."""
    return tuple(
        ToldPower(name, *both)
        for name, (of_samples, whole, *_) in moments.items()
        for both in zip(of_samples, whole, strict=True)
    )


def _closest_cell(cells: PowerSums, groups: int) -> ClosestBound:
    """How closely the variance within a cell tells its outermost value, in the worst cell of each group."""
    closeness = np.where(cells.records > 0, cells.closeness, np.inf)
    return ClosestBound("variance", closeness.reshape(groups, -1).min(axis=1))


def _cell_shares(
    plan: StatisticPlan, sums: ProductSums, products: GroupProducts, groups: int
) -> tuple[ResidualShare, ...]:
    """What one unit holds of the squares about means: of each sample, or of all cells together."""
    wholes = taken_together(plan.statistic, groups, len(products.records) // groups)
    squares = products.centred[:, 0, 0]
    sizes = products.records * products.means[:, 0] ** 2 + squares
    left = residuals_of_cells(squares, products.records, sizes, wholes)
    ranks = plan.policy.rules.coalition + 1
    return shares_of(left, sums.largest_held(left, wholes, ranks), groups)


def _of_few_values(engine: Engine, plan: StatisticPlan, in_time: Callable[[], None]) -> list[str]:
    """The measures that have few values: such a one is a variable as well."""
    numbers = tuple((Transformed(name, ""),) for name in plan.measures)
    query = LinearQuery((), numbers, plan.population, plan.measures)
    sums = engine.linear_sums(plan.dataset, query)
    in_time()
    values, _ = sums.sampled()
    few = [place for place, count in enumerate(values.tolist()) if count <= FEW_VALUES]
    in_time()
    counted, _ = sums.different(few, [])
    places = {name: query.measures.index(name) for name in plan.measures}
    return [name for name, place in places.items() if counted.get(place, FEW_VALUES + 1) <= FEW_VALUES]


def _cross_products(products: GroupProducts) -> list[CrossProducts | None]:
    """Of each group, None of an empty one."""
    counted = zip(products.records.tolist(), products.units.tolist(), strict=True)
    return [
        CrossProducts(records, units, float(records), products.means[group], products.centred[group])
        if records
        else None
        for group, (records, units) in enumerate(counted)
    ]


def groups_of(plan: StatisticPlan, axes: Sequence[Axis]) -> RecordGroups:
    """The groups in the order of their table's inner cells."""
    levels = []
    for level, axis in zip(plan.groups, axes, strict=True):
        places = {code: place for place, code in enumerate(code for code in axis.codes if code != TOTAL)}
        listed = _codes(plan.dataset, level)
        levels.append(GroupedLevel(*level, tuple(places.get(code, -1) for code in listed), len(places)))
    return RecordGroups(tuple(levels))


def _with_cells(plan: StatisticPlan, groups: RecordGroups) -> RecordGroups:
    """The cells of each group: of a t test both samples, otherwise all combinations of the factors' codes."""
    if plan.having is not None:
        wanted, level = set(plan.having.codes), (plan.having.variable, plan.having.level)
        places = tuple(0 if code in wanted else 1 for code in _codes(plan.dataset, level))
        return RecordGroups((*groups.levels, GroupedLevel(*level, places, 2)))
    numbers = {level: len(_codes(plan.dataset, level)) for level in plan.factors}
    factors = (GroupedLevel(*level, tuple(range(number)), number) for level, number in numbers.items())
    return RecordGroups((*groups.levels, *factors))


def _undivided(cells: RecordGroups, levels: int) -> RecordGroups:
    """The groups by their first levels alone."""
    own, others = cells.levels[:levels], cells.levels[levels:]
    return RecordGroups((*own, *(one.undivided for one in others)))


def _inner(axes: tuple[Axis, ...], facts: Facts) -> Facts:
    """The groups as cells, without totals, and what is looked at of a statistic's groups."""
    measures = tuple(
        MeasureFacts(
            name=one.name,
            sums=one.sums,
            valid_records=one.valid_records,
            valid_units=one.valid_units,
            largest=one.largest,
            absolute_sums=one.absolute_sums,
            minima=one.minima,
            maxima=one.maxima,
        )
        for one in facts.measures
    )
    counted = Facts(facts.units, facts.records, facts.households, measures=measures)
    return finest_cells(axes, counted).facts


def _same_people(*pairs: tuple[IntArray, IntArray]) -> None:
    """Raises ComputationFailed where two statements did not see the same."""
    if not all(np.array_equal(one, other) for one, other in pairs):
        raise ComputationFailed("a statistic did not see all units")


def _codes(dataset: Dataset, level: Level) -> Sequence[str]:
    return dataset.level(*level).codes
