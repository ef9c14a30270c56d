"""What stands of the counts and sums that were withheld of one version of a dataset, quantity by quantity."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from sdcgate.engine.dataset import EXCLUSIVE_PREFIX, Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility.beside_deciding import beside_deciding
from sdcgate.facility.boxes import MEASURE_PRESENT, expanded, having_variable
from sdcgate.facility.decided_sums import SUM_OF, beside_decided, cell_of, in_play, quantity_of, told_of
from sdcgate.facility.joint_look import Truth
from sdcgate.facility.joint_sums import MeasureHistory, domain_of_counts, plain
from sdcgate.facility.knowledge import COUNTS, KnownQuantity
from sdcgate.facility.leaving import Leaving
from sdcgate.facility.occurring import combinations
from sdcgate.facility.panels import panel_of
from sdcgate.facility.powers import Bounds, summed_in
from sdcgate.facility.weights import as_declared, bounds_of
from sdcgate.facility.withheld_history import Withheld
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Combinations
from sdcgate.methods.tables.counts_told import counts_told
from sdcgate.methods.tables.empty_boxes import CoverUndecided
from sdcgate.methods.tables.joint_boxes import Variables, variables_of
from sdcgate.methods.tables.joint_history import (
    AuditedBox,
    Standing,
    Term,
    audit_history,
    audit_sums,
    told_together,
)
from sdcgate.methods.tables.joint_panel import MOST_TOGETHER, without_kind
from sdcgate.methods.tables.joint_sums import LACKING, PART, Amounts, P, Q, amounts, of_all_parts
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.span import SpanBudgetExceeded
from sdcgate.methods.tables.told_shares import without_share
from sdcgate.policy.effective import EffectivePolicy

ABOVE, BELOW, BOTH = "above the least: ", "below the most: ", "from the least to the most: "
"""The parts of sums: how far values lie from what everybody knows them to be at least and at most."""


@dataclass(frozen=True, slots=True)
class AuditedQuantity:
    """What stands of the withheld counts, or sums of a measure, of one version of a dataset."""

    dataset: Dataset
    quantity: str
    """`records`, `units`, the measure, or a power of it: `income^2`."""
    marked: str
    """Of which quantity answers withheld the cells: counts, or the measure."""
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
        if (part := without_share(box)) != box:
            return f"the share that was told of {self.words(cell_of(of_all_parts(part)))}"
        if of := quantity_of(box):
            return f"{of.removesuffix(':')} of {self.words(cell_of(box))}"
        whole = P | Q if self.of_sums else P | Q | LACKING
        of_part = self.parts.get(dict(box).get(PART, whole), "")
        return f"{of_part}{self.words(of_all_parts(box))}"

    def standing(self, boxes: Set[Box], standing: Standing) -> "AuditedQuantity":
        """The same where some cells are of another standing."""
        cells = (replace(cell, standing=standing) if cell.box in boxes else cell for cell in self.cells)
        return replace(self, cells=tuple(cells))


@dataclass(frozen=True, slots=True)
class Look:
    """At what, and how far."""

    engine: Engine
    dataset: Dataset
    most_atoms: int
    deadline: Deadline
    truth: Truth
    """What people have, to begin with, and which variables decide weights and measures."""
    only: Mapping[str, Set[Box]] | None = field(default=None, repr=False)
    """The boxes of which no more is asked than whether they are told, by audited quantity; else None."""
    within: Callable[[str, Bounds], Bounds] = field(default=as_declared, repr=False)
    """Narrows the declared bounds of a measure by what was told of its extremes."""
    marks: bool = True
    """Whether it is known of withheld boxes that they are: none is empty, where zeros are published."""

    def floor(self, policy: EffectivePolicy) -> int:
        """What everybody knows a withheld count to be at least."""
        return policy.count_floor if self.marks else 0

    def asked(self, name: str) -> Set[Box] | None:
        """The boxes of an audited quantity that are asked for; all where it is None."""
        return None if self.only is None else self.only.get(name, frozenset())

    @property
    def occurring(self) -> "Callable[[tuple[str, ...]], Combinations] | None":
        """The joint codes that people have, as boxes tell them: by the codes that occur."""
        if self.only is not None:
            return None
        return lambda variables: combinations(self.engine, self.dataset, variables)[0]


def audited_quantities(look: Look, withheld: Withheld, policy: EffectivePolicy) -> list[AuditedQuantity]:
    """What stands of each quantity of a version."""
    found = [_counts(look, False, withheld, policy)]
    if look.dataset.varying is not None:
        found.append(_counts(look, True, withheld, policy))
    # Who is told to be nobody has nothing of a measure that was withheld only later.
    measures = sorted({*withheld.known.quantities, *withheld.history.withheld} - {COUNTS})
    told = {cell.box for cell in found[0].cells if cell.standing is Standing.REFUTED}
    beside = [_counts_beside(look, quantity, withheld, policy, told) for quantity in measures]
    found += [_sums(look, quantity, withheld, policy) for quantity in measures]
    return [*found, *(one for one in beside if one.cells)]


def _counts(look: Look, units: bool, withheld: Withheld, policy: EffectivePolicy) -> AuditedQuantity:
    name = "units" if units else "records"
    dataset, known, only = look.dataset, withheld.of(COUNTS), look.asked(name)
    found = _of_counts(look, units, withheld, policy, known, only)
    if doubtful := _doubtful(found, known.sure is None):
        surely = withheld.surely(COUNTS)
        found = _instead(found, _of_counts(look, units, withheld, policy, surely, doubtful))
    shown = known.boxes.adding_up(dataset.varying, units).within(known.shapes.full.keys(), units)
    published = [
        _published(box, shown[box])
        for box in withheld.published_too(COUNTS)
        if box in shown and (only is None or box in only)
    ]
    return AuditedQuantity(dataset, name, COUNTS, policy.count_width, len(shown), (*found, *published))


def _of_counts(
    look: Look,
    units: bool,
    withheld: Withheld,
    policy: EffectivePolicy,
    known: KnownQuantity,
    only: Set[Box] | None = None,
) -> list[AuditedBox]:
    """What stands of withheld counts, or of some, by what is known of counts."""
    beside = _beside_decided(look, COUNTS, beside_deciding(look.dataset, known), withheld)
    full, boxes = beside.shapes.full, beside.boxes.adding_up(look.dataset.varying, units)
    width, floor, atoms = policy.count_width, look.floor(policy), look.most_atoms
    held = partial(look.truth.held, units, needed=bool(boxes.combined))
    found = audit_history(boxes, full, width, floor, atoms, look.deadline, units, look.occurring, held, only)
    found = _with_both(look, units, policy, beside, found, only)
    computable = _computable([audited.box for audited in found], known)
    return [*_with_computable(_with_covered(found, beside), computable, known)]


def _with_both(
    look: Look,
    units: bool,
    policy: EffectivePolicy,
    known: KnownQuantity,
    found: Sequence[AuditedBox],
    only: Set[Box] | None,
) -> list[AuditedBox]:
    """What records and units tell together of withheld counts is refuted by both."""
    panel, width, floor = panel_of(look.dataset), policy.count_width, look.floor(policy)
    if panel is None:
        return [*found]
    boxes, full = known.boxes, known.shapes.full
    told = told_together(boxes, panel, full, width, floor, MOST_TOGETHER, look.deadline, units, only)
    left = {one.box for one in found if one.standing is Standing.REFUTED}
    new = {one.box: _with_kinds_named(one) for one in told if one.box not in left}
    kept = [new.pop(one.box, one) for one in found]
    return [*kept, *new.values()]


def _with_kinds_named(audited: AuditedBox) -> AuditedBox:
    """With terms that say whether they are of records or of units."""

    def named(term: Term) -> Term:
        plain, records = without_kind(term.box)
        return replace(term, box=tuple(sorted((*plain, (f"{SUM_OF}{'records' if records else 'units'}", 1)))))

    return replace(audited, below=tuple(map(named, audited.below)), above=tuple(map(named, audited.above)))


def _doubtful(found: Sequence[AuditedBox], certain: bool) -> set[Box]:
    """Boxes that are not proved by what was perhaps told, where not all was told for sure."""
    if certain:
        return set()
    return {one.box for one in found if one.standing in (Standing.REFUTED, Standing.UNPROVED)}


def _instead(found: Sequence[AuditedBox], again: Sequence[AuditedBox]) -> list[AuditedBox]:
    """What stands of boxes, of those that were looked at again what was found then."""
    by_box = {one.box: one for one in again}
    return [by_box.get(one.box, one) for one in found]


def _beside_decided(look: Look, of: str, known: KnownQuantity, withheld: Withheld) -> KnownQuantity:
    """What is known of a quantity, with what others tell of it, as variables decide what is summed."""
    quantities, names = withheld.known.quantities, withheld.of(COUNTS).shapes.full.keys()
    decided = in_play(look.truth.decided, quantities, names)
    return beside_decided(known, quantities, told_of(of, decided))


def _published(box: Box, amount: float) -> AuditedBox:
    """A withheld box that was published, too."""
    itself = (Term(1.0, box, amount),)
    return AuditedBox(box, Standing.REFUTED, variables_of(box), amount, amount, itself, itself)


def _sums(look: Look, quantity: str, withheld: Withheld, policy: EffectivePolicy) -> AuditedQuantity:
    """What stands of a measure; without public bounds only what can be computed is told."""
    known, of_counts, only = withheld.of(quantity), withheld.of(COUNTS), look.asked(summed_in(quantity).words)
    found = _of_sums(look, quantity, withheld, policy, (known, of_counts), only)
    if doubtful := _doubtful(found, known.sure is None and of_counts.sure is None):
        surely = withheld.surely(quantity), withheld.surely(COUNTS)
        found = _instead(found, _of_sums(look, quantity, withheld, policy, surely, doubtful))
    having, bounds = having_variable(quantity), bounds_of(look.dataset, quantity, look.within)
    published = [
        _published(plain(box, having), known.amounts[box].total)
        for box in withheld.published_too(quantity)
        if only is None or plain(box, having) in only
    ]
    return AuditedQuantity(
        look.dataset,
        summed_in(quantity).words,
        quantity,
        policy.sum_width,
        len(known.boxes.within({*known.shapes.full, having})),
        (*found, *published),
        {P: "" if bounds[0] == 0 else ABOVE, Q: BELOW, P | Q: BOTH},
        of_sums=True,
    )


def _of_sums(
    look: Look,
    quantity: str,
    withheld: Withheld,
    policy: EffectivePolicy,
    known: tuple[KnownQuantity, KnownQuantity],
    only: Set[Box] | None = None,
) -> list[AuditedBox]:
    """What stands of withheld sums, or of some, by what is known of the measure and of counts."""
    dataset = look.dataset
    of_measure = _beside_decided(look, quantity, known[0], withheld)
    bounds = bounds_of(dataset, quantity, look.within)
    of_counts = Leaving(beside_deciding(dataset, known[1]))
    history = MeasureHistory.of(quantity, Leaving(of_measure), of_counts)
    hidden = [
        box
        for box in of_measure.boxes.secrets_within(set(history.full))
        if only is None or history.plain(box) in only
    ]
    computable = {history.plain(box) for box in _computable(hidden, of_measure)}
    if bounds == (None, None):
        found = [AuditedBox(history.plain(box), Standing.NOT_COMPUTABLE, variables_of(box)) for box in hidden]
    else:
        within = _audited_sums(look, quantity, policy, history, only)
        found = _by_known_records(within, bounds, history, of_counts.known)
    return [*_with_computable(found, computable, of_measure)]


def _audited_sums(
    look: Look, quantity: str, policy: EffectivePolicy, history: MeasureHistory, only: Set[Box] | None
) -> Callable[[Bounds, Set[Box] | None], list[AuditedBox]]:
    """What stands of sums within bounds of single values, of all that are asked for or of some."""

    def audited(bounds: Bounds, some: Set[Box] | None) -> list[AuditedBox]:
        def parts(domain: Variables) -> Amounts:
            finer = history.may_cut_finer(domain, look.most_atoms)
            within, share = history.within(domain, finer), policy.sum_width
            return amounts(within, bounds, history.codes(domain), share)

        def somebody(domain: Variables) -> Iterable[Box]:
            finer = history.may_cut_finer(domain, look.most_atoms)
            return sorted(history.marked(domain, finer)) if look.floor(policy) else ()

        return audit_sums(
            history.boxes,
            history.full,
            history.having,
            parts,
            look.most_atoms,
            look.deadline,
            look.occurring,
            partial(look.truth.measured, quantity),
            only if some is None else some,
            somebody,
        )

    return audited


def _by_known_records(
    audited: Callable[[Bounds, Set[Box] | None], list[AuditedBox]],
    bounds: Bounds,
    history: MeasureHistory,
    of_counts: KnownQuantity,
) -> list[AuditedBox]:
    """What stands of sums, where they are refuted only by records that everybody is taken to know unproved.

    Above a least value that is not 0 a sum rests on how many have it (`methods.tables.joint_sums`). Where
    that has not left, what tells it though values were only known not to be negative tells it for sure.
    """
    found, low = audited(bounds, None), bounds[0]
    refuted = [one.box for one in found if one.standing is Standing.REFUTED]
    if low == 0 or not refuted:
        return found
    uncounted = _uncounted(refuted, history, of_counts)
    sure = set[Box]()
    if low is not None and low > 0 and uncounted:
        again = audited((0.0, bounds[1]), uncounted)
        sure = {one.box for one in again if one.standing is Standing.REFUTED}
    doubtful = uncounted - sure
    return [
        AuditedBox(one.box, Standing.UNPROVED, one.variables) if one.box in doubtful else one for one in found
    ]


def _uncounted(boxes: Sequence[Box], history: MeasureHistory, of_counts: KnownQuantity) -> set[Box]:
    """Boxes of which it neither left nor follows how many have the measure."""
    shown = of_counts.boxes.within({*of_counts.shapes.full, history.having})
    having = () if history.of_everybody else ((history.having, MEASURE_PRESENT),)
    counted = {box: tuple(sorted((*box, *having))) for box in boxes}
    computable = _computable([*counted.values()], of_counts)
    return {box for box, count in counted.items() if count not in shown and count not in computable}


def _counts_beside(
    look: Look, quantity: str, withheld: Withheld, policy: EffectivePolicy, told: Set[Box]
) -> AuditedQuantity:
    """Withheld counts that a measure's sums tell too closely beside counts, or that could not be settled.

    All others, and those `told` by counts alone, are as the audit of counts says.
    """
    words = summed_in(quantity).words
    name = f"records beside {words}"
    known, counts, only = withheld.of(quantity), withheld.of(COUNTS), look.asked(name)
    found = _of_counts_beside(look, quantity, policy, (known, counts), told, only)
    if doubtful := _doubtful(found, known.sure is None and counts.sure is None):
        surely = withheld.surely(quantity), withheld.surely(COUNTS)
        found = _of_counts_beside(look, quantity, policy, surely, told, doubtful)
    said = {
        P: f"{words} {ABOVE}",
        Q: f"{words} {BELOW}",
        P | Q: f"having {words}: ",
        LACKING: f"no {words}: ",
    }
    return AuditedQuantity(
        look.dataset,
        name,
        COUNTS,
        policy.count_width,
        len(counts.boxes.within(counts.shapes.full.keys())),
        tuple(found),
        said,
    )


def _of_counts_beside(
    look: Look,
    quantity: str,
    policy: EffectivePolicy,
    known: tuple[KnownQuantity, KnownQuantity],
    told: Set[Box],
    only: Set[Box] | None = None,
) -> list[AuditedBox]:
    """The same by what is known of the measure and of counts, of all of them or of some."""
    of_measure, of_counts = known
    counts = beside_deciding(look.dataset, of_counts)
    history = MeasureHistory.of(quantity, Leaving(of_measure), Leaving(counts))
    low, high = bounds_of(look.dataset, quantity, look.within)
    if low is None or high is None:
        return []
    required, found = (policy.count_width, look.floor(policy)), dict[Box, AuditedBox]()
    asked = None if only is None else set(map(history.counted, only))
    for domain, finer in _domains_of_counts(look, history, only):
        boxes = history.beside_counts(domain | {history.having}, finer)
        codes = history.codes(domain)
        measured = look.truth.measured(quantity, frozenset(codes))
        for one in counts_told(boxes, (low, high), codes, required, look.deadline, measured, asked):
            box = history.as_counted(one.box)
            if box not in told and found.get(box, one).standing <= one.standing:
                found[box] = replace(one, box=box)
    return [*found.values()]


def _domains_of_counts(
    look: Look, history: MeasureHistory, only: Set[Box] | None
) -> list[tuple[Variables, bool]]:
    """The variables to look at together for each set that withheld counts have, the fewest first."""
    hidden = history.counts.secrets_within(set(history.full)) if only is None else only
    firsts = set(map(variables_of, hidden))
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
    found: Iterable[AuditedBox], computable: Set[Box], known: KnownQuantity
) -> Iterator[AuditedBox]:
    """What can be computed is refuted."""
    for audited in found:
        if audited.box in computable and audited.standing is not Standing.REFUTED:
            yield AuditedBox(audited.box, Standing.REFUTED, frozenset(known.shapes.full))
        else:
            yield audited


def _with_covered(found: Sequence[AuditedBox], known: KnownQuantity) -> Iterator[AuditedBox]:
    """What empty boxes cover is refuted by them, whatever variables they have."""
    index, full, hidden = known.nobody.told, known.shapes.full, set(known.nobody.withheld.boxes)
    # Those that are only taken for known were withheld.
    left = index.flags({box for box in index.boxes if known.boxes.told(box)})
    for audited in found:
        covering = 0
        if audited.box in hidden and audited.standing is not Standing.REFUTED:
            with suppress(CoverUndecided):
                covering = index.covering(audited.box, full, left)
        if covering:
            nothing = tuple(Term(1.0, box, 0.0) for box in index.chosen(covering))
            names = frozenset[str]().union(*(variables_of(term.box) for term in nothing))
            yield AuditedBox(audited.box, Standing.REFUTED, names, above=nothing)
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
