"""The loops behind `special_uniques`: who is alone on some variables. Import it within functions (numba)."""

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.compiling import compiled
from sdcgate.methods.risk.key_loops import GOLDEN


@compiled("boolean[::1](int64[:, ::1], int64[::1], int64[::1], boolean[::1], int64)")
def alone(
    codes: IntArray, counts: IntArray, strides: IntArray, settled: BoolArray, product: int
) -> BoolArray:
    """Distinct keys that one record alone has on a subset, among those that are not settled.

    `codes` (variables, keys), `counts` records of each key, `strides` of the subset's combinations (0 for
    variables outside), which number 0 to product - 1. Keys that are settled, being unique on less, agree with
    no other and are left out. Counts stop at 2; they lie in an array where it is small, else in a hash table.
    """
    variables, keys = codes.shape
    numbers = np.empty(keys, dtype=np.int64)
    active = 0
    for key in range(keys):
        if not settled[key]:
            number = 0
            for variable in range(variables):
                number += codes[variable, key] * strides[variable]
            numbers[key] = number
            active += 1
    found = np.zeros(keys, dtype=np.bool_)
    if product <= 4 * keys + 4096:
        seen = np.zeros(product, dtype=np.uint8)
        for key in range(keys):
            if not settled[key]:
                seen[numbers[key]] = min(2, seen[numbers[key]] + min(2, counts[key]))
        for key in range(keys):
            found[key] = not settled[key] and seen[numbers[key]] == 1
        return found
    bits = 4
    while (1 << bits) < 2 * active:
        bits += 1
    mask = (1 << bits) - 1
    slots = np.full(1 << bits, -1, dtype=np.int64)
    taken = np.zeros(1 << bits, dtype=np.uint8)
    places = np.empty(keys, dtype=np.int64)
    for key in range(keys):
        if settled[key]:
            continue
        number = numbers[key]
        slot = np.int64((np.uint64(number) * GOLDEN) >> np.uint64(64 - bits))
        while slots[slot] != -1 and slots[slot] != number:
            slot = (slot + 1) & mask
        slots[slot] = number
        taken[slot] = min(2, taken[slot] + min(2, counts[key]))
        places[key] = slot
    for key in range(keys):
        found[key] = not settled[key] and taken[places[key]] == 1
    return found
