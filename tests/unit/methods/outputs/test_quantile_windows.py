"""What leaves of a quantile regression is no single record's value."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdcgate.methods.outputs.design import Records, build_design, matrix
from sdcgate.methods.outputs.fits import Family, FitOptions, ModelData
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.quantile_planes import quantile_planes
from sdcgate.methods.outputs.quantile_regression import check_loss, fit_quantile
from sdcgate.methods.outputs.quantile_windows import fewest_units, smallest_category, window
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


@pytest.mark.parametrize("outcome", ["smooth", "of few values", "mostly 0"])
def test_each_plane_is_where_no_subgradient_leads_lower(outcome: str) -> None:
    rng = np.random.default_rng(5)
    columns = np.column_stack([np.ones(900), rng.normal(size=(900, 3)), rng.integers(0, 2, (900, 2))])
    values = columns @ [1.0, 0.5, -0.3, 0.2, 1.0, -1.0] + rng.gumbel(size=900)
    values = {"smooth": values, "of few values": np.round(values), "mostly 0": np.maximum(values - 2, 0)}[
        outcome
    ]
    quantiles = np.array([0.2, 0.45, 0.4505, 0.451, 0.9])

    found = [one.coefficients for one in quantile_planes(columns, values, quantiles.tolist())]

    for quantile, plane in zip(quantiles, found, strict=True):
        residuals = values - columns @ plane
        through = np.abs(residuals) < 1e-9
        assert through.sum() >= 6
        # What the others pull with can be held by records on the plane, each with q - 1 to q.
        pull = columns[~through].T @ np.where(residuals[~through] > 0, quantile, quantile - 1)
        held = linprog(
            np.zeros(through.sum()), A_eq=columns[through].T, b_eq=-pull, bounds=(quantile - 1, quantile)
        )
        assert held.status == 0


def test_planes_solved_one_from_the_other_are_as_good_as_each_alone() -> None:
    rng = np.random.default_rng(8)
    columns = np.column_stack([np.ones(5000), rng.normal(size=(5000, 3)), rng.integers(0, 2, 5000)])
    outcome = columns @ [1, 2, 3, 4, 5] + rng.lognormal(size=5000) * (1 + columns[:, 4])
    for quantiles in (np.linspace(0.49, 0.51, 9), np.linspace(0.05, 0.95, 9)):
        together = quantile_planes(columns, outcome, quantiles.tolist())
        for quantile, plane in zip(quantiles.tolist(), together, strict=True):
            (alone,) = quantile_planes(columns, outcome, [quantile])
            np.testing.assert_allclose(plane.coefficients, alone.coefficients, rtol=1e-9)
            assert set(plane.through) == set(alone.through)
            heights = [columns @ one.coefficients for one in (plane, alone)]
            losses = [check_loss(outcome - height, quantile) for height in heights]
            assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def test_records_that_were_wrongly_taken_for_far_cost_time_and_not_the_plane(monkeypatch) -> None:
    data, _ = of_two_sites(401, 907)
    quantiles = [0.3, 0.4, 0.5, 0.6, 0.7]
    right = quantile_planes(data.values, data.outcome, quantiles)
    some = np.random.default_rng(2).random(1308) < 0.2
    monkeypatch.setattr("sdcgate.methods.outputs.quantile_planes._near", lambda *_: some)
    found = quantile_planes(data.values, data.outcome, quantiles)
    for mine, theirs in zip(found, right, strict=True):
        np.testing.assert_allclose(mine.coefficients, theirs.coefficients, rtol=1e-12)
        assert set(mine.through) == set(theirs.through)


def test_planes_that_are_not_near_the_outer_ones_are_solved_from_all_records() -> None:
    """Between the quantiles the outcome leaps: hardly any record lies near both outer planes."""
    outcome = np.r_[np.zeros(400), np.full(400, 500.0), np.full(400, 1000.0)] + np.linspace(0, 1, 1200)
    columns = np.ones((1200, 1))
    planes = quantile_planes(columns, outcome, [0.1, 0.3, 0.5, 0.7, 0.9])
    found = [plane.coefficients[0] for plane in planes]
    ordered = np.sort(outcome)
    for quantile, value in zip((0.1, 0.3, 0.5, 0.7, 0.9), found, strict=True):
        place = round(1200 * quantile)
        assert ordered[place - 1] <= value <= ordered[place]


def test_the_mean_is_over_as_many_order_statistics_as_units_of_the_smallest_category() -> None:
    data, records = of_two_sites(60, 400)
    found = coefficients(data, records, 10)

    ordered = np.sort(data.outcome[:60])
    places = window(0.5, 10, 60) * 60
    assert len(np.unique(np.floor(places))) == 10
    # Each plane lies between the order statistics about its quantile.
    low, high = (ordered[np.clip(np.floor(places).astype(int) + d, 0, 59)].mean() for d in (-1, 1))
    assert low <= found[0] <= high


def with_one_far_out(records: int = 2000) -> tuple[ModelData, Records]:
    """One person's income is far from all others', and her cost lies where theirs lead to."""
    rng = np.random.default_rng(0)
    words = Vocabulary((), (Measured("y"), Measured("x")))
    design = build_design(parse_formula("y ~ x", words), words, {})
    incomes = np.r_[rng.normal(10, 1, records - 1), 60.0]
    costs = 5 + 2 * incomes + np.r_[rng.normal(size=records - 1), 0.0]
    people = Records({}, {"x": incomes}, records)
    return ModelData(design, matrix(design, words, people), costs, np.arange(records)), people


def test_a_record_that_all_planes_go_through_is_told_by_their_mean_and_refused() -> None:
    data, records = with_one_far_out()
    quantiles = window(0.5, 10, 2000)
    planes = quantile_planes(data.values, data.outcome, quantiles.tolist())
    mean = np.mean([plane.coefficients for plane in planes], axis=0)
    on_all = set.intersection(*(set(plane.through.tolist()) for plane in planes))

    assert on_all == {1999}
    assert data.values[1999] @ mean == pytest.approx(data.outcome[1999], rel=1e-12)
    assert fewest_units(planes, data.values, data.outcome, data.units) == 1
    with pytest.raises(ModelProblemError, match="too few units"):
        coefficients(data, records, 10)


def test_a_value_that_many_of_a_category_share_is_nobodys() -> None:
    data, _ = of_two_sites(300, 500)
    data = replace(data, outcome=np.where(data.outcome < np.median(data.outcome), 0.0, data.outcome))
    (plane,) = quantile_planes(data.values, data.outcome, [0.2])
    assert fewest_units([plane], data.values, data.outcome, data.units) > 100


def test_where_few_carry_the_planes_of_a_measure_more_of_them_are_averaged_over() -> None:
    rng = np.random.default_rng(3)
    data, _ = with_one_far_out()
    data = replace(data, values=np.column_stack([np.ones(2000), rng.normal(10, 1, 2000)]))
    planes = {}
    for units in (10, 20):
        quantiles = window(0.5, units, 2000)
        planes[units] = quantile_planes(data.values, data.outcome, quantiles.tolist())
    assert fewest_units(planes[10], data.values, data.outcome, data.units) < 10
    assert fewest_units(planes[20], data.values, data.outcome, data.units) >= 10

    found = fit_quantile(data, FitOptions(Family.QUANTILE, window=10)).estimate.estimates
    mean = np.mean([plane.coefficients for plane in planes[20]], axis=0)
    np.testing.assert_allclose(found, mean, rtol=1e-9)


def test_planes_of_categories_rest_on_as_many_units_as_there_are_planes() -> None:
    for sizes in ((301, 403), (101, 101), (60, 400)):
        data, _ = of_two_sites(*sizes)
        planes = quantile_planes(data.values, data.outcome, window(0.5, 10, min(sizes)).tolist())
        assert fewest_units(planes, data.values, data.outcome, data.units) == 10
        assert fewest_units(planes, data.values, data.outcome, np.zeros_like(data.units)) == 1


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
    assert abs(found.mean() - quantile) <= 0.5 / smallest + 1e-12
    assert found * smallest % 1 == pytest.approx(0.5, abs=1e-6)
    assert np.diff(found) == pytest.approx(1 / smallest)
    assert found[0] * smallest >= units - 1e-6
    assert (1 - found[-1]) * smallest >= units - 1e-6
