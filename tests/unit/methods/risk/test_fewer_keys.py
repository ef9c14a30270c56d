"""A key of too many columns has an estimate by some of them, which says that it is too low, and is."""

import numpy as np
import pytest

from sdcgate.methods.risk.fewer_keys import fewer_keys, recommend_by_fewer
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.microdata import KeyVariable, Microdata, by_units
from sdcgate.methods.risk.recommendation import recommend


def file_of(codes, **given):
    keys = tuple(KeyVariable(f"key{place}") for place in range(codes.shape[1]))
    return by_units(Microdata(keys, codes, **given))


def correlated(count, rng):
    """People whose twelve variables hang on a hidden class: 5^12 possible keys."""
    hidden = rng.integers(0, 4, count)
    return np.column_stack([(hidden + rng.binomial(3, 0.25, count)) % 5 for _ in range(12)])


def test_the_estimate_is_below_the_truth_of_the_whole_key_and_its_interval_reaches_it():
    rng = np.random.default_rng(1)
    people = correlated(60_000, rng)
    chosen = rng.random(len(people)) < 0.05
    keys, own = group_keys(people), group_keys(people[chosen])
    true = (1 / keys.counts[keys.group][chosen][own.first][own.counts == 1]).sum()
    found = recommend_by_fewer(file_of(people[chosen], fraction=0.05), 20_000)
    assert 0 < found.tau_2 < true
    assert found.interval[0] <= true <= found.interval[1] == found.sample_uniques
    assert found.sample_uniques == (own.counts == 1).sum()
    assert found.doubtful
    assert "by 6 columns of 12 alone: key" in found.says
    assert "Fewer keys make the estimate too low" in found.says
    assert f"at most {found.sample_uniques:,}." in found.says
    assert "treat the upper end" not in found.says


def test_it_is_the_recommended_estimate_of_the_columns_that_were_chosen():
    rng = np.random.default_rng(2)
    units = file_of(correlated(3000, rng), fraction=0.05)
    chosen = fewer_keys(units, 20_000)
    plain = recommend(units.codes[:, chosen.columns], fraction=0.05)
    found = recommend_by_fewer(units, 20_000)
    assert found.tau_2 == pytest.approx(plain.tau_2)
    assert found.interval[0] == pytest.approx(plain.interval[0])


def test_columns_that_tell_most_for_the_keys_that_they_span_come_first():
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 10, 5000), rng.integers(0, 10, 5000)
    rare = (rng.random(5000) < 0.01) * rng.integers(0, 10, 5000)
    codes = np.column_stack([rare, first, first, second, np.zeros(5000, dtype=np.int64)])
    assert fewer_keys(file_of(codes, fraction=0.1), 100).columns == (1, 3)
    assert fewer_keys(file_of(codes, fraction=0.1), 10**6).columns == (0, 1, 3)


def test_a_panel_is_taken_by_some_waves_and_by_their_number():
    rng = np.random.default_rng(4)
    people, waves = np.repeat(np.arange(2000), 5), np.tile(np.arange(5), 2000)
    there = waves < rng.integers(1, 6, 2000)[people]
    age = rng.integers(0, 60, 2000)[people] + waves
    told = rng.binomial(3, 0.2, len(people))
    file = Microdata(
        (KeyVariable("age"), KeyVariable("health")),
        np.column_stack([age, told])[there],
        fraction=0.1,
        units=people[there],
        waves=waves[there],
    )
    units = by_units(file)
    chosen = fewer_keys(units, 2000)
    assert chosen.waves
    assert np.array_equal(np.bincount(chosen.codes[:, -1]), np.bincount(units_waves(people, there) - 1))
    assert "the number of waves" in recommend_by_fewer(units, 2000).says


def units_waves(people, there):
    return np.bincount(people[there])


def test_where_no_column_is_small_enough_there_is_no_estimate():
    codes = np.arange(300).reshape(100, 3)
    with pytest.raises(ValueError, match="no key variable has at most 50 categories"):
        recommend_by_fewer(file_of(codes, fraction=0.1), 50)
    with pytest.raises(ValueError, match="weights"):
        recommend_by_fewer(file_of(codes), 1000)
