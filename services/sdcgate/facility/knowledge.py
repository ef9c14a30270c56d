"""Step 4: what is known outside. All releases of a source, kept in memory as far as the ledger has grown."""

import threading
from dataclasses import dataclass, field

import numpy as np
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

from sdcgate.ledger.ledger import Ledger, StoredRelease
from sdcgate.methods.cells import BoolArray, Facts, IntArray, State
from sdcgate.methods.tables.boxes import Box, BoxTable
from sdcgate.methods.tables.span import Span
from sdcgate.wire.tables import facts_from_message

NOBODY = (0, 0)
"""The population of every empty cell: such cells are the same only by their boxes."""


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedTable:
    """One population of one release."""

    sequence: int
    dataset: str
    version: int
    table: BoxTable
    facts: Facts = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Cells that once had a state, by box and by population: the same people under two names count once."""

    boxes: frozenset[Box] = frozenset()
    populations: frozenset[tuple[int, int]] = field(default=frozenset(), repr=False)

    def grown(self, table: BoxTable, state: State) -> "Seen":
        """With the cells of one more table."""
        cells = np.flatnonzero(table.states == state)
        return Seen(
            self.boxes.union(table.box(int(cell)) for cell in cells),
            self.populations.union(_populations(table, cells)) - {NOBODY},
        )

    def among(self, table: BoxTable) -> BoolArray:
        """Which cells of a table are among these, shape (cells,)."""
        found = np.zeros(len(table), dtype=np.bool_)
        if self.boxes:
            cells = np.arange(len(table))
            for cell, population in zip(cells, _populations(table, cells), strict=True):
                found[cell] = population in self.populations or table.box(int(cell)) in self.boxes
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """All that left of a source, up to a sequence of its ledger."""

    sequence: int
    tables: tuple[ReleasedTable, ...]
    span: Span
    published: Seen
    withheld: Seen

    def of_another_version(self, dataset: str, version: int) -> bool:
        """Whether something of another version, or under another name, of the same source has left."""
        return any((known.dataset, known.version) != (dataset, version) for known in self.tables)

    def released_sums(self, table: BoxTable) -> tuple[IntArray, ...]:
        """Sets of inner cells of a new table whose sum was released before at a coarser level."""
        found: dict[bytes, IntArray] = {}
        for known in self.tables:
            for cells in _unions(table, known.table):
                found.setdefault(cells.tobytes(), cells)
        return tuple(found.values())

    def grown(self, tables: list[ReleasedTable], sequence: int) -> "Knowledge":
        """With more releases."""
        span, published, withheld = self.span.copy(), self.published, self.withheld
        for known in tables:
            span.add_table(known.table, known.table.states == State.PUBLISHED)
            published = published.grown(known.table, State.PUBLISHED)
            withheld = withheld.grown(known.table, State.WITHHELD)
        return Knowledge(sequence, (*self.tables, *tables), span, published, withheld)


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
        return Knowledge(0, (), Span({}, rng=self._rng), Seen(), Seen())

    def of_version(self, known: Knowledge, dataset: str, version: int) -> Knowledge:
        """Knowledge of one version alone, where an output checker has compared it with the others."""
        tables = [table for table in known.tables if (table.dataset, table.version) == (dataset, version)]
        return self.nothing().grown(tables, known.sequence)


def _tables(stored: StoredRelease) -> list[ReleasedTable]:
    release = release_pb2.Release.FromString(stored.payload)
    tables = []
    for part in release.tables:
        table = BoxTable.from_bytes(part.boxes)
        facts = facts_from_message(part.facts, len(table))
        tables.append(ReleasedTable(stored.sequence, release.dataset, release.version, table, facts))
    return tables


def _populations(table: BoxTable, cells: IntArray) -> list[tuple[int, int]]:
    """Records and marks of cells."""
    pairs = zip(table.records[cells].tolist(), table.marks[cells].tolist(), strict=True)
    return [(records, mark) if records else NOBODY for records, mark in pairs]


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
    for (variable, masks), inner in zip(new.axes, leaves, strict=True):
        wanted = old_axes.get(variable, (new.full[variable],))
        parts_of_code.append([_covering(mask, masks, inner) for mask in wanted])
    order = [axes.index(variable) for variable, _ in old.axes]
    grids = np.indices([len(masks) for _, masks in old.axes]).reshape(len(old.axes), -1)
    found = []
    for cell in np.flatnonzero(old.states == State.PUBLISHED):
        chosen = [0] * len(axes)
        for place, axis in enumerate(order):
            chosen[axis] = int(grids[place, cell])
        parts = [parts_of_code[axis][code] for axis, code in enumerate(chosen)]
        if all(part for part in parts):
            mesh = np.meshgrid(*[np.array(part) for part in parts], indexing="ij")
            cells = np.ravel_multi_index([plane.reshape(-1) for plane in mesh], shape)
            if len(cells) > 1:
                found.append(np.sort(cells).astype(np.int64))
    return found


def _covering(mask: int, masks: tuple[int, ...], leaves: list[int]) -> list[int] | None:
    """Leaves whose union is exactly `mask`; None where there are none."""
    inside = [code for code in leaves if masks[code] & ~mask == 0]
    covered = 0
    for code in inside:
        covered |= masks[code]
    return inside if covered == mask and inside else None
