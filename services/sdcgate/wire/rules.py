"""Rules of a policy and their findings between messages and dataclasses."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import cast

import numpy as np

from sdcgate.methods import rules as r
from sdcgate.methods.risk.individual import TableRisk
from sdcgate.methods.tables.linear_sensitivity import misweighted
from sdcgate.wire.dimensions import CellOrder
from sdcgate.wire.problems import FieldProblem, InvalidMessageError
from sdcgate_proto.sdcgate.types.v1 import policy_pb2

_CONSEQUENCES = frozenset(r.Consequence) - {r.Consequence.UNSPECIFIED}
_RISK_FIELDS = tuple(field.name for field in fields(TableRisk))


def rules_to_message(rules: r.Rules) -> policy_pb2.Rules:
    """Write rules; what is not judged is not set."""
    message = policy_pb2.Rules()
    if (units := rules.minimum_units) is not None:
        message.minimum_units.units, message.minimum_units.consequence = units.units, _wire(units.consequence)
    if (households := rules.minimum_households) is not None:
        message.minimum_households.households = households.households
        message.minimum_households.consequence = _wire(households.consequence)
    if (base := rules.minimum_base) is not None:
        message.minimum_base.units, message.minimum_base.consequence = base.units, _wire(base.consequence)
    for rule in rules.dominance:
        message.dominance.add(largest=rule.largest, share=rule.share, consequence=_wire(rule.consequence))
    if (percent := rules.p_percent) is not None:
        message.p_percent.share, message.p_percent.consequence = percent.share, _wire(percent.consequence)
        message.p_percent.coalition = _coalition(percent.coalition)
    if (group := rules.group_disclosure) is not None:
        message.group_disclosure.share = group.share
        message.group_disclosure.consequence = _wire(group.consequence)
    if (equal := rules.equal_values) is not None:
        message.equal_values.tolerance = equal.tolerance
        message.equal_values.consequence = _wire(equal.consequence)
    if (risk := rules.individual_risk) is not None:
        message.individual_risk.maximum_share = risk.maximum_share
        message.individual_risk.all_cells = risk.all_cells
        message.individual_risk.tolerated_uniques = risk.tolerated_uniques
        message.individual_risk.consequence = _wire(risk.consequence)
    if (prior := rules.prior_posterior) is not None:
        message.prior_posterior.p, message.prior_posterior.q = prior.p, prior.q
        message.prior_posterior.consequence = _wire(prior.consequence)
        message.prior_posterior.coalition = _coalition(prior.coalition)
    for linear in rules.linear_sensitivity:
        message.linear_sensitivity.add(
            weights=linear.weights, rest=linear.rest, consequence=_wire(linear.consequence)
        )
    if (how := rules.contributions) != r.ABSOLUTE_VALUES:
        message.contributions.negative = cast("policy_pb2.NegativeValues", int(how.negative))
        message.contributions.weighted = how.weighted
        message.contributions.sampling_probability = how.sampling_probability
    return message


def _coalition(members: int) -> int:
    """A coalition of one is not written, as before there were others."""
    return 0 if members == 1 else members


def rules_from_message(message: policy_pb2.Rules, path: str = "rules") -> r.Rules:
    """Read rules; what is not set is not judged.

    Raises InvalidMessageError with every rule that no table can be judged by.
    """
    if unsound := list(_unsound(message, path)):
        raise InvalidMessageError(unsound)
    return r.Rules(
        minimum_units=r.MinimumUnits(
            message.minimum_units.units, consequence(message.minimum_units.consequence)
        )
        if message.HasField("minimum_units")
        else None,
        minimum_households=r.MinimumHouseholds(
            message.minimum_households.households, consequence(message.minimum_households.consequence)
        )
        if message.HasField("minimum_households")
        else None,
        minimum_base=r.MinimumBase(message.minimum_base.units, consequence(message.minimum_base.consequence))
        if message.HasField("minimum_base")
        else None,
        dominance=tuple(
            r.Dominance(rule.largest, rule.share, consequence(rule.consequence)) for rule in message.dominance
        ),
        p_percent=r.PPercent(
            message.p_percent.share,
            consequence(message.p_percent.consequence),
            message.p_percent.coalition or 1,
        )
        if message.HasField("p_percent")
        else None,
        group_disclosure=r.GroupDisclosure(
            message.group_disclosure.share, consequence(message.group_disclosure.consequence)
        )
        if message.HasField("group_disclosure")
        else None,
        equal_values=r.EqualValues(
            message.equal_values.tolerance, consequence(message.equal_values.consequence)
        )
        if message.HasField("equal_values")
        else None,
        individual_risk=_individual_risk(message.individual_risk)
        if message.HasField("individual_risk")
        else None,
        prior_posterior=_prior_posterior(message.prior_posterior)
        if message.HasField("prior_posterior")
        else None,
        linear_sensitivity=tuple(
            r.LinearSensitivity(tuple(rule.weights), rule.rest, consequence(rule.consequence))
            for rule in message.linear_sensitivity
        ),
        contributions=_contributions(message.contributions),
    )


def _prior_posterior(message: policy_pb2.Rules.PriorPosterior) -> r.PriorPosterior:
    return r.PriorPosterior(message.p, message.q, consequence(message.consequence), message.coalition or 1)


def _contributions(message: policy_pb2.Rules.Contributions) -> r.Contributions:
    negative = r.NegativeValues(message.negative) or r.NegativeValues.ABSOLUTE
    return r.Contributions(negative, message.weighted, message.sampling_probability)


def _unsound(message: policy_pb2.Rules, path: str) -> Iterator[FieldProblem]:
    """What the envelope cannot say of rules on contributions."""
    prior, how = message.prior_posterior, message.contributions
    negative = int(how.negative)
    if prior.p > prior.q:
        text = "must not exceed q: what everybody knows beforehand cannot be kept from anybody"
        yield FieldProblem(f"{path}.prior_posterior.p", text)
    for place, rule in enumerate(message.linear_sensitivity):
        if wrong := misweighted(tuple(rule.weights), rule.rest):
            yield FieldProblem(f"{path}.linear_sensitivity[{place}].weights", wrong)
    if negative not in list(r.NegativeValues):
        yield FieldProblem(f"{path}.contributions.negative", "is not known; send ABSOLUTE or SHIFTED")
    if how.weighted and negative == r.NegativeValues.SHIFTED:
        text = "weighted contributions are absolute; send ABSOLUTE, or leave the weights out"
        yield FieldProblem(f"{path}.contributions.negative", text)
    if how.sampling_probability and not how.weighted:
        text = "is about weighted totals: set weighted, or leave it out"
        yield FieldProblem(f"{path}.contributions.sampling_probability", text)


def _individual_risk(message: policy_pb2.Rules.IndividualRisk) -> r.IndividualRisk:
    return r.IndividualRisk(
        message.maximum_share, message.all_cells, consequence(message.consequence), message.tolerated_uniques
    )


def consequence(number: int) -> r.Consequence:
    """A consequence; unspecified, and one that this version does not know, is refuse."""
    return r.Consequence(number) if number in _CONSEQUENCES else r.Consequence.REFUSE


def _wire(value: r.Consequence) -> policy_pb2.Consequence:
    """The wire's number, which is the same."""
    return cast("policy_pb2.Consequence", int(value))


