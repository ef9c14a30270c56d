"""A statistic query with every name resolved, and the table that its answer would say something of.

A mean tells what a table of the measure's sums by the groups tells; a share, a mode or a ratio of odds what
a table of units by the groups and the variables counted tells. That table is judged, protected and compared
with all that has left as if it left itself; where it withholds a group, the statistic does. A survival curve
tells two: units by the groups and who has the event, and the times of those who have it by the groups.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from operator import and_

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Condition
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.plan import FigureAsked, Plan, conditions_asked, level_asked, unknown
from sdcgate.facility.statistic_kinds import (
    COUNTING,
    DRAWN_FROM,
    HAVING,
    MOST_DRAWN,
    NEVER_BELOW_0,
    OF_FACTORS,
    OF_MANY_POINTS,
    OF_MEASURES,
    OF_ORDER,
    OF_TWO_MEASURES,
    OF_TWO_VARIABLES,
    SURVIVAL,
    UNWEIGHTED,
    WITH_ERRORS,
)
from sdcgate.facility.statistic_png import NO_PNG, can_render
from sdcgate.methods.cells import MISSING
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2

Level = tuple[str, str]
"""Variable and level."""


@dataclass(frozen=True)
class StatisticPlan:
    """A statistic query with every name resolved against descriptor and policy."""

    dataset: Dataset
    policy: EffectivePolicy
    statistic: Statistic
    measures: tuple[str, ...]
    """The measure, and others where there are several; none of a statistic of variables."""
    groups: tuple[Level, ...]
    having: Condition | None
    """What a share counts, the outcome of a ratio, the event of a survival curve, or a first sample."""
    exposed: Condition | None
    mode_of: Level | None
    filters: tuple[Condition, ...]
    weighted: bool
    errors: bool
    picture: bool
    png: bool
    """Whether drawings are wanted as PNG, too."""
    project: str
    factors: tuple[Level, ...] = ()
    """Of a chi-squared test or an analysis of variance."""

    @cached_property
    def counted(self) -> tuple[Level, ...]:
        """The variables whose codes are counted, beside the groups."""
        conditions = [condition for condition in (self.having, self.exposed) if condition is not None]
        levels = [(condition.variable, condition.level) for condition in conditions]
        return (*levels, *((self.mode_of,) if self.mode_of is not None else ()), *self.factors)

    @cached_property
    def population(self) -> tuple[Condition, ...]:
        """Conditions on the records: those asked, and that no variable that is counted is missing."""
        found = {condition.variable: condition for condition in self.filters}
        for variable, level in self.counted:
            asked = found.get(variable)
            at = asked.level if asked else level
            codes = asked.codes if asked else self.dataset.level(variable, level).codes
            found[variable] = Condition(variable, at, tuple(code for code in codes if code != MISSING))
        return tuple(sorted(found.values(), key=lambda condition: condition.variable))

    @cached_property
    def rules(self) -> StatisticRules:
        """The rules that mean something for the dataset: without households there is no minimum of them."""
        rules = self.policy.statistic_rules
        if self.dataset.household:
            return rules
        return replace(rules, table=replace(rules.table, minimum_households=None))

    def table(self, valid: Sequence[str] = ()) -> Plan:
        """The table that it says something of; `valid` are the measures that some record lacks."""
        figures = [FigureAsked(table_pb2.STATISTIC_UNITS)]
        if self.weighted and self.statistic in COUNTING:
            # Shares by weights tell sums of weights, which may tell counts where a variable decides these.
            figures.append(FigureAsked(table_pb2.STATISTIC_WEIGHTED_UNITS))
        kind = table_pb2.STATISTIC_WEIGHTED_MEAN if self.weighted else table_pb2.STATISTIC_MEAN
        if self.statistic not in OF_ORDER:
            figures += [FigureAsked(kind, measure) for measure in self.measures]
        dimensions = (*self.groups, *self.counted)
        totals = self.statistic is Statistic.TOTAL and not self.weighted
        return Plan(
            dataset=self.dataset,
            policy=self.policy,
            dimensions=dimensions,
            rows=tuple(range(len(dimensions))),
            columns=(),
            filters=self.population,
            figures=tuple(figures),
            margins=True,
            project=self.project,
            valid=tuple(sorted(valid)),
            beneath=True,
            total_digits=self.policy.statistics.significant_digits if totals else 0,
        )

    def table_of_events(self, valid: Sequence[str] = ()) -> Plan | None:
        """Of a survival curve the table of the times of all who have the event, whose sums its steps tell.

        None of other statistics, and where the filter leaves nobody the event. `valid` as of `table`.
        """
        if self.statistic not in SURVIVAL or self.having is None:
            return None
        name, finest = self.having.variable, self.dataset.levels(self.having.variable)[0]
        asked = [condition for condition in (*self.population, self.having) if condition.variable == name]
        both = reduce(and_, (self.dataset.mask(name, one.level, one.codes) for one in asked))
        codes = tuple(code for code, mask in zip(finest.codes, finest.masks, strict=True) if mask & both)
        if not codes:
            return None
        others = [condition for condition in self.population if condition.variable != name]
        of_events = sorted((*others, Condition(name, finest.name, codes)), key=lambda one: one.variable)
        mean = (FigureAsked(table_pb2.STATISTIC_MEAN, measure) for measure in self.measures)
        # How many there must be in the population, is asked of the population.
        rules = replace(self.policy.rules, minimum_base=None)
        return replace(
            self.table(valid),
            policy=replace(self.policy, rules=rules),
            dimensions=self.groups,
            rows=tuple(range(len(self.groups))),
            filters=tuple(of_events),
            figures=(FigureAsked(table_pb2.STATISTIC_UNITS), *mean),
        )

    def canonical(self) -> bytes:
        """The query in one spelling."""
        having, exposed = (
            [condition.variable, condition.level, sorted(condition.codes)] if condition else None
            for condition in (self.having, self.exposed)
        )
        return json.dumps(
            {
                "statistic": self.statistic.name,
                "dataset": self.dataset.name,
                "measures": self.measures,
                "groups": self.groups,
                "having": having,
                "exposed": exposed,
                "mode_of": self.mode_of,
                "filters": [(c.variable, c.level, sorted(c.codes)) for c in self.filters],
                "weighted": self.weighted,
                "errors": self.errors,
                "picture": self.picture,
                # What was recorded before there were factors, or PNG, keeps its hash.
                **({"factors": self.factors} if self.factors else {}),
                **({"png": True} if self.png else {}),
            },
            separators=(",", ":"),
            ensure_ascii=False,
            sort_keys=True,
        ).encode()


def make_statistic_plan(
    dataset: Dataset, policy: EffectivePolicy, request: pb.QueryStatisticRequest
) -> StatisticPlan:
    """Resolve a request against descriptor and policy.

    Raises:
        InvalidRequest: with every unknown, repeated, missing or contradictory name in it.
    """
    problems: list[FieldProblem] = []
    # Out of range only where a request is looked at that its envelope refuses anyway.
    statistic = Statistic(request.kind) if request.kind in [*Statistic] else Statistic.UNSPECIFIED
    if statistic is Statistic.UNSPECIFIED:
        raise InvalidRequest([FieldProblem("kind", "Name a statistic that there is.")])
    groups = _levels(dataset, request.groups, "groups", problems)
    plan = StatisticPlan(
        dataset=dataset,
        policy=policy,
        statistic=statistic,
        measures=(
            *_measures(dataset, statistic, request, problems),
            *_several_measures(dataset, statistic, request, problems),
        ),
        groups=groups,
        having=_counted(dataset, request, "having", statistic in HAVING, problems),
        exposed=_counted(dataset, request, "exposed", statistic in OF_TWO_VARIABLES, problems),
        mode_of=_mode_of(dataset, request, statistic, problems),
        filters=conditions_asked(dataset, request.filter, problems),
        weighted=request.weighted,
        errors=request.standard_errors,
        picture=request.picture,
        png=request.png,
        project=request.project,
        factors=_factors(dataset, statistic, request, problems),
    )
    problems += _unfit(plan)
    if problems:
        raise InvalidRequest(problems)
    return plan


def _levels(
    dataset: Dataset, wanted: Iterable[pb.DimensionRequest], field: str, problems: list[FieldProblem]
) -> tuple[Level, ...]:
    found: list[Level] = []
    for place, asked in enumerate(wanted):
        path = f"{field}[{place}]"
        level = level_asked(dataset, asked.variable, asked.level, path, problems)
        if asked.variable in {variable for variable, _ in found}:
            problems.append(FieldProblem(f"{path}.variable", f"{asked.variable} stands twice; name it once."))
        elif level is not None:
            found.append((asked.variable, level))
    return tuple(found)


def _measures(
    dataset: Dataset, statistic: Statistic, request: pb.QueryStatisticRequest, problems: list[FieldProblem]
) -> tuple[str, ...]:
    known = {measure.name: measure for measure in dataset.descriptor.measures}
    wanted = {"measure": statistic not in COUNTING | OF_MEASURES, "second": statistic in OF_TWO_MEASURES}
    found = []
    for field, needed in wanted.items():
        name = getattr(request, field)
        if not needed:
            if name:
                problems.append(FieldProblem(field, f"{statistic.name} has none; leave it out."))
        elif name not in known:
            message = unknown("measure", name, [*known]) if name else f"{statistic.name} needs a measure."
            problems.append(FieldProblem(field, message))
        elif name in found:
            problems.append(FieldProblem(field, f"{name} is the first measure already; name another."))
        else:
            found.append(name)
            lowest = known[name].lower_bound
            if statistic in NEVER_BELOW_0 and (lowest is None or lowest < 0):
                message = (
                    f"{statistic.name} needs a measure of which the descriptor says that it is never below 0."
                )
                problems.append(FieldProblem(field, message))
    return tuple(found)


def _several_measures(
    dataset: Dataset, statistic: Statistic, request: pb.QueryStatisticRequest, problems: list[FieldProblem]
) -> tuple[str, ...]:
    if statistic not in OF_MEASURES:
        if request.measures:
            problems.append(FieldProblem("measures", f"{statistic.name} has none; leave it out."))
        return ()
    known = [measure.name for measure in dataset.descriptor.measures]
    for place, name in enumerate(request.measures):
        path = f"measures[{place}]"
        if name not in known:
            problems.append(FieldProblem(path, unknown("measure", name, known)))
        elif name in request.measures[:place]:
            problems.append(FieldProblem(path, f"{name} stands twice; name it once."))
    if len(request.measures) < 2:
        problems.append(FieldProblem("measures", f"{statistic.name} needs two measures or more."))
    return tuple(request.measures)


def _factors(
    dataset: Dataset, statistic: Statistic, request: pb.QueryStatisticRequest, problems: list[FieldProblem]
) -> tuple[Level, ...]:
    if statistic not in OF_FACTORS:
        if request.factors:
            problems.append(FieldProblem("factors", f"{statistic.name} has none; leave it out."))
        return ()
    number = len(request.factors)
    if statistic is Statistic.CHI_SQUARED_TEST and number != 2:
        problems.append(FieldProblem("factors", "A chi-squared test has two variables; name two."))
    elif not number:
        problems.append(FieldProblem("factors", f"{statistic.name} needs a variable; name one or more."))
    return _levels(dataset, request.factors, "factors", problems)


def _counted(
    dataset: Dataset,
    request: pb.QueryStatisticRequest,
    field: str,
    needed: bool,
    problems: list[FieldProblem],
) -> Condition | None:
    """What is counted: some of the codes of a variable, and not all of them."""
    given = request.HasField(field)
    if given != needed:
        message = (
            "Name a variable and some of its codes." if needed else "This statistic has none; leave it out."
        )
        problems.append(FieldProblem(field, message))
        return None
    if not given:
        return None
    inner: list[FieldProblem] = []
    conditions = conditions_asked(dataset, [getattr(request, field)], inner)
    problems.extend(
        FieldProblem(problem.path.replace("filter[0]", field), problem.message) for problem in inner
    )
    if inner:
        return None
    codes = set(conditions[0].codes) if conditions else set()
    everybody = set(dataset.level(conditions[0].variable, conditions[0].level).codes) if conditions else set()
    if MISSING in codes or codes >= everybody - {MISSING}:
        message = (
            "Name some of the codes, not all, and not the missing one: records without a value do not count."
        )
        problems.append(FieldProblem(f"{field}.codes", message))
        return None
    return conditions[0]


def _mode_of(
    dataset: Dataset, request: pb.QueryStatisticRequest, statistic: Statistic, problems: list[FieldProblem]
) -> Level | None:
    given, needed = request.HasField("mode_of"), statistic is Statistic.MODE
    if given != needed:
        message = "Name the variable whose mode is wanted." if needed else "Only MODE has it; leave it out."
        problems.append(FieldProblem("mode_of", message))
    if not given:
        return None
    asked = request.mode_of
    level = level_asked(dataset, asked.variable, asked.level, "mode_of", problems)
    return None if level is None else (asked.variable, level)


def _unfit(plan: StatisticPlan) -> list[FieldProblem]:
    """What does not go together."""
    found = []
    name = plan.statistic.name
    if plan.weighted and not plan.dataset.weighted:
        found.append(FieldProblem("weighted", f"{plan.dataset.name} has no weights; leave it out."))
    elif plan.weighted and plan.statistic in UNWEIGHTED:
        found.append(FieldProblem("weighted", f"{name} is about the units that are there; leave it out."))
    if plan.errors and plan.statistic not in WITH_ERRORS:
        found.append(FieldProblem("standard_errors", f"{name} has none; leave it out."))
    if plan.png and not plan.picture:
        found.append(FieldProblem("png", "It is of drawings; ask `picture`, too."))
    elif plan.png and not can_render():
        found.append(FieldProblem("png", NO_PNG))
    if plan.picture and plan.statistic not in DRAWN_FROM:
        kinds = ", ".join(sorted(kind.name for kind in DRAWN_FROM))
        message = f"{name} has none; {kinds} have. Leave it out, or have bars drawn of the answer."
        found.append(FieldProblem("picture", message))
    groups = prod(len(plan.dataset.level(*level).codes) for level in plan.groups)
    if groups > MOST_DRAWN and (plan.picture or plan.statistic in OF_MANY_POINTS):
        message = f"At most {MOST_DRAWN} groups are drawn; these are {groups}. Ask coarser ones."
        found.append(FieldProblem("groups", message))
    used = [variable for variable, _ in (*plan.groups, *plan.counted)]
    for variable in dict.fromkeys(used):
        if used.count(variable) > 1:
            message = f"{variable} is used twice, as a group or as what is counted; use it once."
            found.append(FieldProblem("groups", message))
    for condition in plan.population:
        if not condition.codes:
            message = f"Only missing values of {condition.variable} are chosen, of which nothing is counted."
            found.append(FieldProblem("filter", message))
    return found
