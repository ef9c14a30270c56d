import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.risk.individual import individual_risk, table_risk, warm_up

frequency = st.integers(1, 10**6)
probability = st.floats(1e-9, 1)


def risk_of(f: int, p: float) -> float:
    return float(individual_risk(np.array([f]), np.array([p]))[0])


@pytest.mark.parametrize("p", [1e-9, 0.003, 0.1, 0.3, 0.49999, 0.5, 0.50001, 0.7])
def test_the_closed_forms_for_one_two_and_three_units(p: float) -> None:
    q = 1 - p
    one = -p * np.log(p) / q
    two = p * (q + p * np.log(p)) / q**2
    three = p * (q * (q - 2 * p) - 2 * p**2 * np.log(p)) / (2 * q**3)
    assert risk_of(1, p) == pytest.approx(one, rel=1e-13)
    assert risk_of(2, p) == pytest.approx(two, rel=1e-13)
    assert risk_of(3, p) == pytest.approx(three, rel=1e-12)


@pytest.mark.parametrize("f", [1, 2, 3, 20, 21, 100, 10**6])
def test_in_a_census_the_risk_is_one_over_the_frequency(f: int) -> None:
    assert risk_of(f, 1.0) == 1 / f


@pytest.mark.parametrize("f", [1, 2, 3, 20, 1000])
def test_near_a_census_the_risk_is_a_little_less_without_cancellation(f: int) -> None:
    # First order in q = 1 - p: r = (1 - q + q/(f + 1)) / f.
    q = 2.0**-40
    assert risk_of(f, 1 - q) == pytest.approx((1 - q * f / (f + 1)) / f, rel=1e-15)


def test_a_population_frequency_much_larger_than_the_sample_gives_f_over_f_minus_one_times_p() -> None:
    # E(1/F) is about p/(f - 1) as p -> 0, f > 1: what simple risk p/f falls short of.
    assert risk_of(5, 1e-9) == pytest.approx(1e-9 / 4, rel=1e-6)
    assert risk_of(50, 1e-9) == pytest.approx(1e-9 / 49, rel=1e-6)


@given(frequency, probability)
def test_the_risk_lies_between_that_of_the_mean_and_one_over_the_frequency(f: int, p: float) -> None:
    # Jensen: E(1/F) >= 1/E(F) = p/f; and F >= f.
    assert p / f * (1 - 1e-14) <= risk_of(f, p) <= 1 / f * (1 + 1e-14)


@given(frequency, probability, st.floats(1.001, 100))
def test_the_risk_rises_with_the_sampling_probability_and_falls_with_the_frequency(
    f: int, p: float, factor: float
) -> None:
    assert risk_of(f, p / factor) < risk_of(f, p)
    assert risk_of(f + 1, p) < risk_of(f, p)


@given(st.integers(1, 40), st.floats(1e-9, 0.99))
def test_neighbouring_frequencies_satisfy_the_recurrence_across_both_ways_of_computing(
    f: int, p: float
) -> None:
    # q r_(f+1) + p r_f = p/f, from the integral.
    assert (1 - p) * risk_of(f + 1, p) + p * risk_of(f, p) == pytest.approx(p / f, rel=1e-13)


def test_frequencies_and_probabilities_out_of_range_are_named_by_position() -> None:
    with pytest.raises(ValueError, match=r"at least 1 \(positions 1\).*at most 1 \(positions 0, 2, 3, 4\)"):
        individual_risk(np.array([1, 0, 3, 4, 5]), np.array([np.nan, 0.5, 0.0, 1.5, -0.1]))


def test_of_many_wrong_positions_the_first_ten_are_named() -> None:
    with pytest.raises(ValueError, match=r"positions 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 90 more"):
        individual_risk(np.zeros(100, dtype=np.int64), np.ones(100))


