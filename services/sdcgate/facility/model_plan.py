"""A model query with every name resolved, and the tables that its answer would say something of.

Estimates are functions of sums over the records: of a term of factors alone they tell what a table of the
outcome by those factors tells (the normal equations of a linear model, and the likelihood equations of a
generalized one with its canonical link, set the fitted sums to the observed ones; McCullagh and Nelder 1989,
section 2.5). So each term implies a table, which is judged, protected and compared with all that has left as
if it left itself; a model that has all interactions of its factors is such a table and nothing else.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Condition
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.model_vocabulary import vocabulary
from sdcgate.facility.plan import FigureAsked, Plan, conditions_asked
from sdcgate.methods.cells import MISSING
from sdcgate.methods.outputs.fits import Family, FitOptions
from sdcgate.methods.outputs.formula import Classes, Factor, Formula, Numeric, Term
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.formula_tokens import FormulaError
from sdcgate.methods.outputs.sandwich import Covariance
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2

Level = tuple[str, str]
"""Variable and level."""

MEDIAN = 0.5
OF_EVENTS = frozenset({Family.LOGIT, Family.PROBIT})
"""Families whose outcome is one class against the others."""
OF_CLASSES = frozenset({Family.MULTINOMIAL_LOGIT, Family.ORDERED_LOGIT})
WITH_WEIGHTS = frozenset(Family) - {Family.QUANTILE}


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """A model query with every name resolved against descriptor and policy."""

    dataset: Dataset
    policy: EffectivePolicy
    formula: Formula
    options: FitOptions
    filters: tuple[Condition, ...]
    weighted: bool
    project: str

    @property
    def kind(self) -> str:
        """Name of the family."""
        return self.options.family.name

    @property
    def valid(self) -> tuple[str, ...]:
        """Measures that a record must have, in the order of their names."""
        measures = {measure.name for measure in self.dataset.descriptor.measures}
        return tuple(sorted({numeric.measure for numeric in self.formula.numerics} & measures))

    @property
    def numbered(self) -> tuple[str, ...]:
        """Variables whose codes are used as numbers."""
        measures = {measure.name for measure in self.dataset.descriptor.measures}
        return tuple(sorted({numeric.measure for numeric in self.formula.numerics} - measures))

    @property
    def population(self) -> tuple[Condition, ...]:
        """Conditions on the records: those asked, and that no variable of the formula is missing."""
        found = {condition.variable: condition for condition in self.filters}
        for variable in {*self.formula.variables, *self.numbered}:
            asked = found.get(variable)
            level = asked.level if asked else self.dataset.levels(variable)[0].name
            codes = asked.codes if asked else self.dataset.level(variable, level).codes
            found[variable] = Condition(variable, level, tuple(code for code in codes if code != MISSING))
        return tuple(sorted(found.values(), key=lambda condition: condition.variable))

    @property
    def outcome_level(self) -> Level | None:
        """The outcome's variable and level, where it is one of classes."""
        outcome = self.formula.outcome
        return (outcome.factor.variable, outcome.factor.level) if isinstance(outcome, Classes) else None

    @property
    def outcome_measure(self) -> str:
        """The measure of the outcome; empty where it is not one of the dataset's measures."""
        outcome = self.formula.outcome
        return outcome.measure if isinstance(outcome, Numeric) and outcome.measure in self.valid else ""

    @property
    def everything(self) -> Plan:
        """All variables of formula and filter together, as though they were one table's."""
        levels = {(factor.variable, factor.level) for factor in self.formula.factors}
        levels |= {(name, self.dataset.levels(name)[0].name) for name in self.numbered}
        levels |= {self.outcome_level} if self.outcome_level else set()
        return self.table(tuple(sorted(levels)), self.filters, ())

    def table(
        self,
        dimensions: tuple[Level, ...],
        filters: tuple[Condition, ...],
        figures: tuple[FigureAsked, ...],
        valid: tuple[str, ...] = (),
    ) -> Plan:
        """A table of the same dataset under the same policy."""
        return Plan(
            dataset=self.dataset,
            policy=self.policy,
            dimensions=dimensions,
            rows=len(dimensions),
            columns=0,
            filters=filters,
            figures=figures,
            margins=True,
            project=self.project,
            valid=valid,
        )

    def canonical(self) -> bytes:
        """The query in one spelling."""
        return json.dumps(
            {
                "model": self.kind,
                "dataset": self.dataset.name,
                "formula": self.formula.canonical(),
                "filters": [(c.variable, c.level, sorted(c.codes)) for c in self.filters],
                "weighted": self.weighted,
                "errors": self.options.covariance.name,
                "quantile": self.options.quantile if self.options.family is Family.QUANTILE else None,
            },
            separators=(",", ":"),
            ensure_ascii=False,
            sort_keys=True,
        ).encode()


@dataclass(frozen=True, slots=True)
class ImpliedTable:
    """A table that a model says something of; `factors` are its dimensions but for the outcome's."""

    plan: Plan
    factors: tuple[Level, ...]


