"""The loop behind `keys`: grouping by a hash table. Import it within functions (numba)."""

import numpy as np

from sdcgate.methods.cells import IntArray
from sdcgate.methods.compiling import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: the high bits of a product with it spread neighbouring numbers (Knuth, 6.4)."""


@compiled("UniTuple(int64[::1], 2)(int64[::1])")
def group_in_place(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Replace each number by the position of its group; groups stand in order of first appearance.

    Returns the first place of each group's number and how often it stands there. Open addressing with linear
    probing; a row of the table is (number, group + 1), 0 where free, at most half of them taken.
    """
    bits = 10
    table = np.zeros((1 << bits, 2), dtype=np.int64)
    first = np.empty(1 << (bits - 1), dtype=np.int64)
    counts = np.empty(1 << (bits - 1), dtype=np.int64)
    groups = 0
    for place in range(len(numbers)):
        number = numbers[place]
        mask = (1 << bits) - 1
        slot = np.int64((np.uint64(number) * GOLDEN) >> np.uint64(64 - bits))
        while table[slot, 1] != 0 and table[slot, 0] != number:
            slot = (slot + 1) & mask
        found = table[slot, 1] - 1
        if found >= 0:
            counts[found] += 1
            numbers[place] = found
            continue
        table[slot, 0] = number
        table[slot, 1] = groups + 1
        first[groups] = place
        counts[groups] = 1
        numbers[place] = groups
        groups += 1
        if groups == len(first):
            bits += 1
            larger = np.zeros((1 << bits, 2), dtype=np.int64)
            mask = (1 << bits) - 1
            for row in range(len(table)):
                if table[row, 1] != 0:
                    slot = np.int64((np.uint64(table[row, 0]) * GOLDEN) >> np.uint64(64 - bits))
                    while larger[slot, 1] != 0:
                        slot = (slot + 1) & mask
                    larger[slot, 0] = table[row, 0]
                    larger[slot, 1] = table[row, 1]
            table = larger
            room = np.empty(2 * groups, dtype=np.int64)
            room[:groups] = first
            first = room
            room = np.empty(2 * groups, dtype=np.int64)
            room[:groups] = counts
            counts = room
    return first[:groups].copy(), counts[:groups].copy()
