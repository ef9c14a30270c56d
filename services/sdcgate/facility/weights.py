"""Weighted figures as measures of their own: what leaves weighted is protected like any other sum."""

from dataclasses import replace

import numpy as np

from sdcgate.facility.plan import Plan
from sdcgate.methods.cells import Facts, FloatArray, MeasureFacts

WEIGHTED_PREFIX = "weight:"


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


def _weighted(measure: MeasureFacts, sums: FloatArray, lowest: float, highest: float) -> MeasureFacts:
    low, high = measure.lower_bound, measure.upper_bound
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
        lower_bound=None if low is None else min(low * lowest, low * highest),
        upper_bound=None if high is None else max(high * lowest, high * highest),
    )
