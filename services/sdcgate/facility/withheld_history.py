"""What left of one version of a source and what was withheld of it, as its answers said: for an audit.

What the road notes of a release serves the next answers: cells that were known before count as published
there, though the answer withheld them. Here they are withheld, and if anything tells them it is said what.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace

from sdcgate.facility.kept_releases import Left
from sdcgate.facility.knowledge import Knowledge, KnownQuantity, ReleasedTable
from sdcgate.facility.known_sources import with_event
from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.joint_boxes import RECORDS
from sdcgate.methods.tables.joint_sums import Amount
from sdcgate.methods.tables.span import Span, SpanBudgetExceeded


@dataclass(frozen=True, slots=True, eq=False)
class WithheldHistory:
    """Events of one version, in order, each with what of other versions is the same in this one."""

    events: Sequence[Left] = field(repr=False)
    nothing: Knowledge = field(repr=False)
    withheld: Mapping[str, Mapping[Box, int]] = field(repr=False)
    """Boxes that an answer withheld, by quantity: such as break a rule themselves where they were known.

    With the sequence of the first answer that did.
    """
    amounts: Mapping[str, Mapping[Box, Amount]] = field(repr=False)
    """What boxes have of each measure."""
    nobody: Mapping[str, Set[Box]] = field(repr=False)
    """Those of the withheld ones that nobody is in."""
    full: Mapping[str, Mapping[str, int]] = field(repr=False)
    """Full masks of the variables that restrict boxes of each quantity."""

    @classmethod
    def of(cls, events: Sequence[Left], nothing: Knowledge) -> "WithheldHistory":
        """The history of some events."""
        withheld: dict[str, dict[Box, int]] = {}
        amounts: dict[str, dict[Box, Amount]] = {}
        nobody: dict[str, set[Box]] = {}
        full: dict[str, dict[str, int]] = {}
        for event in events:
            for table in event.tables:
                full.setdefault(table.quantity, {}).update(table.table.full)
                amounts.setdefault(table.quantity, {}).update(table.amounts())
                nobody.setdefault(table.quantity, set()).update(table.surely().hiding_nobody())
                marked = withheld.setdefault(table.quantity, {})
                for box in _withheld(table):
                    marked.setdefault(box, event.sequence)
        return cls(events, nothing, withheld, amounts, nobody, full)

    def until(self, moment: int) -> "WithheldHistory":
        """With what answers had withheld up to a sequence, that included."""
        withheld = {
            quantity: {box: sequence for box, sequence in boxes.items() if sequence <= moment}
            for quantity, boxes in self.withheld.items()
        }
        return replace(self, withheld=withheld)

    def marked(self, quantity: str) -> Set[Box]:
        """Boxes of which an answer withheld a quantity."""
        return self.withheld.get(quantity, {}).keys()

    @property
    def everything(self) -> "Withheld":
        """What is known of all of it."""
        ((_, known),) = self.moments([max((event.sequence for event in self.events), default=0)])
        return known

    def moments(self, sequences: Iterable[int]) -> "Iterator[tuple[int, Withheld]]":
        """What is known up to each of some sequences, that included, in their order."""
        waiting = list(self.events)[::-1]
        left, known = list[Left](), self.nothing
        for sequence in sorted(set(sequences)):
            while waiting and waiting[-1].sequence <= sequence:
                left.append(waiting.pop())
                known = with_event(known, left[-1])
            shown: dict[str, set[Box]] = {}
            tables: dict[str, list[ReleasedTable]] = {}
            for table in _tables(left):
                shown.setdefault(table.quantity, set()).update(truly_published(table))
                tables.setdefault(table.quantity, []).append(table)
            yield sequence, Withheld(self, known, shown, tables)


@dataclass(frozen=True, slots=True, eq=False)
class Withheld:
    """What was known at some moment, and which of the boxes that were ever withheld had been published."""

    history: WithheldHistory = field(repr=False)
    known: Knowledge = field(repr=False)
    shown: Mapping[str, Set[Box]] = field(repr=False)
    tables: Mapping[str, Sequence[ReleasedTable]] = field(repr=False)
    """Those that had left, by quantity."""
    _sure: dict[str, KnownQuantity] = field(default_factory=dict, init=False, repr=False)

    def of(self, quantity: str) -> KnownQuantity:
        """What was known of a quantity, or perhaps known, with boxes as withheld that nothing published."""
        return self._withholding(quantity, self.known.of(quantity))

    def surely(self, quantity: str) -> KnownQuantity:
        """What was known of a quantity for sure, and all that can be computed from that."""
        if quantity not in self._sure:
            known = self._withholding(quantity, self.known.of(quantity).surely())
            span = self._sure_span(quantity)
            span.know(known.shapes.full)
            self._sure[quantity] = replace(known, span=span)
        return self._sure[quantity]

    def _withholding(self, quantity: str, known: KnownQuantity) -> KnownQuantity:
        """What is known with boxes as withheld that nothing published, such as were withheld later too."""
        amounts = {**self.history.amounts.get(quantity, {}), **known.amounts}
        nobody = known.nobody.grown((), (), sorted(self.history.nobody.get(quantity, set())))
        boxes = known.boxes.withholding(self._hidden(quantity))
        # Of a variable that nothing had restricted by then, too, boxes that it cuts may have been told.
        full = self.history.full.get(quantity, {})
        shapes = replace(known.shapes, full={**full, **known.shapes.full})
        span = known.span.copy()
        span.know(full)
        return replace(known, span=span, boxes=boxes, amounts=amounts, shapes=shapes, nobody=nobody)

    def _sure_span(self, quantity: str) -> Span:
        span = self.history.nothing.of(quantity).span.copy()
        with suppress(SpanBudgetExceeded):
            # A span that could not take a table in says so whenever it is asked.
            for table in map(ReleasedTable.surely, self.tables.get(quantity, ())):
                span.add_table(table.table, table.telling(RECORDS))
        return span

    def _hidden(self, quantity: str) -> list[Box]:
        return sorted(self.history.marked(quantity) - self.shown.get(quantity, set()))

    def published_too(self, quantity: str) -> list[Box]:
        """Boxes of a quantity that were withheld and published, be it before or after."""
        return sorted(self.history.marked(quantity) & self.shown.get(quantity, set()))


Named = tuple[str, Box]
"""A box of a quantity."""
TellsOf = Callable[[Withheld, Set[Named], bool], Set[Named]]
"""Of some boxes those that are told too closely by what is known, or by that and all marks of cells."""


def told_elsewhere(
    history: WithheldHistory, publications: Iterable[Left], told: TellsOf, first: Mapping[Named, int]
) -> dict[Named, Left]:
    """Of some boxes, by the sequence of the answer that withheld each first, those that a publication
    elsewhere was the first to tell, with that publication."""
    by_sequence = {one.sequence: one for one in publications}
    moments = history.moments(moment for sequence in by_sequence for moment in (sequence - 1, sequence))
    found: dict[Named, Left] = {}
    waiting = set(first)
    for moment, known in moments:
        if not waiting:
            break
        # What was withheld only later is a box like any other until then: nobody knew its mark.
        withheld = {box for box in waiting if first[box] <= moment}
        now = told(replace(known, history=history.until(moment)), withheld, True)
        now |= told(known, waiting - withheld, False)
        # What releases told before it they told by themselves, or with publications that were known then.
        if moment in by_sequence:
            found |= dict.fromkeys(now, by_sequence[moment])
        waiting -= now
    return found


def told_before(history: WithheldHistory, told: TellsOf, first: Mapping[Named, int]) -> set[Named]:
    """Of some boxes, by the sequence of the answer that withheld each first, those that were told by then."""
    by_answer: dict[int, set[Named]] = {}
    for box, sequence in first.items():
        by_answer.setdefault(sequence - 1, set()).add(box)
    return {
        box for moment, known in history.moments(by_answer) for box in told(known, by_answer[moment], False)
    }


def truly_published(table: ReleasedTable) -> list[Box]:
    """Boxes of a table that its answer showed."""
    told, states = set(table.told.cells), table.table.states.tolist()
    return [
        box
        for cell, (box, state) in enumerate(zip(table.boxes, states, strict=True))
        if state == State.PUBLISHED and cell not in told
    ]


def _withheld(table: ReleasedTable) -> list[Box]:
    found = [*table.withheld(), *(table.boxes[cell] for cell in table.told.unsafe)]
    return [box for box in found if box != NOBODY]


def _tables(events: Iterable[Left]) -> Iterable[ReleasedTable]:
    return (table for event in events for table in event.tables)
