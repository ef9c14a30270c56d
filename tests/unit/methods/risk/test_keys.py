import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sdcgate.methods.risk.keys import Keys, Missing, frequencies, group_keys, weight_sums

few_codes = arrays.arrays(
    np.int64, st.tuples(st.integers(0, 40), st.integers(1, 6)), elements=st.integers(-1, 3)
)


def grouped_by_dictionary(codes: np.ndarray) -> tuple[list[int], list[int], list[int]]:
    """Group, first and counts in order of first appearance, the plain way."""
    seen: dict[tuple[int, ...], int] = {}
    group = [seen.setdefault(tuple(row), len(seen)) for row in codes.tolist()]
    first = [group.index(key) for key in range(len(seen))]
    return group, first, [group.count(key) for key in range(len(seen))]


def as_lists(keys: Keys) -> tuple[list[int], list[int], list[int]]:
    return keys.group.tolist(), keys.first.tolist(), keys.counts.tolist()


@given(few_codes)
def test_records_are_grouped_by_their_whole_key_in_order_of_first_appearance(codes: np.ndarray) -> None:
    assert as_lists(group_keys(codes)) == grouped_by_dictionary(codes)


@given(few_codes)
def test_the_layout_and_the_integer_type_of_codes_make_no_difference(codes: np.ndarray) -> None:
    expected = as_lists(group_keys(codes))
    assert as_lists(group_keys(np.asfortranarray(codes.astype(np.int8)))) == expected
    assert as_lists(group_keys(np.repeat(codes, 2, axis=0)[::2].astype(np.int32))) == expected


@given(st.integers(0, 2**32), st.integers(1, 300))
def test_many_keys_with_many_categories_are_grouped_though_their_product_fits_no_number(
    seed: int, records: int
) -> None:
    rng = np.random.default_rng(seed)
    people = rng.integers(-1, 10**5, (max(records // 3, 1), 200))
    codes = people[rng.integers(0, len(people), records)]
    codes[:, -1] = rng.integers(0, 2, records)
    assert as_lists(group_keys(codes)) == grouped_by_dictionary(codes)


def test_the_first_of_seventy_keys_is_not_shifted_out_of_the_number() -> None:
    # Three categories take a digit of 4: 70 of them are 140 bits.
    codes = np.full((3, 70), 2)
    codes[1, 0] = 0
    codes[2, 69] = 0
    assert group_keys(codes).counts.tolist() == [1, 1, 1]


def test_a_hundred_thousand_different_keys_stay_different() -> None:
    codes = np.arange(100_000).reshape(-1, 1)
    keys = group_keys(np.concatenate([codes, codes[::-1]]))
    assert len(keys) == 100_000
    assert (keys.counts == 2).all()
    assert (keys.group[:100_000] == np.arange(100_000)).all()
    assert (keys.group[100_000:] == np.arange(100_000)[::-1]).all()


def test_records_that_are_all_identical_are_one_key() -> None:
    assert as_lists(group_keys(np.zeros((3, 7), dtype=np.int64))) == ([0, 0, 0], [0], [3])


def test_a_key_of_one_category_changes_nothing() -> None:
    codes = np.array([[0, 1], [1, 1], [0, 1]])
    with_constant = np.column_stack([codes, np.zeros(3, dtype=np.int64)])
    assert as_lists(group_keys(with_constant)) == as_lists(group_keys(codes))


def test_no_records_are_no_keys() -> None:
    found = frequencies(np.zeros((0, 3), dtype=np.int64), np.zeros(0), Missing.WILDCARD)
    assert (len(found.f), len(found.weight_sums)) == (0, 0)


@given(few_codes, st.integers(0, 2**32))
def test_frequencies_and_weight_sums_are_those_of_the_records_with_the_same_key(
    codes: np.ndarray, seed: int
) -> None:
    weights = np.random.default_rng(seed).uniform(0.5, 100, len(codes))
    found = frequencies(codes, weights, Missing.CATEGORY)
    same = (codes[:, None, :] == codes[None, :, :]).all(axis=2)
    assert found.f.tolist() == same.sum(axis=1).tolist()
    np.testing.assert_allclose(found.weight_sums, same @ weights, rtol=1e-12)


def test_without_weights_the_file_is_its_own_population() -> None:
    found = frequencies(np.array([[0], [1], [0]]), None, Missing.CATEGORY)
    assert found.weight_sums.tolist() == [2.0, 1.0, 2.0]
    assert found.f.tolist() == [2, 1, 2]


def test_weights_below_one_are_summed_as_they_are() -> None:
    keys = group_keys(np.array([[0], [1], [0]]))
    assert weight_sums(keys, np.array([0.25, 0.5, 0.5])).tolist() == [0.75, 0.5]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros((2, 2)), "integers, not float64"),
        (np.zeros(3, dtype=np.int64), r"shape \(records, keys\), not \(3,\)"),
        (np.zeros((3, 0), dtype=np.int64), "at least one key"),
        (np.zeros((3, 1), dtype=np.uint64), "signed"),
        (np.array([[0, 0], [0, -2]]), "key 1 is not"),
        (np.array([[0, 2**62], [0, 1]]), "key 1 are too large"),
    ],
)
def test_codes_that_are_no_codes_are_rejected(codes: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        group_keys(codes)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, np.nan, 1.0], r"finite and above 0 \(positions 1\)"),
        ([1.0, 1.0, np.inf], r"finite and above 0 \(positions 2\)"),
        ([0.0, 1.0, -1.0], r"finite and above 0 \(positions 0, 2\)"),
        ([1.0, 1.0], "one number a record, of which there are 3"),
        (["1", "2", "3"], "numbers"),
    ],
)
def test_weights_that_are_no_weights_are_rejected(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        frequencies(np.zeros((3, 1), dtype=np.int64), np.array(weights), Missing.CATEGORY)


def test_a_million_records_with_seven_keys_are_grouped_in_a_tenth_of_a_second_of_processor_time() -> None:
    rng = np.random.default_rng(20261121)
    codes = np.column_stack([rng.geometric(0.4, 1_000_000).clip(0, c) for c in (2, 5, 8, 9, 15, 4, 20)]) - 1

    def seconds() -> float:
        started = time.process_time()
        group_keys(codes)
        return time.process_time() - started

    assert min(seconds() for _ in range(4)) < 0.1


def test_numba_is_not_imported_until_keys_are_grouped() -> None:
    code = "import sys, sdcgate.methods.risk.keys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
