"""Published approximations of the individual risk, by the names under which they are known.

None is needed: `individual.individual_risk` is exact and as fast. They are here to explain the figures of
other programs, and to show how far these are off.
"""

from enum import Enum

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.individual import individual_risk


class Approximation(Enum):
    """An approximation of r_k = E(1/F_k | f_k), with q_k = 1 - p_k."""

    RECIPROCAL = "reciprocal"
    """1 / (estimated F_k) = p/f. Always too low (Jensen): for f = 1 by 80% where p = 1/126."""
    LARGE_FREQUENCIES = "large frequencies"
    """p / (f - q): older mu-ARGUS for f > 40 (0.02% too high). Always too high; 1 for f = 1."""
    SDCMICRO = "sdcMicro"
    """Exact for f = 1 and 2, then p / (f - q): indivRisk's default, and measure_risk. Up to 4.1% too high."""
    MU_ARGUS = "mu-ARGUS"
    """Exact for f = 1 to 3, then the hypergeometric series to the seventh power of q: mu-ARGUS 4 and 5. Up to
    0.61% too low."""


def approximate_individual_risk(
    frequencies: IntArray, probabilities: FloatArray, approximation: Approximation
) -> FloatArray:
    """Approximate individual risk of each cell of a key, shape (cells,).

    `frequencies` f_k >= 1 and `probabilities` 0 < p_k <= 1 as for `individual.individual_risk`, whose errors
    are raised here too.
    """
    exact = individual_risk(frequencies, probabilities)
    f, p = np.asarray(frequencies, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    large: FloatArray = p / (f - 1 + p)
    match approximation:
        case Approximation.RECIPROCAL:
            reciprocal: FloatArray = p / f
            return reciprocal
        case Approximation.LARGE_FREQUENCIES:
            return large
        case Approximation.SDCMICRO:
            return np.where(f > 2, large, exact)
        case Approximation.MU_ARGUS:
            return np.where(f > 3, _seven_terms(f, p), exact)


def _seven_terms(f: FloatArray, p: FloatArray) -> FloatArray:
    """(p/f) sum over n = 0..7 of n! q^n / ((f + 1) ... (f + n))."""
    term, total = np.ones_like(p), np.ones_like(p)
    for n in range(1, 8):
        term = term * n * (1 - p) / (f + n)
        total = total + term
    risks: FloatArray = p / f * total
    return risks
