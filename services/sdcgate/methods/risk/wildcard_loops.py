"""The loops behind `wildcards`: pairs of patterns by hash tables, keys by bitmaps; imported within functions.

Keys have the shape (K, keys), -1 where missing.
"""

import numpy as np
import numpy.typing as npt

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.compiling import compiled
from sdcgate.methods.risk.key_loops import GOLDEN

WORDS = 16
"""64-bit words of a bitmap: it holds a block of 1,024 keys."""
BLOCK = 64 * WORDS
ONE, NIBBLE = np.uint64(1), np.uint64(15)

Bitmaps = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int32]


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
    """Add to each key of a pattern what is compatible in another, and the other way round.

    Goes through a table of the first pattern's keys, projected to the columns that both patterns have: call
    it with the smaller pattern first.
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


@compiled("void(int64[:, ::1], int64[::1], int64[::1], float64[::1], int64[::1], float64[::1])")
def match_patterns(
    codes: IntArray,
    offsets: IntArray,
    counts: IntArray,
    weights: FloatArray,
    f: IntArray,
    weight_sums: FloatArray,
) -> None:
    """Add to each key's f and weight sum those of the compatible keys of other patterns of missing.

    `codes` are distinct keys sorted by pattern, pattern a at offsets[a]:offsets[a + 1], smaller ones last.
    Within a pattern distinct keys are never compatible.
    """
    for a in range(len(offsets) - 1):
        for b in range(a):
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


@compiled("void(int64[:, ::1], int64, int64, int64[::1], int32[::1], uint64[:, ::1])")
def _make_bitmaps(
    codes: IntArray, begin: int, end: int, first: IntArray, place: Places, bitmaps: Bitmaps
) -> None:
    """Bitmaps of the keys at begin:end, one for each code that occurs: who has the code or misses it.

    That of code c of column k is at place[first[k] + c + 1]; for c = -1, and codes that do not occur, it is
    that of who misses the column.
    """
    used = 0
    for key in range(codes.shape[1]):
        missing = used
        place[first[key] : first[key + 1]] = missing
        bitmaps[missing] = 0
        used += 1
        for one in range(begin, end):
            slot = first[key] + codes[one, key] + 1
            if codes[one, key] >= 0 and place[slot] == missing:
                place[slot] = used
                bitmaps[used] = 0
                used += 1
            bitmaps[place[slot], (one - begin) >> 6] |= ONE << np.uint64((one - begin) & 63)
        for at in range(missing + 1, used):
            for word in range(WORDS):
                bitmaps[at, word] |= bitmaps[missing, word]


@compiled("void(int64[::1], float64[::1], int64, int64, int64[:, ::1], float64[:, ::1])")
def _add_up_nibbles(
    counts: IntArray, weights: FloatArray, begin: int, end: int, counted: IntArray, weighed: FloatArray
) -> None:
    """Sums of counts and weights over all subsets of each four keys of a block."""
    counted[:] = 0
    weighed[:] = 0.0
    for one in range(begin, end):
        group, bit = (one - begin) >> 2, 1 << ((one - begin) & 3)
        for subset in range(16):
            if subset & bit:
                counted[group, subset] += counts[one]
                weighed[group, subset] += weights[one]


@compiled("int64(int64[::1], int64, int64[::1], int32[::1], uint64[:, ::1], uint64[::1])")
def _intersect(
    codes: IntArray, size: int, first: IntArray, place: Places, bitmaps: Bitmaps, common: Bitmaps
) -> int:
    """Leave in `common` which of a block's keys, of which there are `size`, are compatible with a key.

    Returns how many bitmaps were intersected until none was left, negative then.
    """
    for word in range(WORDS):
        left = min(max(size - 64 * word, 0), 64)
        common[word] = ~np.uint64(0) if left == 64 else (ONE << np.uint64(left)) - ONE
    taken = 0
    for key in range(len(codes)):
        if codes[key] >= 0:
            at = place[first[key] + codes[key] + 1]
            some = np.uint64(0)
            for word in range(WORDS):
                common[word] &= bitmaps[at, word]
                some |= common[word]
            taken += 1
            if some == 0:
                return -taken
    return taken


@compiled(
    "int64(int64[:, ::1], int64[::1], int64, int64, int64[::1], float64[::1], int64[::1], float64[::1])"
)
def match_by_bitmaps(
    codes: IntArray,
    rows: IntArray,
    begin: int,
    end: int,
    counts: IntArray,
    weights: FloatArray,
    f: IntArray,
    weight_sums: FloatArray,
) -> int:
    """Add to f and weight sum of the keys at `rows` those of all compatible keys at begin:end.

    Codes must count from 0. Returns how many bitmaps were intersected.
    """
    width = codes.shape[1]
    first = np.zeros(width + 1, dtype=np.int64)
    for key in range(width):
        first[key + 1] = first[key] + codes[:, key].max() + 2
    place = np.zeros(first[width], dtype=np.int32)
    bitmaps = np.empty((width * (BLOCK + 1), WORDS), dtype=np.uint64)
    counted = np.empty((BLOCK // 4, 16), dtype=np.int64)
    weighed = np.empty((BLOCK // 4, 16), dtype=np.float64)
    common = np.empty(WORDS, dtype=np.uint64)
    work = 0
    for block in range(begin, end, BLOCK):
        last = min(end, block + BLOCK)
        _make_bitmaps(codes, block, last, first, place, bitmaps)
        _add_up_nibbles(counts, weights, block, last, counted, weighed)
        for row in rows:
            taken = _intersect(codes[row], last - block, first, place, bitmaps, common)
            work += abs(taken)
            if taken >= 0:
                found, weight = 0, 0.0
                for word in range(WORDS):
                    bits, group = common[word], 16 * word
                    while bits != 0:
                        found += counted[group, np.int64(bits & NIBBLE)]
                        weight += weighed[group, np.int64(bits & NIBBLE)]
                        bits >>= np.uint64(4)
                        group += 1
                f[row] += found
                weight_sums[row] += weight
    return work
