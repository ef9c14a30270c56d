"""Whether records stand in random order: neighbours that are alike more often than chance makes them.

A file in the order of interviews, of households or of the frame tells more than its variables do.
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from sdcgate.methods.cells import IntArray


@dataclass(frozen=True, slots=True)
class NeighbourTest:
    """Neighbours with the same value, against random order."""

    neighbours: int
    """Records whose next record has the same value."""
    expected: float
    """Their expectation in random order, sum of n_c (n_c - 1) / n."""
    deviation: float
    """How many standard deviations there are more (or fewer, below 0)."""


def neighbour_test(values: IntArray) -> NeighbourTest:
    """Test whether records with the same value stand together; `values` (records,), any integers.

    In random order, n - neighbours is the number of runs of several kinds. With S2 and S3 the sums of squares
    and cubes of the frequencies its variance is (S2 (S2 + n (n + 1)) - 2 n S3 - n^3) / (n^2 (n - 1)); Barton
    and David, Multiple Runs, Biometrika 44 (1957). Raises ValueError where `values` is not one a record.
    """
    given = np.asarray(values)
    if given.ndim != 1:
        raise ValueError(f"values must be one a record, not {given.shape}")
    n = len(given)
    if n < 2:
        return NeighbourTest(0, 0.0, 0.0)
    counts = [int(count) for count in np.unique(given, return_counts=True)[1]]
    s2, s3 = sum(count**2 for count in counts), sum(count**3 for count in counts)
    neighbours = int((given[1:] == given[:-1]).sum())
    expected = (s2 - n) / n
    variance = (s2 * (s2 + n * (n + 1)) - 2 * n * s3 - n**3) / (n**2 * (n - 1))
    difference = neighbours - expected
    if variance <= 0:
        return NeighbourTest(neighbours, expected, 0.0 if abs(difference) < 1e-9 else inf)
    return NeighbourTest(neighbours, expected, difference / sqrt(variance))
