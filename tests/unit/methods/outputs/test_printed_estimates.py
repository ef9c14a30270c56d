"""Figures that a program printed of a model, held against each other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from sdcgate.methods.outputs.printed_estimates import (
    ClaimedFit,
    PrintedCoefficient,
    PrintedModel,
    Written,
    estimate_problems,
    last_place,
    significant_digits,
)

LONGLEY = {
    "(Intercept)": (-3.482e06, 8.904e05, -3.911, 0.003560),
    "GNP.deflator": (1.506e01, 8.491e01, 0.177, 0.863141),
    "GNP": (-3.582e-02, 3.349e-02, -1.070, 0.312681),
    "Unemployed": (-2.020e00, 4.884e-01, -4.136, 0.002535),
    "Armed.Forces": (-1.033e00, 2.143e-01, -4.822, 0.000944),
    "Population": (-5.110e-02, 2.261e-01, -0.226, 0.826212),
    "Year": (1.829e03, 4.555e02, 4.016, 0.003037),
}
"""Longley (1967), as R's `summary(lm(...))` prints it: 16 years, 9 residual degrees of freedom."""
NAMES = ("estimate", "standard_error", "statistic", "p_value")


def claimed(columns, **more):
    given = {"small": (False,) * len(columns), "parameters": 7, "units": 16, "records": 16}
    return ClaimedFit(columns=tuple(columns), **{**given, "residual_degrees": 9, "classical": True, **more})


def printed(name="a", **figures):
    return PrintedModel((PrintedCoefficient(name, figures),))


def told(model, fit=None, **limits):
    fit = fit or claimed([one.name for one in model.coefficients])
    return [(one.figure, one.message) for one in estimate_problems(model, fit, **limits)]


def longley():
    return PrintedModel(
        tuple(PrintedCoefficient(name, dict(zip(NAMES, row, strict=True))) for name, row in LONGLEY.items()),
        records=16,
        residual_degrees=9,
        fit={"R_SQUARED": 0.9955, "ADJUSTED_R_SQUARED": 0.9925},
    )


def test_a_published_regression_does_not_contradict_itself():
    assert told(longley()) == []


@pytest.mark.parametrize("name", list(LONGLEY))
def test_a_published_regression_with_one_figure_changed_does(name):
    for figure in ("statistic", "p_value"):
        row = dict(zip(NAMES, LONGLEY[name], strict=True))
        row[figure] = row[figure] * 0.8 + (0.02 if figure == "p_value" else 0)
        assert told(printed(name, **row), claimed(LONGLEY))[0][0] == figure


def test_p_values_of_other_degrees_than_are_claimed_do_not_follow():
    problems = told(longley(), claimed(LONGLEY, residual_degrees=3))
    assert {figure for figure, _ in problems} == {"p_value", "residual_degrees"}


@given(
    estimate=st.floats(-1e6, 1e6).filter(lambda value: abs(value) > 1e-6),
    ratio=st.floats(0.01, 30),
    degrees=st.integers(1, 10_000),
    digits=st.integers(4, 17),
    classical=st.booleans(),
)
def test_what_follows_from_an_estimate_and_its_error_is_never_a_contradiction(
    estimate, ratio, degrees, digits, classical
):
    error = abs(estimate) / ratio
    of = t(degrees) if classical else norm
    reach = of.ppf(0.975) * error
    exact = {
        "estimate": estimate,
        "standard_error": error,
        "statistic": estimate / error,
        "p_value": 2 * float(of.sf(ratio)),
        "lower": estimate - reach,
        "upper": estimate + reach,
    }
    shown = {name: float(f"{value:.{digits - 1}e}") for name, value in exact.items()}
    fit = claimed(["a"], residual_degrees=degrees, classical=classical)
    assert told(printed(**shown), fit) == []
    for wrong in ({"statistic": 1.1 * shown["statistic"]}, {"upper": shown["lower"]}):
        assert told(printed(**shown | wrong), fit)


@pytest.mark.parametrize(
    ("figures", "figure", "message"),
    [
        ({"estimate": np.nan}, "estimate", "is no finite number"),
        ({"estimate": 1.0, "standard_error": np.inf}, "standard_error", "is no finite number"),
        ({"estimate": 1.0, "standard_error": -2.0}, "standard_error", "must not be negative"),
        ({"estimate": 1.0, "p_value": 1.2}, "p_value", "must be from 0 to 1"),
        ({"estimate": 1.0, "p_value": 0.02}, "p_value", "follows from a statistic or a standard error"),
        ({"p_value": 0.02}, "estimate", "is not there, and others are that follow from it"),
        ({"estimate": 1.0, "lower": 1.5}, "lower", "lies on the other side"),
        ({"estimate": 1.2345678}, "estimate", "has 8 significant digits; at most 4 leave"),
    ],
)
def test_each_figure_that_cannot_be_is_told(figures, figure, message):
    ((found, why),) = told(printed(**figures), claimed(["a"]), digits=4)
    assert (found, why.startswith(message)) == (figure, True)


