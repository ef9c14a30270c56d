"""Tests, analyses of variance and correlations of groups against published figures and other programs."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

from sdcgate.methods.outputs.every_statistic import compute_statistic
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.outputs.statistic_rules import usual_rules
from sdcgate.methods.outputs.statistics import Columns, FactorColumn
from sdcgate.methods.rules import Consequence, MinimumUnits, Rules

RULES = usual_rules(Rules(minimum_units=MinimumUnits(1, Consequence.REFUSE)))
EXACT = 1e-8


def computed(statistic: Statistic, values: Any, **columns: Any) -> dict[str, float]:
    """Figures of one group of units with a record each."""
    of_records = np.asarray(values, dtype=np.float64)
    one = np.zeros(len(of_records), dtype=np.int64)
    found = compute_statistic(
        statistic, Sample(of_records, one, np.arange(len(one)), 1), RULES, Columns(**columns)
    )
    return {figure.name: float(figure.values[0]) for figure in found.figures}


def test_hours_of_sleep_have_the_t_that_r_prints() -> None:
    """Student (1908), The probable error of a mean; `t.test(extra ~ group, sleep)` in R."""
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = computed(Statistic.T_TEST, first + second, has=np.arange(20) < 10)
    assert found["t"] == pytest.approx(-1.8608, abs=5e-5)
    assert found["degrees_of_freedom"] == pytest.approx(17.776, abs=5e-4)
    assert found["p_value"] == pytest.approx(0.07939, abs=5e-6)


def test_yields_of_plants_have_the_variances_that_r_prints() -> None:
    """Dobson (1983), Introduction to Statistical Modelling; `anova(lm(weight ~ group, PlantGrowth))` in R."""
    control = [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14]
    one = [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69]
    two = [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26]
    group = FactorColumn("group", np.repeat([0, 1, 2], 10), 3)
    found = computed(Statistic.ANALYSIS_OF_VARIANCE, control + one + two, factors=(group,))
    assert found["sum_of_squares(group)"] == pytest.approx(3.7663, abs=5e-5)
    assert found["residual_sum_of_squares"] == pytest.approx(10.4921, abs=5e-5)
    assert found["F(group)"] == pytest.approx(4.8461, abs=5e-5)
    assert found["p_value(group)"] == pytest.approx(0.01591, abs=5e-6)


def test_parties_and_sexes_have_the_printed_chi_squared() -> None:
    """Agresti (2007), An Introduction to Categorical Data Analysis, table 2.5 and section 2.4.4."""
    counts = [762, 327, 468, 484, 239, 477]
    cell = np.repeat(np.arange(6), counts)
    factors = (FactorColumn("sex", cell // 3, 2), FactorColumn("party", cell % 3, 3))
    found = computed(Statistic.CHI_SQUARED_TEST, np.ones(len(cell)), factors=factors)
    assert found["chi_squared"] == pytest.approx(30.1, abs=0.05)
    assert found["degrees_of_freedom"] == 2
    assert found["p_value"] < 0.001


def test_the_first_of_four_pictures_has_its_printed_correlation() -> None:
    """Anscombe (1973), Graphs in statistical analysis, The American Statistician 27."""
    x = [10.0, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
    y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]
    measures = (("x", np.array(x)), ("y", np.array(y)))
    assert computed(Statistic.CORRELATIONS, x, measures=measures)["correlation(x,y)"] == pytest.approx(
        0.816, abs=5e-4
    )
    found = computed(Statistic.PRINCIPAL_COMPONENTS, x, measures=measures)
    assert [found["variance(1)"], found["variance(2)"]] == pytest.approx([1.816, 0.184], abs=5e-4)


@pytest.fixture(scope="module")
def made() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": rng.integers(0, 3, 500), "b": rng.integers(0, 4, 500)})
    return frame.assign(y=rng.lognormal(8, 1, 500) + 300 * frame["a"], z=rng.normal(1e6, 1, 500))


def test_an_analysis_of_variance_with_unequal_cells_agrees_with_statsmodels(made: pd.DataFrame) -> None:
    factors = (FactorColumn("a", made["a"].to_numpy(), 3), FactorColumn("b", made["b"].to_numpy(), 5))
    found = computed(Statistic.ANALYSIS_OF_VARIANCE, made["y"], factors=factors)
    peer = anova_lm(smf.ols("y ~ C(a) * C(b)", made).fit(), typ=2)
    for term, line in {"a": "C(a)", "b": "C(b)", "a:b": "C(a):C(b)"}.items():
        assert found[f"sum_of_squares({term})"] == pytest.approx(peer.loc[line, "sum_sq"], rel=EXACT)
        assert found[f"F({term})"] == pytest.approx(peer.loc[line, "F"], rel=EXACT)
        assert found[f"p_value({term})"] == pytest.approx(peer.loc[line, "PR(>F)"], rel=EXACT)


def test_tests_of_two_samples_and_correlations_agree_with_scipy(made: pd.DataFrame) -> None:
    y, z, has = made["y"].to_numpy(), made["z"].to_numpy(), (made["a"] == 1).to_numpy()
    t = computed(Statistic.T_TEST, y, has=has)
    peer = stats.ttest_ind(y[has], y[~has], equal_var=False)
    assert [t["t"], t["p_value"]] == pytest.approx([peer.statistic, peer.pvalue], rel=EXACT)
    r = computed(Statistic.CORRELATIONS, y, measures=(("y", y), ("z", z)))
    assert [*r.values()] == pytest.approx([*stats.pearsonr(y, z)], rel=EXACT)
