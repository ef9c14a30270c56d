"""The sums of squares that a model tells of: least squares tell what variances and correlations would.

Of `y ~ 1` the standard error is that of a mean, so it tells a variance; with terms, what is left unexplained
and what is explained tell the outcome's squares, and errors those of the terms. So such a model is audited as
the correlations of its measures would be, in its population. The error of a slope of a category tells the
squares in that category, and robust ones those of the outcome: such a term is audited as the correlations in
the groups of its table.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.engine.moment_sums import DivisionQuery, MomentQuery
from sdcgate.facility.judging import Computation
from sdcgate.facility.knowledge import Knowledge, ReleasedTable
from sdcgate.facility.model_plan import ImpliedTable, Level, ModelPlan, levels_of
from sdcgate.facility.model_records import Population
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.population_moments import PopulationMoments
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistic_power_audit import PowerAudit
from sdcgate.facility.statistic_powers import ToldPower
from sdcgate.facility.statistic_sums import groups_of
from sdcgate.methods.cells import Axis, BoolArray, IntArray, State, shape_of
from sdcgate.methods.outputs.fits import Family
from sdcgate.methods.outputs.formula import Numeric
from sdcgate.methods.outputs.power_sums import power_sums
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.sandwich import Covariance
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.rules import ReasonCode
from sdcgate.methods.tables.sensitivity import CLOSE

LEAST_SQUARES = frozenset({Family.LINEAR, Family.FIXED_EFFECTS, Family.MIXED, Family.TWO_STAGE})
"""Families whose estimates are functions of sums of squares and products."""
ORDERS = {"": 2, "square": 4}
"""The power of a measure whose sum a function of it squared is; of other functions none is kept."""


def audited_powers(
    engine: Engine,
    moments: PopulationMoments,
    plan: ModelPlan,
    people: Population | None,
    outcomes: Sequence[Outcome],
    known: Knowledge,
    still_time: Callable[[], None],
    left: Callable[[], float],
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

    Raises:
        SpanBudgetExceeded, JointlyUnproved, TooManyDifferences: it cannot be told in time.
    """
    powers = _told_by_sums(moments, plan, still_time) if people is None else _told(plan, people)
    tables = [table for outcome in outcomes for table in outcome.released[:1]]
    if not powers or not tables:
        return None, ()
    rule = plan.policy.rules.p_percent
    bound = rule.share * (1 + CLOSE) if rule is not None else -1.0
    # A comparison with a NaN is not "safe".
    if not all(bool(told.whole.closeness[0] > bound) for told in powers):
        return ReasonCode.INFLUENCE, ()
    measures = tuple(dict.fromkeys(told.measure for told in powers))
    asked = _as_correlations(plan, measures)
    audit = PowerAudit(engine, asked, known, still_time, left)
    sums = [replace(tables[0], quantity=name) for name in measures]
    found = audit.audited(powers, None, (), sums, np.ones(1, dtype=np.bool_))
    if found.kept_back.any():
        return ReasonCode.DIFFERENCING, ()
    return None, found.released


def audited_categories(
    engine: Engine,
    plan: ModelPlan,
    tables: Sequence[tuple[ImpliedTable, Computation]],
    outcomes: Sequence[Outcome],
    known: Knowledge,
    still_time: Callable[[], None],
    left: Callable[[], float],
) -> tuple[ReasonCode | None, tuple[ReleasedTable, ...]]:
    """As `audited_powers`, of the squares in each category that errors tell.

    `tables` are those that the model implies, with the outcomes of each. Of a term whose table is a margin of
    another the squares count as told in that one's cells; those of two terms together only where both have
    slopes, as products of their columns are squares then.
    """
    rule, released = plan.policy.rules.p_percent, list[ReleasedTable]()
    bound = rule.share * (1 + CLOSE) if rule is not None else -1.0
    told_of = _by_categories(plan)
    for (implied, computed), outcome in zip(tables, outcomes, strict=True):
        highest = _highest_in(implied, told_of, {table.quantity for table in outcome.released})
        if not highest:
            continue
        asked = _as_correlations(plan, plan.valid, implied.plan.dimensions)
        told = _in_groups(engine, asked, computed.table.axes, highest, still_time)
        sums = [table for table in outcome.released if table.quantity in highest]
        hidden = _hidden(computed.table.axes, outcome.states)
        shown = (told[0].of_samples.units > 0) & ~hidden
        if not all(bool((power.of_samples.closeness[shown] > bound).all()) for power in told):
            return ReasonCode.INFLUENCE, ()
        audit = PowerAudit(engine, asked, known.grown(released), still_time, left)
        found = audit.audited(told, None, computed.table.axes, sums, shown)
        if found.kept_back[shown].any():
            return ReasonCode.DIFFERENCING, ()
        released += found.released
    return None, tuple(released)


