"""The joint audit of a whole history: every box ever withheld, within as many variables as can be.

Nothing is about to leave here, so it may take its time, and says of each withheld box what stands: refuted,
with the sums that bound it; proved; wide within the variables looked at; or unproved. What is wide within
some variables is looked at once more over all of them (`joint_witnesses`), which proves and cannot refute.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Combinations, Held
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_boxes import JointBoxes, Variables, variables_of
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals
from sdcgate.methods.tables.joint_panel import Together, together
from sdcgate.methods.tables.joint_reduction import everything_of
from sdcgate.methods.tables.joint_search import JointIntervals
from sdcgate.methods.tables.joint_sums import PART, PARTS, ROOM, Amounts, Measured, as_array, of_all_parts
from sdcgate.methods.tables.joint_system import TOLERANCE, JointSystem, joint_system
from sdcgate.methods.tables.joint_witnesses import Everything, wide_over_everything
from sdcgate.methods.tables.panel_links import KIND, Panel, is_link
from sdcgate.methods.tables.solver import Deadline

Occurring = Callable[[tuple[str, ...]], Combinations]
"""The joint codes that people have, of some variables."""


class Standing(IntEnum):
    """What all releases together tell of a withheld box, the worst last."""

    PROVED = 0
    """It can be two values a width apart, whatever of all that left is combined."""
    WIDE = 1
    """It can within the variables looked at; there are boxes of others as well."""
    NOT_COMPUTABLE = 2
    """It is no sum or difference of what left; how closely it is told is not, as no value has a bound."""
    UNPROVED = 3
    """It could not be told in time."""
    ELSEWHERE = 4
    """It is known: a publication elsewhere told it, and until then nothing that left did."""
    TOLD_BEFORE = 5
    """It is told more closely than the width, and was before anything withheld it."""
    REFUTED = 6
    """It is told more closely than the width."""


@dataclass(frozen=True, slots=True)
class Term:
    """A published amount times a factor, in the arithmetic of a bound."""

    factor: float
    box: Box
    amount: float = field(repr=False)
    at_most: bool = False
    """Whether only a most is known."""


@dataclass(frozen=True, slots=True)
class AuditedBox:
    """A withheld box and what stands of it."""

    box: Box
    standing: Standing
    variables: Variables
    """Those looked at together."""
    lowest: float = field(default=0.0, repr=False)
    highest: float = field(default=0.0, repr=False)
    """Where it is refuted, between what it must lie."""
    below: tuple[Term, ...] = field(default=(), repr=False)
    above: tuple[Term, ...] = field(default=(), repr=False)
    """Where it is refuted: sums that it cannot be less than, and more than."""


@dataclass(frozen=True, slots=True, eq=False)
class _Looked:
    """What is looked at together within some variables."""

    domain: Variables
    full: Mapping[str, int]
    published: Mapping[Box, float] = field(repr=False)
    secrets: Sequence[Box] = field(repr=False)
    asked: Sequence[Box] = field(repr=False)
    """Those that are asked for; what is none of the secrets any more is told."""
    width: float | Mapping[Box, float] = field(repr=False)
    floor: int = 0
    room: float = 0.0
    limits: Mapping[Box, float] = field(default_factory=dict, repr=False)
    combined: Sequence[CombinedSum] = field(default=(), repr=False)
    held: Callable[[Variables], Held | None] = field(default=lambda _: None, repr=False)
    """What people have in truth by joint codes of variables, where it is known."""
    beside: Mapping[Box, float] = field(default_factory=dict, repr=False)
    """Other withheld boxes, of which everybody knows that they have so much at least."""

    def system(self, secrets: Sequence[Box], apart: bool = False) -> JointSystem:
        """The system of some secrets and of those beside them.

        `apart`: with empty boxes as rows, so that what they tell is seen.
        """
        told_apart = self.published.keys() if apart else frozenset[Box]()
        return joint_system(
            self.domain,
            self.published,
            [*secrets, *self.beside],
            self.full,
            told_apart,
            self.room,
            self.limits,
            # From nothing the arithmetic comes out short; from what is true it wanders.
            None if apart else self.held(self.domain),
            self.combined,
        )

    def widths(self, secrets: Sequence[Box]) -> FloatArray:
        """How far apart two values of each must be able to lie, and then of those beside them."""
        own = as_array(self.width, secrets) if isinstance(self.width, Mapping) else self.width
        return np.append(np.broadcast_to(own, (len(secrets),)), np.zeros(len(self.beside)))

    def floors(self, secrets: Sequence[Box]) -> FloatArray:
        """What everybody knows each to have at least, and then those beside them."""
        others = np.array([*self.beside.values()], dtype=np.float64)
        return np.append(np.full(len(secrets), float(self.floor)), others)

    def asking(self, secrets: Sequence[Box], asked: Set[Box]) -> BoolArray:
        """Which secrets are asked for, and of those beside them none."""
        own = np.array([box in asked for box in secrets], dtype=np.bool_)
        return np.append(own, np.zeros(len(self.beside), dtype=np.bool_))

    def everything(self, secrets: Sequence[Box]) -> Everything:
        """What is known of some secrets, where these variables are all that there are."""
        asked = set(secrets)
        others = [box for box in self.secrets if box not in asked]
        return Everything(
            self.published,
            self.limits,
            secrets,
            self.widths(secrets)[: len(secrets)],
            self.floors([*secrets, *others]),
            [*others, *self.beside],
            self.room,
        )


def audit_history(
    boxes: JointBoxes,
    full: Mapping[str, int],
    width: int,
    floor: int,
    most_atoms: int,
    deadline: Deadline,
    units: bool = False,
    occurring: Occurring | None = None,
    held: Callable[[Variables], Held | None] = lambda _: None,
    only: Set[Box] | None = None,
) -> list[AuditedBox]:
    """What stands of each box whose count was withheld and never left.

    Args:
        boxes: everything of one quantity that left or was withheld.
        full: full mask of every variable.
        width: least distance of two values that a withheld count must be able to have.
        floor: least count that everybody knows a withheld box to have.
        most_atoms: joint codes that are looked at together.
        deadline: what is not settled by then is unproved.
        units: look at units, which add up over these boxes, rather than at records.
        occurring: which joint codes of variables people have; nothing is looked at over all of them without.
        held: what they have in truth by joint codes of variables, where it is known, to begin with.
        only: the boxes that are asked for; all where it is None.
    """
    secrets = [box for box in boxes.secrets_within(set(full), units) if only is None or box in only]

    def looked(domain: Variables) -> _Looked:
        shown = boxes.with_shares(domain, frozenset())
        published, within = shown.within(domain, units), shown.secrets_within(domain, units)
        limits, combined = shown.limits_within(domain), shown.combined_within(domain)
        asked = [box for box in secrets if variables_of(box) <= domain]
        return _Looked(domain, full, published, within, asked, width, floor, 0.0, limits, combined, held)

    firsts = {variables_of(box) for box in secrets}
    standing = _standings(_domains(firsts, boxes, full, most_atoms), looked, boxes, deadline)
    if occurring is not None:
        standing |= _over_everything(looked(frozenset(full)), standing, occurring, deadline)
    return [standing[box] for box in secrets]


def told_together(
    boxes: JointBoxes,
    panel: Panel,
    full: Mapping[str, int],
    width: int,
    floor: int,
    most_atoms: int,
    deadline: Deadline,
    units: bool,
    only: Set[Box] | None = None,
) -> list[AuditedBox]:
    """The withheld counts of records, or of units, that both together tell (`joint_panel`), and how.

    Terms are of boxes with a kind (`without_kind`); of what links these there are none.

    Args:
        boxes: everything that left or was withheld.
        panel: how units have several records.
        full: full mask of every variable.
        width: least distance of two values that a withheld count must be able to have.
        floor: least count that everybody knows a withheld box to have.
        most_atoms: joint codes that are looked at together.
        deadline: nothing more is found then.
        units: ask for withheld units rather than for records.
        only: the boxes that are asked for; all where it is None.
    """
    secrets = {box for box in boxes.secrets_within(set(full), units) if only is None or box in only}
    found = dict[Variables, Together]()
    for names in sorted({variables_of(box) for box in secrets}, key=lambda one: (len(one), sorted(one))):
        for both in together(boxes, panel, names, full, frozenset(), most_atoms):
            # By links alone nothing is told, though no program is that wide.
            if not all(map(is_link, both.scope.published)):
                found[both.scope.domain] = both

    def looked(domain: Variables) -> _Looked:
        both, scope = found[domain], found[domain].scope
        asked = both.of_units(secrets) if units else both.of_records(secrets)
        own = [box for box in scope.secrets if box in asked]
        known = scope.limits, scope.combined
        return _Looked(domain, scope.full, scope.published, scope.secrets, own, width, floor, 0.0, *known)

    told = dict[Box, AuditedBox]()
    for domain, both in found.items():
        if deadline.over:
            break
        for one in _standings([domain], looked, boxes, deadline).values():
            if one.standing is Standing.REFUTED:
                told.setdefault(both.plain(one.box), _as_plain(one, both))
    return [*told.values()]


def _as_plain(audited: AuditedBox, both: Together) -> AuditedBox:
    """Without kinds, but in terms."""

    def plain(terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(replace(term, box=both.told(term.box)) for term in terms if not is_link(term.box))

    below, above, names = plain(audited.below), plain(audited.above), audited.variables - {KIND}
    return replace(audited, box=both.plain(audited.box), variables=names, below=below, above=above)


def audit_sums(
    boxes: JointBoxes,
    full: Mapping[str, int],
    having: str,
    parts: Callable[[Variables], Amounts],
    most_atoms: int,
    deadline: Deadline,
    occurring: Occurring | None = None,
    measured: Callable[[Variables], Measured | None] = lambda _: None,
    only: Set[Box] | None = None,
    somebody: Callable[[Variables], Iterable[Box]] = lambda _: (),
) -> list[AuditedBox]:
    """What stands of each box of which a measure's sum was withheld and never left, its bounds as sums.

    The terms of a bound are of parts of boxes (`joint_sums`), as sums above the least that values can be.

    Args:
        boxes: everything of the measure that left or was withheld.
        full: full mask of every variable.
        having: the variable whose condition is that records have the measure.
        parts: what is known of the measure within some variables.
        most_atoms: joint codes that are looked at together; each has three parts.
        deadline: what is not settled by then is unproved.
        occurring: which joint codes of variables people have; nothing is looked at over all of them without.
        measured: what they have of the measure in truth by joint codes of variables, where it is known.
        only: the boxes that are asked for, without the condition that records have the measure; all where
            it is None.
        somebody: withheld boxes of parts within some variables in which everybody knows somebody to be.
    """
    found: dict[Variables, Amounts] = {}

    def looked(domain: Variables) -> _Looked:
        found[domain] = parts(domain)
        within = found[domain]

        def held(variables: Variables) -> Held | None:
            truth = measured(variables - {PART})
            return None if truth is None else within.held(truth)

        return _Looked(
            (domain - {having}) | {PART},
            within.full,
            within.published,
            within.secrets,
            [box for box in within.secrets if only is None or of_all_parts(box) in only],
            within.widths,
            room=ROOM,
            combined=within.combined,
            held=held,
            beside=dict.fromkeys(somebody(domain), within.record),
        )

    hidden = boxes.secrets_within(set(full)) if only is None else only
    firsts = {variables_of(box) | {having} for box in hidden}
    standing = _standings(_domains(firsts, boxes, full, most_atoms), looked, boxes, deadline)
    if occurring is not None:
        standing |= _over_everything(looked(frozenset(full)), standing, occurring, deadline)
    by_names = {domain - {having} | {PART}: amounts for domain, amounts in found.items()}
    return [_as_sum(audited, by_names[audited.variables]) for audited in standing.values()]


def _as_sum(audited: AuditedBox, within: Amounts) -> AuditedBox:
    """With parts as sums."""
    unit, least = within.unit, within.least[audited.box]

    def told(terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(replace(term, amount=term.amount / unit) for term in terms)

    return replace(
        audited,
        box=of_all_parts(audited.box),
        variables=audited.variables - {PART},
        lowest=audited.lowest / unit + least,
        highest=audited.highest / unit + least,
        below=told(audited.below),
        above=told(audited.above),
    )


def _standings(
    domains: Iterable[Variables],
    looked: Callable[[Variables], _Looked],
    boxes: JointBoxes,
    deadline: Deadline,
) -> dict[Box, AuditedBox]:
    """What stands of each secret of some domains."""
    standing: dict[Box, AuditedBox] = {}
    for domain in domains:
        look = looked(domain)
        closed = all(names <= domain or not names & domain for names in boxes.masks)
        told = [*_within(look, closed, deadline)]
        explained = {box for box, audited in standing.items() if audited.above or audited.below}
        left = {one.box for one in told if one.standing is Standing.REFUTED} - explained
        refuted = [box for box in look.secrets if box in left]
        if refuted:
            system = look.system(refuted, apart=True)
            asked = look.asking(refuted, left)
            again = joint_intervals(system, look.widths(refuted), look.floors(refuted), deadline, asked)
            told += _refuted(refuted, system, again, look.domain)
        for audited in told:
            before = standing.get(audited.box)
            if before is None or _outweighs(audited, before):
                standing[audited.box] = audited
    return standing


def _within(look: _Looked, closed: bool, deadline: Deadline) -> Iterator[AuditedBox]:
    """What stands of the boxes that are asked for; `closed`: no box has others of these variables."""
    system, secrets = look.system(look.secrets), set(look.secrets)
    flags = look.asking(look.secrets, set(look.asked))
    question = replace(everything_of(system), asked=flags)
    widths, floors = look.widths(look.secrets), look.floors(look.secrets)
    found = joint_bounds(system, widths, floors, deadline, question)
    for place in np.flatnonzero(flags).tolist():
        yield AuditedBox(look.secrets[place], _standing(found, place, closed), look.domain)
    # A share tells them.
    yield from (AuditedBox(box, Standing.REFUTED, look.domain) for box in look.asked if box not in secrets)


def _over_everything(
    look: _Looked, standing: Mapping[Box, AuditedBox], occurring: Occurring, deadline: Deadline
) -> dict[Box, AuditedBox]:
    """Boxes that are shown to be wide whatever is combined, of those of which it is not settled."""
    open_ones = (Standing.WIDE, Standing.UNPROVED)
    asked = set(look.asked)
    unsettled = [box for box in look.secrets if box in asked and standing[box].standing in open_ones]
    if not unsettled or look.combined or deadline.over:
        # What is known of several boxes together is in no witness.
        return {}
    everything = look.everything(unsettled)
    names = frozenset[str]().union(*map(variables_of, (*look.published, *look.limits, *look.secrets)))
    held = look.held(names)
    if held is not None:
        combinations = held.combinations
    else:
        combinations = occurring(tuple(sorted(names - {PART})))
        if PART in names:
            combinations = combinations.with_codes(PART, PARTS)
    # Other quantities need time as well. The draws are for columns that may help, the same in every audit.
    half, rng = Deadline(deadline.left() / 2), np.random.default_rng(0)
    amounts = None if held is None else held.amounts
    wide = wide_over_everything(everything, combinations, rng, half, amounts)
    proved = [box for box, shown in zip(unsettled, wide, strict=True) if shown]
    return {box: AuditedBox(box, Standing.PROVED, look.domain) for box in proved}


def _domains(
    firsts: Iterable[Variables], boxes: JointBoxes, full: Mapping[str, int], most_atoms: int
) -> list[Variables]:
    """The variables to look at together for each set that withheld boxes have, the fewest first."""
    ordered = sorted(firsts, key=lambda names: (len(names), sorted(names)))
    return list(dict.fromkeys(joint_domain(names, boxes, full, most_atoms) for names in ordered))


def _outweighs(new: AuditedBox, old: AuditedBox) -> bool:
    """Refuted counts for good, best with its arithmetic; else what was settled, within more variables."""
    if Standing.REFUTED in (new.standing, old.standing):
        explained = bool(old.above or old.below)
        return new.standing is Standing.REFUTED and not explained
    return (-new.standing, len(new.variables)) > (-old.standing, len(old.variables))


def _standing(found: JointIntervals, place: int, closed: bool) -> Standing:
    if found.refuted[place]:
        return Standing.REFUTED
    if found.unproved[place] or found.supposed[place]:
        return Standing.UNPROVED
    return Standing.PROVED if closed else Standing.WIDE


def _refuted(
    boxes: list[Box], system: JointSystem, found: JointIntervals, domain: Variables
) -> list[AuditedBox]:
    """Refuted boxes with the arithmetic, as far as it was found in time."""
    return [
        AuditedBox(
            box,
            Standing.REFUTED,
            domain,
            float(found.lowest[place]),
            float(found.highest[place]),
            below=terms_of(system, -found.used[place][1]),
            above=terms_of(system, found.used[place][0]),
        )
        for place, box in enumerate(boxes)
        if found.refuted[place]
    ]


def terms_of(system: JointSystem, prices: FloatArray, unit: float = 1.0) -> tuple[Term, ...]:
    """The known sums that prices are of, in a unit."""
    exact = system.plain - system.limits
    scales = np.concatenate([np.ones(system.plain), system.scales])
    return tuple(
        Term(
            round(float(prices[row] / scales[row]), 9),
            system.published[row],
            float(system.counts[row] * scales[row]) / unit,
            exact <= row < system.plain,
        )
        for row in np.flatnonzero(np.abs(prices) > TOLERANCE).tolist()
    )
