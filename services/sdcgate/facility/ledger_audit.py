"""All that left of a source audited together, long after: what stands of each cell that was ever withheld.

It holds withheld figures where they can be worked out: for the steward, on the machine of the ledger.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations, permutations

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility.audited_quantities import AuditedQuantity, Look, audited_quantities
from sdcgate.facility.boxes import having_variable
from sdcgate.facility.changed_groups import ChangedGroups
from sdcgate.facility.joint_sums import plain
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.knowledge import Knowledge
from sdcgate.facility.known_sources import KnowledgeOfSources
from sdcgate.facility.noise import Noise
from sdcgate.facility.occurring import Occurring
from sdcgate.facility.other_versions import Changed
from sdcgate.facility.perturbing import NoisyTogether, mixed
from sdcgate.facility.policies import Policies
from sdcgate.facility.told_extremes import narrowing
from sdcgate.facility.versions_audit import (
    AuditedVersions,
    VersionLeft,
    audit_versions,
    changes_between,
    unchanged,
)
from sdcgate.facility.withheld_history import Named, Withheld, WithheldHistory, told_before, told_elsewhere
from sdcgate.ledger.errors import ContentRemoved
from sdcgate.ledger.ledger import Ledger
from sdcgate.methods.tables.joint_history import Standing
from sdcgate.methods.tables.solver import Deadline
from sdcgate.policy.effective import EffectivePolicy
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

HARMLESS = frozenset({Standing.PROVED, Standing.ELSEWHERE})
"""Standings of cells that nothing that left tells."""


@dataclass(frozen=True, slots=True)
class AuditedNoise:
    """What stands of the figures of one version of a dataset that left with noise."""

    dataset: Dataset
    figures: int
    unsafe: int
    """How many of them must stay uncertain."""
    unproved: int | None
    """Of how many that is not shown; None where the policy has other noise, or cells were withheld beside."""
    most_answers: int
    """How many figures of one kind any one record is in."""
    mean_change: float
    """Of the counts that are not 0, the mean of what noise changed them by, without its sign."""
    bias: float
    """The mean with its sign."""


@dataclass(frozen=True, slots=True)
class SourceAudit:
    """Everything of one source."""

    tables: int
    overrides: tuple[str, ...]
    """Queries that a checker released by exception: of outputs no audit knows the figures."""
    quantities: tuple[AuditedQuantity, ...]
    noise: tuple[AuditedNoise, ...] = ()
    versions: tuple[AuditedVersions, ...] = ()
    """Each two versions of which something has left, held against each other."""
    out_of_time: bool = False
    """Whether the time was over before all was looked at."""

    @property
    def refuted(self) -> bool:
        """Whether anything withheld is told that was not before it was withheld."""
        of_figures = any(one.of(Standing.REFUTED) for one in self.quantities)
        return of_figures or any(one.of(Standing.REFUTED) for one in self.versions)

    @property
    def proved(self) -> bool:
        """Whether nothing withheld is told by what left, whatever is combined."""
        of_figures = all(cell.standing in HARMLESS for one in self.quantities for cell in one.cells)
        of_versions = all(one.compared and not one.cells for one in self.versions)
        noisy = any(noise.unproved is None or noise.unproved for noise in self.noise)
        return of_figures and of_versions and not noisy


def audit_source(
    ledger: Ledger, engine: Engine, policies: Policies, name: str, most_atoms: int, seconds: float
) -> SourceAudit:
    """Audit all releases of the source of a dataset, version by version, and each two versions together.

    Args:
        ledger: where they are recorded; it is only read.
        engine: for the names of codes.
        policies: which width is required of each dataset; that of its newest version of earlier ones, too.
        name: a dataset of the source.
        most_atoms: joint codes that are looked at together.
        seconds: what is not settled by then is unproved.

    Raises:
        UnknownDataset: it is not registered.
    """
    deadline, occurring = Deadline(seconds), Occurring(engine)
    source = engine.dataset(name).source
    nothing = KnowledgeOfSources(ledger, np.random.default_rng()).nothing()
    lefts = [left_of(stored) for stored in ledger.releases(source)]
    versions = [
        VersionLeft(engine.dataset(*version), [left for left in lefts if left.version == version], nothing)
        for version in sorted({left.version for left in lefts})
    ]
    changed = {
        (at, other): changes_between(engine, versions[at], versions[other])
        for at, other in permutations(range(len(versions)), 2)
    }
    names = {version.dataset.name for version in versions}
    ruling = {one: policies.ruling(engine, one) for one in names}
    where = cache(partial(_published_where, ledger))
    quantities, noise, withheld = [], [], []
    for at, version in enumerate(versions):
        policy = ruling[version.dataset.name]
        groups = ChangedGroups.under(policy.rules, version.dataset)
        history = _history(versions, at, changed, groups, nothing)
        withheld.append(history.everything)
        truth = occurring.truth(version.dataset)
        within = narrowing([window for event in version.events for window in event.windows])
        look = Look(engine, version.dataset, most_atoms, deadline, truth, within=within)
        found = audited_quantities(look, withheld[-1], policy)
        quantities += _with_history(look, found, history, where, policy)
        if withheld[-1].known.noisy:
            noise.append(_noise(engine, version.dataset, withheld[-1].known, policy))
    pairs = tuple(
        audit_versions(
            changed[later, earlier],
            (versions[earlier], withheld[earlier]),
            (versions[later], withheld[later]),
            ruling[versions[later].dataset.name].rules,
        )
        for earlier, later in combinations(range(len(versions)), 2)
        if versions[earlier].left and versions[later].left
    )
    lefts = [left for left in lefts if not left.of_refusal]
    known_to_audits = [bool(left.tables or left.noisy) for left in lefts]
    overrides = tuple(
        left.query for left, known in zip(lefts, known_to_audits, strict=True) if left.exception or not known
    )
    left = sum(known_to_audits)
    return SourceAudit(left, overrides, tuple(quantities), tuple(noise), pairs, deadline.left() <= 0)


def _history(
    versions: Sequence[VersionLeft],
    at: int,
    changed: Mapping[tuple[int, int], Changed | None],
    groups: ChangedGroups | None,
    nothing: Knowledge,
) -> WithheldHistory:
    """What left of a version, with the figures of others that are the same in it."""
    mine = versions[at].dataset
    events = [*versions[at].events]
    for other, version in enumerate(versions):
        if other != at and (between := changed[at, other]) is not None:
            own = mine.name, mine.version
            events += [unchanged(event, own, between, groups) for event in version.events]
    return WithheldHistory.of(sorted(events, key=lambda event: event.sequence), nothing)


def _published_where(ledger: Ledger, query: str) -> str:
    """Where a table was published that a steward entered; empty of all else, and where it cannot be read."""
    try:
        stored = ledger.query(query)
    except ContentRemoved:
        return ""
    return "" if stored is None else release_pb2.DecisionRecord.FromString(stored.confidential).published


def _with_history(
    look: Look,
    found: list[AuditedQuantity],
    history: WithheldHistory,
    where: Callable[[str], str],
    policy: EffectivePolicy,
) -> list[AuditedQuantity]:
    """What is refuted may have been told by a publication first, or before anything withheld it."""

    def told(known: Withheld, boxes: Set[Named], marks: bool) -> set[Named]:
        if not boxes:
            return set()
        only = {name: {box for of, box in boxes if of == name} for name, _ in boxes}
        return _refuted(audited_quantities(replace(look, only=only, marks=marks), known, policy))

    refuted = _refuted(found)
    publications = [event for event in history.events if where(event.query)] if refuted else []
    first = _withheld_first(found, history)
    first = {box: first[box] for box in first.keys() & refuted}
    elsewhere = told_elsewhere(history, publications, told, first)
    before = told_before(history, told, {box: first[box] for box in first.keys() - elsewhere.keys()})
    known = []
    for one in found:
        by = {box: where(event.query) for (name, box), event in elsewhere.items() if name == one.quantity}
        early = {box for name, box in before if name == one.quantity}
        audited = one.standing(by.keys(), Standing.ELSEWHERE).standing(early, Standing.TOLD_BEFORE)
        known.append(replace(audited, elsewhere=by))
    return known


def _refuted(found: Sequence[AuditedQuantity]) -> set[Named]:
    return {
        (one.quantity, cell.box) for one in found for cell in one.cells if cell.standing is Standing.REFUTED
    }


def _withheld_first(found: Sequence[AuditedQuantity], history: WithheldHistory) -> dict[Named, int]:
    """The sequence of the answer that withheld each box first."""
    first: dict[Named, int] = {}
    for one in found:
        # Cells of a measure are of those who have it, with that condition or without.
        having = having_variable(one.marked)
        for box, sequence in history.withheld.get(one.marked, {}).items():
            name = one.quantity, plain(box, having)
            first[name] = min(sequence, first.get(name, sequence))
    return first


def _noise(engine: Engine, dataset: Dataset, known: Knowledge, policy: EffectivePolicy) -> AuditedNoise:
    together = NoisyTogether.of(engine, dataset, known)
    keys = policy.cell_keys
    mine = Noise.of(keys, dataset.records_per_unit) if keys is not None else None
    same = mine is not None and not mixed(known, mine)
    counts = [table for table in together.tables if not table.of_sums]
    changes = np.concatenate([(t.noisy - t.true)[t.left & (t.true > 0)] for t in counts] or [np.zeros(0)])
    return AuditedNoise(
        dataset,
        sum(int(table.left.sum()) for table in together.tables),
        sum(int((table.unsafe & table.left).sum()) for table in together.tables),
        sum(int(cells.sum()) for cells in together.unproved(mine).values()) if mine and same else None,
        together.most_answers(),
        float(np.abs(changes).mean()) if len(changes) else 0.0,
        float(changes.mean()) if len(changes) else 0.0,
    )
