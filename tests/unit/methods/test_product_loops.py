"""Products of sums with each other, by machine code and as matrices."""

import numpy as np
import pytest

from sdcgate.methods.tables.product_loops import products


@pytest.mark.parametrize("seed", range(5))
def test_products_are_those_of_matrices_in_the_upper_triangle(seed):
    random = np.random.default_rng(seed)
    sums = random.integers(1, 9, (6, 10)) * (random.random((6, 10)) < 0.4)
    weights = random.integers(1, 9, 10).astype(np.float64)
    rows, columns = np.argwhere(sums).T.copy()
    starts, entries = np.searchsorted(rows, np.arange(7)), sums[rows, columns].astype(np.float64)
    found = products(starts, columns, entries, entries * weights[columns], 10)
    assert np.array_equal(found, np.triu(sums @ np.diag(weights) @ sums.T))
