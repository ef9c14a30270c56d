"""Linear models against statsmodels, called by formula on the same frame."""

import numpy as np
import pytest
import statsmodels.formula.api as smf

from model_frames import made_frame
from sdcgate.methods.outputs.cross_products import cross_products_of
from sdcgate.methods.outputs.design import outcome_values
from sdcgate.methods.outputs.estimates import ModelEstimate
from sdcgate.methods.outputs.formula import Numeric
from sdcgate.methods.outputs.ols import fit_ols, ols_from_cross_products
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.sandwich import Covariance

MADE = made_frame()
CLUSTERS = np.random.default_rng(1).integers(0, 40, MADE.records.size)
FORMULAS = [
    ("log(cost) ~ age + site", "np.log(cost) ~ age + site"),
    ("cost ~ log(income)*site + plan", "cost ~ np.log(income) + plan + site + np.log(income):site"),
    (
        "cost ~ income + square(income) + cube(income)",
        "cost ~ np.power(income, 3) + income + np.power(income, 2)",
    ),
    ("cost ~ site:plan + age - 1", "cost ~ age + plan:site - 1"),
    ("cost ~ C(region, reference='west')", "cost ~ C(region, Treatment('west'))"),
    ("cost ~ spline(age)", "cost ~ bs(age, knots=(30, 45, 60), lower_bound=15, upper_bound=95)"),
]
KINDS = [
    (Covariance.CLASSICAL, {}),
    (Covariance.ROBUST, {"cov_type": "HC1", "use_t": True}),
    (Covariance.CLUSTERED, {"cov_type": "cluster", "cov_kwds": {"groups": CLUSTERS}, "use_t": True}),
]


def same(ours: ModelEstimate, peer: object, tolerance: float = 1e-8) -> None:
    for mine, theirs in (
        (ours.estimates, peer.params),
        (ours.standard_errors, peer.bse),
        (ours.statistics, peer.tvalues),
        (ours.p_values, peer.pvalues),
        (ours.lower, peer.conf_int()[0]),
        (ours.upper, peer.conf_int()[1]),
    ):
        np.testing.assert_allclose(mine, np.asarray(theirs), rtol=tolerance, atol=1e-300)


@pytest.mark.parametrize(("covariance", "options"), KINDS)
@pytest.mark.parametrize(("text", "theirs"), FORMULAS)
def test_least_squares_agree_with_statsmodels(text, theirs, covariance, options) -> None:
    formula, design, values = MADE.design(text)
    assert isinstance(formula.outcome, Numeric)
    outcome = outcome_values(formula.outcome, MADE.records)
    ours = fit_ols(design, values, outcome, MADE.units, covariance=covariance, clusters=CLUSTERS)
    peer = smf.ols(theirs, MADE.frame).fit(**options)
    same(ours, peer)
    assert ours.residual_degrees == peer.df_resid
    assert (ours.records, ours.units) == (1500, 1000)
    for name, theirs_value in (
        ("r_squared", peer.rsquared),
        ("adjusted_r_squared", peer.rsquared_adj),
        ("log_likelihood", peer.llf),
        ("aic", peer.aic),
        ("bic", peer.bic),
    ):
        assert ours.fit[name] == pytest.approx(theirs_value, rel=1e-8)
    if covariance is Covariance.CLASSICAL:
        assert ours.fit["f_statistic"] == pytest.approx(peer.fvalue, rel=1e-8)


def test_large_means_do_not_cost_digits() -> None:
    rng = np.random.default_rng(2)
    frame = MADE.frame.assign(age=MADE.frame["age"] + 1e7, cost=rng.normal(1e6, 1.0, len(MADE.frame)))
    _, design, _ = MADE.design("cost ~ age")
    values = np.column_stack([np.ones(len(frame)), frame["age"]])
    ours = ols_from_cross_products(cross_products_of(values, frame["cost"].to_numpy(), MADE.units), design)
    slope, _ = np.polyfit(frame["age"] - frame["age"].mean(), frame["cost"], 1)
    assert ours.estimates[1] == pytest.approx(slope, rel=1e-8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda values, outcome: (np.column_stack([values[:, 0], np.full(len(outcome), 0.1)]), outcome),
            "age",
        ),
        (lambda values, outcome: (values, np.full(len(outcome), 0.1)), "outcome: does not vary"),
        (lambda values, outcome: (values, 3 * values[:, 1] + 2), "explain the outcome completely"),
        (lambda values, outcome: (values[:2], outcome[:2]), "as many parameters"),
    ],
)
def test_what_cannot_be_estimated_is_said_and_never_nan(change, message) -> None:
    _, design, values = MADE.design("cost ~ age")
    values, outcome = change(values, MADE.records.measures["cost"])
    with pytest.raises(ModelProblemError, match=message):
        fit_ols(design, values, outcome, MADE.units[: len(outcome)])


def test_a_column_that_follows_from_others_is_told_by_its_variables() -> None:
    _, design, values = MADE.design("cost ~ region + plan + region:plan")
    values[:, -1] = values[:, 1] + values[:, 2]
    with pytest.raises(ModelProblemError) as caught:
        fit_ols(design, values, MADE.records.measures["cost"], MADE.units)
    assert "plan:region" in str(caught.value)
    assert "[" not in str(caught.value)
