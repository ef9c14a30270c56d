"""Sums of powers of a measure in groups, and how closely they tell the value farthest out.

Who knows count, mean and variance knows the sum of squares; of skewness and kurtosis, those of third and
fourth powers; of their standard errors, those up to sixth and eighth ones. Such sums add up over groups as
sums of a measure do, so that they can be subtracted.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.moments import TOGETHER, moment_bounds
from sdcgate.methods.outputs.sample import Sample, added


@dataclass(frozen=True, slots=True, eq=False)
class PowerSums:
    """Sums of one power of a measure, each shape (groups,); hidden from repr."""

    order: int
    totals: FloatArray = field(repr=False)
    """Sums of the values."""
    sums: FloatArray = field(repr=False)
    """Sums of their powers."""
    absolute_sums: FloatArray = field(repr=False)
    largest: FloatArray = field(repr=False)
    """The most that one unit adds to the absolute sum."""
    closeness: FloatArray = field(repr=False)
    """How closely moments up to this order tell the value farthest out, as in `moment_bounds`."""
    units: IntArray = field(repr=False)
    records: IntArray = field(repr=False)
    function: str = ""
    """Of what the power is, as formulas name it; empty of the measure itself."""

    def placed(self, places: IntArray, number: int) -> "PowerSums":
        """Of `number` groups, those of these at some places; the others are empty."""

        def at(values: FloatArray) -> FloatArray:
            found = np.zeros(number)
            found[places] = values
            return found

        def counted(values: IntArray) -> IntArray:
            found = np.zeros(number, dtype=np.int64)
            found[places] = values
            return found

        return PowerSums(
            self.order,
            totals=at(self.totals),
            sums=at(self.sums),
            absolute_sums=at(self.absolute_sums),
            largest=at(self.largest),
            closeness=at(self.closeness),
            units=counted(self.units),
            records=counted(self.records),
            function=self.function,
        )

    def part(self, groups: slice) -> "PowerSums":
        """Of some of the groups."""
        return PowerSums(
            self.order,
            totals=self.totals[groups],
            sums=self.sums[groups],
            absolute_sums=self.absolute_sums[groups],
            largest=self.largest[groups],
            closeness=self.closeness[groups],
            units=self.units[groups],
            records=self.records[groups],
            function=self.function,
        )


def power_sums(sample: Sample, order: int, coalition: int) -> PowerSums:
    """Sums of x^order over the records of each group, and what they tell beside count, sum and lower orders.

    `coalition` units beside the one that is estimated put together what they know.
    """
    return summed(sample, sample.values**order, order, closest(sample, order, coalition))


def summed(sample: Sample, powers: FloatArray, order: int, closeness: FloatArray) -> PowerSums:
    """Sums of what a sample's records add, shape (records,), with what they tell, shape (groups,)."""
    groups, _, _ = sample.unit_groups
    held = sample.unit_sums(np.abs(powers))
    largest = np.zeros(sample.number_of_groups)
    np.maximum.at(largest, groups, held)
    return PowerSums(
        order,
        totals=sample.sums(sample.values),
        sums=sample.sums(powers),
        absolute_sums=added(groups, held, sample.number_of_groups),
        largest=largest,
        closeness=closeness,
        units=sample.units_of_groups,
        records=sample.records_of_groups,
    )


def closest(sample: Sample, order: int, coalition: int) -> FloatArray:
    """The least closeness of all moments from the second to an order, shape (groups,)."""
    bounds = [bound.closeness for bound in moment_bounds(sample, order, coalition)]
    found: FloatArray = np.min(bounds, axis=0)
    return found


def surely_apart(
    squares: FloatArray,
    records: FloatArray,
    widest: FloatArray,
    order: int,
    share: float,
    coalition_records: int,
) -> BoolArray:
    """Whether moments of groups surely leave the value farthest out open by a share of it, shape (groups,).

    Units have one record each: of how far totals lie apart the squares of records say nothing. Nothing is
    known of the groups but their sums of squared deviations, counts, and that no two values lie farther apart
    than `widest`, nor any farther from 0. With S the squared deviations and c records of the coalition, those
    of the others from their own mean are at least S - c w^2 - (c w)^2 / (n - c), as each deviates by w at
    most; and a sum of |d|^k over n values is at least S^(k/2) / n^(k/2 - 1) (power means). So the bound of
    `moment_bounds` lies at least `reach` from the mean, and the value at most w. Of fourth moments and more
    nothing is sure, as all together may tell values that lie far apart: two that all have.

    Args:
        squares: sums of squared deviations from the groups' means.
        records: of the groups.
        widest: w, at least each distance between two values and each absolute value.
        order: the highest moment that is told.
        share: which share of the value must stay open.
        coalition_records: records of the coalition, at most.
    """
    others = records - coalition_records
    lost = coalition_records * widest**2
    with np.errstate(divide="ignore", invalid="ignore"):
        left = squares - lost - (coalition_records * widest) ** 2 / others
        reach = np.sqrt(np.maximum(left, 0.0) * (others - 1) / others) * records ** -(0.5 - 1 / order)
    apart: BoolArray = (others > 1) & (reach > (1 + share) * widest) & (order < TOGETHER)
    return apart
