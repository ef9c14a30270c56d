"""Facts of models, rules on them and what these find, between messages and dataclasses."""

import re
from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from sdcgate.methods.outputs import model_rules as r
from sdcgate.methods.outputs.model_checks import ModelFinding
from sdcgate.methods.outputs.model_facts import NOT_GIVEN, ColumnFacts, ModelFacts, TermFacts
from sdcgate.methods.rules import ReasonCode
from sdcgate.wire.problems import FieldProblem, InvalidMessageError
from sdcgate.wire.rules import consequence, reason_code
from sdcgate_proto.sdcgate.risk.v1 import models_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2

GREATEST = 1e300
LEAST = 1e-300
"""Told in place of 0, which says that nothing was given."""
CONSTANT_TERM = "1"
CODES = re.compile(r"\[[^\]]*\]")
"""A category in the name of a coefficient."""
ROUNDED = 0.02
"""More than what a share adds may seem to exceed the one before by rounding to two digits."""
FEWER = "add up to fewer than the model's units, each of which is in at least one"


def facts_to_message(facts: ModelFacts) -> models_pb2.ModelFacts:
    """Write facts."""
    message = models_pb2.ModelFacts(
        units=facts.units,
        records=facts.records,
        parameters=facts.parameters,
        residual_degrees=facts.residual_degrees,
        maximum_leverage=_finite(facts.maximum_leverage),
        r_squared=facts.r_squared,
        exact_share=facts.exact_share,
        residual_share=facts.residual_share,
        outcome_units=facts.outcome_units.tolist(),
        separated=facts.separated,
        implied_table=facts.implied_table is not None,
        pattern_units=facts.pattern_units.tolist(),
    )
    columns = facts.columns
    for place, (name, term) in enumerate(zip(columns.names, columns.terms, strict=True)):
        message.columns.add(
            name=name,
            term=term,
            units_apart=int(columns.units_apart[place]),
            largest_shares=columns.largest_shares[place].tolist(),
            dfbetas=max(_finite(float(columns.dfbetas[place])), LEAST),
        )
    for one in facts.terms:
        message.terms.add(
            text=one.text,
            units=one.units.tolist(),
            saturated=one.saturated,
            class_units=one.class_units.ravel().tolist(),
        )
    return message


def facts_from_message(message: models_pb2.ModelFacts, path: str = "facts") -> ModelFacts:
    """Read facts. A fact that is not given is as bad as it can be, so that its rule fails.

    Raises InvalidMessageError with all that contradicts itself.
    """
    if problems := list(_contradictions(message, path)):
        raise InvalidMessageError(problems)
    ranks = min((len(column.largest_shares) for column in message.columns), default=0)
    return ModelFacts(
        family="",
        units=message.units,
        records=message.records,
        parameters=message.parameters,
        residual_degrees=message.residual_degrees,
        columns=ColumnFacts(
            names=tuple(column.name for column in message.columns),
            terms=tuple(column.term for column in message.columns),
            units_apart=np.array([_apart(column, message) for column in message.columns], dtype=np.int64),
            largest_shares=np.array(
                [list(column.largest_shares)[:ranks] or [np.nan] for column in message.columns]
            ).reshape(len(message.columns), max(ranks, 1)),
            dfbetas=np.array([column.dfbetas or np.nan for column in message.columns]),
        ),
        terms=tuple(_term(term) for term in message.terms),
        maximum_leverage=message.maximum_leverage if message.HasField("maximum_leverage") else np.nan,
        r_squared=message.r_squared if message.HasField("r_squared") else None,
        exact_share=message.exact_share if message.HasField("exact_share") else np.nan,
        residual_share=message.residual_share if message.HasField("residual_share") else None,
        outcome_units=np.array(message.outcome_units, dtype=np.int64),
        separated=message.separated,
        implied_table=(("", ""),) if message.implied_table else None,
        pattern_units=np.array(message.pattern_units, dtype=np.int64),
    )


def _apart(column: models_pb2.ColumnFacts, message: models_pb2.ModelFacts) -> int:
    """Units apart; not needed of the constant, and of factors, of whose categories the units are given."""
    term = message.terms[column.term]
    of_factors = bool(term.units) and not _has_a_number(column.name)
    return column.units_apart or (0 if of_factors or term.text == CONSTANT_TERM else NOT_GIVEN)


