"""Step 4: what is known outside. All releases of a source, kept in memory as far as the ledger has grown."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.ledger.ledger import Ledger, StoredRelease
from sdcgate.methods.cells import BoolArray, Facts, IntArray, State
from sdcgate.methods.tables.boxes import Box, BoxTable
from sdcgate.methods.tables.span import Span, SpanBudgetExceeded
from sdcgate.wire.tables import facts_from_message
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

NOBODY = (0, 0)
"""The population of every empty cell: such cells are the same only by their boxes."""


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedTable:
    """One quantity of one release: counts, or a measure's sums, over the boxes of a table."""

    quantity: str
    table: BoxTable
    facts: Facts = field(repr=False)
    boxes: tuple[Box, ...] = field(repr=False)
    """The boxes of the table's cells."""
    sequence: int = 0
    dataset: str = ""
    version: int = 0

    def with_states(self, states: IntArray) -> "ReleasedTable":
        """The same cells in other states."""
        return replace(self, table=replace(self.table, states=states))

    def populations(self) -> list[tuple[int, int]]:
        """Records and marks of the cells."""
        pairs = zip(self.table.records.tolist(), self.table.marks.tolist(), strict=True)
        return [(records, mark) if records else NOBODY for records, mark in pairs]

    def boxes_of(self, state: State) -> list[Box]:
        """Boxes of the cells in a state."""
        return [self.boxes[cell] for cell in np.flatnonzero(self.table.states == state).tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Cells that once had a state, by box and by population: the same people under two names count once."""

    boxes: frozenset[Box] = frozenset()
    populations: frozenset[tuple[int, int]] = field(default=frozenset(), repr=False)

    def grown(self, known: ReleasedTable, state: State) -> "Seen":
        """With the cells of one more table."""
        cells = np.flatnonzero(known.table.states == state).tolist()
        populations = known.populations()
        return Seen(
            self.boxes.union([known.boxes[cell] for cell in cells]),
            self.populations.union([populations[cell] for cell in cells]) - {NOBODY},
        )

    def among(self, new: ReleasedTable) -> BoolArray:
        """Which cells of a table are among these by their boxes, shape (cells,)."""
        return np.array([box in self.boxes for box in new.boxes], dtype=np.bool_)

    def people_among(self, new: ReleasedTable) -> BoolArray:
        """Which cells are among these by box or by population: the same people under another name."""
        cells = zip(new.boxes, new.populations(), strict=True)
        same = [box in self.boxes or people in self.populations for box, people in cells]
        return np.array(same, dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class KnownQuantity:
    """What has left of one quantity."""

    tables: tuple[ReleasedTable, ...]
    span: Span
    published: Seen = Seen()
    withheld: Seen = Seen()

    def withheld_before(self, new: ReleasedTable) -> BoolArray:
        """Cells of a table that were withheld once, in any shape, and never published; shape (cells,).

        A cell that only happens to hold the people of a published one is not known: who sees the total of
        a group does not see that all of it is in one category.
        """
        if not self.withheld.boxes:
            return np.zeros(len(new.boxes), dtype=np.bool_)
        return self.withheld.people_among(new) & ~self.published.among(new)

    def derivable(self, new: ReleasedTable, pulse: Callable[[], None]) -> BoolArray:
        """Cells of a table that are sums and differences of what has left, shape (cells,).

        Raises:
            SpanBudgetExceeded: it takes too much work to tell; or what `pulse` raises meanwhile.
        """
        span = self.span.copy(pulse)
        span.know(new.table.full)
        return span.contains(new.boxes)

    def released_sums(self, new: BoxTable) -> tuple[IntArray, ...]:
        """Sets of inner cells of a new table whose sum was released before at a coarser level."""
        found: dict[bytes, IntArray] = {}
        for known in self.tables:
            for cells in _unions(new, known.table):
                found.setdefault(cells.tobytes(), cells)
        return tuple(found.values())

    def grown(self, known: ReleasedTable) -> "KnownQuantity":
        """With one more table."""
        span = self.span.copy()
        with suppress(SpanBudgetExceeded):
            # A span that could not take a table in says so whenever it is asked.
            span.add_table(known.table, known.table.states == State.PUBLISHED)
        return KnownQuantity(
            (*self.tables, known),
            span,
            self.published.grown(known, State.PUBLISHED),
            self.withheld.grown(known, State.WITHHELD),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """All that left of a source, up to a sequence of its ledger."""

    sequence: int
    quantities: Mapping[str, KnownQuantity]
    nothing: KnownQuantity

    def of(self, quantity: str) -> KnownQuantity:
        """What has left of a quantity."""
        return self.quantities.get(quantity, self.nothing)

    def of_another_version(self, dataset: str, version: int) -> bool:
        """Whether something of another version, or under another name, of the same source has left."""
        return any((known.dataset, known.version) != (dataset, version) for known in self.tables())

    def tables(self) -> Iterator[ReleasedTable]:
        """All released tables, quantity by quantity."""
        return (table for known in self.quantities.values() for table in known.tables)

    def grown(self, tables: Iterable[ReleasedTable], sequence: int) -> "Knowledge":
        """With more releases."""
        quantities = dict(self.quantities)
        for known in tables:
            quantities[known.quantity] = quantities.get(known.quantity, self.nothing).grown(known)
        return Knowledge(sequence, quantities, self.nothing)


class KnowledgeOfSources:
    """Knowledge of each source, read from the ledger once and extended as it grows."""

    def __init__(self, ledger: Ledger, rng: np.random.Generator) -> None:
        self._ledger = ledger
        self._rng = rng
        self._known: dict[str, Knowledge] = {}
        self._lock = threading.Lock()

    def of(self, source: str) -> Knowledge:
        """What is known of a source at the ledger's present head."""
        with self._lock:
            known = self._known.get(source) or self.nothing()
            sequence = self._ledger.source_sequence(source)
            if known.sequence < sequence:
                releases = self._ledger.releases(source, after_sequence=known.sequence)
                tables = [table for stored in releases for table in _tables(stored)]
                known = known.grown(tables, max([sequence, *(stored.sequence for stored in releases)]))
                self._known[source] = known
            return known

    def nothing(self) -> Knowledge:
        """What is known of a source of which nothing has left."""
        return Knowledge(0, {}, KnownQuantity((), Span({}, rng=self._rng)))

    def of_version(self, known: Knowledge, dataset: str, version: int) -> Knowledge:
        """Knowledge of one version alone, where an output checker has compared it with the others."""
        mine = (table for table in known.tables() if (table.dataset, table.version) == (dataset, version))
        return self.nothing().grown(mine, known.sequence)


def _tables(stored: StoredRelease) -> list[ReleasedTable]:
    release = release_pb2.Release.FromString(stored.payload)
    tables = []
    for part in release.tables:
        table = BoxTable.from_bytes(part.boxes)
        facts = facts_from_message(part.facts, len(table))
        tables.append(
            ReleasedTable(
                part.quantity,
                table,
                facts,
                tuple(table.boxes()),
                stored.sequence,
                release.dataset,
                release.version,
            )
        )
    return tables


def _unions(new: BoxTable, old: BoxTable) -> list[IntArray]:
    """Inner cells of `new` that add up to a published cell of `old` that is no cell of `new` itself."""
    axes = [variable for variable, _ in new.axes]
    old_axes = dict(old.axes)
    if dict(new.fixed) != dict(old.fixed) or not set(old_axes) <= set(axes):
        return []
    # The last code of every computed axis is its total.
    leaves = [list(range(len(masks) - 1)) for _, masks in new.axes]
    shape = [len(masks) for _, masks in new.axes]
    parts_of_code: list[list[list[int] | None]] = []
    own: list[list[bool]] = []
    for (variable, masks), inner in zip(new.axes, leaves, strict=True):
        wanted = old_axes.get(variable, (new.full[variable],))
        parts_of_code.append([_covering(mask, masks, inner) for mask in wanted])
        own.append([mask in masks for mask in wanted])
    order = [axes.index(variable) for variable, _ in old.axes]
    grids = np.indices([len(masks) for _, masks in old.axes]).reshape(len(old.axes), len(old.states))
    found = []
    for cell in np.flatnonzero(old.states == State.PUBLISHED):
        chosen = [0] * len(axes)
        for place, axis in enumerate(order):
            chosen[axis] = int(grids[place, cell])
        parts = [parts_of_code[axis][code] for axis, code in enumerate(chosen)]
        is_cell = all(own[axis][code] for axis, code in enumerate(chosen))
        if not is_cell and all(part for part in parts):
            mesh = np.meshgrid(*[np.array(part) for part in parts], indexing="ij")
            cells = np.ravel_multi_index([plane.reshape(-1) for plane in mesh], shape)
            found.append(np.sort(cells).astype(np.int64))
    return found


def _covering(mask: int, masks: tuple[int, ...], leaves: list[int]) -> list[int] | None:
    """Leaves whose union is exactly `mask`; None where there are none."""
    inside = [code for code in leaves if masks[code] & ~mask == 0]
    covered = 0
    for code in inside:
        covered |= masks[code]
    return inside if covered == mask and inside else None
