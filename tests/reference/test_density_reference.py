"""Density-based risk: closed forms for uniform and lattice points, and all distances by SciPy."""

import numpy as np
import pytest

from reference_data import read_columns
from sdcgate.methods.risk.density import largest_units, neighbourhoods


def test_neighbours_on_a_lattice_are_counted_by_a_formula():
    side, width = 30, 3
    lattice = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2).astype(float)
    found = neighbourhoods(lattice, np.array([width, width]), 1)
    along = np.minimum(lattice, width) + np.minimum(side - 1 - lattice, width) + 1
    assert found.neighbours.tolist() == (along.prod(axis=1) - 1).tolist()


def test_neighbours_of_uniform_points_have_the_expected_number():
    """n points on a ring of length 1: each has 2 w (n - 1) others within w in the mean, binomial."""
    n, w = 20_000, 0.001
    at = np.random.default_rng(5).random(n)
    inner = (at > w) & (at < 1 - w)
    found = neighbourhoods(at[:, None], np.array([w]), 10)
    assert found.neighbours[inner].mean() == pytest.approx(2 * w * (n - 1), rel=0.02)


def test_companies_have_the_neighbours_of_scipys_distances():
    from scipy.spatial.distance import cdist

    file = read_columns("tarragona_noise")
    numbers = np.column_stack([file["sales"], file["labor_costs"]])
    widths = numbers.std(axis=0) / 10
    found = neighbourhoods(numbers, widths, 5)
    away = cdist(numbers / widths, numbers / widths, "chebyshev")
    assert found.neighbours.tolist() == ((away <= 1).sum(axis=1) - 1).tolist()
    np.testing.assert_allclose(found.reach, np.sort(away, axis=1)[:, 5], rtol=1e-9)
    top = largest_units(numbers, 3)
    assert set(np.argsort(numbers[:, 0])[-3:]) <= set(np.flatnonzero(top.among))
