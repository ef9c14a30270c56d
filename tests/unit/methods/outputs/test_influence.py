import numpy as np
import pytest
import statsmodels.api as sm

from model_frames import made_frame
from sdcgate.methods.outputs.influence import Working, influence_of
from sdcgate.methods.outputs.problems import ModelProblemError

MADE = made_frame(400)
ALONE = np.arange(400)


def fitted(text: str) -> tuple[np.ndarray, np.ndarray]:
    _, _, values = MADE.design(text)
    return values, MADE.records.measures["cost"]


def least_squares(values: np.ndarray, outcome: np.ndarray) -> Working:
    coefficients = np.linalg.lstsq(values, outcome, rcond=None)[0]
    return Working(values, None, outcome - values @ coefficients)


def test_leverage_and_dfbetas_of_least_squares_are_those_of_statsmodels() -> None:
    values, outcome = fitted("cost ~ age*site + log(income)")
    ours = influence_of(least_squares(values, outcome), ALONE, 2)
    peer = sm.OLS(outcome, values).fit().get_influence()
    assert ours.maximum_leverage == pytest.approx(peer.hat_matrix_diag.max(), rel=1e-10)
    np.testing.assert_allclose(ours.dfbetas, np.abs(peer.dfbetas).max(axis=0), rtol=1e-8)


def test_what_a_unit_leaves_unexplained_is_what_is_not_left_without_it() -> None:
    values, outcome = fitted("cost ~ age*site + log(income)")
    ours = influence_of(least_squares(values, outcome), ALONE, 1)
    every = sm.OLS(outcome, values).fit().ssr
    without = [sm.OLS(np.delete(outcome, i), np.delete(values, i, axis=0)).fit().ssr for i in ALONE]
    assert ours.residual_share == pytest.approx(1 - min(without) / every, rel=1e-8)


def test_one_who_alone_differs_holds_all_however_far_out_she_lies() -> None:
    """Of her own residual the line takes a part: it is 0.88 of the squared ones."""
    x = np.append(np.linspace(0, 29, 30), 45.0)
    outcome = x.copy()
    outcome[-1] += 9
    working = least_squares(np.column_stack([np.ones(31), x]), outcome)
    assert np.max(working.scores**2) < 0.9 * np.sum(working.scores**2)
    assert influence_of(working, np.arange(31), 1).residual_share == pytest.approx(1.0)


def test_shares_are_squared_residuals_of_each_column_on_the_others() -> None:
    values, outcome = fitted("cost ~ age*site + log(income)")
    ours = influence_of(least_squares(values, outcome), ALONE, 3)
    for column in range(values.shape[1]):
        others = np.delete(values, column, axis=1)
        rest = sm.OLS(values[:, column], others).fit().resid ** 2
        expected = np.cumsum(np.sort(rest)[::-1][:3]) / rest.sum()
        np.testing.assert_allclose(ours.largest_shares[column], expected, rtol=1e-8)


def test_influence_of_a_weighted_fit_is_in_its_own_metric() -> None:
    values, outcome = fitted("cost ~ age + site")
    weights = np.random.default_rng(0).uniform(0.5, 3.0, 400)
    fit = sm.WLS(outcome, values, weights).fit()
    ours = influence_of(Working(values, weights, weights * fit.resid), ALONE, 1)
    root = np.sqrt(weights)[:, None]
    scaled = sm.OLS(outcome * root[:, 0], values * root).fit().get_influence()
    np.testing.assert_allclose(ours.dfbetas, np.abs(scaled.dfbetas).max(axis=0), rtol=1e-8)


def test_influence_of_a_logit_is_its_one_step() -> None:
    _, _, values = MADE.design("cost ~ age + site")
    outcome = (MADE.frame["ill"] == "yes").to_numpy(float)
    fit = sm.GLM(outcome, values, sm.families.Binomial()).fit()
    mean = fit.fittedvalues
    ours = influence_of(Working(values, mean * (1 - mean), outcome - mean, 1.0), ALONE, 1)
    peer = fit.get_influence()
    assert ours.maximum_leverage == pytest.approx(peer.hat_matrix_diag.max(), rel=1e-6)
    expected = np.abs(peer.d_params / fit.bse).max(axis=0)
    np.testing.assert_allclose(ours.dfbetas, expected, rtol=1e-6)


def test_records_of_a_unit_count_together_wherever_they_stand() -> None:
    values, outcome = fitted("cost ~ age + site")
    units = np.arange(400) // 4
    order = np.random.default_rng(1).permutation(400)
    together = influence_of(least_squares(values, outcome), units, 2)
    scattered = influence_of(least_squares(values[order], outcome[order]), units[order], 2)
    alone = influence_of(least_squares(values, outcome), ALONE, 2)
    np.testing.assert_allclose(together.largest_shares, scattered.largest_shares, rtol=1e-10)
    np.testing.assert_allclose(together.dfbetas, scattered.dfbetas, rtol=1e-10)
    assert together.maximum_leverage > alone.maximum_leverage
    assert np.all(together.largest_shares > alone.largest_shares)


def test_blocks_do_not_tear_units(monkeypatch: pytest.MonkeyPatch) -> None:
    values, outcome = fitted("cost ~ age + site")
    units = np.sort(np.random.default_rng(2).integers(0, 60, 400))
    whole = influence_of(least_squares(values, outcome), units, 3)
    monkeypatch.setattr("sdcgate.methods.outputs.influence.BLOCK", 7)
    pieces = influence_of(least_squares(values, outcome), units, 3)
    np.testing.assert_allclose(whole.largest_shares, pieces.largest_shares, rtol=1e-10)
    assert whole.maximum_leverage == pytest.approx(pieces.maximum_leverage)


def test_columns_that_only_weightless_records_tell_apart_cannot_be_checked() -> None:
    values = np.column_stack([np.ones(400), np.append(np.zeros(200), np.ones(200))])
    weights = np.append(np.zeros(200), np.ones(200))
    with pytest.raises(ModelProblemError, match="cannot be checked"):
        influence_of(Working(values, weights, np.zeros(400), 1.0), ALONE, 1)


def test_a_dummy_of_one_unit_holds_all_of_its_coefficient() -> None:
    values, outcome = fitted("cost ~ age")
    one = np.zeros(400)
    one[17] = 1.0
    values = np.column_stack([values, one])
    found = influence_of(least_squares(values, outcome), ALONE, 1)
    assert found.largest_shares[2, 0] > 0.99
    assert found.maximum_leverage == pytest.approx(1.0)
    assert found.dfbetas[2] == np.inf
    assert np.all(found.largest_shares[:2, 0] < 0.05)
