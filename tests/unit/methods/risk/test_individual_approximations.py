import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.individual_approximations import Approximation, approximate_individual_risk

cells = st.lists(st.tuples(st.integers(1, 10**5), st.floats(1e-9, 1)), min_size=1, max_size=50)


def error_of(approximation: Approximation, f: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.asarray(approximate_individual_risk(f, p, approximation) / individual_risk(f, p) - 1)


@pytest.mark.parametrize(
    ("approximation", "too_low", "too_high"),
    [
        (Approximation.RECIPROCAL, 1, 0),
        (Approximation.LARGE_FREQUENCIES, 0, np.inf),
        (Approximation.SDCMICRO, 0, 0.041),
        (Approximation.MU_ARGUS, 0.0061, 0),
    ],
)
@given(cells=cells)
def test_each_approximation_errs_on_its_side_and_within_its_bound(
    approximation: Approximation, too_low: float, too_high: float, cells: list[tuple[int, float]]
) -> None:
    f, p = (np.array(column) for column in zip(*cells, strict=True))
    error = error_of(approximation, f, p)
    assert error.min() >= -too_low - 1e-13
    assert error.max() <= too_high + 1e-13


def test_mu_argus_leaves_out_what_the_tail_of_its_series_adds_up_to() -> None:
    # As p -> 0 and f = 4 the whole series is 4/3 and its terms beyond the seventh power sum to 8/990.
    error = error_of(Approximation.MU_ARGUS, np.array([4]), np.array([1e-12]))
    assert error[0] == pytest.approx(-8 / 990 * 3 / 4, rel=1e-9)


def test_the_reciprocal_is_too_low_by_a_factor_five_for_a_unique_of_a_sample_of_one_in_126() -> None:
    error = error_of(Approximation.RECIPROCAL, np.array([1]), np.array([1 / 126]))
    assert 1 / (1 + error[0]) == pytest.approx(np.log(126) / (1 - 1 / 126), rel=1e-12)


def test_in_a_census_all_approximations_are_exact() -> None:
    f = np.array([1, 2, 3, 4, 50])
    for approximation in Approximation:
        assert approximate_individual_risk(f, np.ones(5), approximation).tolist() == (1 / f).tolist()


def test_cells_without_units_or_with_impossible_probabilities_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"at least 1 \(positions 0\).*at most 1 \(positions 1\)"):
        approximate_individual_risk(np.array([0, 1]), np.array([0.5, np.nan]), Approximation.SDCMICRO)


def test_fewer_people_than_were_sampled_are_read_as_a_census() -> None:
    probabilities = sampling_probabilities(np.array([2, 2, 4]), np.array([10.0, 1.5, 4.0]))
    assert probabilities.tolist() == [0.2, 1.0, 1.0]


@pytest.mark.parametrize(
    ("f", "sums", "message"),
    [
        ([0, 1], [1.0, 1.0], r"at least 1 \(positions 0\)"),
        ([1, 1], [np.nan, 1.0], r"finite and above 0 \(positions 0\)"),
        ([1, 1], [1.0, 0.0], r"finite and above 0 \(positions 1\)"),
        ([1, 1], [1.0], "one value a cell each"),
    ],
)
def test_weight_sums_that_estimate_no_population_are_rejected(
    f: list[int], sums: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        sampling_probabilities(np.array(f), np.array(sums))
