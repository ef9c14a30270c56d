"""Statistics against published figures and other programs: nobody here computed an expected number."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import Table2x2
from statsmodels.stats.weightstats import DescrStatsW

from published_samples import STUDY_GROUPS, ice_cream, sample_of
from sdcgate.methods.outputs.association import two_by_two
from sdcgate.methods.outputs.inequality import concentration_ratios, gini, herfindahl
from sdcgate.methods.outputs.means import means, ratios, totals
from sdcgate.methods.outputs.moments import moments
from sdcgate.methods.outputs.percentiles import percentiles
from sdcgate.methods.outputs.sample import Design
from sdcgate.methods.outputs.statistic_rules import PercentileUnits
from sdcgate.methods.rules import Consequence


def test_simple_random_sample_of_sas():
    _, spending = ice_cream()
    found = means(sample_of(spending, design=Design(fractions=np.array([40 / 4000]))))
    assert found.values == pytest.approx([8.75])
    assert found.standard_errors == pytest.approx([0.845139], abs=5e-7)
    assert found.degrees_of_freedom.tolist() == [39]


def test_stratified_sample_of_sas():
    grade, spending = ice_cream()
    students, drawn = np.array([1824, 1025, 1151]), np.bincount(grade)
    design = Design(strata=grade, fractions=drawn / students)
    found = means(sample_of(spending, weights=(students / drawn)[grade], design=design))
    assert found.values == pytest.approx([9.141298], abs=5e-7)
    assert found.standard_errors == pytest.approx([0.531799], abs=5e-7)
    assert found.degrees_of_freedom.tolist() == [37]


def test_stratified_clusters_of_sas():
    grade, group, spending = np.array(STUDY_GROUPS.split(), dtype=np.int64).reshape(-1, 3).T
    drawn, groups = np.array([8, 3, 5]), np.array([608, 252, 403])
    design = Design(strata=grade - 7, clusters=group, fractions=drawn / groups)
    found = means(sample_of(spending, weights=(groups / drawn)[grade - 7], design=design))
    assert found.values == pytest.approx([8.923860], abs=5e-7)
    assert found.standard_errors == pytest.approx([0.650859], abs=5e-7)
    assert found.degrees_of_freedom.tolist() == [13]


def test_one_stage_clusters_of_lohr():
    """Lohr, Sampling: Design and Analysis (2010), Example 5.2: grade point averages in 5 of 100 suites."""
    averages = [
        [3.08, 2.60, 3.44, 3.04],
        [2.36, 3.04, 3.28, 2.68],
        [2.00, 2.56, 2.52, 1.88],
        [3.00, 2.88, 3.44, 3.64],
        [2.68, 1.92, 3.28, 3.20],
    ]
    design = Design(clusters=np.repeat(np.arange(5), 4), fractions=np.array([0.05]))
    sample = sample_of(np.ravel(averages), weights=np.full(20, 20.0), design=design)
    assert totals(sample).values == pytest.approx([1130.4])
    assert means(sample).values == pytest.approx([2.826])
    assert means(sample).standard_errors == pytest.approx([0.164], abs=5e-4)


def test_a_domain_keeps_clusters_without_records_in_it():
    """SURVEYMEANS reckons with every cluster of a stratum; so does a group's sample that is told of them."""
    _, spending = ice_cream()
    whole = sample_of(spending, groups=(spending >= 10).astype(np.int64))
    alone = spending >= 10
    part = sample_of(spending[alone], design=Design(sampled=np.array([40])))
    assert means(part).standard_errors[0] == pytest.approx(means(whole).standard_errors[1], rel=1e-12)


def test_the_total_of_a_domain_has_the_error_of_zeros_elsewhere():
    """Lohr (2010), 4.2: a domain's total is that of a variable that is 0 outside, clusters without it too."""
    grade, group, spending = np.array(STUDY_GROUPS.split(), dtype=np.int64).reshape(-1, 3).T
    design = Design(strata=grade - 7, clusters=group)
    domain = (spending >= 10).astype(np.int64)
    of_domain = totals(sample_of(spending, groups=domain, design=design)).standard_errors[1]
    of_zeros = totals(sample_of(spending * domain, design=design)).standard_errors[0]
    assert of_domain == pytest.approx(of_zeros, rel=1e-12)


def test_a_ratio_of_equal_denominators_is_a_mean():
    rng = np.random.default_rng(1)
    sample = sample_of(rng.lognormal(size=60), groups=np.arange(60) % 3, weights=rng.uniform(1, 3, 60))
    ratio, mean = ratios(sample, np.full(60, 4.0)), means(sample)
    assert ratio.values * 4 == pytest.approx(mean.values)
    assert ratio.standard_errors * 4 == pytest.approx(mean.standard_errors)


def test_moments_are_those_of_pandas():
    rng = np.random.default_rng(2)
    values, groups = rng.lognormal(size=300), rng.integers(0, 4, 300)
    found, peer = moments(sample_of(values, groups)), pd.Series(values).groupby(groups)
    assert found.variances == pytest.approx(peer.var().to_numpy())
    assert found.standard_deviations == pytest.approx(peer.std().to_numpy())
    assert found.skewness == pytest.approx(peer.skew().to_numpy())
    assert found.kurtosis == pytest.approx(peer.apply(pd.Series.kurt).to_numpy())


