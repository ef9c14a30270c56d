"""Boxes of three variables, small enough to write down every joint code."""

from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from sdcgate.methods.tables.boxes import make_box
from sdcgate.methods.tables.told_shares import Share

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


def with_factors(one):
    """By what each joint code is multiplied in a sum of boxes with factors, shape (18,)."""
    return np.array(sum(factor * inside(cell) for cell, factor in one.parts), dtype=float)


def whole_bounds(published, secret, floors=(), combined=()):
    """Least and greatest sum of one box in whole numbers, by SciPy over all codes."""
    rows = [*map(inside, published), *map(inside, floors), *map(with_factors, combined)]
    least = [*published.values(), *(1 for _ in floors), *(one.total - one.room - 1e-6 for one in combined)]
    most = [
        *published.values(),
        *(np.inf for _ in floors),
        *(one.total + one.room + 1e-6 for one in combined),
    ]
    known = LinearConstraint(np.array(rows, dtype=float), least, most)
    whole = {"integrality": np.ones(len(CODES)), "bounds": Bounds(0, np.inf)}
    found = [milp(way * inside(secret).astype(float), constraints=known, **whole) for way in (1, -1)]
    assert all(one.status == 0 for one in found)
    return round(found[0].fun), -round(found[1].fun)


def bounds(published, secret, floors=(), limits=None, combined=()):
    """Least and greatest sum of one box, by SciPy over all codes."""
    known = np.array([inside(cell) for cell in published], dtype=float)
    rows = [-inside(cell).astype(float) for cell in floors] + [inside(cell) for cell in limits or {}]
    most = [-1.0] * len(floors) + [*(limits or {}).values()]
    rows += [way * with_factors(one) for one in combined for way in (1, -1)]
    most += [way * one.total + one.room for one in combined for way in (1, -1)]
    ends = {"A_ub": np.array(rows), "b_ub": most} if rows else {}
    found = [
        linprog(way * inside(secret), A_eq=known, b_eq=list(published.values()), **ends) for way in (1, -1)
    ]
    return found[0].fun, -found[1].fun if found[1].status == 0 else np.inf


def ratios(pairs, numerators, denominators, half=1e-12, aside=0.0):
    """Shares, or means, of the boxes that have any, told up to half a unit of their last digit.

    What is true lies in the middle of what rounding leaves, or `aside` of it by that share of a half.
    """
    for part, whole in pairs:
        count = int(denominators @ inside(whole))
        if count:
            value = numerators @ inside(part) / count
            yield Share(part, whole, value - half * (1.0 + aside), value + half * (1.0 - aside), count)
