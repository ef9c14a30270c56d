"""The risk of a registered dataset as a file: which version of it may stand behind the facility at all.

The engine counts units by their values; what is told are figures of the file, never a value or a record. It
is for stewards, gives no verdict and leaves nothing in the ledger.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from threading import Semaphore
from time import monotonic
from typing import TypeVar

import numpy as np

from sdcgate.engine.counted_units import together as counted_together
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.descriptor import DeclaredScenario
from sdcgate.engine.engine import Engine
from sdcgate.engine.releases import linked_to
from sdcgate.engine.scenarios import scenario_of, target_of
from sdcgate.facility.assessment_requests import Asked, OtherRelease, identifying
from sdcgate.facility.errors import Unavailable
from sdcgate.methods.risk.file_numbers import NumbersSection, numbers_section
from sdcgate.methods.risk.file_release import RuleSet, WorstTablesSection, rule_sets, worst_tables
from sdcgate.methods.risk.file_report import NotComputed
from sdcgate.methods.risk.keys import Missing
from sdcgate.methods.risk.recoding import Lattice
from sdcgate.methods.risk.recoding_comparison import (
    ComparisonOptions,
    RecodingComparison,
    compare_counted_recodings,
)
from sdcgate.methods.risk.scenarios import (
    CountedUnits,
    ScenarioRisk,
    ScenarioTarget,
    Together,
    counted_scenario_risk,
    together,
)
from sdcgate.methods.risk.several_files import LinkedReleases
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.wire.file_release import (
    linked_to_message,
    rule_set_to_message,
    scenario_to_message,
    together_to_message,
    worst_tables_to_message,
)
from sdcgate.wire.microdata import numbers_to_message
from sdcgate.wire.recodings import comparison_to_message
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2

THRESHOLD = 0.1
"""Risk from which a unit is unsafe where a scenario says nothing."""
KEY = "identifying variables"
MOST_RECODINGS = 300
RECODED_KEYS = 50_000_000
"""Keys times recodings that are measured while queries are answered beside it."""
LARGEST_RELEASE = 50_000_000
"""Values of a dataset that are looked at unit by unit: by the rules for its release, in links, by numbers."""
LINK_SECONDS = 10.0
"""For which two releases are compared while queries are answered beside it."""

TOO_LARGE = "the dataset is too large to be looked at unit by unit: use `sdcgate assess` on its file"
MOST_PAIRS = 2.5e8
"""Pairs of units of one key whose numbers are compared while queries are answered beside it: seconds."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DatasetRisk:
    """What is told of a dataset."""

    key: ScenarioRisk | None
    """All identifying variables at their finest levels, persons, without factors."""
    scenarios: tuple[ScenarioRisk, ...]
    together: Together | None
    worst_tables: WorstTablesSection | None
    """Of the key, with as many dimensions as a query may have."""
    recodings: RecodingComparison | None
    """Of the key, over the registered levels."""
    rule_sets: tuple[RuleSet, ...]
    linked: LinkedReleases | None
    """Beside another release, of the finest levels of the key; None where none was named."""
    numbers: NumbersSection | None
    not_computed: tuple[NotComputed, ...]


