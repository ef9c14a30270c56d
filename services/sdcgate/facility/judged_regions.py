"""Regions of the data judged by what sums over them would tell of one unit, by records or by sums.

Sums are computed where the records lie, and nothing else leaves it; both roads say the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from sdcgate.engine.queries import Region
from sdcgate.facility.differencing import TooManyDifferences
from sdcgate.facility.region_records import MOST_MEMBERS, measures_of_region, variables_of_boxes
from sdcgate.methods.cells import BoolArray

AT_ONCE = 4_000_000
"""Records of regions that are looked at together."""
Chosen = TypeVar("Chosen")
"""Some region with records, as a road needs it."""


class RegionRoad(Protocol[Chosen]):
    """Counts the records of regions, and says which tell too much."""

    def chosen(self, region: Region, having: frozenset[str]) -> tuple[int, Chosen]:
        """How many records of a region have some measures, and these as `unsafe` takes them."""

    def unsafe(self, chosen: Sequence[Chosen]) -> BoolArray:
        """Which of some regions that have records tell too much, shape (regions,)."""


@dataclass(frozen=True, slots=True)
class JudgedRegions:
    """Judges regions, as many at once as there is room for."""

    road: Callable[[tuple[str, ...]], RegionRoad[Any]]
    """To judge regions that restrict none but some variables."""
    pulse: Callable[[], None]
    """Called again and again on the way; what it raises ends the work."""

    def unsafe(self, regions: Sequence[Region], measures: Sequence[str] = ()) -> BoolArray:
        """Which regions tell too much, shape (regions,): those without records do not.

        Raises:
            TooManyDifferences: it takes more records than can be looked at.
        """
        del measures
        found = np.zeros(len(regions), dtype=np.bool_)
        boxes = [box for region in regions for box in (*region.inside, *region.outside)]
        road = self.road(variables_of_boxes(boxes))
        waiting: list[tuple[int, Any]] = []
        members = looked_at = 0
        for place, region in enumerate(regions):
            self.pulse()
            names = measures_of_region(region)
            if names is None:
                found[place] = True
                continue
            records, chosen = road.chosen(region, names)
            if records:
                waiting.append((place, chosen))
            members += records
            if members > AT_ONCE:
                _judge(road, waiting, found)
                looked_at, members, waiting = looked_at + members, 0, []
            if looked_at > MOST_MEMBERS:
                raise TooManyDifferences(f"more than {MOST_MEMBERS} records to look at")
        _judge(road, waiting, found)
        return found


def _judge(road: RegionRoad[Any], waiting: Sequence[tuple[int, Any]], found: BoolArray) -> None:
    if waiting:
        found[[place for place, _ in waiting]] |= road.unsafe([chosen for _, chosen in waiting])
