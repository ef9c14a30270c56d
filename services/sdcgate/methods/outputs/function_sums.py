"""How closely sums of inverses of a measure, beside those of the measure itself, tell its outermost values.

Who knows number and sum of values, and the sum F of a convex function of them, knows that no value is farther
out than where F is used up: of the others, who share the rest of the sum, the function adds least where they
are equal (Jensen 1906, Acta Mathematica 30). Of squares that is the bound of Samuelson (1968).
"""

from collections.abc import Callable

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.moments import known_beside, outermost
from sdcgate.methods.outputs.power_sums import closest
from sdcgate.methods.outputs.sample import Sample

STEPS = 60
"""Halvings: an interval becomes 1e-18 of what it was."""


def closeness_of_inverse(sample: Sample, coalition: int) -> FloatArray:
    """The least share of a value by which it stays open, shape (groups,); infinite of no records.

    Known are number, sum, sum of inverses and of these squared; values are above 0. Greatest and least are
    bounded by the sums of both, of the least its inverse; and both by the variance of the inverses.
    `coalition` units beside the one that is estimated put together what they know.
    """
    least, greatest = outermost(sample)
    variance = closest(sample.with_values(1.0 / sample.values), 2, coalition)
    found = [np.where(greatest >= 0, variance, np.inf)]
    for target, towards_zero in ((least, True), (greatest, False)):
        value = np.where(target >= 0, sample.values[target], 1.0)
        bound = _bound(sample, target, coalition, towards_zero)
        apart = value / bound - 1.0 if towards_zero else bound / value - 1.0
        found.append(np.where(target >= 0, np.maximum(apart, 0.0), np.inf))
    closeness: FloatArray = np.min(found, axis=0)
    return closeness


def _bound(sample: Sample, target: IntArray, coalition: int, towards_zero: bool) -> FloatArray:
    """How far out the target's value can be, its coalition's records taken out."""
    left = np.where(known_beside(sample, target, coalition), 0.0, 1.0)
    n, sums = sample.sums(left), sample.sums(left * sample.values)
    inverses = sample.sums(left / sample.values)
    value = np.where(target >= 0, sample.values[target], 1.0)

    def possible(at: FloatArray) -> BoolArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            found: BoolArray = 1.0 / at + (n - 1) ** 2 / (sums - at) <= inverses
        return found

    return _last(possible, value, np.zeros(len(value)) if towards_zero else np.maximum(sums, value))


def _last(possible: Callable[[FloatArray], BoolArray], inside: FloatArray, outside: FloatArray) -> FloatArray:
    """Where what is possible ends between a value that is and one that is not, on the near side."""
    for _ in range(STEPS):
        middle = (inside + outside) / 2
        there = possible(middle)
        inside, outside = np.where(there, middle, inside), np.where(there, outside, middle)
    return inside
