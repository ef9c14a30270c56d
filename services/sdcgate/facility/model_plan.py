"""A model query with every name resolved, and the tables that its answer would say something of.

Estimates are functions of sums over the records: of a term of factors alone they tell what a table of the
outcome by those factors tells (the normal equations of a linear model, and the likelihood equations of a
generalized one with its canonical link, set the fitted sums to the observed ones; McCullagh and Nelder 1989,
section 2.5). So each term implies a table, which is judged, protected and compared with all that has left as
if it left itself; a model that has all interactions of its factors is such a table and nothing else.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Condition
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.instruments import fewer_than_terms, outcome_among
from sdcgate.facility.model_options import (
    filtered_away,
    fit_options,
    groups_asked,
    instruments_asked,
    unfit,
    wrong_options,
)
from sdcgate.facility.model_vocabulary import vocabulary
from sdcgate.facility.outcome_bounds import outcome_out_of_bounds
from sdcgate.facility.plan import FigureAsked, Plan, conditions_asked
from sdcgate.methods.cells import MISSING
from sdcgate.methods.outputs.design import MOST_COLUMNS
from sdcgate.methods.outputs.fits import Family, FitOptions
from sdcgate.methods.outputs.formula import Classes, Factor, Formula, Numeric, Survival, Term
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.formula_tokens import FormulaError
from sdcgate.methods.outputs.implied_tables import FEW_VALUES
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2

Level = tuple[str, str]
"""Variable and level."""


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
    def coded(self) -> dict[str, Level]:
        """Variables used as numbers that have so few codes that functions of them tell each code apart."""
        return {name: level for name in self.numbered if (level := _few_codes(self.dataset, name))}

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
        """Variable and level of the outcome's classes, or of what ends a time; None where it is a number.

        A number of few codes tells how many have each.
        """
        outcome = self.formula.outcome
        if isinstance(outcome, Numeric):
            return self.coded.get(outcome.measure)
        classes = outcome.status if isinstance(outcome, Survival) else outcome
        return (classes.factor.variable, classes.factor.level) if isinstance(classes, Classes) else None

    @property
    def levels(self) -> tuple[Level, ...]:
        """Variables of the formulas and of the groups, each at its level, numbers at the finest."""
        found = [(factor.variable, factor.level) for factor in self.factors]
        found += [self.outcome_level] if self.outcome_level else []
        found += [self.groups] if self.groups else []
        found += [(name, self.dataset.levels(name)[0].name) for name in self.numbered]
        return tuple(dict.fromkeys(found))

    @property
    def factor_levels(self) -> tuple[Level, ...]:
        """Variables that have categories: factors and groups, each at its level."""
        levels = {(factor.variable, factor.level) for factor in self.factors}
        return tuple(sorted(levels | ({self.groups} if self.groups else set())))

    def codes_left(self, variable: str, level: str) -> tuple[str, ...]:
        """The codes of a level of a variable of the formula that the filter leaves."""
        condition = next(one for one in self.population if one.variable == variable)
        listed, chosen = self.dataset.level(variable, level), self.dataset.level(variable, condition.level)
        kept = {chosen.positions[code] for code in condition.codes}
        members = zip(listed.members, chosen.members, strict=True)
        return tuple(listed.codes[place] for place in sorted({at for at, of in members if of in kept}))

    @property
    def everything(self) -> Plan:
        """All variables of formula and filter together, as though they were one table's."""
        return self.table(tuple(sorted(self.levels)), self.filters, ())

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
            rows=tuple(range(len(dimensions))),
            columns=(),
            filters=filters,
            figures=figures,
            margins=True,
            project=self.project,
            valid=valid,
            beneath=True,
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
    all_or_none: bool = False
    """Whether its cells stand behind coefficients of all: no coefficient can be withheld for one of them."""
    crossed: bool = False
    """Whether it is of two terms together, so that no coefficient is one of its cells."""


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
    # Out of range only where a request is looked at that its envelope refuses anyway.
    if request.kind not in [*Family]:
        raise InvalidRequest([*problems, FieldProblem("kind", "Name a model that there is.")])
    options = fit_options(request)
    if formula is not None:
        problems.extend(unfit(formula, options.family))
    problems.extend(wrong_options(dataset, request, options, policy.statistics.points))
    groups = groups_asked(dataset, request, options.family, problems)
    instruments = instruments_asked(dataset, request, options.family, problems)
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
    problems += _several_levels(plan)
    problems += _many_codes(plan)
    problems += _outcome_out_of_bounds(plan)
    if instruments is not None:
        problems += outcome_among(instruments, formula.outcome)
        problems += fewer_than_terms(formula, instruments, vocabulary(dataset))
    for condition in plan.population:
        if not condition.codes:
            message = f"Only missing values of {condition.variable} are chosen, which the formula needs."
            problems.append(FieldProblem("filter", message))
    problems += filtered_away(dataset, plan.population, formula.outcome, groups)
    if problems:
        raise InvalidRequest(problems)
    return plan


def _many_codes(plan: ModelPlan) -> list[FieldProblem]:
    """Factors, and classes, of more codes than a model may have columns: no table is computed for them."""
    outcome = plan.formula.outcome
    classes = [outcome.factor] if isinstance(outcome, Classes) and not outcome.event else []
    sizes = {
        (f.variable, f.level): len(plan.dataset.level(f.variable, f.level).codes)
        for f in (*plan.factors, *classes)
    }
    return [
        FieldProblem(
            "formula",
            f"{variable} has {size} codes at the level {level or variable}, and a model at most "
            f"{MOST_COLUMNS} columns: take a coarser level.",
        )
        for (variable, level), size in sizes.items()
        if size > MOST_COLUMNS
    ]


