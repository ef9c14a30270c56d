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
from sdcgate.facility.plan import FigureAsked, Plan, conditions_asked, unknown
from sdcgate.methods.cells import MISSING
from sdcgate.methods.outputs.fits import Family, FitOptions
from sdcgate.methods.outputs.formula import Classes, Factor, Formula, Numeric, Survival, Term
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
WITH_GROUPS = frozenset({Family.FIXED_EFFECTS, Family.MIXED})
WITHOUT_WEIGHTS = frozenset(
    {Family.QUANTILE, Family.FIXED_EFFECTS, Family.MIXED, Family.COX, Family.TWO_STAGE}
)
ERRORS_OF_THEIR_OWN = frozenset({Family.QUANTILE, Family.MIXED, Family.COX})
UNIT = "unit"
"""What groups are called where each unit is one."""


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
    groups: Level | None = None
    """What has effects of its own; None: each unit."""
    instruments: Formula | None = None

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formula, and that of the instruments."""
        return (self.formula, *((self.instruments,) if self.instruments else ()))

    @property
    def numerics(self) -> frozenset[str]:
        """Names of all that is a number in them."""
        return frozenset(numeric.measure for formula in self.formulas for numeric in formula.numerics)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """All factors in them."""
        return tuple(dict.fromkeys(factor for formula in self.formulas for factor in formula.factors))

    @property
    def kind(self) -> str:
        """Name of the family."""
        return self.options.family.name

    @property
    def valid(self) -> tuple[str, ...]:
        """Measures that a record must have, in the order of their names."""
        measures = {measure.name for measure in self.dataset.descriptor.measures}
        return tuple(sorted(self.numerics & measures))

    @property
    def numbered(self) -> tuple[str, ...]:
        """Variables whose codes are used as numbers."""
        measures = {measure.name for measure in self.dataset.descriptor.measures}
        return tuple(sorted(self.numerics - measures))

    @property
    def population(self) -> tuple[Condition, ...]:
        """Conditions on the records: those asked, and that no variable of the formula is missing."""
        found = {condition.variable: condition for condition in self.filters}
        named = {variable for formula in self.formulas for variable in formula.variables}
        named |= {self.groups[0]} if self.groups else set()
        for variable in {*named, *self.numbered}:
            asked = found.get(variable)
            level = asked.level if asked else self.dataset.levels(variable)[0].name
            codes = asked.codes if asked else self.dataset.level(variable, level).codes
            found[variable] = Condition(variable, level, tuple(code for code in codes if code != MISSING))
        return tuple(sorted(found.values(), key=lambda condition: condition.variable))

    @property
    def outcome_level(self) -> Level | None:
        """Variable and level of the outcome's classes, or of what ends a time; None where it is a number."""
        outcome = self.formula.outcome
        classes = outcome.status if isinstance(outcome, Survival) else outcome
        return (classes.factor.variable, classes.factor.level) if isinstance(classes, Classes) else None

    @property
    def outcome_measure(self) -> str:
        """The measure of the outcome; empty where it is not one of the dataset's measures."""
        outcome = self.formula.outcome
        return outcome.measure if isinstance(outcome, Numeric) and outcome.measure in self.valid else ""

    @property
    def everything(self) -> Plan:
        """All variables of formula and filter together, as though they were one table's."""
        levels = {(factor.variable, factor.level) for factor in self.factors}
        levels |= {self.groups} if self.groups else set()
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
                "groups": self.groups,
                "instruments": self.instruments.canonical() if self.instruments else None,
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
    groups = _groups(dataset, request, options.family, problems)
    instruments = _instruments(dataset, request, options.family, problems)
    if problems or formula is None:
        raise InvalidRequest(problems)
    plan = ModelPlan(
        dataset,
        policy,
        formula,
        options,
        filters,
        request.weighted,
        request.project,
        groups,
        instruments,
    )
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
    # Groups and instruments are no terms of the outcome: they tell how many are in a category, not its sums.
    terms = {_levels(term): False for term in (plan.instruments.terms if plan.instruments else ())}
    terms |= {(plan.groups,): False} if plan.groups else {}
    terms |= {_levels(term): _is_table(term) for term in sorted(plan.formula.terms, key=_is_table)}
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
    if request.weighted and options.family in WITHOUT_WEIGHTS:
        yield FieldProblem("weighted", f"{options.family.name} is fitted without weights; leave it out.")
    if request.weighted and options.covariance is not Covariance.DESIGN:
        yield FieldProblem("standard_errors", "Weighted estimates have errors of the design: DESIGN.")
    if options.covariance is Covariance.DESIGN and not request.weighted:
        yield FieldProblem("standard_errors", "Errors of the design need weights: set `weighted`.")
    if options.family in ERRORS_OF_THEIR_OWN and options.covariance is not Covariance.CLASSICAL:
        message = f"{options.family.name} has errors of its own; leave it out."
        yield FieldProblem("standard_errors", message)
    if options.family is Family.QUANTILE:
        if not 0 < options.quantile < 1:
            yield FieldProblem("quantile", "Name a quantile between 0 and 1, such as 0.5.")
    elif request.quantile:
        yield FieldProblem("quantile", "Only QUANTILE has one; leave it out.")


def _groups(
    dataset: Dataset, request: pb.QueryModelRequest, family: Family, problems: list[FieldProblem]
) -> Level | None:
    """What has effects of its own; None where it is each unit, or nothing."""
    if not request.groups:
        return None
    if family not in WITH_GROUPS:
        problems.append(FieldProblem("groups", f"{family.name} has no effects of groups; leave it out."))
        return None
    variable, _, level = request.groups.partition(":")
    names = [name for name in dataset.code_lists if request.groups != UNIT]
    if variable not in names:
        if request.groups != UNIT:
            problems.append(FieldProblem("groups", unknown("variable", variable, names)))
        return None
    levels = [known.name for known in dataset.levels(variable)]
    if level and level not in levels:
        problems.append(FieldProblem("groups", unknown("level", level, levels)))
        return None
    return variable, level or levels[0]


def _instruments(
    dataset: Dataset, request: pb.QueryModelRequest, family: Family, problems: list[FieldProblem]
) -> Formula | None:
    if family is not Family.TWO_STAGE:
        if request.instruments:
            problems.append(FieldProblem("instruments", "Only TWO_STAGE has instruments; leave them out."))
        return None
    if not request.instruments:
        message = "Name the instruments, all exogenous terms among them: `numeric(age) + C(plan)`."
        problems.append(FieldProblem("instruments", message))
        return None
    try:
        return parse_formula(request.instruments, vocabulary(dataset), with_outcome=False)
    except FormulaError as wrong:
        problems.extend(
            FieldProblem("instruments", f"At character {problem.position + 1}: {problem.message}.")
            for problem in wrong.problems
        )
        return None


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
    if family is Family.COX and not isinstance(outcome, Survival):
        message = 'COX needs a time and what ends it: `surv(months, C(died, event="1")) ~ ...`.'
        return [FieldProblem("formula", message)]
    of_numbers = family not in OF_EVENTS | OF_CLASSES | {Family.COX}
    if of_numbers and (classes or not isinstance(outcome, Numeric)):
        return [FieldProblem("formula", f"{name} needs a measure as its outcome.")]
    levels: dict[str, set[str]] = {}
    for factor in formula.factors:
        levels.setdefault(factor.variable, set()).add(factor.level)
    return [
        FieldProblem("formula", f"{variable} stands at {len(named)} levels; use one.")
        for variable, named in levels.items()
        if len(named) > 1
    ]
