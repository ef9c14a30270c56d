"""A linear model fitted and checked by sums that the engine computes where the records lie; none is moved.

It says what `model_fitting` says of the same records. On their road stay the other families, models of which
tables withhold codes or that leave units out, those with more cells or columns than a statement takes, and
those whose columns nearly depend on one another.
"""

from collections.abc import Callable
from math import prod

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.engine.linear_records import LinearQuery, Number
from sdcgate.facility.model_fitting import Fitted, NotEstimable, require_finite, with_references
from sdcgate.facility.model_plan import Level, ModelPlan
from sdcgate.facility.model_sum_checks import SumChecks
from sdcgate.facility.model_sum_population import look_at, refuse_population
from sdcgate.facility.model_vocabulary import code_numbers, vocabulary
from sdcgate.facility.pace import still_time
from sdcgate.methods.outputs.cell_sums import cell_sums
from sdcgate.methods.outputs.design import Design, Indicator, Transformed, build_design
from sdcgate.methods.outputs.fits import Family
from sdcgate.methods.outputs.formula import Numeric
from sdcgate.methods.outputs.ols import ols_from_cross_products, solve_least_squares
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.sandwich import Covariance

MOST_COEFFICIENTS = 1 << 20
"""Of all cells and columns together."""
MOST_TERMS = 800
"""Of columns and numbers in one statement: PostgreSQL takes 1,664 columns."""
MOST_NUMBERS = 24
MOST_CONDITION = 1e3
"""Of the columns: the square of it times 1e-16 is what is lost of the digits of coefficients."""


def sums_suffice(plan: ModelPlan, design: Design) -> bool:
    """Whether a model can be fitted and checked by sums, within what a statement takes."""
    if plan.options.family is not Family.LINEAR or plan.instruments is not None:
        return False
    numbers, columns = len(_numbers(design)), len(design.columns)
    cells = prod(len(plan.dataset.level(*level).codes) for level in _levels(plan))
    small = cells * columns <= MOST_COEFFICIENTS and (numbers + 1) * columns <= MOST_TERMS
    return small and numbers <= MOST_NUMBERS


def fit_by_sums(
    engine: Engine,
    plan: ModelPlan,
    references: dict[Level, str],
    codes: dict[Level, tuple[str, ...]],
    largest: int,
    left: Callable[[], float],
    enough: int | None = None,
) -> Fitted | NotEstimable | None:
    """The model with the facts that its rules are about; None where its records are needed.

    `codes` are the codes of each factor that have columns, `largest` how many of the largest units of a
    coefficient the rules look at, `left` the seconds that are left: no statement begins when there are none.
    `enough` units apart of a column are enough for the rules: where some records show them, the others are
    not looked at for it, and the facts have at least so many instead of all; None counts all.
    Raises ComputationFailed, TimeOver.
    """
    try:
        formula = with_references(plan.formula, references)
        design = build_design(formula, vocabulary(plan.dataset), codes)
        if not sums_suffice(plan, design):
            return None
        return _fitted(engine, plan, design, largest, left, enough)
    except ModelProblemError as error:
        return NotEstimable(error.problems)


def _fitted(
    engine: Engine,
    plan: ModelPlan,
    every: Design,
    largest: int,
    left: Callable[[], float],
    enough: int | None,
) -> Fitted | None:
    dataset, options, in_time = plan.dataset, plan.options, still_time(left)
    query = _query(plan, every)
    sums = engine.linear_sums(dataset, query)
    people = look_at(sums, query, dataset, every)
    refuse_population(people, weighted=plan.weighted)
    in_time()
    weight_unit = 10.0**-dataset.weight_decimals if plan.weighted else 1.0
    moments = sums.moments(people.scalings, people.ranges)
    found = cell_sums(moments, people.columns, people.scalings, people.records, people.units, weight_unit)
    solution = solve_least_squares(found.products, people.design)
    if solution.condition > MOST_CONDITION:
        return None
    # Refuses what has no residuals before anything is divided by them.
    estimate = ols_from_cross_products(
        found.products, people.design, confidence=options.confidence, solution=solution
    )
    checks = SumChecks(
        sums, people, found, solution, largest, weight_unit, options.outcome_of_classes, enough
    )
    in_time()
    influence = checks.influence()
    in_time()
    if options.covariance is not Covariance.CLASSICAL:
        estimate = ols_from_cross_products(
            found.products,
            people.design,
            covariance=options.covariance,
            meat=checks.score_squares(influence, options.covariance, *_drawn(plan)),
            confidence=options.confidence,
            solution=solution,
        )
    require_finite(estimate)
    return Fitted(every, estimate, checks.facts(estimate, influence))


def _query(plan: ModelPlan, design: Design) -> LinearQuery:
    outcome = plan.formula.outcome
    if not isinstance(outcome, Numeric):
        raise TypeError("least squares has a number for its outcome")
    numbers = (*_numbers(design), (Transformed(outcome.measure, outcome.transformation),))
    numbered = []
    for name in plan.numbered:
        values = code_numbers(plan.dataset, name)
        if values is None:
            raise LookupError(f"the codes of {name} are no numbers")
        numbered.append((name, tuple(np.nan_to_num(values).astype(np.int64).tolist())))
    return LinearQuery(_levels(plan), numbers, plan.population, plan.valid, tuple(numbered), plan.weighted)


def _levels(plan: ModelPlan) -> tuple[Level, ...]:
    return tuple(sorted({(factor.variable, factor.level) for factor in plan.factors}))


def _numbers(design: Design) -> tuple[Number, ...]:
    """The products of measures that columns have, without their indicators."""
    found = (
        tuple(part for part in column.parts if not isinstance(part, Indicator)) for column in design.columns
    )
    return tuple(dict.fromkeys(number for number in found if number))


def _drawn(plan: ModelPlan) -> tuple[str, str]:
    """Snapshot columns of stratum and primary unit, empty where the descriptor does not say them."""
    design = plan.dataset.descriptor.design
    return (
        plan.dataset.column(design.stratum) if design.stratum else "",
        plan.dataset.column(design.psu) if design.psu else "",
    )