def finding_to_message(finding: r.Finding, order: CellOrder | None = None) -> policy_pb2.Finding:
    """Write a finding, with positions as its reader has them; row-major where he says nothing."""
    return policy_pb2.Finding(
        rule=cast("policy_pb2.ReasonCode", int(finding.rule)),
        consequence=_wire(finding.consequence),
        cells=finding.cells if order is None else order.told(finding.cells),
        measure=finding.measure,
        figure=finding.figure,
        bound=finding.bound,
        levels=None if finding.levels == r.ProtectionLevels() else _levels_to_message(finding, order),
    )


def _levels_to_message(finding: r.Finding, order: CellOrder | None) -> policy_pb2.ProtectionLevels:
    """Write levels in the order in which the finding's cells are told."""
    cells = np.array(finding.cells, dtype=np.int64)
    ascending = np.argsort(cells if order is None else order.cells_at(cells))

    def told(levels: tuple[float, ...]) -> list[float]:
        listed: list[float] = np.array(levels)[ascending].tolist() if levels else []
        return listed

    levels = finding.levels
    return policy_pb2.ProtectionLevels(
        upper=told(levels.upper), lower=told(levels.lower), sliding=told(levels.sliding)
    )


def _levels_from_message(message: policy_pb2.Finding) -> r.ProtectionLevels:
    """Read levels. Raises ValueError where they are not one a cell."""
    levels = message.levels
    columns = (levels.upper, levels.lower, levels.sliding)
    if any(len(column) not in (0, len(message.cells)) for column in columns):
        raise ValueError("protection levels of a finding are not one for each of its cells")
    return r.ProtectionLevels(tuple(levels.upper), tuple(levels.lower), tuple(levels.sliding))


def findings_from_messages(messages: Iterable[policy_pb2.Finding]) -> tuple[r.Finding, ...]:
    """Read findings. Raises ValueError where a rule is unspecified or unknown: nothing is judged then."""
    return tuple(
        r.Finding(
            rule=reason_code(message.rule),
            consequence=consequence(message.consequence),
            cells=tuple(message.cells),
            measure=message.measure,
            figure=message.figure,
            bound=message.bound,
            levels=_levels_from_message(message),
        )
        for message in messages
    )


def reason_code(number: int) -> r.ReasonCode:
    """A reason code. Raises ValueError where it is unspecified or not known."""
    if number == 0:
        raise ValueError("a reason code is unspecified")
    return r.ReasonCode(number)


def risk_to_message(risk: TableRisk) -> policy_pb2.TableRisk:
    """Write the individual risk of a table."""
    return policy_pb2.TableRisk(**{name: getattr(risk, name) for name in _RISK_FIELDS})


def risk_from_message(message: policy_pb2.TableRisk) -> TableRisk:
    """Read the individual risk of a table."""
    return TableRisk(**{name: getattr(message, name) for name in _RISK_FIELDS})
