"""Fixed effects, mixed models and two-stage least squares against statsmodels."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.formula.api as smf
from statsmodels.sandbox.regression.gmm import IV2SLS

from model_frames import made_frame, model_data
from sdcgate.methods.outputs.fits import Family, FitOptions
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.problems import ModelProblemError
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
    peer = smf.mixedlm("cost ~ age + site", FRAME, groups=GROUPS).fit()
    np.testing.assert_allclose(ours.estimates, peer.fe_params[list(ours.names)], rtol=1e-6)
    np.testing.assert_allclose(ours.standard_errors, peer.bse_fe[list(ours.names)], rtol=1e-6)
    assert ours.fit["variance_between"] == pytest.approx(peer.cov_re.iloc[0, 0], rel=1e-5)
    assert ours.fit["variance_within"] == pytest.approx(peer.scale, rel=1e-5)
    assert len(ours.estimates) == facts.parameters == 4


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
