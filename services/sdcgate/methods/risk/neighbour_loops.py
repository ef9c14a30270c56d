"""The loops behind `smoothing`: neighbours among the keys that occur. Import it within functions (numba)."""

from math import exp, log

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.compiling import compiled

CLOSE = 1e-11
"""Relative change of a cell's mean at which the fit of its neighbourhood stops."""
ROUNDS = 60
STEEPEST = 30.0
"""Largest slope and curvature of a local polynomial, on the scale of logarithms per category."""


@compiled("int64(int64[:, ::1], int64, int64, int64, int64)")
def _first_from(codes: IntArray, axis: int, begin: int, end: int, value: int) -> int:
    """The first place in [begin, end) with at least a value on an axis, along which the places ascend."""
    low, high = begin, end
    if high - low > 16:
        step = 1
        while low + step < high and codes[low + step, axis] < value:
            step *= 2
        high = min(high, low + step + 1)
        low += step // 2
    while low < high:
        middle = (low + high) // 2
        if codes[middle, axis] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled("float64[:, ::1](int64[:, ::1], float64[::1], int64[::1], int64[::1], float64[::1])")
def neighbour_sums(
    codes: IntArray, counts: FloatArray, group_end: IntArray, asked: IntArray, weights: FloatArray
) -> FloatArray:
    """Weighted sums over the other keys that occur near each asked one.

    `codes` (K, axes): categories on the ordinal variables, -1 missing, sorted by nominal group and then by
    the axes; `group_end` (K,) the first place after a key's group. Keys are near up to the distance
    len(weights) - 1 on every axis, with the product of the weights of the distances.

    Row: sum of w f, of w^2 f, and for each axis of w f x and w f x^2, x the signed distance.
    """
    axes, reach = codes.shape[1], len(weights) - 1
    sums = np.zeros((len(asked), 2 + 2 * axes))
    position = np.zeros(axes + 1, dtype=np.int64)
    ends = np.zeros(axes + 1, dtype=np.int64)
    begin, place = 0, 0
    for row in range(len(asked)):
        place = asked[row]
        # Groups stand one after the other, and asked places ascend: the group's begin only grows.
        while group_end[begin] <= place:
            begin = group_end[begin]
        level = 0
        position[0], ends[0] = begin, group_end[place]
        while level >= 0:
            at, end = position[level], ends[level]
            own = codes[place, level]
            if at >= end or codes[at, level] > own + reach:
                level -= 1
                continue
            value = codes[at, level]
            if value < own - reach or (value < 0) != (own < 0):
                lowest = max(own - reach, 0) if own >= 0 else -1
                if value >= lowest:
                    level -= 1
                    continue
                position[level] = _first_from(codes, level, at, end, lowest)
                continue
            after = _first_from(codes, level, at, end, value + 1)
            position[level] = after
            if level < axes - 1:
                level += 1
                position[level], ends[level] = at, after
                continue
            if at == place:
                continue
            weight = 1.0
            for axis in range(axes):
                weight *= weights[abs(codes[at, axis] - codes[place, axis])]
            mass = weight * counts[at]
            sums[row, 0] += mass
            sums[row, 1] += weight * mass
            for axis in range(axes):
                away = codes[at, axis] - codes[place, axis]
                sums[row, 2 + 2 * axis] += mass * away
                sums[row, 3 + 2 * axis] += mass * away * away
    return sums


@compiled("float64(float64[::1], float64[::1], float64, float64, int64)")
def _tilted(mass: FloatArray, slope: FloatArray, mean: float, square: float, degree: int) -> float:
    """Sum of mass e^(b x + c x^2) with b and c (in place) by which the mean and mean square of x are met.

    Newton's method on a concave likelihood, each step halved until it does not fall.
    """
    size = len(mass)
    reach = size // 2
    b, c = slope[0], slope[1]
    total, value = 1.0, -np.inf
    step_b, step_c = 0.0, 0.0
    for _ in range(40):
        scale, taken = 1.0, False
        new_b, new_c, now, all_mass = b, c, value, total
        m1, m2, m3, m4 = 0.0, 0.0, 0.0, 0.0
        for _ in range(12):
            all_mass, m1, m2, m3, m4 = 0.0, 0.0, 0.0, 0.0, 0.0
            new_b, new_c = b + scale * step_b, c + scale * step_c
            if abs(new_b) <= STEEPEST and abs(new_c) <= STEEPEST:
                for step in range(size):
                    x = float(step - reach)
                    part = mass[step] * exp(new_b * x + new_c * x * x)
                    all_mass += part
                    m1 += part * x
                    m2 += part * x * x
                    m3 += part * x * x * x
                    m4 += part * x * x * x * x
                now = new_b * mean + new_c * square - log(all_mass)
                if now >= value - 1e-14:
                    taken = True
                    break
            scale *= 0.5
        if not taken:
            break
        b, c, value, total = new_b, new_c, now, all_mass
        m1, m2, m3, m4 = m1 / total, m2 / total, m3 / total, m4 / total
        gap_1, gap_2 = mean - m1, square - m2
        v11 = m2 - m1 * m1 + 1e-12
        if degree == 1:
            step_b, step_c = gap_1 / v11, 0.0
        else:
            v12, v22 = m3 - m1 * m2, m4 - m2 * m2 + 1e-12
            determinant = v11 * v22 - v12 * v12
            if determinant <= 1e-14 * v11 * v22:
                step_b, step_c = gap_1 / v11, 0.0
            else:
                step_b = (gap_1 * v22 - gap_2 * v12) / determinant
                step_c = (gap_2 * v11 - gap_1 * v12) / determinant
        if abs(step_b) + abs(step_c) <= 1e-10:
            break
    slope[0], slope[1] = b, c
    return total


