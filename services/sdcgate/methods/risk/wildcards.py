"""Missing values as wildcards: how many records agree with each where neither value is missing.

sdcMicro's freqCalc compares every incomplete record with every other. Here records fall into patterns (which
of their keys are missing), and two patterns meet through a table of their keys, projected to the columns that
both have: the work grows with patterns times distinct keys, not with the square of the records.
"""

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray

LARGEST_WORK = 5e9
"""Comparisons of keys that are still done: a minute or so. 100,000 records without two alike patterns fit."""
_PROJECTING = 8
"""A key that goes through a table costs about as much as so many direct comparisons."""


def compatible_frequencies(
    codes: IntArray, counts: IntArray, weight_sums: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Records that agree with each distinct key, and the sum of their weights, both of shape (K,).

    `codes` (K, keys) are distinct keys, -1 where missing; `counts` and `weight_sums` (K,) those of the
    records that have exactly this key. Equals sdcMicro's freqCalc with alpha = 1, where agreement is
    symmetric. (Its other alphas count an incomplete record less than once for others, but others fully for
    it: fractions, for which the individual risk is not defined.)

    Raises ValueError where there are so many patterns of missing keys that it would take minutes.
    """
    from sdcgate.methods.risk.key_loops import match_patterns
    from sdcgate.methods.risk.keys import group_keys

    f, sums = counts.copy(), weight_sums.copy()
    patterns = group_keys((codes < 0).astype(np.int8))
    if len(patterns) <= 1:
        return f, sums
    work = _work(patterns.counts)
    if work > LARGEST_WORK:
        raise ValueError(
            f"codes: wildcards in {len(patterns)} patterns would take {work:.1e} comparisons of keys, "
            f"above {LARGEST_WORK:.0e}: take missing as a category, or fewer keys"
        )
    order = np.argsort(patterns.group, kind="stable")
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(patterns.counts)])
    telling = np.argsort(-codes.max(axis=0), kind="stable")  # keys of many categories tell soonest
    sorted_f, sorted_sums = f[order], sums[order]
    match_patterns(
        np.ascontiguousarray(codes[order][:, telling], dtype=np.int64),
        offsets,
        _PROJECTING,
        counts[order],
        weight_sums[order],
        sorted_f,
        sorted_sums,
    )
    f[order], sums[order] = sorted_f, sorted_sums
    return f, sums


def _work(sizes: IntArray) -> float:
    """Comparisons of all pairs of patterns with so many keys each."""
    values, times = np.unique(sizes, return_counts=True)
    s, t = values[:, None].astype(np.float64), values[None, :].astype(np.float64)
    pairs = times[:, None] * (times[None, :] - np.eye(len(times))) / 2
    return float((pairs * np.minimum(s * t, _PROJECTING * (s + t))).sum())
