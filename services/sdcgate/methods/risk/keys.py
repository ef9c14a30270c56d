"""Keys: the combinations of identifying variables that stand in a file, and how many records have each.

A key k is one combination of values of the identifying variables; f_k is its frequency in the sample and the
sum of its records' weights estimates its frequency F_k in the population (Handbook on Statistical Disclosure
Control, 3.3.3 and eq. 3.3). Everything that measures risk on categorical variables begins here.

Codes have the shape (records, keys): column j holds 0 to c_j - 1, and -1 where the value is missing.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.positions import at_positions

_BLOCK = 1 << 15
"""Records that are packed at once: their codes stay in the processor's cache."""
_LARGEST = 1 << 62


class Missing(Enum):
    """What a missing value of a key variable is."""

    CATEGORY = "category"
    """A value like others: who lacks it is alike to those who lack it too."""
    WILDCARD = "wildcard"
    """Anything: it agrees with every value, as an intruder must allow for."""


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """Records grouped by their key; keys stand in the order in which they first appear."""

    group: IntArray
    """Position of each record's key, shape (records,)."""
    first: IntArray
    """The first record that has the key, shape (K,)."""
    counts: IntArray
    """Frequency f_k, shape (K,)."""

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """How common each record's key is."""

    f: IntArray
    """Records of the sample with the record's key, itself among them, shape (records,)."""
    weight_sums: FloatArray
    """Sum of their weights, the estimate of F_k; f itself where there are no weights, shape (records,)."""


def group_keys(codes: IntArray) -> Keys:
    """Records grouped by their whole key; missing (-1) is a category.

    `codes` has the shape (records, keys) and any integer type; beside it memory is about 16 bytes a record,
    80 a distinct key, however many keys there are. Raises ValueError where shape, type or a code is wrong.
    """
    from sdcgate.methods.risk.key_loops import group_in_place

    columns = checked_codes(codes)
    numbers = _packed(columns)
    first, counts = group_in_place(numbers)
    return Keys(numbers, first, counts)


def weight_sums(keys: Keys, weights: FloatArray | None) -> FloatArray:
    """Sum of the weights of each key's records, the estimate of F_k (Handbook, eq. 3.3), shape (K,).

    Without weights it is f_k: the file is its own population. `weights` (records,) must be finite and above
    0. A sum below f_k stays as it is: who makes a probability of it caps it at 1, a census. Raises ValueError
    where the weights are wrong.
    """
    if weights is None:
        return keys.counts.astype(np.float64)
    sums = np.bincount(keys.group, checked_weights(weights, len(keys.group)), len(keys))
    return np.asarray(sums, dtype=np.float64)


def frequencies(codes: IntArray, weights: FloatArray | None, missing: Missing) -> Frequencies:
    """How common each record's key is in the sample, and by its weights in the population.

    With `Missing.WILDCARD` records agree where their values are equal or one of them is missing; f and the
    weight sum run over all records that agree with the record: sdcMicro's freqCalc with alpha = 1. f is then
    no longer the size of a group: two records may agree with a third and not with each other.

    `codes` (records, keys), `weights` (records,) finite and above 0, or None. Raises ValueError where they
    are wrong, and where wildcards would take minutes (see `wildcards.LARGEST_WORK`).
    """
    keys = group_keys(codes)
    sums = weight_sums(keys, weights)
    f = keys.counts
    if missing is Missing.WILDCARD:
        from sdcgate.methods.risk.wildcards import compatible_frequencies

        f, sums = compatible_frequencies(np.asarray(codes)[keys.first], keys.counts, sums)
    return Frequencies(f[keys.group], sums[keys.group])


def warm_up() -> None:
    """Load the compiled loops: call before a service says that it is ready to group keys."""
    group_keys(np.zeros((1, 1), dtype=np.int64))


def checked_codes(codes: IntArray) -> IntArray:
    """The codes as an array, whatever their integer type. Raises ValueError where they are no keys."""
    columns = np.asarray(codes)
    if columns.dtype.kind not in "iu":
        raise ValueError(f"codes must be integers, not {columns.dtype}: number the values of each key from 0")
    if columns.ndim != 2:
        raise ValueError(f"codes must have the shape (records, keys), not {columns.shape}")
    if columns.shape[1] == 0:
        raise ValueError("codes must have at least one key")
    if columns.dtype == np.uint64:
        raise ValueError("codes must be signed integers: -1 is missing")
    return columns


def checked_weights(weights: FloatArray, records: int) -> FloatArray:
    """The weights as floating-point numbers. Raises ValueError where one is not finite and above 0."""
    values = np.asarray(weights)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"weights must be numbers, not {values.dtype}")
    if values.shape != (records,):
        raise ValueError(f"weights {values.shape} must be one number a record, of which there are {records}")
    values = values.astype(np.float64, copy=False)
    problems = at_positions(~((values > 0) & np.isfinite(values)), "weights must be finite and above 0")
    if problems:
        raise ValueError(problems[0])
    return values


def radices(columns: IntArray) -> list[int]:
    """How many digits each key takes where missing is 0 and code c is c + 1: its largest code plus 2.

    Raises ValueError where a code is out of range.
    """
    records, width = columns.shape
    lowest, highest = [0] * width, [-1] * width
    for begin in range(0, records, _BLOCK):
        block = columns[begin : begin + _BLOCK]
        for key in range(width):
            lowest[key] = min(lowest[key], int(block[:, key].min()))
            highest[key] = max(highest[key], int(block[:, key].max()))
    for key in range(width):
        if lowest[key] < -1:
            raise ValueError(f"codes must be -1 (missing) or from 0 upwards: key {key} is not")
        if highest[key] + 2 > _LARGEST // max(records, 1):
            raise ValueError(f"codes must count the values of a key from 0: those of key {key} are too large")
    return [code + 2 for code in highest]


def _packed(columns: IntArray) -> IntArray:
    """One number a record, the same for the same key: codes in mixed radix, missing as the digit 0.

    Where the next digit would not fit, the numbers so far give way to the positions of their groups.
    """
    from sdcgate.methods.risk.key_loops import group_in_place

    numbers = np.zeros(len(columns), dtype=np.int64)
    digits = radices(columns)
    used, begin = 1, 0
    for key, radix in enumerate(digits):
        if used * radix > _LARGEST:
            _append(columns[:, begin:key], digits[begin:key], numbers)
            begin, used = key, len(group_in_place(numbers)[0])
        used *= radix
    _append(columns[:, begin:], digits[begin:], numbers)
    return numbers


def _append(columns: IntArray, digits: list[int], numbers: IntArray) -> None:
    """Append a digit of each of some columns to the numbers."""
    for begin in range(0, len(numbers), _BLOCK):
        block = numbers[begin : begin + _BLOCK]
        for key, radix in enumerate(digits):
            block *= radix
            block += columns[begin : begin + _BLOCK, key]
            block += 1
