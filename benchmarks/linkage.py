"""Distance linkage of 20,000 masked records to 20,000 originals beside all distances by SciPy, in blocks."""

import numpy as np

from run import Result, medians_ms, result, timed_ms
from sdcgate.methods.risk.linkage import Records, Scale, link_by_distance

N = 20_000
NUMBERS = 5
BLOCK = 500
"""Records whose distances to all others are held at once: SciPy would want 3 GB for all pairs."""


def linkage() -> list[Result]:
    """Five numbers, masked by noise of a fifth of their standard deviation."""
    rng = np.random.default_rng(20260101)
    original = rng.standard_normal((N, NUMBERS)) @ rng.standard_normal((NUMBERS, NUMBERS))
    masked = original + rng.normal(0, 0.2 * original.std(axis=0), original.shape)
    none = np.empty((N, 0), dtype=np.int64)
    files, truth = (Records(original, none), Records(masked, none)), np.arange(N)
    links = link_by_distance(*files, truth=truth, scale=Scale.NONE)
    differing = int((links.linked != _all_pairs(original, masked)).sum())
    if differing:
        raise RuntimeError(f"{differing} records are linked otherwise than by all distances")
    ours, theirs = medians_ms(
        lambda: timed_ms(lambda: link_by_distance(*files, truth=truth, scale=Scale.NONE)),
        lambda: timed_ms(lambda: _all_pairs(original, masked)),
        runs=5,
    )
    note = f"SciPy cdist in blocks of {BLOCK}; ours with ties, second nearest and expected matches"
    return [result(f"distance linkage of {N:,} x {N:,}, {NUMBERS} numbers", N, ours, theirs, note)]


def _all_pairs(original: np.ndarray, masked: np.ndarray) -> np.ndarray:
    """The nearest original of each masked record."""
    from scipy.spatial.distance import cdist

    blocks = (masked[begin : begin + BLOCK] for begin in range(0, len(masked), BLOCK))
    return np.concatenate([cdist(block, original, "sqeuclidean").argmin(axis=1) for block in blocks])
