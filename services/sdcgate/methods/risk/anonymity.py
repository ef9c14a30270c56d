"""k-anonymity, l-diversity and t-closeness: how alike records are, and how much their group tells of them.

k-anonymity asks that nobody's key is rare in the file. It says nothing of what the group has in common:
l-diversity asks that its members differ in a sensitive variable, t-closeness that they do not differ much
from the file in it. Sources: Samarati and Sweeney (1998); Machanavajjhala, Kifer, Gehrke and
Venkitasubramaniam, *l-diversity*, TKDD 1 (2007); Li, Li and Venkatasubramanian, *t-closeness*, ICDE 2007.
"""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.risk.keys import Keys, Missing, frequencies

ROUNDING = 1e-9
"""Relative difference to which a measure and a bound are the same."""


class Diversity(Enum):
    """What is counted where a sensitive variable must be diverse."""

    DISTINCT = "distinct"
    """Values that occur in the group."""
    ENTROPY = "entropy"
    """exp of the entropy of the group's values: as diverse as so many equally frequent ones."""
    RECURSIVE = "recursive"
    """The largest l with r_1 < c (r_l + ... + r_m), r the group's frequencies from the largest downwards."""


class Ground(Enum):
    """How far apart two values of a sensitive variable are, for the earth mover's distance."""

    EQUAL = "equal"
    """All as far: 1."""
    ORDERED = "ordered"
    """Steps between their places in the order, |i - j| / (m - 1)."""


@dataclass(frozen=True, slots=True, eq=False)
class KAnonymity:
    """Records whose key fewer than k records have."""

    k: int
    smallest: int
    """The k that the file has: its smallest frequency."""
    below: BoolArray = field(repr=False)
    """Records that violate, shape (records,)."""

    @property
    def records_below(self) -> int:
        """Number of records that violate."""
        return int(self.below.sum())


@dataclass(frozen=True, slots=True, eq=False)
class LDiversity:
    """Diversity of a sensitive variable in each key, shape (K,); 0 where no record of the key has a value."""

    distinct: IntArray = field(repr=False)
    entropy: FloatArray = field(repr=False)
    recursive: IntArray = field(repr=False)

    def below(self, kind: Diversity, diversity: float) -> BoolArray:
        """Keys whose diversity of a kind is less than asked for, shape (K,)."""
        return np.asarray(getattr(self, kind.value) < diversity * (1.0 - ROUNDING))


def k_anonymity(codes: IntArray, k: int, missing: Missing = Missing.CATEGORY) -> KAnonymity:
    """Records whose key, of `codes` (records, keys), fewer than `k` records have.

    With `Missing.WILDCARD` a record counts all that agree with it, as sdcMicro does. Raises ValueError for
    wrong codes, no records, and k below 1.
    """
    if k < 1:
        raise ValueError("k must be at least 1")
    f = frequencies(codes, None, missing).f
    if not len(f):
        raise ValueError("codes must have at least one record")
    return KAnonymity(k, int(f.min()), f < k)


def l_diversity(keys: Keys, sensitive: IntArray, c: float = 2.0) -> LDiversity:
    """Distinct, entropy and recursive (c, l) diversity of a sensitive variable within each key.

    `sensitive` (records,) has codes from 0, -1 where missing: a gap is no value, so that it makes nothing
    diverse. Of several sensitive variables each is measured by itself, with the others among the keys.

    Raises ValueError for wrong codes and for c that is not finite and above 0.
    """
    if not (np.isfinite(c) and c > 0):
        raise ValueError("c must be finite and above 0")
    group, _, counts = _values(keys, sensitive)
    total = np.bincount(group, counts, len(keys))
    share = counts / total[group]
    entropy = np.where(total > 0, np.exp(np.bincount(group, -share * np.log(share), len(keys))), 0.0)
    order = np.lexsort((-counts, group))
    group, counts = group[order], counts[order]
    largest = np.zeros(len(keys), dtype=np.int64)
    np.maximum.at(largest, group, counts)
    remaining = total[group] - _before(group, counts)
    enough = largest[group] < c * remaining * (1.0 - ROUNDING)
    return LDiversity(
        distinct=np.bincount(group, minlength=len(keys)).astype(np.int64),
        entropy=np.asarray(entropy, dtype=np.float64),
        recursive=np.bincount(group, enough, len(keys)).astype(np.int64),
    )


