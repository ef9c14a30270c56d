"""The likelihood of cumulative odds and its maximum, by Newton's method with its own derivatives.

McCullagh (1980), Regression models for ordinal data, JRSS B 42(2): a class is reached by the distance between
two thresholds, less the predictor. The logarithm of the likelihood is concave in slopes and thresholds (Pratt
1981, Journal of the American Statistical Association 76): where the search arrives there is no other maximum.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from sdcgate.methods.cells import FloatArray, IntArray

MOST_STEPS = 100
MOST_HALVINGS = 40
ARRIVED = 1e-20
"""Twice what one more step would add to the mean log-likelihood."""
CERTAIN = 1e-6
"""Nearer to 0 than this the mean log-likelihood has no maximum: the columns foretell the classes."""


@dataclass(frozen=True, slots=True, eq=False)
class CumulativeOdds:
    """The maximum of the likelihood."""

    slopes: FloatArray = field(repr=False)
    thresholds: FloatArray = field(repr=False)
    """Shape (classes - 1,), ascending."""
    covariance: FloatArray = field(repr=False)
    """Inverse of the observed information, of slopes and then thresholds."""
    log_likelihood: float


def maximise(values: FloatArray, classes: IntArray, count: int) -> CumulativeOdds | None:
    """Slopes and thresholds of the largest likelihood; None where the search does not arrive.

    Args:
        values: columns without a constant, shape (records, columns).
        classes: class of each record, from 0; each of them somebody has.
        count: number of classes.

    Raises:
        LinAlgError: columns follow from each other.
    """
    shares = np.cumsum(np.bincount(classes, minlength=count)[:-1]) / len(classes)
    found = np.append(np.zeros(values.shape[1]), np.log(shares / (1.0 - shares)))
    likelihood = _likelihood(values, classes, found)
    for _ in range(MOST_STEPS):
        slope, curvature = _derivatives(values, classes, count, found)
        step = np.linalg.solve(curvature, slope)
        gain = float(slope @ step)
        if not np.isfinite(gain) or likelihood > -CERTAIN * len(classes):
            return None
        if gain <= ARRIVED * len(classes):
            columns = values.shape[1]
            covariance = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
            return CumulativeOdds(found[:columns], found[columns:], covariance, likelihood)
        for halving in range(MOST_HALVINGS):
            tried = found + step / 2**halving
            better = _likelihood(values, classes, tried)
            # The last steps change the likelihood by less than it is known to.
            if better >= likelihood - 1e-13 * abs(likelihood):
                break
        else:
            return None
        found, likelihood = tried, better
    return None


def _edges(values: FloatArray, classes: IntArray, found: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Thresholds above and below each record's class, less its predictor."""
    columns = values.shape[1]
    edges = np.concatenate([[-np.inf], found[columns:], [np.inf]])
    predictor = values @ found[:columns]
    return edges[classes + 1] - predictor, edges[classes] - predictor


def _probability(upper: FloatArray, lower: FloatArray) -> FloatArray:
    """Of a record's class; on the side of the logistic curve on which no digits are lost."""
    turned = lower > 0
    high, low = np.where(turned, -lower, upper), np.where(turned, -upper, lower)
    return np.asarray(expit(high) - expit(low))


def _likelihood(values: FloatArray, classes: IntArray, found: FloatArray) -> float:
    if np.any(np.diff(found[values.shape[1] :]) <= 0):
        return -np.inf
    probability = _probability(*_edges(values, classes, found))
    return float(np.log(probability).sum()) if probability.min() > 0 else -np.inf


def _derivatives(
    values: FloatArray, classes: IntArray, count: int, found: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """First derivatives of the log-likelihood, and second ones with their sign turned."""
    upper, lower = _edges(values, classes, found)
    probability = _probability(upper, lower)
    density_up, density_low = expit(upper) * expit(-upper), expit(lower) * expit(-lower)
    up, low = density_up / probability, density_low / probability
    of_up = density_up * (expit(-upper) - expit(upper)) / probability - up**2
    of_low = -density_low * (expit(-lower) - expit(lower)) / probability - low**2
    of_both = up * low
    columns, last = values.shape[1], count - 1
    slope = np.append(
        values.T @ (low - up),
        np.bincount(classes, up, count)[:last] - np.bincount(classes, low, count)[1:],
    )
    second = np.zeros((columns + last, columns + last))
    second[:columns, :columns] = values.T @ (values * (of_up + of_low + 2 * of_both)[:, None])
    own = np.bincount(classes, of_up, count)[:last] + np.bincount(classes, of_low, count)[1:]
    place = columns + np.arange(last)
    second[place, place] = own
    between = np.bincount(classes, of_both, count)[1:last]
    second[place[:-1], place[1:]] = second[place[1:], place[:-1]] = between
    for column in range(columns):
        beside = np.bincount(classes, values[:, column] * (of_up + of_both), count)[:last]
        beside += np.bincount(classes, values[:, column] * (of_low + of_both), count)[1:]
        second[column, columns:] = second[columns:, column] = -beside
    return slope, -second
