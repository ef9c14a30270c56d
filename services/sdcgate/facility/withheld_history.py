"""What left of one version of a source and what was withheld of it, as its answers said: for an audit.

What the road notes of a release serves the next answers: cells that were known before count as published
there, though the answer withheld them. Here they are withheld, and if anything tells them it is said what.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace

from sdcgate.facility.kept_releases import Left
from sdcgate.facility.knowledge import Knowledge, KnownQuantity, ReleasedTable
from sdcgate.facility.known_sources import with_event
from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.joint_boxes import RECORDS
from sdcgate.methods.tables.span import Span, SpanBudgetExceeded


@dataclass(frozen=True, slots=True, eq=False)
class WithheldHistory:
    """Events of one version, in order, each with what of other versions is the same in this one."""

    events: Sequence[Left] = field(repr=False)
    nothing: Knowledge = field(repr=False)
    withheld: Mapping[str, Set[Box]] = field(repr=False)
    """Boxes that an answer withheld, by quantity: such as break a rule themselves where they were known."""

    @classmethod
    def of(cls, events: Sequence[Left], nothing: Knowledge) -> "WithheldHistory":
        """The history of some events."""
        withheld: dict[str, set[Box]] = {}
        for table in _tables(events):
            withheld.setdefault(table.quantity, set()).update(_withheld(table))
        return cls(events, nothing, withheld)

    def until(self, sequence: int | None = None) -> "Withheld":
        """What is known up to a sequence, that included; of everything where it is None."""
        events = [one for one in self.events if sequence is None or one.sequence <= sequence]
        known = self.nothing
        for event in events:
            known = with_event(known, event)
        shown: dict[str, set[Box]] = {}
        tables: dict[str, list[ReleasedTable]] = {}
        for table in _tables(events):
            shown.setdefault(table.quantity, set()).update(truly_published(table))
            tables.setdefault(table.quantity, []).append(table)
        return Withheld(known, self.withheld, shown, tables, self.nothing)


@dataclass(frozen=True, slots=True, eq=False)
class Withheld:
    """What was known at some moment, and which of the boxes that were ever withheld had been published."""

    known: Knowledge = field(repr=False)
    withheld: Mapping[str, Set[Box]] = field(repr=False)
    shown: Mapping[str, Set[Box]] = field(repr=False)
    tables: Mapping[str, Sequence[ReleasedTable]] = field(repr=False)
    """All of them, by quantity."""
    nothing: Knowledge = field(repr=False)
    _sure: dict[str, KnownQuantity] = field(default_factory=dict, init=False, repr=False)

    def of(self, quantity: str) -> KnownQuantity:
        """What was known of a quantity, or perhaps known, with boxes as withheld that nothing published."""
        known = self.known.of(quantity)
        return replace(known, boxes=known.boxes.withholding(self._hidden(quantity)))

    def surely(self, quantity: str) -> KnownQuantity:
        """What was known of a quantity for sure, and all that can be computed from that."""
        if quantity not in self._sure:
            known = self.known.of(quantity).surely()
            boxes = known.boxes.withholding(self._hidden(quantity))
            self._sure[quantity] = replace(known, span=self._sure_span(quantity), boxes=boxes)
        return self._sure[quantity]

    def _sure_span(self, quantity: str) -> Span:
        span = self.nothing.of(quantity).span.copy()
        with suppress(SpanBudgetExceeded):
            # A span that could not take a table in says so whenever it is asked.
            for table in map(ReleasedTable.surely, self.tables.get(quantity, ())):
                span.add_table(table.table, table.telling(RECORDS))
        return span

    def _hidden(self, quantity: str) -> list[Box]:
        return sorted(self.withheld.get(quantity, set()) - self.shown.get(quantity, set()))

    def published_too(self, quantity: str) -> list[Box]:
        """Boxes of a quantity that were withheld and published, be it before or after."""
        return sorted(self.withheld.get(quantity, set()) & self.shown.get(quantity, set()))


Named = tuple[str, Box]
"""A box of a quantity."""


def told_elsewhere(
    history: WithheldHistory,
    publications: Iterable[Left],
    told: Callable[[Withheld], Set[Named]],
    boxes: Set[Named],
) -> dict[Named, Left]:
    """Of some boxes those that a publication elsewhere was the first to tell, with that publication.

    `told` says which boxes of which quantities are told too closely by what is known.
    """
    found: dict[Named, Left] = {}
    waiting = set(boxes)
    for publication in publications:
        if not waiting:
            break
        # What releases told before it they told by themselves, or with publications that were known then.
        waiting -= told(history.until(publication.sequence - 1))
        now = waiting & told(history.until(publication.sequence))
        found |= dict.fromkeys(now, publication)
        waiting -= now
    return found


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
