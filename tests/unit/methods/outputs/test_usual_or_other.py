"""An outcome that most people have one value of: that value, and all others together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.outputs.implied_tables import units_by_group, usual_or_other


def found(by_value: list[int], units: int) -> list[int]:
    return usual_or_other(np.array(by_value, dtype=np.int64), units).tolist()


def test_all_others_are_taken_together() -> None:
    assert found([90, 3, 4, 3], 100) == [90, 10]


def test_two_values_are_two_classes() -> None:
    assert found([4, 96], 100) == [96, 4]


def test_without_a_usual_value_nobody_stands_apart() -> None:
    assert found([30, 30, 40], 100) == []


def test_one_value_alone_is_one_class() -> None:
    assert found([100], 100) == [100]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=60))
def test_never_more_units_are_said_to_have_another_value_than_have(records: list[tuple[int, int]]) -> None:
    units = np.unique([unit for unit, _ in records], return_inverse=True)[1]
    values = np.unique([value for _, value in records], return_inverse=True)[1]
    by_value = units_by_group(values, int(values.max()) + 1, units)

    said = usual_or_other(by_value, int(units.max()) + 1).tolist()

    if len(said) == 2:
        others = len(np.unique(units[values != by_value.argmax()]))
        assert said[1] <= others
        if by_value.sum() == units.max() + 1:
            assert said[1] == others
