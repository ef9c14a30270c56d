"""PSUs and areas: what never happens to a probability, what errors and ties do, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdcgate.methods.risk.psu_linkage import (
    link_psus,
    link_psus_one_to_one,
    psu_figures,
    risk_with_areas,
)

NUMBERS = st.floats(-1e12, 1e12)


@given(
    arrays(np.float64, (3, 2), elements=NUMBERS),
    arrays(np.float64, (5, 2), elements=NUMBERS),
    st.sampled_from([0.0, 1e-9, 1.0, 1e9]),
    st.sampled_from([0.0, 1e-9, 1.0, 1e9]),
)
def test_a_posterior_sums_to_one_or_to_nothing_and_is_never_nan(figures, areas, error, rounding):
    found = link_psus(figures, areas, error, rounding)
    sums = found.posterior.sum(axis=1)
    assert np.where(found.best < 0, sums == 0.0, np.isclose(sums, 1.0)).all()
    assert ((found.best_probability > 0) == (found.best >= 0)).all()
    assert ((found.ties >= 1) == (found.best >= 0)).all()


def test_an_exact_figure_names_the_area_and_an_error_hides_it():
    areas = np.array([[1.0], [2.0], [3.0]])
    assert link_psus(areas, areas).best_probability.tolist() == [1.0] * 3
    assert link_psus(areas, areas, 1e6).best_probability == pytest.approx([1 / 3] * 3)


def test_where_no_area_fits_none_is_linked_and_nobody_is_at_risk_by_it():
    found = link_psus(np.array([[1.0], [9.0]]), np.array([[1.0], [2.0]]))
    assert found.best.tolist() == [0, -1]
    assert found.best_probability.tolist() == [1.0, 0.0]
    assert link_psus_one_to_one(found).tolist() == [0, -1]
    assert found.right(np.array([0, 1])).tolist() == [1.0, 0.0]


def test_two_psus_that_fit_one_area_are_both_linked_alone_but_not_at_once():
    found = link_psus(np.array([[1.0], [1.0]]), np.array([[1.0], [5.0]]))
    assert found.best.tolist() == [0, 0]
    assert sorted(link_psus_one_to_one(found).tolist()) == [-1, 0]


def test_areas_that_are_alike_are_drawn():
    found = link_psus(np.array([[1.0]]), np.array([[1.0], [1.0], [4.0]]))
    assert found.ties.tolist() == [2]
    assert found.right(np.array([1])).tolist() == [0.5]
    assert found.right(np.array([2])).tolist() == [0.0]
    assert found.right(np.array([-1])).tolist() == [0.0]


def test_an_area_with_fewer_people_than_records_is_not_possible():
    areas, people, records = np.array([[1.0], [1.0]]), np.array([5, 500]), np.array([20])
    found = link_psus(np.array([[1.0]]), areas, possible=records[:, None] <= people)
    assert found.posterior.tolist() == [[0.0, 1.0]]


def test_a_variable_that_is_the_same_throughout_each_psu_has_no_error():
    psus = np.array([0, 0, 0, 1, 1])
    values = np.column_stack([[0.1, 0.1, 0.1, 7.3, 7.3], [1.0, 2.0, 3.0, 4.0, 6.0]])
    found = psu_figures(psus, values)
    assert found.errors[:, 0].tolist() == [0.0, 0.0]
    assert found.means == pytest.approx(np.array([[0.1, 2.0], [7.3, 5.0]]))
    # (1 + 0 + 1 + 1 + 1) / (5 - 2) = 4/3, over 3 and 2 records
    assert found.errors[:, 1] == pytest.approx(np.sqrt([4 / 9, 4 / 6]))
    assert found.records.tolist() == [3, 2]


def test_knowing_the_area_never_lowers_a_risk_and_adds_nothing_where_it_is_not_known():
    rng = np.random.default_rng(1)
    codes, psus = rng.integers(0, 9, (300, 2)), np.arange(300) % 6
    weights, people = rng.uniform(20, 60, 300), np.full(6, 400.0)
    unknown = risk_with_areas(codes, psus, weights, np.zeros(6), people)
    half = risk_with_areas(codes, psus, weights, np.full(6, 0.5), people)
    known = risk_with_areas(codes, psus, weights, np.ones(6), people)
    assert unknown.added == 0.0
    assert (unknown.with_area == unknown.without).all()
    assert 0 < half.added < known.added
    assert (known.with_area >= known.within).all()


ONE = np.ones((1, 1))
PSU = np.array([0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: link_psus(np.array([[np.nan]]), ONE), "figures must be finite"),
        (lambda: link_psus(ONE, np.array([[np.inf]])), "areas must be finite"),
        (lambda: link_psus(ONE, np.ones((1, 2))), "same variables"),
        (lambda: link_psus(np.ones((0, 1)), ONE), "at least one"),
        (lambda: link_psus(ONE, ONE, -1.0), "errors must be"),
        (lambda: link_psus(ONE, ONE, np.ones(3)), "errors must be"),
        (lambda: link_psus(ONE, ONE, 0.0, np.nan), "rounding must be"),
        (lambda: link_psus(ONE, ONE, prior=np.array([-1.0])), "prior"),
        (lambda: link_psus(ONE, ONE, possible=np.array([[1]])), "possible"),
        (lambda: link_psus(np.ones((3000, 1)), np.ones((3000, 1))), "at most"),
        (lambda: link_psus(ONE, ONE).right(np.array([4])), "positions of areas"),
        (lambda: psu_figures(np.array([0, 2]), np.ones((2, 1))), "without gaps"),
        (lambda: psu_figures(np.array([0, 0]), ONE), "a row a record"),
        (lambda: psu_figures(np.array([0, 10**15]), np.ones((2, 1))), "without gaps"),
        (
            lambda: risk_with_areas(np.array([[0]]), PSU, np.ones(1), np.array([1.5]), np.ones(1)),
            "from 0 to 1",
        ),
        (
            lambda: risk_with_areas(np.array([[0]]), PSU, np.ones(1), np.array([np.nan]), np.ones(1)),
            "from 0 to 1",
        ),
        (
            lambda: risk_with_areas(np.array([[0]]), PSU, np.ones(1), np.ones(1), np.array([0.5])),
            "at least the records",
        ),
    ],
)
def test_bad_input_says_what_to_send(call, message):
    with pytest.raises(ValueError, match=message):
        call()
