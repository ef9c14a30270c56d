"""Why no model with fewer digits is proposed in place of a refusal: who asks several averages them.

Means of a thousand people by four groups, again and again by others, with and without one person: what tells
her value apart is what rounding adds, which is another number each time.
"""

import math

import numpy as np
import pytest

PEOPLE, GROUPS, PERSONS = 1000, 4, 40


def rounded(value: float, digits: int) -> float:
    unit = 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits)
    return round(value / unit) * unit


def total_told(values: np.ndarray, groups: np.ndarray, digits: int) -> float:
    """The sum of all values that the means of groups tell, whose sizes are known."""
    inside = [values[groups == group] for group in range(GROUPS)]
    return sum(len(one) * rounded(float(one.mean()), digits) for one in inside)


def error_of_an_intruder(models: int, digits: int) -> float:
    """Root mean square of what he errs by about one person, over persons."""
    rng = np.random.default_rng(7)
    values = rng.lognormal(4, 1, PEOPLE)
    errors = []
    for person in range(PERSONS):
        others = np.arange(PEOPLE) != person
        told = []
        for _ in range(models):
            groups = rng.integers(0, GROUPS, PEOPLE)
            without = total_told(values[others], groups[others], digits)
            told.append(total_told(values, groups, digits) - without)
        errors.append(float(np.mean(told)) - values[person])
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.parametrize(("digits", "once", "hundred_times"), [(2, 100.0, 10.0), (3, 10.0, 1.0)])
def test_a_hundred_pairs_of_models_tell_ten_times_as_closely_what_one_rounds(digits, once, hundred_times):
    assert error_of_an_intruder(1, digits) == pytest.approx(once, rel=0.5)
    assert error_of_an_intruder(100, digits) == pytest.approx(hundred_times, rel=0.5)


def test_a_coefficient_that_is_one_person_s_value_is_hers_with_any_digits():
    """The slope of a column that only she has is her value less the mean of the others."""
    rng = np.random.default_rng(8)
    values = rng.lognormal(4, 1, PEOPLE)
    values[0] = 4092.70
    column = np.zeros(PEOPLE)
    column[0] = 1.0
    slope = np.linalg.lstsq(np.column_stack([np.ones(PEOPLE), column]), values, rcond=None)[0][1]
    assert rounded(slope, 2) + rounded(float(values[1:].mean()), 2) == pytest.approx(4092.70, rel=0.03)
