"""All that left of a source audited together, long after: what stands of each cell that was ever withheld.

It holds withheld figures where they can be worked out: for the steward, on the machine of the ledger.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.dataset import EXCLUSIVE_PREFIX, Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility.boxes import MEASURE_PRESENT, expanded
from sdcgate.facility.joint_sums import MeasureHistory
from sdcgate.facility.knowledge import COUNTS, Knowledge, KnownQuantity
from sdcgate.facility.known_sources import KnowledgeOfSources
from sdcgate.facility.noise import Noise
from sdcgate.facility.occurring import combinations
from sdcgate.facility.perturbing import Together, mixed
from sdcgate.facility.policies import Policies
from sdcgate.facility.powers import power_words
from sdcgate.facility.weights import bounds_of
from sdcgate.ledger.ledger import Ledger
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Combinations
from sdcgate.methods.tables.joint_boxes import Variables, variables_of
from sdcgate.methods.tables.joint_history import AuditedBox, Standing, audit_history, audit_sums
from sdcgate.methods.tables.joint_sums import PART, Amounts, P, Q, amounts, of_all_parts
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.span import SpanBudgetExceeded
from sdcgate.policy.effective import EffectivePolicy
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

ABOVE, BELOW, BOTH = "above the least: ", "below the most: ", "from the least to the most: "
"""The parts of sums: how far values lie from what everybody knows them to be at least and at most."""


@dataclass(frozen=True, slots=True)
class AuditedQuantity:
    """What stands of the withheld counts, or sums of a measure, of one version of a dataset."""

    dataset: Dataset
    quantity: str
    """`records`, `units`, the measure, or a power of it: `income^2`."""
    width: float
    """Least distance of two values that a withheld count must be able to have; of sums a share of each."""
    published: int
    cells: tuple[AuditedBox, ...] = field(repr=False)
    parts: Mapping[int, str] = field(default_factory=dict)
    """Of a measure: what is said of the parts of which sums are made (`joint_sums`)."""

    def of(self, standing: Standing) -> int:
        """How many cells there are of a standing."""
        return sum(cell.standing is standing for cell in self.cells)

    def words(self, box: Box) -> str:
        """A box as a person would say it."""
        said = [_condition(self.dataset, name, mask) for name, mask in expanded(self.dataset, box)]
        return ", ".join(said) or "all records"

    def words_of_term(self, box: Box) -> str:
        """What stands in the arithmetic of a bound: a box, or of a sum the part of one."""
        part = self.parts.get(dict(box).get(PART, P | Q), "")
        return f"{part}{self.words(of_all_parts(box))}"


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
    quantities: tuple[AuditedQuantity, ...]
    noise: tuple[AuditedNoise, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether anything withheld is told."""
        return any(quantity.of(Standing.REFUTED) for quantity in self.quantities)

    @property
    def proved(self) -> bool:
        """Whether nothing withheld is told, whatever is combined."""
        of_figures = all(quantity.of(Standing.PROVED) == len(quantity.cells) for quantity in self.quantities)
        return of_figures and not any(noise.unproved is None or noise.unproved for noise in self.noise)


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
    quantities, noise = [], []
    for dataset in (engine.dataset(*version) for version in versions):
        known, policy = knowledge.of(source, dataset.name, dataset.version), policies.of(dataset)
        look = _Look(engine, dataset, most_atoms, deadline)
        quantities.append(_counts(look, False, known.of(COUNTS), policy))
        if dataset.varying is not None:
            quantities.append(_counts(look, True, known.of(COUNTS), policy))
        quantities += [
            _sums(look, quantity, known, policy.sum_width)
            for quantity in sorted(known.quantities)
            if quantity != COUNTS
        ]
        if known.noisy:
            noise.append(_noise(engine, dataset, known, policies))
    released = [(stored, release) for stored, release in released if not release.limits]
    known_to_audits = [bool(release.tables or release.noisy) for _, release in released]
    overrides = tuple(
        stored.query_id for (stored, _), known in zip(released, known_to_audits, strict=True) if not known
    )
    return SourceAudit(sum(known_to_audits), overrides, tuple(quantities), tuple(noise))


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