class Assessor:
    """Assesses one dataset at a time: queries go on being answered beside it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._running = Semaphore(1)

    def assess(self, dataset: Dataset, asked: Asked, dimensions: int) -> DatasetRisk:
        """The risk of a dataset under scenarios, beside another release, and by numbers, as it is asked.

        Raises Unavailable while another one is being assessed, SnapshotDamaged.
        """
        if not self._running.acquire(blocking=False):
            raise Unavailable("Another dataset is being assessed; try again.")
        try:
            return self._assessed(dataset, asked, dimensions)
        finally:
            self._running.release()

    def _assessed(self, dataset: Dataset, asked: Asked, dimensions: int) -> DatasetRisk:
        own, declared = identifying(dataset), asked.scenarios
        wanted = dict.fromkeys([*own, *(_named(dataset, key) for one in declared for key in one.keys)])
        missing: list[NotComputed] = []
        found: list[ScenarioRisk] = []
        key: list[ScenarioRisk] = []
        tables: list[WorstTablesSection] = []
        recodings: list[RecodingComparison] = []
        households = any(target_of(one) is ScenarioTarget.HOUSEHOLD for one in declared)
        levels = [(name.partition(":")[0], name.partition(":")[2]) for name in wanted]
        counting = partial(self._engine.counted_units, dataset, levels, households)
        for units in _attempted(missing, "units by their values", counting):
            for one in declared:
                part = _part(units, [_named(dataset, name) for name in one.keys])
                found += _attempted(missing, f"scenario {one.name}", partial(_risk, part, one))
            part = _part(units, own)
            key += _attempted(missing, KEY, partial(_risk, part, DeclaredScenario()))
            tables += _attempted(missing, "worst table", partial(_worst, part, dimensions))
            recodings += _attempted(missing, "recodings", partial(_recodings, part))
        return DatasetRisk(
            key=next(iter(key), None),
            scenarios=tuple(found),
            together=together(tuple(found)) if len(found) > 1 else None,
            worst_tables=next(iter(tables), None),
            recodings=next(iter(recodings), None),
            rule_sets=self._rules(dataset, missing),
            linked=self._linked(dataset, asked.other, missing),
            numbers=self._numbers(dataset, asked, missing),
            not_computed=tuple(missing),
        )

    def _linked(
        self, dataset: Dataset, other: OtherRelease | None, missing: list[NotComputed]
    ) -> LinkedReleases | None:
        """What can be linked between the key of a dataset and another release."""
        if other is None:
            return None
        own = [(name, "") for name in identifying(dataset)]

        def link() -> LinkedReleases:
            values = dataset.n_records * len(own) + other.dataset.n_records * len(other.levels)
            if values > LARGEST_RELEASE:
                raise ValueError(TOO_LARGE)
            both = self._engine.releases((dataset, own), (other.dataset, other.levels))
            return linked_to(both, other.name, Missing.CATEGORY, _for(LINK_SECONDS))

        return next(iter(_attempted(missing, "several files of one source", link)), None)

    def _numbers(self, dataset: Dataset, asked: Asked, missing: list[NotComputed]) -> NumbersSection | None:
        """Units that stand alone with their numbers among those of the key."""
        if not asked.numbers:
            return None
        levels = [(name, "") for name in identifying(dataset)]

        def compare() -> NumbersSection:
            if dataset.n_records * (len(levels) + len(asked.numbers)) > LARGEST_RELEASE:
                raise ValueError(TOO_LARGE)
            numbers, codes = self._engine.numbers(dataset, levels, asked.numbers)
            return numbers_section(numbers, codes, asked.neighbours, MOST_PAIRS)

        return next(iter(_attempted(missing, "numbers", compare)), None)

    def _rules(self, dataset: Dataset, missing: list[NotComputed]) -> tuple[RuleSet, ...]:
        values = dataset.n_records * len(dataset.descriptor.variables)
        if values > LARGEST_RELEASE:
            missing.append(NotComputed("rules for release", TOO_LARGE))
            return ()
        today = datetime.now(UTC).date()
        sets = _attempted(
            missing, "rules for release", lambda: rule_sets(self._engine.release(dataset, today))
        )
        return next(iter(sets), ())


def _for(seconds: float) -> Callable[[], None]:
    """What long work calls now and then: it raises ValueError where so many seconds have passed."""
    end = monotonic() + seconds

    def heed() -> None:
        if monotonic() > end:
            raise ValueError(
                "it takes too long while queries are answered: use `sdcgate assess --with` on the files, or "
                "levels of which one groups the other's codes"
            )

    return heed


def _named(dataset: Dataset, key: str) -> str:
    """A key of a scenario as the engine calls it: without its level where that is the finest."""
    variable, _, level = key.partition(":")
    return variable if dataset.level_position(variable, level) == 0 else key


def _part(units: CountedUnits, names: Sequence[str]) -> CountedUnits:
    """The same rows with the columns of some variables only."""
    columns = [at for name in names for at, key in enumerate(units.keys) if key.name == name]
    return replace(units, keys=tuple(units.keys[at] for at in columns), codes=units.codes[:, columns])


def _risk(part: CountedUnits, declared: DeclaredScenario) -> ScenarioRisk:
    return counted_scenario_risk(part, scenario_of(declared, part.keys, part.codes), THRESHOLD)


def _worst(part: CountedUnits, dimensions: int) -> WorstTablesSection:
    """The worst tables of a key, from its distinct values."""
    distinct = counted_together(part)
    assert distinct.weight_sums is not None
    file = Lattice(
        levels=tuple((own,) for own in distinct.codes.T),
        counts=distinct.counts.astype(np.float64),
        population=distinct.weight_sums,
    )
    return worst_tables(file, dimensions)


def _recodings(part: CountedUnits) -> RecodingComparison:
    """Recodings of a key by its coarser levels, as many as are measured in some seconds."""
    if not any(key.coarser for key in part.keys):
        raise ValueError("no identifying variable has a coarser level")
    distinct = counted_together(part)
    assert distinct.weight_sums is not None
    most = max(1, min(MOST_RECODINGS, RECODED_KEYS // len(distinct.counts)))
    options = ComparisonOptions(maximum_recodings=most)
    return compare_counted_recodings(
        distinct.codes, distinct.counts, distinct.weight_sums, distinct.keys, options
    )


def _attempted(missing: list[NotComputed], what: str, make: Callable[[], T]) -> list[T]:
    """What was made, or nothing, with the reason among what is missing."""
    try:
        return [make()]
    except (ValueError, ArithmeticError) as error:
        missing.append(NotComputed(what, str(error)))
        return []


def assessed_to_message(
    dataset: Dataset, policy: EffectivePolicy, found: DatasetRisk
) -> pb.AssessDatasetResponse:
    """What is told of a dataset as a message."""
    message = pb.AssessDatasetResponse(
        dataset=dataset.name,
        version=dataset.version,
        policy=pb.PolicyReference(name=policy.name, hash=policy.hash),
        scenarios=[scenario_to_message(one) for one in found.scenarios],
        rule_sets=[rule_set_to_message(one) for one in found.rule_sets],
        not_computed=[
            microdata_pb2.NotComputed(what=one.what, reason=one.reason) for one in found.not_computed
        ],
    )
    if found.key is not None:
        message.key.CopyFrom(scenario_to_message(found.key))
        message.key.name = KEY
    if found.together is not None:
        message.scenarios_together.CopyFrom(together_to_message(found.together))
    if found.worst_tables is not None:
        message.worst_tables.CopyFrom(worst_tables_to_message(found.worst_tables))
    if found.recodings is not None and found.key is not None:
        message.recodings.CopyFrom(comparison_to_message(found.recodings, found.key.units))
    if found.linked is not None:
        message.linked_releases.CopyFrom(linked_to_message(found.linked))
    if found.numbers is not None:
        message.numbers.CopyFrom(numbers_to_message(found.numbers))
    return message
