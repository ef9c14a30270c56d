"""A table of a new version of a dataset, where something of earlier versions has left.

Whoever has the same figure of two versions has what changed between them. A table of the new version leaves
as far as three things hold together (docs/methods/versions.md):

- it is safe with all that left of its own version, and with figures of earlier ones that did not change;
- it would have been safe as a table of each earlier version, with what left of that one;
- in each cell that is shown, and in what any two of the new version's cells differ by, no unit changed or
  enough did.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.changes import Changes
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import MEASURE_PREFIX, Region
from sdcgate.facility import datasets
from sdcgate.facility.boxes import MEASURE_FULL, MEASURE_PRESENT, expanded_region
from sdcgate.facility.changed_groups import ChangedGroups
from sdcgate.facility.differencing import TooManyDifferences, differ_in_filters
from sdcgate.facility.disclosed_groups import without
from sdcgate.facility.kept_releases import Left
from sdcgate.facility.knowledge import COUNTS, Drawn, Knowledge, ReleasedTable
from sdcgate.facility.known_sources import KnowledgeOfSources, with_event
from sdcgate.facility.plan import Plan
from sdcgate.facility.powers import summed_in
from sdcgate.facility.told_extremes import PREFIX
from sdcgate.facility.weights import WEIGHTED_PREFIX
from sdcgate.methods.cells import BoolArray, Facts, IntArray, State
from sdcgate.methods.rules import ABSOLUTE_VALUES, Finding, Rules
from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.concentration import rules_on_contributions
from sdcgate.methods.tables.nesting import Nested
from sdcgate.methods.tables.released_cells import Near, ReleasedCells

MOST = 2_000
"""Differences of two cells whose changes are counted for one table."""
RANKS = 3
"""Largest changes of single units that are looked at, where no rule looks at more."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """What a table of one version has to be held against, of the others."""

    own: Knowledge
    """What left of the table's own version."""
    known: Knowledge
    """The same with those figures of other versions that did not change."""
    others: tuple[tuple[Plan, Knowledge], ...]
    """The same question on each other version, with what is known of that one."""
    changes: tuple["Changed", ...] = field(repr=False)
    """What changed from each other version."""


@dataclass(slots=True, eq=False)
class Changed:
    """The changes between two versions, as they show in boxes of one of them."""

    dataset: Dataset
    changes: Changes = field(repr=False)
    _units: dict[tuple[str, Box], int] = field(default_factory=dict, repr=False)
    """Units by which a quantity differs in a box, once they were counted."""

    def few_in_all(self, rules: Rules) -> bool:
        """Whether units differ, and fewer than a cell needs."""
        minimum = rules.minimum_units
        return minimum is not None and 0 < self.changes.units < minimum.units

    def units(self, quantity: str, boxes: Sequence[Box]) -> IntArray:
        """Units by whose records, or by whose part of a sum, a quantity differs in each box."""
        fresh = [box for box in dict.fromkeys(boxes) if (quantity, box) not in self._units]
        differing = self.changes.different(self.inside(regions_of(fresh)), *_figure(quantity))
        for box, units in zip(fresh, differing, strict=True):
            self._units[quantity, box] = len(units)
        return np.array([self._units[quantity, box] for box in boxes], dtype=np.int64)

    def inside(self, regions: Sequence[Region]) -> list[IntArray]:
        """The records of each region that changed; a box of nobody holds nobody."""
        return self.changes.inside([expanded_region(self.dataset, region) for region in regions])

    def came_and_went(self, regions: Sequence[Region]) -> tuple[IntArray, IntArray]:
        """How many units came to regions, and how many went from them, shape (regions,) each."""
        return self.changes.came_and_went(self.inside(regions))

    def same(self, table: ReleasedTable, groups: ChangedGroups | None = None) -> ReleasedTable:
        """A table with those cells alone in which nothing changed, and with what it told of these together.

        A mean stays what it was only where the number of those whose it is does, too. That a cell is what it
        was nobody knows where it would tell of the `groups` that changed.
        """
        unchanged, ratios = self.units(table.quantity, table.boxes) == 0, table.ratios
        if groups is not None:
            unchanged &= ~groups.unsafe(regions_of(table.boxes), self.came_and_went)
        if len(ratios.wholes):
            ratios = ratios.among(unchanged & (self.units(COUNTS, table.boxes) == 0))
        same = table.with_states(np.where(unchanged, table.table.states, State.ABSENT))
        return replace(same, told=table.told.among(unchanged), ratios=ratios)

    def unchanged(self, left: Left, groups: ChangedGroups | None = None) -> Left:
        """What an event told of figures in which nothing changed, and of groups that are the same.

        A refusal's limit and extremes hold of the same people in either version, and so does what it told
        that a model of them was held; percentiles, and what models told, are compared with figures of their
        own version only.
        """
        extremes = [window for window in left.windows if window.measure.startswith(PREFIX)]
        return replace(
            left,
            tables=[self.same(table, groups) for table in left.tables],
            windows=[one for one in extremes if self._stands(one.measure.removeprefix(PREFIX), one.box)],
            limits=[limit for limit in left.limits if self._stands(COUNTS, limit.box)],
            equations=[],
            fits=[self.same(table, groups) for table in left.fits],
            drawn=Drawn(),
        )

    def _stands(self, quantity: str, box: Box) -> bool:
        """Whether a box has the same people, and each the same of a quantity."""
        return not any(self.units(one, [box])[0] for one in (COUNTS, quantity))


