"""Interval disclosure: how often the original value lies near the masked value that is published for it.

Whoever reads a masked number takes the original to be about there. Sources: Domingo-Ferrer and Torra, *A
quantitative comparison of disclosure control methods for microdata* (2001), rank intervals; Mateo-Sanz, Sebe
and Domingo-Ferrer, *Outlier protection in continuous microdata masking* (PSD 2004), standard-deviation
intervals.
"""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.positions import at_positions


class Interval(Enum):
    """What the width of an interval is a share of."""

    STANDARD_DEVIATION = "standard_deviation"
    """The standard deviation of the masked variable: the interval is masked value +- width * s."""
    RANK = "rank"
    """The number of records: the interval runs between the masked values width * n ranks below and above."""


@dataclass(frozen=True, slots=True, eq=False)
class IntervalDisclosure:
    """Original values within the intervals around their masked values."""

    inside: BoolArray = field(repr=False)
    """Shape (records, variables)."""

    @property
    def of_variables(self) -> FloatArray:
        """Share of the records whose value is inside, shape (variables,)."""
        shares: FloatArray = self.inside.mean(axis=0)
        return shares

    @property
    def of_values(self) -> float:
        """Share of all values that are inside."""
        return float(self.inside.mean())

    @property
    def of_records(self) -> float:
        """Share of the records all of whose values are inside."""
        return float(self.inside.all(axis=1).mean())


def interval_disclosure(
    original: FloatArray, masked: FloatArray, width: float, interval: Interval
) -> IntervalDisclosure:
    """Which original values lie within the interval around their masked value; bounds are inside.

    Both files have the shape (records, variables), the same records in the same order. A masked variable that
    does not vary has the interval of one value, by either basis. Rank intervals among equal masked values
    start from the first and the last of their ranks.

    Raises ValueError where the shapes differ, for no records, values that are not finite and a width that is
    not finite and above 0 (by rank: at most 1).
    """
    before, after = checked_numbers(original, "original"), checked_numbers(masked, "masked")
    if before.shape != after.shape:
        raise ValueError("original and masked must have the same shape: the same records in the same order")
    largest = 1.0 if interval is Interval.RANK else float("inf")
    if not (np.isfinite(width) and 0.0 < width <= largest):
        raise ValueError("width must be finite and above 0; by rank at most 1")
    if interval is Interval.STANDARD_DEVIATION:
        deviation = after.std(axis=0, ddof=1 if len(after) > 1 else 0)
        return IntervalDisclosure(np.abs(before - after) <= width * deviation)
    lower, upper = np.empty_like(after), np.empty_like(after)
    steps, last = int(width * len(after)), len(after) - 1
    for place, column in enumerate(after.T):
        ordered = np.sort(column)
        first = np.searchsorted(ordered, column, "left")
        final = np.searchsorted(ordered, column, "right") - 1
        lower[:, place] = ordered[np.maximum(first - steps, 0)]
        upper[:, place] = ordered[np.minimum(final + steps, last)]
    return IntervalDisclosure((lower <= before) & (before <= upper))


def checked_numbers(values: FloatArray, name: str) -> FloatArray:
    """Numbers of the shape (records, variables) as floats. Raises ValueError where they are not usable."""
    numbers = np.asarray(values)
    if numbers.ndim != 2 or numbers.dtype.kind not in "iuf" or not numbers.size:
        raise ValueError(f"{name} must be numbers of the shape (records, variables), at least one")
    numbers = numbers.astype(np.float64)
    wrong = at_positions(np.asarray(~np.isfinite(numbers).all(axis=1)), f"{name} must be finite")
    if wrong:
        raise ValueError(wrong[0])
    return numbers
