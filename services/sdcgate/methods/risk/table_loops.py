"""The loops behind `loglinear`: passes over all cells of a table. Import it within functions (numba)."""

from math import exp

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.compiling import compiled


@compiled("void(float64[::1], int64[::1], float64[::1], int64[::1], float64[::1], int64[::1])")
def scale_and_sum(
    table: FloatArray,
    shape: IntArray,
    ratios: FloatArray,
    ratio_strides: IntArray,
    sums: FloatArray,
    sum_strides: IntArray,
) -> None:
    """Multiply each cell by the ratio of its margin, and add the result to the cell of another margin.

    `table` is row-major over `shape`; strides are those of the margins' cells, 0 along axes that a margin
    sums over. One pass: cells are visited in order, and positions in the margins grow with them.
    """
    axes = len(shape)
    last = shape[axes - 1]
    ratio_step, sum_step = ratio_strides[axes - 1], sum_strides[axes - 1]
    digits = np.zeros(axes, dtype=np.int64)
    ratio_at, sum_at, begin = 0, 0, 0
    while begin < len(table):
        if sum_step == 0:
            total = 0.0
            if ratio_step == 0:
                ratio = ratios[ratio_at]
                for place in range(begin, begin + last):
                    value = table[place] * ratio
                    table[place] = value
                    total += value
            else:
                for place in range(last):
                    value = table[begin + place] * ratios[ratio_at + place * ratio_step]
                    table[begin + place] = value
                    total += value
            sums[sum_at] += total
        else:
            for place in range(last):
                value = table[begin + place] * ratios[ratio_at + place * ratio_step]
                table[begin + place] = value
                sums[sum_at + place * sum_step] += value
        begin += last
        axis = axes - 2
        while axis >= 0:
            digits[axis] += 1
            ratio_at += ratio_strides[axis]
            sum_at += sum_strides[axis]
            if digits[axis] < shape[axis]:
                break
            ratio_at -= shape[axis] * ratio_strides[axis]
            sum_at -= shape[axis] * sum_strides[axis]
            digits[axis] = 0
            axis -= 1


@compiled("UniTuple(float64, 4)(float64, float64)")
def criterion_weights(mean: float, fraction: float) -> tuple[float, float, float, float]:
    """Weights of f - mu and of (f - mu)^2 - f in B_1 and in B_2, at an expected count mu > 0."""
    rest = 1.0 - fraction
    population = mean / fraction
    t = rest * population
    # P(f = 1) over the sampling fraction: lambda e^(-mu).
    unique = population * exp(-mean)
    alone = exp(-t)
    if t < 1e-3:
        slope = -0.5 + t / 3.0 - t * t / 8.0
        curve = 1.0 / 3.0 - t / 4.0 + t * t / 10.0
    else:
        slope = (alone * (1.0 + t) - 1.0) / (t * t)
        curve = (2.0 - alone * (t * t + 2.0 * t + 2.0)) / (t * t * t)
    return (
        unique * rest * alone,
        unique * rest * rest * alone / (2.0 * fraction),
        -unique * rest * slope,
        unique * rest * rest * curve / (2.0 * fraction),
    )


@compiled("float64[::1](float64[::1], float64)")
def criteria_of_empty_cells(means: FloatArray, fraction: float) -> FloatArray:
    """What cells of expected count mu that nobody is in add to B_1, its variance, B_2 and its variance.

    Last, the squares of what they add to B_2.
    """
    found = np.zeros(5, dtype=np.float64)
    for cell in range(len(means)):
        mean = means[cell]
        if mean > 0.0:
            first_1, second_1, first_2, second_2 = criterion_weights(mean, fraction)
            found[0] += -first_1 * mean + second_1 * mean * mean
            found[1] += first_1 * first_1 * mean + 2.0 * second_1 * second_1 * mean * mean
            found[2] += -first_2 * mean + second_2 * mean * mean
            found[3] += first_2 * first_2 * mean + 2.0 * second_2 * second_2 * mean * mean
            found[4] += (-first_2 * mean + second_2 * mean * mean) ** 2
    return found


@compiled("UniTuple(float64, 3)(float64[::1], float64[::1], float64)")
def criteria_of_filled_cells(
    means: FloatArray, counts: FloatArray, fraction: float
) -> tuple[float, float, float]:
    """What cells with f records add to B_1, B_2 and its squares beyond what they would add if empty."""
    bias_1, bias_2, squares_2 = 0.0, 0.0, 0.0
    for cell in range(len(means)):
        mean, count = means[cell], counts[cell]
        if mean > 0.0:
            first_1, second_1, first_2, second_2 = criterion_weights(mean, fraction)
            quadratic = (count - mean) ** 2 - count - mean * mean
            bias_1 += first_1 * count + second_1 * quadratic
            more = first_2 * count + second_2 * quadratic
            empty = -first_2 * mean + second_2 * mean * mean
            bias_2 += more
            squares_2 += more * (more + 2.0 * empty)
    return bias_1, bias_2, squares_2


@compiled("void(int64[::1], float64[::1], float64[::1], float64[::1])")
def inverse_moments_by_sums(
    counts: IntArray, means: FloatArray, first: FloatArray, second: FloatArray
) -> None:
    """E 1/(f + X) and E 1/(f + X)^2 of X Poisson(mean), summed from its mode outwards.

    Each probability follows from its neighbour's; they end where one is below 1e-20 of the mode's.
    """
    for key in range(len(counts)):
        mean = means[key]
        mode = np.floor(mean)
        total, once, twice = 0.0, 0.0, 0.0
        value, weight = mode, 1.0
        while weight > 1e-20:
            inverse = 1.0 / (counts[key] + value)
            total += weight
            once += weight * inverse
            twice += weight * inverse * inverse
            value += 1.0
            weight *= mean / value
        value, weight = mode, 1.0
        while value > 0.0 and weight > 1e-20:
            weight *= value / mean
            value -= 1.0
            inverse = 1.0 / (counts[key] + value)
            total += weight
            once += weight * inverse
            twice += weight * inverse * inverse
        first[key] = once / total
        second[key] = twice / total
