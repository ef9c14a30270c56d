"""Tables, models and statistics in a file, judged by rules here: `sdcgate check` without --dataset."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from math import isnan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdcgate.methods.outputs.model_checks import ModelFinding
    from sdcgate.methods.outputs.printed_estimates import EstimateProblem
    from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
    from sdcgate.methods.rules import Finding, ReasonCode
    from sdcgate.methods.tables.assessment import Assessment
    from sdcgate.policy.effective import EffectivePolicy
    from sdcgate.wire.risk import TableToAssess

TABLE, MODEL, STATISTIC, FIGURES = "table", "model", "statistic", "model's figures"
_OF_MODELS = frozenset({"parameters", "residual_degrees", "columns", "terms", "maximum_leverage"})
SHOWN = 20
OF_A_JOB = (
    "this is {what}, and only JSON with the facts of one table, model or statistic is judged here. Hand in "
    "what a job printed with --dataset NAME: each output of it is computed again from that dataset and gets "
    "a verdict"
)
NO_FACTS = (
    "not judged: no rule, as no facts of it are given (`facts`, as `POST /v1/risk:assessModel` takes them)"
)
NOT_VERIFIED = (
    "not verified: {names}; only the dataset can tell whether they are right. Hand in the request with its "
    "figures, with --dataset, and they are computed again."
)


def judged(body: bytes, policy: "EffectivePolicy | None") -> tuple[str, list[str], bool]:
    """What a body is, what rules find in it, its own if no policy is given, and whether it passes.

    Raises:
        ValueError: with all that is wrong with it, each with its path.
    """
    kind = _kind_of(body)
    judge = {
        TABLE: _judged_table,
        MODEL: _judged_model,
        STATISTIC: _judged_statistic,
        FIGURES: _judged_figures,
    }[kind]
    return MODEL if kind == FIGURES else kind, *judge(body, policy)


def _kind_of(body: bytes) -> str:
    """What a body is about: a statistic has a `kind`, a model facts of its columns, and a table is the rest.

    Raises:
        ValueError: it is a request, which is answered and not checked, or what a job printed.
    """
    if not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        raise ValueError(OF_A_JOB.format(what="no JSON"))
    try:
        content = json.loads(body)
    except ValueError:
        return TABLE  # whose reader says where it cannot be read
    if not isinstance(content, dict):
        return TABLE
    if "results" in content and "version" in content:
        raise ValueError(OF_A_JOB.format(what="ACRO's list of its outputs"))
    if "formula" in content and "coefficients" in content:
        return FIGURES
    if "formula" in content or ("facts" not in content and ("kind" in content or "rows" in content)):
        raise ValueError(
            "this has no facts to be judged by: ask it with `sdcgate query`, or hand it in with --dataset, "
            "where the figures that it has are computed again"
        )
    facts = content.get("facts")
    if "dimensions" in content or not isinstance(facts, dict):
        return TABLE
    if "kind" in content or "groups" in facts:
        return STATISTIC
    return MODEL if _OF_MODELS & facts.keys() else TABLE


def _judged_table(body: bytes, policy: "EffectivePolicy | None") -> tuple[list[str], bool]:
    from sdcgate.methods.positions import FactsError
    from sdcgate.methods.tables.assessment import assess_table
    from sdcgate.wire.json import from_json
    from sdcgate.wire.problems import InvalidMessageError
    from sdcgate.wire.risk import table_to_assess
    from sdcgate.wire.rules import rules_to_message
    from sdcgate.wire.tables import facts_problems
    from sdcgate_proto.sdcgate.risk.v1.risk_pb2 import AssessTableRequest

    try:
        request = from_json(body, AssessTableRequest)
        if policy is not None:
            request.rules.CopyFrom(rules_to_message(policy.rules))
        table = table_to_assess(request)
        found = assess_table(table.axes, table.facts, table.rules, table.base_units, table.key)
    except InvalidMessageError as error:
        raise ValueError("\n".join(map(str, error.problems))) from None
    except FactsError as error:
        problems = facts_problems(error, request.facts, table.order)
        raise ValueError("\n".join(map(str, problems))) from None
    return _lines(found, lambda finding: _cells(table, finding)), not (found.findings or found.unchecked)


def _cells(table: "TableToAssess", finding: "Finding") -> Iterator[str]:
    """The cells of a finding, each with how uncertain it has to stay."""
    from sdcgate.methods.cells import cell_codes

    codes = cell_codes(table.axes)
    for place, cell in enumerate(finding.cells):
        name = "/".join(axis.codes[codes[at, cell]] for at, axis in enumerate(table.axes))
        told = [
            f"{side} {levels[place]:g}"
            for side in ("upper", "lower", "sliding")
            if (levels := getattr(finding.levels, side))
        ]
        yield name + (f": {', '.join(told)}" if told else "")


def _judged_model(body: bytes, policy: "EffectivePolicy | None") -> tuple[list[str], bool]:
    from sdcgate.methods.outputs.model_checks import assess_model, unjudged
    from sdcgate.wire.json import from_json
    from sdcgate.wire.model_facts import facts_from_message, rules_from_message, rules_to_message
    from sdcgate.wire.printed_models import printed_problems, unverified
    from sdcgate.wire.problems import InvalidMessageError
    from sdcgate.wire.validation import violations
    from sdcgate_proto.sdcgate.risk.v1.models_pb2 import AssessModelRequest

    try:
        request = from_json(body, AssessModelRequest)
        if policy is not None:
            request.rules.CopyFrom(rules_to_message(policy.models.rules))
            request.significant_digits = policy.models.significant_digits
            request.counts_base = policy.models.counts_base
        if problems := violations(request):
            raise InvalidMessageError(problems)
        facts = facts_from_message(request.facts)
    except InvalidMessageError as error:
        raise ValueError("\n".join(map(str, error.problems))) from None
    columns, terms = ([one.name for one in request.facts.columns], [one.text for one in request.facts.terms])
    rules = rules_from_message(request.rules)
    found = assess_model(facts, rules)
    lines = [line for finding in found for line in _of_model(finding, columns, terms)]
    lines += _unjudged(*unjudged(facts, rules))
    printed = [one.name for one in request.printed.coefficients]
    told = [_of_printed(problem, printed) for problem in printed_problems(request, facts, rules)]
    unknown = unverified(request.printed)
    if unknown:
        told.append(NOT_VERIFIED.format(names=", ".join(unknown)))
    return lines + told, not (found or told)


def _judged_figures(body: bytes, policy: "EffectivePolicy | None") -> tuple[list[str], bool]:
    """A model that a job printed, without facts: its figures are held against each other, and never pass."""
    from sdcgate.facility.results.own_figures import names_of, never_leaving
    from sdcgate.wire.json import from_value, parse
    from sdcgate.wire.printed_models import problems_of_figures, unverified
    from sdcgate.wire.problems import InvalidMessageError
    from sdcgate_proto.sdcgate.facility.v1.facility_pb2 import QueryModelRequest
    from sdcgate_proto.sdcgate.types.v1.model_pb2 import Model

    try:
        found = parse(body)
        asked = names_of(QueryModelRequest) - names_of(Model)
        if held := sorted(never_leaving(found)):
            raise ValueError("\n".join(held))
        model = from_value({name: value for name, value in found.items() if name not in asked}, Model)
    except InvalidMessageError as error:
        raise ValueError("\n".join(map(str, error.problems))) from None
    limits = policy.models if policy is not None else None
    problems = problems_of_figures(
        model, limits.significant_digits if limits else 0, limits.counts_base if limits else 0
    )
    printed = [one.name for one in model.coefficients]
    lines = [_of_printed(problem, printed) for problem in problems]
    return [*lines, NO_FACTS, NOT_VERIFIED.format(names=", ".join(unverified(model)))], False


def _of_printed(problem: "EstimateProblem", names: list[str]) -> str:
    of = "" if problem.coefficient is None else f" of {names[problem.coefficient]}"
    return f"printed {problem.figure}{of}: {problem.message}"


def _of_model(finding: "ModelFinding", columns: list[str], terms: list[str]) -> list[str]:
    at = [columns[place] for place in finding.columns] + [terms[place] for place in finding.terms]
    told = "not given" if isnan(finding.figure) else f"{finding.figure:g}"
    figures = f"{told}, allowed {finding.bound:g}"
    return [f"{finding.rule.name} ({finding.consequence.name.lower()}): {figures}", *_places(at, len(at))]


def _judged_statistic(body: bytes, policy: "EffectivePolicy | None") -> tuple[list[str], bool]:
    from sdcgate.methods.outputs.statistic_assessment import assess_statistic
    from sdcgate.methods.positions import FactsError
    from sdcgate.wire.json import from_json
    from sdcgate.wire.printed_statistics import printed_problems, unverified
    from sdcgate.wire.problems import InvalidMessageError
    from sdcgate.wire.statistic_facts import statistic_to_assess, unfit
    from sdcgate_proto.sdcgate.risk.v1.statistics_pb2 import AssessStatisticRequest

    try:
        request = from_json(body, AssessStatisticRequest)
        if policy is not None:
            request.rules.Clear()
            request.rules.cells.SetInParent()
            request.significant_digits = policy.statistics.significant_digits
        asked = statistic_to_assess(request)
        rules = asked.rules if policy is None else policy.statistic_rules
        found = assess_statistic(asked.statistic, asked.facts, rules, asked.errors)
    except InvalidMessageError as error:
        raise ValueError("\n".join(map(str, error.problems))) from None
    except FactsError as error:
        raise ValueError("\n".join(map(str, unfit(error)))) from None
    lines = _lines(found, lambda finding: (f"group {group}" for group in finding.cells))
    for problem in printed_problems(request, asked, found):
        groups = [f"group {group}" for group in problem.groups]
        lines += [f"printed {problem.figure}: {problem.message}", *_places(groups, len(groups))]
    if unknown := unverified(request):
        lines.append(NOT_VERIFIED.format(names=", ".join(unknown)))
    return lines, not (found.findings or found.unchecked or unknown)


def _lines(
    found: "Assessment | StatisticAssessment", names: "Callable[[Finding], Iterable[str]]"
) -> list[str]:
    """What was found, a line a rule and a line for each of its `names`, and what could not be judged."""
    lines = []
    for finding in found.findings:
        of = f" of {finding.measure}" if finding.measure else ""
        figures = "" if finding.cells else f": {finding.figure:g}, allowed {finding.bound:g}"
        lines.append(f"{finding.rule.name} ({finding.consequence.name.lower()}){of}{figures}")
        lines += _places(names(finding), len(finding.cells))
    return lines + _unjudged(found.unchecked, found.absent)


def _unjudged(rules: Iterable["ReasonCode"], absent: Iterable[str]) -> list[str]:
    """That rules were not judged for want of facts; nothing where all were."""
    names = ", ".join(rule.name for rule in rules)
    return [f"not judged: {names}; what is absent: {', '.join(absent)}"] if names else []


def _places(names: Iterable[str], number: int) -> list[str]:
    """The first names, of so many."""
    more = [f"  and {number - SHOWN} more"] if number > SHOWN else []
    return [*(f"  {name}" for name in islice(names, SHOWN)), *more]
