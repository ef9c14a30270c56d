"""What number, sum and sums of functions tell of the outermost values: never less than others could have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sdcgate.methods.outputs.function_sums import FUNCTIONS, closeness_of_function, function_sums
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.transformations import TRANSFORMATIONS

EVERY = sorted(FUNCTIONS)


def of(values, function: str = "inverse", coalition: int = 0, order: int = 1) -> float:
    nowhere = np.zeros(len(values), dtype=np.int64)
    sample = Sample(np.array(values, dtype=float), nowhere, np.arange(len(values)), 1)
    return float(closeness_of_function(sample, function, order, coalition)[0])


@pytest.mark.parametrize("function", EVERY)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("outermost", [900.0, 2.0, 1e9])
def test_where_all_others_have_the_same_the_outermost_is_told(function, order, outermost) -> None:
    assert of([100.0] * 30 + [outermost], function, order=order) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("function", ["log1p", "sqrt"])
def test_who_has_nothing_among_people_who_have_the_same_is_told(function) -> None:
    """Of two who have nothing neither is told, but for the other one."""
    assert of([100.0] * 30 + [0.0], function) == pytest.approx(0.0, abs=1e-7)
    assert of([100.0] * 30 + [0.0] * 2, function) > 0.2
    assert of([100.0] * 30 + [0.0] * 2, function, coalition=1) == pytest.approx(0.0, abs=1e-7)
    assert of([*np.linspace(0, 200, 60), *[0.0] * 20], function, coalition=1) > 0.5


@pytest.mark.parametrize("function", EVERY)
def test_a_coalition_takes_its_own_values_out_first(function) -> None:
    """The poorest stays open beside the one with 3, who knows what he has."""
    values = [*np.linspace(99, 101, 30), 2.0, 3.0]

    assert of(values, function, 1) < 0.01 < 0.1 < of(values, function)


@pytest.mark.parametrize("function", EVERY)
def test_values_that_lie_together_leave_each_other_open(function) -> None:
    assert of(list(np.linspace(20, 120, 60)), function, 1) > 0.5
    assert of(list(np.linspace(20, 120, 60)), function, 1, order=2) > 0.1


@pytest.mark.parametrize("function", EVERY)
@pytest.mark.parametrize("outermost", [400.0, 20.0])
def test_no_list_with_the_same_sums_has_a_value_farther_out(function, outermost) -> None:
    """Of a value and others that are equal the sums are met by one value alone on either side."""
    values = np.array([*np.linspace(95, 105, 20), outermost])
    n, total, evaluate = len(values), values.sum(), TRANSFORMATIONS[function].evaluate
    told = evaluate(values).sum()

    def missed(at: float) -> float:
        alike = np.array([at, *[(total - at) / (n - 1)] * (n - 1)])
        return abs(float(evaluate(alike).sum() - told))

    ends = (400.0, 450.0) if outermost > 100 else (1.0, 20.0)
    farthest = minimize_scalar(missed, bounds=ends, method="bounded", options={"xatol": 1e-9}).x
    ratio = (farthest + (function == "log1p")) / (outermost + (function == "log1p"))

    assert of(values, function) == pytest.approx(max(ratio, 1 / ratio) - 1, rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(EVERY), st.integers(0, 2**32 - 1), st.sampled_from([0.01, 0.1]))
def test_lists_that_differ_in_three_values_lie_within_the_bound(function, seed, spread) -> None:
    """The largest and two others change so that number, sum and sum of f stay."""
    rng = np.random.default_rng(seed)
    values = np.array([*np.exp(rng.normal(0, spread, 12)) * 50, 200.0])
    evaluate, shift = TRANSFORMATIONS[function].evaluate, float(function == "log1p")
    told = evaluate(values[-3:]).sum()

    reached = 200.0
    for largest in np.linspace(200.0, 245.0, 200):
        rest = values[-3:].sum() - largest
        smaller = np.linspace(0.001, 0.5, 2_000) * rest
        missed = evaluate(smaller) + evaluate(rest - smaller) + evaluate(np.array([largest])) - told
        if missed.min() <= 0 <= missed.max():
            reached = largest

    assert (reached + shift) / (200.0 + shift) - 1 <= of(values, function) + 1e-9


def test_squares_of_logarithms_bound_as_a_variance_of_them_does() -> None:
    """All but one have the same logarithm within a thousandth: by either sum the one is told."""
    logarithms = np.array([*np.linspace(4.6, 4.6005, 40), 7.0])
    n, mean = len(logarithms), logarithms.mean()
    reach = np.sqrt((n - 1) / n * ((logarithms - mean) ** 2).sum()) - (7.0 - mean)

    assert of(np.exp(logarithms), "log", order=2) <= np.expm1(reach) + 1e-9


@pytest.mark.parametrize("function", EVERY)
def test_totals_of_a_panel_are_told_where_no_record_is(function) -> None:
    """Who is high in all of five years holds her total alone, and no single year."""
    people = np.vstack([np.full((59, 5), 100.0), np.full((1, 5), 900.0)])
    units = np.repeat(np.arange(60), 5)
    panel = Sample(people.ravel(), np.zeros(300, dtype=np.int64), units, 1)
    apart = Sample(people.ravel(), np.zeros(300, dtype=np.int64), np.arange(300), 1)

    assert closeness_of_function(panel, function, 1, 0)[0] == pytest.approx(0.0, abs=1e-7)
    assert closeness_of_function(apart, function, 1, 0)[0] > 0.1


def test_groups_are_told_apart_and_empty_ones_are_safe() -> None:
    values = np.array([*np.linspace(20, 120, 60), *[50.0] * 20, 500.0])
    groups = np.repeat([0, 2], [60, 21])

    found = closeness_of_function(Sample(values, groups, np.arange(81), 3), "inverse", 2, 1)

    assert found[0] > 0.5
    assert found[1] == np.inf
    assert found[2] < 0.01


@pytest.mark.parametrize(("function", "value"), [("log", 0.0), ("inverse", 0.0), ("sqrt", -1.0)])
def test_where_a_function_is_no_number_nothing_is_safe(function, value) -> None:
    assert np.isnan(of([value, 10.0, 20.0], function))


def test_the_shift_and_size_of_a_currency_say_nothing() -> None:
    values = np.random.default_rng(3).lognormal(3, 0.5, 40)

    for function in ("log", "sqrt", "inverse"):
        assert of(values * 1e9, function, 1) == pytest.approx(of(values, function, 1), rel=1e-6)


def test_sums_are_those_of_the_function() -> None:
    values = np.array([1.0, 4.0, 9.0, 16.0])
    sample = Sample(values, np.array([0, 0, 2, 2]), np.arange(4), 3)

    found = function_sums(sample, "sqrt", 1, 1)

    assert found.sums.tolist() == [3.0, 0.0, 7.0]
    assert found.totals.tolist() == [5.0, 0.0, 25.0]
    assert (found.function, found.order) == ("sqrt", 1)
    assert found.placed(np.array([1, 2, 3]), 4).part(slice(1, 3)).function == "sqrt"
