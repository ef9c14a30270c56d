"""The distribution of greatest entropy under linear constraints.

Its dual has one variable a constraint and is smooth and concave: Newton's method with a logarithmic barrier
(Boyd and Vandenberghe, Convex Optimization, 2004, sections 5.2 and 11.3).
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray

PRECISION = 1e-15
"""Product of a constraint's slack and multiplier at which it is taken to hold."""
LARGEST_ERROR = 1e-9
NEWTON_STEPS = 100
SHORTEST_STEP = 1e-10
CENTRED = 1e-24
"""Gain of a Newton step at which a barrier's centre is reached."""
ROUNDING = 1e-15
SOFTENING = 1e-18


class EntropyError(ArithmeticError):
    """No distribution was found that meets the constraints."""


def maximum_entropy(equal: FloatArray, to: FloatArray, at_most: FloatArray, bounds: FloatArray) -> FloatArray:
    """The distribution p that maximises -sum p log p with equal @ p = to and at_most @ p <= bounds.

    Shapes (rows, values) and (rows,); the constraints must leave room, that is some p > 0 must meet all
    inequalities strictly. Returns p, shape (values,).

    Raises EntropyError if they do not.
    """
    rows, limits = np.concatenate([equal, at_most]), np.concatenate([to, bounds])
    scale = np.maximum(np.abs(rows).max(axis=1, initial=0.0), np.abs(limits))
    scale[scale == 0] = 1.0
    rows, limits = rows / scale[:, None], limits / scale
    free = np.arange(len(rows)) < len(equal)
    multipliers = np.where(free, 0.0, 1.0)
    barrier = 1.0
    while barrier > PRECISION:
        barrier /= 10
        multipliers = _centre(rows, limits, free, multipliers, barrier)
    found = _distribution(rows, multipliers)
    gaps = rows @ found - limits
    off = np.where(free, np.abs(gaps), gaps)
    if not np.all(off <= LARGEST_ERROR):
        raise EntropyError("no distribution meets the constraints")
    return found


def _distribution(rows: FloatArray, multipliers: FloatArray) -> FloatArray:
    exponents = -(multipliers @ rows)
    weights = np.exp(exponents - exponents.max())
    distribution: FloatArray = weights / weights.sum()
    return distribution


def _dual(
    rows: FloatArray, limits: FloatArray, free: BoolArray, multipliers: FloatArray, barrier: float
) -> float:
    """The dual with its barrier, minus infinity where a multiplier of an inequality is not positive."""
    if np.any(multipliers[~free] <= 0):
        return -np.inf
    exponents = -(multipliers @ rows)
    top = exponents.max()
    value = -top - np.log(np.exp(exponents - top).sum()) - multipliers @ limits
    return float(value + barrier * np.log(multipliers[~free]).sum())


def _centre(
    rows: FloatArray, limits: FloatArray, free: BoolArray, multipliers: FloatArray, barrier: float
) -> FloatArray:
    """Newton's method for one barrier, from `multipliers`."""
    value = _dual(rows, limits, free, multipliers, barrier)
    for _ in range(NEWTON_STEPS):
        p = _distribution(rows, multipliers)
        inner = np.where(free, 1.0, multipliers)
        means = rows @ p
        gradient = means - limits + np.where(free, 0.0, barrier / inner)
        curvature = (rows * p) @ rows.T - np.outer(means, means)
        curvature += np.diag(np.where(free, SOFTENING, barrier / inner**2))
        step = np.linalg.solve(curvature, gradient)
        gain = float(gradient @ step)
        if not gain > CENTRED:
            return multipliers
        size = 1.0
        while size > SHORTEST_STEP:
            tried = multipliers + size * step
            better = _dual(rows, limits, free, tried, barrier)
            # Near the centre the gain is less than what rounding does to the dual.
            if better >= value + size * gain / 4 - ROUNDING * max(1.0, abs(value)):
                break
            size /= 2
        else:
            return multipliers
        multipliers, value = tried, better
    return multipliers
