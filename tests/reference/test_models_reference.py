"""Every family of models against statsmodels, called by formula on the same frame."""

import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.regression.quantile_regression import QuantReg, hall_sheather, kernels

from model_frames import made_frame, model_data
from sdcgate.methods.outputs.estimates import ModelEstimate
from sdcgate.methods.outputs.fits import Family, FitOptions
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.quantile_regression import check_loss
from sdcgate.methods.outputs.sandwich import Covariance

MADE = made_frame()
FRAME = MADE.frame.assign(
    sick=(MADE.frame["ill"] == "yes").astype(float), state=MADE.frame["health"].cat.codes
)
RIGHT = "log(income)*site + age"
THEIRS = "age + np.log(income) + site + np.log(income):site"


def gamma(text: str) -> sm.GLM:
    return smf.glm(text, FRAME, family=sm.families.Gamma(sm.families.links.Log()))


def weighted(text: str, family: object, weights: np.ndarray) -> object:
    return smf.glm(text, FRAME, family=family, freq_weights=weights).fit(tol=1e-12)


ROBUST = {"cov_type": "HC1"}
CLUSTERED = {"cov_type": "cluster", "cov_kwds": {"groups": MADE.units}}
ILL = "C(ill, event='yes')"
FAMILIES = [
    (Family.LOGIT, ILL, lambda **kw: smf.logit(f"sick ~ {THEIRS}", FRAME).fit(disp=0, **kw)),
    (Family.PROBIT, ILL, lambda **kw: smf.probit(f"sick ~ {THEIRS}", FRAME).fit(disp=0, **kw)),
    (Family.POISSON, "visits", lambda **kw: smf.poisson(f"visits ~ {THEIRS}", FRAME).fit(disp=0, **kw)),
    (Family.GAMMA, "cost", lambda **kw: gamma(f"cost ~ {THEIRS}").fit(**kw)),
]


def fitted(family: Family, text: str, **options: object) -> ModelEstimate:
    data = model_data(MADE, text)
    return fit_model(data, MADE.records, FitOptions(family, **options))[0]  # type: ignore[arg-type]


def same(ours: ModelEstimate, peer: object, tolerance: float = 1e-8) -> None:
    for mine, theirs in (
        (ours.estimates, peer.params),
        (ours.standard_errors, peer.bse),
        (ours.statistics, peer.tvalues),
        (ours.p_values, peer.pvalues),
        (ours.lower, np.asarray(peer.conf_int())[..., 0]),
        (ours.upper, np.asarray(peer.conf_int())[..., 1]),
    ):
        np.testing.assert_allclose(mine, np.asarray(theirs), rtol=tolerance, atol=1e-300)


@pytest.mark.parametrize(
    ("covariance", "options"),
    [(Covariance.CLASSICAL, {}), (Covariance.ROBUST, ROBUST), (Covariance.CLUSTERED, CLUSTERED)],
)
@pytest.mark.parametrize(("family", "left", "peer"), FAMILIES, ids=lambda part: getattr(part, "name", ""))
def test_a_family_agrees_with_statsmodels(family, left, peer, covariance, options) -> None:
    ours = fitted(family, f"{left} ~ {RIGHT}", covariance=covariance)
    same(ours, peer(**options))


def test_figures_of_fit_are_those_of_statsmodels() -> None:
    for family, left, peer in FAMILIES:
        ours, theirs = fitted(family, f"{left} ~ {RIGHT}").fit, peer()
        assert ours["log_likelihood"] == pytest.approx(theirs.llf, rel=1e-8)
        assert ours["aic"] == pytest.approx(theirs.aic, rel=1e-8)
        if family is not Family.GAMMA:
            assert ours["pseudo_r_squared"] == pytest.approx(theirs.prsquared, rel=1e-8)
            assert ours["bic"] == pytest.approx(theirs.bic, rel=1e-8)
        else:
            assert ours["deviance"] == pytest.approx(theirs.deviance, rel=1e-8)
            assert ours["dispersion"] == pytest.approx(theirs.scale, rel=1e-8)


def test_a_negative_binomial_agrees_with_statsmodels() -> None:
    ours = fitted(Family.NEGATIVE_BINOMIAL, "visits ~ age + site")
    peer = smf.negativebinomial("visits ~ age + site", FRAME).fit(method="newton", disp=0, maxiter=200)
    same(ours, peer)
    assert ours.fit["pseudo_r_squared"] == pytest.approx(peer.prsquared, rel=1e-6)
    assert ours.names[-1] == "alpha"
    assert ours.estimates[-1] == pytest.approx(0.5, abs=0.15)


def test_a_multinomial_logit_agrees_with_statsmodels() -> None:
    ours = fitted(Family.MULTINOMIAL_LOGIT, "health ~ age + site")
    peer = smf.mnlogit("state ~ age + site", FRAME).fit(disp=0)
    np.testing.assert_allclose(ours.estimates, peer.params.to_numpy().T.reshape(-1), rtol=1e-8)
    np.testing.assert_allclose(ours.standard_errors, peer.bse.to_numpy().T.reshape(-1), rtol=1e-8)
    assert ours.equations == ("fair",) * 4 + ("good",) * 4
    assert ours.fit["pseudo_r_squared"] == pytest.approx(peer.prsquared, rel=1e-8)


