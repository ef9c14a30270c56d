"""Log-linear risk against R's glm (run with sdcMicro 5.8.1), statsmodels' GLM and 40-digit sums."""

import numpy as np
import pytest
import statsmodels.api as sm

from reference_data import code_columns, read_columns
from sdcgate.methods.risk.loglinear import all_two_way, fit, inverse_moments, key_table, main_effects, risk

# francdat of sdcMicro: Key1 to Key4 and the weight.
FRANCDAT = np.array(
    [
        [1, 2, 5, 1, 18], [1, 2, 1, 1, 45.5], [1, 2, 1, 1, 39], [3, 3, 1, 5, 17],
        [4, 3, 1, 4, 541], [4, 3, 1, 1, 8], [6, 2, 1, 5, 5], [1, 2, 5, 1, 92],
    ]
)  # fmt: skip

# f, mean of X, E 1/(f + X), E 1/(f + X)^2, X Poisson: sums with 40 digits (mpmath 1.4.1).
INVERSE_MOMENTS = [
    (1, 0.001, 0.99950016662500833194, 0.99925030546876902438),
    (1, 35.0, 0.028571428571428553414, 0.00084111248645018059701),
    (2, 1e-9, 0.49999999983333333337, 0.24999999986111111116),
    (2, 7.5, 0.11556538816658040593, 0.014947988906910610514),
    (7, 0.3, 0.13767335681953292583, 0.019038402222359266117),
    (7, 1234.5, 0.00080612341370750426691, 6.5035710387925218368e-7),
    (150, 20000.0, 0.000049630236386560398014, 2.4632817188335814701e-9),
    (3, 250.0, 0.003968128, 0.000015808514064583818196),
]


def test_inverse_moments_are_those_of_forty_digits():
    cases = np.array(INVERSE_MOMENTS)
    first, second = inverse_moments(cases[:, 0].astype(np.int64), cases[:, 1])
    np.testing.assert_allclose(first, cases[:, 2], rtol=1e-12)
    np.testing.assert_allclose(second, cases[:, 3], rtol=1e-12)


def test_francdat_has_the_textbook_estimates_of_r():
    """R's glm(~ Key1 + Key2 + Key3 + Key4) and tau from mu/pi with each record's own pi: 4 sample uniques."""
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in FRANCDAT[:, :4].T])
    table = key_table(codes.astype(np.int64), FRANCDAT[:, 4])
    model = fit(table, main_effects(4), tolerance=1e-12)
    found = risk(table, model, table.keys.counts / table.population)
    single = table.keys.counts == 1
    expected = [0.07031250000211937, 0.35156250000129247, 0.07031250000038704, 0.11718750000278937]
    np.testing.assert_allclose(np.sort(model.means[single]), np.sort(expected), rtol=1e-9)
    assert model.table.sum() == pytest.approx(8.0)
    assert len(model.table) == 48
    assert found.tau_1 == pytest.approx(1.0357913701778931, rel=1e-9)
    assert found.tau_2 == pytest.approx(1.7966391258522834, rel=1e-9)


def test_testdata_has_the_textbook_estimates_of_r():
    """R's glm(~ sex + water + roof) on 4,580 records of weight 100: 80 cells, 48 filled, 4 uniques."""
    codes = code_columns(read_columns("testdata"), ["sex", "water", "roof"])
    table = key_table(codes, np.full(len(codes), 100.0))
    model = fit(table, main_effects(3), tolerance=1e-9)
    found = risk(table, model)
    assert (len(model.table), len(table.keys)) == (80, 48)
    assert found.tau_1 == pytest.approx(0.002315199146818891, rel=1e-7)
    assert found.tau_2 == pytest.approx(0.17093986217689167, rel=1e-9)


def test_all_two_way_means_are_those_of_a_poisson_regression():
    """statsmodels' GLM with all two-way interactions on a table without empty margins."""
    rng = np.random.default_rng(4)
    codes = np.column_stack([rng.integers(0, 3, 900), rng.integers(0, 4, 900), rng.integers(0, 3, 900)])
    codes[:, 2] = np.where(rng.random(900) < 0.5, codes[:, 0], codes[:, 2])
    table = key_table(codes, fraction=0.1)
    model = fit(table, all_two_way(3), tolerance=1e-10)
    counts = np.zeros(36)
    counts[table.cells] = table.keys.counts
    grid = np.indices((3, 4, 3)).reshape(3, 36)
    dummies = [[(axis == code).astype(float) for code in range(1, axis.max() + 1)] for axis in grid]
    columns = [np.ones(36), *(one for axis in dummies for one in axis)]
    for left, right in [(0, 1), (0, 2), (1, 2)]:
        columns += [one * other for one in dummies[left] for other in dummies[right]]
    expected = (
        sm.GLM(counts, np.column_stack(columns), family=sm.families.Poisson()).fit(tol=1e-14).fittedvalues
    )
    np.testing.assert_allclose(model.table, expected, rtol=1e-8)
