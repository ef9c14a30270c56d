"""Step 4: what is known outside: all that left of a source, quantity by quantity."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.facility.nobody import Nobody
from sdcgate.facility.percentile_windows import ReleasedWindow
from sdcgate.facility.population_limits import PopulationLimit
from sdcgate.facility.released_equations import ReleasedEquations
from sdcgate.facility.released_ratios import NO_RATIOS, Ratios
from sdcgate.methods.cells import BoolArray, Facts, IntArray, State
from sdcgate.methods.tables.boxes import Box, BoxTable
from sdcgate.methods.tables.covering import covered_by_cells
from sdcgate.methods.tables.joint_boxes import EVERYTHING, PERHAPS, SURELY, Counts, JointBoxes
from sdcgate.methods.tables.joint_sums import Amount
from sdcgate.methods.tables.noisy_boxes import NoisyTable
from sdcgate.methods.tables.released_cells import ReleasedCells
from sdcgate.methods.tables.span import Combination, Span, SpanBudgetExceeded
from sdcgate.methods.tables.told_shares import Share

COUNTS = "counts"
"""The quantity of units, records and households."""
MOST_TRIALS = 400
"""Sets of cells that are tried before a table is given up whose cells reveal something."""
NOBODY = (0, 0)
"""The population of every empty cell: such cells are the same only by their boxes."""

Axes = tuple[tuple[str, tuple[int, ...]], ...]
Fixed = tuple[tuple[str, int], ...]
"""Axes and filters as in `BoxTable`."""


@dataclass(frozen=True, slots=True)
class Told:
    """Cells that an answer withholds and that count as published, as they were known; by their places."""

    cells: tuple[int, ...] = ()
    unsafe: tuple[int, ...] = ()
    """Those among them that break a rule in the quantity; the others hide some."""
    doubted: tuple[int, ...] = ()
    """Withheld cells that do not count as published, and that were perhaps told too closely before."""

    def among(self, cells: BoolArray) -> "Told":
        """Those that are among some cells, shape (cells,)."""
        of_each = (self.cells, self.unsafe, self.doubted)
        return Told(*(tuple(cell for cell in those if cells[cell]) for those in of_each))


NOTHING_TOLD = Told()


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedTable:
    """One quantity of one release: counts, or a measure's sums, over the boxes of a table."""

    quantity: str
    table: BoxTable
    facts: Facts = field(repr=False)
    boxes: tuple[Box, ...] = field(repr=False)
    """The boxes of the table's cells."""
    told: Told = NOTHING_TOLD
    figures: IntArray | None = field(default=None, repr=False)
    """What the answer told of published cells, as flags of `joint_boxes`, shape (cells,); None: all of it."""
    ratios: Ratios = field(default=NO_RATIOS, repr=False)
    """What it told of two cells, or of a sum and a count, together."""

    def with_states(self, states: IntArray) -> "ReleasedTable":
        """The same cells in other states."""
        return replace(self, table=replace(self.table, states=states))

    def taking_nothing(self) -> "ReleasedTable":
        """The same with cells as withheld that are taken for known."""
        if not self.told.cells:
            return self
        states = self.table.states.copy()
        states[[*self.told.cells]] = State.WITHHELD
        return self.with_states(states)

    def doubted(self) -> set[Box]:
        """Boxes of withheld cells that are taken for known, or were perhaps told too closely before."""
        return {self.boxes[cell] for cell in (*self.told.cells, *self.told.doubted)}

    def surely(self) -> "ReleasedTable":
        """The same with what it told for sure, and cells as withheld that were taken for known."""
        if self.figures is None:
            return self
        return replace(self.taking_nothing(), figures=self.figures >> SURELY)

    def perhaps(self) -> "ReleasedTable":
        """The same where nobody may know a figure of a cell, nor may be taken not to."""
        everything = np.full(len(self.boxes), PERHAPS, dtype=np.int64)
        return replace(self, figures=everything if self.figures is None else self.figures & PERHAPS)

    def perhaps_of(self, cells: IntArray) -> "ReleasedTable":
        """The same where no figure of some cells, by their places, was told for sure."""
        if self.figures is None or not len(cells):
            return self
        figures = self.figures.copy()
        figures[cells] &= PERHAPS
        return replace(self, figures=figures)

    @property
    def certain(self) -> bool:
        """Whether published cells told all their figures for sure, if what is taken for known was told so."""
        if self.figures is None:
            return True
        told = self.table.of_state(State.PUBLISHED)
        told[[*self.told.cells]] = False
        return bool((self.figures[told] == EVERYTHING).all())

    def published(self) -> list[tuple[Box, Counts]]:
        """Boxes of published cells with their records and units, and what the answer told of these."""
        shown = (self.table.states == State.PUBLISHED).tolist()
        return [cell for cell, published in zip(self.cells(), shown, strict=True) if published]

    def shares(self) -> Iterator[Share]:
        """What is known of two boxes together, or of a sum and a count."""
        return self.ratios.shares(self.boxes, self.table.records)

    def cells(self) -> Iterator[tuple[Box, Counts]]:
        """Boxes of all cells with their records and units, and what the answer told of these."""
        figures = np.full(len(self.boxes), EVERYTHING) if self.figures is None else self.figures
        figures = np.where(self.table.states == State.PUBLISHED, figures, 0)
        columns = (self.table.records.tolist(), self.facts.units.tolist(), figures.tolist())
        return zip(self.boxes, map(Counts, *columns), strict=True)

    def withheld(self) -> list[Box]:
        """Boxes of withheld cells."""
        cells = zip(self.boxes, self.table.states.tolist(), strict=True)
        return [box for box, state in cells if state == State.WITHHELD]

    def telling(self, figures: int) -> BoolArray:
        """Published cells of which one of some figures was told, shape (cells,)."""
        published = self.table.of_state(State.PUBLISHED)
        return published if self.figures is None else published & ((self.figures & figures) > 0)

    def telling_of_nobody(self) -> list[Box]:
        """Boxes of published cells of which it was told that nobody is in them."""
        return [box for box, counts in self.published() if counts.told and not counts.records]

    def hiding_nobody(self) -> list[Box]:
        """Boxes of withheld cells that nobody is in."""
        cells = zip(self.boxes, self.table.states.tolist(), self.table.records.tolist(), strict=True)
        return [box for box, state, records in cells if state == State.WITHHELD and not records]

    def amounts(self) -> Iterator[tuple[Box, Amount]]:
        """Boxes of published and withheld cells with their sums of the measure; none of counts."""
        for measure in self.facts.measures:
            columns = (self.table.states.tolist(), measure.sums.tolist(), self.table.records.tolist())
            for box, state, total, records in zip(self.boxes, *columns, strict=True):
                if state in (State.PUBLISHED, State.WITHHELD):
                    yield box, Amount(total, records)

    def populations(self) -> list[tuple[int, int]]:
        """Records and marks of the cells."""
        pairs = zip(self.table.records.tolist(), self.table.marks.tolist(), strict=True)
        return [(records, mark) if records else NOBODY for records, mark in pairs]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyRelease:
    """One release with noise: its quantities, counts first, and which noise it is."""

    tables: tuple[NoisyTable, ...]
    noise: str
    """A digest of the noise's parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A model that left without some units at random: what it told, as though of all of them."""

    tables: tuple[ReleasedTable, ...] = field(default=(), repr=False)
    """Counts come first."""
    equations: tuple[ReleasedEquations, ...] = field(default=(), repr=False)

    @property
    def people(self) -> tuple[int, int]:
        """Records and mark of its population."""
        return self.tables[0].populations()[-1]


