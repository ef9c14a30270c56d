"""Correlations and principal components of a whole population, by sums that the engine computes.

They say what `group_correlations` and `told_powers` say of the same records. Of groups, and where holdings
are respondents, the records are read.
"""

from collections.abc import Callable

import numpy as np

from sdcgate.engine.database import ComputationFailed
from sdcgate.engine.engine import Engine
from sdcgate.engine.linear_records import LinearQuery
from sdcgate.engine.linear_statements import Grouping
from sdcgate.engine.linear_sums import LinearSums
from sdcgate.engine.moment_sums import MomentQuery
from sdcgate.engine.queries import CellQuery
from sdcgate.facility.model_sum_population import scaling_of
from sdcgate.facility.statistic_computing import Done
from sdcgate.facility.statistic_kinds import OF_MEASURES
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistic_powers import ToldPower
from sdcgate.methods.cells import Facts, MeasureFacts
from sdcgate.methods.outputs.cell_sums import CellColumns, cell_sums
from sdcgate.methods.outputs.cross_products import CrossProducts
from sdcgate.methods.outputs.design import Transformed
from sdcgate.methods.outputs.group_correlations import correlations_of_sums
from sdcgate.methods.outputs.implied_tables import FEW_VALUES
from sdcgate.methods.outputs.statistic_facts import ClosestBound, ImpliedCells, StatisticFacts

MOST_MEASURES = 24
"""Of one statement, as in linear models."""


def sums_suffice(engine: Engine, plan: StatisticPlan) -> bool:
    """Whether a statistic can be computed by sums, and these cost less than the records."""
    small = len(plan.measures) <= MOST_MEASURES
    whole = plan.statistic in OF_MEASURES and not plan.groups and not plan.dataset.holdings
    return whole and small and engine.sums_rather_than_records(plan.dataset)


def computed_by_sums(engine: Engine, plan: StatisticPlan, in_time: Callable[[], None]) -> Done | None:
    """The statistic, its facts and the sums of powers that it tells of; None where nobody is there.

    `in_time` raises once the time is over. Raises ComputationFailed.
    """
    rules = plan.policy.statistics.rules(plan.policy.rules).table
    in_time()
    facts = _facts(engine, plan, max(2, rules.ranks))
    if not facts.records[0]:
        return None
    moments, powers = engine.moment_sums(plan.dataset, in_time), []
    for name in plan.measures:
        query = MomentQuery(name, 2, rules.coalition, plan.measures, plan.population)
        powers += [ToldPower(name, one, one) for one in moments.of_population(query)]
    numbers = tuple((Transformed(name, ""),) for name in plan.measures)
    linear = LinearQuery((), numbers, plan.population, plan.measures)
    sums = engine.linear_sums(plan.dataset, linear)
    products = _products(sums, linear, plan, in_time)
    if {(products.records, products.units)} != {(int(facts.records[0]), int(facts.units[0]))}:
        raise ComputationFailed("a statistic did not see all units")
    in_time()
    told = StatisticFacts(
        facts,
        bounds=tuple(ClosestBound(f"variance of {one.measure}", one.whole.closeness) for one in powers),
        implied=_implied(sums, linear, plan),
    )
    found = correlations_of_sums(plan.statistic, products, plan.measures, told)
    return Done(found, None, tuple(powers))


def _facts(engine: Engine, plan: StatisticPlan, ranks: int) -> Facts:
    """The population as a cell, with what is looked at of a statistic's groups."""
    query = CellQuery((), plan.population, plan.measures, ranks, valid=plan.measures)
    found = engine.compute(plan.dataset, query).facts
    return Facts(
        units=found.units,
        records=found.records,
        measures=tuple(
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
            for one in found.measures
        ),
    )


def _products(
    sums: LinearSums, query: LinearQuery, plan: StatisticPlan, in_time: Callable[[], None]
) -> CrossProducts:
    """Centred cross-products of the measures."""
    in_time()
    ranges = sums.ranges()
    records = int(ranges.records.sum())
    scalings = [
        scaling_of(query, plan.dataset, ranges, number, records) for number in range(len(query.numbers))
    ]
    in_time()
    moments = sums.moments(scalings, ranges)
    in_time()
    units = records if sums.single else int(sums.units_by(Grouping(by_cell=False))[0])
    # All but the last are columns, which is the outcome to these sums.
    columns = len(query.numbers) - 1
    every = CellColumns(np.arange(1, columns + 1), np.ones((len(ranges.cells), columns)))
    return cell_sums(moments, every, scalings, records, units).products


def _implied(sums: LinearSums, query: LinearQuery, plan: StatisticPlan) -> tuple[ImpliedCells, ...]:
    """Units of each value of the measures that have few: such a one is a variable as well."""
    values, _ = sums.sampled()
    few = [place for place, count in enumerate(values.tolist()) if count <= FEW_VALUES]
    counted, _ = sums.different(few, [])
    found = []
    for name in plan.measures:
        place = query.measures.index(name)
        if counted.get(place, FEW_VALUES + 1) <= FEW_VALUES:
            units = sums.units_by(Grouping(by_cell=False, measures=(place,)))
            found.append(ImpliedCells(f"values of {name}", units.reshape(1, -1)))
    return tuple(found)
