"""Rounding of single cells to multiples of a base: to the nearest, at random without bias, and to intervals.

None of them keeps a table additive; `controlled_rounding` does. Skinner, Statistical Disclosure Control for
Survey Data, 2.2.3; Willenborg and de Waal 2001, Elements of Statistical Disclosure Control, 9.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray, KeyArray
from sdcgate.methods.tables.cell_key import fractions_of_keys, keys_for

MULTIPLE = 1e-9
"""By how much, as a share of the base, a multiple of it may be off."""


def floors(values: FloatArray, base: float) -> tuple[FloatArray, FloatArray]:
    """Each value as a multiple of the base and what remains: whole numbers, and remainders in [0, base).

    Raises ValueError unless the base is greater than 0 and all values are finite.
    """
    if not (np.isfinite(base) and base > 0):
        raise ValueError("the base must be finite and greater than 0")
    if not np.all(np.isfinite(values)):
        raise ValueError("values must be finite")
    nearest = np.rint(values / base)
    exact = np.abs(values / base - nearest) <= MULTIPLE
    whole = np.where(exact, nearest, np.floor(values / base))
    return whole, np.where(exact, 0.0, values - whole * base)


def nearest_multiples(values: FloatArray, base: float) -> FloatArray:
    """Deterministic rounding: the nearest multiple of the base, the upper one of two.

    Biased where values within a base are not spread evenly, as small counts are.
    """
    whole, remainders = floors(values, base)
    rounded: FloatArray = base * (whole + (2 * remainders >= base))
    return rounded


def random_multiples(values: FloatArray, base: float, keys: KeyArray) -> FloatArray:
    """Unbiased random rounding: a remainder r is rounded up with probability r / base.

    `keys`, shape (cells,), are 64 random bits a cell. Cell keys make the same contributors have the same
    rounding; other keys must never be drawn twice for a population, for the mean of the roundings is the
    value.
    """
    whole, remainders = floors(values, base)
    up = fractions_of_keys(keys_for(keys, "random rounding")) < remainders / base
    rounded: FloatArray = base * (whole + up)
    return rounded


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """What may be the true value of each cell: from `lower` to `upper`, both included, shape (cells,)."""

    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)


def interval_classes(values: FloatArray, base: float, whole: bool = True) -> Intervals:
    """The classes published in place of values: from a multiple of the base to the next.

    The next one itself is in no class where values are `whole`: 0 to base - 1, base to 2 base - 1, and so on.
    """
    below, _ = floors(values, base)
    return Intervals(base * below, base * below + (base - 1 if whole else base))


def behind_nearest(rounded: FloatArray, base: int) -> Intervals:
    """The counts that round to the nearest multiples."""
    return Intervals(np.maximum(0.0, rounded - base // 2), rounded + (base - 1) // 2)


def behind_neighbours(rounded: FloatArray, base: int, steps: int | IntArray = 1) -> Intervals:
    """The counts less than so many bases, of all or a cell, from their rounded values; a zero stays one."""
    width = steps * base - 1
    return Intervals(np.maximum(np.where(rounded > 0, 1.0, 0.0), rounded - width), rounded + width)


def behind_small_counts(rounded: FloatArray, inner: BoolArray, base: int) -> Intervals:
    """The counts behind a table whose small inner counts are 0 or the base.

    Behind a margin of 0 is a small count, too, as no other falls below the base; of other margins it is only
    known that they are sums.
    """
    made = inner & (rounded == base)
    lower = np.where(inner, np.where(made, 1.0, rounded), 0.0)
    upper = np.where(inner, rounded, inner.sum() * (base - 1.0) + rounded)
    return Intervals(lower, np.where(rounded == 0, base - 1.0, upper))
