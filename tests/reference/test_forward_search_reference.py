"""The forward search against the same rules written out: every sum over the full table, no short cut."""

from itertools import combinations
from math import sqrt

import numpy as np
import pytest

from sdcgate.methods.risk.forward_search import Ended, forward_search
from sdcgate.methods.risk.loglinear import hierarchical, key_table, main_effects


def summed(table, kept):
    return table.sum(tuple(axis for axis in range(table.ndim) if axis not in kept), keepdims=True)


def one_step(means, counts, kept):
    wanted, sums = summed(counts, kept), summed(means, kept)
    return means * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)


def fitted(counts, generators):
    """Margin after margin over the full table, until all are met to a millionth of a record."""
    means, moved = np.ones(counts.shape), 1.0
    while moved > 1e-6:
        for one in generators:
            means = one_step(means, counts, one)
        moved = max(float(np.abs(summed(means, one) - summed(counts, one)).max()) for one in generators)
    return means


def criterion(counts, means, fraction):
    """B_2 over the root of its variance, Skinner and Shlomo (2008), by h = (1 - e^-t)/t at every cell."""
    filled = means > 0
    f, mu = counts[filled], means[filled]
    t = (1 - fraction) * mu / fraction
    first = np.where(t < 1e-3, -0.5 + t / 3 - t**2 / 8, (np.exp(-t) * (1 + t) - 1) / t**2)
    second = np.where(t < 1e-3, 1 / 3 - t / 4 + t**2 / 10, (2 - np.exp(-t) * (t**2 + 2 * t + 2)) / t**3)
    a = -mu * np.exp(-mu) * (1 - fraction) * first / fraction
    b = mu * np.exp(-mu) * (1 - fraction) ** 2 * second / (2 * fraction**2)
    bias = (a * (f - mu) + b * ((f - mu) ** 2 - f)).sum()
    return bias / sqrt((a**2 * mu + 2 * b**2 * mu**2).sum())


def slow_search(counts, fraction, order=3):
    """Steps, and the interactions of the model."""
    variables = counts.ndim
    taken = set(main_effects(variables))
    means = fitted(counts, main_effects(variables))
    now = criterion(counts, means, fraction)
    steps, size = [((), now)], 2
    while abs(now) > 1.96 and size <= order:
        trials = []
        for one in set(combinations(range(variables), size)) - taken:
            filled = counts.sum() >= 5 * summed(counts, one).size
            if filled and taken.issuperset(combinations(one, size - 1)):
                trials.append((abs(criterion(counts, one_step(means, counts, one), fraction)), one))
        best = None
        for _, one in sorted(trials)[:5]:
            richer = fitted(counts, hierarchical((*taken, one), variables))
            found = criterion(counts, richer, fraction)
            if abs(found) < abs(now):
                best, means, now = one, richer, found
        if best is None:
            size += 1
        else:
            taken.add(best)
            steps.append((best, now))
    return steps


@pytest.mark.parametrize(
    ("seed", "shape", "fraction"),
    [
        (2, (2, 3, 4, 5, 4), 0.1),
        (4, (2, 2, 3, 3, 4), 0.3),
        (5, (4, 5, 5, 6), 0.01),
        (6, (4, 5, 6, 7, 5), 0.05),
        (7, (3, 4, 6, 8, 4, 3), 0.1),
    ],
)
def test_the_search_takes_the_steps_of_the_rules_written_out(seed, shape, fraction):
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 5, 2500)
    codes = []
    for categories in shape:
        chances = rng.dirichlet(np.full(categories, 0.5), 5).cumsum(axis=1)
        own = (rng.random(2500)[:, None] > chances[hidden]).sum(axis=1).clip(max=categories - 1)
        codes.append(np.unique(own, return_inverse=True)[1])
    codes = np.column_stack(codes)
    counts = np.zeros(codes.max(axis=0) + 1)
    np.add.at(counts, tuple(codes.T), 1.0)
    wanted = slow_search(counts, fraction)
    found = forward_search(key_table(codes, fraction=fraction))
    assert [step.added for step in found.steps] == [added for added, _ in wanted]
    assert [step.criterion for step in found.steps] == pytest.approx([value for _, value in wanted], abs=0.02)
    assert (found.ended is Ended.FITS) == (abs(wanted[-1][1]) <= 1.96)
