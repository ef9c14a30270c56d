import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sdcgate.methods.risk import wildcards
from sdcgate.methods.risk.keys import Missing, frequencies

codes_with_gaps = arrays.arrays(
    np.int64, st.tuples(st.integers(1, 40), st.integers(1, 5)), elements=st.integers(-1, 2)
)


def compatible(codes: np.ndarray) -> np.ndarray:
    """Which records agree with which, each compared with each."""
    one, other = codes[:, None, :], codes[None, :, :]
    return np.asarray(((one == other) | (one < 0) | (other < 0)).all(axis=2))


@pytest.mark.parametrize("projecting", [0, 1, 10**9], ids=["by projection", "by size", "directly"])
@given(codes=codes_with_gaps, seed=st.integers(0, 2**32))
def test_a_record_counts_all_that_agree_where_neither_is_missing(
    projecting: int, codes: np.ndarray, seed: int
) -> None:
    weights = np.random.default_rng(seed).uniform(0.5, 100, len(codes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wildcards, "_PROJECTING", projecting)
        found = frequencies(codes, weights, Missing.WILDCARD)
    agree = compatible(codes)
    assert found.f.tolist() == agree.sum(axis=1).tolist()
    np.testing.assert_allclose(found.weight_sums, agree @ weights, rtol=1e-12)


@given(codes_with_gaps)
def test_a_wildcard_never_makes_a_record_rarer_than_a_category_does(codes: np.ndarray) -> None:
    wildcard = frequencies(codes, None, Missing.WILDCARD).f
    assert (wildcard >= frequencies(codes, None, Missing.CATEGORY).f).all()


def test_a_record_without_any_value_agrees_with_all() -> None:
    codes = np.array([[-1, -1], [0, 1], [1, 0]])
    assert frequencies(codes, None, Missing.WILDCARD).f.tolist() == [3, 2, 2]
    assert frequencies(codes, None, Missing.CATEGORY).f.tolist() == [1, 1, 1]


def test_without_missing_values_wildcards_are_categories() -> None:
    codes = np.random.default_rng(1).integers(0, 3, (200, 4))
    assert (
        frequencies(codes, None, Missing.WILDCARD).f.tolist()
        == frequencies(codes, None, Missing.CATEGORY).f.tolist()
    )


def test_two_hundred_keys_with_a_pattern_for_each_record_are_counted() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (300, 200))
    codes[:, 3:] = np.where(rng.random((300, 197)) < 0.7, -1, 0)
    assert frequencies(codes, None, Missing.WILDCARD).f.tolist() == compatible(codes).sum(axis=1).tolist()


def test_more_patterns_than_can_be_compared_in_minutes_are_refused_at_once() -> None:
    rng = np.random.default_rng(4)
    codes = np.where(rng.random((150_000, 60)) < 0.5, -1, 0).astype(np.int8)
    started = time.process_time()
    with pytest.raises(ValueError, match=r"wildcards in 150000 patterns would take 1.1e\+10 comparisons"):
        frequencies(codes, None, Missing.WILDCARD)
    assert time.process_time() - started < 2


def test_a_hundred_thousand_records_with_seven_percent_missing_take_a_twentieth_of_sdcmicros_time() -> None:
    rng = np.random.default_rng(20260101)
    codes = np.column_stack([rng.integers(0, c, 100_000) for c in (2, 5, 8, 9, 15, 4, 20)])
    gaps = rng.random(100_000) < 0.07
    codes[gaps, rng.integers(0, 7, gaps.sum())] = -1

    def seconds() -> float:
        started = time.process_time()
        frequencies(codes, None, Missing.WILDCARD)
        return time.process_time() - started

    assert min(seconds() for _ in range(2)) < 9.5 / 20


def test_the_work_is_that_of_each_pair_of_patterns_once() -> None:
    # Three patterns of one key and one of 40: three pairs compared directly, three through a table.
    assert wildcards._work(np.array([1, 1, 1, 40])) == 3 * 1 + 3 * min(40, wildcards._PROJECTING * 41)
    assert wildcards._work(np.array([100, 200])) == wildcards._PROJECTING * 300
