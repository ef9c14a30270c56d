"""Fixed effects, mixed models and two-stage least squares against statsmodels."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.sandbox.regression.gmm import IV2SLS

from model_frames import made_frame, model_data
from sdcgate.methods.outputs.fits import Family, FitOptions
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.random_constants import restricted_maximum
from sdcgate.methods.outputs.sandwich import Covariance

MADE = made_frame()
GROUPS = np.random.default_rng(3).integers(0, 40, MADE.records.size)
MADE.records.measures["cost"] += np.random.default_rng(4).normal(0, 2, 40)[GROUPS]
FRAME = MADE.frame.assign(cost=MADE.records.measures["cost"], firm=GROUPS)


@pytest.mark.parametrize(
    ("covariance", "options"), [(Covariance.CLASSICAL, {}), (Covariance.ROBUST, {"cov_type": "HC1"})]
)
def test_fixed_effects_are_those_of_a_dummy_for_each_group(covariance, options) -> None:
    data = model_data(MADE, "cost ~ age + site", groups=GROUPS)
    ours, facts = fit_model(data, MADE.records, FitOptions(Family.FIXED_EFFECTS, covariance))
    peer = smf.ols("cost ~ age + site + C(firm)", FRAME).fit(**options, use_t=True)
    np.testing.assert_allclose(ours.estimates, peer.params[list(ours.names)], rtol=1e-8)
    np.testing.assert_allclose(ours.standard_errors, peer.bse[list(ours.names)], rtol=1e-8)
    np.testing.assert_allclose(ours.p_values, peer.pvalues[list(ours.names)], rtol=1e-6)
    assert facts.residual_degrees == peer.df_resid
    assert ours.names == ("site[T.2]", "site[T.3]", "age")


def test_errors_by_group_are_those_of_least_squares_within_groups() -> None:
    data = model_data(MADE, "cost ~ age + site", groups=GROUPS)
    ours, _ = fit_model(data, MADE.records, FitOptions(Family.FIXED_EFFECTS, Covariance.CLUSTERED))
    sites = {"two": FRAME["site"] == "2", "three": FRAME["site"] == "3"}
    within = FRAME[["cost", "age"]].assign(**sites).astype(float)
    within -= within.groupby(GROUPS).transform("mean")
    peer = smf.ols("cost ~ two + three + age - 1", within).fit(
        cov_type="cluster", cov_kwds={"groups": GROUPS}
    )
    np.testing.assert_allclose(ours.standard_errors, peer.bse, rtol=1e-8)
    assert ours.degrees == 39


def test_a_mixed_model_agrees_with_statsmodels_and_tells_no_group() -> None:
    data = model_data(MADE, "cost ~ age + site", groups=GROUPS)
    ours, facts = fit_model(data, MADE.records, FitOptions(Family.MIXED))
    # Its usual search stops at some six digits.
    peer = smf.mixedlm("cost ~ age + site", FRAME, groups=GROUPS).fit(method="bfgs", gtol=1e-10)
    np.testing.assert_allclose(ours.estimates, peer.fe_params[list(ours.names)], rtol=1e-9)
    np.testing.assert_allclose(ours.standard_errors, peer.bse_fe[list(ours.names)], rtol=1e-8)
    assert ours.fit["variance_between"] == pytest.approx(peer.cov_re.iloc[0, 0], rel=1e-8)
    assert ours.fit["variance_within"] == pytest.approx(peer.scale, rel=1e-8)
    assert ours.fit["log_likelihood"] == pytest.approx(peer.llf, rel=1e-12)
    assert len(ours.estimates) == facts.parameters == 4


YIELDS = (
    (1545, 1440, 1440, 1520, 1580),
    (1540, 1555, 1490, 1560, 1495),
    (1595, 1550, 1605, 1510, 1560),
    (1445, 1440, 1595, 1465, 1545),
    (1595, 1630, 1515, 1635, 1625),
    (1520, 1455, 1450, 1480, 1445),
)
"""Yield of dyestuff by batch: Davies and Goldsmith (1972), Statistical Methods in Research and Production."""


def test_the_variances_of_dyestuff_are_those_of_the_literature() -> None:
    """Bates, Maechler, Bolker and Walker (2015), lme4, section 1.3 of Bates (2010): REML by `lmer`."""
    outcome, groups = np.array(YIELDS, dtype=float).reshape(-1), np.repeat(np.arange(6), 5)

    found = restricted_maximum(np.ones((30, 1)), outcome, groups)

    assert found is not None
    assert np.sqrt([found.between, found.within]) == pytest.approx([42.00, 49.51], abs=5e-3)
    assert found.slopes == pytest.approx([1527.5])
    assert -2.0 * found.log_likelihood == pytest.approx(319.6543, abs=5e-5)
    # Balanced groups have closed forms: (MSB - MSW) / 5 and MSW.
    between, within = (
        5 * np.array(YIELDS).mean(axis=1).var(ddof=1),
        np.array(YIELDS).var(axis=1, ddof=1).mean(),
    )
    assert [found.between, found.within] == pytest.approx([(between - within) / 5, within], rel=1e-9)


@pytest.mark.parametrize(("outcome", "between"), [("meddol", 1044.350), ("mdvis", 0.407633)])
def test_a_random_constant_of_few_groups_is_estimated_where_the_likelihood_is_largest(
    outcome, between
) -> None:
    """statsmodels' own search stops elsewhere (31061) or does not converge."""
    people = pd.read_csv(str(files("statsmodels") / "datasets/randhie/src/randhie.csv"))
    values = np.column_stack([np.ones(len(people)), people["female"]])
    groups = np.unique(people["site"], return_inverse=True)[1]
    numbers = people[outcome].to_numpy(dtype=float)

    found = restricted_maximum(values, numbers, groups)

    assert found is not None
    assert found.between == pytest.approx(between, rel=1e-6)
    ratio = found.between / found.within
    likely = [restricted_likelihood(values, numbers, groups, ratio * by) for by in (0.99, 1.0, 1.01)]
    assert likely[1] == max(likely) == pytest.approx(found.log_likelihood, rel=1e-12)


