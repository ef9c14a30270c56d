"""The R-U confidentiality map of a normal variable: noise against recoding, risk against utility.

X is normal with mean theta and variance 1. Utility is the information that a user has on theta from one
masked value, risk one over the mean squared error with which an intruder foretells a value. Source: Shlomo,
Accessing Microdata via the Internet (Israel CBS, 2003), II, after Duncan et al. (2001).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray


@dataclass(frozen=True, slots=True)
class RiskUtility:
    """A point of the map."""

    risk: float
    utility: float


@dataclass(frozen=True, slots=True)
class NoisePoint:
    """Noise on the map."""

    noise: float
    """Its standard deviation, in the variable's unit."""
    point: RiskUtility


@dataclass(frozen=True, slots=True)
class RecodingPoint:
    """A recoding on the map, beside noise."""

    cut_offs: tuple[float, ...] = field(repr=False)
    """In the variable's unit."""
    point: RiskUtility
    equal_noise: float | None
    """Standard deviation of the noise of the same utility; None where no noise leaves so little."""


@dataclass(frozen=True, slots=True)
class ConfidentialityMap:
    """Noise and recodings of a normal variable, risk against utility."""

    noise: tuple[NoisePoint, ...]
    recodings: tuple[RecodingPoint, ...]


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal variable."""

    mean: float = 0.0
    standard_deviation: float = 1.0


USUAL_NOISE = np.geomspace(0.2, 3.0, 20)
"""Standard deviations, in units of the variable's: of utilities from 96% to 10%."""
USUAL_CLASSES = range(2, 11)
LARGEST_RATIO = 1e150
"""Of noise and standard deviation, and the other way round: what squares that are no infinity allow."""


def confidentiality_map(
    variable: Normal, noise: Sequence[float] = (), recodings: Sequence[FloatArray] = ()
) -> ConfidentialityMap:
    """The map of a variable, by standard deviations of noise and cut-offs of recodings in its unit.

    Where neither are given: `USUAL_NOISE`, and `USUAL_CLASSES` equally likely classes. Raises ValueError as
    `additive_noise` and `global_recoding`, and where a standard deviation, or noise, is not above 0.
    """
    mean, unit = variable.mean, variable.standard_deviation
    if not (np.isfinite(mean) and 0.0 < unit < np.inf):
        raise ValueError("standard_deviation: must be above 0 and finite, and the mean finite")
    if not all(1.0 / LARGEST_RATIO < one / unit < LARGEST_RATIO for one in noise):
        raise ValueError("noise: must be above 0 and finite, also in units of the standard deviation")
    if not len(noise) and not len(recodings):
        noise = (USUAL_NOISE * unit).tolist()
        recodings = [mean + unit * equal_classes(number) for number in USUAL_CLASSES]
    return ConfidentialityMap(
        noise=tuple(NoisePoint(float(one), additive_noise((one / unit) ** 2)) for one in noise),
        recodings=tuple(_recoding_point(variable, one) for one in recodings),
    )


def _recoding_point(variable: Normal, cut_offs: FloatArray) -> RecodingPoint:
    given = np.asarray(cut_offs, dtype=np.float64)
    point = global_recoding((given - variable.mean) / variable.standard_deviation)
    equal = 1.0 / point.utility - 1.0 if point.utility > 0.0 else np.inf
    told = variable.standard_deviation * float(np.sqrt(equal)) if 0.0 < equal < np.inf else None
    return RecodingPoint(tuple(given.tolist()), point, told)


def equal_classes(number: int) -> FloatArray:
    """Cut-offs of a standard normal variable between so many equally likely classes, shape (number - 1,).

    Raises ValueError for fewer than 2.
    """
    from scipy.special import ndtri

    if number < 2:
        raise ValueError("number: must be at least 2 classes")
    found: FloatArray = ndtri(np.arange(1, number) / number)
    return found


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
    with np.errstate(over="ignore"):  # a density so far out is 0
        inner = np.exp(-at * at / 2.0) / np.sqrt(2.0 * np.pi)
    density = np.concatenate([[0.0], inner, [0.0]])
    below = np.concatenate([[0.0], ndtr(at), [1.0]])
    above = np.concatenate([[1.0], ndtr(-at), [0.0]])
    # In the upper tail probabilities are told apart by what lies above.
    chances = np.where(below[:-1] > 0.5, above[:-1] - above[1:], below[1:] - below[:-1])
    squares = np.diff(density) ** 2
    information = float(np.divide(squares, chances, out=np.zeros_like(squares), where=chances > 0).sum())
    return RiskUtility(1.0 / (1.0 - information), information)
