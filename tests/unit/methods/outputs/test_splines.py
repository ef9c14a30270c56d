import numpy as np
import patsy
import pytest

from sdcgate.methods.outputs.splines import Spline, spline_columns

VALUES = np.sort(np.random.default_rng(3).uniform(15, 95, 400))
KNOTS = (30.0, 45.0, 60.0)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_b_splines_are_those_of_patsy(degree: int) -> None:
    values = np.append(VALUES, [15.0, 95.0])
    spline = Spline(15.0, 95.0, KNOTS, natural=False, degree=degree)
    ours = np.column_stack([column.evaluate(values) for column in spline_columns(spline)])
    peer = patsy.bs(values, knots=KNOTS, degree=degree, lower_bound=15.0, upper_bound=95.0)
    np.testing.assert_allclose(ours, peer, atol=1e-13)


def test_natural_splines_span_what_those_of_patsy_span() -> None:
    spline = Spline(15.0, 95.0, KNOTS)
    ours = np.column_stack([np.ones(len(VALUES)), *(c.evaluate(VALUES) for c in spline_columns(spline))])
    peer = patsy.cr(VALUES, knots=KNOTS, lower_bound=15.0, upper_bound=95.0)
    assert ours.shape == peer.shape == (400, 5)
    fitted = ours @ np.linalg.lstsq(ours, peer, rcond=None)[0]
    np.testing.assert_allclose(fitted, peer, atol=1e-11)


def test_a_natural_spline_goes_on_straight_beyond_its_outer_knots() -> None:
    for column in spline_columns(Spline(15.0, 95.0, KNOTS)):
        for outside in ([96.0, 100.0, 104.0], [4.0, 8.0, 12.0]):
            low, middle, high = column.evaluate(np.array(outside))
            assert high - middle == pytest.approx(middle - low, abs=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"degree": 0, "natural": False},
        {"degree": 2},
        {"knots": ()},
        {"knots": (45.0, 30.0)},
        {"knots": (15.0, 30.0)},
        {"knots": (30.0, 95.0)},
        {"knots": (30.0, float("nan"))},
    ],
)
def test_no_spline_has_degree_0_or_knots_that_do_not_rise(wrong: dict) -> None:
    with pytest.raises(ValueError, match=r"spline|knots"):
        Spline(**{"lower": 15.0, "upper": 95.0, "knots": KNOTS, **wrong})