def restricted_likelihood(values, numbers, groups, ratio) -> float:
    """Harville (1974), Biometrika 61(2), each group turned by its root."""
    crossed, right, squares, determinant = 0.0, 0.0, 0.0, 0.0
    for group in np.unique(groups):
        x, y = values[groups == group], numbers[groups == group]
        size = len(y)
        step = (1.0 - 1.0 / np.sqrt(1.0 + ratio * size)) / size
        x, y = x - step * x.sum(axis=0), y - step * y.sum()
        crossed, right, squares = crossed + x.T @ x, right + x.T @ y, squares + y @ y
        determinant += np.log(1.0 + ratio * size)
    slopes, freedom = np.linalg.solve(crossed, right), len(numbers) - values.shape[1]
    within = (squares - right @ slopes) / freedom
    determinant += np.linalg.slogdet(crossed)[1]
    return -0.5 * (determinant + freedom * (np.log(2 * np.pi * within) + 1))


def test_where_groups_do_not_differ_a_mixed_model_is_least_squares() -> None:
    groups = np.arange(MADE.records.size) % 5
    data = model_data(MADE, "cost ~ age", groups=groups)
    alike = data.outcome - (np.bincount(groups, data.outcome) / np.bincount(groups))[groups]

    ours, _ = fit_model(replace(data, outcome=alike), MADE.records, FitOptions(Family.MIXED))
    peer = smf.ols("alike ~ age", FRAME.assign(alike=alike)).fit()

    assert ours.fit["variance_between"] == 0.0
    np.testing.assert_allclose(ours.estimates, peer.params, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.standard_errors, peer.bse, rtol=1e-8)


@pytest.mark.parametrize("family", [Family.FIXED_EFFECTS, Family.MIXED])
@pytest.mark.parametrize("groups", [None, np.zeros(MADE.records.size, int), np.arange(MADE.records.size)])
def test_groups_have_to_be_several_with_several_records(family, groups) -> None:
    data = model_data(MADE, "cost ~ age", groups=groups)
    with pytest.raises(ModelProblemError, match="groups:"):
        fit_model(data, MADE.records, FitOptions(family))


def test_a_column_that_is_constant_within_groups_is_told() -> None:
    data = model_data(MADE, "cost ~ age + site", groups=MADE.records.codes["site", "site"])
    with pytest.raises(ModelProblemError, match="columns of site"):
        fit_model(data, MADE.records, FitOptions(Family.FIXED_EFFECTS))


def test_two_stage_least_squares_agree_with_statsmodels() -> None:
    data = model_data(MADE, "cost ~ log(income) + age")
    _, design, instruments = MADE.design("cost ~ age + site + region")
    data = replace(data, instruments=instruments)
    ours, _ = fit_model(data, MADE.records, FitOptions(Family.TWO_STAGE))
    peer = IV2SLS(data.outcome, data.values, instruments).fit()
    np.testing.assert_allclose(ours.estimates, peer.params, rtol=1e-8)
    np.testing.assert_allclose(ours.standard_errors, peer.bse, rtol=1e-8)
    assert len(design.columns) == instruments.shape[1]


def test_instruments_are_at_least_as_many_as_terms() -> None:
    data = model_data(MADE, "cost ~ log(income) + age")
    with pytest.raises(ModelProblemError, match="at least as many instruments"):
        fit_model(replace(data, instruments=data.values[:, :2]), MADE.records, FitOptions(Family.TWO_STAGE))