def _highest_in(
    implied: ImpliedTable, told_of: Sequence[tuple[frozenset[Level], str, int]], measures: Set[str]
) -> dict[str, int]:
    """The measures of an implied table of which powers are told in its cells, each with the highest."""
    found: dict[str, int] = {}
    terms: dict[str, set[frozenset[Level]]] = {}
    for levels, measure, order in told_of:
        if levels <= {*implied.factors} and measure in measures:
            found[measure] = max(order, found.get(measure, 2))
            terms.setdefault(measure, set()).add(levels)
    return {name: order for name, order in found.items() if not implied.crossed or len(terms[name]) > 1}


def _hidden(axes: tuple[Axis, ...], states: IntArray) -> BoolArray:
    """Inner cells of a table that it withholds."""
    inner = states.reshape(shape_of(axes))[tuple(slice(0, -1) for _ in axes)]
    hidden: BoolArray = inner.reshape(-1) == State.WITHHELD
    return hidden


def _by_categories(plan: ModelPlan) -> list[tuple[frozenset[Level], str, int]]:
    """Factors of terms, and measures with a power of which errors tell the sums in each of their categories.

    Those of slopes that categories have of their own and, where errors are sums of squared residuals, the
    outcome.
    """
    if plan.options.family not in LEAST_SQUARES:
        return []
    outcome, found = plan.formula.outcome, []
    of_residuals = plan.options.covariance is not Covariance.CLASSICAL
    residuals = [outcome] if of_residuals and isinstance(outcome, Numeric) else []
    for term in (term for formula in plan.formulas for term in formula.terms):
        levels = frozenset(levels_of(term, plan.coded))
        for part in (*term, *residuals) if levels else ():
            if isinstance(part, Numeric) and part.measure in plan.valid:
                found += [(levels, part.measure, order) for order in _orders(part)]
    return found


def _orders(part: Numeric) -> tuple[int, ...]:
    return (ORDERS[part.transformation],) if part.transformation in ORDERS else ()


def _in_groups(
    engine: Engine,
    asked: StatisticPlan,
    axes: tuple[Axis, ...],
    highest: Mapping[str, int],
    still_time: Callable[[], None],
) -> list[ToldPower]:
    """The powers of measures in groups, and in all of them together, computed where the records lie."""
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


def _told(plan: ModelPlan, people: Population) -> tuple[ToldPower, ...]:
    """The powers of measures of which a model tells the sums in its population, from its records."""
    if not len(people.unit):
        return ()
    nowhere, found = np.zeros(len(people.unit), dtype=np.int64), []
    for measure, most in _highest(plan):
        sample = Sample(people.records.measures[measure], nowhere, people.unit, 1)
        for order in range(2, most + 1):
            sums = power_sums(sample, order, plan.policy.rules.coalition)
            found.append(ToldPower(measure, sums, sums))
    return tuple(found)


def _told_by_sums(
    moments: PopulationMoments, plan: ModelPlan, still_time: Callable[[], None]
) -> tuple[ToldPower, ...]:
    """The same, computed where the records lie."""
    queries = [
        MomentQuery(measure, most, plan.policy.rules.coalition, plan.valid, plan.population)
        for measure, most in _highest(plan)
    ]
    found = zip(queries, moments.of(plan.dataset, queries, still_time), strict=True)
    return tuple(ToldPower(query.measure, one, one) for query, of in found for one in of)


def _highest(plan: ModelPlan) -> list[tuple[str, int]]:
    """The measures of whose powers a model tells the sums, each with the highest power."""
    if plan.options.family not in LEAST_SQUARES:
        return []
    highest: dict[str, int] = {}
    for formula in plan.formulas:
        for part in formula.numerics:
            if part.measure in plan.valid and part.transformation in ORDERS:
                highest[part.measure] = max(ORDERS[part.transformation], highest.get(part.measure, 2))
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
