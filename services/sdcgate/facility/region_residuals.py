"""Regions of the data judged by what sums of products of measures would tell of one unit in them.

Correlations of two populations, or models, tell by subtraction that of their difference. Where two measures
differ for one person of it only, what is left unexplained there is hers, as it is in a population that is
asked itself (`residual_shares`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import Region
from sdcgate.facility.differencing import TooManyDifferences
from sdcgate.facility.region_records import (
    MOST_MEMBERS,
    RegionRecords,
    measures_of_region,
    variables_of_boxes,
)
from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import cross_products_of
from sdcgate.methods.outputs.residual_shares import largest_held, residuals_of, shares_of
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.tables.sensitivity import CLOSE


@dataclass(frozen=True, slots=True)
class RegionResiduals:
    """Judges regions by the largest unit's share of what measures leave unexplained of each other."""

    engine: Engine
    dataset: Dataset
    measures: tuple[str, ...]
    """Two or more."""
    share: float
    """From which share on a region is unsafe."""
    coalition: int
    pulse: Callable[[], None]
    """Called again and again on the way; what it raises ends the work."""
    _reader: RegionRecords = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_reader", RegionRecords(self.engine, self.dataset, self.measures[0]))

    def unsafe(self, regions: Sequence[Region], measures: Sequence[str] = ()) -> BoolArray:
        """In which regions nearly all of a residual is one unit's, shape (regions,).

        Raises:
            TooManyDifferences: it takes more records than can be looked at.
        """
        del measures
        found = np.zeros(len(regions), dtype=np.bool_)
        variables = variables_of_boxes([box for one in regions for box in (*one.inside, *one.outside)])
        members = 0
        for place, region in enumerate(regions):
            self.pulse()
            names = measures_of_region(region)
            if names is None:
                found[place] = True
                continue
            records, inside = self._reader.of_region(region, variables, names | {*self.measures})
            values = np.column_stack([records.measures[name][inside] for name in self.measures])
            members += len(values)
            if members > MOST_MEMBERS:
                raise TooManyDifferences(f"more than {MOST_MEMBERS} records to look at")
            found[place] = bool(len(values)) and self._is_one_unit(values, records.unit[inside])
        return found

    def _is_one_unit(self, values: FloatArray, units: IntArray) -> bool:
        """Whether nearly all of what a measure leaves unexplained is one unit's; `values` as of a region."""
        nowhere = np.zeros(len(units), dtype=np.int64)
        sample = Sample(values[:, 0], nowhere, units, 1)
        centred = cross_products_of(values[:, :-1], values[:, -1], units).centred
        left = residuals_of(self.measures, centred[None], sample.records_of_groups)
        top = largest_held(sample, values, left, np.arange(1), self.coalition + 1)
        limit = self.share * (1 - CLOSE)
        # A comparison with a NaN is not "safe".
        return not all(bool(one.shares[0] < limit) for one in shares_of(left, top, 1))
