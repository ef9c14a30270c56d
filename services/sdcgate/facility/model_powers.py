"""The sums of powers that a model tells of, as variances, skewness and correlations do.

Estimates and errors of any family are functions of sums over the records of products of two of its columns,
the outcome among them (`model_products`). Those of a measure with itself are sums of its powers: of `y ~ 1`
the standard error is that of a mean, so it tells a variance; of `cube(y) ~ site` the estimates are means of
cubes by site. So a model is audited as the correlations of its measures would be, with higher powers where it
has them: in its population, and in the groups of the tables of its terms. What is not told to the last digit,
as by weights that depend on the estimates, is taken as told. Of logarithms, roots and inverses sums are kept
beside those of powers; what they tell is judged by records.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.engine.moment_sums import DivisionQuery, MomentQuery
from sdcgate.facility.judging import Computation
from sdcgate.facility.knowledge import Knowledge, ReleasedTable
from sdcgate.facility.model_functions import highest_of, told_functions
from sdcgate.facility.model_plan import ImpliedTable, Level, ModelPlan
from sdcgate.facility.model_products import Function, Told, ToldFunctions, ToldProducts, told_products
from sdcgate.facility.model_records import Population
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.population_moments import PopulationMoments
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistic_power_audit import PowerAudit
from sdcgate.facility.statistic_powers import ToldPower
from sdcgate.facility.statistic_sums import groups_of
from sdcgate.methods.cells import Axis, BoolArray, IntArray, State, shape_of
from sdcgate.methods.outputs.power_sums import power_sums
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.rules import ReasonCode
from sdcgate.methods.tables.sensitivity import CLOSE


def audited_powers(
    engine: Engine,
    moments: PopulationMoments,
    plan: ModelPlan,
    people: Population | None,
    outcomes: Sequence[Outcome],
    known: Knowledge,
    still_time: Callable[[], None],
    left: Callable[[], float],
    weighted: bool = False,
) -> tuple[ReasonCode | None, tuple[ReleasedTable, ...]]:
    """Why a model must not leave, and the sums of powers that become known where it may.

    Args:
        engine: computes the sums of differences.
        moments: has the sums of populations.
        plan: the model.
        people: its population; None where its sums are computed where the data lie.
        outcomes: of its tables.
        known: what has left.
        still_time: raises once the caller has gone.
        left: seconds that are left.
        weighted: whether weights that variables decide are in what it tells.

    Raises:
        SpanBudgetExceeded, JointlyUnproved, TooManyDifferences: it cannot be told in time.
    """
    products, bound = told_products(plan), _least_closeness(plan)
    highest = _highest(products)
    functions = highest_of((function, order) for (_, function), order in products.functions.items())
    powers = (
        _told_by_sums(moments, plan, highest, still_time) if people is None else _told(plan, highest, people)
    )
    powers = (
        *powers,
        *told_functions(functions, people, plan.policy.rules.coalition),
    )
    tables = [table for outcome in outcomes for table in outcome.released[:1]]
    if not powers or not tables:
        return None, ()
    # A comparison with a NaN is not "safe".
    if not all(bool(told.whole.closeness[0] > bound) for told in powers):
        return ReasonCode.INFLUENCE, ()
    measures = tuple(dict.fromkeys(told.measure for told in powers))
    asked = _as_correlations(plan, measures)
    audit = PowerAudit(engine, asked, known, still_time, left)
    sums = [replace(tables[0], quantity=name) for name in measures]
    found = audit.audited(powers, None, (), sums, np.ones(1, dtype=np.bool_), weighted)
    if found.kept_back.any():
        return ReasonCode.DIFFERENCING, ()
    return None, found.released


def audited_categories(
    engine: Engine,
    plan: ModelPlan,
    people: Population | None,
    tables: Sequence[tuple[ImpliedTable, Computation]],
    outcomes: Sequence[Outcome],
    known: Knowledge,
    still_time: Callable[[], None],
    left: Callable[[], float],
    weighted: bool = False,
) -> tuple[ReasonCode | None, tuple[ReleasedTable, ...]]:
    """As `audited_powers`, of the sums in each category that estimates and errors tell.

    `tables` are those that the model implies, with the outcomes of each. Of a term whose table is a margin of
    another the sums count as told in that one's cells; in the tables of two terms together those that no
    term's own table has.
    """
    bound, released = _least_closeness(plan), list[ReleasedTable]()
    products = told_products(plan)
    own = [frozenset(implied.factors) for implied, _ in tables if not implied.crossed]
    for (implied, computed), outcome in zip(tables, outcomes, strict=True):
        shown = ~_hidden(computed.table.axes, outcome.states)
        asked = _as_correlations(plan, plan.valid, implied.plan.dimensions)
        measures = {table.quantity for table in outcome.released}
        told = [
            *_in_groups(
                engine,
                asked,
                computed.table.axes,
                _highest_in(implied, products.powers, own, measures),
                still_time,
            ),
            *told_functions(
                _functions_in(implied, products.functions, own, measures),
                people,
                plan.policy.rules.coalition,
                groups_of(asked, computed.table.axes),
            ),
        ]
        if not told:
            continue
        names = {power.measure for power in told}
        sums = [table for table in outcome.released if table.quantity in names]
        shown &= told[0].of_samples.units > 0
        if not all(bool((power.of_samples.closeness[shown] > bound).all()) for power in told):
            return ReasonCode.INFLUENCE, ()
        audit = PowerAudit(engine, asked, known.grown(released), still_time, left)
        found = audit.audited(told, None, computed.table.axes, sums, shown, weighted)
        if found.kept_back[shown].any():
            return ReasonCode.DIFFERENCING, ()
        released += found.released
    return None, tuple(released)


def _least_closeness(plan: ModelPlan) -> float:
    """By which share of it the value farthest out must stay open."""
    rule = plan.policy.rules.p_percent
    return rule.share * (1 + CLOSE) if rule is not None else -1.0


def _told_in(implied: ImpliedTable, levels: frozenset[Level], own: Sequence[frozenset[Level]]) -> bool:
    """Whether what is told by categories is audited in an implied table.

    `own` are the factors of the tables of single terms: what lies in one of them needs no table of two.
    """
    of_two = not any(levels <= factors for factors in own)
    return bool(levels) and levels <= {*implied.factors} and of_two >= implied.crossed


def _highest_in(
    implied: ImpliedTable, powers: Told, own: Sequence[frozenset[Level]], measures: Set[str]
) -> dict[str, int]:
    """The measures of an implied table of which powers are told in its cells, each with the highest."""
    found: dict[str, int] = {}
    for (levels, measure), order in powers.items():
        if measure in measures and _told_in(implied, levels, own):
            found[measure] = max(order, found.get(measure, 2))
    return found


def _functions_in(
    implied: ImpliedTable, told: ToldFunctions, own: Sequence[frozenset[Level]], measures: Set[str]
) -> dict[Function, int]:
    """The same of other functions than powers."""
    return highest_of(
        (function, order)
        for (levels, function), order in told.items()
        if function[0] in measures and _told_in(implied, levels, own)
    )


def _hidden(axes: tuple[Axis, ...], states: IntArray) -> BoolArray:
    """Inner cells of a table that it withholds."""
    inner = states.reshape(shape_of(axes))[tuple(slice(0, -1) for _ in axes)]
    hidden: BoolArray = inner.reshape(-1) == State.WITHHELD
    return hidden


def _in_groups(
    engine: Engine,
    asked: StatisticPlan,
    axes: tuple[Axis, ...],
    highest: Mapping[str, int],
    still_time: Callable[[], None],
) -> list[ToldPower]:
    """The powers of measures in groups, and in all of them together, computed where the records lie."""
    if not highest:
        return []
    groups = groups_of(asked, axes)
    divisions, coalition = (groups, groups.together), asked.policy.rules.coalition
    most = max(highest.values())
    query = DivisionQuery(asked.measures, most, coalition, divisions, asked.population)
    found = engine.moment_sums(asked.dataset, still_time).of_divisions(query)
    return [
        ToldPower(name, *both)
        for name, (of_groups, whole) in zip(asked.measures, found, strict=True)
        for both in zip(of_groups, whole, strict=True)
        if both[0].order <= highest.get(name, 0)
    ]


def _told(plan: ModelPlan, highest: Sequence[tuple[str, int]], people: Population) -> tuple[ToldPower, ...]:
    """The powers of measures of which a model tells the sums in its population, from its records."""
    if not len(people.unit):
        return ()
    nowhere, found = np.zeros(len(people.unit), dtype=np.int64), []
    for measure, most in highest:
        sample = Sample(people.records.measures[measure], nowhere, people.unit, 1)
        for order in range(2, most + 1):
            sums = power_sums(sample, order, plan.policy.rules.coalition)
            found.append(ToldPower(measure, sums, sums))
    return tuple(found)


def _told_by_sums(
    moments: PopulationMoments,
    plan: ModelPlan,
    highest: Sequence[tuple[str, int]],
    still_time: Callable[[], None],
) -> tuple[ToldPower, ...]:
    """The same, computed where the records lie."""
    queries = [
        MomentQuery(measure, most, plan.policy.rules.coalition, plan.valid, plan.population)
        for measure, most in highest
    ]
    found = zip(queries, moments.of(plan.dataset, queries, still_time), strict=True)
    return tuple(ToldPower(query.measure, one, one) for query, of in found for one in of)


def _highest(products: ToldProducts) -> list[tuple[str, int]]:
    """The measures of whose powers sums are told, each with the highest power."""
    highest: dict[str, int] = {}
    for (_, measure), order in products.powers.items():
        highest[measure] = max(order, highest.get(measure, 2))
    return sorted(highest.items())


def _as_correlations(
    plan: ModelPlan, measures: tuple[str, ...], groups: tuple[Level, ...] = ()
) -> StatisticPlan:
    """The statistic that tells as much of the measures."""
    return StatisticPlan(
        dataset=plan.dataset,
        policy=plan.policy,
        statistic=Statistic.CORRELATIONS,
        measures=measures,
        groups=groups,
        having=None,
        exposed=None,
        mode_of=None,
        filters=plan.population,
        weighted=False,
        errors=False,
        picture=False,
        png=False,
        project=plan.project,
    )
