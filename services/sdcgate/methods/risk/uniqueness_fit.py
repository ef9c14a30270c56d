"""Does a uniqueness model fit the file: keys of 1, 2 and 3 units that it expects against those there are.

What a sample tells of F_k beyond its uniques stands in the keys of two and three units: theta_U by the design
rests on those of two alone, its variance on those of three (Skinner and Carter 2003). A model that misses
them extrapolates from sizes that say nothing of rare keys. The bound between a rough fit and none is our own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from sdcgate.methods.risk.uniqueness import NORMAL_95

LARGEST_SIZE = 3
GROSS = 0.2
"""Deviation from which a model does not fit."""


@dataclass(frozen=True, slots=True)
class SizeFit:
    """The size of keys that a model misses most."""

    size: int
    """1 to 3; 0 where each is within what chance explains."""
    deviation: float
    """Keys of that size expected beyond those found, as a share of these; below 0 where too few."""

    @property
    def fits(self) -> bool:
        """Whether the model is within chance at every size."""
        return self.size == 0

    @property
    def rough(self) -> bool:
        """Whether it is off by no more than a fifth."""
        return abs(self.deviation) <= GROSS


def size_fit(expected: Sequence[float], found: Sequence[int]) -> SizeFit:
    """The size, of keys of one to three units, at which the expected number is furthest from the one found.

    `expected` and `found`: keys of 1, 2, ... units. A difference within 1.96 roots of the expected number
    counts for nothing: numbers of keys of one size are about Poisson.
    """
    worst = SizeFit(0, 0.0)
    for place, (wanted, there) in enumerate(zip(expected[:LARGEST_SIZE], found[:LARGEST_SIZE], strict=True)):
        deviation = (wanted - there) / max(there, 1)
        if abs(wanted - there) > NORMAL_95 * sqrt(wanted) and abs(deviation) > abs(worst.deviation):
            worst = SizeFit(place + 1, deviation)
    return worst
