"""Fellegi and Sunter's linkage: patterns of all pairs without a look at any, EM, thresholds, best links."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdcgate.methods.risk.probabilistic_linkage import (
    FellegiSunter,
    Thresholds,
    fit_fellegi_sunter,
    link_by_agreement,
    thresholds,
)
from sdcgate.methods.risk.probabilistic_linkage import _pairs_by_pattern as pairs_by_pattern

codes = arrays(np.int64, st.tuples(st.integers(1, 12), st.just(4)), elements=st.integers(-1, 2))


def pattern_of(first, second):
    agree = (first == second) & (first >= 0)
    return int((agree << np.arange(len(agree))).sum())


@given(codes, codes)
def test_patterns_are_counted_as_by_a_comparison_of_all_pairs(original, masked):
    found = pairs_by_pattern(original, masked, fixed=1)
    expected = np.zeros(8)
    for first, second in product(original, masked):
        if first[0] == second[0]:
            expected[pattern_of(first[1:], second[1:])] += 1
    np.testing.assert_array_equal(found, expected)


def a_model(matches, others):
    patterns = ((np.arange(1 << len(matches))[:, None] >> np.arange(len(matches))) & 1).astype(bool)
    m, u = np.array(matches), np.array(others)
    of_m = np.where(patterns, m, 1 - m).prod(axis=1)
    of_u = np.where(patterns, u, 1 - u).prod(axis=1)
    return FellegiSunter(0.1, m, u, np.ones(len(patterns)), np.log2(of_m / of_u), of_m, of_u)


@given(codes, codes, st.data())
def test_best_links_are_those_of_a_comparison_of_all_pairs(original, masked, data):
    model = a_model([0.9, 0.8, 0.9, 0.7], [0.1, 0.3, 0.1, 0.6])
    truth = data.draw(arrays(np.int64, len(masked), elements=st.integers(-1, len(original) - 1)))
    found = link_by_agreement(model, original, masked, Thresholds(3.0, -3.0, 0, 0), truth=truth)
    for record, own in enumerate(masked):
        index = np.array([model.index[pattern_of(other, own)] for other in original])
        best = np.isclose(index, index.max(), atol=1e-9)
        assert found.index[record] == pytest.approx(index.max(), abs=1e-8)
        assert found.ties[record] == best.sum()
        assert best[found.linked_to[record]]
        right = truth[record] >= 0 and best[truth[record]]
        assert found.correct[record] == pytest.approx(1 / best.sum() if right else 0.0)
        assert found.linked[record] == (index.max() >= 3)
        assert found.clerical[record] == (-3 < index.max() < 3)


def made_pair(rng, records=1500, errors=0.1):
    original = np.column_stack([rng.integers(0, size, records) for size in (5, 12, 30, 50)])
    drawn = np.column_stack([rng.integers(0, size, records) for size in (5, 12, 30, 50)])
    return original, np.where(rng.random(original.shape) < errors, drawn, original)


def test_em_finds_how_often_matches_and_others_agree():
    original, masked = made_pair(np.random.default_rng(1))
    model = fit_fellegi_sunter(original, masked)
    true = (original == masked).mean(axis=0)
    np.testing.assert_allclose(model.matches, true, atol=0.03)
    np.testing.assert_allclose(model.others, [1 / 5, 1 / 12, 1 / 30, 1 / 50], rtol=0.05)
    assert model.share * model.pairs.sum() == pytest.approx(1500, rel=0.1)
    assert model.pairs.sum() == 1500**2


def test_linked_records_are_mostly_right_and_errors_as_few_as_asked():
    original, masked = made_pair(np.random.default_rng(2))
    model = fit_fellegi_sunter(original, masked, matches=1500)
    at = thresholds(model, 1e-4, 0.05)
    assert at.false_links <= 1e-4
    assert at.false_non_links <= 0.05
    assert at.nlt < at.lt
    found = link_by_agreement(model, original, masked, at)
    assert found.linked.sum() > 700
    assert found.expected_matches / found.linked.sum() > 0.9


def test_blocks_leave_only_pairs_that_agree_on_them():
    original, masked = made_pair(np.random.default_rng(3))
    blocks = (original[:, :1], original[:, :1])
    model = fit_fellegi_sunter(original[:, 1:], masked[:, 1:], blocks)
    sizes = np.bincount(original[:, 0])
    assert model.pairs.sum() == (sizes**2).sum()
    found = link_by_agreement(model, original[:, 1:], masked[:, 1:], thresholds(model, 1e-4, 0.01), blocks)
    assert (found.ties <= sizes[original[:, 0]]).all()


def test_thresholds_without_errors_leave_all_to_clerks():
    at = thresholds(a_model([0.9, 0.8], [0.1, 0.3]), 0.0, 0.0)
    assert (at.lt, at.nlt, at.false_links) == (np.inf, -np.inf, 0.0)


def test_a_pattern_that_may_be_linked_or_not_is_linked():
    model = a_model([0.9, 0.8], [0.1, 0.3])
    at = thresholds(model, 0.9, 0.9)
    assert at.lt > at.nlt == pytest.approx(model.index.min())
    assert at.false_links == pytest.approx(1 - 0.9 * 0.7)
    assert at.false_non_links == pytest.approx(0.1 * 0.2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: fit_fellegi_sunter(c, c[:, :1]), "same variables"),
        (lambda c: fit_fellegi_sunter(c[:0], c), "at least one record"),
        (
            lambda c: fit_fellegi_sunter(np.zeros((2, 20), dtype=int), np.zeros((2, 20), dtype=int)),
            "at most 14",
        ),
        (lambda c: fit_fellegi_sunter(c, c, (c[:, :1], c[:, :1] + 9)), "pairs of records"),
        (lambda c: fit_fellegi_sunter(c, c, matches=0), "matches must"),
        (lambda c: fit_fellegi_sunter(c.astype(float), c), "integers"),
        (lambda c: thresholds(a_model([0.9], [0.1]), 1.0, 0.1), "false_links"),
        (lambda c: thresholds(a_model([0.9], [0.1]), 0.1, float("nan")), "false_non_links"),
        (lambda c: link_by_agreement(a_model([0.9], [0.1]), c, c, Thresholds(0, 0, 0, 0)), "of the model"),
    ],
)
def test_files_that_do_not_fit_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.array([[0, 1], [1, 0], [0, 0]]))
