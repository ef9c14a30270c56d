"""Smoothing against 40-digit arithmetic, and statsmodels' weighted Poisson regression."""

from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm

from sdcgate.methods.risk.negative_binomial import negative_binomial_risk
from sdcgate.methods.risk.neighbourhoods import Neighbourhood
from sdcgate.methods.risk.smoothing import smooth

# f, mean of lambda, dispersion, inclusion, E 1/F, and for f = 1 Pr(F = 1): rho/f 2F1(1 - alpha, 1; f + 1;
# 1 - rho) and rho^(alpha + 1) with 40 digits (mpmath 1.4.1).
RISKS = [
    (1, 0.01, 0.5, 0.02, 0.99269845300858889617, 0.98544433349305057564),
    (1, 3.0, 0.1, 0.05, 0.32615921506986969328, 0.065727874654516444186),
    (1, 250.0, 2.0, 0.001, 0.0056773719788801304936, 0.00016382504645646191551),
    (1, 40.0, 1e-07, 0.02, 0.025510206122448979361, 9.4556053244772731248e-18),
    (1, 5.0, 100000000.0, 0.3, 0.51598834304485805133, 0.29999999778808159201),
    (2, 0.4, 0.7, 0.01, 0.37919683991284799718, 0.0),
    (2, 10000.0, 5.0, 1e-05, 0.000024996967084075767321, 0.0),
    (3, 30.0, 0.02, 0.1, 0.034957471090103436863, 0.0),
    (7, 0.001, 1.0, 0.5, 0.14278578564292850007, 0.0),
    (7, 900.0, 1e-05, 0.01, 0.0011148520141060151602, 0.0),
    (50, 2000.0, 0.3, 0.02, 0.00041373048271071777648, 0.0),
    (1000, 100000.0, 3.0, 0.01, 0.000010009906439032556008, 0.0),
    (2, 12.0, 1.0, 0.999, 0.49953846153846153805, 0.0),
]


@pytest.mark.parametrize(("f", "mean", "dispersion", "inclusion", "inverse", "alone"), RISKS)
def test_risks_are_those_of_forty_digits(f, mean, dispersion, inclusion, inverse, alone):
    unique, risks = negative_binomial_risk(
        np.array([f]), np.array([mean]), np.array([dispersion]), np.array([inclusion])
    )
    assert risks[0] == pytest.approx(inverse, rel=1e-13)
    assert unique[0] == pytest.approx(alone, rel=1e-13)


@pytest.mark.parametrize("degree", [1, 2])
def test_a_local_polynomial_is_the_weighted_poisson_regression_of_the_neighbourhood(degree):
    """statsmodels' GLM with the neighbourhood's weights, all its cells but the key's own, empty ones too."""
    rng = np.random.default_rng(11)
    codes = np.column_stack([rng.binomial(9, 0.4, 400), rng.binomial(7, 0.5, 400)]).astype(np.int64)
    found = smooth(codes, (0, 1), fraction=0.1, neighbourhoods=(Neighbourhood(2, degree, 0.0),))
    shape = codes.max(axis=0) + 1
    counts = np.zeros(shape)
    np.add.at(counts, tuple(codes.T), 1)
    margins = [counts.sum(axis=1 - axis) for axis in range(2)]
    weights = 1 - (np.arange(3) / 3) ** 2
    for key in range(0, len(found.keys), 9):
        place = codes[found.keys.first[key]]
        rows, seen, mass, offset = [], [], [], []
        for away in product(range(-2, 3), repeat=2):
            cell = place + away
            if away == (0, 0) or np.any(cell < 0) or np.any(cell >= shape):
                continue
            rows.append([1.0, *away, *(one**2 for one in away)][: 1 + 2 * degree])
            seen.append(counts[tuple(cell)])
            mass.append(weights[abs(away[0])] * weights[abs(away[1])])
            offset.append(np.log(margins[0][cell[0]] * margins[1][cell[1]] / 400))
        model = sm.GLM(
            np.array(seen), np.array(rows), sm.families.Poisson(), offset=offset, freq_weights=mass
        ).fit(tol=1e-13)
        at_place = margins[0][place[0]] * margins[1][place[1]] / 400 * np.exp(model.params[0])
        if abs(model.params[1:]).max() < 5:  # elsewhere there is no finite maximum
            assert found.means[key] == pytest.approx(at_place, rel=1e-7)
