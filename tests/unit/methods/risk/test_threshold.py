from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.risk import threshold as threshold_module
from sdcgate.methods.risk.keys import Missing
from sdcgate.methods.risk.threshold import (
    Base,
    Combination,
    Identifying,
    combinations_by_class,
    combinations_up_to,
    threshold_rule,
)

CODES = np.array([[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1], [1, 1, 1]])


def test_values_that_too_few_have_are_named_with_their_frequency_the_rarest_first() -> None:
    found = threshold_rule(CODES, [Combination((0, 1), 3), Combination((2,), 2)])
    first, second = found.combinations
    assert (first.cells, first.unsafe_cells, first.unsafe_units) == (3, 3, 5)
    assert first.codes.tolist() == [[0, 0], [0, 1], [1, 1]]
    assert first.frequencies.tolist() == [1, 2, 2]
    assert (second.cells, second.unsafe_cells, second.unsafe_units) == (2, 0, 0)
    assert found.violations.tolist() == [1, 1, 1, 1, 1]
    assert (found.unsafe_cells, found.unsafe_units) == (3, 5)


def test_exactly_the_minimum_is_enough() -> None:
    assert threshold_rule(CODES, [Combination((1,), 1)]).unsafe_cells == 0
    assert threshold_rule(CODES, [Combination((2,), 3)]).combinations[0].codes.tolist() == [[0]]


def test_values_that_nobody_has_are_safe() -> None:
    sparse = np.array([[0, 5], [0, 5]])
    assert threshold_rule(sparse, [Combination((0, 1), 2)]).unsafe_cells == 0


def test_a_minimum_may_mean_the_population() -> None:
    weights = np.array([99.0, 60.0, 60.0, 40.0, 20.0])
    found = threshold_rule(CODES, [Combination((0, 1), 100)], Base.POPULATION, weights)
    assert found.combinations[0].codes.tolist() == [[1, 1], [0, 0]]
    assert found.combinations[0].frequencies.tolist() == [60.0, 99.0]
    assert threshold_rule(CODES, [Combination((0, 1), 100)], Base.SAMPLE, weights).unsafe_cells == 3
    assert threshold_rule(CODES, [Combination((0, 1), 2)], Base.POPULATION).unsafe_cells == 1


def test_missing_is_a_value_like_others_or_agrees_with_all() -> None:
    codes = np.array([[0, 0], [0, -1], [0, 1], [0, 1]])
    pair = [Combination((0, 1), 2)]
    assert threshold_rule(codes, pair).violations.tolist() == [1, 1, 0, 0]
    assert threshold_rule(codes, pair, missing=Missing.WILDCARD).violations.tolist() == [0, 0, 0, 0]
    triple = [Combination((0, 1), 3)]
    found = threshold_rule(codes, triple, missing=Missing.WILDCARD)
    assert found.violations.tolist() == [1, 0, 0, 0]
    assert found.combinations[0].codes.tolist() == [[0, 0]]
    weighted = threshold_rule(codes, triple, Base.POPULATION, np.full(4, 2.0), Missing.WILDCARD)
    assert weighted.unsafe_cells == 0


def test_only_so_many_values_are_named_as_were_asked_for_but_all_are_counted() -> None:
    codes = np.arange(50)[:, None]
    found = threshold_rule(codes, [Combination((0,), 2)], named=3).combinations[0]
    assert (len(found.codes), len(found.frequencies), found.unsafe_cells) == (3, 3, 50)


def test_rare_values_are_hidden_where_findings_are_printed() -> None:
    shown = repr(threshold_rule(np.array([[77]]), [Combination((0,), 2)]))
    assert "codes" not in shown
    assert "unsafe_cells=1" in shown


@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from([0, 1 << 16]))
def test_every_combination_is_counted_as_if_it_were_the_whole_key(
    units: int, keys: int, seed: int, dense: int
) -> None:
    rng = np.random.default_rng(seed)
    codes, weights = rng.integers(-1, 3, (units, keys)), rng.uniform(0.5, 20, units)
    combined = combinations_up_to(keys, [3, 2, 4][:keys])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threshold_module, "_DENSE", dense)
        found = threshold_rule(codes, combined, Base.POPULATION, weights)
    violations = np.zeros(units, dtype=np.int64)
    for combination, one in zip(combined, found.combinations, strict=True):
        part = codes[:, combination.keys]
        same = (part[:, None] == part[None]).all(axis=2)
        unsafe = same @ weights < combination.minimum
        violations += unsafe
        assert one.unsafe_units == unsafe.sum()
        assert {tuple(row) for row in one.codes.tolist()} == {tuple(row) for row in part[unsafe].tolist()}
        assert one.cells == len(np.unique(part, axis=0))
    assert found.violations.tolist() == violations.tolist()


def test_all_combinations_up_to_a_size_have_the_minimum_of_their_size() -> None:
    assert combinations_up_to(3, [50, 25]) == (
        Combination((0,), 50),
        Combination((1,), 50),
        Combination((2,), 50),
        Combination((0, 1), 25),
        Combination((0, 2), 25),
        Combination((1, 2), 25),
    )
    assert len(combinations_up_to(7, [1, 1, 1])) == 63


def test_a_combination_of_classes_takes_different_keys_and_the_more_identifying_stand_for_the_less() -> None:
    region, sex, age, job, diet = (
        Identifying.EXTREMELY,
        Identifying.VERY,
        Identifying.VERY,
        Identifying.YES,
        Identifying.NO,
    )
    triples = combinations_by_class(
        [region, sex, age, job, diet], [Identifying.EXTREMELY, Identifying.VERY, Identifying.YES], 100
    )
    assert {one.keys for one in triples} == {(0, 1, 2), (0, 1, 3), (0, 2, 3)}
    assert {one.minimum for one in triples} == {100}
    pairs = combinations_by_class([Identifying.YES] * 4, [Identifying.YES, Identifying.YES], 1000)
    assert {one.keys for one in pairs} == set(combinations(range(4), 2))


@pytest.mark.parametrize(
    ("combination", "message"),
    [
        (Combination((), 2), "must name different keys, at least one"),
        (Combination((1, 1), 2), "must name different keys"),
        (Combination((0, 3), 2), "must name keys from 0 to 2"),
        (Combination((0,), 0), "must name a minimum of at least 1"),
    ],
)
def test_combinations_that_are_none_are_rejected(combination: Combination, message: str) -> None:
    with pytest.raises(ValueError, match=rf"combinations\[1\] {message}"):
        threshold_rule(CODES, [Combination((0,), 2), combination])


def test_all_triples_of_two_hundred_keys_of_a_large_file_are_refused_at_once() -> None:
    codes = np.zeros((20_000, 200), dtype=np.int8)
    with pytest.raises(ValueError, match="1333300 of them for 20000 units are more than can be looked at"):
        threshold_rule(codes, combinations_up_to(200, [2, 2, 2])[-1_333_300:])


def test_a_file_without_units_has_nothing_rare() -> None:
    found = threshold_rule(np.zeros((0, 2), dtype=np.int64), combinations_up_to(2, [5, 5]))
    assert (found.unsafe_cells, found.unsafe_units) == (0, 0)


def test_codes_below_missing_are_rejected() -> None:
    with pytest.raises(ValueError, match="key 1 is not"):
        threshold_rule(np.array([[0, -2]]), [Combination((1,), 2)])