def test_weighted_moments_are_those_of_statsmodels():
    rng = np.random.default_rng(3)
    values, weights = rng.normal(5, 2, 80), rng.uniform(1, 9, 80)
    sample, peer = sample_of(values, weights=weights), DescrStatsW(values, weights, ddof=0)
    assert moments(sample).means == pytest.approx([peer.mean])
    assert moments(sample).variances == pytest.approx([peer.var * 80 / 79])
    assert totals(sample).values == pytest.approx([peer.sum])


@pytest.mark.parametrize("point", [0.5, 0.25, 0.95])
def test_percentiles_of_large_groups_are_near_those_of_numpy(point):
    rng = np.random.default_rng(4)
    values, rule = rng.normal(size=20_000), PercentileUnits(10, 10, Consequence.REFUSE)
    found = percentiles(sample_of(values), rule)
    place = found.points.index(point)
    low, high = np.quantile(values, [point - 0.0005, point + 0.0005], method="hazen")
    assert low < found.values[0, place] < high


def test_a_window_of_one_is_the_median_of_numpy():
    values, rule = np.random.default_rng(5).normal(size=101), PercentileUnits(1, 1, Consequence.REFUSE)
    found = percentiles(sample_of(values), rule)
    assert found.values[0, found.points.index(0.5)] == np.median(values)


def test_weighted_percentiles_are_those_of_repeated_records():
    rng = np.random.default_rng(6)
    values, weights = rng.normal(size=2000), rng.integers(1, 6, 2000)
    found = percentiles(
        sample_of(values, weights=weights.astype(np.float64)), PercentileUnits(10, 10, Consequence.REFUSE)
    )
    peer = np.quantile(np.repeat(values, weights), found.points, method="hazen")
    assert np.abs(found.values[0] - peer).max() < 0.03


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([541, 1463, 2445, 3438, 4437, 5401, 6392, 8304, 11904, 22261], 0.4620911),  # R package ineq
        ([1, 3, 2, 1, 1, 1, 4], 0.3076923),  # R package phylotools
        ([10, 10, 0, 0, 0], 0.6),  # the rich two fifths have all
    ],
)
def test_gini_of_published_examples(values, expected):
    assert gini(sample_of(values)).values == pytest.approx([expected], abs=5e-8)


def test_gini_of_a_uniform_distribution_is_a_third():
    values = (np.arange(100_000) + 0.5) / 100_000
    assert gini(sample_of(values)).values == pytest.approx([1 / 3], abs=1e-6)


def test_gini_with_weights_is_that_of_repeated_records():
    values, weights = np.array([10.0, 0.0]), np.array([2.0, 3.0])
    assert gini(sample_of(values, weights=weights)).values == pytest.approx([0.6])


def test_herfindahl_and_concentration_of_the_merger_guidelines():
    """U.S. Horizontal Merger Guidelines (2010), 5.3: shares of 30, 30, 20 and 20 percent make 2600 points."""
    sample = sample_of([30, 30, 20, 20])
    assert herfindahl(sample).values * 10_000 == pytest.approx([2600])
    assert concentration_ratios(sample, 2).values == pytest.approx([0.6])


def test_aspirin_and_heart_attacks_of_agresti():
    """Agresti, An Introduction to Categorical Data Analysis (2007), 2.2 and 2.3: 22,071 physicians."""
    counts = [189, 10845, 104, 10933]
    placebo = np.repeat([True, True, False, False], counts)
    attack = np.repeat([True, False, True, False], counts)
    table = two_by_two(sample_of(np.ones(len(placebo))), placebo, attack)
    odds, risk = table.odds_ratios(), table.risk_ratios()
    assert odds.values == pytest.approx([1.832], abs=5e-4)
    assert odds.log_standard_errors == pytest.approx([0.123], abs=5e-4)
    assert [limit[0] for limit in odds.interval()] == pytest.approx([1.44, 2.33], abs=5e-3)
    assert risk.values == pytest.approx([1.82], abs=5e-3)
    assert [limit[0] for limit in risk.interval()] == pytest.approx([1.43, 2.31], abs=5e-3)


def test_ratios_of_a_small_table_are_those_of_statsmodels():
    """Its errors are Woolf's and Katz'; ours have the n / (n - 1) of a sample."""
    counts = np.array([[20, 35], [50, 31]])
    exposed = np.repeat([True, True, False, False], counts.ravel())
    outcome = np.repeat([True, False, True, False], counts.ravel())
    table, peer = two_by_two(sample_of(np.ones(136)), exposed, outcome), Table2x2(counts)
    for found, ratio, error in (
        (table.odds_ratios(), peer.oddsratio, peer.log_oddsratio_se),
        (table.risk_ratios(), peer.riskratio, peer.log_riskratio_se),
    ):
        assert found.values == pytest.approx([ratio])
        assert found.log_standard_errors == pytest.approx([error * np.sqrt(136 / 135)])


def test_a_second_record_of_every_unit_makes_no_ratio_more_certain():
    counts = [20, 35, 50, 31]
    exposed, outcome = (
        np.repeat([True, True, False, False], counts),
        np.repeat([True, False, True, False], counts),
    )
    once = two_by_two(sample_of(np.ones(136)), exposed, outcome)
    units = np.repeat(np.arange(136), 2)
    twice = two_by_two(sample_of(np.ones(272), units=units), np.repeat(exposed, 2), np.repeat(outcome, 2))
    assert twice.odds_ratios().log_standard_errors == pytest.approx(once.odds_ratios().log_standard_errors)
    assert twice.risk_ratios().values == pytest.approx(once.risk_ratios().values)
