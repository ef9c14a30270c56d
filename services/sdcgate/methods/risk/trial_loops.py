"""The loops behind `interaction_trials`: passes over a table. Import it within functions (numba)."""

from math import floor, log2

import numpy as np
from numpy.typing import NDArray

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.compiling import compiled
from sdcgate.methods.risk.table_loops import criterion_weights


@compiled("void(float64[::1], float64, float64, int64, uint16[::1])")
def class_means(means: FloatArray, lowest: float, steps: float, classes: int, found: IntArray) -> None:
    """The class of each mean: `steps` to a doubling from 2^lowest on; 0 for what is below."""
    for cell in range(len(means)):
        place = 0.0
        if means[cell] > 0.0:
            place = floor((log2(means[cell]) - lowest) * steps) + 1.0
        found[cell] = int(min(max(place, 0.0), classes - 1.0))


@compiled("void(float64[::1], uint16[::1], int64[::1], int64[::1], float64[::1], int32[:, ::1])")
def count_classes(
    means: FloatArray,
    classes: IntArray,
    shape: IntArray,
    strides: IntArray,
    sums: FloatArray,
    counts: NDArray[np.int32],
) -> None:
    """For each cell of a margin, the sum of its means and how many of them are of each class."""
    axes = len(shape)
    digits = np.zeros(axes, dtype=np.int64)
    last, step = shape[axes - 1], strides[axes - 1]
    at, begin = 0, 0
    while begin < len(means):
        if step == 0:
            total = 0.0
            for place in range(begin, begin + last):
                total += means[place]
                counts[at, classes[place]] += 1
            sums[at] += total
        else:
            for place in range(last):
                cell = at + place * step
                sums[cell] += means[begin + place]
                counts[cell, classes[begin + place]] += 1
        begin += last
        axis = axes - 2
        while axis >= 0:
            digits[axis] += 1
            at += strides[axis]
            if digits[axis] < shape[axis]:
                break
            at -= shape[axis] * strides[axis]
            digits[axis] = 0
            axis -= 1


@compiled("UniTuple(float64, 2)(int32[:, ::1], float64[::1], float64[::1], float64)")
def criterion_of_classes(
    counts: NDArray[np.int32], middles: FloatArray, factors: FloatArray, fraction: float
) -> tuple[float, float]:
    """What cells without records add to B_2 and its variance, each class at its middle times the factor."""
    bias, variance = 0.0, 0.0
    for cell in range(len(counts)):
        for place in range(1, len(middles)):
            mean = middles[place] * factors[cell]
            if counts[cell, place] > 0 and mean > 0.0:
                _, _, first, second = criterion_weights(mean, fraction)
                bias += counts[cell, place] * (-first * mean + second * mean * mean)
                variance += counts[cell, place] * (first * first * mean + 2.0 * second * second * mean * mean)
    return bias, variance


@compiled("UniTuple(float64, 2)(float64[::1], int64[::1], float64[::1], int64[::1], float64)")
def criterion_of_scaled_cells(
    means: FloatArray, shape: IntArray, factors: FloatArray, strides: IntArray, fraction: float
) -> tuple[float, float]:
    """The same cell by cell, each mean times the factor of its margin."""
    axes = len(shape)
    digits = np.zeros(axes, dtype=np.int64)
    bias, variance, at = 0.0, 0.0, 0
    for cell in range(len(means)):
        mean = means[cell] * factors[at]
        if mean > 0.0:
            _, _, first, second = criterion_weights(mean, fraction)
            bias += -first * mean + second * mean * mean
            variance += first * first * mean + 2.0 * second * second * mean * mean
        axis = axes - 1
        while axis >= 0:
            digits[axis] += 1
            at += strides[axis]
            if digits[axis] < shape[axis]:
                break
            at -= shape[axis] * strides[axis]
            digits[axis] = 0
            axis -= 1
    return bias, variance
