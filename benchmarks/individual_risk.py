"""A million individual risks by our kernel and by SciPy's hypergeometric function."""

import numpy as np
from scipy.special import hyp2f1

from run import Result, median_ms, result
from sdcgate.methods.risk import individual


def individual_risk() -> list[Result]:
    """Frequencies and weights as a survey has them: f small, p about 1 in 126 (Shlomo 2003)."""
    n = 1_000_000
    rng = np.random.default_rng(20261121)
    f = rng.geometric(0.3, n).astype(np.int64)
    p = rng.uniform(0.5, 2.0, n) / 126
    ours = median_ms(lambda: individual.individual_risk(f, p))
    theirs = median_ms(lambda: p / f * hyp2f1(1, 1, f + 1, 1 - p), runs=3)
    return [result("individual risk", n, ours, theirs, "SciPy hyp2f1, not exact everywhere")]
