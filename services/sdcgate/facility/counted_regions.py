"""Regions where sums are computed in place of reading records: how many records they have, and as the engine
takes them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import MEASURE_PREFIX, Region
from sdcgate.facility.boxes import expanded_region
from sdcgate.facility.region_records import in_box, in_region, without_measures
from sdcgate.methods.cells import IntArray

Counted = tuple[Region, frozenset[str]]
"""A region, and the measures that its records have."""


@dataclass(frozen=True, slots=True)
class CountedRegions:
    """Counts regions by how many records have which codes."""

    engine: Engine
    dataset: Dataset
    measures: tuple[str, ...]
    """Those that all records counted have."""
    variables: tuple[str, ...]
    """Those that any of the regions restricts."""
    pulse: Callable[[], None]
    """Called before each statement; what it raises ends the work."""
    _counted: dict[frozenset[str], tuple[IntArray, IntArray]] = field(
        default_factory=dict, init=False, repr=False
    )

    def chosen(self, region: Region, having: frozenset[str]) -> tuple[int, Counted]:
        """How many records of a region have the measures and others, and the region without those."""
        codes, records = self._combinations(having)
        places = {name: place for place, name in enumerate(self.variables)}
        inside = in_region(
            region,
            lambda box: in_box(self.dataset, box, lambda name: codes[:, places[name]], len(records)),
            len(records),
        )
        boxes = (tuple(map(without_measures, of)) for of in (region.inside, region.outside))
        return int(records[inside].sum()), (expanded_region(self.dataset, Region(*boxes)), having)

    def _combinations(self, having: frozenset[str]) -> tuple[IntArray, IntArray]:
        """The combinations of codes of records that have the measures and others, and their records."""
        if having not in self._counted:
            self.pulse()
            measures = [f"{MEASURE_PREFIX}{name}" for name in sorted(having.union(self.measures))]
            codes, records = self.engine.occurring_codes(self.dataset, (*self.variables, *measures))
            there = (codes[:, len(self.variables) :] == 0).all(axis=1)
            self._counted[having] = codes[there], records[there]
        return self._counted[having]


def by_measures(chosen: Sequence[Counted]) -> Iterator[tuple[list[int], tuple[Region, ...], tuple[str, ...]]]:
    """Regions whose records have the same measures: their places, they and these."""
    for having in dict.fromkeys(names for _, names in chosen):
        places = [place for place, (_, names) in enumerate(chosen) if names == having]
        yield places, tuple(chosen[place][0] for place in places), tuple(sorted(having))
