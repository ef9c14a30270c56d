from collections.abc import Sequence
from itertools import pairwise, permutations

import numpy as np
import pytest

from sdcgate.methods.risk.record_order import neighbour_test


def over_all_orders(values: Sequence[int]) -> tuple[float, float]:
    """Mean and variance of the number of equal neighbours over all orders."""
    found = [sum(a == b for a, b in pairwise(order)) for order in permutations(values)]
    return float(np.mean(found)), float(np.var(found))


@pytest.mark.parametrize(
    "values", [[0, 0, 1, 1, 2], [0, 0, 0, 1, 2, 3], [5, 5, 5, 5, 7, 7], [0, 0, 0, 1, 1, 1, 1]]
)
def test_expectation_and_variance_are_those_over_all_orders(values: list[int]) -> None:
    mean, variance = over_all_orders(values)
    found = neighbour_test(np.array(values))
    assert found.expected == pytest.approx(mean)
    assert found.deviation == pytest.approx((found.neighbours - mean) / np.sqrt(variance))


def test_records_in_the_order_of_households_stand_out_and_shuffled_ones_do_not() -> None:
    households = np.repeat(np.arange(500), 3)
    assert neighbour_test(households).deviation > 100
    assert neighbour_test(households).neighbours == 1000
    assert abs(neighbour_test(np.random.default_rng(5).permutation(households)).deviation) < 4


def test_records_that_alternate_are_alike_too_rarely() -> None:
    assert neighbour_test(np.tile([0, 1], 100)).deviation < -5


@pytest.mark.parametrize("values", [[], [1], [3, 3, 3], [1, 2, 3]])
def test_where_every_order_is_the_same_nothing_stands_out(values: list[int]) -> None:
    assert neighbour_test(np.array(values, dtype=np.int64)).deviation == 0


def test_values_must_be_one_a_record() -> None:
    with pytest.raises(ValueError, match="one a record"):
        neighbour_test(np.zeros((2, 2), dtype=np.int64))
