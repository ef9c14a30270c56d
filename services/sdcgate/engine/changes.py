"""What differs between two versions of a dataset: the units that changed, and by how much each in a region.

A unit counts where its part of a figure differs. One that moves from town to town changes both towns and not
the country; one whose income changes is in no count of people.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import MEASURE_PREFIX, Region
from sdcgate.engine.record_columns import HOUSEHOLD_SHARES, UNKNOWN_HOUSEHOLD
from sdcgate.engine.snapshot import ReadColumn
from sdcgate.engine.version_change import changed_keys
from sdcgate.methods.cells import BoolArray, FloatArray, IntArray, MeasureFacts
from sdcgate.methods.tables.boxes import codes_within

WAS, IS = -1, 1


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """All records of the units that differ between two versions: those that were, and those that are."""

    datasets: tuple[Dataset, Dataset]
    reads: tuple[ReadColumn, ReadColumn] = field(repr=False)
    rows: tuple[IntArray, IntArray] = field(repr=False)
    """Rows of the changed units in either snapshot."""
    unit: IntArray = field(repr=False)
    """The changed unit of each record, those that were first, shape (records,)."""
    sign: IntArray = field(repr=False)
    """WAS or IS, shape (records,)."""
    units: int = field(repr=False)
    _columns: dict[tuple[str, str], FloatArray] = field(default_factory=dict, repr=False)
    _homes: list[IntArray] = field(default_factory=list, repr=False)
    """The households of the units as they were and as they are, once they were looked up."""

    def inside(self, regions: Sequence[Region]) -> list[IntArray]:
        """The records that lie in each region, by their places among those of the changed units.

        Raises UnknownName.
        """
        boxes = [box for region in regions for box in (*region.inside, *region.outside)]
        names = sorted({name for box in boxes for name, _ in box})
        # Records with the same codes lie in the same regions.
        codes = np.array([np.zeros(len(self.unit), dtype=np.int64), *map(self._codes, names)])
        (_, *kinds), kind = np.unique(codes, axis=1, return_inverse=True)
        kind = kind.reshape(-1)
        number, columns = int(kind.max(initial=-1)) + 1, dict(zip(names, kinds, strict=True))

        def within(box: tuple[tuple[str, int], ...]) -> BoolArray:
            inside = np.ones(number, dtype=np.bool_)
            for name, mask in box:
                inside &= codes_within(mask, columns[name])
            return inside

        found = []
        for region in regions:
            chosen = np.zeros(number, dtype=np.bool_)
            for box in region.inside:
                chosen |= within(box)
            for box in region.outside:
                chosen &= ~within(box)
            found.append(np.flatnonzero(chosen[kind]))
        return found

    def moved(self, inside: Sequence[IntArray]) -> list[IntArray]:
        """Units that have a record in a region in one version only, for each region.

        `inside` are here and below the records of each region, as `inside` tells them.
        """
        return [np.flatnonzero(was != now) for was, now in map(self._there, inside)]

    def came_and_went(self, inside: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
        """Units with a record in a region in the newer version only, or the older, shape (regions,) each."""
        there = [self._there(rows) for rows in inside]
        came = np.array([np.count_nonzero(now & ~was) for was, now in there], dtype=np.int64)
        went = np.array([np.count_nonzero(was & ~now) for was, now in there], dtype=np.int64)
        return came, went

    def _there(self, rows: IntArray) -> tuple[BoolArray, BoolArray]:
        """Which units have one of some records that were, and of those that are, shape (units,) each."""
        unit, sign = self.unit[rows], self.sign[rows]
        was, now = (np.bincount(unit[sign == side], minlength=self.units) > 0 for side in (WAS, IS))
        return was, now

    def different(
        self, inside: Sequence[IntArray], measure: str = "", weighted: bool = False
    ) -> list[IntArray]:
        """Units whose part of a region's figure differs, for each region.

        The figure is the number of records, or the sum of a measure; weighted by the records' weights or not.
        Raises UnknownName.
        """
        parts = self._parts(measure, weighted)
        return [np.flatnonzero(self._of_units(rows, parts)) for rows in inside]

    def households(self, units: Sequence[IntArray]) -> FloatArray | None:
        """Households that sets of units are of at least, shape (sets,); None where there are none.

        Units that share a household in either version count as one. Numbers of households are of one file:
        those that were and those that are are counted apart, and the larger number is the least.
        """
        kind = self.datasets[1].household
        if not kind:
            return None
        homes = self._homes_of_units()
        if kind == "size":
            shares = np.minimum(*homes) / HOUSEHOLD_SHARES
            return np.array([float(shares[chosen].sum()) for chosen in units], dtype=np.float64)
        found = [max(len(np.unique(side[chosen][side[chosen] >= 0])) for side in homes) for chosen in units]
        return np.array(found, dtype=np.float64)

    def _homes_of_units(self) -> list[IntArray]:
        """Of each side, shape (units,): a household's number, -1 where a unit is not there; or its share."""
        if not self._homes:
            home = self._column("household").astype(np.int64)
            by_id = self.datasets[1].household == "id"
            homes = _homes if by_id else _shares
            self._homes.extend(homes(self.unit, self.sign, home, self.units))
        return self._homes

    def contributions(
        self, inside: Sequence[IntArray], measure: str, ranks: int, weighted: bool = False
    ) -> MeasureFacts:
        """By how much a measure's sums differ in each region; contributions are the units' differences.

        Sums of values, or of values times the records' weights. Raises UnknownName.
        """
        newer = self.datasets[1]
        decimals = newer.weight_decimals if weighted and newer.weighted else 0
        parts, scale = self._parts(measure, weighted), newer.profiles[measure].scale * 10.0**decimals
        largest = np.zeros((len(inside), ranks))
        figures = np.zeros((4, len(inside)))
        changed = np.zeros(len(inside), dtype=np.int64)
        for place, rows in enumerate(inside):
            differences = self._of_units(rows, parts) / scale
            differences = differences[differences != 0]
            changed[place] = len(differences)
            if len(differences):
                sizes = np.sort(np.abs(differences))[::-1]
                largest[place, : len(sizes[:ranks])] = sizes[:ranks]
                figures[:, place] = differences.sum(), sizes.sum(), differences.min(), differences.max()
        sums, absolute, minima, maxima = figures
        return MeasureFacts(measure, sums, changed, changed, largest, absolute, minima, maxima)

    def _of_units(self, rows: IntArray, parts: FloatArray) -> FloatArray:
        """The sum of some records' parts for each unit; parts are whole numbers, so that none is lost."""
        return np.bincount(self.unit[rows], weights=parts[rows], minlength=self.units).astype(np.float64)

    def _parts(self, measure: str, weighted: bool) -> FloatArray:
        """What each record adds to the difference of a figure, in whole numbers, shape (records,)."""
        parts = self.sign.astype(np.float64)
        if measure:
            parts = parts * np.nan_to_num(self._measure(measure))
        return parts * self._column("weight") if weighted and self.datasets[1].weighted else parts

    def _measure(self, measure: str) -> FloatArray:
        was, is_now = (dataset.measure_column(measure) for dataset in self.datasets)
        return self._column(was, is_now)

    def _column(self, was: str, is_now: str = "") -> FloatArray:
        """A column of both sides; the same may have another name in the newer one."""
        names = was, is_now or was
        if names not in self._columns:
            sides = [read(name)[rows] for read, name, rows in zip(self.reads, names, self.rows, strict=True)]
            self._columns[names] = np.concatenate(sides).astype(np.float64)
        return self._columns[names]

    def _codes(self, variable: str) -> IntArray:
        """Finest codes of a variable, or 0 where a measure is there and 1 where it is missing."""
        if variable.startswith(MEASURE_PREFIX):
            return np.isnan(self._measure(variable.removeprefix(MEASURE_PREFIX))).astype(np.int64)
        was, is_now = (dataset.column(variable) for dataset in self.datasets)
        return self._column(was, is_now).astype(np.int64)