def t_closeness(keys: Keys, sensitive: IntArray, ground: Ground, categories: int | None = None) -> FloatArray:
    """Earth mover's distance between each key's values and the file's, 0 to 1, shape (K,).

    Equal ground: half the sum of |p_i - q_i|. Ordered ground: the mean over i = 1 ... m - 1 of |P_i - Q_i|,
    P and Q cumulated (Li and others, 4.1, 4.2). A file is t-close where no key is above t. `sensitive`
    (records,) has codes 0 ... m - 1 in their order, -1 where missing (left out); for a number pass the rank
    of its value. `categories` m is the largest code plus 1 by default. A key without a value is at 1.

    Raises ValueError for wrong codes, and for categories below what the codes need.
    """
    group, value, counts = _values(keys, sensitive)
    needed = int(value.max(initial=-1)) + 1
    m = needed if categories is None else categories
    if m < needed:
        raise ValueError("categories must be above every code of the sensitive variable")
    total = np.bincount(group, counts, len(keys)).astype(np.float64)
    share = counts / total[group]
    q: FloatArray = np.bincount(value, counts, m).astype(np.float64)
    q /= max(int(counts.sum()), 1)
    moved: FloatArray
    if ground is Ground.EQUAL or m < 2:
        moved = np.bincount(group, np.maximum(share - q[value], 0.0), len(keys)).astype(np.float64)
    else:
        moved = _moved_in_order(group, value, counts, total, q) / (m - 1)
    return np.where(total > 0, np.clip(moved, 0.0, 1.0), 1.0)


def _values(keys: Keys, sensitive: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The values of each key with their counts, sorted by key, then by value."""
    codes = np.asarray(sensitive)
    if codes.dtype.kind != "i" or codes.shape != keys.group.shape:
        raise ValueError("sensitive must be one integer code a record, -1 where missing")
    if len(codes) and codes.min() < -1:
        raise ValueError("sensitive must be -1 (missing) or a code from 0 upwards")
    known = codes >= 0
    m = int(codes.max(initial=-1)) + 1
    if m > (1 << 62) // max(len(keys), 1):
        raise ValueError("sensitive must count its values from 0: its codes are too large")
    pairs, counts = np.unique(keys.group[known] * max(m, 1) + codes[known], return_counts=True)
    return pairs // max(m, 1), pairs % max(m, 1), counts.astype(np.int64)


def _before(group: IntArray, amounts: IntArray) -> FloatArray:
    """Sum of the amounts that stand before each one in its group; groups stand together."""
    running = np.cumsum(amounts, dtype=np.float64) - amounts
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return running - np.repeat(running[starts], np.diff(np.append(starts, len(group))))


def _moved_in_order(
    group: IntArray, value: IntArray, counts: IntArray, total: FloatArray, q: FloatArray
) -> FloatArray:
    """Sum over i of |P_i - Q_i| for each key, from the values that occur in it alone.

    From one value of a key to its next P stays at a level while Q rises through it: before the crossing Q is
    below the level, from there on above it.
    """
    rising = np.cumsum(q)
    sums = np.concatenate([np.zeros(1), np.cumsum(rising)])
    level = (_before(group, counts) + counts) / total[group]
    last = np.append(group[1:] != group[:-1], True)[: len(group)]
    end = np.where(last, len(q), np.append(value[1:], 0)[: len(value)])
    crossing = np.clip(np.searchsorted(rising, level), value, end)
    above = level * (crossing - value) - (sums[crossing] - sums[value])
    below = (sums[end] - sums[crossing]) - level * (end - crossing)
    moved = np.bincount(group, above + below, len(total))
    first = np.append(True, group[1:] != group[:-1])[: len(group)]
    moved += np.bincount(group[first], sums[value[first]], len(total))
    return np.asarray(moved, dtype=np.float64)