def _has_a_number(name: str) -> bool:
    """Whether a coefficient is of a number within a category, as `site[T.2]:income`: a part without a code.

    A category of many may hold few who have another value of the number than all others have.
    """
    parts = CODES.sub("[]", name).split(":")
    return len({"[]" in part for part in parts}) > 1


def _term(message: models_pb2.TermFacts) -> TermFacts:
    classes = np.array(message.class_units, dtype=np.int64)
    return TermFacts(
        text=message.text,
        factors=(("", ""),) if message.units else (),
        units=np.array(message.units, dtype=np.int64),
        class_units=classes.reshape(len(message.units), -1) if len(classes) else np.zeros((0, 0), np.int64),
        saturated=message.saturated,
    )


def _contradictions(message: models_pb2.ModelFacts, path: str) -> Iterable[FieldProblem]:
    if not message.columns:
        yield FieldProblem(f"{path}.columns", "is empty; send one for each coefficient")
    yield from _of_columns(message, path)
    yield from _of_terms(message, path)
    if message.units > message.records:
        yield FieldProblem(f"{path}.units", "exceeds the records: each unit has at least one")
    # Each coefficient is a parameter, also where the number of these is not given.
    parameters = max(message.parameters, len(message.columns))
    if message.residual_degrees > max(message.records - parameters, 0):
        yield FieldProblem(f"{path}.residual_degrees", "exceeds the records without the parameters")
    # A unit on the plane of a quantile is on neither side, and its records are fitted exactly.
    on_neither = message.exact_share * message.records
    if message.outcome_units and sum(message.outcome_units) + on_neither < message.units - 0.5:
        yield FieldProblem(f"{path}.outcome_units", FEWER)
    for name in ("outcome_units", "pattern_units"):
        if any(not 0 <= units <= message.units for units in getattr(message, name)):
            yield FieldProblem(f"{path}.{name}", "must lie between 0 and the model's units")
    for name in ("maximum_leverage", "r_squared", "exact_share", "residual_share"):
        if message.HasField(name) and not np.isfinite(getattr(message, name)):
            yield FieldProblem(f"{path}.{name}", "must be a finite number")


def _of_columns(message: models_pb2.ModelFacts, path: str) -> Iterable[FieldProblem]:
    for place, column in enumerate(message.columns):
        where = f"{path}.columns[{place}]"
        if column.term >= len(message.terms):
            yield FieldProblem(f"{where}.term", f"is beyond the {len(message.terms)} terms")
        if column.units_apart > message.units:
            yield FieldProblem(f"{where}.units_apart", "exceeds the model's units")
        if not np.isfinite([*column.largest_shares, column.dfbetas]).all():
            yield FieldProblem(where, "must be finite numbers")
        shares = np.array(column.largest_shares)
        if ((shares < 0) | (shares > 1)).any() or (np.diff(shares) < 0).any():
            yield FieldProblem(f"{where}.largest_shares", "must be shares from 0 to 1 that do not fall")
        elif (np.diff(shares, n=2, prepend=0.0) > ROUNDED).any():
            yield FieldProblem(f"{where}.largest_shares", "must be of the largest first: none adds more")


def _of_terms(message: models_pb2.ModelFacts, path: str) -> Iterable[FieldProblem]:
    for place, term in enumerate(message.terms):
        where = f"{path}.terms[{place}]"
        if any(not 0 <= units <= message.units for units in term.units):
            yield FieldProblem(f"{where}.units", "must lie between 0 and the model's units")
        if term.units and sum(term.units) < message.units:
            yield FieldProblem(f"{where}.units", FEWER)
        if term.units and message.units == message.records < sum(term.units):
            yield FieldProblem(
                f"{where}.units", "add up to more than the units, each of which has one record"
            )
        if len(term.class_units) % max(len(term.units), 1) or (term.class_units and not term.units):
            yield FieldProblem(f"{where}.class_units", "must have as many classes for each of the units")
        elif term.class_units:
            yield from _of_classes(message, term, f"{where}.class_units")


def _of_classes(
    message: models_pb2.ModelFacts, term: models_pb2.TermFacts, path: str
) -> Iterable[FieldProblem]:
    units = np.array(term.units)
    classes = np.array(term.class_units).reshape(len(units), -1)
    if ((classes < 0) | (classes > units[:, None])).any():
        yield FieldProblem(path, "must lie between 0 and the units of their combination")
    if (classes.sum(axis=1) + message.exact_share * message.records < units - 0.5).any():
        yield FieldProblem(path, "add up to fewer than the units of a combination, each of which has a class")


