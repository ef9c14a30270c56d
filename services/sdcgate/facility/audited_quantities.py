"""What stands of the counts and sums that were withheld of one version of a dataset, quantity by quantity."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial

from sdcgate.engine.dataset import EXCLUSIVE_PREFIX, Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility.beside_deciding import beside_deciding
from sdcgate.facility.boxes import MEASURE_PRESENT, expanded
from sdcgate.facility.decided_sums import beside_decided, cell_of, in_play, quantity_of, told_of
from sdcgate.facility.joint_look import Truth
from sdcgate.facility.joint_sums import MeasureHistory, domain_of_counts
from sdcgate.facility.knowledge import COUNTS, KnownQuantity
from sdcgate.facility.leaving import Leaving
from sdcgate.facility.occurring import combinations
from sdcgate.facility.powers import power_words
from sdcgate.facility.weights import bounds_of
from sdcgate.facility.withheld_history import Withheld
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Combinations
from sdcgate.methods.tables.counts_told import counts_told
from sdcgate.methods.tables.joint_boxes import Variables, variables_of
from sdcgate.methods.tables.joint_history import AuditedBox, Standing, Term, audit_history, audit_sums
from sdcgate.methods.tables.joint_sums import LACKING, PART, Amounts, P, Q, amounts, of_all_parts
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.span import SpanBudgetExceeded
from sdcgate.policy.effective import EffectivePolicy

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
    """Where a measure bounds them: what is said of the parts of which sums are made (`joint_sums`)."""
    of_sums: bool = False
    """Whether sums are withheld, or counts."""
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
        """What stands in the arithmetic of a bound: a box, or where a measure tells of it the part of one."""
        if of := quantity_of(box):
            return f"{of.removesuffix(':')} of {self.words(cell_of(box))}"
        whole = P | Q if self.of_sums else P | Q | LACKING
        part = self.parts.get(dict(box).get(PART, whole), "")
        return f"{part}{self.words(of_all_parts(box))}"


@dataclass(frozen=True, slots=True)
class Look:
    """At what, and how far."""

    engine: Engine
    dataset: Dataset
    most_atoms: int
    deadline: Deadline
    truth: Truth
    """What people have, to begin with, and which variables decide weights and measures."""

    def occurring(self, variables: tuple[str, ...]) -> Combinations:
        """The joint codes that people have, as boxes tell them: by the codes that occur."""
        return combinations(self.engine, self.dataset, variables)[0]


def audited_quantities(look: Look, withheld: Withheld, policy: EffectivePolicy) -> list[AuditedQuantity]:
    """What stands of each quantity of a version."""
    found = [_counts(look, False, withheld, policy)]
    if look.dataset.varying is not None:
        found.append(_counts(look, True, withheld, policy))
    measures = sorted(quantity for quantity in withheld.known.quantities if quantity != COUNTS)
    told = {cell.box for cell in found[0].cells if cell.standing is Standing.REFUTED}
    beside = [_counts_beside(look, quantity, withheld, policy, told) for quantity in measures]
    found += [_sums(look, quantity, withheld, policy.sum_width) for quantity in measures]
    return [*found, *(one for one in beside if one.cells)]


def _counts(look: Look, units: bool, withheld: Withheld, policy: EffectivePolicy) -> AuditedQuantity:
    dataset, known = look.dataset, withheld.of(COUNTS)
    beside = _beside_decided(look, COUNTS, beside_deciding(dataset, known), withheld)
    full, boxes = beside.shapes.full, beside.boxes.adding_up(dataset.varying, units)
    width, floor, atoms = policy.count_width, policy.count_floor, look.most_atoms
    held = partial(look.truth.held, units, needed=bool(boxes.combined))
    found = audit_history(boxes, full, width, floor, atoms, look.deadline, units, look.occurring, held)
    computable = _computable([audited.box for audited in found], known)
    shown = known.boxes.adding_up(dataset.varying, units).within(full.keys(), units)
    published = [_published(box, shown[box]) for box in withheld.published_too(COUNTS) if box in shown]
    return AuditedQuantity(
        dataset,
        "units" if units else "records",
        policy.count_width,
        len(shown),
        (*_with_computable(found, computable, known), *published),
    )


def _beside_decided(look: Look, of: str, known: KnownQuantity, withheld: Withheld) -> KnownQuantity:
    """What is known of a quantity, with what others tell of it, as variables decide what is summed."""
    quantities, names = withheld.known.quantities, withheld.of(COUNTS).shapes.full.keys()
    decided = in_play(look.truth.decided, quantities, names)
    return beside_decided(known, quantities, told_of(of, decided))


def _published(box: Box, amount: float) -> AuditedBox:
    """A withheld box that was published, too."""
    itself = (Term(1.0, box, amount),)
    return AuditedBox(box, Standing.REFUTED, variables_of(box), amount, amount, itself, itself)


def _sums(look: Look, quantity: str, withheld: Withheld, share: float) -> AuditedQuantity:
    """What stands of a measure; without public bounds only what can be computed is told."""
    dataset = look.dataset
    of_measure = _beside_decided(look, quantity, withheld.of(quantity), withheld)
    bounds = bounds_of(dataset, quantity)
    history = MeasureHistory.of(
        quantity, Leaving(of_measure), Leaving(beside_deciding(dataset, withheld.of(COUNTS)))
    )
    hidden = of_measure.boxes.secrets_within(set(history.full))
    computable = {history.plain(box) for box in _computable(hidden, of_measure)}
    if bounds == (None, None):
        found = [AuditedBox(history.plain(box), Standing.NOT_COMPUTABLE, variables_of(box)) for box in hidden]
    else:

        def parts(domain: Variables) -> Amounts:
            finer = history.may_cut_finer(domain, look.most_atoms)
            return amounts(history.within(domain, finer), bounds, history.codes(domain), share)

        found = audit_sums(
            of_measure.boxes,
            history.full,
            history.having,
            parts,
            look.most_atoms,
            look.deadline,
            look.occurring,
            partial(look.truth.measured, quantity),
        )
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
        of_sums=True,
    )


def _counts_beside(
    look: Look, quantity: str, withheld: Withheld, policy: EffectivePolicy, told: Set[Box]
) -> AuditedQuantity:
    """Withheld counts that a measure's sums tell too closely beside counts, or that could not be settled.

    All others, and those `told` by counts alone, are as the audit of counts says.
    """
    dataset, counts = look.dataset, beside_deciding(look.dataset, withheld.of(COUNTS))
    history = MeasureHistory.of(quantity, Leaving(withheld.of(quantity)), Leaving(counts))
    low, high = bounds_of(dataset, quantity)
    found: dict[Box, AuditedBox] = {}
    if low is not None and high is not None:
        required = policy.count_width, policy.count_floor
        for domain, finer in _domains_of_counts(look, history):
            boxes = history.beside_counts(domain | {history.having}, finer)
            codes = history.codes(domain)
            measured = look.truth.measured(quantity, frozenset(codes))
            for one in counts_told(boxes, (low, high), codes, required, look.deadline, measured):
                box = history.as_counted(one.box)
                if box not in told and found.get(box, one).standing <= one.standing:
                    found[box] = replace(one, box=box)
    words = power_words(quantity)
    said = {
        P: f"{words} {ABOVE}",
        Q: f"{words} {BELOW}",
        P | Q: f"having {words}: ",
        LACKING: f"no {words}: ",
    }
    return AuditedQuantity(
        dataset,
        f"records beside {words}",
        policy.count_width,
        len(counts.boxes.within(counts.shapes.full.keys())),
        tuple(found.values()),
        said,
    )


def _domains_of_counts(look: Look, history: MeasureHistory) -> list[tuple[Variables, bool]]:
    """The variables to look at together for each set that withheld counts have, the fewest first."""
    firsts = {variables_of(box) for box in history.counts.secrets_within(set(history.full))}
    ordered = sorted(firsts, key=lambda names: (len(names), sorted(names)))
    return list(dict.fromkeys(domain_of_counts([history], names, look.most_atoms) for names in ordered))


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