def test_estimates_that_nothing_is_known_of_or_that_should_be_withheld_are_told():
    few = claimed(["a", "b"], small=(True, False))
    model = PrintedModel(
        (PrintedCoefficient("a", {"estimate": 1.0}), PrintedCoefficient("c", {"estimate": 1.0}))
    )
    assert [why for _, why in told(model, few)] == [
        "rests on too few units; withhold it with its figures",
        "is of no column that facts are given of; nothing is known of it",
    ]
    withheld = PrintedModel((PrintedCoefficient("a", {}), PrintedCoefficient("b", {"estimate": 1.0})))
    assert told(withheld, few) == []
    assert told(printed("b", estimate=1.0), claimed(["b"], parameters=0))[0][0] == "coefficients"


def test_counts_are_those_that_are_claimed_and_leave_rounded():
    model = PrintedModel((), units=16, records=20, residual_degrees=10)
    assert told(model, claimed([]), counts_base=10) == [("units", "must be rounded to a multiple of 10")]
    assert [name for name, _ in told(model, claimed([]))] == ["records", "residual_degrees"]


def test_figures_of_the_fit_are_shares_that_fit_each_other():
    fit = {"R_SQUARED": 0.4, "ADJUSTED_R_SQUARED": 0.5, "PSEUDO_R_SQUARED": 1.5, "AIC": np.nan}
    assert {name for name, _ in told(PrintedModel((), fit=fit), claimed([]))} == {
        "ADJUSTED_R_SQUARED", "PSEUDO_R_SQUARED", "AIC",
    }  # fmt: skip


def test_digits_are_those_that_a_number_is_written_with():
    assert [significant_digits(one) for one in (0.0, 1200.0, 0.0125, 123.456, 1e-300)] == [1, 2, 3, 6, 1]


@pytest.mark.parametrize("figure", ["lower", "upper"])
def test_an_interval_is_as_wide_to_either_side_whatever_the_degrees_of_freedom(figure):
    """A bound that lies further off may be one of fewer degrees, but then the other is, too."""
    row = {"estimate": 1.0, "standard_error": 0.5, "lower": 0.02, "upper": 1.98}
    many = claimed(["a"], classical=False)
    assert told(printed(**row), many) == []
    assert told(printed(**row | {"lower": -0.02, "upper": 2.02}), many) == []
    row[figure] += 0.04 if figure == "upper" else -0.04
    assert told(printed(**row), many) == [("upper", "is not as far from the estimate as lower is")]
    del row["standard_error"]
    assert told(printed(**row), many) == [("upper", "is not as far from the estimate as lower is")]


@pytest.mark.parametrize(
    ("column", "places"),
    [
        ([9.0, 48.11, 5.454], [-2, -2, -3]),  # 9 has three digits, as the others
        ([0.0, 0.3616, 8.224e-07], [-4, -4, -10]),
        ([12.0, 0.0004, 1e-06], [0, -4, -6]),  # fewer digits than three are seen
        ([0.0012, 33.9587, 1.234e-06], [-4, -4, -9]),  # of a summary: four decimals, or four digits
        ([201.0, 187.0, 0.0], [0, 0, 0]),
        ([0.3, 1.2], [-1, -1]),
        ([0.0, 0.0], [-3, -3]),
        ([0.0, 0.00048828125, 0.12345678901234567], [-15, -11, -17]),
        ([120000.0], [0]),
    ],
)
def test_a_number_is_written_as_exactly_as_others_of_its_column(column, places):
    written = Written.of(column)
    assert [written.place(value) for value in column] == places


@given(st.lists(st.floats(-1e9, 1e9), min_size=1), st.integers(1, 17))
def test_no_number_is_taken_for_less_exact_than_it_stands_there(column, digits):
    column = [float(f"{value:.{digits - 1}e}") for value in column]
    written = Written.of(column)
    for value in column:
        assert written.place(value) <= 0
        assert value == 0 or written.place(value) <= last_place(value)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.integers(0, 6), st.integers(1, 17))
def test_a_number_that_was_rounded_like_its_column_is_never_taken_for_more_exact(column, decimals, digits):
    rounded = [round(value, decimals) for value in column]
    assert all(Written.of(rounded).place(shown) >= -decimals for shown in rounded if shown)
    for shown in (written := [float(f"{value:.{digits - 1}e}") for value in column if abs(value) > 1e-300]):
        assert Written.of(written).place(shown) >= min(math.floor(math.log10(abs(shown))) + 1 - digits, 0)
