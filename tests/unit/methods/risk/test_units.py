import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.risk import units as units_module
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.units import level_of_units, order_within_units, reduce_to_units


def test_records_of_a_unit_become_one_and_its_weight_counts_once() -> None:
    found = reduce_to_units(
        np.array([[0, 1], [1, 2], [0, 1], [0, 1]]),
        np.array([20.0, 30.0, 20.0, 20.0]),
        units=np.array([71, -4, 71, 9]),
    )
    assert found.codes.tolist() == [[0, 1], [1, 2], [0, 1]]
    assert found.columns == ((0, None), (1, None))
    assert found.weights is not None
    assert found.weights.tolist() == [20.0, 30.0, 20.0]
    assert (found.unit.tolist(), found.first.tolist(), found.records.tolist()) == (
        [0, 1, 0, 2],
        [0, 1, 3],
        [2, 1, 1],
    )


def test_a_panels_key_is_the_vector_over_the_waves_and_a_wave_without_a_record_is_missing() -> None:
    found = reduce_to_units(
        np.array([[1, 5], [1, 6], [0, 5], [1, 5]]),
        None,
        units=np.array([1, 1, 2, 3]),
        waves=np.array([2001, 2002, 2002, 2001]),
    )
    assert found.columns == ((0, None), (1, 2001), (1, 2002))
    assert found.codes.tolist() == [[1, 5, 6], [0, -1, 5], [1, 5, -1]]


def test_people_alike_in_every_single_wave_are_told_apart_by_their_histories() -> None:
    # Sick in one of two years, each year one of each pair: every record has a double, no unit has one.
    codes = np.array([[0], [1], [1], [0], [0], [0], [1], [1]])
    people, years = np.repeat(np.arange(4), 2), np.tile([1, 2], 4)
    assert (group_keys(np.column_stack([codes, years])).counts == 2).all()
    assert (group_keys(reduce_to_units(codes, None, people, years).codes).counts == 1).all()


def test_keys_that_vary_need_waves() -> None:
    with pytest.raises(ValueError, match=r"keys \[1\] vary within units: tell the wave"):
        reduce_to_units(np.array([[0, 1], [0, 2]]), None, units=np.array([5, 5]))


def test_a_missing_value_in_one_of_two_waves_is_a_change() -> None:
    found = reduce_to_units(np.array([[3], [-1]]), None, np.array([5, 5]), np.array([0, 1]))
    assert found.codes.tolist() == [[3, -1]]


def test_two_records_of_a_unit_in_a_wave_are_an_error_that_names_the_records() -> None:
    with pytest.raises(ValueError, match=r"several records in a wave, tell them apart \(positions 0, 2\)"):
        reduce_to_units(np.array([[0], [1], [1]]), None, np.array([5, 6, 5]), np.array([1, 1, 1]))


def test_visits_without_waves_are_numbered_in_the_order_in_which_they_stand() -> None:
    units = np.array([7, 3, 7, 7, 3])
    assert order_within_units(units).tolist() == [0, 0, 1, 2, 1]
    found = reduce_to_units(np.array([[1], [2], [3], [4], [5]]), None, units, order_within_units(units))
    assert found.codes.tolist() == [[1, 3, 4], [2, 5, -1]]


def test_of_weights_that_vary_the_smallest_is_taken() -> None:
    found = reduce_to_units(np.zeros((3, 1), dtype=np.int64), np.array([9.0, 4.0, 7.0]), np.array([1, 1, 2]))
    assert found.weights is not None
    assert found.weights.tolist() == [4.0, 7.0]


def test_vectors_that_would_not_fit_are_refused_before_they_are_made() -> None:
    visits = 20_000
    units = np.concatenate([np.zeros(visits, dtype=np.int64), np.arange(1, visits)])
    codes = np.arange(len(units))[:, None] % 3
    with pytest.raises(ValueError, match=r"vectors of all units would have 4e\+08 codes"):
        reduce_to_units(codes, None, units, order_within_units(units))
    assert units_module.LARGEST_VECTORS == 1e8


def test_households_are_units_of_a_further_level() -> None:
    people = reduce_to_units(
        np.array([[0], [1], [1], [2]]), np.array([5.0, 6.0, 6.0, 7.0]), np.array([10, 11, 11, 12])
    )
    household = level_of_units(people, np.array([900, 800, 800, 900]))
    assert household.tolist() == [0, 1, 0]
    households = reduce_to_units(np.array([[4], [4], [4]]), people.weights, household)
    assert households.records.tolist() == [2, 1]


def test_a_unit_of_two_households_is_an_error_that_names_the_unit() -> None:
    people = reduce_to_units(np.zeros((3, 1), dtype=np.int64), None, np.array([10, 11, 11]))
    with pytest.raises(ValueError, match=r"belong to several, tell one for each unit \(positions 1\)"):
        level_of_units(people, np.array([1, 1, 2]))


def test_ids_are_any_integers_of_64_bits() -> None:
    units = np.array([2**64 - 1, 0, 2**63, 2**64 - 1], dtype=np.uint64)
    assert reduce_to_units(np.array([[0], [0], [0], [0]]), None, units).records.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    "units", [np.array([1.0, 2.0]), np.array([1]), np.array([[1, 2]]), np.array(["a", "b"])]
)
def test_ids_that_are_not_one_integer_a_record_are_rejected(units: np.ndarray) -> None:
    with pytest.raises(ValueError, match="units must be one integer for each of the 2 records"):
        reduce_to_units(np.array([[0], [1]]), None, units)


def test_a_file_without_records_has_no_units() -> None:
    empty = np.zeros(0, dtype=np.int64)
    found = reduce_to_units(np.zeros((0, 2), dtype=np.int64), np.zeros(0), empty, empty)
    assert (len(found), found.codes.shape) == (0, (0, 2))


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 2**32))
def test_the_vector_of_a_unit_holds_exactly_what_its_records_tell(records: int, keys: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = rng.permutation([(unit, wave) for unit in range(20) for wave in range(4)])[:records]
    codes = rng.integers(-1, 3, (len(pairs), keys))
    found = reduce_to_units(codes, None, pairs[:, 0], pairs[:, 1])
    told = {
        (int(unit), int(wave), key): int(codes[record, key])
        for record, (unit, wave) in enumerate(pairs)
        for key in range(keys)
    }
    for position, first in enumerate(found.first):
        unit = int(pairs[first, 0])
        for column, (key, wave) in enumerate(found.columns):
            waves = {w for u, w, k in told if (u, k) == (unit, key)} if wave is None else {wave}
            values = {told.get((unit, w, key), -1) for w in waves}
            assert values == {int(found.codes[position, column])}


@given(st.integers(0, 100), st.integers(0, 2**32))
def test_one_record_a_unit_leaves_the_file_as_it_is(records: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes, weights = rng.integers(-1, 5, (records, 3)), rng.uniform(1, 9, records)
    found = reduce_to_units(codes, weights, rng.permutation(records))
    assert found.codes.tolist() == codes.tolist()
    assert found.weights is not None
    assert found.weights.tolist() == weights.tolist()