def test_frequencies_that_are_not_integers_are_rejected() -> None:
    with pytest.raises(ValueError, match="integers"):
        individual_risk(np.array([1.0, np.nan]), np.array([0.1, 0.1]))  # type: ignore[arg-type]


def test_arrays_of_different_length_are_rejected() -> None:
    with pytest.raises(ValueError, match="one value a cell"):
        individual_risk(np.array([1, 2]), np.array([0.1]))


def test_even_the_smallest_probability_gives_a_finite_risk() -> None:
    risks = individual_risk(np.array([1, 2, 20, 21, 2**62]), np.full(5, 5e-324))
    assert np.isfinite(risks).all()
    assert risks[0] > 0


def test_a_million_risks_of_a_survey_take_a_tenth_of_a_second() -> None:
    warm_up()
    rng = np.random.default_rng(20030414)
    f = rng.geometric(0.3, 1_000_000)
    p = rng.uniform(0.001, 0.05, 1_000_000)

    def seconds() -> float:
        started = time.process_time()
        individual_risk(f, p)
        return time.process_time() - started

    assert min(seconds() for _ in range(3)) < 0.1


def test_numba_is_not_imported_until_a_risk_is_asked_for() -> None:
    code = "import sys, sdcgate.methods.risk.individual; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_table_risk_sums_over_uniques_and_over_all_cells() -> None:
    f, weights = np.array([1, 0, 1, 3]), np.array([126.0, 0.0, 10.0, 50.0])
    risk = table_risk(f, weights, base_units=5)
    one, two, three = risk_of(1, 1 / 126), risk_of(1, 0.1), risk_of(3, 3 / 50)
    assert (risk.base_units, risk.key_cells, risk.sample_uniques) == (5, 3, 2)
    assert risk.expected_matches_uniques == pytest.approx(one + two)
    assert risk.expected_matches == pytest.approx(one + two + 3 * three)
    assert risk.reidentification_rate == pytest.approx((one + two + 3 * three) / 5)
    assert risk.maximum == two


def test_a_key_may_hold_more_units_than_the_base_that_a_further_filter_left() -> None:
    risk = table_risk(np.array([1, 9]), np.array([10.0, 90.0]), base_units=0)
    assert risk.base_units == 0
    assert risk.reidentification_rate == pytest.approx((risk_of(1, 0.1) + 9 * risk_of(9, 0.1)) / 10)


def test_in_a_census_every_cell_has_one_expected_match() -> None:
    risk = table_risk(np.array([1, 4, 2]), np.array([1.0, 4.0, 2.0]), base_units=7)
    assert risk.expected_matches == pytest.approx(3)
    assert risk.expected_matches_uniques == 1


def test_weights_that_sum_to_less_than_the_units_are_read_as_a_census() -> None:
    assert table_risk(np.array([2]), np.array([0.5]), 2).maximum == 0.5
    assert table_risk(np.array([2]), np.array([0.0]), 2).maximum == 0.5


def test_a_key_without_units_has_no_risk() -> None:
    risk = table_risk(np.array([0, 0]), np.array([0.0, 0.0]), base_units=0)
    assert (risk.key_cells, risk.expected_matches, risk.reidentification_rate, risk.maximum) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("frequencies", "weights", "base", "message"),
    [
        ([1, -1], [5.0, 5.0], 5, "negative .positions 1"),
        ([1, 1], [np.nan, 5.0], 2, "finite, not negative .positions 0"),
        ([1, 1], [5.0, np.inf], 2, "finite, not negative .positions 1"),
        ([1, 1], [5.0, -2.0], 2, "finite, not negative .positions 1"),
        ([1, 1], [5.0, 5.0], 3, "misses units of the base"),
        ([], [], 3, "misses units of the base"),
    ],
)
def test_a_key_that_does_not_fit_is_rejected_not_judged(
    frequencies: list[int], weights: list[float], base: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        table_risk(np.array(frequencies, dtype=np.int64), np.array(weights), base)
