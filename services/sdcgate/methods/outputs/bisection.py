"""Where what is possible ends, of many groups at once."""

from collections.abc import Callable

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray

STEPS = 60
"""Halvings: an interval becomes 1e-18 of what it was."""


def last_possible(
    possible: Callable[[FloatArray], BoolArray], inside: FloatArray, outside: FloatArray
) -> FloatArray:
    """The end between a value that is possible and one that is not, on the near side; all shape (groups,)."""
    for _ in range(STEPS):
        middle = (inside + outside) / 2
        there = possible(middle)
        inside, outside = np.where(there, middle, inside), np.where(there, outside, middle)
    return inside