def test_an_ordered_logit_agrees_with_statsmodels() -> None:
    ours = fitted(Family.ORDERED_LOGIT, "health ~ age + site")
    model = OrderedModel.from_formula("state ~ age + site", FRAME, distr="logit")
    peer = model.fit(method="bfgs", disp=0, maxiter=500, gtol=1e-8)
    np.testing.assert_allclose(ours.estimates[:3], peer.params[:3], rtol=1e-7)
    # Theirs are of second differences, which have some six digits.
    np.testing.assert_allclose(ours.standard_errors[:3], peer.bse[:3], rtol=5e-6)
    cuts = model.transform_threshold_params(peer.params.to_numpy())[1:-1]
    np.testing.assert_allclose(ours.estimates[3:], cuts, rtol=1e-7)
    assert ours.standard_errors[3] == pytest.approx(peer.bse.iloc[3], rel=5e-6)
    assert ours.names[3:] == ("poor|fair", "fair|good")
    assert ours.fit["pseudo_r_squared"] == pytest.approx(peer.prsquared, rel=1e-6)


def test_errors_of_later_thresholds_do_not_depend_on_the_parametrization() -> None:
    ours = fitted(Family.ORDERED_LOGIT, "health ~ age + site")
    turned = made_frame()
    turned.records.codes["health", "health"] = 2 - turned.records.codes["health", "health"]
    mirrored = fit_model(
        model_data(turned, "health ~ age + site"), turned.records, FitOptions(Family.ORDERED_LOGIT)
    )[0]
    np.testing.assert_allclose(mirrored.estimates[3:], -ours.estimates[:2:-1], rtol=1e-9)
    np.testing.assert_allclose(mirrored.standard_errors[3:], ours.standard_errors[:2:-1], rtol=1e-9)


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.9])
def test_a_quantile_regression_agrees_with_statsmodels(quantile: float) -> None:
    ours = fitted(Family.QUANTILE, "cost ~ age + site", quantile=quantile)
    model = smf.quantreg("cost ~ age + site", FRAME)
    theirs = model.fit(q=quantile, max_iter=5000)
    values, outcome = model.exog, model.endog
    by_name = dict(zip(ours.names, ours.estimates, strict=True))
    residuals = outcome - values @ np.array([by_name[name] for name in model.exog_names])
    # Theirs stops at a millionth; of several planes that are as good it may be another one.
    lost, theirs_lost = check_loss(residuals, quantile), check_loss(np.asarray(theirs.resid), quantile)
    assert lost <= theirs_lost
    assert lost == pytest.approx(theirs_lost, rel=1e-8)
    assert ours.fit["pseudo_r_squared"] == pytest.approx(theirs.prsquared, rel=1e-7)
    residuals[np.abs(residuals) < 1e-9 * np.std(outcome)] = 0.0
    errors = errors_as_statsmodels_has_them(model, residuals, quantile)
    by_name = dict(zip(ours.names, ours.standard_errors, strict=True))
    np.testing.assert_allclose([by_name[name] for name in model.exog_names], errors, rtol=1e-8)


def errors_as_statsmodels_has_them(model: QuantReg, residuals: np.ndarray, quantile: float) -> np.ndarray:
    """By its bandwidth and kernel, of residuals that are exactly 0 where the plane goes through a record."""
    lower, upper = stats.scoreatpercentile(residuals, [25, 75])
    width = hall_sheather(model.nobs, quantile)
    width = min(np.std(model.endog), (upper - lower) / 1.34) * (
        stats.norm.ppf(quantile + width) - stats.norm.ppf(quantile - width)
    )
    density = kernels["epa"](residuals / width).sum() / (model.nobs * width)
    spread = np.where(residuals > 0, (quantile / density) ** 2, ((1 - quantile) / density) ** 2)
    inverse = np.linalg.pinv(model.exog.T @ model.exog)
    return np.sqrt(np.diag(inverse @ (model.exog.T * spread @ model.exog) @ inverse))


def test_the_sides_of_a_quantile_are_counted_in_units() -> None:
    data = model_data(MADE, "cost ~ age + site")
    _, facts = fit_model(data, MADE.records, FitOptions(Family.QUANTILE, quantile=0.9))
    below, above = facts.outcome_units
    assert below > 900 > 200 > above > 100


def test_weighted_fits_have_the_estimates_of_statsmodels() -> None:
    weights = np.random.default_rng(8).uniform(1, 40, MADE.records.size)
    for family, text, peer in (
        (Family.LINEAR, "cost ~ age + site", smf.wls("cost ~ age + site", FRAME, weights=weights).fit()),
        (
            Family.LOGIT,
            "C(ill, event='yes') ~ age + site",
            smf.glm("sick ~ age + site", FRAME, family=sm.families.Binomial(), freq_weights=weights).fit(
                tol=1e-12
            ),
        ),
        (
            Family.POISSON,
            "visits ~ age + site",
            smf.glm("visits ~ age + site", FRAME, family=sm.families.Poisson(), freq_weights=weights).fit(
                tol=1e-12
            ),
        ),
    ):
        data = model_data(MADE, text, weights=weights)
        ours, _ = fit_model(data, MADE.records, FitOptions(family))
        np.testing.assert_allclose(ours.estimates, peer.params, rtol=1e-8)
        np.testing.assert_allclose(ours.standard_errors, peer.bse, rtol=1e-8)
