"""What a percentile tells together with all percentiles that have left: windows of overlapping populations.

The median of all and that of all but twelve rest on windows that may differ by one unit, and so by the
difference of two values. No combination of the windows' means that left, of whatever populations, may be a
sum over fewer units than a window must have. Which windows overlap is found in the records.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

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
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.window_spans import tells_of_few
from sdcgate.methods.tables.boxes import NOBODY, intersection

MOST_TOGETHER = 12
"""Windows that overlap each other, one by one, beyond which a further one is kept back."""


@dataclass(slots=True, eq=False)
class WindowAudit:
    """The windows of one measure that have left, in the order of its values."""

    engine: Engine
    dataset: Dataset
    measure: str
    minimum: int
    """Units that any combination of windows must tell of, at least."""
    pulse: Callable[[], None]
    left: list[ReleasedWindow] = field(repr=False)
    """Those that have left, and those that were accepted."""
    _records: Records | None = field(init=False, default=None, repr=False)
    _order: IntArray = field(init=False, repr=False)
    _values: FloatArray = field(init=False, repr=False)
    _reader: RegionRecords = field(init=False, repr=False)
    _places: dict[ReleasedWindow, IntArray] = field(init=False, default_factory=dict, repr=False)
    _as_sets: dict[ReleasedWindow, frozenset[int]] = field(init=False, default_factory=dict, repr=False)

    def accepted(self, wanted: Sequence[ReleasedWindow]) -> list[bool]:
        """Which windows may leave as well, one after the other; those that may are taken as having left."""
        variables = variables_of_boxes([window.box for window in (*self.left, *wanted)])
        self._reader = RegionRecords(self.engine, self.dataset, self.measure)
        found = []
        for window in wanted:
            self.pulse()
            fits = window in self.left or not self._tells(window, variables)
            found.append(fits)
            if fits and window not in self.left:
                self.left.append(window)
        return found

    def _tells(self, window: ReleasedWindow, variables: tuple[str, ...]) -> bool:
        """Whether a window and those that it overlaps, with theirs, tell of few units together."""
        if not any(self._may_overlap(window, other) for other in self.left):
            return False
        if self._records is None:
            self._read(variables)
        together, waiting = [window], [window]
        while waiting:
            one = waiting.pop()
            for other in self.left:
                if other in together or not self._may_overlap(one, other):
                    continue
                if not self._sets(one).isdisjoint(self._sets(other)):
                    # Whom such a window leaves out is not known.
                    if not (self._exact(one) and self._exact(other)) or len(together) == MOST_TOGETHER:
                        return True
                    together.append(other)
                    waiting.append(other)
        if self._records is None or len(together) == 1:
            return False
        return tells_of_few([self._members(one) for one in together], self._records.unit, self.minimum)

    def _may_overlap(self, one: ReleasedWindow, other: ReleasedWindow) -> bool:
        """Whether two windows may have a record in common, by their values and boxes."""
        if one.highest < other.lowest or other.highest < one.lowest:
            return False
        return intersection(without_measures(one.box), without_measures(other.box)) != NOBODY

    def _exact(self, window: ReleasedWindow) -> bool:
        """Whether its records can be told: no other measure decides who is in its population."""
        return measures_of(window.box) <= {self.measure}

    def _read(self, variables: tuple[str, ...]) -> None:
        """Read the records, once, in the order of their values."""
        self._records = self._reader.having(variables)
        values = self._records.measures[self.measure]
        self._order = np.argsort(values, kind="stable")
        self._values = values[self._order]

    def _sets(self, window: ReleasedWindow) -> frozenset[int]:
        """The records of a window as a set."""
        if window not in self._as_sets:
            self._as_sets[window] = frozenset(self._members(window).tolist())
        return self._as_sets[window]

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
