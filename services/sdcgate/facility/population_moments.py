"""Sums of powers of measures in populations: what was summed of a snapshot's records is remembered.

Models of one population, asked one after the other, tell the same sums. As snapshots never change, these do
not, either.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

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

    def of(
        self, dataset: Dataset, queries: Sequence[MomentQuery], in_time: Callable[[], None]
    ) -> list[tuple[PowerSums, ...]]:
        """As `MomentSums.of_populations`.

        `in_time` is called before each statement; what it raises ends the work, and nothing is kept.
        """
        found: dict[MomentQuery, tuple[PowerSums, ...]] = {}
        with self._lock:
            for query in queries:
                if (dataset, query) in self._kept:
                    self._kept.move_to_end((dataset, query))
                    found[query] = self._kept[dataset, query]
        missing = [query for query in dict.fromkeys(queries) if query not in found]
        if missing:
            found |= zip(
                missing, self._engine.moment_sums(dataset, in_time).of_populations(missing), strict=True
            )
            with self._lock:
                for query in missing:
                    self._kept[dataset, query] = found[query]
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
        return [found[query] for query in queries]
