"""The records of a measure, and which of them lie in boxes; they do not leave the house."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import MEASURE_PREFIX, Records, RecordsQuery, Region
from sdcgate.facility.boxes import MEASURE_PRESENT, expanded
from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.tables.boxes import NOBODY, Box, codes_within

MOST_MEMBERS = 100_000_000
"""Records of all regions of one statistic that are looked at."""


@dataclass(frozen=True, slots=True)
class RegionRecords:
    """Reads records as often as boxes restrict other variables; always in the snapshot's order."""

    engine: Engine
    dataset: Dataset
    measure: str
    _read: dict[tuple[frozenset[str], tuple[str, ...]], Records] = field(
        default_factory=dict, init=False, repr=False
    )

    def having(self, variables: tuple[str, ...], others: frozenset[str] = frozenset()) -> Records:
        """The records that have the measure and others, with the finest codes of some variables."""
        key = (others, variables)
        if key not in self._read:
            measures = tuple(sorted({self.measure, *others}))
            query = RecordsQuery(tuple((name, "") for name in variables), measures)
            self._read[key] = self.engine.records(self.dataset, query)
        return self._read[key]

    def of_region(
        self, region: Region, variables: tuple[str, ...], others: frozenset[str]
    ) -> tuple[Records, BoolArray]:
        """The records that have the measure and others, and which of them lie in a region.

        The region restricts none but some variables.
        """
        records = self.having(variables, others)
        return records, in_region(region, lambda box: self.within(records, box), len(records.unit))

    def within(self, records: Records, box: Box, places: IntArray | None = None) -> BoolArray:
        """Which records lie in a box but for what it asks of measures; only those at places where given."""
        chosen = slice(None) if places is None else places
        count = len(records.unit[chosen])
        return in_box(self.dataset, box, lambda name: records.codes[name, ""][chosen], count)


def in_box(dataset: Dataset, box: Box, codes: Callable[[str], IntArray], count: int) -> BoolArray:
    """Which of `count` combinations of finest codes lie in a box but for what it asks of measures.

    `codes` has those of a variable, shape (count,).
    """
    if box == NOBODY:
        return np.zeros(count, dtype=np.bool_)
    found = np.ones(count, dtype=np.bool_)
    for name, mask in expanded(dataset, without_measures(box)):
        found &= codes_within(mask, codes(name))
    return found


def in_region(region: Region, within: Callable[[Box], BoolArray], count: int) -> BoolArray:
    """Which of `count` records or combinations of codes lie in a region, as `within` says of a box."""
    inside = np.zeros(count, dtype=np.bool_)
    for box in region.inside:
        inside |= within(box)
    for box in region.outside:
        inside &= ~within(box)
    return inside


def without_measures(box: Box) -> Box:
    """A box without what it asks of measures."""
    return tuple(pair for pair in box if not pair[0].startswith(MEASURE_PREFIX))


def measures_of(box: Box) -> frozenset[str]:
    """The measures that a box asks its records to have."""
    return frozenset(
        name.removeprefix(MEASURE_PREFIX)
        for name, mask in box
        if name.startswith(MEASURE_PREFIX) and mask == MEASURE_PRESENT
    )


def measures_of_region(region: Region) -> frozenset[str] | None:
    """The measures that each box of a region asks its records to have; None where these are different.

    Who lacks a measure that one of two boxes asks for is not read: of such a region nothing is known.
    """
    first, *others = {measures_of(box) for box in (*region.inside, *region.outside)}
    return None if others else first


def variables_of_boxes(boxes: list[Box]) -> tuple[str, ...]:
    """The variables that any of some boxes restricts."""
    return tuple(sorted({name for box in boxes for name, _ in without_measures(box)}))
