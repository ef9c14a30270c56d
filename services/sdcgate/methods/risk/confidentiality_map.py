"""The R-U confidentiality map of a normal variable: noise against recoding, risk against utility.

X is normal with mean theta and variance 1. Utility is the information that a user has on theta from one
masked value, risk one over the mean squared error with which an intruder foretells a value. Source: Shlomo,
Accessing Microdata via the Internet (Israel CBS, 2003), II, after Duncan et al. (2001).
"""

from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import FloatArray


@dataclass(frozen=True, slots=True)
class RiskUtility:
    """A point of the map."""

    risk: float
    utility: float


def additive_noise(variance: float) -> RiskUtility:
    """Noise of this variance: utility 1/(1 + variance), risk R^a = 1/variance.

    Raises ValueError where the variance is not above 0 and finite.
    """
    if not 0.0 < variance < np.inf:
        raise ValueError("variance: must be above 0 and finite")
    return RiskUtility(1.0 / variance, 1.0 / (1.0 + variance))


def global_recoding(cut_offs: FloatArray, theta: float = 0.0) -> RiskUtility:
    """Classes between cut-offs: utility I_1, risk R^c = 1/(1 - I_1).

    I_1 = sum (phi_i - phi_i+1)^2 / (Phi_i+1 - Phi_i), phi and Phi at cut-off - theta. `cut_offs` are finite
    and increase strictly. At equal utility R^c = R^a + 1, whatever the cut-offs. A class that nobody can be
    in adds nothing.

    Raises ValueError for cut-offs that do not increase.
    """
    from scipy.special import ndtr

    given = np.asarray(cut_offs, dtype=np.float64)
    if given.ndim != 1 or not len(given) or not np.isfinite(given).all() or np.any(np.diff(given) <= 0):
        raise ValueError("cut_offs: must be finite and increase strictly")
    at = given - theta
    density = np.concatenate([[0.0], np.exp(-at * at / 2.0) / np.sqrt(2.0 * np.pi), [0.0]])
    below = np.concatenate([[0.0], ndtr(at), [1.0]])
    above = np.concatenate([[1.0], ndtr(-at), [0.0]])
    # In the upper tail probabilities are told apart by what lies above.
    chances = np.where(below[:-1] > 0.5, above[:-1] - above[1:], below[1:] - below[:-1])
    squares = np.diff(density) ** 2
    information = float(np.divide(squares, chances, out=np.zeros_like(squares), where=chances > 0).sum())
    return RiskUtility(1.0 / (1.0 - information), information)
