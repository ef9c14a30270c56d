"""Regions of the data judged by what sums of powers would tell of the value farthest out in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import Records, Region
from sdcgate.facility.differencing import TooManyDifferences
from sdcgate.facility.region_records import RegionRecords, measures_of, variables_of_boxes
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.outputs.power_sums import closest
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.tables.sensitivity import CLOSE

MOST_MEMBERS = 100_000_000
"""Records of all regions of one statistic that are looked at."""
AT_ONCE = 4_000_000
"""Records of regions that are looked at together."""


@dataclass(frozen=True, slots=True)
class PowerRegions:
    """Judges regions by the moments of a measure; reads the records, which do not leave the house."""

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
        variables = variables_of_boxes(boxes)
        waiting: list[tuple[int, Records, BoolArray]] = []
        members = looked_at = 0
        for place, region in enumerate(regions):
            self.pulse()
            with_measures = {measures_of(box) for box in (*region.inside, *region.outside)}
            if len(with_measures) > 1:
                # Who lacks a measure that one of both boxes asks for is not read: nothing is told of him.
                found[place] = True
                continue
            (names,) = with_measures
            records = self._reader.having(variables, names)
            inside = self._members(records, region)
            waiting.append((place, records, inside))
            members += int(np.count_nonzero(inside))
            if members > AT_ONCE:
                self._judge(waiting, found)
                looked_at, members, waiting = looked_at + members, 0, []
            if looked_at > MOST_MEMBERS:
                raise TooManyDifferences(f"more than {MOST_MEMBERS} records to look at")
        self._judge(waiting, found)
        return found

    def _judge(self, waiting: Sequence[tuple[int, Records, BoolArray]], found: BoolArray) -> None:
        occupied = [(place, records, inside) for place, records, inside in waiting if inside.any()]
        if not occupied:
            return
        sample = Sample(
            np.concatenate([records.measures[self.measure][inside] for _, records, inside in occupied]),
            np.repeat(np.arange(len(occupied)), [np.count_nonzero(inside) for *_, inside in occupied]),
            np.concatenate([records.unit[inside] for _, records, inside in occupied]),
            len(occupied),
        )
        apart = closest(sample, self.order, self.coalition) > self.share * (1 + CLOSE)
        found[[place for place, *_ in occupied]] |= ~apart

    def _members(self, records: Records, region: Region) -> BoolArray:
        """Which records lie in a region."""
        inside = np.zeros(len(records.unit), dtype=np.bool_)
        for box in region.inside:
            inside |= self._reader.within(records, box)
        for box in region.outside:
            inside &= ~self._reader.within(records, box)
        return inside
