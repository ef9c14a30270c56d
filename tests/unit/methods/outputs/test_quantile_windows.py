"""What leaves of a quantile regression is no single record's value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.outputs.design import Records, build_design, matrix
from sdcgate.methods.outputs.fits import Family, FitOptions, ModelData
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.quantile_windows import smallest_category, window
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary

WORDS = Vocabulary((Categorical("site", (Level("site", ("a", "b")),)),), (Measured("y"),))


def of_two_sites(first: int, second: int, seed: int = 3) -> tuple[ModelData, Records]:
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1], [first, second])
    records = Records({("site", "site"): codes}, {}, first + second)
    design = build_design(parse_formula("y ~ site", WORDS), WORDS, {("site", "site"): ("a", "b")})
    outcome = rng.lognormal(3, 1, len(codes)) + 10 * codes
    values = matrix(design, WORDS, records)
    return ModelData(design, values, outcome, np.arange(len(codes))), records


def coefficients(data: ModelData, records: Records, units: int, quantile: float = 0.5):
    options = FitOptions(Family.QUANTILE, quantile=quantile, window=units)
    return fit_model(data, records, options)[0].estimates


def test_one_plane_goes_through_records_and_the_mean_of_a_window_does_not() -> None:
    data, records = of_two_sites(101, 101)
    first = data.outcome[:101]

    alone = coefficients(data, records, 1)
    of_ten = coefficients(data, records, 10)

    assert np.abs(first - alone[0]).min() < 1e-4
    assert np.abs(first - of_ten[0]).min() > 1e-3


def test_the_mean_is_over_as_many_order_statistics_as_units_of_the_smallest_category() -> None:
    data, records = of_two_sites(60, 400)
    found = coefficients(data, records, 10)

    ordered = np.sort(data.outcome[:60])
    places = window(0.5, 10, 60) * 60
    assert len(np.unique(np.floor(places))) == 10
    # Each plane lies between the order statistics about its quantile.
    low, high = (ordered[np.clip(np.floor(places).astype(int) + d, 0, 59)].mean() for d in (-1, 1))
    assert low <= found[0] <= high


def test_a_quantile_too_near_to_the_end_of_a_small_category_is_told() -> None:
    data, records = of_two_sites(40, 400)
    with pytest.raises(ModelProblemError, match="too few units beside it"):
        coefficients(data, records, 10, 0.1)


def test_the_reference_of_a_factor_is_a_category_too() -> None:
    data, _ = of_two_sites(12, 400)
    assert smallest_category(data.design, data.values, data.units) == 12


def test_a_measure_that_is_nothing_for_a_few_people_makes_no_category_of_them() -> None:
    words = Vocabulary((), (Measured("y"), Measured("x")))
    design = build_design(parse_formula("y ~ x", words), words, {})
    records = Records({}, {"x": np.r_[0.0, 0.0, np.arange(1.0, 99.0)]}, 100)
    values = matrix(design, words, records)
    assert (values == 0).sum() == 2
    assert smallest_category(design, values, np.arange(100)) == 100


@given(st.floats(0.01, 0.99), st.integers(2, 30), st.integers(2, 2000))
def test_a_window_has_units_enough_within_and_beside_it(quantile: float, units: int, smallest: int) -> None:
    try:
        found = window(quantile, units, smallest)
    except ModelProblemError:
        return
    assert len(found) == units
    assert found.mean() == pytest.approx(quantile)
    assert np.diff(found) == pytest.approx(1 / smallest)
    assert found[0] * smallest >= units - 1e-6
    assert (1 - found[-1]) * smallest >= units - 1e-6
