"""Sums of powers of measures in populations: what was summed of a snapshot's records is remembered.

Models of one population, asked one after the other, tell the same sums. As snapshots never change, these do
not, either.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.moment_sums import MomentQuery
from sdcgate.methods.outputs.power_sums import PowerSums

KEPT = 1_000
"""Measures in populations whose sums are kept, those asked last."""


class PopulationMoments:
    """Sums them where the records lie."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: OrderedDict[tuple[Dataset, MomentQuery], tuple[PowerSums, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, dataset: Dataset, query: MomentQuery, in_time: Callable[[], None]) -> tuple[PowerSums, ...]:
        """As `MomentSums.of_population`.

        `in_time` is called before each statement; what it raises ends the work, and nothing is kept.
        """
        key = (dataset, query)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = self._engine.moment_sums(dataset, in_time).of_population(query)
        with self._lock:
            self._kept[key] = found
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found
