"""What number, sum and sum of inverses tell of the outermost values: never less than an optimiser finds."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sdcgate.methods.outputs.function_sums import closeness_of_inverse
from sdcgate.methods.outputs.sample import Sample


def of(values: list[float], coalition: int = 0) -> float:
    nowhere = np.zeros(len(values), dtype=np.int64)
    sample = Sample(np.array(values), nowhere, np.arange(len(values)), 1)
    return float(closeness_of_inverse(sample, coalition)[0])


def test_where_all_others_have_the_same_the_outermost_is_told() -> None:
    assert of([100.0] * 30 + [900.0]) == pytest.approx(0.0, abs=1e-9)
    assert of([100.0] * 30 + [2.0]) == pytest.approx(0.0, abs=1e-9)


def test_a_coalition_takes_its_own_values_out_first() -> None:
    """The poorest of thirty stays open by a quarter beside the one with 3, who knows what he has."""
    values = [*np.linspace(80, 120, 30), 2.0, 3.0]

    assert of(values, 1) < 0.01 < 0.1 < of(values, 0)


def test_values_that_lie_together_leave_each_other_open() -> None:
    assert of(list(np.linspace(20, 120, 60)), 1) > 0.5


def test_no_list_with_the_same_sums_has_a_value_farther_out() -> None:
    """Of a value and others that are equal the sums are met by one value alone on either side."""
    values = np.array([*np.linspace(90, 110, 20), 400.0])
    n, total, inverses = len(values), values.sum(), (1 / values).sum()

    def missed(at: float) -> float:
        return abs(1 / at + (n - 1) ** 2 / (total - at) - inverses)

    farthest = minimize_scalar(missed, bounds=(400.0, 450.0), method="bounded", options={"xatol": 1e-9}).x

    assert of(list(values)) == pytest.approx(farthest / 400.0 - 1, rel=1e-4)


def test_groups_are_told_apart_and_empty_ones_are_safe() -> None:
    values = np.array([*np.linspace(20, 120, 60), *[50.0] * 20, 500.0])
    groups = np.repeat([0, 2], [60, 21])

    found = closeness_of_inverse(Sample(values, groups, np.arange(81), 3), 1)

    assert found[0] > 0.5
    assert found[1] == np.inf
    assert found[2] < 0.01
