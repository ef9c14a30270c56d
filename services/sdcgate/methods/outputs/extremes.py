"""Minimum, maximum and range: single units' values, which leave only where enough units have exactly them."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.percentiles import Percentiles
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import ExtremeFacts, extremes_of_groups


@dataclass(frozen=True, slots=True, eq=False)
class Extremes:
    """Least and greatest values of groups, each shape (groups,), NaN of an empty one."""

    minima: FloatArray = field(repr=False)
    maxima: FloatArray = field(repr=False)
    facts: tuple[ExtremeFacts, ExtremeFacts] = field(repr=False)
    """Of the minimum and the maximum: how many units share them."""

    @property
    def ranges(self) -> FloatArray:
        """Greatest less least value: it tells both as soon as one is known, so both must be safe."""
        return self.maxima - self.minima


def extremes(sample: Sample) -> Extremes:
    """Least and greatest value of each group, and the units and households that have exactly these."""
    occupied = sample.records_of_groups > 0
    found, facts = [], []
    for name, least in (("minimum", True), ("maximum", False)):
        values = extremes_of_groups(sample, sample.values, least)
        have = sample.values == values[sample.groups]
        homes = sample.households_at(sample.groups, sample.number_of_groups, have)
        facts.append(ExtremeFacts(name, sample.distinct_units(have), homes))
        found.append(np.where(occupied, values, np.nan))
    return Extremes(found[0], found[1], (facts[0], facts[1]))


def instead(percentiles: Percentiles, group: int) -> tuple[float | None, float | None]:
    """The outermost percentiles of a group that may leave: what to ask in place of minimum and maximum."""
    below = [p for p, there in zip(percentiles.points, percentiles.available[group], strict=True) if there]
    lower, upper = [p for p in below if p < 0.5], [p for p in below if p > 0.5]
    return (lower[0] if lower else None), (upper[-1] if upper else None)
