"""Counts, sums and extremes of groups as statements return them: whole numbers of a snapshot.

Python's whole numbers are as long as they need to be, and differences of them keep the digits that those of
doubles would lose. What is divided and multiplied from then on are distances from a mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class GroupMeans:
    """Means of groups, each as a whole number and a rest."""

    centres: list[int] = field(repr=False)
    shifts: FloatArray = field(repr=False)

    def distances(self, values: Sequence[int]) -> FloatArray:
        """How far a value of each group lies from its mean, shape (groups,)."""
        whole = [value - centre for value, centre in zip(values, self.centres, strict=True)]
        found: FloatArray = np.abs(np.array(whole, dtype=np.float64) - self.shifts)
        return found


@dataclass(frozen=True, eq=False)
class GroupRanges:
    """Of groups, none of them empty, their records, and the sum, least and greatest value of these."""

    numbers: IntArray
    """Which groups they are, ascending."""
    records: list[int] = field(repr=False)
    sums: list[int] = field(repr=False)
    least: list[int] = field(repr=False)
    most: list[int] = field(repr=False)

    @cached_property
    def mean(self) -> GroupMeans:
        """Their own mean."""
        pairs = list(zip(self.records, self.sums, strict=True))
        centres = [(2 * total + n) // (2 * n) for n, total in pairs]
        rests = [(total - n * centre) / n for (n, total), centre in zip(pairs, centres, strict=True)]
        return GroupMeans(centres, np.array(rests, dtype=np.float64))

    def farthest(self, mean: GroupMeans) -> FloatArray:
        """How far they lie from a mean at most, shape (groups,)."""
        found: FloatArray = np.maximum(mean.distances(self.least), mean.distances(self.most))
        return found


def inverse(values: FloatArray) -> FloatArray:
    """1 over each, 0 of none."""
    found: FloatArray = np.divide(1.0, values, out=np.zeros(len(values)), where=values > 0)
    return found


def whole(rows: "pa.Table", name: str) -> list[int]:
    """A column of whole numbers, whatever the database took them for."""
    return [int(value) for value in rows[name].to_pylist()]


def doubles(rows: "pa.Table", name: str) -> FloatArray:
    """A column of whole numbers that are longer than 64 bits, or may be, as the nearest doubles."""
    return np.array(whole(rows, name), dtype=np.float64)
