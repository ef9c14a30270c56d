"""All that left of a source audited together, long after: what stands of each cell that was ever withheld.

It holds withheld figures where they can be worked out: for the steward, on the machine of the ledger.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility.boxes import COUNTS, MEASURE_PRESENT, expanded
from sdcgate.facility.knowledge import Knowledge, KnowledgeOfSources, KnownQuantity
from sdcgate.facility.noise import Noise
from sdcgate.facility.perturbing import Together, mixed
from sdcgate.facility.policies import Policies
from sdcgate.ledger.ledger import Ledger
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.joint_history import AuditedBox, Standing, audit_history
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.span import SpanBudgetExceeded
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


@dataclass(frozen=True, slots=True)
class AuditedCounts:
    """What stands of the withheld counts of one version of a dataset."""

    dataset: Dataset
    units: bool
    """Of units rather than of records."""
    width: int
    """Least distance of two values that a withheld count must be able to have."""
    published: int
    cells: tuple[AuditedBox, ...] = field(repr=False)

    def of(self, standing: Standing) -> int:
        """How many cells there are of a standing."""
        return sum(cell.standing is standing for cell in self.cells)

    def words(self, box: Box) -> str:
        """A box as a person would say it."""
        said = [_condition(self.dataset, name, mask) for name, mask in expanded(self.dataset, box)]
        return ", ".join(said) or "all records"


@dataclass(frozen=True, slots=True)
class AuditedSums:
    """How many withheld sums of a measure can be computed from what has left; None where it is not known."""

    dataset: Dataset
    measure: str
    withheld: int
    computable: int | None


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
    """Queries whose output a checker released by exception: no audit knows their figures."""
    counts: tuple[AuditedCounts, ...]
    sums: tuple[AuditedSums, ...]
    noise: tuple[AuditedNoise, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether anything withheld is told."""
        computable = any(sums.computable for sums in self.sums)
        return computable or any(counts.of(Standing.REFUTED) for counts in self.counts)


def audit_source(
    ledger: Ledger, engine: Engine, policies: Policies, name: str, most_atoms: int, seconds: float
) -> SourceAudit:
    """Audit all releases of the source of a dataset, version by version.

    Args:
        ledger: where they are recorded; it is only read.
        engine: for the names of codes.
        policies: which width is required of each dataset.
        name: a dataset of the source.
        most_atoms: joint codes that are looked at together.
        seconds: what is not settled by then is unproved.

    Raises:
        UnknownDataset: it is not registered.
    """
    deadline = Deadline(seconds)
    source = engine.dataset(name).source
    knowledge = KnowledgeOfSources(ledger, np.random.default_rng())
    released = [(stored, _release(stored.payload)) for stored in ledger.releases(source)]
    versions = dict.fromkeys((release.dataset, release.version) for _, release in released)
    counts, sums, noise = [], [], []
    for dataset in (engine.dataset(*version) for version in versions):
        known = knowledge.of(source, dataset.name, dataset.version)
        counts.append(_counts(dataset, False, known.of(COUNTS), policies, most_atoms, deadline))
        if dataset.varying is not None:
            counts.append(_counts(dataset, True, known.of(COUNTS), policies, most_atoms, deadline))
        if known.noisy:
            noise.append(_noise(engine, dataset, known, policies))
        sums += [
            AuditedSums(dataset, quantity, *_computable(found))
            for quantity, found in sorted(known.quantities.items())
            if quantity != COUNTS
        ]
    known_to_audits = [bool(release.tables or release.noisy) for _, release in released]
    overrides = tuple(
        stored.query_id for (stored, _), known in zip(released, known_to_audits, strict=True) if not known
    )
    return SourceAudit(sum(known_to_audits), overrides, tuple(counts), tuple(sums), tuple(noise))


def _noise(engine: Engine, dataset: Dataset, known: Knowledge, policies: Policies) -> AuditedNoise:
    together = Together.of(engine, dataset, known)
    keys = policies.of(dataset).cell_keys
    mine = Noise.of(keys) if keys is not None else None
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


def _release(payload: bytes) -> release_pb2.Release:
    return release_pb2.Release.FromString(payload)


def _counts(
    dataset: Dataset,
    units: bool,
    known: KnownQuantity,
    policies: Policies,
    most_atoms: int,
    deadline: Deadline,
) -> AuditedCounts:
    policy, full = policies.of(dataset), known.shapes.full
    boxes = known.boxes.without(dataset.varying or set()) if units else known.boxes
    floor = 0 if policy.zeros_withheld else 1
    found = audit_history(boxes, full, policy.count_width, floor, most_atoms, deadline, units)
    published = len(boxes.within(full.keys()))
    return AuditedCounts(dataset, units, policy.count_width, published, tuple(_with_span(found, known)))


def _with_span(found: list[AuditedBox], known: KnownQuantity) -> Iterator[AuditedBox]:
    """What can be computed exactly is refuted, whatever variables it takes."""
    try:
        inside = known.span.contains([audited.box for audited in found])
    except SpanBudgetExceeded:
        inside = np.zeros(len(found), dtype=np.bool_)
    for audited, computable in zip(found, inside, strict=True):
        if computable and audited.standing is not Standing.REFUTED:
            yield AuditedBox(audited.box, Standing.REFUTED, frozenset(known.shapes.full))
        else:
            yield audited


def _computable(known: KnownQuantity) -> tuple[int, int | None]:
    secrets = known.boxes.secrets_within(set(known.shapes.full))
    try:
        return len(secrets), int(known.span.contains(secrets).sum())
    except SpanBudgetExceeded:
        return len(secrets), None


def _condition(dataset: Dataset, name: str, mask: int) -> str:
    """A variable with its codes, of the coarsest level that has them."""
    if name.startswith("measure:"):
        return f"{name.removeprefix('measure:')} {'known' if mask == MEASURE_PRESENT else 'missing'}"
    occurring = dataset.occurring(name)
    for level in reversed(dataset.levels(name)):
        masks = [(code, part & occurring) for code, part in zip(level.codes, level.masks, strict=True)]
        inside = [(code, part) for code, part in masks if part and not part & ~mask]
        if sum(part for _, part in inside) == mask:
            return f"{name} {' or '.join(code for code, _ in inside)}"
    return f"{name} {mask:#x}"