@dataclass(frozen=True, slots=True)
class _Look:
    """At what, and how far."""

    engine: Engine
    dataset: Dataset
    most_atoms: int
    deadline: Deadline

    def occurring(self, variables: tuple[str, ...]) -> Combinations:
        """The joint codes that people have, as boxes tell them: by the codes that occur."""
        return combinations(self.engine, self.dataset, variables)[0]


def _counts(look: _Look, units: bool, known: KnownQuantity, policy: EffectivePolicy) -> AuditedQuantity:
    dataset = look.dataset
    full = known.shapes.full
    boxes = known.boxes.adding_up(dataset.varying, units)
    floor = 0 if policy.zeros_withheld else 1
    width, atoms = policy.count_width, look.most_atoms
    found = audit_history(boxes, full, width, floor, atoms, look.deadline, units, look.occurring)
    computable = _computable([audited.box for audited in found], known)
    return AuditedQuantity(
        dataset,
        "units" if units else "records",
        policy.count_width,
        len(boxes.within(full.keys())),
        tuple(_with_computable(found, computable, known)),
    )


def _sums(look: _Look, quantity: str, known: Knowledge, share: float) -> AuditedQuantity:
    """What stands of a measure; without public bounds only what can be computed is told."""
    dataset = look.dataset
    of_measure, bounds = known.of(quantity), bounds_of(dataset, quantity)
    history = MeasureHistory.of(quantity, of_measure, known.of(COUNTS))
    hidden = of_measure.boxes.secrets_within(set(history.full))
    computable = {history.plain(box) for box in _computable(hidden, of_measure)}
    if bounds == (None, None):
        found = [AuditedBox(history.plain(box), Standing.PROVED, variables_of(box)) for box in hidden]
    else:

        def parts(domain: Variables) -> Amounts:
            return amounts(history.within(domain), bounds, history.codes(domain), share)

        those, atoms = of_measure.boxes, look.most_atoms
        found = audit_sums(those, history.full, history.having, parts, atoms, look.deadline, look.occurring)
    return AuditedQuantity(
        dataset,
        power_words(quantity),
        share,
        len(of_measure.boxes.within(history.full.keys())),
        tuple(_with_computable(found, computable, of_measure)),
        {P: "" if bounds[0] == 0 else ABOVE, Q: BELOW, P | Q: BOTH},
    )


def _computable(boxes: Sequence[Box], known: KnownQuantity) -> set[Box]:
    """Boxes that can be computed exactly, whatever variables it takes; none where it cannot be told."""
    try:
        inside = known.span.contains(boxes)
    except SpanBudgetExceeded:
        return set()
    return {box for box, computable in zip(boxes, inside, strict=True) if computable}


def _with_computable(
    found: Sequence[AuditedBox], computable: Set[Box], known: KnownQuantity
) -> Iterator[AuditedBox]:
    """What can be computed is refuted."""
    for audited in found:
        if audited.box in computable and audited.standing is not Standing.REFUTED:
            yield AuditedBox(audited.box, Standing.REFUTED, frozenset(known.shapes.full))
        else:
            yield audited


def _condition(dataset: Dataset, name: str, mask: int) -> str:
    """A variable with its codes, of the coarsest level that has them."""
    if name.startswith("measure:"):
        return f"{name.removeprefix('measure:')} {'known' if mask == MEASURE_PRESENT else 'missing'}"
    occurring = dataset.occurring(name)
    if name.startswith(EXCLUSIVE_PREFIX):
        return _of_several(dataset, name, mask)
    for level in reversed(dataset.levels(name)):
        masks = [(code, part & occurring) for code, part in zip(level.codes, level.masks, strict=True)]
        inside = [(code, part) for code, part in masks if part and not part & ~mask]
        if sum(part for _, part in inside) == mask:
            return f"{name} {' or '.join(code for code, _ in inside)}"
    return f"{name} {mask:#x}"


def _of_several(dataset: Dataset, name: str, mask: int) -> str:
    """Codes of an undeclared variable by those of the variables that it stands for."""
    members = {one: v.decided for one, v in dataset.variation.items() if v.determined_by == name}
    codes = [code for code in range(mask.bit_length()) if mask >> code & 1]
    told = (
        " with ".join(f"{one} {dataset.level(one).codes[decided[code]]}" for one, decided in members.items())
        for code in codes
    )
    return " or ".join(told)
