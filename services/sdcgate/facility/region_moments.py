"""How closely moments of a measure tell the value farthest out of regions: from their records, or by sums."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.moment_sums import MomentQuery
from sdcgate.engine.queries import Records, Region
from sdcgate.facility.counted_regions import Counted, CountedRegions, by_measures
from sdcgate.facility.judged_regions import JudgedRegions
from sdcgate.facility.region_records import RegionRecords
from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.outputs.function_sums import closest_told
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.tables.sensitivity import CLOSE


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums of powers that are told, and when they tell too much."""

    measure: str
    order: int
    """The highest moment that is told."""
    share: float
    """The share of its value by which the value farthest out must stay open."""
    coalition: int
    function: str = ""
    """Of which sums are told in place of the measure's, by records alone; empty of the measure itself."""

    def told(self, closeness: FloatArray) -> BoolArray:
        """Where the value farthest out is told too closely."""
        apart: BoolArray = closeness > self.share * (1 + CLOSE)
        # A comparison with a NaN is not "safe".
        return ~apart


def moments_of_regions(
    engine: Engine, dataset: Dataset, moments: Moments, pulse: Callable[[], None]
) -> JudgedRegions:
    """What judges regions by their moments: by sums where these cost less than records."""
    reader = RegionRecords(engine, dataset, moments.measure)

    def road(variables: tuple[str, ...]) -> MomentsByRecords | MomentsBySums:
        if moments.function or not engine.sums_rather_than_records(dataset):
            return MomentsByRecords(reader, variables, moments)
        return MomentsBySums(CountedRegions(engine, dataset, (moments.measure,), variables, pulse), moments)

    return JudgedRegions(road, pulse)


@dataclass(frozen=True, slots=True)
class MomentsByRecords:
    """By the records, which do not leave the house."""

    reader: RegionRecords
    variables: tuple[str, ...]
    """Those that any of the regions restricts."""
    moments: Moments

    def chosen(self, region: Region, having: frozenset[str]) -> tuple[int, tuple[Records, BoolArray]]:
        """How many records of a region have some measures, and which."""
        records, inside = self.reader.of_region(region, self.variables, having)
        return int(np.count_nonzero(inside)), (records, inside)

    def unsafe(self, chosen: Sequence[tuple[Records, BoolArray]]) -> BoolArray:
        """Which regions' moments tell the value farthest out too closely, shape (regions,)."""
        return self.moments.told(self.closest(chosen))

    def closest(self, chosen: Sequence[tuple[Records, BoolArray]]) -> FloatArray:
        """The least closeness of all moments of regions that have records, shape (regions,)."""
        told = self.moments
        sample = Sample(
            np.concatenate([records.measures[told.measure][inside] for records, inside in chosen]),
            np.repeat(np.arange(len(chosen)), [np.count_nonzero(inside) for _, inside in chosen]),
            np.concatenate([records.unit[inside] for records, inside in chosen]),
            len(chosen),
        )
        return closest_told(sample, told.function, told.order, told.coalition)


@dataclass(frozen=True, slots=True)
class MomentsBySums:
    """By sums that the engine computes; of records it tells how many have which codes."""

    regions: CountedRegions
    moments: Moments

    def chosen(self, region: Region, having: frozenset[str]) -> tuple[int, Counted]:
        """How many records of a region have some measures, and the region without those."""
        return self.regions.chosen(region, having)

    def unsafe(self, chosen: Sequence[Counted]) -> BoolArray:
        """Which regions' moments tell the value farthest out too closely, shape (regions,)."""
        return self.moments.told(self.closest(chosen))

    def closest(self, chosen: Sequence[Counted]) -> FloatArray:
        """The least closeness of all moments of regions that have records, shape (regions,)."""
        counted, told = self.regions, self.moments
        sums = counted.engine.moment_sums(counted.dataset, counted.pulse)
        found = np.full(len(chosen), np.nan)
        for places, regions, having in by_measures(chosen):
            query = MomentQuery(told.measure, told.order, told.coalition, having)
            found[places] = sums.of_regions(query, regions)
        return found
