"""Cell keys: the same contributors have the same noise, whoever asks and however."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sdcgate.methods.tables.cell_key import (
    SumNoise,
    cell_keys,
    fractions_of_keys,
    keys_for,
    noise_of_counts,
    noisy_sums,
    noisy_weight_sums,
)
from sdcgate.methods.tables.ptable import NoiseParameters, ptable

TABLE = ptable(NoiseParameters(4, 2, 1))
KEYS = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30, unique=True)


def noise_of(keys):
    """The noise of one cell with these units."""
    units = np.array(keys, dtype=np.uint64)
    cell = cell_keys(units, np.zeros(len(units), dtype=np.int64), 1)
    count = np.array([len(set(keys))])
    return noise_of_counts(count, fractions_of_keys(cell), TABLE)[0]


@given(KEYS, st.data())
def test_the_same_contributors_have_the_same_noise_in_any_order_and_however_often_named(keys, data):
    shuffled = data.draw(st.permutations(keys))
    again = shuffled + data.draw(st.lists(st.sampled_from(keys), max_size=5))
    assert noise_of(again) == noise_of(keys)


@given(KEYS)
def test_a_cell_s_key_is_the_sum_of_its_units_keys_modulo_two_to_the_64(keys):
    found = cell_keys(np.array(keys, dtype=np.uint64), np.zeros(len(keys), dtype=np.int64), 2)
    assert found.tolist() == [sum(keys) % 2**64, 0]


@given(st.integers(0, 2**64 - 1))
def test_a_key_s_fraction_is_its_upper_53_bits_and_below_one(key):
    fraction = fractions_of_keys(np.array([key], dtype=np.uint64))[0]
    assert fraction * 2**53 == key >> 11
    assert fraction < 1


@given(arrays.arrays(np.int64, 20, elements=st.integers(0, 10**6)), st.integers(0, 2**32))
def test_noisy_counts_are_never_negative_never_blocked_and_within_the_bound(counts, seed):
    fractions = np.random.default_rng(seed).random(20)
    noise = noise_of_counts(counts, fractions, TABLE)
    assert np.all(np.abs(noise) <= 4)
    assert np.all((counts + noise == 0) | (counts + noise > 1))
    assert np.all(noise[counts == 0] == 0)


def test_noise_occurs_as_often_as_the_table_says():
    fractions = np.random.default_rng(5).random(100_000)
    noise = noise_of_counts(np.full(100_000, 3), fractions, TABLE)
    rows = TABLE.block(3)
    shares = [(noise == change).mean() for change in TABLE.noise[rows]]
    np.testing.assert_allclose(shares, TABLE.probabilities[rows], atol=0.005)


@pytest.mark.parametrize(("count", "fraction"), [(-1, 0.5), (3, 1.0), (3, np.nan)])
def test_what_is_no_count_or_no_key_is_an_error(count, fraction):
    with pytest.raises(ValueError, match="counts must not be negative"):
        noise_of_counts(np.array([count]), np.array([fraction]), TABLE)


def test_a_weighted_count_without_units_stays_as_it_is():
    found = noisy_weight_sums(np.array([0.0, 30.0]), np.array([0, 3]), np.array([0, -3]))
    assert found.tolist() == [0.0, 0.0]


def keyed(number, seed=11):
    return np.random.default_rng(seed).integers(0, 2**64, number, dtype=np.uint64)


LARGEST = np.array([[100.0, 50.0]])


def sums_of(keys, noise, unsafe=False, measure="income"):
    cells = len(keys)
    largest = np.repeat(LARGEST, cells, axis=0)
    return noisy_sums(np.full(cells, 400.0), largest, keys, noise, np.full(cells, unsafe), measure)


def test_sums_get_noise_without_bias_in_proportion_to_the_largest_contributors():
    change = sums_of(keyed(200_000), SumNoise((0.1, 0.05))) - 400
    assert abs(change.mean()) < 0.1
    assert np.std(change) == pytest.approx(np.hypot(0.1 * 100, 0.05 * 50), rel=0.01)
    assert np.abs(change).max() <= 3 * (0.1 * 100 + 0.05 * 50)


def test_the_largest_contributor_of_an_unsafe_cell_always_moves():
    change = sums_of(keyed(50_000), SumNoise((0.05,), unsafe_share=0.2), unsafe=True) - 400
    assert np.abs(change).min() >= 0.2 * 100
    assert abs(np.sign(change).mean()) < 0.02


def test_two_measures_of_the_same_contributors_move_independently():
    keys = keyed(50_000)
    first, second = (sums_of(keys, SumNoise(), measure=name) for name in ("income", "wealth"))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
    np.testing.assert_array_equal(first, sums_of(keys, SumNoise(), measure="income"))


def test_noise_of_sums_tells_nothing_about_the_noise_of_the_count():
    keys = keyed(50_000)
    counts = noise_of_counts(np.full(50_000, 9), fractions_of_keys(keys), TABLE)
    assert abs(np.corrcoef(counts, sums_of(keys, SumNoise()))[0, 1]) < 0.02


@given(st.floats(0, 1e9), st.floats(0, 1), st.integers(0, 2**64 - 1))
def test_a_sum_of_what_is_not_negative_never_becomes_negative(first, share, key):
    largest = np.array([[first, first * share]])
    keys = np.array([key], dtype=np.uint64)
    noise = SumNoise((0.15, 0.1), unsafe_share=0.2)
    assert noisy_sums(largest.sum(axis=1), largest, keys, noise, np.array([True]), "x")[0] >= 0


@pytest.mark.parametrize(
    "values",
    [
        ((),),
        ((0.0,),),
        ((0.1, 0.2),),
        ((0.4,),),
        ((0.3,), 0.2),
        ((0.1,), -0.1),
        ((np.nan,),),
        ((0.1,), np.nan),
    ],
)
def test_noise_of_sums_that_makes_no_sense_is_an_error(values):
    with pytest.raises(ValueError, match="share"):
        SumNoise(*values)


def test_contributions_are_asked_for_as_many_ranks_as_get_noise():
    nothing = np.zeros(1, dtype=np.bool_)
    with pytest.raises(ValueError, match="the 2 largest"):
        noisy_sums(np.ones(1), np.ones((1, 1)), keyed(1), SumNoise((0.1, 0.1)), nothing, "x")
    with pytest.raises(ValueError, match="finite and not negative"):
        noisy_sums(np.ones(1), np.array([[np.nan]]), keyed(1), SumNoise(), nothing, "x")


def test_keys_for_another_use_are_other_keys():
    keys = keyed(1000)
    assert not np.any(keys_for(keys, "a") == keys_for(keys, "b"))
    np.testing.assert_array_equal(keys_for(keys, "a"), keys_for(keys, "a"))