def make_model_plan(dataset: Dataset, policy: EffectivePolicy, request: pb.QueryModelRequest) -> ModelPlan:
    """Resolve a request against descriptor and policy.

    Raises:
        InvalidRequest: with all that is wrong with formula, filter and options.
    """
    problems: list[FieldProblem] = []
    filters = conditions_asked(dataset, request.filter, problems)
    formula = None
    try:
        formula = parse_formula(request.formula, vocabulary(dataset))
    except FormulaError as wrong:
        problems.extend(
            FieldProblem("formula", f"At character {problem.position + 1}: {problem.message}.")
            for problem in wrong.problems
        )
    options = fit_options(request)
    if formula is not None:
        problems.extend(_unfit(formula, options.family))
    problems.extend(_options(dataset, request, options))
    if problems or formula is None:
        raise InvalidRequest(problems)
    plan = ModelPlan(dataset, policy, formula, options, filters, request.weighted, request.project)
    for condition in plan.population:
        if not condition.codes:
            message = f"Only missing values of {condition.variable} are chosen, which the formula needs."
            problems.append(FieldProblem("filter", message))
    if problems:
        raise InvalidRequest(problems)
    return plan


def implied_tables(plan: ModelPlan, valid: Sequence[str]) -> tuple[ImpliedTable, ...]:
    """The tables of a model's terms, none a margin of another: units, and the outcome's sums if they follow.

    `valid` are the measures that some record of the population lacks.
    """
    outcome = plan.outcome_level
    terms = {_levels(term): _is_table(term) for term in sorted(plan.formula.terms, key=_is_table)}
    terms.setdefault((), True)
    kept = [levels for levels in terms if not any(set(levels) < set(other) for other in terms)]
    found = []
    for levels in sorted(kept):
        figures = [FigureAsked(table_pb2.STATISTIC_UNITS)]
        summed = any(of_factors and set(term) <= set(levels) for term, of_factors in terms.items())
        if plan.outcome_measure and summed:
            figures.append(FigureAsked(table_pb2.STATISTIC_MEAN, plan.outcome_measure))
        dimensions = (*levels, *((outcome,) if outcome and outcome not in levels else ()))
        table = plan.table(dimensions, plan.population, tuple(figures), tuple(valid))
        found.append(ImpliedTable(table, levels))
    return tuple(found)


def _levels(term: Term) -> tuple[Level, ...]:
    return tuple(sorted({(part.variable, part.level) for part in term if isinstance(part, Factor)}))


def _is_table(term: Term) -> bool:
    """Whether a term is one of factors alone."""
    return all(isinstance(part, Factor) for part in term)


def fit_options(request: pb.QueryModelRequest) -> FitOptions:
    """Family and errors: of the design where weights are used and nothing is said, otherwise classical."""
    usual = Covariance.DESIGN if request.weighted else Covariance.CLASSICAL
    asked = int(request.standard_errors)
    covariance = Covariance(asked) if asked in list(Covariance) else usual
    return FitOptions(Family(request.kind), covariance, quantile=request.quantile or MEDIAN)


def _options(dataset: Dataset, request: pb.QueryModelRequest, options: FitOptions) -> Iterator[FieldProblem]:
    """What is wrong with weights, errors and quantile."""
    if request.weighted and not dataset.weighted:
        yield FieldProblem("weighted", f"{dataset.name} has no weights; leave it out.")
    if request.weighted and options.family not in WITH_WEIGHTS:
        yield FieldProblem("weighted", f"{options.family.name} is fitted without weights; leave it out.")
    if request.weighted and options.covariance is not Covariance.DESIGN:
        yield FieldProblem("standard_errors", "Weighted estimates have errors of the design: DESIGN.")
    if options.covariance is Covariance.DESIGN and not request.weighted:
        yield FieldProblem("standard_errors", "Errors of the design need weights: set `weighted`.")
    if options.family is Family.QUANTILE:
        if options.covariance is not Covariance.CLASSICAL:
            yield FieldProblem("standard_errors", "QUANTILE has errors of its own; leave it out.")
        if not 0 < options.quantile < 1:
            yield FieldProblem("quantile", "Name a quantile between 0 and 1, such as 0.5.")
    elif request.quantile:
        yield FieldProblem("quantile", "Only QUANTILE has one; leave it out.")


def _unfit(formula: Formula, family: Family) -> list[FieldProblem]:
    """Where formula and family do not go together."""
    name, outcome = family.name, formula.outcome
    if outcome is None:
        return [FieldProblem("formula", "Name the outcome before `~`.")]
    classes = isinstance(outcome, Classes)
    if family in OF_EVENTS and not (isinstance(outcome, Classes) and outcome.event):
        message = f'{name} needs an outcome of one class: `C(variable, event="code") ~ ...`.'
        return [FieldProblem("formula", message)]
    if family in OF_CLASSES and not (isinstance(outcome, Classes) and not outcome.event):
        return [FieldProblem("formula", f"{name} needs a variable as its outcome: `variable ~ ...`.")]
    if family not in OF_EVENTS | OF_CLASSES and (classes or not isinstance(outcome, Numeric)):
        return [FieldProblem("formula", f"{name} needs a measure as its outcome.")]
    levels: dict[str, set[str]] = {}
    for factor in formula.factors:
        levels.setdefault(factor.variable, set()).add(factor.level)
    return [
        FieldProblem("formula", f"{variable} stands at {len(named)} levels; use one.")
        for variable, named in levels.items()
        if len(named) > 1
    ]