Judged = Callable[[Facts], Sequence[Finding]]
"""Judges facts by the rules of single cells."""


def rules_of_changes(rules: Rules) -> Rules:
    """Rules of single cells as they hold for changes: of amounts as they are, up or down."""
    return replace(rules, contributions=ABSOLUTE_VALUES)


@dataclass(frozen=True, slots=True)
class OfChanges:
    """By what changes are judged."""

    rules: Rules
    judge: Judged
    groups: ChangedGroups | None = None


def regions_of(boxes: Sequence[Box]) -> list[Region]:
    """Each of some boxes by itself."""
    return [Region((box,), ()) for box in boxes]


def few_changed(
    changed: Changed, regions: Sequence[Region], quantities: Sequence[str], how: OfChanges
) -> BoolArray:
    """Regions in which somebody changed, and too few did for the rules, shape (regions,).

    Counted are the units that came or went, those with more or fewer records, and for each of the quantities
    those by whom it differs, and those who came to lack its measure, or lack it no more. Regions are unsafe
    as well that tell a sensitive category of all who came, though nobody did who has another one.
    """
    changes = changed.changes
    inside = changed.inside(regions)
    asked = _came_or_changed(changes, inside)
    for quantity in quantities:
        measure, weighted = _figure(quantity)
        if measure:
            asked += _came_or_changed(changes, changed.inside([_lacking(one, measure) for one in regions]))
        if measure or weighted:
            differing = _facts(changes, changes.different(inside, measure, weighted))
            ranks = max(RANKS, how.rules.ranks)
            parts = (changes.contributions(inside, measure, ranks, weighted),) if measure else ()
            asked.append(replace(differing, measures=parts))
    unsafe = np.zeros(len(regions), dtype=np.bool_)
    if how.groups is not None:
        unsafe |= how.groups.unsafe(regions, changed.came_and_went)
    for facts in asked:
        if not facts.units.any():
            continue
        for finding in how.judge(facts):
            cells = np.array(finding.cells, dtype=np.int64)
            unsafe[cells[facts.units[cells] > 0]] = True
    return unsafe


def _lacking(region: Region, measure: str) -> Region:
    """Who lacks a measure where a region has those who have it."""
    lacking = (f"{MEASURE_PREFIX}{measure}", MEASURE_FULL & ~MEASURE_PRESENT)

    def of(box: Box) -> Box:
        return box if box == NOBODY else tuple(sorted((*without(box, lacking[0]), lacking)))

    return Region(tuple(map(of, region.inside)), tuple(map(of, region.outside)))


def _came_or_changed(changes: Changes, inside: Sequence[IntArray]) -> list[Facts]:
    """Who came or went, and who has more or fewer records."""
    return [_facts(changes, changes.moved(inside)), _facts(changes, changes.different(inside))]


