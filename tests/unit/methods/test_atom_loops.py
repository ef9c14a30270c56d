"""Which atoms lie in boxes, by machine code and by listing them."""

from itertools import product
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.tables.atom_loops import atoms_inside


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