def _outcome_out_of_bounds(plan: ModelPlan) -> list[FieldProblem]:
    outcome = plan.formula.outcome
    number = outcome.time if isinstance(outcome, Survival) else outcome
    codes: tuple[str, ...] = ()
    if isinstance(number, Numeric) and number.measure in plan.numbered:
        finest = plan.dataset.levels(number.measure)[0].name
        codes = tuple(code for code in plan.codes_left(number.measure, finest) if code != MISSING)
    return outcome_out_of_bounds(plan.dataset, plan.options.family, outcome, codes)


def _several_levels(plan: ModelPlan) -> list[FieldProblem]:
    """Variables that stand at two levels: a table has each variable once."""
    used = {(factor.variable, factor.level) for factor in plan.factors} | {*plan.coded.values()}
    used |= {plan.outcome_level} if plan.outcome_level else set()
    named = [variable for variable, _ in used]
    return [
        FieldProblem("formula", f"{variable} stands at {named.count(variable)} levels; use one.")
        for variable in sorted(set(named))
        if named.count(variable) > 1
    ]


def implied_tables(plan: ModelPlan, valid: Sequence[str]) -> tuple[ImpliedTable, ...]:
    """The tables of a model's terms, none a margin of another: units, and the sums of all measures.

    Of the outcome estimates tell these. Of regressors and instruments errors tell how means of categories lie
    apart, and that a term cannot be estimated tells that all of a category have one value: so they are judged
    as their sums would be. `valid` are the measures that some record of the population lacks.
    """
    outcome = plan.outcome_level
    coded, formula = plan.coded, plan.formula.terms
    instruments = plan.instruments.terms if plan.instruments else ()
    terms = dict.fromkeys(levels_of(term, coded) for term in (*instruments, *formula))
    terms |= dict.fromkeys([(plan.groups,)] if plan.groups else [])
    terms.setdefault(())
    of_all = {levels_of(term, coded) for term in instruments if term not in formula} - {()}
    of_all |= {
        levels_of(term, coded)
        for term in (*instruments, *formula)
        if not {part.measure for part in term if isinstance(part, Numeric)}.isdisjoint(coded)
    }
    figures = _told(plan, plan.valid)
    found = []
    for levels in sorted(levels for levels in terms if not any(set(levels) < set(other) for other in terms)):
        dimensions = (*levels, *((outcome,) if outcome and outcome not in levels else ()))
        table = plan.table(dimensions, plan.population, figures, tuple(valid))
        found.append(ImpliedTable(table, levels, any(set(term) <= set(levels) for term in of_all)))
    return (*found, *_crossed(plan, [set(one.factors) for one in found], tuple(valid)))


def _crossed(plan: ModelPlan, own: Sequence[set[Level]], valid: tuple[str, ...]) -> list[ImpliedTable]:
    """The tables of two terms together, none a margin of another or of the terms' `own`.

    The normal equations X'Xb = X'y are about sums of products of two columns: where y is known by each term,
    estimates tell these. Of a factor times a number, beside another factor, they are the sums of that number
    over both together; of two factors their counts, which a policy may have judged.
    """
    found: dict[frozenset[Level], frozenset[str]] = {}
    each = (term for formula in plan.formulas for term in formula.terms)
    terms = [(levels_of(term, plan.coded), _summed(term, plan.coded)) for term in each]
    terms += [((plan.groups,), frozenset())] if plan.groups else []
    for (levels, numbers), (others, more) in combinations(dict.fromkeys(terms), 2):
        both, summed = frozenset((*levels, *others)), numbers | more
        if levels and others and (summed or plan.policy.models.crossed_factors):
            found[both] = found.get(both, frozenset()) | summed
    tables = []
    for both, summed in found.items():
        wider = any(both < other and summed <= found[other] for other in found)
        if wider or any(both <= levels for levels in own):
            continue
        figures = _told(plan, [name for name in plan.valid if name in summed])
        dimensions = tuple(sorted(both))
        table = plan.table(dimensions, plan.population, figures, valid)
        tables.append(ImpliedTable(table, dimensions, crossed=True))
    return sorted(tables, key=lambda table: table.factors)


def _told(plan: ModelPlan, measures: Sequence[str]) -> tuple[FigureAsked, ...]:
    """What estimates tell of each cell; by weights the weighted figures beside the plain ones."""
    counts, means = [table_pb2.STATISTIC_UNITS], [table_pb2.STATISTIC_MEAN]
    if plan.weighted:
        counts.append(table_pb2.STATISTIC_WEIGHTED_UNITS)
        means.append(table_pb2.STATISTIC_WEIGHTED_MEAN)
    of_measures = [FigureAsked(kind, name) for name in measures for kind in means]
    return (*(FigureAsked(kind) for kind in counts), *of_measures)


def _summed(term: Term, coded: Mapping[str, Level]) -> frozenset[str]:
    """The numbers of a term that are no codes of a table."""
    return frozenset(part.measure for part in term if isinstance(part, Numeric) and part.measure not in coded)


def levels_of(term: Term, coded: Mapping[str, Level]) -> tuple[Level, ...]:
    """Factors of a term, codes that it uses as numbers among them."""
    factors = {(part.variable, part.level) for part in term if isinstance(part, Factor)}
    numbers = {coded[part.measure] for part in term if isinstance(part, Numeric) and part.measure in coded}
    return tuple(sorted(factors | numbers))


def _few_codes(dataset: Dataset, variable: str) -> Level | None:
    """A variable's finest level where it has few codes; None for others."""
    finest = dataset.levels(variable)[0]
    return (variable, finest.name) if len({*finest.codes} - {MISSING}) <= FEW_VALUES else None
