"""Prediction of a contribution where sampling blurs the total."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.cells import Axis, Contributors, Facts, MeasureFacts
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import Consequence, Contributions, Dominance, PPercent, PriorPosterior, Rules
from sdcgate.methods.tables.assessment import assess_table
from sdcgate.methods.tables.sampling_uncertainty import chance_of_closeness

PROTECT = Consequence.PROTECT
UNITS = np.array([30, 30, 30])
# Weighted contributions of three cells: 1000 is the largest, 500 the second, 40 are left.
LARGEST, TOTALS = np.array([[1000.0, 500, 40]] * 3), np.array([1540.0] * 3)


def found(rules: Rules, variances: list[float] | None) -> list[tuple[int, ...]]:
    weighted = Contributors(LARGEST, TOTALS, variances=None if variances is None else np.array(variances))
    none = np.zeros(0)
    measure = MeasureFacts("sales", none, UNITS, UNITS, np.zeros((0, 0)), none, none, none, weighted=weighted)
    axis = Axis("cell", "cell", ("a", "b", "c"), (-1, -1, -1))
    facts = Facts(UNITS, UNITS, measures=(measure,))
    return [finding.cells for finding in assess_table((axis,), facts, rules, None, None).findings]


def by(probability: float, **rules: object) -> Rules:
    return Rules(contributions=Contributions(weighted=True, sampling_probability=probability), **rules)


def test_the_chance_is_that_of_a_normal_error() -> None:
    # Standard normal: within one standard error 0.682689492137086, within two 0.954499736103642; from 1 to 3
    # 0.157305355, which is half of 0.997300203936740 - 0.682689492137086.
    within, missed = np.array([10.0, 20, 10]), np.array([0.0, 0, 20])
    expected = [0.682689492137086, 0.954499736103642, (0.997300203936740 - 0.682689492137086) / 2]
    assert chance_of_closeness(within, missed, np.full(3, 100.0)) == pytest.approx(expected, rel=1e-12)


def test_without_an_error_the_estimate_is_close_or_it_is_not() -> None:
    chance = chance_of_closeness(np.array([10.0, 10, 10]), np.array([9.0, 10, 11]), np.zeros(3))
    assert chance.tolist() == [1.0, 1.0, 0.0]


def test_a_total_that_sampling_blurs_enough_does_not_tell_its_largest_respondent() -> None:
    # 10% of 1000 is 100; 40 are not known. Errors of 0, 100 and 1000.
    variances = [0.0, 100.0**2, 1000.0**2]
    percent = PPercent(0.1, PROTECT)
    assert found(by(0.2, p_percent=percent), variances) == [(0, 1)]
    assert found(by(0.7, p_percent=percent), variances) == [(0,)]
    assert found(by(0.05, p_percent=percent), variances) == [(0, 1, 2)]
    assert found(by(0.2, prior_posterior=PriorPosterior(0.1, 0.5, PROTECT)), variances) == [(0, 1)]


def test_sampling_is_not_counted_on_unless_asked_for_and_told() -> None:
    percent = PPercent(0.1, PROTECT)
    assert found(by(0.0, p_percent=percent), [1e9] * 3) == [(0, 1, 2)]
    assert found(by(0.2, p_percent=percent), None) == [(0, 1, 2)]
    # How much of a total somebody holds is no prediction.
    assert found(by(0.2, dominance=(Dominance(1, 0.5, PROTECT),)), [1e9] * 3) == [(0, 1, 2)]


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e12), st.floats(0, 1e12))
def test_what_is_off_already_is_never_the_closer_for_it(
    within: float, missed: float, variance: float, more: float
) -> None:
    def chance(missed: float, variance: float) -> float:
        found = chance_of_closeness(np.array([within]), np.array([missed]), np.array([variance]))
        return float(found[0])

    assert 0 <= chance(missed, variance) <= 1
    assert chance(missed + more, variance) <= chance(missed, variance) + 1e-12
    if missed == 0:
        assert chance(0, variance + more) <= chance(0, variance) + 1e-12


def test_a_variance_below_zero_is_no_variance() -> None:
    with pytest.raises(
        FactsError, match=r"weighted\.variances must be finite and not negative \(positions 1\)"
    ):
        found(by(0.2, p_percent=PPercent(0.1, PROTECT)), [1.0, -1.0, 1.0])
    assert replace(Contributions(), weighted=True).sampling_probability == 0
