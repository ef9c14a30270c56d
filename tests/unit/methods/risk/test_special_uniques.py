"""Minimal sample uniques: found as a search of all subsets finds them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdcgate.methods.risk import special_uniques as suda
from sdcgate.methods.risk.special_uniques import Scaling, dis, dis_suda, score_of, special_uniques


def by_search(codes, largest):
    """Every MSU of every record, by looking at all subsets."""
    records, variables = codes.shape
    found = [[] for _ in range(records)]
    for size in range(1, largest + 1):
        for chosen in combinations(range(variables), size):
            rows = [tuple(row) for row in codes[:, chosen]]
            for record, row in enumerate(rows):
                smaller = any(set(msu) < set(chosen) for msu in found[record])
                if rows.count(row) == 1 and not smaller:
                    found[record].append(chosen)
    return found


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.int64, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.integers(-1, 3)),
    st.sampled_from(Scaling),
    st.integers(1, 5),
)
def test_sets_scores_and_contributions_are_those_of_a_search_of_all_subsets(codes, scaling, largest):
    variables = codes.shape[1]
    largest = min(largest, variables)
    found = special_uniques(codes, largest, scaling)
    for record, sets in enumerate(by_search(codes, largest)):
        values = [score_of(len(msu), variables, largest, scaling) for msu in sets]
        assert found.scores[record] == pytest.approx(sum(values))
        assert found.smallest[record] == min((len(msu) for msu in sets), default=0)
        assert found.sizes[record].sum() == len(sets)
        for variable in range(variables):
            holding = sum(value for value, msu in zip(values, sets, strict=True) if variable in msu)
            expected = holding / sum(values) if sum(values) else 0.0
            assert found.contributions[record, variable] == pytest.approx(expected)


def test_combinations_that_cannot_be_numbered_are_grouped(monkeypatch):
    codes = np.random.default_rng(1).integers(0, 4, (60, 5))
    expected = special_uniques(codes)
    monkeypatch.setattr(suda, "_LARGEST", 1)
    found = special_uniques(codes)
    np.testing.assert_array_equal(found.sizes, expected.sizes)
    np.testing.assert_allclose(found.scores, expected.scores)


def test_records_that_agree_in_all_have_no_score():
    found = special_uniques(np.zeros((5, 3), dtype=np.int64))
    assert found.scores.tolist() == [0.0] * 5
    assert found.of_variables.tolist() == [0.0] * 3
    assert dis_suda(np.zeros((5, 3), dtype=np.int64), found, 0.1).tolist() == [0.0] * 5


def test_dis_is_the_chance_of_skinner_and_elliot():
    codes = np.array([[0], [1], [2], [2], [3], [3], [3]])
    assert dis(codes, 0.1) == pytest.approx(2 / (2 + 2 * 9 * 1))
    assert dis(codes, 1.0) == 1.0


def test_the_mean_of_the_inverse_confidences_is_that_of_the_measure():
    codes = np.random.default_rng(2).integers(0, 5, (300, 4))
    found = special_uniques(codes)
    confidence = dis_suda(codes, found, 0.05)
    assert np.mean(1 / confidence[found.scores > 0]) == pytest.approx(1 / dis(codes, 0.05))
    order = np.argsort(found.scores)
    assert np.all(np.diff(confidence[order]) >= -1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((2, 3), dtype=np.int64), 4), "1 to the 3"),
        ((np.zeros((2, 3), dtype=np.int64), 0), "1 to the 3"),
        ((np.zeros((2, 200), dtype=np.int64), 4), "lower maximum_size"),
        ((np.zeros((2, 3)),), "integers"),
    ],
)
def test_what_cannot_be_searched_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        special_uniques(*arguments)


def test_two_hundred_keys_are_searched_to_a_size_that_can_be():
    codes = np.random.default_rng(3).integers(0, 3, (50, 200))
    found = special_uniques(codes, maximum_size=2)
    assert found.sizes.shape == (50, 2)
    assert (found.smallest == 2).any()


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.1, float("nan")])
def test_a_fraction_that_is_none_is_refused(fraction):
    with pytest.raises(ValueError, match="fraction"):
        dis(np.array([[0], [1]]), fraction)
