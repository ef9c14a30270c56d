"""Regions of the data judged by what sums of powers would tell of the value farthest out in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import Region
from sdcgate.facility.differencing import TooManyDifferences
from sdcgate.facility.region_moments import MomentsByRecords, MomentsBySums, RegionMoments
from sdcgate.facility.region_records import (
    MOST_MEMBERS,
    RegionRecords,
    measures_of_region,
    variables_of_boxes,
)
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.sensitivity import CLOSE

AT_ONCE = 4_000_000
"""Records of regions that are looked at together."""


@dataclass(frozen=True, slots=True)
class PowerRegions:
    """Judges regions by moments of a measure, by sums where these cost less than records, or by sums of
    a function of it."""

    engine: Engine
    dataset: Dataset
    measure: str
    order: int
    """The highest moment that is told."""
    share: float
    """The share of its value by which the value farthest out must stay open."""
    coalition: int
    pulse: Callable[[], None]
    """Called again and again on the way; what it raises ends the work."""
    function: str = ""
    """Of which sums are told in place of the measure's, by records alone; empty of the measure itself."""
    _reader: RegionRecords = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_reader", RegionRecords(self.engine, self.dataset, self.measure))

    def unsafe(self, regions: Sequence[Region], measures: Sequence[str] = ()) -> BoolArray:
        """Which regions' moments tell the value farthest out too closely, shape (regions,).

        Raises:
            TooManyDifferences: it takes more records than can be looked at.
        """
        del measures
        found = np.zeros(len(regions), dtype=np.bool_)
        boxes = [box for region in regions for box in (*region.inside, *region.outside)]
        moments = self._moments(variables_of_boxes(boxes))
        waiting: list[tuple[int, Any]] = []
        members = looked_at = 0
        for place, region in enumerate(regions):
            self.pulse()
            names = measures_of_region(region)
            if names is None:
                found[place] = True
                continue
            records, chosen = moments.chosen(region, names)
            if records:
                waiting.append((place, chosen))
            members += records
            if members > AT_ONCE:
                self._judge(moments, waiting, found)
                looked_at, members, waiting = looked_at + members, 0, []
            if looked_at > MOST_MEMBERS:
                raise TooManyDifferences(f"more than {MOST_MEMBERS} records to look at")
        self._judge(moments, waiting, found)
        return found

    def _moments(self, variables: tuple[str, ...]) -> RegionMoments[Any]:
        if not self.function and self.engine.sums_rather_than_records(self.dataset):
            return MomentsBySums(
                self.engine, self.dataset, self.measure, variables, self.order, self.coalition, self.pulse
            )
        return MomentsByRecords(self._reader, variables, self.order, self.coalition, self.function)

    def _judge(
        self, moments: RegionMoments[Any], waiting: Sequence[tuple[int, Any]], found: BoolArray
    ) -> None:
        if waiting:
            apart = moments.closest([chosen for _, chosen in waiting]) > self.share * (1 + CLOSE)
            # A comparison with a NaN is not "safe".
            found[[place for place, _ in waiting]] |= ~apart
