"""The loop behind `joint_reduction.subtracted`. Import it within functions (numba)."""

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.compiling import compiled


@compiled("UniTuple(int64[::1], 2)(int64[::1], int64[::1], int64[::1], int64)")
def holders(starts: IntArray, entries: IntArray, order: IntArray, columns: int) -> tuple[IntArray, IntArray]:
    """For each column the places in the order of the rows that have it, ascending.

    Returns where each column's begin, shape (columns + 1,), and all of them, one column after the other.
    """
    held = np.zeros(columns + 1, dtype=np.int64)
    for entry in range(len(entries)):
        held[entries[entry] + 1] += 1
    for column in range(columns):
        held[column + 1] += held[column]
    holding, filled = np.empty(len(entries), dtype=np.int64), held[:-1].copy()
    for place in range(len(order)):
        for entry in range(starts[order[place]], starts[order[place] + 1]):
            holding[filled[entries[entry]]] = place
            filled[entries[entry]] += 1
    return held, holding


@compiled(
    "Tuple((int64[::1], int64[::1], boolean[::1]))(int64[::1], int64[::1], int64[::1], int64[::1], int64)"
)
def subtract_all(
    starts: IntArray, entries: IntArray, order: IntArray, kinds: IntArray, columns: int
) -> tuple[IntArray, IntArray, BoolArray]:
    """From each row take others that lie within it, apart from each other, the first ones in an order first.

    Row `r` has the columns `entries[starts[r]:starts[r + 1]]`, ascending; `order` names the rows, large ones
    first. A row is taken from those of its kind before it in the order only. Returns the rows that lost
    something, what each lost, and which entries are left.
    """
    rows = len(starts) - 1
    rank = np.empty(rows, dtype=np.int64)
    rank[order] = np.arange(rows)
    held, holding = holders(starts, entries, order, columns)
    lost, less = np.empty(len(entries), dtype=np.int64), np.empty(len(entries), dtype=np.int64)
    left, found = np.ones(len(entries), dtype=np.bool_), 0
    inside = np.zeros(columns, dtype=np.int64)
    for row in range(rows):
        for entry in range(starts[row], starts[row + 1]):
            inside[entries[entry]] = row + 1
        for entry in range(starts[row], starts[row + 1]):
            column = entries[entry]
            if inside[column] != row + 1:
                left[entry] = False
                continue
            for at in range(held[column], held[column + 1]):
                if holding[at] <= rank[row]:
                    continue
                other = order[holding[at]]
                whole = kinds[other] == kinds[row]
                if whole:
                    for part in range(starts[other], starts[other + 1]):
                        if inside[entries[part]] != row + 1:
                            whole = False
                            break
                if whole:
                    for part in range(starts[other], starts[other + 1]):
                        inside[entries[part]] = 0
                    lost[found], less[found] = row, other
                    found += 1
                    left[entry] = False
                    break
    return lost[:found].copy(), less[:found].copy(), left
