"""How far out the outermost value of a group can lie that has all moments up to an even one told together.

Of n values with moments up to 2m each has a mass of 1/n. A distribution with these moments has at t at most
the mass 1 / (p_0(t)^2 + ... + p_m(t)^2), the Christoffel function of its orthonormal polynomials (Akhiezer,
The Classical Moment Problem, 1965, section 2.5; Shohat and Tamarkin, The Problem of Moments, 1943). So no
value lies where the squares sum to more than n. Beyond the greatest value, and so beyond all zeros of these
polynomials, they grow: the end of what is possible is one point. With m = 1 it is the bound of Samuelson
(1968), How deviant can you be?
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.outputs.bisection import last_possible
from sdcgate.methods.outputs.sample import Sample

TOLD = 1e-5
"""Of a step of the recurrence, in units of the value farthest out: up to it the next polynomial is taken to
be 0 at all values, which the moments tell then."""


@dataclass(frozen=True, slots=True, eq=False)
class Recurrence:
    """Orthonormal polynomials of groups of numbers from -1 to 1 whose mean is 0, up to a degree m.

    b[k] p_(k+1)(t) = (t - a[k]) p_k(t) - b[k-1] p_(k-1)(t), with p_0 = 1 and a[0] = 0.
    """

    records: FloatArray = field(repr=False)
    """n, shape (groups,)."""
    centres: FloatArray = field(repr=False)
    """a, shape (m, groups)."""
    steps: FloatArray = field(repr=False)
    """b, shape (m, groups); 0 where values are told."""

    @property
    def reflected(self) -> "Recurrence":
        """Of the numbers with the other sign."""
        return Recurrence(self.records, -self.centres, self.steps)


def recurrence_of(numbers: Sample, left: FloatArray, degree: int) -> Recurrence:
    """The recurrence of each group by the procedure of Stieltjes (1884), which never forms a moment.

    `numbers` are from -1 to 1, `left`, shape (records,), is 1 of those that count, whose mean is 0, or 0.
    """
    groups, records = numbers.groups, np.maximum(numbers.sums(left), 1.0)
    before, now = np.zeros(len(groups)), np.ones(len(groups))
    centres, steps = np.zeros((degree, len(records))), np.zeros((degree, len(records)))
    for k in range(degree):
        if k:
            centres[k] = numbers.sums(left * numbers.values * now**2) / records
        then = (numbers.values - centres[k][groups]) * now - (steps[k - 1][groups] * before if k else 0.0)
        steps[k] = _step(numbers.sums(left * then**2) / records)
        before, now = now, then * _inverse(steps[k])[groups]
    return Recurrence(records, centres, steps)


def recurrence_of_sums(
    records: Sequence[int], squares: Sequence[int], cubes: Sequence[int], fourths: Sequence[int], unit: int
) -> Recurrence:
    """The recurrence up to the second degree from sums of powers, as whole numbers of a unit, of each group.

    In exact fractions, as what is left of the fourth powers may be a small part of them.
    """
    centres, steps = np.zeros((2, len(records))), np.zeros((2, len(records)))
    for group, (n, *sums) in enumerate(zip(records, squares, cubes, fourths, strict=True)):
        second, third, fourth = (Fraction(one, n * unit) for one in sums)
        if second > 0:
            centre = third / second
            centres[1, group] = float(centre)
            steps[:, group] = float(second), float(max(fourth / second - centre**2 - second, Fraction(0)))
    return Recurrence(np.array(records, dtype=np.float64), centres, _step(steps))


def _step(squares: FloatArray) -> FloatArray:
    """Steps from the mean squares of the next polynomials before they are divided by them, of any shape."""
    step = np.sqrt(squares)
    found: FloatArray = np.where(step > TOLD, step, 0.0)
    return found


def farthest(recurrence: Recurrence, own: FloatArray) -> FloatArray:
    """How far above their mean the greatest numbers can lie by moments up to 2m, shape (groups,).

    `own` is where they lie. It is the same where the moments tell the numbers, and NaN where any is.
    """
    told = (recurrence.steps <= 0).any(axis=0)
    # By mean and variance alone, which say the least.
    most = np.sqrt(np.maximum(recurrence.records - 1.0, 0.0)) * recurrence.steps[0]

    def possible(at: FloatArray) -> BoolArray:
        found: BoolArray = _squares(recurrence, at) <= recurrence.records
        return found

    valid = np.isfinite(recurrence.steps).all(axis=0) & np.isfinite(recurrence.centres).all(axis=0)
    found = last_possible(possible, own, np.maximum(most, own))
    return np.where(valid, np.where(told, own, found), np.nan)


def _squares(recurrence: Recurrence, at: FloatArray) -> FloatArray:
    """The sum of the squared polynomials."""
    before, now = np.zeros(len(at)), np.ones(len(at))
    found = now.copy()
    for k in range(len(recurrence.steps)):
        step = recurrence.steps[k - 1] if k else 0.0
        then = ((at - recurrence.centres[k]) * now - step * before) * _inverse(recurrence.steps[k])
        before, now = now, then
        found += now**2
    return found


def _inverse(steps: FloatArray) -> FloatArray:
    return np.divide(1.0, steps, out=np.zeros(len(steps)), where=steps > 0)
