"""Regions of the data judged by what sums of products of measures would tell of one unit in them.

Correlations of two populations, or models, tell by subtraction that of their difference. Where two measures
differ for one person of it only, what is left unexplained there is hers, as it is in a population that is
asked itself (`residual_shares`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.product_sums import ProductQuery
from sdcgate.engine.queries import Region
from sdcgate.facility.counted_regions import Counted, CountedRegions, by_measures
from sdcgate.facility.judged_regions import JudgedRegions
from sdcgate.facility.region_records import RegionRecords
from sdcgate.facility.statistic_sums import MOST_MEASURES
from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import cross_products_of
from sdcgate.methods.outputs.residual_shares import Residuals, largest_held, residuals_of, shares_of
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.tables.sensitivity import CLOSE


@dataclass(frozen=True, slots=True)
class Products:
    """Sums of products that are told, and when they tell too much."""

    measures: tuple[str, ...]
    """Two or more."""
    share: float
    """From which share of what is left on one unit has too much of it."""
    coalition: int

    def told(self, residuals: Residuals, top: FloatArray) -> BoolArray:
        """In which groups nearly all that a measure leaves unexplained is one unit's, shape (groups,).

        `top` is what the largest units hold, shape (groups, residuals, coalition + 1).
        """
        limit = self.share * (1 - CLOSE)
        # A comparison with a NaN is not "safe".
        shares = np.array([one.shares for one in shares_of(residuals, top, len(top))])
        too_much: BoolArray = np.any(~(shares < limit), axis=0)
        return too_much


def residuals_of_regions(
    engine: Engine, dataset: Dataset, products: Products, pulse: Callable[[], None]
) -> JudgedRegions:
    """What judges regions by what measures leave unexplained: by sums where these cost less than records."""
    reader = RegionRecords(engine, dataset, products.measures[0])

    def road(variables: tuple[str, ...]) -> "ResidualsByRecords | ResidualsBySums":
        if engine.sums_rather_than_records(dataset) and len(products.measures) <= MOST_MEASURES:
            counted = CountedRegions(engine, dataset, products.measures, variables, pulse)
            return ResidualsBySums(counted, products)
        return ResidualsByRecords(reader, variables, products)

    return JudgedRegions(road, pulse)


@dataclass(frozen=True, slots=True)
class ResidualsByRecords:
    """By the records, which do not leave the house."""

    reader: RegionRecords
    variables: tuple[str, ...]
    """Those that any of the regions restricts."""
    products: Products

    def chosen(self, region: Region, having: frozenset[str]) -> tuple[int, tuple[FloatArray, IntArray]]:
        """How many records of a region have all measures, their values and units."""
        measures = self.products.measures
        records, inside = self.reader.of_region(region, self.variables, having.union(measures))
        values = np.column_stack([records.measures[name][inside] for name in measures])
        return len(values), (values, records.unit[inside])

    def unsafe(self, chosen: Sequence[tuple[FloatArray, IntArray]]) -> BoolArray:
        """In which regions nearly all of a residual is one unit's, shape (regions,)."""
        return np.concatenate([self._of_one(values, units) for values, units in chosen])

    def _of_one(self, values: FloatArray, units: IntArray) -> BoolArray:
        nowhere, told = np.zeros(len(units), dtype=np.int64), self.products
        sample = Sample(values[:, 0], nowhere, units, 1)
        centred = cross_products_of(values[:, :-1], values[:, -1], units).centred
        left = residuals_of(told.measures, centred[None], sample.records_of_groups)
        return told.told(left, largest_held(sample, values, left, np.arange(1), told.coalition + 1))


@dataclass(frozen=True, slots=True)
class ResidualsBySums:
    """By sums that the engine computes; of records it tells how many have which codes."""

    regions: CountedRegions
    products: Products

    def chosen(self, region: Region, having: frozenset[str]) -> tuple[int, Counted]:
        """How many records of a region have all measures, and the region without those."""
        return self.regions.chosen(region, having)

    def unsafe(self, chosen: Sequence[Counted]) -> BoolArray:
        """In which regions nearly all of a residual is one unit's, shape (regions,)."""
        found = np.ones(len(chosen), dtype=np.bool_)
        for places, regions, having in by_measures(chosen):
            found[places] = self._of_regions(regions, having)
        return found

    def _of_regions(self, regions: tuple[Region, ...], having: tuple[str, ...]) -> BoolArray:
        counted, told = self.regions, self.products
        query = ProductQuery(told.measures, regions, valid=having)
        sums = counted.engine.product_sums(counted.dataset, query, counted.pulse)
        products = sums.products()
        left = residuals_of(told.measures, products.centred, products.records)
        return told.told(left, sums.largest_held(left, np.arange(len(regions)), told.coalition + 1))
