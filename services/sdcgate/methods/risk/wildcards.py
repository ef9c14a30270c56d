"""Missing values as wildcards: how many records agree with each where neither value is missing.

sdcMicro's freqCalc compares every incomplete record with every other. Here records fall into patterns (which
of their keys are missing). Two patterns of many keys meet through a table of their keys, projected to the
columns that both have: work that grows with patterns times keys. Keys whose pattern few others share are
compared by bitmaps, a thousand at once, columns that tell most first: quadratic still, by a small factor.
"""

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray

LARGEST_WORK = 8e9
"""Steps that are still taken: about a minute. 200,000 records with 200 keys and a pattern each fit."""
_BLOCK = 1024
"""Keys that a bitmap holds."""
_PROJECTING = 3.0
"""A key that goes through a table costs about as much as intersecting so many bitmaps."""
_SAMPLE = 128


def compatible_frequencies(
    codes: IntArray, counts: IntArray, weight_sums: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Records that agree with each distinct key, and the sum of their weights, both of shape (K,).

    `codes` (K, keys) are distinct keys, -1 where missing; `counts` and `weight_sums` (K,) those of the
    records that have exactly this key. Equals sdcMicro's freqCalc with alpha = 1, where agreement is
    symmetric. (Its other alphas count an incomplete record less than once for others, but others fully for
    it: fractions, for which the individual risk is not defined.)

    Raises ValueError where so many keys have patterns of their own that it would take minutes.
    """
    from sdcgate.methods.risk.keys import group_keys
    from sdcgate.methods.risk.wildcard_loops import match_by_bitmaps, match_patterns

    patterns = group_keys((codes < 0).astype(np.int8))
    if len(patterns) <= 1:
        return counts.copy(), weight_sums.copy()
    shares = _shares_alike(codes)
    telling = np.argsort(shares, kind="stable")
    order = np.lexsort((codes[:, telling[0]], patterns.group, -patterns.counts[patterns.group]))
    sizes = np.sort(patterns.counts)[::-1]
    many = _common_patterns(sizes, _bitmaps_until_none(codes, shares, telling))
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])[: many + 1]
    sorted_codes = _dense(codes[order][:, telling])
    counted, weighed = counts[order], weight_sums[order]
    rare = np.arange(offsets[-1], len(codes))
    common = np.arange(offsets[-1])
    _check_work(sorted_codes, rare, offsets)
    f, sums = counted.copy(), weighed.copy()
    match_patterns(sorted_codes, offsets, counted, weighed, f, sums)
    f[rare], sums[rare] = 0, 0.0
    if len(rare):
        match_by_bitmaps(sorted_codes, rare, 0, len(codes), counted, weighed, f, sums)
        match_by_bitmaps(sorted_codes, common, offsets[-1], len(codes), counted, weighed, f, sums)
    found, found_sums = np.empty_like(f), np.empty_like(sums)
    found[order], found_sums[order] = f, sums
    return found, found_sums


def _shares_alike(codes: IntArray) -> FloatArray:
    """Share of all pairs of keys that agree in each column, (keys,)."""
    shares = np.empty(codes.shape[1])
    for key, own in enumerate(codes.T):
        numbers = np.unique(own, return_counts=True)[1] / len(own)
        missing = float(np.mean(own < 0))
        shares[key] = 2 * missing - missing**2 + (numbers**2).sum() - missing**2
    return shares


def _bitmaps_until_none(codes: IntArray, shares: FloatArray, telling: IntArray) -> float:
    """Bitmaps to intersect until about no key of a block is left, were columns independent."""
    left = _BLOCK * np.cumprod(np.concatenate([np.ones(1), shares[telling]]))[:-1]
    return float((codes[:, telling] >= 0).mean(axis=0)[left >= 1].sum())


def _common_patterns(sizes: IntArray, intersecting: float) -> int:
    """How many patterns, those of most keys, meet through tables; the keys of the others by bitmaps."""
    keys = np.concatenate([np.zeros(1), np.cumsum(sizes)])
    by_tables = _PROJECTING * np.maximum(np.arange(len(keys)) - 1, 0) * keys
    rare = keys[-1] - keys
    by_bitmaps = intersecting * rare * (keys[-1] + keys) / _BLOCK + np.where(rare > 0, keys[-1], 0)
    return int(np.argmin(by_tables + by_bitmaps))


def _dense(codes: IntArray) -> IntArray:
    """The codes of each column counted from 0, where they are not nearly so."""
    from sdcgate.methods.risk.key_loops import group_in_place

    dense = np.ascontiguousarray(codes, dtype=np.int64)
    for key in np.flatnonzero(dense.max(axis=0) > len(dense)):
        there = dense[:, key] >= 0
        own = dense[there, key]
        group_in_place(own)
        dense[there, key] = own
    return dense


def _check_work(codes: IntArray, rare: IntArray, offsets: IntArray) -> None:
    """Raises ValueError where it would take minutes; what bitmaps take is told by some of the keys."""
    from sdcgate.methods.risk.wildcard_loops import match_by_bitmaps

    work = _PROJECTING * max(len(offsets) - 2, 0) * float(offsets[-1])
    blocks = -(-len(codes) // _BLOCK)
    most = float(len(rare)) * blocks * codes.shape[1] * (1 + offsets[-1] / len(codes))
    if work + most > LARGEST_WORK and len(rare):
        some = np.ascontiguousarray(rare[:: -(-len(rare) // _SAMPLE)])
        zeros, sums = np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes))
        taken = match_by_bitmaps(codes, some, 0, len(codes), zeros, sums, zeros.copy(), sums.copy())
        work += taken * len(rare) / len(some) * (1 + offsets[-1] / len(codes))
    if work > LARGEST_WORK:
        raise ValueError(
            f"codes: wildcards in {len(codes)} different keys, {len(rare)} of them with patterns of missing "
            f"values that few share, would take {work:.0e} steps, above {LARGEST_WORK:.0e}: take missing as "
            "a category, or fewer keys"
        )
