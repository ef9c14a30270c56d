"""The households that records count for: runs, tails and cells of few of them are those of a few families.

What a household has in common, as its income or its dwelling, is one value however many members say it: ten
people of two families in a window tell two families' values.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Households:
    """Who a record counts for, and how much of a household that is.

    With ids a holder is a household, of which each counts once. Where only sizes are known a holder is a unit
    that counts 1/size, as in tables.
    """

    holders: IntArray = field(repr=False)
    """Holder of each record, 0.., shape (records,)."""
    shares: FloatArray = field(repr=False)
    """How much of a household each holder is, shape (holders,)."""

    def part(self, records: IntArray) -> "Households":
        """Of some records, in their order."""
        return Households(self.holders[records], self.shares)

    def within(self, first: int, last: int) -> float:
        """Households with a record in a run: its first record, and the one after its last."""
        return float(self.shares[np.unique(self.holders[first:last])].sum())

    def at_places(self, places: IntArray, number: int) -> FloatArray:
        """Households with a record at each of `number` places, shape (number,); `places` are (records,)."""
        span = len(self.shares)
        pairs = np.unique(places * span + self.holders)
        return np.bincount(pairs // span, self.shares[pairs % span], number).astype(np.float64)


def households_by_id(ids: IntArray, unknown: int | None = None) -> Households:
    """Of the id of each record's household; who has the `unknown` one counts for nothing, as in tables."""
    distinct, holders = np.unique(ids, return_inverse=True)
    return Households(holders.astype(np.int64), (distinct != unknown).astype(np.float64))


def households_by_size(units: IntArray, shares: FloatArray) -> Households:
    """Of each record's unit, 0.., and the share that it is of its household: the least that a unit has."""
    least = np.full(int(units.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, units, shares)
    return Households(units, np.where(np.isfinite(least), least, 0.0))
