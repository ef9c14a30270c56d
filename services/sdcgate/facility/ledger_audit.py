"""All that left of a source audited together, long after: what stands of each cell that was ever withheld.

It holds withheld figures where they can be worked out: for the steward, on the machine of the ledger.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import permutations

import numpy as np

from sdcgate.engine.dataset import EXCLUSIVE_PREFIX, Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility.boxes import MEASURE_PRESENT, expanded
from sdcgate.facility.joint_sums import MeasureHistory
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.knowledge import COUNTS, Knowledge, KnownQuantity
from sdcgate.facility.known_sources import KnowledgeOfSources
from sdcgate.facility.noise import Noise
from sdcgate.facility.occurring import combinations
from sdcgate.facility.other_versions import Changed
from sdcgate.facility.perturbing import Together, mixed
from sdcgate.facility.policies import Policies
from sdcgate.facility.powers import power_words
from sdcgate.facility.versions_audit import (
    AuditedVersions,
    VersionLeft,
    audit_versions,
    changes_between,
    unchanged,
)
from sdcgate.facility.weights import bounds_of
from sdcgate.facility.withheld_history import Withheld, WithheldHistory, told_elsewhere
from sdcgate.ledger.errors import ContentRemoved
from sdcgate.ledger.ledger import Ledger
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Combinations
from sdcgate.methods.tables.joint_boxes import Variables, variables_of
from sdcgate.methods.tables.joint_history import AuditedBox, Standing, Term, audit_history, audit_sums
from sdcgate.methods.tables.joint_sums import PART, Amounts, P, Q, amounts, of_all_parts
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.span import SpanBudgetExceeded
from sdcgate.policy.effective import EffectivePolicy
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

ABOVE, BELOW, BOTH = "above the least: ", "below the most: ", "from the least to the most: "
"""The parts of sums: how far values lie from what everybody knows them to be at least and at most."""

HARMLESS = frozenset({Standing.PROVED, Standing.ELSEWHERE})
"""Standings of cells that nothing that left tells."""


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
    elsewhere: Mapping[Box, str] = field(default_factory=dict, repr=False)
    """Where boxes were published that nothing that left tells."""

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
    """Queries that a checker released by exception: of outputs no audit knows the figures."""
    quantities: tuple[AuditedQuantity, ...]
    noise: tuple[AuditedNoise, ...] = ()
    versions: tuple[AuditedVersions, ...] = ()
    """Each two versions of which something has left, held against each other."""

    @property
    def refuted(self) -> bool:
        """Whether anything withheld is told."""
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
        policies: which width is required of each dataset.
        name: a dataset of the source.
        most_atoms: joint codes that are looked at together.
        seconds: what is not settled by then is unproved.

    Raises:
        UnknownDataset: it is not registered.
    """
    deadline = Deadline(seconds)
    source = engine.dataset(name).source
    nothing = KnowledgeOfSources(ledger, np.random.default_rng()).nothing()
    lefts = [left_of(stored) for stored in ledger.releases(source)]
    versions = [
        VersionLeft(engine.dataset(*version), [left for left in lefts if left.version == version])
        for version in sorted({left.version for left in lefts})
    ]
    changed = {
        (at, other): changes_between(engine, versions[at], versions[other])
        for at, other in permutations(range(len(versions)), 2)
    }
    where = cache(partial(_published_where, ledger))
    quantities, noise, withheld = [], [], []
    for at, version in enumerate(versions):
        history = _history(versions, at, changed, nothing)
        withheld.append(history.until())
        look = _Look(engine, version.dataset, most_atoms, deadline)
        found = _quantities(look, withheld[-1], policies.of(version.dataset))
        quantities += _with_publications(look, found, history, where, policies.of(version.dataset))
        if withheld[-1].known.noisy:
            noise.append(_noise(engine, version.dataset, withheld[-1].known, policies))
    pairs = tuple(
        audit_versions(
            changed[later, earlier],
            (versions[earlier], withheld[earlier]),
            (versions[later], withheld[later]),
            policies.of(versions[later].dataset).rules,
        )
        for earlier, later in permutations(range(len(versions)), 2)
        if earlier < later and versions[earlier].left and versions[later].left
    )
    lefts = [left for left in lefts if not left.of_refusal]
    known_to_audits = [bool(left.tables or left.noisy) for left in lefts]
    overrides = tuple(
        left.query for left, known in zip(lefts, known_to_audits, strict=True) if left.exception or not known
    )
    return SourceAudit(sum(known_to_audits), overrides, tuple(quantities), tuple(noise), pairs)


