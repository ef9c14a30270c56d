"""What a percentile tells together with all percentiles that have left: windows of overlapping populations.

The median of all and that of all but twelve rest on windows that may differ by one unit, and so by the
difference of two values. The steps of survival curves are windows, too. No combination of the windows' means
that left, of whatever populations, may be a sum over fewer units than a window must have. Which windows
overlap is found in the records.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import Records
from sdcgate.facility.percentile_windows import ReleasedWindow
from sdcgate.facility.region_records import (
    RegionRecords,
    measures_of,
    variables_of_boxes,
    without_measures,
)
from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.window_spans import Alike, told_of_few
from sdcgate.methods.tables.boxes import NOBODY, Box, intersection

MOST_TOGETHER = 800
"""Windows that overlap each other, one by one, beyond which further ones are kept back."""
TURNS = 2
"""How often windows whose combinations are too many to look at are tried again with fewer of them."""


@dataclass(frozen=True, slots=True)
class WindowMinimum:
    """Whom any combination of windows must tell of, at least."""

    units: int
    households: float = 0.0
    """0 where none are asked."""


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """A way in which windows are looked at together."""

    means_only: bool
    """Sums are left out."""
    as_sums: bool
    """All are taken for sums over records."""
    alike: Alike | None = field(repr=False)
    """Records of the same values, which are taken as one."""


@dataclass(slots=True, eq=False)
class WindowAudit:
    """The windows of one measure that have left, in the order of its values."""

    engine: Engine
    dataset: Dataset
    measure: str
    minimum: WindowMinimum
    pulse: Callable[[], None]
    left: list[ReleasedWindow] = field(repr=False)
    """Those that have left, and those that were accepted."""
    _records: Records | None = field(init=False, default=None, repr=False)
    _order: IntArray = field(init=False, repr=False)
    _values: FloatArray = field(init=False, repr=False)
    _reader: RegionRecords = field(init=False, repr=False)
    _variables: tuple[str, ...] = field(init=False, repr=False)
    _places: dict[ReleasedWindow, IntArray] = field(init=False, default_factory=dict, repr=False)
    _repeated: dict[ReleasedWindow, bool] = field(init=False, default_factory=dict, repr=False)
    _bits: dict[ReleasedWindow, int] = field(init=False, default_factory=dict, repr=False)

    def accepted(self, wanted: Sequence[ReleasedWindow]) -> list[bool]:
        """Which windows may leave as well, the first rather; those that may are taken as having left."""
        self._variables = variables_of_boxes([window.box for window in (*self.left, *wanted)])
        self._reader = RegionRecords(self.engine, self.dataset, self.measure)
        left = set(self.left)
        compared = self._compared([window for window in dict.fromkeys(wanted) if window not in left])
        self.left += self._of_enough(compared)
        left.update(self.left)
        return [window in left for window in wanted]

    def _compared(self, wanted: Sequence[ReleasedWindow]) -> list[ReleasedWindow]:
        """Those of which it is known whom they tell of together with all that they meet."""
        found: list[ReleasedWindow] = []
        waiting = [list(wanted)] if wanted else []
        while waiting:
            self.pulse()
            more = waiting.pop()
            if self._met([*self.left, *found], more) is not None:
                found += more
            elif len(more) > 1:
                half = len(more) // 2
                waiting += [more[half:], more[:half]]
        return found

    def _met(
        self, left: Sequence[ReleasedWindow], windows: Sequence[ReleasedWindow]
    ) -> list[ReleasedWindow] | None:
        """Those that have left which windows overlap, with theirs; None where that cannot be compared."""
        populations = [one for one in windows if one.of_population]
        others = [one for one in (*left, *windows) if one.of_population]
        # Of which records they tell is not known: populations that meet differ by few, perhaps.
        if any(_meet(one, other) for one in populations for other in others if one != other):
            return None
        waiting = [one for one in windows if not one.of_population]
        apart = [one for one in left if not one.of_population]
        if self._blurred(waiting):
            return None
        met = list[ReleasedWindow]()
        while waiting:
            one, still_apart = waiting.pop(), list[ReleasedWindow]()
            for other in apart:
                if not self._overlap(one, other):
                    still_apart.append(other)
                elif not (self._exact(one) and self._exact(other)):
                    return None
                else:
                    met.append(other)
                    waiting.append(other)
            apart = still_apart
        return met

    def _of_enough(self, wanted: Sequence[ReleasedWindow]) -> list[ReleasedWindow]:
        """Those that tell of enough units with all that they meet, the first rather."""
        windows = [one for one in wanted if not one.of_population]
        met = self._met(self.left, windows)
        windows = [] if met is None else windows[: max(MOST_TOGETHER - len(met), 0)]
        looks, turn = self._looks([*(met or []), *windows], self._records), 0
        while windows and looks and self._records is not None:
            self.pulse()
            turn += 1
            too_many, told = set[ReleasedWindow](), list[tuple[list[int], bool]]()
            for look in list(looks):
                found = [*self._told(met or [], windows, self._records, look)]
                told += found
                if not found:
                    # Fewer windows tell no more.
                    looks.remove(look)
            # Of each combination the least wanted one is kept back, if none of it is; of windows whose
            # combinations are too many to look at, first half of them, then all: a turn takes seconds.
            for together, looked_at in sorted(told, key=_last):
                if not too_many.intersection(windows[place] for place in together):
                    fewest = 1 if looked_at else 1 + len(together) * turn // TURNS
                    too_many.update(windows[place] for place in together[-fewest:])
            windows = [one for one in windows if one not in too_many]
        kept = set(windows)
        return [one for one in wanted if one.of_population or one in kept]

    def _looks(self, windows: Sequence[ReleasedWindow], records: Records | None) -> list[_Look]:
        """The ways in which windows are looked at together; none where there is nothing to compare.

        Which windows are of units and which of records matters only where a unit has several: then each kind
        is looked at by itself, and those of units as though they were of records, too. Who of those with one
        value is in a window and who is not makes no difference to what it tells: two of ten zeros differ by
        nobody, whoever these are. So that is looked at as well.
        """
        if len(windows) < 2 or records is None:
            return []
        several, tied = any(self._several(one, records) for one in windows), self._tied(windows, records)
        ways = ((True, False), (False, True)) if several else ((False, False),)
        return [_Look(*way, alike) for way in ways for alike in ((None, tied) if tied else (None,))]

    def _told(
        self, met: Sequence[ReleasedWindow], windows: Sequence[ReleasedWindow], records: Records, look: _Look
    ) -> Iterator[tuple[list[int], bool]]:
        """Combinations that tell of few: the places of their windows, in their order, without those met.

        And whether they were looked at.
        """
        together = [*met, *windows]
        homes = records.households if self.minimum.households else None
        places = [place for place, one in enumerate(together) if not self._left_out(one, records, look)]
        found = told_of_few(
            [self._members(together[place]) for place in places],
            records.unit,
            self.minimum.units,
            homes,
            self.minimum.households,
            [look.as_sums] * len(places),
            sum(place < len(met) for place in places),
            [records.weights if together[place].weighted else None for place in places],
            look.alike,
        )
        for one in found:
            those = (places[place] - len(met) for place in sorted(one.windows))
            yield [place for place in those if place >= 0], one.looked_at

    def _left_out(self, window: ReleasedWindow, records: Records, look: _Look) -> bool:
        """Whether a look is not at a window: one in which all have the same value is nobody's sum."""
        if look.means_only and window.is_sum:
            return True
        members = self._members(window)
        if look.alike is None or not len(members):
            return False
        values = records.measures[self.measure]
        return bool(values[members[0]] == values[members[-1]])

    def _tied(self, windows: Sequence[ReleasedWindow], records: Records) -> Alike | None:
        """The values of which windows take other records each; None where there are none.

        Many have a value where enough do in the populations of the windows.
        """
        values, members = records.measures[self.measure], [self._members(one) for one in windows]
        ends = np.unique([values[places[[0, -1]]] for places in members if len(places)])
        taken: dict[float, set[bytes]] = {}
        for places in members:
            firsts, lasts = (np.searchsorted(values[places], ends, side) for side in ("left", "right"))
            for at in np.flatnonzero(lasts > firsts).tolist():
                who = places[firsts[at] : lasts[at]].tobytes()
                taken.setdefault(float(ends[at]), set()).add(who)
        tied = np.array([value for value, some in taken.items() if len(some) > 1])
        if not len(tied):
            return None
        tied.sort()
        kinds = np.minimum(np.searchsorted(tied, values), len(tied) - 1)
        kinds[tied[kinds] != values] = -1
        having = np.flatnonzero(kinds >= 0)
        within = [self._reader.within(records, box, having) for box in {one.box for one in windows}]
        having = having[np.logical_or.reduce(within)]
        return Alike(kinds, self._enough(kinds[having], having, len(tied), records))

    def _enough(self, kinds: IntArray, places: IntArray, number: int, records: Records) -> BoolArray:
        """Of which of a number of kinds some records are of so many that they are not few."""
        own = records.unit[places]
        pairs = np.unique(kinds * (int(own.max(initial=0)) + 1) + own)
        units = np.bincount(pairs // (int(own.max(initial=0)) + 1), minlength=number)
        enough: BoolArray = units >= self.minimum.units
        if self.minimum.households and records.households is not None:
            homes = records.households.part(places).at_places(kinds, number)
            enough &= homes >= self.minimum.households
        return enough

    def _several(self, window: ReleasedWindow, records: Records) -> bool:
        """Whether some unit has several records in a window."""
        if window not in self._repeated:
            places = self._members(window)
            self._repeated[window] = len(np.unique(records.unit[places])) < len(places)
        return self._repeated[window]

    def _blurred(self, windows: Sequence[ReleasedWindow]) -> bool:
        """Whether windows overlap of which one is not exact: whom that leaves out is not known."""
        return any(
            self._overlap(one, other)
            for one, other in combinations(windows, 2)
            if not (self._exact(one) and self._exact(other))
        )

    def _overlap(self, one: ReleasedWindow, other: ReleasedWindow) -> bool:
        """Whether two windows have a record in common."""
        if not self._may_overlap(one, other):
            return False
        if self._records is None:
            self._read(self._variables)
        return bool(self._as_bits(one) & self._as_bits(other))

    def _may_overlap(self, one: ReleasedWindow, other: ReleasedWindow) -> bool:
        """Whether two windows may have a record in common, by their values and boxes."""
        if one.highest < other.lowest or other.highest < one.lowest:
            return False
        return _meet(one, other)

    def _exact(self, window: ReleasedWindow) -> bool:
        """Whether its records can be told: no other measure decides who is in its population."""
        return measures_of(window.box) <= {self.measure}

    def _read(self, variables: tuple[str, ...]) -> None:
        """Read the records, once, in the order of their values."""
        self._records = self._reader.having(variables)
        values = self._records.measures[self.measure]
        self._order = np.argsort(values, kind="stable")
        self._values = values[self._order]

    def _as_bits(self, window: ReleasedWindow) -> int:
        """The records of a window, a bit each."""
        if window not in self._bits and self._records is not None:
            flags = np.zeros(len(self._records.unit), dtype=np.bool_)
            flags[self._members(window)] = True
            self._bits[window] = int.from_bytes(np.packbits(flags).tobytes(), "big")
        return self._bits[window]

    def _members(self, window: ReleasedWindow) -> IntArray:
        """The records of a window, by their places; all that may be in it where they cannot be told."""
        if window not in self._places and self._records is not None:
            first = int(np.searchsorted(self._values, window.lowest, side="left"))
            last = int(np.searchsorted(self._values, window.highest, side="right"))
            places = self._order[first:last]
            inside = places[self._reader.within(self._records, window.box, places)]
            exact = inside[window.skipped : window.skipped + window.records]
            self._places[window] = exact if self._exact(window) else inside
        return self._places[window]


def _last(told: tuple[list[int], bool]) -> int:
    """The least wanted window of a combination."""
    return told[0][-1]


def _meet(one: ReleasedWindow, other: ReleasedWindow) -> bool:
    """Whether the populations of two windows may have a record in common, by their boxes."""
    return _meeting(one.box, other.box)


@lru_cache(maxsize=10_000)
def _meeting(one: Box, other: Box) -> bool:
    """Of a measure there are many windows, and few populations."""
    return intersection(without_measures(one), without_measures(other)) != NOBODY
