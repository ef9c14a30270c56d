import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.risk.file_level import (
    LOG_CLASSES,
    at_least,
    file_risk,
    rate_for_threshold,
    risk_histogram,
    threshold_for_rate,
)

files = st.lists(st.tuples(st.integers(1, 50), st.floats(1e-7, 1)), min_size=1, max_size=60)


def as_arrays(cells: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    f, r = zip(*cells, strict=True)
    return np.array(f, dtype=np.int64), np.array(r)


def test_the_risk_of_a_file_adds_up_over_all_units_and_over_sample_uniques() -> None:
    found = file_risk(np.array([1, 2, 1, 4]), np.array([0.5, 0.1, 0.25, 0.05]))
    assert (found.units, found.key_cells, found.sample_uniques) == (8, 4, 2)
    assert found.expected_matches == pytest.approx(0.5 + 2 * 0.1 + 0.25 + 4 * 0.05)
    assert found.expected_matches_uniques == pytest.approx(0.75)
    assert found.reidentification_rate == pytest.approx(1.15 / 8)
    assert found.uniques_share == pytest.approx(0.75 / 8)
    assert found.uniques_rate == pytest.approx(0.375)
    assert found.maximum == 0.5


def test_records_under_wildcards_count_once_each_whatever_their_frequency() -> None:
    # Three records; the third, without a value, agrees with the others, which do not agree with each other.
    found = file_risk(np.array([2, 2, 3]), np.array([0.4, 0.4, 0.2]), units=np.ones(3, dtype=np.int64))
    assert (found.units, found.sample_uniques) == (3, 0)
    assert found.expected_matches == pytest.approx(1.0)


def test_a_file_without_uniques_has_no_risk_from_them() -> None:
    found = file_risk(np.array([2]), np.array([0.5]))
    assert (found.expected_matches_uniques, found.uniques_rate) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("f", "r", "message"),
    [
        ([], [], "no cell"),
        ([1, 0], [0.1, 0.1], r"at least 1 \(positions 1\)"),
        ([1, 1], [np.nan, 1.1], r"between 0 and 1 \(positions 0, 1\)"),
        ([1, 1], [0.1], "one value a cell"),
    ],
)
def test_values_that_make_no_file_are_rejected(f: list[int], r: list[float], message: str) -> None:
    frequencies, risks = np.array(f, dtype=np.int64), np.array(r)
    for call in (
        lambda: file_risk(frequencies, risks),
        lambda: risk_histogram(risks, frequencies),
        lambda: threshold_for_rate(risks, frequencies, 0.01),
        lambda: rate_for_threshold(risks, frequencies, 0.01),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_classes_of_the_histogram_are_powers_of_e_and_closed_above() -> None:
    risks = np.array([0.0, np.exp(-8), 0.0004, 0.1, np.exp(-2), 0.14, 1.0])
    found = risk_histogram(risks, np.array([10, 5, 4, 3, 2, 1, 1]))
    assert found.edges.tolist() == list(LOG_CLASSES)
    assert found.units.tolist() == [15, 4, 0, 0, 0, 0, 5, 2]
    assert found.key_cells.tolist() == [2, 1, 0, 0, 0, 0, 2, 2]
    assert found.expected_matches[-1] == pytest.approx(1.14)


@given(files)
def test_every_unit_is_in_one_class_and_brings_its_risk_along(cells: list[tuple[int, float]]) -> None:
    f, r = as_arrays(cells)
    found, whole = risk_histogram(r, f), file_risk(f, r)
    assert found.units.sum() == whole.units
    assert found.key_cells.sum() == whole.key_cells
    assert found.expected_matches.sum() == pytest.approx(whole.expected_matches)


@pytest.mark.parametrize("edges", [(0.0,), (0.1, 1.0), (0.0, 0.5), (0.0, 0.6, 0.5, 1.0), (0.0, np.nan, 1.0)])
def test_classes_that_do_not_cover_the_risks_are_rejected(edges: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="edges must rise"):
        risk_histogram(np.array([0.7]), np.array([1]), edges)


@given(files, st.floats(1e-6, 0.99))
def test_the_threshold_for_a_rate_leaves_exactly_this_rate(
    cells: list[tuple[int, float]], rate: float
) -> None:
    f, r = as_arrays(cells)
    found = threshold_for_rate(r, f, rate)
    if found.risk is None:
        assert found.rate == pytest.approx(file_risk(f, r).reidentification_rate)
        assert found.rate <= rate
        assert (found.unsafe_units, found.unsafe_cells) == (0, 0)
    else:
        assert found.rate == pytest.approx(rate, rel=1e-9)
        assert found.unsafe_units >= 1
        assert rate_for_threshold(r, f, found.risk) == found


@given(files, st.floats(1e-6, 1), st.floats(1, 1.5))
def test_a_stricter_threshold_never_leaves_a_higher_rate_or_fewer_unsafe_units(
    cells: list[tuple[int, float]], threshold: float, factor: float
) -> None:
    f, r = as_arrays(cells)
    strict, lax = rate_for_threshold(r, f, threshold / factor), rate_for_threshold(r, f, threshold)
    assert strict.rate <= lax.rate * (1 + 1e-12)
    assert strict.unsafe_units >= lax.unsafe_units


def test_a_file_below_the_target_rate_needs_no_threshold() -> None:
    found = threshold_for_rate(np.array([0.01, 0.02]), np.array([5, 5]), 0.5)
    assert (found.risk, found.rate) == (None, pytest.approx(0.015))


def test_by_hand_half_the_rate_of_two_groups() -> None:
    # Rate 0.055; with the second group at r*: (5 * 0.01 + 5 r*) / 10 = 0.03, so r* = 0.05.
    found = threshold_for_rate(np.array([0.01, 0.1]), np.array([5, 5]), 0.03)
    assert found.risk == pytest.approx(0.05)
    assert (found.unsafe_units, found.unsafe_cells) == (5, 1)


@pytest.mark.parametrize("bound", [0.0, 1.0, -0.1, np.nan, np.inf])
def test_rates_outside_zero_and_one_are_rejected(bound: float) -> None:
    with pytest.raises(ValueError, match="rate must lie between"):
        threshold_for_rate(np.array([0.1]), np.array([1]), bound)


@pytest.mark.parametrize("bound", [0.0, 1.1, -0.1, np.nan])
def test_thresholds_that_are_no_probabilities_are_rejected(bound: float) -> None:
    with pytest.raises(ValueError, match="threshold must be above 0"):
        rate_for_threshold(np.array([0.1]), np.array([1]), bound)


def test_what_is_at_its_threshold_or_is_not_a_number_is_unsafe() -> None:
    risks = np.array([0.1, 0.1 * (1 - 1e-10), 0.0999, np.nan])
    assert at_least(risks, 0.1).tolist() == [True, True, False, True]
