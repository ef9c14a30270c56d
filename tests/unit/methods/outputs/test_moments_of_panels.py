"""Moments of units with several records: what bounds a record bounds the total of its unit as well."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.outputs.moments import moment_bounds, ratio_error_bounds
from sdcgate.methods.outputs.power_sums import closest
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_assessment import assess_statistic
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.outputs.statistic_rules import usual_rules
from sdcgate.methods.outputs.statistics import Columns, compute
from sdcgate.methods.rules import Consequence, MinimumUnits, PPercent, ReasonCode, Rules

PROTECT = Consequence.PROTECT
RULES = usual_rules(Rules(MinimumUnits(10, PROTECT), p_percent=PPercent(0.1, PROTECT)))


def panel(by_unit: np.ndarray) -> Sample:
    """A row a unit, a column a year."""
    units, years = by_unit.shape
    nowhere = np.zeros(units * years, dtype=np.int64)
    return Sample(by_unit.reshape(-1).astype(np.float64), nowhere, np.repeat(np.arange(units), years), 1)


def one_high(seed: int = 5) -> np.ndarray:
    """Sixty people over five years, one of whom has some ten times as much in every year."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(25, 55, 60)
    base[0] = 400
    return base[:, None] + rng.uniform(-8, 8, (60, 5))


def of_records(by_unit: np.ndarray) -> Sample:
    return panel(by_unit.reshape(-1, 1))


@pytest.mark.parametrize("order", [2, 3, 4])
def test_someone_who_is_high_in_every_year_is_told_by_the_moments_of_totals(order) -> None:
    people = one_high()
    assert closest(of_records(people), order, 1)[0] > 0.1
    together = closest(panel(people.sum(axis=1, keepdims=True)), order, 1)
    assert closest(panel(people), order, 1) == pytest.approx(together)
    assert together[0] < 0.02


@given(
    st.lists(st.lists(st.integers(-50, 50), min_size=3, max_size=3), min_size=4, max_size=20),
    st.sampled_from([2, 4, 6, 8]),
)
def test_moments_of_records_bound_no_total_more_closely_than_moments_of_totals(rows, order) -> None:
    """By power means: three records' deviations add up to what three equal ones do at most."""
    records = np.array(rows, dtype=np.float64)
    apart = records - records.mean()
    of_totals = (np.abs(apart.sum(axis=1)) ** order).sum() ** (1 / order)
    by_records = 3 ** (1 - 1 / order) * (np.abs(apart) ** order).sum() ** (1 / order)
    assert by_records >= of_totals * (1 - 1e-9)


@given(st.lists(st.integers(0, 100), min_size=3, max_size=30), st.integers(0, 2))
def test_units_of_one_record_are_judged_as_ever(values, coalition) -> None:
    sample = of_records(np.array([values], dtype=np.float64))
    twice = Sample(sample.values, sample.groups, sample.units + 7, 1)
    assert np.array_equal(closest(sample, 4, coalition), closest(twice, 4, coalition))


def test_records_are_judged_as_well_as_totals() -> None:
    """A year of 900 is told by the squares of records though the total of its person is an ordinary one."""
    people = np.full((40, 4), 100.0)
    people[:, 0] += np.arange(40) % 5
    people[7] = 900, -200, -150, -150
    records, both = closest(of_records(people), 2, 1), closest(panel(people), 2, 1)
    assert both[0] <= records[0] < 0.1


def test_the_error_of_a_mean_bounds_totals_of_unequal_numbers_of_records() -> None:
    """All have 100 in each of their records, few or many, but for one: the error is hers alone."""
    years = np.arange(60) % 5 + 1
    units = np.repeat(np.arange(60), years)
    values = np.where(units == 4, 400.0, 100.0) + np.arange(len(units)) % 3
    sample = Sample(values, np.zeros(len(units), dtype=np.int64), units, 1)
    bound = ratio_error_bounds(sample, np.ones(len(units)))
    assert bound.closeness[0] < 0.02
    # Totals by themselves lie apart as people have one record or five.
    assert moment_bounds(sample, 2)[0].closeness[0] > bound.closeness[0]


def test_the_error_of_a_ratio_bounds_values_of_one_record_a_unit() -> None:
    """All have a fifth of an income of their own in taxes, but for one: the error is hers alone."""
    incomes = np.random.default_rng(3).uniform(300, 900, 40).round()
    taxes = incomes / 5 + np.arange(40) % 2
    taxes[7] += 60
    sample = Sample(taxes, np.zeros(40, dtype=np.int64), np.arange(40), 1)
    columns = Columns(second=incomes)
    with_errors = compute(Statistic.RATIO, sample, RULES, columns)
    found = assess_statistic(Statistic.RATIO, with_errors.facts, RULES, errors=True)
    assert {finding.rule for finding in found.findings} == {ReasonCode.P_PERCENT}
    # The variance of taxes leaves, and so does the ratio alone.
    assert moment_bounds(sample, 2)[0].closeness[0] > 0.1
    alone = compute(Statistic.RATIO, sample, RULES, columns, errors=False)
    assert not assess_statistic(Statistic.RATIO, alone.facts, RULES).findings


@pytest.mark.parametrize("statistic", [Statistic.TOTAL, Statistic.MEAN, Statistic.RATIO])
def test_errors_of_a_panel_do_not_leave_where_they_tell_one_total(statistic) -> None:
    sample = panel(one_high())
    columns = Columns(second=np.ones(len(sample.values)))
    with_errors = compute(statistic, sample, RULES, columns)
    found = assess_statistic(statistic, with_errors.facts, RULES, errors=True)
    assert {finding.rule for finding in found.findings} == {ReasonCode.P_PERCENT}
    alone = compute(statistic, sample, RULES, columns, errors=False)
    assert not assess_statistic(statistic, alone.facts, RULES).findings


@pytest.mark.parametrize("statistic", [Statistic.TOTAL, Statistic.MEAN, Statistic.RATIO, Statistic.VARIANCE])
def test_errors_of_an_ordinary_panel_leave(statistic) -> None:
    rng = np.random.default_rng(2)
    sample = panel(rng.lognormal(5, 0.6, (200, 1)) * rng.lognormal(0, 0.2, (200, 5)))
    columns = Columns(second=np.ones(len(sample.values)))
    found = compute(statistic, sample, RULES, columns, errors=statistic is not Statistic.VARIANCE)
    assert not assess_statistic(statistic, found.facts, RULES, errors=True).findings
