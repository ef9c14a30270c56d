"""The search for cumulative odds: its derivatives, where it arrives, and where there is no maximum."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit

from sdcgate.methods.outputs.cumulative_odds import _derivatives, _likelihood, maximise


def made(records: int = 2000, classes: int = 5, seed: int = 4):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(records, 3))
    cuts = np.linspace(-1.5, 1.5, classes - 1)
    found = np.digitize(values @ [0.8, -0.5, 0.2] + rng.logistic(size=records), cuts)
    return values, found, classes


def test_derivatives_are_those_of_the_likelihood() -> None:
    values, classes, count = made(400)
    at = np.array([0.3, -0.2, 0.1, -1.0, -0.3, 0.4, 1.1])
    slope, curvature = _derivatives(values, classes, count, at)
    numeric = approx_fprime(at, lambda x: _likelihood(values, classes, x), 1e-6)
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-3)
    for place in range(len(at)):
        step = np.zeros(len(at))
        step[place] = 1e-5
        ends = [_derivatives(values, classes, count, at + sign * step)[0] for sign in (1, -1)]
        np.testing.assert_allclose((ends[1] - ends[0]) / 2e-5, curvature[place], rtol=1e-6, atol=1e-5)


def test_at_the_maximum_no_derivative_is_left_and_shares_are_those_of_the_classes() -> None:
    values, classes, count = made()
    found = maximise(values, classes, count)
    slope, curvature = _derivatives(values, classes, count, np.append(found.slopes, found.thresholds))
    assert np.abs(slope).max() < 1e-6
    np.testing.assert_allclose(found.covariance @ curvature, np.eye(7), atol=1e-9)
    # The sums of the scores of thresholds vanish; with no columns the classes have their shares.
    alone = maximise(np.zeros((2000, 0)), classes, count)
    shares = np.cumsum(np.bincount(classes))[:-1] / 2000
    np.testing.assert_allclose(expit(alone.thresholds), shares, rtol=1e-12)


def test_probabilities_far_out_keep_their_digits() -> None:
    values = np.r_[np.linspace(-40, 40, 999), 41.0][:, None]
    rng = np.random.default_rng(2)
    classes = np.digitize(2 * values[:, 0] + rng.logistic(size=1000), [-1, 1])
    found = maximise(values, classes, 3)
    assert found.slopes[0] == pytest.approx(2, rel=0.3)
    assert np.isfinite(found.log_likelihood)


def test_columns_that_foretell_the_class_have_no_maximum() -> None:
    values = np.linspace(-1, 1, 300)[:, None]
    classes = np.repeat([0, 1, 2], 100)
    assert maximise(values, classes, 3) is None


def test_columns_that_follow_from_each_other_are_told() -> None:
    values, classes, count = made()
    twice = np.column_stack([values, values[:, 0]])
    try:
        found = maximise(twice, classes, count)
    except np.linalg.LinAlgError:
        return
    assert found is None or np.linalg.cond(found.covariance) > 1e12
