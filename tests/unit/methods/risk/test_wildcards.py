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


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0], ids=["bitmaps", "both", "tables"])
@given(codes=codes_with_gaps, seed=st.integers(0, 2**32))
def test_a_record_counts_all_that_agree_where_neither_is_missing(
    share: float, codes: np.ndarray, seed: int
) -> None:
    weights = np.random.default_rng(seed).uniform(0.5, 100, len(codes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wildcards, "_common_patterns", lambda sizes, _: round(share * len(sizes)))
        found = frequencies(codes, weights, Missing.WILDCARD)
    agree = compatible(codes)
    assert found.f.tolist() == agree.sum(axis=1).tolist()
    np.testing.assert_allclose(found.weight_sums, agree @ weights, rtol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.02, 1.0], ids=["bitmaps", "both", "tables"])
def test_several_blocks_of_keys_are_counted_as_one(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    codes = np.column_stack([rng.integers(0, c, 3000) for c in (2, 3, 900, 40, 2, 2, 2)])
    codes[rng.random(codes.shape) < 0.2] = -1
    codes[:, 3] *= 10**12  # what codes count is not their business
    codes[codes < 0] = -1
    weights = rng.uniform(0.5, 100, len(codes))
    monkeypatch.setattr(wildcards, "_common_patterns", lambda sizes, _: round(share * len(sizes)))
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


def test_more_patterns_than_can_be_compared_in_minutes_are_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Keys of one category tell nothing: 20 blocks for each of 20,000 keys, in the 30 columns that it has.
    codes = np.where(np.random.default_rng(4).random((20_000, 60)) < 0.5, -1, 0).astype(np.int8)
    monkeypatch.setattr(wildcards, "LARGEST_WORK", 1e7)
    with pytest.raises(ValueError, match=r"20000 different keys, 19999 of them .* would take 1e\+07 steps"):
        frequencies(codes, None, Missing.WILDCARD)
    monkeypatch.setattr(wildcards, "LARGEST_WORK", 1.3e7)
    assert (frequencies(codes, None, Missing.WILDCARD).f == 20_000).all()


def test_a_pattern_for_each_of_twenty_thousand_records_of_two_hundred_keys_takes_a_second() -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (20_000, 200)).astype(np.int8)
    codes[rng.random(codes.shape) < 0.9] = -1
    started = time.process_time()
    found = frequencies(codes, None, Missing.WILDCARD)
    assert time.process_time() - started < 2
    for record in (0, 7, 19_999):
        agree = (codes == codes[record]) | (codes < 0) | (codes[record] < 0)
        assert found.f[record] == agree.all(axis=1).sum()


def test_patterns_of_many_keys_meet_through_tables_and_rare_ones_by_bitmaps() -> None:
    assert wildcards._common_patterns(np.array([90_000, 5000, 5000]), 5.0) == 3
    assert wildcards._common_patterns(np.ones(10_000, dtype=np.int64), 5.0) <= 1
    mixed = np.array([90_000, 9000, *[1] * 5000])
    assert 1 <= wildcards._common_patterns(mixed, 5.0) <= 2


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
