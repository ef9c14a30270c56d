"""The loops behind `joint_reduction`: sums less others, and which columns these link.

Import it within functions (numba).
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.compiling import compiled


@compiled("UniTuple(int64[::1], 2)(int64[::1], int64[::1], int64[::1], int64)")
def begun_by(starts: IntArray, entries: IntArray, order: IntArray, columns: int) -> tuple[IntArray, IntArray]:
    """For each column the places in the order of the rows that begin with it, ascending.

    Returns where each column's begin, shape (columns + 1,), and all of them, one column after the other.
    """
    first = np.zeros(columns + 1, dtype=np.int64)
    for row in range(len(order)):
        if starts[row] < starts[row + 1]:
            first[entries[starts[row]] + 1] += 1
    for column in range(columns):
        first[column + 1] += first[column]
    places, filled = np.empty(first[columns], dtype=np.int64), first[:-1].copy()
    for place in range(len(order)):
        row = order[place]
        if starts[row] < starts[row + 1]:
            places[filled[entries[starts[row]]]] = place
            filled[entries[starts[row]]] += 1
    return first, places


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
    # A row that lies within what is left of another begins with a column that all others have passed by.
    first, places = begun_by(starts, entries, order, columns)
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
            for at in range(first[column], first[column + 1]):
                if places[at] <= rank[row]:
                    continue
                other = order[places[at]]
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


@compiled("int64[::1](int64[::1], int64[::1], int64, int64)")
def linked(rows: IntArray, columns: IntArray, row_count: int, column_count: int) -> IntArray:
    """For each column the least one that it is linked with through rows: `columns[k]` is in `rows[k]`."""
    least, one = np.arange(column_count), np.full(row_count, -1, dtype=np.int64)
    for entry in range(len(rows)):
        column = columns[entry]
        while least[column] != column:
            least[column] = least[least[column]]
            column = least[column]
        other = one[rows[entry]]
        while other >= 0 and least[other] != other:
            least[other] = least[least[other]]
            other = least[other]
        if other < 0:
            other = column
        # The lesser of the two stands for both.
        least[max(column, other)] = min(column, other)
        one[rows[entry]] = min(column, other)
    for column in range(column_count):
        least[column] = least[least[column]]
    return least
