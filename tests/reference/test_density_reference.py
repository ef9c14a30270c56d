"""Density-based risk: closed forms, all distances by SciPy, and the clusters of scikit-learn's DBSCAN."""

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


def enterprises():
    """Activity, size class, turnover and employees of 600 made enterprises, as of the Innovation Survey."""
    rng = np.random.default_rng(2006)
    activity = rng.choice(12, 600, p=np.arange(12, 0, -1) / 78)
    employees = np.maximum(10, np.rint(rng.lognormal(4.0, 1.1, 600)))
    turnover = np.round(employees * rng.lognormal(4.5, 0.6, 600))
    size = np.searchsorted([50, 250], employees, "right")
    return np.column_stack([activity, size]), np.column_stack([np.log(turnover), employees])


# scikit-learn 1.9.1, within each activity and size class DBSCAN(eps=1, metric="chebyshev",
# min_samples=minimum + 1) of log turnover / log 1.25 and employees / 20: points that are no core samples,
# points of no cluster (noise), and the sum of the positions of these.
@pytest.mark.parametrize(
    ("minimum", "no_core", "noise", "positions"),
    [(1, 146, 146, 44_654), (3, 346, 269, 82_112), (5, 477, 371, 109_993)],
)
def test_isolated_units_are_no_core_samples_and_those_outside_are_the_noise_of_dbscan(
    minimum, no_core, noise, positions
):
    codes, numbers = enterprises()
    found = neighbourhoods(numbers, np.array([np.log1p(0.25), 20.0]), minimum, codes)
    assert (found.isolated.sum(), found.outside.sum()) == (no_core, noise)
    assert np.flatnonzero(found.outside).sum() == positions
