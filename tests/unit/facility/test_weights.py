"""Weighted figures as measures of their own."""

from types import SimpleNamespace

import numpy as np
import pytest

from sdcgate.facility.plan import FigureAsked
from sdcgate.facility.weights import told_as_plain, with_weights
from sdcgate.methods.cells import Contributors, Facts, MeasureFacts
from sdcgate.methods.tables.fact_checks import fact_problems
from sdcgate_proto.sdcgate.types.v1 import table_pb2


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


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ((1.0, 1.0), ["RECORDS", "SUM", "MEAN", "UNITS"]),
        ((2.5, 2.5), ["RECORDS", "SUM", "MEAN", "UNITS"]),
        # Of 0.004 times a count rounding leaves several.
        ((0.004, 0.004), ["WEIGHTED_UNITS", "WEIGHTED_SUM", "MEAN", "UNITS"]),
        ((1.0, 2.5), ["WEIGHTED_UNITS", "WEIGHTED_SUM", "WEIGHTED_MEAN", "UNITS"]),
    ],
)
def test_weighted_figures_are_plain_ones_where_all_weigh_the_same(bounds, told):
    asked = ("WEIGHTED_UNITS", "WEIGHTED_SUM", "WEIGHTED_MEAN", "UNITS")
    figures = tuple(FigureAsked(table_pb2.Statistic.Value(f"STATISTIC_{name}")) for name in asked)
    plan = SimpleNamespace(figures=figures, dataset=SimpleNamespace(weight_bounds=bounds))
    names = [table_pb2.Statistic.Name(one.statistic) for one in told_as_plain(plan)]
    assert names == [f"STATISTIC_{name}" for name in told]
