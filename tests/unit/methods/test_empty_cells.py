"""Empty cells beside few units are withheld with them, and all that they are made of."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.cells import Axis, additive_relations
from sdcgate.methods.tables.empty_cells import empty_beside_few


def table(inner: np.ndarray) -> tuple[tuple[Axis, ...], np.ndarray]:
    """Axes and cells with totals last."""
    names = "abc"[: inner.ndim]
    axes = []
    for name, size in zip(names, inner.shape, strict=True):
        codes = (*map(str, range(size)), "_T")
        axes.append(Axis(name, name, codes, (*[size] * size, -1)))
    for position in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=position, keepdims=True)], axis=position)
    return tuple(axes), inner.reshape(-1)


def test_where_four_people_of_a_trade_live_is_not_told_by_the_other_towns():
    axes, counts = table(np.array([[41, 4], [44, 0], [36, 0]]))
    chosen = empty_beside_few(axes, counts, counts, 10).reshape(4, 3)
    assert np.argwhere(chosen).tolist() == [[1, 1], [2, 1]]


def test_an_empty_cell_among_many_units_is_left():
    axes, counts = table(np.array([[41, 12], [44, 0]]))
    assert not empty_beside_few(axes, counts, counts, 10).any()


@given(st.lists(st.integers(0, 6), min_size=12, max_size=12), st.integers(1, 15))
def test_no_chosen_cell_is_a_sum_of_cells_that_are_shown(numbers, minimum):
    axes, counts = table(np.array(numbers).reshape(2, 3, 2))
    chosen = empty_beside_few(axes, counts, counts, minimum)
    few = (counts > 0) & (counts < minimum)
    assert not (chosen & (counts > 0)).any()
    relations = additive_relations(axes)
    for row, parent in enumerate(relations.parents):
        if few[parent] or chosen[parent]:
            parts = relations.parts(row)
            assert (chosen | few)[parts].all()