def rules_to_message(rules: r.ModelRules) -> models_pb2.ModelRules:
    """Write rules; what is not judged is not set."""
    message = models_pb2.ModelRules()
    if rules.residual_degrees:
        _minimum(message.residual_degrees, rules.residual_degrees.degrees, rules.residual_degrees)
    if rules.categories:
        _minimum(message.categories, rules.categories.units, rules.categories)
    if rules.outcome_class:
        _minimum(message.outcome_class, rules.outcome_class.units, rules.outcome_class)
    if rules.leverage:
        message.leverage.value = rules.leverage.leverage
        message.leverage.consequence = _wire(rules.leverage)
    if rules.parameters:
        message.parameters.value = rules.parameters.per_unit
        message.parameters.consequence = _wire(rules.parameters)
    if (influence := rules.influence) is not None:
        message.influence.largest, message.influence.share = influence.largest, influence.share
        message.influence.dfbetas, message.influence.consequence = influence.dfbetas, _wire(influence)
    if (fit := rules.fit) is not None:
        message.fit.r_squared, message.fit.exact_share = fit.r_squared, fit.exact_share
        message.fit.residual_share, message.fit.consequence = fit.residual_share, _wire(fit)
    if rules.saturation:
        message.saturation.consequence = _wire(rules.saturation)
    return message


def rules_from_message(message: models_pb2.ModelRules) -> r.ModelRules:
    """Read rules; what is not set is not judged."""
    m, read = message, consequence
    given = m.HasField
    return r.ModelRules(
        residual_degrees=r.MinimumResidualDegrees(
            m.residual_degrees.count, read(m.residual_degrees.consequence)
        )
        if given("residual_degrees")
        else None,
        categories=r.MinimumCategory(m.categories.count, read(m.categories.consequence))
        if given("categories")
        else None,
        influence=r.MaximumInfluence(
            m.influence.largest, m.influence.share, read(m.influence.consequence), m.influence.dfbetas
        )
        if given("influence")
        else None,
        leverage=r.MaximumLeverage(m.leverage.value, read(m.leverage.consequence))
        if given("leverage")
        else None,
        fit=r.MaximumFit(m.fit.r_squared, m.fit.exact_share, read(m.fit.consequence), m.fit.residual_share)
        if given("fit")
        else None,
        outcome_class=r.MinimumOutcomeClass(m.outcome_class.count, read(m.outcome_class.consequence))
        if given("outcome_class")
        else None,
        parameters=r.MaximumParameters(m.parameters.value, read(m.parameters.consequence))
        if given("parameters")
        else None,
        saturation=r.NoImpliedTable(read(m.saturation.consequence)) if given("saturation") else None,
    )


def findings_to_message(
    findings: Iterable[ModelFinding], unchecked: Iterable[ReasonCode] = (), absent: Iterable[str] = ()
) -> models_pb2.AssessModelResponse:
    """Write findings, and what could not be judged for want of which facts."""
    response = models_pb2.AssessModelResponse(
        unchecked=[cast("policy_pb2.ReasonCode", int(rule)) for rule in unchecked], absent=absent
    )
    for finding in findings:
        response.findings.add(
            rule=cast("policy_pb2.ReasonCode", int(finding.rule)),
            consequence=_wire(finding),
            columns=finding.columns,
            terms=finding.terms,
            figure=finding.figure,
            bound=finding.bound,
        )
    return response


def findings_from_message(message: models_pb2.AssessModelResponse, columns: int) -> tuple[ModelFinding, ...]:
    """Read findings on a model of so many columns. Raises ValueError where they make no sense."""
    found = []
    for one in message.findings:
        if any(place >= columns for place in one.columns):
            raise ValueError("a finding is about a column that the model does not have")
        found.append(
            ModelFinding(
                reason_code(one.rule),
                consequence(one.consequence),
                tuple(one.columns),
                tuple(one.terms),
                one.figure,
                one.bound,
            )
        )
    return tuple(found)


def _finite(figure: float) -> float:
    """A figure that is beyond all bounds, or no number, as the greatest there is."""
    return float(np.nan_to_num(figure, nan=GREATEST, posinf=GREATEST))


def _minimum(message: models_pb2.ModelRules.Minimum, count: int, rule: Any) -> None:
    message.count, message.consequence = count, _wire(rule)


def _wire(rule: Any) -> policy_pb2.Consequence:
    return cast("policy_pb2.Consequence", int(rule.consequence))
