"""Ups and downs to move many quantities in at once, other ones each time."""

import numpy as np

from sdcgate.methods.cells import FloatArray


def directions(count: int, turn: int) -> FloatArray:
    """Ups and downs that differ from turn to turn, the same in every run: 1 or -1, shape (count,)."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64((2 * turn + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.where((mixed >> np.uint64(61)) & np.uint64(1), 1.0, -1.0)
