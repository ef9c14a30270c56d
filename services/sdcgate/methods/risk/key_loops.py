"""The loops behind `keys` and `wildcards`: grouping by hash tables. Import it within functions (numba)."""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
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


@compiled("boolean(int64[::1], int64[::1], boolean[::1])")
def _equal_where(one: IntArray, other: IntArray, seen: BoolArray) -> bool:
    """Whether two keys agree in the columns that are seen."""
    key = 0
    while key < len(one) and (one[key] == other[key] or not seen[key]):
        key += 1
    return key == len(one)


@compiled("uint64(int64[::1], boolean[::1])")
def _hash_where(codes: IntArray, seen: BoolArray) -> np.uint64:
    """A hash of a key's codes in the columns that are seen."""
    value = np.uint64(0)
    for key in range(len(codes)):
        if seen[key]:
            value = (value ^ np.uint64(codes[key])) * GOLDEN
            value ^= value >> np.uint64(29)
    return value * GOLDEN


@compiled(
    "void(int64[:, ::1], int64, int64, int64, int64, int64[::1], float64[::1], int64[::1], float64[::1])"
)
def _match_directly(
    codes: IntArray,
    begin: int,
    end: int,
    other_begin: int,
    other_end: int,
    counts: IntArray,
    weights: FloatArray,
    f: IntArray,
    weight_sums: FloatArray,
) -> None:
    """Compare each key of a pattern with each of another, and add what is compatible to both."""
    width = codes.shape[1]
    for one in range(begin, end):
        for other in range(other_begin, other_end):
            key = 0
            while key < width and (
                codes[one, key] == codes[other, key] or codes[one, key] < 0 or codes[other, key] < 0
            ):
                key += 1
            if key == width:
                f[one] += counts[other]
                f[other] += counts[one]
                weight_sums[one] += weights[other]
                weight_sums[other] += weights[one]


@compiled(
    "void(int64[:, ::1], int64, int64, int64, int64, int64[::1], float64[::1], int64[::1], float64[::1])"
)
def _match_by_projection(
    codes: IntArray,
    begin: int,
    end: int,
    other_begin: int,
    other_end: int,
    counts: IntArray,
    weights: FloatArray,
    f: IntArray,
    weight_sums: FloatArray,
) -> None:
    """The same through a table of the first pattern's keys, projected to the columns that both patterns have.

    Call it with the smaller pattern first: its keys make the table.
    """
    seen = np.empty(codes.shape[1], dtype=np.bool_)
    for key in range(len(seen)):
        seen[key] = codes[begin, key] >= 0 and codes[other_begin, key] >= 0
    bits = 4
    while (1 << bits) < 2 * (end - begin):
        bits += 1
    mask = (1 << bits) - 1
    shift = np.uint64(64 - bits)
    holder = np.full(1 << bits, -1, dtype=np.int64)
    slots = np.empty(end - begin, dtype=np.int64)
    counted = np.zeros((1 << bits, 2), dtype=np.int64)
    weighed = np.zeros((1 << bits, 2), dtype=np.float64)
    for one in range(begin, end):
        slot = np.int64(_hash_where(codes[one], seen) >> shift)
        while holder[slot] >= 0 and not _equal_where(codes[holder[slot]], codes[one], seen):
            slot = (slot + 1) & mask
        holder[slot] = one
        slots[one - begin] = slot
        counted[slot, 0] += counts[one]
        weighed[slot, 0] += weights[one]
    for other in range(other_begin, other_end):
        slot = np.int64(_hash_where(codes[other], seen) >> shift)
        while holder[slot] >= 0 and not _equal_where(codes[holder[slot]], codes[other], seen):
            slot = (slot + 1) & mask
        if holder[slot] >= 0:
            f[other] += counted[slot, 0]
            weight_sums[other] += weighed[slot, 0]
            counted[slot, 1] += counts[other]
            weighed[slot, 1] += weights[other]
    for one in range(begin, end):
        f[one] += counted[slots[one - begin], 1]
        weight_sums[one] += weighed[slots[one - begin], 1]


@compiled("void(int64[:, ::1], int64[::1], int64, int64[::1], float64[::1], int64[::1], float64[::1])")
def match_patterns(
    codes: IntArray,
    offsets: IntArray,
    projecting: int,
    counts: IntArray,
    weights: FloatArray,
    f: IntArray,
    weight_sums: FloatArray,
) -> None:
    """Add to each key's f and weight sum those of the compatible keys of all other patterns of missing.

    `codes` (K, keys) are distinct keys sorted by pattern, pattern a at offsets[a]:offsets[a + 1]. A pair of
    patterns with s and t keys is compared directly where s t <= projecting (s + t), else by projection.
    Within a pattern distinct keys are never compatible.
    """
    for a in range(len(offsets) - 1):
        for b in range(a + 1, len(offsets) - 1):
            s = offsets[a + 1] - offsets[a]
            t = offsets[b + 1] - offsets[b]
            if s * t <= projecting * (s + t):
                _match_directly(
                    codes,
                    offsets[a],
                    offsets[a + 1],
                    offsets[b],
                    offsets[b + 1],
                    counts,
                    weights,
                    f,
                    weight_sums,
                )
            elif s <= t:
                _match_by_projection(
                    codes,
                    offsets[a],
                    offsets[a + 1],
                    offsets[b],
                    offsets[b + 1],
                    counts,
                    weights,
                    f,
                    weight_sums,
                )
            else:
                _match_by_projection(
                    codes,
                    offsets[b],
                    offsets[b + 1],
                    offsets[a],
                    offsets[a + 1],
                    counts,
                    weights,
                    f,
                    weight_sums,
                )
