"""Weighted figures as measures of their own: what leaves weighted is protected like any other sum."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.plan import WEIGHTED, FigureAsked, Plan
from sdcgate.facility.powers import Bounds, summed_in
from sdcgate.methods.cells import Facts, FloatArray, MeasureFacts
from sdcgate_proto.sdcgate.types.v1 import table_pb2

WEIGHTED_PREFIX = "weight:"
PLAIN = {
    table_pb2.STATISTIC_WEIGHTED_UNITS: table_pb2.STATISTIC_RECORDS,
    table_pb2.STATISTIC_WEIGHTED_SUM: table_pb2.STATISTIC_SUM,
    table_pb2.STATISTIC_WEIGHTED_MEAN: table_pb2.STATISTIC_MEAN,
}
"""What weighted figures are, times the weight, where everybody has the same."""


def with_weights(plan: Plan, facts: Facts) -> Facts:
    """Facts with sums of weights and of weighted measures as measures, where weights are shown and differ.

    Where all weights are the same, a weighted figure says no more than the count beneath it.
    """
    lowest, highest = plan.dataset.weight_bounds
    if not plan.with_weights or facts.weight_sums is None or lowest == highest:
        return facts
    of_units = MeasureFacts(
        name=WEIGHTED_PREFIX,
        sums=facts.weight_sums,
        valid_records=facts.records,
        valid_units=facts.units,
        largest=np.zeros((len(facts), 1)),
        absolute_sums=facts.weight_sums,
        minima=np.zeros(len(facts)),
        maxima=np.zeros(len(facts)),
        lower_bound=lowest,
        upper_bound=highest,
    )
    weighted = [
        _weighted(measure, measure.weighted_sums, lowest, highest)
        for measure in facts.measures
        if measure.weighted_sums is not None
    ]
    return replace(facts, measures=(*facts.measures, of_units, *weighted))


def told_as_plain(plan: Plan) -> tuple[FigureAsked, ...]:
    """The figures of a table, weighted ones as the plain ones that they tell where all weights are the same.

    Of a weight below 1 rounding may leave several counts and sums, so these are told less surely.
    """
    lowest, highest = plan.dataset.weight_bounds
    if lowest < highest:
        return plan.figures
    told = PLAIN if lowest >= 1 else {table_pb2.STATISTIC_WEIGHTED_MEAN: table_pb2.STATISTIC_MEAN}
    return tuple(replace(one, statistic=told.get(one.statistic, one.statistic)) for one in plan.figures)


def judged_by(quantity: str, weighted_apart: bool) -> str:
    """The measure by whose contributions the sums of a quantity are judged; none where another's sums are.

    Weighted sums are judged with the plain ones of the same cells, unless a policy asks of them `weighted`
    contributions: then one may leave, or be known, without the other.
    """
    if not quantity.startswith(WEIGHTED_PREFIX):
        return quantity
    return quantity.removeprefix(WEIGHTED_PREFIX) if weighted_apart else ""


def sums_not_judged(plan: Plan, quantity: str) -> bool:
    """Whether no contribution to a table's sums of a quantity was judged, as none of its figures tells them.

    Under a policy that takes weighted contributions of weighted figures, and plain ones of others. Such sums
    must not count as known: they may be unsafe.
    """
    rules, (lowest, highest) = plan.policy.rules, plan.dataset.weight_bounds
    if not rules.contributions.weighted or lowest == highest or quantity == WEIGHTED_PREFIX:
        return False
    if not quantity.startswith(WEIGHTED_PREFIX):
        return plan.only_weighted
    return not any(figure.statistic in WEIGHTED and figure.measure for figure in plan.figures)


def _weighted(measure: MeasureFacts, sums: FloatArray, lowest: float, highest: float) -> MeasureFacts:
    low, high = _weighted_bounds((measure.lower_bound, measure.upper_bound), (lowest, highest))
    return replace(
        measure,
        name=WEIGHTED_PREFIX + measure.name,
        sums=sums,
        # Contributions are judged with the measure itself; those to its sum are not of this one.
        largest=np.zeros_like(measure.largest),
        absolute_sums=np.abs(sums),
        unwaived_largest=None,
        shifted=None,
        weighted=None,
        lower_bound=low,
        upper_bound=high,
    )


def as_declared(measure: str, bounds: Bounds) -> Bounds:  # noqa: ARG001
    """Bounds that nothing narrows."""
    return bounds


def bounds_of(
    dataset: Dataset, quantity: str, within: Callable[[str, Bounds], Bounds] = as_declared
) -> Bounds:
    """Of a measure, of a weighted one, of its powers and functions, or of weights. Raises UnknownName.

    `within` narrows the declared bounds of a measure.
    """
    if quantity == WEIGHTED_PREFIX:
        return dataset.weight_bounds
    told = summed_in(quantity)
    if not told.plain:
        return told.bounds(bounds_of(dataset, told.measure, within))
    measure = dataset.measure(quantity.removeprefix(WEIGHTED_PREFIX))
    bounds = within(measure.name, (measure.lower_bound, measure.upper_bound))
    return _weighted_bounds(bounds, dataset.weight_bounds) if quantity != measure.name else bounds


def _weighted_bounds(bounds: Bounds, weights: tuple[float, float]) -> Bounds:
    """Bounds of values times weights."""
    (low, high), (lowest, highest) = bounds, weights
    return (
        None if low is None else min(low * lowest, low * highest),
        None if high is None else max(high * lowest, high * highest),
    )