def _facts(changes: Changes, units: Sequence[IntArray]) -> Facts:
    """Sets of units as facts that the rules of cells judge."""
    counts = np.array([len(one) for one in units], dtype=np.int64)
    return Facts(counts, counts, changes.households(units))


def few_changed_cells(changed: Changed, new: Sequence[ReleasedTable], how: OfChanges) -> BoolArray:
    """Cells of a table in which somebody changed, and too few did, shape (cells,)."""
    unsafe = np.zeros(len(new[0].boxes), dtype=np.bool_)
    for table in new:
        unsafe |= few_changed(changed, regions_of(table.boxes), [table.quantity], how)
    return unsafe


def few_changed_differences(
    changed: Changed, new: ReleasedTable, left: ReleasedCells, how: OfChanges
) -> tuple[BoolArray, BoolArray]:
    """Cells that differ from one that left by a region in which too few changed: by filters, and by detail.

    Raises:
        TooManyDifferences: more would have to be counted than can be.
    """
    by_filter, by_detail = np.zeros((2, len(new.boxes)), dtype=np.bool_)
    pairs = left.nested(new.table, Near(np.inf))
    places = np.flatnonzero(_could_be_few(changed, new, left, pairs, how))
    if len(places) > MOST:
        raise TooManyDifferences(f"more than {MOST} differences in which units changed")
    chosen = [(int(pairs.new_cells[at]), int(pairs.old_cells[at])) for at in places.tolist()]
    ends = [(new.boxes[cell], left.box(row)) for cell, row in chosen]
    inner_first = pairs.new_inside_old[places].tolist()
    regions = [
        Region((b,), (a,)) if inner else Region((a,), (b,))
        for (a, b), inner in zip(ends, inner_first, strict=True)
    ]
    unsafe = few_changed(changed, regions, [new.quantity], how)
    for at in np.flatnonzero(unsafe).tolist():
        cell, row = chosen[at]
        (by_filter if differ_in_filters(new, cell, left, row) else by_detail)[cell] = True
    return by_filter, by_detail


def _could_be_few(
    changed: Changed, new: ReleasedTable, left: ReleasedCells, pairs: Nested, how: OfChanges
) -> BoolArray:
    """Pairs in whose difference too few may have changed, told by how many did in either cell.

    A unit's part of the difference is that of the outer cell less that of the inner one: where neither
    changes, it does not; where it changes in one cell alone, it does.
    """
    if not len(pairs):
        return np.zeros(0, dtype=np.bool_)
    mine = changed.units(new.quantity, new.boxes)[pairs.new_cells]
    rows, places = np.unique(pairs.old_cells, return_inverse=True)
    theirs = changed.units(new.quantity, [left.box(row) for row in rows.tolist()])[places]
    if changed.dataset.records_per_unit > 1:
        # Units that came or went are not told by how many records each has more or fewer.
        either: BoolArray = (mine > 0) | (theirs > 0)
        return either
    both: BoolArray = (mine > 0) & (theirs > 0)
    rules = how.rules
    judged = new.quantity != COUNTS and (rules.equal_values is not None or rules_on_contributions(rules))
    if judged or rules.minimum_units is None or rules.minimum_households is not None:
        return both
    near: BoolArray = np.abs(mine - theirs) < rules.minimum_units.units
    if how.groups is not None:
        # However many changed, all of them may have what is sensitive.
        near |= how.groups.restrict(new.boxes)[pairs.new_cells]
    return both & near