@compiled("float64[::1](float64[::1], int64, float64[::1], float64[::1], int64)")
def _axis_mass(
    mass: FloatArray, own: int, weights: FloatArray, shares: FloatArray, categories: int
) -> FloatArray:
    """What the base expects at each distance on an axis, over what it expects at 0, times the weights.

    `mass` (2 reach + 1,) is filled in place; its sum, and the mean and mean square of the distance.
    """
    reach = len(weights) - 1
    total, first, second = 0.0, 0.0, 0.0
    for step in range(2 * reach + 1):
        away = step - reach
        mass[step] = 0.0
        if own < 0:
            # Missing is near to missing only.
            mass[step] = 1.0 if away == 0 else 0.0
        elif 0 <= own + away < categories:
            mass[step] = weights[abs(away)] * shares[own + away] / shares[own]
        total += mass[step]
        first += mass[step] * away
        second += mass[step] * away * away
    return np.array([total, first / total, second / total])


@compiled(
    "float64[::1](int64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], int64[::1],"
    " int64, float64)"
)
def local_ratios(
    codes: IntArray,
    sums: FloatArray,
    base: FloatArray,
    weights: FloatArray,
    shares: FloatArray,
    categories: IntArray,
    degree: int,
    prior: float,
) -> FloatArray:
    """How many times what the base expects there is in each key, by a local polynomial of its neighbours.

    `codes` and `sums` (rows, ...) as `neighbour_sums` has them, `base` (rows,) the base's mean of each key,
    `shares` (axes, most categories) the margins of the axes. The model of the neighbourhood is
    base * exp(a + sum over axes of b x + c x^2), c = 0 where `degree` is 1, b = 0 too where it is 0, and the
    neighbourhood is a box: its sums are products over the axes, and each axis has its own b and c, by
    which the mean and mean square of x are met. `prior` records spread as the base expects are added. The key
    itself is left out: it is put in with its own fitted mean until that stays.
    """
    axes = codes.shape[1]
    found = np.empty(len(codes))
    mass = np.zeros((axes, 2 * len(weights) - 1))
    plain, slopes = np.zeros((axes, 3)), np.zeros((axes, 2))
    for row in range(len(codes)):
        product = 1.0
        for axis in range(axes):
            plain[axis] = _axis_mass(mass[axis], codes[row, axis], weights, shares[axis], categories[axis])
            product *= plain[axis, 0]
        slopes[:] = 0.0
        expected = base[row] * (product - 1.0)
        if expected <= 0.0:
            found[row] = 1.0
            continue
        records = sums[row, 0] + prior
        ratio = records / (expected + prior)
        scale = 1.0 + prior / expected
        # The prior's own x and x^2: those of the base without the key, at which x is 0.
        share = prior * product / (product - 1.0)
        for _ in range(ROUNDS if degree > 0 and sums[row, 0] > 0.0 else 0):
            whole = records + scale * ratio * base[row]
            fitted = 1.0
            for axis in range(axes):
                mean = (sums[row, 2 + 2 * axis] + share * plain[axis, 1]) / whole
                square = (sums[row, 3 + 2 * axis] + share * plain[axis, 2]) / whole
                fitted *= _tilted(mass[axis], slopes[axis], mean, square, degree)
            if fitted <= 1.0:
                break
            before, ratio = ratio, records / (scale * base[row] * (fitted - 1.0))
            if abs(ratio - before) <= CLOSE * ratio:
                break
        found[row] = ratio
    return found