def _homes(unit: IntArray, sign: IntArray, home: IntArray, units: int) -> list[IntArray]:
    """One number for all units that are joined by households of either version.

    -1 on a side without them, or of which their household is not known.
    """
    label = np.arange(units)
    while True:
        before = label.copy()
        for side in (WAS, IS):
            mine, theirs = unit[sign == side], home[sign == side]
            least = np.full(int(home.max(initial=-1)) + 1, units)
            np.minimum.at(least, theirs, label[mine])
            np.minimum.at(label, mine, least[theirs])
        if (label == before).all():
            break
    known = home != UNKNOWN_HOUSEHOLD
    there = [np.bincount(unit[known & (sign == side)], minlength=units) > 0 for side in (WAS, IS)]
    return [np.where(side, label, -1) for side in there]


def _shares(unit: IntArray, sign: IntArray, home: IntArray, units: int) -> list[IntArray]:
    """The least share of a household that a unit has on a side, a whole one where it is not there."""
    found = []
    for side in (WAS, IS):
        shares = np.full(units, HOUSEHOLD_SHARES, dtype=np.int64)
        np.minimum.at(shares, unit[sign == side], home[sign == side])
        found.append(shares)
    return found


def changes(datasets: tuple[Dataset, Dataset], reads: tuple[ReadColumn, ReadColumn]) -> Changes:
    """The changes from one version to another, which compare (`version_change.comparable`)."""
    changed = changed_keys(reads)
    keys = [read("unit_key") for read in reads]
    rows = [np.flatnonzero(np.isin(keys[this], changed)) for this in (0, 1)]
    unit = np.concatenate([np.searchsorted(changed, keys[this][rows[this]]) for this in (0, 1)])
    sign = np.repeat([WAS, IS], [len(rows[0]), len(rows[1])])
    return Changes(datasets, reads, (rows[0], rows[1]), unit, sign, len(changed))
