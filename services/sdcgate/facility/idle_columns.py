"""Columns of a dataset that have no value in any record, or the same in all: nothing can be computed of them.

It is told of whole columns only, by name and nothing else. What a filter leaves may be all alike, too, and is
told in general words: that some people are alike tells each of them who knows his own.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import CellQuery
from sdcgate.methods.cells import MISSING
from sdcgate.methods.rules import ReasonCode
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2

Level = tuple[str, str]
KEPT = 10_000
"""Measures of snapshots of which it is remembered."""
NO_VALUE = "{name} has no value in any record of {dataset}."
ONE_VALUE = "{name} has the same value in all records of {dataset} that have any."


class IdleColumns:
    """Finds them; what it has looked for in a snapshot's records it remembers, as these never change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept = lru_cache(maxsize=KEPT)(self._is_empty)

    def reasons(
        self, dataset: Dataset, measures: Iterable[str], levels: Iterable[Level], vary: bool = True
    ) -> list[pb.Reason]:
        """Against measures and variables without a value, or where they have to `vary` with one only.

        Of a sensitive variable it is not told that it does not vary.
        """
        found = [*self._measures(dataset, measures, vary), *_variables(dataset, levels, vary)]
        return [
            pb.Reason(
                code=policy_pb2.ReasonCode.Name(ReasonCode.NOT_ESTIMABLE.value),
                message=what.format(name=name, dataset=dataset.name),
                suggestion=f"Leave {name} out, or ask another one in its place.",
            )
            for name, what in dict.fromkeys(found)
        ]

    def _measures(self, dataset: Dataset, measures: Iterable[str], vary: bool) -> Iterator[tuple[str, str]]:
        for name in measures:
            profile = dataset.profiles[name]
            if profile.minimum != profile.maximum:
                continue
            if self._kept(dataset, name):
                yield name, NO_VALUE
            elif vary:
                yield name, ONE_VALUE

    def _is_empty(self, dataset: Dataset, name: str) -> bool:
        """Its extremes alone do not tell one without values from one whose values are all 0."""
        facts = self._engine.compute(dataset, CellQuery(measures=(name,), ranks=1)).facts.measures[0]
        return not facts.valid_records.any()


def _variables(dataset: Dataset, levels: Iterable[Level], vary: bool) -> Iterator[tuple[str, str]]:
    for variable, level in levels:
        occurring, listed = dataset.occurring(variable), dataset.level(variable, level)
        codes = sum(listed.codes[position] != MISSING for position in listed.reached(occurring))
        if not codes:
            yield variable, NO_VALUE
        elif codes == 1 and vary and not dataset.sensitive(variable):
            yield variable, ONE_VALUE