def _history(
    versions: Sequence[VersionLeft],
    at: int,
    changed: Mapping[tuple[int, int], Changed | None],
    nothing: Knowledge,
) -> WithheldHistory:
    """What left of a version, with the figures of others that are the same in it."""
    mine = versions[at].dataset
    events = [*versions[at].events]
    for other, version in enumerate(versions):
        if other != at and (between := changed[at, other]) is not None:
            events += [unchanged(event, (mine.name, mine.version), between) for event in version.events]
    return WithheldHistory.of(sorted(events, key=lambda event: event.sequence), nothing)


def _published_where(ledger: Ledger, query: str) -> str:
    """Where a table was published that a steward entered; empty of all else, and where it cannot be read."""
    try:
        stored = ledger.query(query)
    except ContentRemoved:
        return ""
    return "" if stored is None else release_pb2.DecisionRecord.FromString(stored.confidential).published


def _quantities(look: "_Look", withheld: Withheld, policy: EffectivePolicy) -> list[AuditedQuantity]:
    """What stands of each quantity of a version."""
    found = [_counts(look, False, withheld, policy)]
    if look.dataset.varying is not None:
        found.append(_counts(look, True, withheld, policy))
    measures = sorted(quantity for quantity in withheld.known.quantities if quantity != COUNTS)
    return [*found, *(_sums(look, quantity, withheld, policy.sum_width) for quantity in measures)]


def _with_publications(
    look: "_Look",
    found: list[AuditedQuantity],
    history: WithheldHistory,
    where: Callable[[str], str],
    policy: EffectivePolicy,
) -> list[AuditedQuantity]:
    """What is refuted is known from elsewhere where a publication was the first to tell it."""
    refuted = _refuted(found)
    publications = [event for event in history.events if where(event.query)] if refuted else []
    by = told_elsewhere(
        history, publications, lambda known: _refuted(_quantities(look, known, policy)), refuted
    )
    return [
        _known(one, {box: where(left.query) for (q, box), left in by.items() if q == one.quantity})
        for one in found
    ]


def _refuted(found: Sequence[AuditedQuantity]) -> set[tuple[str, Box]]:
    return {
        (one.quantity, cell.box) for one in found for cell in one.cells if cell.standing is Standing.REFUTED
    }


def _known(audited: AuditedQuantity, elsewhere: Mapping[Box, str]) -> AuditedQuantity:
    cells = tuple(
        replace(cell, standing=Standing.ELSEWHERE) if cell.box in elsewhere else cell
        for cell in audited.cells
    )
    return replace(audited, cells=cells, elsewhere=elsewhere)


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


def _counts(look: _Look, units: bool, withheld: Withheld, policy: EffectivePolicy) -> AuditedQuantity:
    dataset, known = look.dataset, withheld.of(COUNTS)
    full = known.shapes.full
    boxes = known.boxes.adding_up(dataset.varying, units)
    floor = 0 if policy.zeros_withheld else 1
    width, atoms = policy.count_width, look.most_atoms
    found = audit_history(boxes, full, width, floor, atoms, look.deadline, units, look.occurring)
    computable = _computable([audited.box for audited in found], known)
    shown = boxes.within(full.keys(), units)
    published = [_published(box, shown[box]) for box in withheld.published_too(COUNTS) if box in shown]
    return AuditedQuantity(
        dataset,
        "units" if units else "records",
        policy.count_width,
        len(shown),
        (*_with_computable(found, computable, known), *published),
    )


def _published(box: Box, amount: float) -> AuditedBox:
    """A withheld box that was published, too."""
    itself = (Term(1.0, box, amount),)
    return AuditedBox(box, Standing.REFUTED, variables_of(box), amount, amount, itself, itself)


def _sums(look: _Look, quantity: str, withheld: Withheld, share: float) -> AuditedQuantity:
    """What stands of a measure; without public bounds only what can be computed is told."""
    dataset = look.dataset
    of_measure, bounds = withheld.of(quantity), bounds_of(dataset, quantity)
    history = MeasureHistory.of(quantity, of_measure, withheld.of(COUNTS))
    hidden = of_measure.boxes.secrets_within(set(history.full))
    computable = {history.plain(box) for box in _computable(hidden, of_measure)}
    if bounds == (None, None):
        found = [AuditedBox(history.plain(box), Standing.NOT_COMPUTABLE, variables_of(box)) for box in hidden]
    else:

        def parts(domain: Variables) -> Amounts:
            return amounts(history.within(domain), bounds, history.codes(domain), share)

        those, atoms = of_measure.boxes, look.most_atoms
        found = audit_sums(those, history.full, history.having, parts, atoms, look.deadline, look.occurring)
    published = [
        _published(history.plain(box), of_measure.amounts[box].total)
        for box in withheld.published_too(quantity)
    ]
    return AuditedQuantity(
        dataset,
        power_words(quantity),
        share,
        len(of_measure.boxes.within(history.full.keys())),
        (*_with_computable(found, computable, of_measure), *published),
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