NOTHING_DRAWN = Drawn()


class Seen:
    """Keys that once occurred; never changed, `grown` gives another that shares what both have."""

    def __init__(self) -> None:
        self._places: dict[Hashable, int] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: Hashable) -> bool:
        place = self._places.get(key)
        return place is not None and place < self._size

    def grown(self, keys: Iterable[Hashable]) -> "Seen":
        """With more keys."""
        twin = Seen()
        # Somebody else may have grown the same keys in another way.
        mine = self._places if len(self._places) == self._size else None
        twin._places = {key: n for key, n in self._places.items() if n < self._size} if mine is None else mine
        for key in keys:
            twin._places.setdefault(key, len(twin._places))
        twin._size = len(twin._places)
        return twin


@dataclass(frozen=True, slots=True, eq=False)
class Shapes:
    """The tables that left, without their cells: axes and filters, each combination once."""

    filters: Mapping[frozenset[str], frozenset[Fixed]] = field(default_factory=dict)
    """Filters by the variables on the axes."""
    full: Mapping[str, int] = field(default_factory=dict)
    """Full mask of every variable that occurs."""
    tables: frozenset[tuple[Axes, Fixed]] = field(default=frozenset(), repr=False)
    """Axes and filters of every table, both by name: each of its cells was published or withheld."""

    def grown(self, table: BoxTable) -> "Shapes":
        """With one more table."""
        names = frozenset(variable for variable, _ in table.axes)
        fixed = tuple(sorted(table.fixed))
        filters = {**self.filters, names: self.filters.get(names, frozenset()) | {fixed}}
        tables = self.tables | {(tuple(sorted(table.axes)), fixed)}
        return Shapes(filters, {**self.full, **table.full}, tables)


