"""SUDA scores, contributions and DIS-SUDA against sdcMicro 5.8.1's suda2."""

import numpy as np
import pytest

from reference_data import code_columns, read_columns
from sdcgate.methods.risk.special_uniques import Scaling, dis_suda, special_uniques

# The handbook's example as sdcMicro has it: age, gender, income, education.
BOOK = np.array(
    [
        [0, 1, 1, 0],
        [0, 1, 1, 0],
        [0, 1, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 2],
        [0, 0, 0, 0],
        [0, 0, 0, 1],
        [1, 1, 0, 2],
    ]
)
FRANCDAT = np.array(
    [
        [0, 0, 1, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [1, 1, 0, 2],
        [2, 1, 0, 1],
        [2, 1, 0, 0],
        [3, 0, 0, 2],
        [0, 0, 1, 0],
    ]
)
# sdcMicro's issue 275: a, b, c.
NESTED = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0]])
SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]

PATHS, SUBSETS = Scaling.PATHS, Scaling.SUBSETS


@pytest.mark.parametrize(
    ("codes", "scaling", "scores", "shares"),
    [
        (FRANCDAT, PATHS, [0, 0, 0, 8, 6, 4, 8, 0], [53.8461538, 23.0769231, 0, 53.8461538]),
        (FRANCDAT, SUBSETS, [0, 0, 0, 2.25, 1.75, 1, 2.25, 0], [55.1724138, 20.6896552, 0, 51.7241379]),
        (NESTED, PATHS, [2, 4, 2], [50, 37.5, 37.5]),
        (NESTED, SUBSETS, [1, 2, 2 / 3], [45.4545455, 36.3636364, 36.3636364]),
    ],
)
def test_scores_and_shares_of_variables_are_sdcmicros(codes, scaling, scores, shares):
    found = special_uniques(codes, scaling=scaling)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-12)
    np.testing.assert_allclose(found.of_variables * 100, shares, rtol=1e-7)


@pytest.mark.parametrize(
    ("scaling", "fraction", "expected"),
    [
        (PATHS, 0.01, [0.01421348632458717, 0.010106015012089345, 0.00623684035040827, 0.01421348632458717]),
        (SUBSETS, 0.1, [0.14281974444882203, 0.10971629842479629, 0.05923497601841565, 0.14281974444882203]),
    ],
)
def test_dis_suda_is_sdcmicros_which_has_single_precision(scaling, fraction, expected):
    found = special_uniques(FRANCDAT, scaling=scaling)
    np.testing.assert_allclose(dis_suda(FRANCDAT, found, fraction)[3:7], expected, rtol=1e-6)


def test_dis_suda_of_seven_variables():
    """The first 500 records of testdata, fraction 0.05: records 34 and 43 and the sum over the file."""
    codes = code_columns(read_columns("testdata"), SEVEN)[:500]
    found = special_uniques(codes)
    confidence = dis_suda(codes, found, 0.05)
    assert (found.scores > 0).sum() == 21
    assert found.scores.max() == pytest.approx(9.0)
    assert (found.scores[33], found.scores[42]) == pytest.approx((1.4761904761904763, 0.42857142857142855))
    assert (confidence[33], confidence[42]) == pytest.approx(
        (0.0651618536578694, 0.01866800233011454), rel=1e-6
    )
    assert confidence.mean() == pytest.approx(0.00267930347495043, rel=1e-6)
    shares = [0, 9.673625404292855, 14.995589532490444, 44.22228756248162, 8.967950602763894]
    np.testing.assert_allclose(found.of_variables[:5] * 100, shares, rtol=1e-9)


def test_the_books_example_has_its_scores():
    original = special_uniques(BOOK, scaling=PATHS)
    assert original.scores.tolist() == [0, 0, 0, 0, 4, 2, 6, 8]
    found = special_uniques(BOOK)
    assert found.scores.tolist() == [0, 0, 0, 0, 1, 0.5, 1.75, 2.25]
    assert found.smallest.tolist() == [0, 0, 0, 0, 2, 2, 1, 1]
    expected = [0.10774943370672144, 0.049939415573771094, 0.16418953973448577, 0.21718244951064358]
    np.testing.assert_allclose(dis_suda(BOOK, original, 0.1)[4:], expected, rtol=1e-6)
