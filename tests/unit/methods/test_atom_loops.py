"""Which atoms lie in boxes, and which in the same, by machine code and by listing them."""

from itertools import product
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.tables.atom_loops import atoms_inside
from sdcgate.methods.tables.joint_system import first_alike
from sdcgate.methods.tables.subtraction_loops import linked

entries = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 7)), max_size=16).map(sorted)
"""Rows and the columns in them."""


@st.composite
def asked(draw):
    """Parts of some variables, and boxes that take in some of them."""
    sizes = draw(st.lists(st.integers(1, 4), max_size=4))
    boxes = draw(
        st.lists(st.tuples(*(st.sets(st.integers(0, size - 1)).map(sorted) for size in sizes)), max_size=5)
    )
    return sizes, boxes


@given(asked())
def test_atoms_of_boxes_are_the_joint_parts_that_each_takes_in(given_boxes):
    sizes, boxes = given_boxes
    lists = [parts for box in boxes for parts in box]
    starts = np.concatenate([[0], np.cumsum([len(parts) for parts in lists])]).astype(np.int64)
    flat = np.array([part for parts in lists for part in parts], dtype=np.int64)
    which = np.arange(len(lists), dtype=np.int64).reshape(len(boxes), len(sizes))
    rows, atoms = atoms_inside(which, starts, flat, np.array(sizes, dtype=np.int64))
    number = np.arange(prod(sizes)).reshape(sizes)
    assert list(zip(rows.tolist(), atoms.tolist(), strict=True)) == [
        (place, int(number[codes])) for place, box in enumerate(boxes) for codes in product(*box)
    ]


def arrays(pairs):
    """The rows and the columns of entries."""
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T.copy()


@given(entries)
def test_atoms_alike_are_those_in_the_same_rows(pairs):
    of_each = [{row for row, atom in pairs if atom == which} for which in range(8)]
    assert first_alike(*arrays(pairs), 8).tolist() == [
        of_each.index(rows) if rows else -1 for rows in of_each
    ]


@given(entries)
def test_columns_are_linked_through_any_number_of_rows(pairs):
    least = list(range(8))
    for _ in range(8):
        for row, column in pairs:
            least[column] = min(least[other] for among, other in pairs if among == row)
        least = [least[column] for column in least]
    assert linked(*arrays(pairs), 6, 8).tolist() == least
