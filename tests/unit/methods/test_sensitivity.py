import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdcgate.methods.cells import Facts, MeasureFacts
from sdcgate.methods.tables.sensitivity import (
    dominated,
    equal_values,
    estimable,
    few_households,
    few_units,
    few_with_or_without,
)


def largest_and_sums(*cells: list[float]) -> tuple[np.ndarray, np.ndarray]:
    absolute = [[*sorted(map(abs, cell), reverse=True), 0.0, 0.0, 0.0] for cell in cells]
    return np.array([cell[:3] for cell in absolute]), np.array([sum(cell) for cell in absolute])


def few_having_or_lacking(
    units: int, records: int, valid_units: int, valid_records: int, lacking_units: int | None, minimum: int
) -> bool:
    zeros = np.zeros(1)
    measure = MeasureFacts(
        name="income",
        sums=zeros,
        valid_records=np.array([valid_records]),
        valid_units=np.array([valid_units]),
        largest=np.zeros((1, 2)),
        absolute_sums=zeros,
        minima=zeros,
        maxima=zeros,
        lacking_units=None if lacking_units is None else np.array([lacking_units]),
    )
    return bool(few_with_or_without(Facts(np.array([units]), np.array([records])), measure, minimum)[0])


def test_fewer_units_than_the_minimum_are_unsafe_but_none_are_not() -> None:
    assert few_units(np.array([0, 1, 9, 10, 11]), 10).tolist() == [False, True, True, False, False]


def test_a_count_that_cannot_be_is_not_safe() -> None:
    assert few_units(np.array([-1]), 1).tolist() == [True]


def test_fewer_households_than_the_minimum_are_unsafe_up_to_rounding_of_the_sizes() -> None:
    sevenths = float(np.cumsum(np.full(21, 1 / 7))[-1])
    assert sevenths < 3
    households = np.array([0.0, 1.0, 2.99, sevenths, 3.0, 3.5])
    units = np.array([0, 6, 9, 21, 9, 9])
    assert few_households(households, units, 3).tolist() == [False, True, True, False, False, False]


def test_units_without_a_known_household_are_unsafe() -> None:
    assert few_households(np.array([0.0, np.nan]), np.array([50, 50]), 3).tolist() == [True, True]


def test_the_largest_units_hold_too_much_at_the_bound_and_above_it() -> None:
    cells = largest_and_sums([45.0, 45, 10], [45.0, 44, 11], [46.0, 45, 9])
    assert dominated(*cells, n=2, share=0.9).tolist() == [True, False, True]


def test_a_billionth_below_the_bound_counts_as_unsafe_and_more_does_not() -> None:
    cells = largest_and_sums([0.9 - 0.5e-9, 0.1 + 0.5e-9], [0.9 - 2e-9, 0.1 + 2e-9])
    assert dominated(*cells, n=1, share=0.9).tolist() == [True, False]


def test_so_many_contributors_as_are_looked_at_always_dominate() -> None:
    cells = largest_and_sums([5.0], [5.0, 5.0], [5.0, 5.0, 5.0])
    assert dominated(*cells, n=1, share=1.0).tolist() == [True, False, False]
    assert dominated(*cells, n=2, share=1.0).tolist() == [True, True, False]


def test_cells_of_zeros_or_of_nobody_are_not_dominated() -> None:
    cells = largest_and_sums([0.0, 0.0], [])
    assert not dominated(*cells, n=1, share=0.5).any()
    assert not estimable(*cells, share=0.1).any()


def test_a_negative_value_neither_hides_dominance_nor_makes_it() -> None:
    cells = largest_and_sums([-100.0, 1, 1, 1], [9.0, 8, 9, 8, -1])
    assert dominated(*cells, n=1, share=0.5).tolist() == [True, False]
    assert estimable(*cells, share=0.1).tolist() == [True, False]


def test_dominance_asks_for_as_many_ranks_as_it_looks_at() -> None:
    with pytest.raises(ValueError, match="at least 4 ranks"):
        dominated(*largest_and_sums([1.0]), n=4, share=0.5)
    with pytest.raises(ValueError, match="at least 2 ranks"):
        estimable(np.ones((1, 1)), np.ones(1), share=0.5)