@dataclass(frozen=True, slots=True, eq=False)
class KnownQuantity:
    """What has left of one quantity."""

    span: Span
    """Of all published cells; it watches those that were withheld."""
    published: ReleasedCells = field(default_factory=ReleasedCells)
    boxes: JointBoxes = field(default_factory=JointBoxes)
    """Boxes of cells that were published, with records and units, and of those that were withheld."""
    amounts: Mapping[Box, Amount] = field(default_factory=dict, repr=False)
    """Of a measure: the sums of these boxes, published or withheld."""
    populations: Seen = field(default_factory=Seen, repr=False)
    """Records and marks of cells that were withheld: the same people under two names count once."""
    shapes: Shapes = field(default_factory=Shapes)
    sure: JointBoxes | None = None
    """The boxes with what was told of them for sure; None where all that has left told all its figures so."""
    doubted: frozenset[Box] = field(default=frozenset(), repr=False)
    """Withheld boxes that were perhaps told before they were withheld, where not all was told for sure."""
    shared: frozenset[Box] = field(default=frozenset(), repr=False)
    """Boxes of which a share, or a mean, was told for sure, of records. They are taken for known.

    A mark on such a cell hides nothing that was not shown, and what is hidden is proved as though it were.
    """
    nobody: Nobody = field(default_factory=Nobody, repr=False)
    """Boxes that nobody is in."""
    told: dict[Hashable, frozenset[Box]] = field(default_factory=dict, repr=False)
    """Withheld boxes that were found to be told too closely, by what was required and what was looked at
    together; noted as found.

    They are so for ever: knowledge only grows. So no answer depends on what a process has noted, only how
    soon it comes. Each knowledge notes its own, as some are only on trial.
    """

    @property
    def empty(self) -> bool:
        """Whether nothing of the quantity has left."""
        return not self.shapes.filters

    def surely(self) -> "KnownQuantity":
        """The same with what was told for sure of boxes; its span is as it was, and so are its notes."""
        if self.sure is None:
            return self
        return replace(self, boxes=self.sure, sure=None, nobody=self.nobody.surely())

    def withheld_before(self, new: ReleasedTable) -> BoolArray:
        """Cells of a table that were withheld once, in any shape, and never published; shape (cells,).

        A cell that only happens to hold the people of a published one is not known: who sees the total of
        a group does not see that all of it is in one category.
        """
        if not self.boxes.secret:
            return np.zeros(len(new.boxes), dtype=np.bool_)
        cells = zip(new.boxes, new.populations(), strict=True)
        same = [self.boxes.withheld(box) or people in self.populations for box, people in cells]
        return np.array(same, dtype=np.bool_) & ~self.published.among(new.boxes)

    def derivable(
        self, new: ReleasedTable, pulse: Callable[[], None], empty: BoolArray | None = None
    ) -> BoolArray:
        """Cells of a table that are sums and differences of what has left, shape (cells,).

        `empty` are cells of which it is known besides that nobody is in them.

        Raises:
            SpanBudgetExceeded: it takes too much work to tell; or what `pulse` raises meanwhile.
        """
        span = self.span.copy(pulse)
        if empty is not None and empty.any():
            span.add_table(new.table, empty)
        return span.contains_cells(new.table)

    def empty_cells(self, new: ReleasedTable) -> BoolArray:
        """Cells of a table that nobody is in, as follows from what was published so, shape (cells,)."""
        found, full = np.zeros(len(new.boxes), dtype=np.bool_), {**self.shapes.full, **new.table.full}
        for cell in np.flatnonzero(new.table.records == 0).tolist():
            found[cell] = self.nobody.follows(new.boxes[cell], full)
        return found

    def knowing(self, full: Mapping[str, int], pulse: Callable[[], None]) -> "KnownQuantity":
        """With variables taken in that no table of it restricted, by their full masks."""
        span = self.span.copy(pulse)
        span.know(full)
        return replace(self, span=span, shapes=replace(self.shapes, full={**self.shapes.full, **full}))

    def with_tables(
        self, tables: Iterable[ReleasedTable], pulse: Callable[[], None], sums: Sequence[Combination] = ()
    ) -> Span:
        """The span together with more tables, and with sums of several boxes that are known, on trial.

        Raises:
            SpanBudgetExceeded: it takes too much work to tell; or what `pulse` raises meanwhile.
        """
        span = self.span.copy(pulse)
        for table in tables:
            self._add(span, table)
        if sums:
            span.add_sums(sums)
        return span

    def reveals(
        self, tables: Sequence[ReleasedTable], pulse: Callable[[], None], sums: Sequence[Combination] = ()
    ) -> bool:
        """Whether with more tables something could be computed that is withheld, by them or earlier.

        Raises:
            SpanBudgetExceeded: it takes too much work to tell; or what `pulse` raises meanwhile.
        """
        if self.empty and len(tables) == 1 and not sums:
            # That it tells nothing of itself is proved by witnesses.
            return False
        if not (self.boxes.secret or any(map(_withholds, tables))):
            return False
        return self.with_tables(tables, pulse, sums).caught

    def revealing(
        self,
        tables: Sequence[ReleasedTable],
        pulse: Callable[[], None],
        groups: Sequence[Box] = (),
        floor: int = 0,
        sums: Callable[[BoolArray], Sequence[Combination]] | None = None,
    ) -> BoolArray:
        """Published cells of new tables without which nothing withheld can be computed, shape (cells,).

        The tables are a quantity's, of the same cells in the same states. Cells are let out one after the
        other, those of most records first, as long as nothing withheld follows from them, nor any of some
        `groups`. With a `floor`, which everything withheld has at least, empty ones come before all others.
        `sums` are what cells (cells,) tell of several boxes together.

        Raises:
            SpanBudgetExceeded: it takes too much work to tell; or what `pulse` raises meanwhile.
        """
        span = self.span.copy(pulse)
        for new in tables:
            span.watch_table(new.table, self._withheld_first(new))
        span.watch(groups)
        first = tables[0].table
        shown: BoolArray = first.states == State.PUBLISHED
        if span.caught:
            return shown
        cells = np.flatnonzero(shown)
        records = first.records[cells]
        before = (records == 0) & (floor > 0)
        waiting = [cells[np.lexsort((-records, ~before))]]
        kept_back = np.zeros(len(first), dtype=np.bool_)
        for _ in range(MOST_TRIALS):
            if not waiting:
                return kept_back
            cells = waiting.pop()
            trial = span.copy(pulse)
            chosen = np.zeros(len(first), dtype=np.bool_)
            chosen[cells] = True
            for new in tables:
                trial.add_table(new.table, chosen)
            if sums is not None:
                trial.add_sums(sums(chosen))
            if not trial.caught:
                span = trial
            elif len(cells) == 1:
                kept_back[cells] = True
            else:
                half = len(cells) // 2
                waiting += [cells[half:], cells[:half]]
        raise SpanBudgetExceeded("too many cells would reveal something withheld")

    def released_sums(self, new: BoxTable) -> tuple[IntArray, ...]:
        """Sets of inner cells of a new table whose sum was released before and is none of its cells."""
        return covered_by_cells(new, self.boxes.told_within(set(new.variables())))

    def grown(self, known: ReleasedTable) -> "KnownQuantity":
        """With one more table."""
        span = self.span.copy()
        with suppress(SpanBudgetExceeded):
            # A span that could not take a table in says so whenever it is asked.
            self._add(span, known)
            # What this told, as a publication elsewhere may, no later table can be refused for.
            span.give_up_caught()
        sure, doubted, shared, surely = None, self.doubted, self.shared, known.surely()
        if self.sure is not None or not known.certain:
            sure = (self.boxes if self.sure is None else self.sure).grown(
                surely.published(), surely.withheld()
            )
            shares = list(known.shares())
            sure = sure.sharing(shares)
            shared |= {share.part for share in shares}
            doubted |= known.doubted()
        states = known.table.states
        withheld = np.flatnonzero(states == State.WITHHELD).tolist()
        populations = known.populations()
        return KnownQuantity(
            span,
            self.published.grown(known.table, known.boxes, known.facts, states == State.PUBLISHED),
            self.boxes.grown(known.published(), known.withheld()),
            {**self.amounts, **dict(known.amounts())},
            self.populations.grown(people for cell in withheld if (people := populations[cell]) != NOBODY),
            self.shapes.grown(known.table),
            sure,
            doubted,
            shared,
            self.nobody.grown(known.telling_of_nobody(), surely.telling_of_nobody(), surely.hiding_nobody()),
            dict(self.told),
        )

    def limited(self, limit: PopulationLimit) -> "KnownQuantity":
        """With a group that is known to have so many units at most."""
        shapes = replace(self.shapes, full={**limit.full, **self.shapes.full})
        boxes, sure = self.boxes.limited(limit.box, limit.units), self.sure
        if sure is not None:
            sure = sure.limited(limit.box, limit.units)
        return replace(self, boxes=boxes, sure=sure, shapes=shapes, told=dict(self.told))

    def _add(self, span: Span, new: ReleasedTable) -> None:
        """Add the published cells of a table and watch those that are withheld for the first time."""
        span.add_table(new.table, new.table.states == State.PUBLISHED, self._withheld_first(new))

    def _withheld_first(self, new: ReleasedTable) -> BoolArray:
        """Cells that are withheld for the first time, shape (cells,)."""
        withheld = np.flatnonzero(new.table.states == State.WITHHELD)
        first = np.zeros(len(new.table), dtype=np.bool_)
        first[[cell for cell in withheld.tolist() if not self.boxes.withheld(new.boxes[cell])]] = True
        return first


