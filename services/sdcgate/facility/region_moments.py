"""How closely moments of a measure tell the value farthest out of regions: from their records, or by sums.

Sums are computed where the records lie, and nothing else leaves it; both roads say the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.moment_sums import MomentQuery
from sdcgate.engine.queries import MEASURE_PREFIX, Records, Region
from sdcgate.facility.boxes import expanded_region
from sdcgate.facility.region_records import RegionRecords, in_box, in_region, without_measures
from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.function_sums import closest_told
from sdcgate.methods.outputs.sample import Sample

Chosen = TypeVar("Chosen")
"""Some region with records, as a road needs it."""


class RegionMoments(Protocol[Chosen]):
    """Counts the records of regions, and says how closely moments tell the value farthest out."""

    def chosen(self, region: Region, having: frozenset[str]) -> tuple[int, Chosen]:
        """How many records of a region have some measures, and these as `closest` takes them."""

    def closest(self, chosen: Sequence[Chosen]) -> FloatArray:
        """The least closeness of all moments of regions that have records, shape (regions,)."""


@dataclass(frozen=True, slots=True)
class MomentsByRecords:
    """By the records, which do not leave the house."""

    reader: RegionRecords
    variables: tuple[str, ...]
    """Those that any of the regions restricts."""
    order: int
    """The highest moment that is told."""
    coalition: int
    function: str = ""
    """Of which sums are told in place of the measure's; empty of the measure itself."""

    def chosen(self, region: Region, having: frozenset[str]) -> tuple[int, tuple[Records, BoolArray]]:
        """How many records of a region have some measures, and which."""
        records, inside = self.reader.of_region(region, self.variables, having)
        return int(np.count_nonzero(inside)), (records, inside)

    def closest(self, chosen: Sequence[tuple[Records, BoolArray]]) -> FloatArray:
        """The least closeness of all moments of regions that have records, shape (regions,)."""
        sample = Sample(
            np.concatenate([records.measures[self.reader.measure][inside] for records, inside in chosen]),
            np.repeat(np.arange(len(chosen)), [np.count_nonzero(inside) for _, inside in chosen]),
            np.concatenate([records.unit[inside] for records, inside in chosen]),
            len(chosen),
        )
        return closest_told(sample, self.function, self.order, self.coalition)


@dataclass(frozen=True, slots=True)
class MomentsBySums:
    """By sums that the engine computes; of records it tells how many have which codes."""

    engine: Engine
    dataset: Dataset
    measure: str
    variables: tuple[str, ...]
    """Those that any of the regions restricts."""
    order: int
    """The highest moment that is told."""
    coalition: int
    pulse: Callable[[], None]
    """Called before each statement; what it raises ends the work."""
    _counted: dict[frozenset[str], tuple[IntArray, IntArray]] = field(
        default_factory=dict, init=False, repr=False
    )

    def chosen(self, region: Region, having: frozenset[str]) -> tuple[int, tuple[Region, frozenset[str]]]:
        """How many records of a region have some measures, and the region without those."""
        codes, records = self._combinations(having)
        places = {name: place for place, name in enumerate(self.variables)}
        inside = in_region(
            region,
            lambda box: in_box(self.dataset, box, lambda name: codes[:, places[name]], len(records)),
            len(records),
        )
        boxes = (tuple(map(without_measures, of)) for of in (region.inside, region.outside))
        return int(records[inside].sum()), (expanded_region(self.dataset, Region(*boxes)), having)

    def closest(self, chosen: Sequence[tuple[Region, frozenset[str]]]) -> FloatArray:
        """The least closeness of all moments of regions that have records, shape (regions,)."""
        sums = self.engine.moment_sums(self.dataset, self.pulse)
        found = np.full(len(chosen), np.nan)
        for having in dict.fromkeys(names for _, names in chosen):
            places = [place for place, (_, names) in enumerate(chosen) if names == having]
            query = MomentQuery(self.measure, self.order, self.coalition, tuple(sorted(having)))
            found[places] = sums.of_regions(query, [chosen[place][0] for place in places])
        return found

    def _combinations(self, having: frozenset[str]) -> tuple[IntArray, IntArray]:
        """The combinations of codes of records that have the measure and others, and their records."""
        if having not in self._counted:
            self.pulse()
            measures = [f"{MEASURE_PREFIX}{name}" for name in sorted({self.measure, *having})]
            codes, records = self.engine.occurring_codes(self.dataset, (*self.variables, *measures))
            there = (codes[:, len(self.variables) :] == 0).all(axis=1)
            self._counted[having] = codes[there], records[there]
        return self._counted[having]
