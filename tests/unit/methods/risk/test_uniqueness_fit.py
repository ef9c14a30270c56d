"""A uniqueness model is held against the keys of one, two and three units that the file has."""

import numpy as np
import pytest

from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.uniqueness import gamma_model, lognormal_model, sizes_of
from sdcgate.methods.risk.uniqueness_fit import size_fit


def test_differences_that_chance_explains_are_a_fit():
    found = size_fit((100.0, 50.0, 4.0), (119, 37, 1))
    assert found.fits
    assert found.rough
    assert found.deviation == 0.0


def test_the_size_that_is_missed_most_is_named_with_its_sign():
    few = size_fit((5232.0, 2162.0, 1191.0), (7653, 1378, 636))
    assert (few.size, few.deviation) == (3, pytest.approx(1191 / 636 - 1))
    assert not few.rough
    assert size_fit((600.0, 400.0, 300.0), (1000, 400, 300)).deviation == pytest.approx(-0.4)


def test_a_tenth_off_is_a_rough_fit_and_keys_of_four_units_do_not_count():
    found = size_fit((7712.0, 1300.0, 571.0, 9999.0), (7653, 1378, 636, 335))
    assert (found.size, found.fits, found.rough) == (3, False, True)


def test_a_size_that_no_key_has_is_missed_only_where_many_are_expected():
    assert size_fit((3.0, 2.0, 1.0), (2, 0, 0)).fits
    assert size_fit((30.0, 20.0, 1.0), (30, 0, 0)).size == 2


def test_of_keys_with_log_normal_sizes_the_log_normal_model_fits_and_gamma_does_not():
    rng = np.random.default_rng(1)
    sizes = rng.poisson(0.05 * np.exp(rng.normal(1.0, 2.0, 60_000)))
    keys = group_keys(np.repeat(np.arange(60_000), sizes)[:, None])
    expected = [model(*sizes_of(keys), 0.05).expected_sizes for model in (lognormal_model, gamma_model)]
    found = np.bincount(keys.counts, minlength=6)[1:6]
    assert size_fit(expected[0], found).fits
    assert not size_fit(expected[1], found).rough