Quantities = Mapping[str, KnownQuantity]
"""What has left, by quantity."""


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """All that left of one version of a source, up to a sequence of its ledger."""

    sequence: int
    quantities: Quantities
    nothing: KnownQuantity
    other_versions: bool = False
    """Whether something of another version, or under another name, of the source has left or was held."""
    noisy: tuple[NoisyRelease, ...] = ()
    """What left with noise."""
    windows: tuple[ReleasedWindow, ...] = ()
    """Windows whose means left as percentiles."""
    equations: tuple[ReleasedEquations, ...] = ()
    """What models told about the values of their outcomes."""
    drawn: tuple[Drawn, ...] = ()
    """Models that left without some units at random."""
    beside_fits: Quantities | None = None
    """The quantities with the tables of models that were held after their fit; None where there are none."""

    def of(self, quantity: str) -> KnownQuantity:
        """What has left of a quantity."""
        return self.quantities.get(quantity, self.nothing)

    def grown(self, tables: Iterable[ReleasedTable]) -> "Knowledge":
        """With more releases."""
        more = tuple(tables)

        def grown(before: Quantities) -> Quantities:
            quantities = dict(before)
            for known in more:
                quantities[known.quantity] = quantities.get(known.quantity, self.nothing).grown(known)
            return quantities

        return self._changed(grown)

    def of_drawn(self, people: tuple[int, int]) -> "Knowledge":
        """What models of the same people told that left without the same units, as though of all of them.

        Of no others: who is left out is drawn anew for each population.
        """
        same = [one for one in self.drawn if one.people == people]
        equations = tuple(equation for one in same for equation in one.equations)
        own = Knowledge(self.sequence, {}, self.nothing, equations=equations)
        return own.grown(table for one in same for table in one.tables)

    def limited(self, limits: Iterable[PopulationLimit]) -> "Knowledge":
        """With what refusals told of groups."""
        more = tuple(limits)

        def limited(before: Quantities) -> Quantities:
            quantities = dict(before)
            for limit in more:
                quantities[COUNTS] = quantities.get(COUNTS, self.nothing).limited(limit)
            return quantities

        return self._changed(limited)

    def _changed(self, change: Callable[[Quantities], Quantities]) -> "Knowledge":
        """The quantities changed, and those beside what held fits are about."""
        beside = None if self.beside_fits is None else change(self.beside_fits)
        return replace(self, quantities=change(self.quantities), beside_fits=beside)

    def told_by_fits(self, tables: Iterable[ReleasedTable]) -> "Knowledge":
        """With tables of models that were held after their fit: no figure of them has left."""
        more = tuple(tables)
        return replace(self, beside_fits=self.with_fits().grown(more).quantities) if more else self

    def for_figures(self, measures: Sequence[str]) -> "Knowledge":
        """As an answer is held against it: one of any measures beside what held fits are about, too."""
        return self.with_fits() if measures else self.without_fits()

    def with_fits(self) -> "Knowledge":
        """For what tells of measures or is fitted: as though what held fits are about had left.

        That a fit is held on one population and leaves on another tells of the few who make the difference,
        whichever was first.
        """
        mine = self.quantities if self.beside_fits is None else self.beside_fits
        return replace(self, quantities=mine, beside_fits=None)

    def without_fits(self) -> "Knowledge":
        """For counts, of which no held fit tells anything."""
        return replace(self, beside_fits=None)


def _withholds(table: ReleasedTable) -> bool:
    return bool((table.table.states == State.WITHHELD).any())
