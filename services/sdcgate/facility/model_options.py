"""The options of a model query: what is wrong with them, and what they name."""

from collections.abc import Iterator, Sequence

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Condition
from sdcgate.facility.model_vocabulary import vocabulary
from sdcgate.facility.plan import unknown
from sdcgate.methods.outputs.design import VariableLevel
from sdcgate.methods.outputs.fits import Family, FitOptions
from sdcgate.methods.outputs.formula import Classes, Formula, Numeric, Outcome, Survival
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.formula_tokens import FormulaError
from sdcgate.methods.outputs.sandwich import Covariance
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

MEDIAN = 0.5
OF_EVENTS = frozenset({Family.LOGIT, Family.PROBIT})
"""Families whose outcome is one class against the others."""
OF_CLASSES = frozenset({Family.MULTINOMIAL_LOGIT, Family.ORDERED_LOGIT})
WITH_GROUPS = frozenset({Family.FIXED_EFFECTS, Family.MIXED})
WITH_A_BASELINE = frozenset({Family.COX, Family.ORDERED_LOGIT, Family.FIXED_EFFECTS})
"""Families that have a baseline, thresholds or groups in place of a constant."""
ERRORS_OF_THEIR_OWN = OF_CLASSES | {Family.NEGATIVE_BINOMIAL, Family.QUANTILE, Family.MIXED, Family.COX}
WITHOUT_WEIGHTS = ERRORS_OF_THEIR_OWN | {Family.FIXED_EFFECTS, Family.TWO_STAGE}
UNIT = "unit"
"""What groups are called where each unit is one."""


def fit_options(request: pb.QueryModelRequest) -> FitOptions:
    """Family and errors: of the design where weights are used and nothing is said, otherwise classical."""
    usual = Covariance.DESIGN if request.weighted else Covariance.CLASSICAL
    asked = int(request.standard_errors)
    covariance = Covariance(asked) if asked in list(Covariance) else usual
    return FitOptions(Family(request.kind), covariance, quantile=request.quantile or MEDIAN)


def wrong_options(
    dataset: Dataset, request: pb.QueryModelRequest, options: FitOptions, points: Sequence[float]
) -> Iterator[FieldProblem]:
    """What is wrong with weights, errors and quantile; `points` are the quantiles that the policy has.

    Of any quantile two that lie a record apart would tell that record by their difference.
    """
    if request.weighted and not dataset.weighted:
        yield FieldProblem("weighted", f"{dataset.name} has no weights; leave it out.")
    if request.weighted and options.family in WITHOUT_WEIGHTS:
        yield FieldProblem("weighted", f"{options.family.name} is fitted without weights; leave it out.")
    if request.weighted and options.covariance is not Covariance.DESIGN:
        yield FieldProblem("standard_errors", "Weighted estimates have errors of the design: DESIGN.")
    if options.covariance is Covariance.DESIGN and not request.weighted:
        yield FieldProblem("standard_errors", "Errors of the design need weights: set `weighted`.")
    named = options.covariance is not Covariance.CLASSICAL and request.standard_errors
    if options.family in ERRORS_OF_THEIR_OWN and named:
        message = f"{options.family.name} has errors of its own; leave it out."
        yield FieldProblem("standard_errors", message)
    if options.family is Family.QUANTILE:
        if options.quantile not in points:
            listed = ", ".join(f"{point:g}" for point in points)
            yield FieldProblem("quantile", f"The policy has the quantiles {listed}; name one of them.")
    elif request.quantile:
        yield FieldProblem("quantile", "Only QUANTILE has one; leave it out.")


def groups_asked(
    dataset: Dataset, request: pb.QueryModelRequest, family: Family, problems: list[FieldProblem]
) -> VariableLevel | None:
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


def instruments_asked(
    dataset: Dataset, request: pb.QueryModelRequest, family: Family, problems: list[FieldProblem]
) -> Formula | None:
    """The formula of the instruments of two-stage least squares; None where there is none."""
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


def filtered_away(
    dataset: Dataset, population: Sequence[Condition], outcome: object, groups: VariableLevel | None
) -> list[FieldProblem]:
    """That a filter leaves no event or nothing else, or one group alone: the codes tell it without data."""
    left = {condition.variable: condition for condition in population}
    found = []
    classes = outcome.status if isinstance(outcome, Survival) else outcome
    if isinstance(classes, Classes) and classes.event:
        variable = classes.factor.variable
        codes = _codes_left(dataset, left[variable], classes.factor.level)
        if classes.event not in codes or (isinstance(outcome, Classes) and len(codes) == 1):
            message = f"The filter on {variable} leaves no event, or nothing else: choose more codes."
            found.append(FieldProblem("filter", message))
    if groups and len(_codes_left(dataset, left[groups[0]], groups[1])) == 1:
        found.append(
            FieldProblem("filter", f"The filter leaves one group of {groups[0]}: choose more codes.")
        )
    return found


def _codes_left(dataset: Dataset, condition: Condition, level: str) -> list[str]:
    """Codes of a level of which a condition on the variable leaves some."""
    chosen = dataset.mask(condition.variable, condition.level, condition.codes)
    asked = dataset.level(condition.variable, level)
    return [asked.codes[position] for position in asked.reached(chosen)]


def unfit(formula: Formula, family: Family) -> list[FieldProblem]:
    """Where formula and family do not go together."""
    if formula.outcome is None:
        return [FieldProblem("formula", "Name the outcome before `~`.")]
    message = _unfit_outcome(formula.outcome, family)
    if not message and family in WITH_A_BASELINE and not (formula.intercept and any(formula.terms)):
        message = f"{family.name} has a baseline of its own: leave `- 1` out and name at least one term."
    return [FieldProblem("formula", message)] if message else []


def _unfit_outcome(outcome: Outcome, family: Family) -> str:
    name, classes = family.name, isinstance(outcome, Classes)
    if family in OF_EVENTS and not (isinstance(outcome, Classes) and outcome.event):
        return f'{name} needs an outcome of one class: `C(variable, event="code") ~ ...`.'
    if family in OF_CLASSES and not (isinstance(outcome, Classes) and not outcome.event):
        return f"{name} needs a variable as its outcome: `variable ~ ...`."
    if family is Family.COX and not isinstance(outcome, Survival):
        return 'COX needs a time and what ends it: `surv(months, C(died, event="1")) ~ ...`.'
    of_numbers = family not in OF_EVENTS | OF_CLASSES | {Family.COX}
    if of_numbers and (classes or not isinstance(outcome, Numeric)):
        return f"{name} needs a measure as its outcome."
    return ""
