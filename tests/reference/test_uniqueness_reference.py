"""Measures of uniqueness against 40-digit quadrature and exact recursions (mpmath 1.4.1)."""

import numpy as np
import pytest

from sdcgate.methods.risk import uniqueness

# log of int Poisson(k; s e^x) N(x; mu, sigma^2) dx by quadrature with 40 digits: k, s, mu, sigma, value.
POISSON_LOGNORMAL = [
    (0, 0.05, -1.0, 2.0, -0.08032363168841744242),
    (1, 0.05, -1.0, 2.0, -2.8838273938815862037),
    (1, 1.0, -1.0, 2.0, -1.7991354646214975812),
    (2, 0.01, 0.5, 1.5, -5.5467127525509039722),
    (50, 0.1, 2.0, 1.0, -13.501089527259484673),
    (5000, 0.02, 3.0, 2.5, -17.464869394477909223),
    (1, 0.001, 1.0, 4.0, -3.1713187339055413389),
]


@pytest.mark.parametrize(("count", "scale", "mu", "sigma", "expected"), POISSON_LOGNORMAL)
def test_poisson_lognormal_probabilities_are_those_of_forty_digits(count, scale, mu, sigma, expected):
    found = uniqueness._log_poisson_lognormal(np.array([count]), scale, mu, sigma)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


def test_the_gamma_model_has_the_integrals_of_its_density(monkeypatch):
    """Shape 0.3, rate 0.04, sampling fraction 0.05: the measures are integrals over the gamma density."""
    point = (np.log([0.3, 0.04]), -1.0)
    monkeypatch.setattr(uniqueness, "_maximise", lambda *arguments: point)
    found = uniqueness.gamma_model(np.array([1, 2]), np.array([3, 1]), 0.05)
    assert found.pr_pu_given_su == pytest.approx(0.0415309553252775994, rel=1e-13)
    assert found.theta_s == pytest.approx(0.164237917409513321, rel=1e-13)
    assert found.theta_u == pytest.approx(0.0679245283018867925, rel=1e-13)


@pytest.mark.parametrize(
    ("a", "b", "others", "expected"),
    [
        (1.0, 730.5, 2000, 0.481662171419180755),
        (0.4, 1200.25, 3000, 0.747021066443479993),
        (0.95, 50.0, 7, 0.939317080323897173),
    ],
)
def test_the_mean_inverse_of_a_beta_binomial_is_its_sum_term_by_term(a, b, others, expected):
    assert uniqueness._inverse_mean(a, b, others) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("alpha", "keys", "sizes"),
    [
        (
            0.3,
            19.0147875039424207,
            [
                11.2858429497288258,
                3.36357546427507582,
                1.61671856392983555,
                0.92186178388464938,
                0.573794343988015408,
            ],
        ),
        (
            0.0,
            14.2755673365023002,
            [
                6.45161290322580645,
                2.76497695852534562,
                1.57406927975974732,
                1.00414764398466639,
                0.680457697570785698,
            ],
        ),
    ],
)
def test_pitmans_expected_sizes_are_those_of_seating_forty_people_one_by_one(alpha, keys, sizes):
    """theta 7.5; the recursion E n_m(t + 1) = E n_m(t) + joins of m - 1 less joins of m, with 40 digits."""
    assert uniqueness._pitman_keys(40, 7.5, alpha) == pytest.approx(keys, rel=1e-11)
    found = [uniqueness._pitman_size(40, 7.5, alpha, size) for size in range(1, 6)]
    assert found == pytest.approx(sizes, rel=1e-11)
