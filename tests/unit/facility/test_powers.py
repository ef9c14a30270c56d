"""Powers of measures as quantities: their names, and what bounds of values say of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.facility.boxes import having_variable
from sdcgate.facility.powers import Summed, power_bounds, power_of, summed_in

ENDS = st.none() | st.floats(-50, 50)


@given(low=ENDS, high=ENDS, order=st.sampled_from([2, 3, 4]), share=st.floats(0, 1))
def test_bounds_of_powers_hold_for_every_value_within_bounds(low, high, order, share) -> None:
    if low is not None and high is not None and low > high:
        low, high = high, low
    least = low if low is not None else (high if high is not None else 0.0) - 1000.0
    most = high if high is not None else (low if low is not None else 0.0) + 1000.0
    value = min(max(least + share * (most - least), least), most)

    lower, upper = power_bounds((low, high), order)

    assert lower is None or lower <= value**order
    assert upper is None or value**order <= upper


@pytest.mark.parametrize(
    ("bounds", "order", "expected"),
    [
        ((0.0, 10.0), 2, (0.0, 100.0)),
        ((-10.0, 3.0), 2, (0.0, 100.0)),
        ((-10.0, -3.0), 4, (81.0, 10_000.0)),
        ((-10.0, 3.0), 3, (-1000.0, 27.0)),
        ((2.0, None), 2, (4.0, None)),
        ((None, None), 2, (0.0, None)),
        ((None, 3.0), 3, (None, 27.0)),
    ],
)
def test_bounds_are_the_closest(bounds, order, expected) -> None:
    assert power_bounds(bounds, order) == expected


@pytest.mark.parametrize(
    ("bounds", "function", "order", "expected"),
    [
        ((0.0, 100.0), "sqrt", 1, (0.0, 10.0)),
        ((0.0, None), "log1p", 1, (0.0, None)),
        ((0.0, 1.0), "log", 1, (None, 0.0)),
        ((np.exp(-2), np.e), "log", 2, (0.0, 4.0)),
        ((2.0, 4.0), "inverse", 1, (0.25, 0.5)),
        ((0.0, None), "inverse", 1, (0.0, None)),
        ((None, None), "log", 1, (None, None)),
    ],
)
def test_bounds_of_functions_are_the_closest(bounds, function, order, expected) -> None:
    assert Summed("income", order, function).bounds(bounds) == pytest.approx(expected)


@pytest.mark.parametrize("function", ["log", "log1p", "sqrt", "inverse"])
@pytest.mark.parametrize("order", [1, 2])
def test_a_function_is_named_by_its_measure_and_rests_on_who_has_it(function, order) -> None:
    told = Summed("income", order, function)

    assert summed_in(told.quantity) == told
    assert not told.plain
    assert having_variable(told.quantity) == having_variable("income")
    assert told.words == f"{function}(income)" + ("^2" if order == 2 else "")


def test_a_power_is_named_by_its_measure_and_rests_on_who_has_it() -> None:
    assert summed_in(power_of("income", 2)) == Summed("income", 2)
    assert summed_in("power tools") == Summed("power tools")
    assert summed_in("weight:income") == Summed("weight:income")
    assert having_variable(power_of("income", 3)) == having_variable("income")


@pytest.mark.parametrize(
    "told", [Summed("income", 2), Summed("income", 1, "log"), Summed("income", 2, "sqrt")]
)
def test_what_is_told_with_weights_is_a_quantity_of_its_own_of_the_same_values(told) -> None:
    weighted = replace(told, weighted=True)

    assert summed_in(weighted.quantity) == weighted
    assert weighted.quantity != told.quantity
    assert weighted.bounds((1.0, 9.0)) == told.bounds((1.0, 9.0))
    assert having_variable(weighted.quantity) == having_variable(told.quantity)
    assert weighted.words == f"weighted {told.words}"
