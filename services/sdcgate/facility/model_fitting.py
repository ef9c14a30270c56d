"""Fitting a model on its population, in a worker process: records go in, nothing of one record comes out."""

from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.facility.model_records import Population
from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.design import (
    Design,
    build_design,
    class_positions,
    event_values,
    matrix,
    outcome_values,
)
from sdcgate.methods.outputs.estimates import ModelEstimate
from sdcgate.methods.outputs.fits import FitOptions, ModelData, Separated
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.formula import Factor, Formula, Numeric, Survival
from sdcgate.methods.outputs.model_facts import ModelFacts
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError
from sdcgate.methods.outputs.sandwich import SurveyDesign
from sdcgate.methods.outputs.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a worker needs to fit a model."""

    options: FitOptions
    formula: Formula
    instruments: Formula | None
    vocabulary: Vocabulary
    references: dict[tuple[str, str], str]
    """The code that coefficients of a variable's level are relative to."""
    codes: dict[tuple[str, str], tuple[str, ...]]
    """Codes of each factor that have columns."""
    together: dict[tuple[str, str], tuple[str, ...]]
    """Codes of a factor that are fitted as one; the first stands for all."""
    people: Population = field(repr=False)
    largest: int
    """How many of the largest units of a coefficient its rules look at."""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Estimates of a model and the facts that its rules are about."""

    design: Design
    """All columns; the estimate has none for combinations that nobody has and for codes fitted as one."""
    estimate: ModelEstimate
    facts: ModelFacts


@dataclass(frozen=True, slots=True)
class NotEstimable:
    """Why a model cannot be estimated."""

    problems: tuple[ModelProblem, ...]
    separated: bool = False
    """Whether the terms tell the outcome of some people."""


def fit(task: Task) -> Fitted | NotEstimable:
    """Fit a model and find the facts that its rules are about."""
    try:
        return _fit(task)
    except ModelProblemError as error:
        return NotEstimable(error.problems, separated=isinstance(error, Separated))


def _fit(task: Task) -> Fitted:
    formula = with_references(task.formula, task.references)
    every = build_design(formula, task.vocabulary, task.codes)
    task = _taken_together(task)
    people, records = task.people, task.people.records
    design = build_design(formula, task.vocabulary, task.codes)
    values = matrix(design, task.vocabulary, records)
    # Of combinations of categories that nobody has there is nothing to estimate.
    occurring = np.flatnonzero(values.any(axis=0))
    if len(occurring) < len(design.columns):
        design = replace(design, columns=tuple(design.columns[place] for place in occurring))
        values = np.asfortranarray(values[:, occurring])
    classes, outcome = _outcome(task, formula)
    data = ModelData(
        design=design,
        values=values,
        outcome=outcome,
        units=people.unit,
        classes=classes,
        weights=people.weights,
        groups=people.groups,
        events=_events(task, formula),
        instruments=_instruments(task),
        survey=SurveyDesign(people.strata, people.unit if people.clusters is None else people.clusters),
    )
    estimate, facts = fit_model(data, records, task.options, task.largest)
    require_finite(estimate)
    return Fitted(every, estimate, facts)


def _taken_together(task: Task) -> Task:
    """The task with one code for all that are fitted as one."""
    codes, positions = dict(task.codes), dict(task.people.records.codes)
    for (name, level), together in task.together.items():
        variable = task.vocabulary.variable(name)
        if variable is None or (name, level) not in positions:
            # Used as a number, not as a factor.
            continue
        one, *others = (variable.level(level).codes.index(code) for code in together)
        found = positions[name, level]
        positions[name, level] = np.where(np.isin(found, others), one, found)
        codes[name, level] = tuple(code for code in codes[name, level] if code not in together[1:])
    records = replace(task.people.records, codes=positions)
    return replace(task, codes=codes, people=replace(task.people, records=records))


def _outcome(task: Task, formula: Formula) -> tuple[tuple[str, ...], FloatArray]:
    """Classes of the outcome, none where it is a number, and its values."""
    people, asked = task.people, formula.outcome
    if isinstance(asked, Numeric):
        return (), outcome_values(asked, people.records)
    if isinstance(asked, Survival):
        return (), outcome_values(asked.time, people.records)
    if asked is None:
        raise TypeError("the formula has no outcome")
    if asked.event:
        return (), event_values(asked, task.vocabulary, people.records)
    level = (asked.factor.variable, asked.factor.level)
    classes, positions = class_positions(asked, task.vocabulary, people.occurring[level], people.records)
    return classes, positions.astype(np.float64)


def _events(task: Task, formula: Formula) -> FloatArray | None:
    """1 where a time ended with the event."""
    asked = formula.outcome
    if not isinstance(asked, Survival):
        return None
    return event_values(asked.status, task.vocabulary, task.people.records)


def _instruments(task: Task) -> FloatArray | None:
    """Columns of the instruments; of combinations that nobody has there is none."""
    if task.instruments is None:
        return None
    formula = with_references(task.instruments, task.references)
    design = build_design(formula, task.vocabulary, task.codes)
    values = matrix(design, task.vocabulary, task.people.records)
    return np.asfortranarray(values[:, values.any(axis=0)])


def require_finite(estimate: ModelEstimate) -> None:
    """ModelProblemError where a figure of an estimate is none."""
    figures = (
        estimate.estimates,
        estimate.standard_errors,
        estimate.statistics,
        estimate.p_values,
        estimate.lower,
        estimate.upper,
        np.array([*estimate.fit.values(), 0.0]),
    )
    if not all(bool(np.isfinite(figure).all()) for figure in figures):
        raise ModelProblemError([ModelProblem("formula", "the fit has figures that are no finite numbers")])


def with_references(formula: Formula, references: dict[tuple[str, str], str]) -> Formula:
    """The formula with a reference named for each factor."""

    def named(part: Factor | Numeric) -> Factor | Numeric:
        if isinstance(part, Factor):
            return replace(part, reference=references[part.variable, part.level])
        return part

    return replace(formula, terms=tuple(tuple(named(part) for part in term) for term in formula.terms))


def warm_up() -> None:
    """Load what fits need."""
    import statsmodels.discrete.discrete_model
    import statsmodels.genmod.generalized_linear_model
    import statsmodels.regression.quantile_regression  # noqa: F401
