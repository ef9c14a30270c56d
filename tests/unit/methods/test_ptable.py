"""Perturbation tables: what noise they promise, and what is turned away."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables.ptable import NoiseParameters, PTableError, ptable
from sdcgate.methods.tables.ptable_checks import checked_ptable, ptable_from_csv


@st.composite
def parameters(draw):
    most = draw(st.integers(1, 6))
    least = (most / 12) ** 2
    return NoiseParameters(
        maximum_noise=most,
        variance=draw(st.floats(least, most * (most + 1) / 3).filter(lambda variance: variance > least)),
        largest_blocked_count=draw(st.integers(0, most - 1)),
        stay_probabilities=tuple(draw(st.lists(st.floats(0, 0.95), max_size=1))),
    )


def made(asked):
    """The table; None where the variance is too small for it."""
    try:
        return ptable(asked)
    except PTableError as error:
        if [where for where, _ in error.problems] != ["variance"]:
            raise
        return None


@settings(max_examples=25, deadline=None)
@given(parameters())
def test_noise_has_no_bias_is_bounded_and_never_makes_a_count_negative_or_blocked(asked):
    table = made(asked)
    assume(table is not None)
    left = table.counts + table.noise
    blocked = asked.largest_blocked_count
    assert np.abs(table.noise).max() <= asked.maximum_noise
    assert not np.any((left < 0) | ((left > 0) & (left <= blocked)))
    np.testing.assert_allclose(np.bincount(table.counts, weights=table.probabilities), 1, atol=1e-9)
    means = np.bincount(table.counts, weights=table.probabilities * table.noise)
    np.testing.assert_allclose(means, 0, atol=1e-7)
    assert np.all(table.variances() <= asked.variance * (1 + 1e-7))


def test_what_is_made_here_passes_the_checks_of_what_is_made_elsewhere():
    table = ptable(NoiseParameters(5, 3, 2))
    again = checked_ptable(table.counts, table.noise, table.probabilities, table.upper)
    np.testing.assert_array_equal(again.upper, table.upper)


def test_zero_stays_zero_and_great_counts_have_symmetric_noise():
    table = ptable(NoiseParameters(4, 2))
    assert table.noise[table.block(0)].tolist() == [0]
    last = table.probabilities[table.block(1000)]
    np.testing.assert_allclose(last, last[::-1], atol=1e-9)


def test_counts_stay_with_the_wanted_probability_where_the_variance_allows_it():
    table = ptable(NoiseParameters(5, 1, 0, (0.7,)))
    stay = [table.probabilities[table.block(n)][table.noise[table.block(n)] == 0].item() for n in range(1, 6)]
    np.testing.assert_allclose(stay, [0.55, 0.7, 0.7, 0.7, 0.7], atol=1e-9)


def test_great_counts_have_no_less_variance_than_was_asked():
    """More than changes that are all equally likely have there is not, and it is not taken for less."""
    assert ptable(NoiseParameters(5, 10)).variances()[-1] == pytest.approx(10)
    with pytest.raises(PTableError, match="variance must be greater than 0 and at most 10, that of equally"):
        NoiseParameters(5, 20)


def test_a_variance_that_is_too_small_is_told_with_the_least_that_is_possible():
    # A count of 1 that may not stay moves by at least 1.
    with pytest.raises(PTableError, match="variance must be greater than 1, the least that noise of count 1"):
        ptable(NoiseParameters(5, 0.9, 1))


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"maximum_noise": 0, "variance": 1.0}, "maximum_noise"),
        ({"maximum_noise": 31, "variance": 9.0}, "maximum_noise"),
        ({"maximum_noise": 20, "variance": 1.0}, "maximum_noise"),
        ({"maximum_noise": 3, "variance": 4.1}, "variance"),
        ({"maximum_noise": 3, "variance": float("nan")}, "variance"),
        ({"maximum_noise": 3, "variance": 1.0, "largest_blocked_count": 3}, "largest_blocked_count"),
        ({"maximum_noise": 3, "variance": 1.0, "stay_probabilities": (0.5, 1.0)}, "stay_probabilities[1]"),
        ({"maximum_noise": 1, "variance": 0.5, "stay_probabilities": (0.5, 0.5)}, "stay_probabilities"),
    ],
)
def test_parameters_that_make_no_sense_are_named(values, field):
    with pytest.raises(PTableError) as raised:
        NoiseParameters(**values)
    assert [where for where, _ in raised.value.problems] == [field]


def rows(*given):
    counts, noise, probabilities = zip(*given, strict=True)
    return np.array(counts), np.array(noise), np.array(probabilities, dtype=np.float64)


SOUND = ((0, 0, 1.0), (1, -1, 0.5), (1, 1, 0.5))


@pytest.mark.parametrize(
    ("given_rows", "problem"),
    [
        (((0, 0, 1.0), (1, -1, 0.5), (1, 1, 0.4)), "must sum to 1 for count 1"),
        (((0, 0, 1.0), (1, -1, 0.4), (1, 1, 0.6)), "must have mean 0 for count 1"),
        (((0, 0, 1.0), (1, -2, 0.5), (1, 2, 0.5)), "must not make a count negative"),
        (((0, -1, 0.5), (0, 1, 0.5)), "must be 0 where the count is 0"),
        (((0, 0, 1.0), (2, -1, 0.5), (2, 1, 0.5)), "must start at 0 and go up by 0 or 1"),
        (((1, -1, 0.5), (1, 1, 0.5)), "must start at 0"),
        (((0, 0, 1.0), (1, -1, 0.5), (1, 1, 0.25), (1, 1, 0.25)), "must be different within a count"),
        (((0, 0, 1.0), (1, -1, -0.5), (1, 1, 1.5)), "must be from 0 to 1"),
        (((0, 0, 1.0), (1, -1, np.nan), (1, 1, 0.5)), "must be from 0 to 1"),
    ],
)
def test_an_unsound_table_is_turned_away(given_rows, problem):
    with pytest.raises(PTableError, match=problem):
        checked_ptable(*rows(*given_rows))


@pytest.mark.parametrize(
    ("upper", "problem"),
    [
        ([1.0, 0.4, 1.0], "must be the cumulated probabilities"),
        ([1.0, 0.5, 0.9999999], "must be 1 in the last row"),
        ([1.0, 0.5], "must have a value for each of 3 rows"),
    ],
)
def test_upper_bounds_that_are_not_those_of_the_probabilities_are_turned_away(upper, problem):
    with pytest.raises(PTableError, match=problem):
        checked_ptable(*rows(*SOUND), np.array(upper))


def test_every_problem_of_a_csv_is_told_by_its_line():
    text = "i,j,p,v,p_int_ub,type\n0,0,1,0,1,all\n1,0,x,-1,0.5,all\n1,2,0.5,2,1,even"
    with pytest.raises(PTableError) as raised:
        ptable_from_csv(text)
    assert raised.value.problems == (
        ("line 3", "p must be a number"),
        ("line 4", "v must be j - i"),
        ("line 4", "type must be all: tables for some counts only are not read"),
    )


def test_a_csv_without_its_columns_says_which_are_missing():
    with pytest.raises(PTableError, match="line 1 must name the columns p, v, p_int_ub"):
        ptable_from_csv("i,j\n0,0\n")
