"""Models and statistics in a file, judged by rules here: what `sdcgate check` does beside tables."""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdcgate.methods.outputs.model_checks import ModelFinding
    from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
    from sdcgate.policy.effective import EffectivePolicy

TABLE, MODEL, STATISTIC = "table", "model", "statistic"
_OF_MODELS = frozenset({"parameters", "residual_degrees", "columns", "terms", "maximum_leverage"})
SHOWN = 20


def kind_of(body: bytes) -> str:
    """What a body is about: a statistic has a `kind`, a model facts of its columns, and a table is the rest.

    Raises:
        ValueError: it is a request, which is answered and not checked.
    """
    try:
        content = json.loads(body)
    except ValueError:
        return TABLE  # whose reader says where it cannot be read
    if not isinstance(content, dict):
        return TABLE
    if "formula" in content or ("facts" not in content and ("kind" in content or "rows" in content)):
        raise ValueError(
            "this is a request, which has no facts: ask it with `sdcgate query`, or hand it in with --dataset"
        )
    facts = content.get("facts")
    if "dimensions" in content or not isinstance(facts, dict):
        return TABLE
    if "kind" in content or "groups" in facts:
        return STATISTIC
    return MODEL if _OF_MODELS & facts.keys() else TABLE


def judged_model(body: bytes, policy: "EffectivePolicy | None") -> list[str]:
    """What rules find in a model, its own if no policy is given; nothing where it passes.

    Raises:
        ValueError: with all that is wrong, each with its path.
    """
    from sdcgate.methods.outputs.model_checks import assess_model
    from sdcgate.wire.json import from_json
    from sdcgate.wire.model_facts import facts_from_message, rules_from_message, rules_to_message
    from sdcgate.wire.problems import InvalidMessageError
    from sdcgate.wire.validation import violations
    from sdcgate_proto.sdcgate.risk.v1.models_pb2 import AssessModelRequest

    try:
        request = from_json(body, AssessModelRequest)
        if policy is not None:
            request.rules.CopyFrom(rules_to_message(policy.models.rules))
        if problems := violations(request):
            raise InvalidMessageError(problems)
        facts = facts_from_message(request.facts)
    except InvalidMessageError as error:
        raise ValueError("\n".join(map(str, error.problems))) from None
    columns, terms = ([one.name for one in request.facts.columns], [one.text for one in request.facts.terms])
    found = assess_model(facts, rules_from_message(request.rules))
    return [line for finding in found for line in _of_model(finding, columns, terms)]


def _of_model(finding: "ModelFinding", columns: list[str], terms: list[str]) -> list[str]:
    at = [columns[place] for place in finding.columns] + [terms[place] for place in finding.terms]
    figures = f"{finding.figure:g}, allowed {finding.bound:g}"
    return [f"{finding.rule.name} ({finding.consequence.name.lower()}): {figures}", *_places(at)]


def judged_statistic(body: bytes, policy: "EffectivePolicy | None") -> tuple[list[str], bool]:
    """What rules find in a statistic, its own if no policy is given, and whether it passes; raises alike."""
    from sdcgate.methods.outputs.statistic_assessment import assess_statistic
    from sdcgate.methods.positions import FactsError
    from sdcgate.wire.json import from_json
    from sdcgate.wire.problems import InvalidMessageError
    from sdcgate.wire.statistic_facts import statistic_to_assess, unfit
    from sdcgate_proto.sdcgate.risk.v1.statistics_pb2 import AssessStatisticRequest

    try:
        request = from_json(body, AssessStatisticRequest)
        if policy is not None:
            request.rules.Clear()
            request.rules.cells.SetInParent()
        asked = statistic_to_assess(request)
        rules = asked.rules if policy is None else policy.statistic_rules
        found = assess_statistic(asked.statistic, asked.facts, rules, asked.errors)
    except InvalidMessageError as error:
        raise ValueError("\n".join(map(str, error.problems))) from None
    except FactsError as error:
        raise ValueError("\n".join(map(str, unfit(error)))) from None
    return _of_statistic(found), not found.findings and not found.unchecked


def _of_statistic(found: "StatisticAssessment") -> list[str]:
    lines = []
    for finding in found.findings:
        of = f" of {finding.measure}" if finding.measure else ""
        figures = "" if finding.cells else f": {finding.figure:g}, allowed {finding.bound:g}"
        lines.append(f"{finding.rule.name} ({finding.consequence.name.lower()}){of}{figures}")
        lines += _places([f"group {group}" for group in finding.cells])
    if found.unchecked:
        rules = ", ".join(rule.name for rule in found.unchecked)
        lines.append(f"not judged: {rules}; what is absent: {', '.join(found.absent)}")
    return lines


def _places(names: list[Any]) -> list[str]:
    more = [f"  and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return [*(f"  {name}" for name in names[:SHOWN]), *more]
