"""Weighted figures as measures of their own."""

from types import SimpleNamespace

import numpy as np

from sdcgate.facility.weights import with_weights
from sdcgate.methods.cells import Contributors, Facts, MeasureFacts
from sdcgate.methods.tables.fact_checks import fact_problems


def test_losses_that_cancel_out_in_a_weighted_sum_leave_facts_that_fit_together():
    units, sums = np.array([2, 3]), np.array([-5.0, 40.0])
    profit = MeasureFacts(
        name="profit",
        sums=sums,
        valid_records=units,
        valid_units=units,
        largest=np.array([[10.0, 5], [30, 10]]),
        absolute_sums=np.array([15.0, 60]),
        minima=np.array([-10.0, -10]),
        maxima=np.array([5.0, 30]),
        lower_bound=-20.0,
        weighted_sums=np.array([0.5, 90.0]),
        unwaived_largest=np.array([[10.0, 0], [30, 10]]),
        shifted=Contributors(np.array([[25.0, 10], [50, 30]]), sums + 20 * units),
        weighted=Contributors(np.array([[10.0, 10], [60, 10]]), np.array([20.0, 90])),
    )
    facts = Facts(units, units, weight_sums=np.array([4.0, 9.0]), measures=(profit,))
    plan = SimpleNamespace(with_weights=True, dataset=SimpleNamespace(weight_bounds=(1.0, 3.0)))
    weighted = with_weights(plan, facts)
    assert [measure.name for measure in weighted.measures] == ["profit", "weight:", "weight:profit"]
    assert fact_problems(weighted, 2) == []
    assert weighted.measures[2].sums.tolist() == [0.5, 90.0]
