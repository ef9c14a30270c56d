"""The loop behind `joint_moves`: products of sums with each other. Import it within functions (numba)."""

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.compiling import compiled


@compiled("float64[:, ::1](int64[::1], int64[::1], float64[::1], float64[::1], int64)")
def products(
    starts: IntArray, columns: IntArray, entries: FloatArray, weighted: FloatArray, size: int
) -> FloatArray:
    """Products of each row with those from it on, shape (rows, rows): below the diagonal is nothing.

    Row `r` has the columns `columns[starts[r]:starts[r + 1]]` of `size`; of the later row of two it is the
    `weighted` entries that count, added up as the columns ascend.
    """
    rows = len(starts) - 1
    held = np.zeros(size + 1, dtype=np.int64)
    for entry in range(len(columns)):
        held[columns[entry] + 1] += 1
    for column in range(size):
        held[column + 1] += held[column]
    filled, row_of = held[:-1].copy(), np.empty(len(columns), dtype=np.int64)
    entry_of = np.empty(len(columns), dtype=np.int64)
    for row in range(rows):
        for entry in range(starts[row], starts[row + 1]):
            row_of[filled[columns[entry]]], entry_of[filled[columns[entry]]] = row, entry
            filled[columns[entry]] += 1
    found = np.zeros((rows, rows))
    for column in range(size):
        for first in range(held[column], held[column + 1]):
            for later in range(first, held[column + 1]):
                found[row_of[first], row_of[later]] += weighted[entry_of[later]] * entries[entry_of[first]]
    return found