class OtherVersions:
    """What is known of a source's versions, one from the other; read from the ledger as it grows."""

    def __init__(self, engine: Engine, knowledge: KnowledgeOfSources) -> None:
        self._engine = engine
        self._knowledge = knowledge
        self._changed: dict[tuple[str, int, int], Changed | None] = {}
        self._known: dict[tuple[str, int, float], tuple[int, Knowledge]] = {}
        self._locks: defaultdict[Hashable, threading.Lock] = defaultdict(threading.Lock)

    def compare(self, plan: Plan, own: Knowledge, still_time: Callable[[], None]) -> Compared | None:
        """What a plan is held against; None where its version does not compare with one that has left.

        Versions compare where a question means the same in all of them, units have ids, and the variables
        that are in play have the same codes occurring. One of which a steward or a checker let something
        leave, though few units differ from it, does not: which cells were withheld would tell of those.
        """
        newest = plan.dataset
        left = self._knowledge.versions(newest.source)
        others = sorted(version for name, version in left if (name, version) != (newest.name, newest.version))
        if any(name != newest.name for name, _ in left):
            return None
        with self._locks[newest.source]:
            changed = [self._changes(newest, version) for version in others]
            if not all(changed) or not self._alike(plan, others):
                return None
            if any(one is not None and one.few_in_all(plan.policy.rules) for one in changed):
                return None
            groups = ChangedGroups.under(plan.policy.rules, newest)
            known = self._known_of(newest, own.sequence, still_time, groups)
            held = []
            for version in others:
                earlier = datasets.find(self._engine, newest.name, version)
                there = self._known_of(earlier, own.sequence, still_time, groups)
                if there is None:
                    return None
                held.append((replace(plan, dataset=earlier), there))
        if known is None:
            return None
        return Compared(own, known, tuple(held), tuple(one for one in changed if one is not None))

    def _changes(self, dataset: Dataset, version: int) -> Changed | None:
        """What changed between a dataset's version and another; None where it cannot be told."""
        key = (dataset.name, dataset.version, version)
        if key not in self._changed:
            other = datasets.find(self._engine, dataset.name, version)
            found = self._engine.changes(other, dataset)
            self._changed[key] = None if found is None else Changed(dataset, found)
        return self._changed[key]

    def _alike(self, plan: Plan, others: Sequence[int]) -> bool:
        """Whether the variables in play have the same codes in all versions: boxes are the same sets then.

        Changes of sums of powers, which variances tell of, are not counted.
        """
        names = {variable for variable, _ in plan.dimensions} | {one.variable for one in plan.filters}
        source = plan.dataset.source
        for version in (plan.dataset.version, *others):
            known = self._knowledge.of(source, plan.dataset.name, version)
            if not all(summed_in(quantity).plain for quantity in known.quantities):
                return False
            names |= {name for one in known.quantities.values() for name in one.shapes.full}
        for version in others:
            other = datasets.find(self._engine, plan.dataset.name, version)
            if not same_codes(plan.dataset, other, names):
                return False
        return True

    def _known_of(
        self,
        dataset: Dataset,
        sequence: int,
        still_time: Callable[[], None],
        groups: ChangedGroups | None,
    ) -> Knowledge | None:
        """What left of a version, and of others what did not change; None where noise left, or no figures.

        That something did not change counts as known but where it would tell of the `groups` that changed.
        """
        key = (dataset.name, dataset.version, 0.0 if groups is None else groups.share)
        before, known = self._known.get(key, (0, self._knowledge.nothing()))
        for left in self._knowledge.events(dataset.source, before, sequence):
            still_time()
            if left.noisy:
                return None
            told = left
            if left.version[1] != dataset.version:
                changed = self._changes(dataset, left.version[1])
                if changed is None:
                    return None
                told = changed.unchanged(left, groups)
            known = with_event(known, told)
            self._known[key] = (left.sequence, known)
        return replace(known, sequence=sequence)


def same_codes(one: Dataset, other: Dataset, names: Set[str]) -> bool:
    """Whether variables have the same codes occurring in two versions, following from the same others.

    What stands for several variables must tell the same of the same ones. Names of no variable of either
    version, as of who has a measure, mean the same in all.
    """
    return all(
        _codes(one, name) == _codes(other, name)
        for name in names & (one.variation.keys() | other.variation.keys())
    )


def _codes(dataset: Dataset, name: str) -> object:
    """What the codes of a variable are: None where there is no such variable."""
    if name not in dataset.variation:
        return None
    own = dataset.variation[name]
    followed = {
        member: variation.decided
        for member, variation in dataset.variation.items()
        if name in dataset.exclusive and variation.determined_by == name
    }
    return own.occurring, own.determined_by, own.decided, followed


def _figure(quantity: str) -> tuple[str, bool]:
    """The measure of a quantity, none of counts, and whether it is weighted."""
    if quantity == COUNTS:
        return "", False
    return quantity.removeprefix(WEIGHTED_PREFIX), quantity.startswith(WEIGHTED_PREFIX)
