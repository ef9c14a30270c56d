"""What versions of one source tell together: figures of two whose difference rests on few who changed.

Each version is audited by itself (`ledger_audit`). Here the figures of one are held against those of the
other, as before a table leaves (`other_versions`), and what has not been compared is not proved.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility.changed_groups import ChangedGroups
from sdcgate.facility.differencing import TooManyDifferences
from sdcgate.facility.inspector import region_axis
from sdcgate.facility.judging import cell_rules, findings_of_regions
from sdcgate.facility.kept_releases import Left
from sdcgate.facility.knowledge import COUNTS, Knowledge, ReleasedTable
from sdcgate.facility.known_sources import with_event
from sdcgate.facility.other_versions import (
    Changed,
    OfChanges,
    few_changed,
    few_changed_differences,
    regions_of,
    rules_of_changes,
    same_codes,
)
from sdcgate.facility.powers import summed_in
from sdcgate.facility.withheld_history import Withheld, truly_published
from sdcgate.methods.cells import Facts
from sdcgate.methods.rules import Finding, Rules
from sdcgate.methods.tables.assessment import assess_table
from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.joint_history import Standing
from sdcgate.methods.tables.released_cells import ReleasedCells
from sdcgate.methods.tables.span import Span, SpanBudgetExceeded


@dataclass(frozen=True, slots=True)
class ChangedBox:
    """A figure of two versions whose difference rests on too few who changed."""

    quantity: str
    box: Box
    standing: Standing
    """Refuted: both are known. Unproved: one is and the other is withheld, or they are differences."""
    was: float | None = field(default=None, repr=False)
    now: float | None = field(default=None, repr=False)
    """The figures, where they left as such; of counts records."""


@dataclass(frozen=True, slots=True)
class AuditedVersions:
    """What two versions of a source tell together."""

    earlier: Dataset
    later: Dataset
    compared: bool
    """Whether all of it could be compared."""
    figures: int = 0
    """Those that were held against each other."""
    cells: tuple[ChangedBox, ...] = field(default=(), repr=False)

    def of(self, standing: Standing) -> int:
        """How many figures there are of a standing."""
        return sum(cell.standing is standing for cell in self.cells)


@dataclass(frozen=True, eq=False)
class VersionLeft:
    """A version with what left of it."""

    dataset: Dataset
    events: Sequence[Left] = field(repr=False)
    nothing: Knowledge = field(repr=False)

    @cached_property
    def own(self) -> Knowledge:
        """What is known of it by what left of itself."""
        return reduce(with_event, self.events, self.nothing)

    @property
    def exact(self) -> bool:
        """Whether all that left are figures of which it can be told who changed."""
        powers = not all(summed_in(table.quantity).plain for table in self.tables())
        unknown = any(event.noisy or not (event.tables or event.of_refusal) for event in self.events)
        return not (powers or unknown)

    @property
    def left(self) -> bool:
        """Whether anything has left of it; what refusals tell has not."""
        return any(not event.of_refusal for event in self.events)

    def tables(self) -> Iterable[ReleasedTable]:
        """What left of it, in order."""
        return (table for event in self.events for table in event.tables)


def changes_between(engine: Engine, one: VersionLeft, other: VersionLeft) -> Changed | None:
    """What changed between two versions, in boxes of the first; None where they do not compare."""
    first, second = one.dataset, other.dataset
    if first.name != second.name or not (one.exact and other.exact):
        return None
    changes = engine.changes(*((first, second) if first.version < second.version else (second, first)))
    names = {name for left in (one, other) for table in left.tables() for name in table.table.full}
    if changes is None or not same_codes(first, second, names):
        return None
    return Changed(first, changes)


def unchanged(event: Left, version: tuple[str, int], changed: Changed, groups: ChangedGroups | None) -> Left:
    """Of what left of another version, the figures that are the same in this one, and known to be."""
    tables = [changed.same(table, groups) for table in event.tables]
    return replace(event, version=version, tables=tables, windows=[], limits=[])


def audit_versions(
    changed: Changed | None,
    earlier: tuple[VersionLeft, Withheld],
    later: tuple[VersionLeft, Withheld],
    rules: Rules,
) -> AuditedVersions:
    """What two versions tell together.

    Args:
        changed: what changed between them, in boxes of the later; None where that cannot be told.
        earlier: one of them, with what is known of it.
        later: the other.
        rules: those that hold for its cells.
    """
    (first, _), (second, _) = earlier, later
    if changed is None:
        return AuditedVersions(first.dataset, second.dataset, False)
    if not second.dataset.household:
        rules = replace(rules, minimum_households=None)
    groups = ChangedGroups.under(rules, changed.dataset)
    rules = rules_of_changes(cell_rules(rules))
    how = OfChanges(rules, partial(_judged, rules), groups)
    compared = _Compared(changed, earlier, later, how)
    found, number, whole = list[ChangedBox](), 0, True
    for quantity in sorted({table.quantity for table in second.tables()}):
        try:
            cells = compared.cells(quantity)
            found += cells[0]
            number += cells[1]
            found += compared.differences(quantity, {cell.box for cell in cells[0]})
        except (SpanBudgetExceeded, TooManyDifferences):
            whole = False
    return AuditedVersions(first.dataset, second.dataset, whole, number, tuple(found))


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    changed: Changed
    earlier: tuple[VersionLeft, Withheld]
    later: tuple[VersionLeft, Withheld]
    how: OfChanges

    def cells(self, quantity: str) -> tuple[list[ChangedBox], int]:
        """Figures of both versions in which too few changed, and how many were looked at.

        Raises SpanBudgetExceeded.
        """
        (first, known_first), (second, known_second) = self.earlier, self.later
        shown = [_shown(left, quantity) for left in (first, second)]
        boxes = sorted(shown[0].keys() | shown[1].keys())
        few = few_changed(self.changed, regions_of(boxes), [quantity], self.how)
        suspected = [box for box, close in zip(boxes, few, strict=True) if close]
        same = self._same_figures(quantity, suspected)

        def known_of(box: Box, span: Span, of_itself: Span) -> bool:
            # A figure that is the same in spite of those who came is known of the other version for that
            # alone: each has to have told it.
            return bool((of_itself if box in same else span).contains([box])[0])

        sides = []
        for own, (left, known) in zip(shown, (self.earlier, self.later), strict=True):
            everything, of_itself = known.known.of(quantity), left.own.of(quantity).span.copy()
            of_itself.know(everything.shapes.full)
            sides.append({box: box in own or known_of(box, everything.span, of_itself) for box in suspected})
        names = _names(suspected)
        hidden = [
            {*known.of(quantity).boxes.secrets_within(names), *(same & known.history.marked(quantity))}
            for known in (known_first, known_second)
        ]
        found = []
        for box in suspected:
            was, now = (own.get(box) for own in shown)
            if sides[0][box] and sides[1][box]:
                found.append(ChangedBox(quantity, box, Standing.REFUTED, was, now))
            elif box in hidden[0] or box in hidden[1]:
                found.append(ChangedBox(quantity, box, Standing.UNPROVED, was, now))
        return found, len(boxes)

    def _same_figures(self, quantity: str, boxes: Sequence[Box]) -> Set[Box]:
        """Boxes of which the figure itself is the same in both versions, whoever came."""
        units = self.changed.units(quantity, boxes)
        return {box for box, number in zip(boxes, units.tolist(), strict=True) if not number}

    def differences(self, quantity: str, told: set[Box]) -> list[ChangedBox]:
        """Cells of the later version that differ from one that left by a group in which few changed.

        Raises TooManyDifferences.
        """
        left, found = ReleasedCells(), dict[Box, ChangedBox]()
        for table in self.later[0].tables():
            if table.quantity != quantity:
                continue
            shown = set(truly_published(table))
            chosen = np.array([box in shown for box in table.boxes], dtype=np.bool_)
            # Its own cells lie in each other as well.
            left = left.grown(table.table, table.boxes, table.facts, chosen)
            either = np.any(few_changed_differences(self.changed, table, left, self.how), axis=0)
            for cell in np.flatnonzero(either & chosen).tolist():
                box = table.boxes[cell]
                if box not in told:
                    found[box] = ChangedBox(quantity, box, Standing.UNPROVED)
        return list(found.values())


def _judged(rules: Rules, facts: Facts) -> Sequence[Finding]:
    """What rules find in facts side by side."""
    found = assess_table(region_axis(len(facts)), facts, rules, 0, None)
    return findings_of_regions(found, len(facts))


def _shown(left: VersionLeft, quantity: str) -> dict[Box, float]:
    """Boxes of a quantity that left, with their figures."""
    found: dict[Box, float] = {}
    for table in left.tables():
        if table.quantity != quantity:
            continue
        shown = set(truly_published(table)) - {NOBODY}
        amounts = dict(table.amounts())
        counts = {box: counts.records for box, counts in table.published()}
        found |= {box: amounts[box].total if quantity != COUNTS else float(counts[box]) for box in shown}
    return found


def _names(boxes: Iterable[Box]) -> set[str]:
    return {name for box in boxes for name, _ in box}