def test_p_percent_compares_the_remainder_with_the_largest() -> None:
    cells = largest_and_sums([100.0, 50, 9], [100.0, 50, 10], [100.0, 50, 11])
    assert estimable(*cells, share=0.1).tolist() == [True, True, False]


def test_one_or_two_contributors_can_be_estimated() -> None:
    assert estimable(*largest_and_sums([7.0], [7.0, 7.0]), share=0.01).tolist() == [True, True]


def test_a_nan_is_never_safe() -> None:
    bad = np.array([[np.nan, np.nan]])
    assert dominated(bad, np.array([1.0]), 1, 0.5).all()
    assert dominated(np.ones((1, 2)), np.array([np.nan]), 1, 0.5).all()
    assert estimable(bad, np.array([1.0]), 0.1).all()
    assert equal_values(np.array([np.nan]), np.array([1.0]), np.array([3]), 0.0).all()


def test_equal_values_and_zeros_disclose_but_an_empty_cell_does_not() -> None:
    minima = np.array([7.0, 0.0, 0.0, 6.9, 7.0])
    maxima = np.array([7.0, 0.0, 0.0, 7.0, 7.0])
    records = np.array([12, 12, 0, 12, 1])
    assert equal_values(minima, maxima, records, 0.0).tolist() == [True, True, False, False, True]


def test_nearly_equal_values_are_measured_against_the_largest_absolute_value() -> None:
    minima, maxima = np.array([99.0, 98.9, -100.0, -1.0]), np.array([100.0, 100.0, -99.0, 1.0])
    assert equal_values(minima, maxima, np.full(4, 20), 0.01).tolist() == [True, False, True, False]


def test_too_few_units_with_a_measure_or_without_it_are_unsafe() -> None:
    assert few_having_or_lacking(20, 20, 9, 9, None, 10)
    assert few_having_or_lacking(20, 20, 11, 11, None, 10)
    assert not few_having_or_lacking(20, 20, 10, 10, None, 10)
    assert not few_having_or_lacking(20, 20, 20, 20, None, 10)
    assert not few_having_or_lacking(20, 20, 0, 0, None, 10)


def test_of_a_panel_only_units_without_any_value_are_sure_to_lack_it() -> None:
    # One unit may have all twelve records without the measure.
    assert few_having_or_lacking(20, 100, 20, 88, None, 10)
    assert not few_having_or_lacking(20, 100, 20, 88, 12, 10)
    assert few_having_or_lacking(20, 100, 20, 88, 9, 10)


cells_of_values = st.lists(st.floats(0.01, 1e6), min_size=3, max_size=8)


@given(cells_of_values, st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_stricter_bound_never_makes_a_cell_safe(values: list[float], one: float, other: float) -> None:
    cells = largest_and_sums(values)
    low, high = min(one, other), max(one, other)
    assert dominated(*cells, 1, low)[0] >= dominated(*cells, 1, high)[0]
    assert estimable(*cells, high)[0] >= estimable(*cells, low)[0]


@given(cells_of_values, st.floats(0.01, 1), st.floats(0.01, 1e6))
def test_another_small_contributor_never_makes_a_cell_unsafe(
    values: list[float], share: float, more: float
) -> None:
    extended = [*values, min(more, *values)]
    assert (
        dominated(*largest_and_sums(extended), 2, share)[0]
        <= dominated(*largest_and_sums(values), 2, share)[0]
    )
    assert estimable(*largest_and_sums(extended), share)[0] <= estimable(*largest_and_sums(values), share)[0]


@given(arrays(np.float64, 5, elements=st.floats(-1e6, 1e6)), st.floats(0, 0.5))
def test_equal_values_do_not_depend_on_the_sign(values: np.ndarray, tolerance: float) -> None:
    low, high, some = np.array([values.min()]), np.array([values.max()]), np.array([5])
    assert equal_values(low, high, some, tolerance) == equal_values(-high, -low, some, tolerance)
