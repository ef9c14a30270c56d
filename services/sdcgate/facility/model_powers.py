"""The sums of squares that a model tells of: least squares tell what variances and correlations would.

Of `y ~ 1` the standard error is that of a mean, so it tells a variance; with terms, what is left unexplained
and what is explained tell the outcome's squares, and errors those of the terms. So such a model is audited as
the correlations of its measures would be, in its population.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.engine.moment_sums import MomentQuery
from sdcgate.facility.knowledge import Knowledge, ReleasedTable
from sdcgate.facility.model_plan import ModelPlan
from sdcgate.facility.model_records import Population
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.population_moments import PopulationMoments
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistic_power_audit import PowerAudit
from sdcgate.facility.statistic_powers import ToldPower
from sdcgate.methods.outputs.fits import Family
from sdcgate.methods.outputs.power_sums import power_sums
from sdcgate.methods.outputs.sample import Sample
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


def _as_correlations(plan: ModelPlan, measures: tuple[str, ...]) -> StatisticPlan:
    """The statistic that tells as much of the measures."""
    return StatisticPlan(
        dataset=plan.dataset,
        policy=plan.policy,
        statistic=Statistic.CORRELATIONS,
        measures=measures,
        groups=(),
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
