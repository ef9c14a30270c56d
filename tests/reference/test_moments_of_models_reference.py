"""What is computed from sufficient statistics, against statsmodels and scipy on the records."""

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.multivariate.pca import PCA

from model_frames import made_frame
from sdcgate.methods.outputs.analysis_of_variance import SumsOfSquares, analysis_of_variance
from sdcgate.methods.outputs.correlation import correlation_matrix, principal_components, shares_of_squares
from sdcgate.methods.outputs.cross_products import CrossProducts, cross_products_of
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.significance_tests import (
    GroupMoments,
    chi_squared_test,
    kolmogorov_smirnov_test,
    mann_whitney_test,
    welch_test,
)

MADE = made_frame()
MEASURES = ("income", "age", "cost", "visits")


@pytest.mark.parametrize("kind", list(SumsOfSquares))
def test_an_analysis_of_variance_is_that_of_statsmodels(kind: SumsOfSquares) -> None:
    _, design, values = MADE.design("cost ~ age + site*plan")
    sums = cross_products_of(values, MADE.records.measures["cost"], MADE.units)
    ours = analysis_of_variance(sums, design, kind)
    peer = sm.stats.anova_lm(smf.ols("cost ~ plan + site + plan:site + age", MADE.frame).fit(), typ=int(kind))
    lines = peer.loc[list(ours.terms)]
    np.testing.assert_allclose(ours.sums, lines["sum_sq"], rtol=1e-8)
    np.testing.assert_allclose(ours.statistics, lines["F"], rtol=1e-8)
    np.testing.assert_allclose(ours.p_values, lines["PR(>F)"], rtol=1e-8)
    assert list(ours.degrees) == list(lines["df"])
    assert ours.residual_sum == pytest.approx(peer.loc["Residual", "sum_sq"], rel=1e-10)
    assert ours.terms == ("plan", "site", "plan:site", "age")


def test_an_analysis_of_variance_needs_a_constant() -> None:
    _, design, values = MADE.design("cost ~ site - 1")
    sums = cross_products_of(values, MADE.records.measures["cost"], MADE.units)
    with pytest.raises(ModelProblemError, match="has a constant"):
        analysis_of_variance(sums, design, SumsOfSquares.PARTIAL)


def sums_of(names: tuple[str, ...]) -> CrossProducts:
    columns = [MADE.records.measures[name] for name in names]
    return cross_products_of(np.column_stack(columns[:-1]), columns[-1], MADE.units)


def test_correlations_are_those_of_scipy() -> None:
    ours = correlation_matrix(sums_of(MEASURES), MEASURES)
    for row, one in enumerate(MEASURES):
        for column, other in enumerate(MEASURES[:row]):
            peer = scipy.stats.pearsonr(MADE.frame[one], MADE.frame[other])
            assert ours.correlations[row, column] == pytest.approx(peer.statistic, rel=1e-10)
            assert ours.p_values[row, column] == pytest.approx(peer.pvalue, rel=1e-8)
    assert (ours.records, ours.units) == (1500, 1000)


def test_principal_components_are_those_of_statsmodels() -> None:
    ours = principal_components(correlation_matrix(sums_of(MEASURES), MEASURES))
    peer = PCA(MADE.frame[list(MEASURES)], standardize=True)
    np.testing.assert_allclose(ours.variances, peer.eigenvals / 1500, rtol=1e-10)
    np.testing.assert_allclose(np.abs(ours.loadings), np.abs(peer.loadings), rtol=1e-8)
    assert ours.variances.sum() == pytest.approx(4.0)
    assert np.all(ours.loadings[np.abs(ours.loadings).argmax(axis=0), np.arange(4)] > 0)


def test_a_constant_measure_has_no_correlation() -> None:
    sums = cross_products_of(np.full((9, 1), 0.1), np.arange(9.0), np.arange(9))
    with pytest.raises(ModelProblemError, match="age does not vary"):
        correlation_matrix(sums, ("age", "cost"))


def test_one_unit_far_out_holds_the_squares_of_its_measure() -> None:
    values = np.column_stack([np.append(np.zeros(99), 1e6), np.arange(100.0)])
    shares = shares_of_squares(values, np.arange(100) // 2, 2)
    assert shares[0, 0] > 0.98
    assert shares[1, 0] < 0.07
    assert np.all(shares[:, 1] >= shares[:, 0])


def moments(values: np.ndarray) -> GroupMoments:
    return GroupMoments(len(values), float(values.mean()), float(values.var(ddof=1)))


def test_tests_of_two_samples_are_those_of_scipy() -> None:
    ill = MADE.frame["ill"] == "yes"
    first, second = (MADE.frame.loc[who, "visits"].to_numpy() for who in (ill, ~ill))
    for ours, peer in (
        (welch_test(moments(first), moments(second)), scipy.stats.ttest_ind(first, second, equal_var=False)),
        (mann_whitney_test(first, second), scipy.stats.mannwhitneyu(first, second)),
        (kolmogorov_smirnov_test(first, second), scipy.stats.ks_2samp(first, second, method="asymp")),
    ):
        assert ours.statistic == pytest.approx(peer.statistic, rel=1e-10)
        assert ours.p_value == pytest.approx(peer.pvalue, rel=1e-8)


def test_a_test_of_independence_is_that_of_scipy() -> None:
    counts = np.array([[20, 0, 31], [0, 0, 0], [12, 0, 44]])
    ours = chi_squared_test(counts)
    peer = scipy.stats.chi2_contingency(counts[[0, 2]][:, [0, 2]], correction=False)
    assert (ours.statistic, ours.degrees) == (pytest.approx(peer.statistic), peer.dof)
    assert ours.p_value == pytest.approx(peer.pvalue)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: welch_test(GroupMoments(1, 0, 0), GroupMoments(9, 1, 1)), "at least two records"),
        (lambda: welch_test(GroupMoments(9, 0, 0), GroupMoments(9, 1, 0)), "does not vary"),
        (lambda: chi_squared_test(np.array([[3, 4], [0, 0]])), "fewer than two rows"),
        (lambda: mann_whitney_test(np.zeros(0), np.ones(3)), "no records"),
        (lambda: kolmogorov_smirnov_test(np.ones(3), np.ones(3)), "does not vary"),
        (lambda: mann_whitney_test(np.array([np.nan]), np.ones(3)), "no numbers"),
    ],
)
def test_a_test_that_cannot_be_made_is_said(run, message) -> None:
    with pytest.raises(ModelProblemError, match=message):
        run()
