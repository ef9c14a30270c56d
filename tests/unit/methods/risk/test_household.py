from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.risk.household import (
    hierarchical_file_risk,
    household_risk,
    household_size_risk,
    unsafe_households,
)
from sdcgate.methods.risk.individual import individual_risk

probabilities = st.floats(0, 1, allow_subnormal=False)
people = st.lists(st.tuples(probabilities, st.integers(0, 9)), min_size=1, max_size=40)


def as_arrays(units: list[tuple[float, int]]) -> tuple[np.ndarray, np.ndarray]:
    r, household = zip(*units, strict=True)
    return np.array(r), np.array(household, dtype=np.int64)


@given(st.lists(probabilities, min_size=1, max_size=6))
def test_the_risk_is_that_of_at_least_one_re_identification_among_independent_members(r: list[float]) -> None:
    by_cases = sum(
        float(np.prod([chance if hit else 1 - chance for chance, hit in zip(r, case, strict=True)]))
        for case in product([False, True], repeat=len(r))
        if any(case)
    )
    found = household_risk(np.array(r), np.zeros(len(r), dtype=np.int64))
    assert found.risks[0] == pytest.approx(by_cases, rel=1e-9, abs=1e-12)
    assert found.sizes.tolist() == [len(r)]


@given(people)
def test_bounds_hold_whatever_the_dependence(units: list[tuple[float, int]]) -> None:
    found = household_risk(*as_arrays(units))
    assert (found.lower <= found.risks).all()
    assert (found.risks <= found.upper * (1 + 1e-12)).all()
    assert (found.upper <= 1).all()


def test_tiny_risks_add_up_without_cancelling() -> None:
    found = household_risk(np.full(3, 1e-18), np.array([7, 7, 7]))
    assert found.risks[0] == pytest.approx(3e-18, rel=1e-12)


def test_a_member_who_is_certain_to_be_recognised_makes_the_household_certain() -> None:
    assert household_risk(np.array([1.0, 0.1]), np.array([3, 3])).risks.tolist() == [1.0]


def test_a_household_of_one_has_its_members_risk() -> None:
    found = household_risk(np.array([0.2, 0.3]), np.array([5, 4]))
    assert found.risks == pytest.approx([0.2, 0.3])
    assert found.household.tolist() == [0, 1]


def test_the_file_counts_every_member_of_a_recognised_household() -> None:
    found = hierarchical_file_risk(household_risk(np.array([0.5, 0.5, 0.1]), np.array([1, 1, 2])))
    assert (found.units, found.households) == (3, 2)
    assert found.expected_matches == pytest.approx(2 * 0.75 + 0.1)
    assert found.reidentification_rate == pytest.approx(1.6 / 3)
    assert found.maximum == pytest.approx(0.75)


@given(people, st.floats(1e-6, 1))
def test_members_below_their_threshold_make_every_household_safe(
    units: list[tuple[float, int]], threshold: float
) -> None:
    r, household = as_arrays(units)
    found = household_risk(r, household)
    unsafe = unsafe_households(found, r, threshold)
    assert unsafe.thresholds.tolist() == (threshold / found.sizes).tolist()
    protected = np.where(unsafe.units, np.minimum(r, unsafe.thresholds[found.household] * 0.999), r)
    after = unsafe_households(household_risk(protected, household), protected, threshold)
    assert not after.households.any()
    # And every unsafe household has a member to protect.
    assert set(np.flatnonzero(unsafe.households)) == set(found.household[unsafe.units])


def test_of_two_people_of_one_key_the_one_in_the_larger_household_is_unsafe() -> None:
    # delta is 0.1 for the single person and 0.05 for the couple, whose risk is 0.06 + 0.08 - 0.0048.
    r, household = np.array([0.06, 0.06, 0.08]), np.array([1, 2, 2])
    found = unsafe_households(household_risk(r, household), r, 0.1)
    assert found.households.tolist() == [False, True]
    assert found.units.tolist() == [False, True, True]


def test_members_of_safe_households_are_left_alone() -> None:
    r, household = np.array([0.06, 0.0]), np.array([2, 2])
    found = unsafe_households(household_risk(r, household), r, 0.1)
    assert found.units.tolist() == [False, False]


def test_very_large_households_are_recognised_by_their_size_alone() -> None:
    sizes = np.array([2] * 400 + [3] * 200 + [14])
    found = household_size_risk(sizes, np.full(601, 50.0), 0.05)
    assert found.sizes.tolist() == [2, 3, 14]
    assert found.households.tolist() == [400, 200, 1]
    assert found.risks[2] == pytest.approx(individual_risk(np.array([1]), np.array([0.02]))[0])
    assert found.unsafe.tolist() == [False, False, True]


def test_in_a_census_a_size_that_two_households_have_is_a_risk_of_a_half() -> None:
    found = household_size_risk(np.array([9, 4, 9]), None, 0.5)
    assert (found.sizes.tolist(), found.risks.tolist()) == ([4, 9], [1.0, 0.5])
    assert found.unsafe.tolist() == [True, True]


@pytest.mark.parametrize(
    ("risks", "households", "message"),
    [
        ([0.1, np.nan], [1, 1], r"risks must lie between 0 and 1 \(positions 1\)"),
        ([1.5, 0.1], [1, 1], r"risks must lie between 0 and 1 \(positions 0\)"),
        ([0.1, 0.1], [1.0, 2.0], "households must be one integer for each of the 2 records"),
        ([0.1, 0.1], [1], "households must be one integer"),
    ],
)
def test_risks_and_households_that_make_no_file_are_rejected(
    risks: list[float], households: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        household_risk(np.array(risks), np.array(households))


@pytest.mark.parametrize("threshold", [0.0, 1.1, np.nan])
def test_thresholds_that_are_no_probabilities_are_rejected(threshold: float) -> None:
    r = np.array([0.1])
    with pytest.raises(ValueError, match="threshold must be above 0"):
        unsafe_households(household_risk(r, np.array([1])), r, threshold)
    with pytest.raises(ValueError, match="threshold must be above 0"):
        household_size_risk(np.array([1]), None, threshold)


def test_households_without_members_or_without_any_household_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"sizes must be at least 1 \(positions 1\)"):
        household_size_risk(np.array([1, 0]), None, 0.1)
    with pytest.raises(ValueError, match="there is none"):
        hierarchical_file_risk(household_risk(np.zeros(0), np.zeros(0, dtype=np.int64)))
    with pytest.raises(ValueError, match="risks must be those of the 2 units"):
        unsafe_households(household_risk(np.array([0.1, 0.2]), np.array([1, 1])), np.array([0.1]), 0.1)
