"""Boxes of three variables, small enough to write down every joint code."""

from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdcgate.methods.tables.boxes import make_box

FULL = {"age": 0b111, "sex": 0b11, "town": 0b111}
CODES = list(product(range(3), range(2), range(3)))


def box(**masks):
    return make_box(masks.items(), FULL)


def inside(cell):
    """Which joint codes lie in a box, shape (18,)."""
    masks = {**FULL, **dict(cell)}
    return np.array([all(masks[n] >> c & 1 for n, c in zip(FULL, codes, strict=True)) for codes in CODES])


def boxes():
    """Any box."""
    masks = st.fixed_dictionaries({name: st.integers(1, full) for name, full in FULL.items()})
    return masks.map(lambda chosen: box(**chosen))


def bounds(published, secret, floors=(), limits=None):
    """Least and greatest sum of one box, by SciPy over all codes."""
    known = np.array([inside(cell) for cell in published], dtype=float)
    rows = [-inside(cell).astype(float) for cell in floors] + [inside(cell) for cell in limits or {}]
    most = [-1.0] * len(floors) + [*(limits or {}).values()]
    ends = {"A_ub": np.array(rows), "b_ub": most} if rows else {}
    found = [
        linprog(way * inside(secret), A_eq=known, b_eq=list(published.values()), **ends) for way in (1, -1)
    ]
    return found[0].fun, -found[1].fun if found[1].status == 0 else np.inf
