"""Figures that a program printed of a statistic, held against each other and what must be withheld."""

import numpy as np
import pytest

from sdcgate.methods.outputs.printed_statistics import PrintedFigure, figure_problems
from sdcgate.methods.outputs.statistic_facts import Statistic

SAFE = {"": np.zeros(3, dtype=np.bool_)}


def told(statistic=Statistic.MEAN, unsafe=SAFE, digits=0, groups=(0, 1, 2), **figures):
    printed = tuple(
        PrintedFigure(
            name.replace("__", "(") + (")" if "__" in name else ""), groups, np.array(values, float)
        )
        for name, values in figures.items()
    )
    problems = figure_problems(statistic, printed, unsafe, digits)
    return [(one.figure, one.groups, one.message) for one in problems]


def test_figures_that_fit_each_other_are_not_told():
    fine = told(mean=[127.8, 4, 5], standard_error=[15.05, 1, 0], coefficient_of_variation=[0.1178, 0.25, 0])
    assert fine == []
    assert told(Statistic.PERCENTILES, P25=[1, 2, 3], P50=[1, 5, 9], P75=[4, 5, 9]) == []


@pytest.mark.parametrize(
    ("figures", "found"),
    [
        ({"mean": [1, np.nan, np.inf]}, ("mean", (1, 2), "is no finite number")),
        ({"gini": [0.2, 1.2, -0.1]}, ("gini", (1, 2), "must lie between 0 and 1")),
        ({"standard_error__P50": [-1, 1, 1]}, ("standard_error(P50)", (0,), "must lie between 0 and inf")),
        ({"correlation__a,b": [0, -1, 1.5]}, ("correlation(a,b)", (2,), "must lie between -1 and 1")),
        ({"P50": [1, 2, 3], "P5": [0, 3, 1]}, ("P50", (1,), "is less than P5")),
        (
            {"standard_error": [1, 1, 1], "mean": [4, -5, 9], "coefficient_of_variation": [0.25, 0.2, 0.5]},
            ("coefficient_of_variation", (2,), "is not the error over the size of the estimate"),
        ),
        ({"mean": [1, 2]}, ("mean", (), "must have a value for each of its groups")),
    ],
)
def test_each_figure_that_cannot_be_is_told_with_its_groups(figures, found):
    assert told(**figures) == [found]


def test_an_odds_ratio_lies_within_its_limits():
    figures = {"odds_ratio": [2, 2, 2], "lower_limit": [1, 3, 1], "upper_limit": [4, 5, 1.5]}
    assert [(name, groups) for name, groups, _ in told(Statistic.ODDS_RATIO, **figures)] == [
        ("odds_ratio", (1,)),
        ("upper_limit", (2,)),
    ]


def test_groups_that_must_be_withheld_and_digits_beyond_those_allowed_are_told():
    unsafe = {"": np.array([False, True, False]), "P50": np.array([True, True, False])}
    found = told(Statistic.PERCENTILES, unsafe, 2, P25=[1, 1.25, 1], P50=[2, 2, 2.25])
    assert found == [
        ("P25", (1,), "must be withheld here"),
        ("P25", (1,), "has more than 2 significant digits"),
        ("P50", (0, 1), "must be withheld here"),
        ("P50", (2,), "has more than 2 significant digits"),
    ]


def test_groups_are_those_that_facts_are_given_of():
    assert told(groups=(0, 1, 3), mean=[1, 2, 3]) == [
        ("mean", (), "names a group beyond the 3 that facts are given of")
    ]
    assert told(groups=(0, 0), mean=[1, 2])[0][2] == "stands there twice, or names a group twice"
