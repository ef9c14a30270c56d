"""The joint audit of sums: what all releases together tell of what is withheld of a measure.

Published means are sums, as their counts have left; percentages are counts. Of other counts those are looked
at that cut nothing finer than the measure's own boxes do.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from sdcgate.facility.boxes import MEASURE_PRESENT, having_variable
from sdcgate.facility.joint_look import Look, covering
from sdcgate.facility.knowledge import KnownQuantity, ReleasedTable
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.joint_boxes import JointBoxes
from sdcgate.methods.tables.joint_domain import classes, joint_domain
from sdcgate.methods.tables.joint_scopes import Scope
from sdcgate.methods.tables.joint_sums import (
    PART,
    ROOM,
    Amounts,
    MeasureBoxes,
    amounts,
    as_array,
    of_all_parts,
)
from sdcgate.methods.tables.solver import Deadline

MOST_ATOMS = 600
"""Joint codes of the variables that are looked at together, beyond the table's own; each has three parts."""


def telling_sums(
    known: KnownQuantity,
    known_counts: KnownQuantity,
    new: ReleasedTable,
    new_counts: Sequence[ReleasedTable],
    share: float,
    deadline: Deadline,
) -> BoolArray:
    """Published cells of a new table without which no withheld sum is told too closely, shape (cells,).

    Of a measure without public bounds nothing is told but what the span finds.

    Args:
        known: what has left of the measure.
        known_counts: what has left of counts.
        new: the measure of the table, in the states that it would leave in.
        new_counts: its counts, in theirs.
        share: least width of a withheld sum, as a share of it.
        deadline: when to give up.

    Raises:
        JointlyUnproved: it cannot be told in time.
    """
    kept_back = np.zeros(len(new.table), dtype=np.bool_)
    (measure,) = new.facts.measures
    bounds = measure.lower_bound, measure.upper_bound
    # What a table tells by itself its own proof knows.
    nothing_before = known.empty and known_counts.empty
    if nothing_before or bounds == (None, None) or not (known.boxes.secret or new.withheld()):
        return kept_back
    view = _View(known, known_counts, new, new_counts)
    boxes = view.boxes()
    if not boxes.secrets:
        return kept_back
    found = amounts(boxes, bounds, view.codes, share)
    fresh = {box for box in found.published if of_all_parts(box) in view.fresh}
    look = Look(fresh, set(), lambda those: as_array(found.widths, those), 0, deadline, ROOM)
    blamed = look.blamed(_scope(view, found), known.told.setdefault(("sums", share), set()))
    which = [{view.cells[of_all_parts(box)] for box in rows} for rows in blamed]
    kept_back[covering(which, new.table.records)] = True
    return kept_back


def _scope(view: "_View", found: Amounts) -> Scope:
    domain = frozenset(view.codes) | {PART}
    return Scope(domain, found.full, found.published, list(found.secrets))


@dataclass(slots=True, eq=False)
class _View:
    """A measure with a new table, in the variables that are looked at."""

    known: KnownQuantity
    known_counts: KnownQuantity
    new: ReleasedTable
    new_counts: Sequence[ReleasedTable]
    having: str = field(init=False)
    """The variable whose condition is that records have the measure."""
    of_measure: JointBoxes = field(init=False, repr=False)
    domain: Set[str] = field(init=False)
    codes: Mapping[str, int] = field(init=False)
    """Full masks of the variables that are looked at."""
    fresh: Set[Box] = field(init=False, repr=False)
    """Plain boxes of which the table tells the measure or the count for the first time."""
    cells: Mapping[Box, int] = field(init=False, repr=False)
    """Cells of the table by their plain boxes."""

    def __post_init__(self) -> None:
        new, known = self.new, self.known
        self.having = having_variable(new.quantity)
        self.of_measure = known.boxes.grown(new.published(), new.withheld())
        full = {**known.shapes.full, **self.known_counts.shapes.full, **new.table.full}
        full |= {self.having: full.get(self.having, MEASURE_PRESENT)}
        first = {*new.table.variables(), self.having}
        self.domain = joint_domain(first, self.of_measure, full, MOST_ATOMS)
        self.codes = {name: full[name] for name in self.domain if name != self.having}
        tables = [(known, new), *((self.known_counts, counts) for counts in self.new_counts)]
        self.fresh = {
            self.plain(box)
            for before, table in tables
            for box, _ in table.published()
            if box not in before.published
        }
        self.cells = {self.plain(box): cell for _, table in tables for cell, box in enumerate(table.boxes)}

    def plain(self, box: Box) -> Box:
        """A box without the condition that records have the measure: without it they add nothing to a sum."""
        return tuple(pair for pair in box if pair[0] != self.having)

    def boxes(self) -> MeasureBoxes:
        """Everything known of the measure within these variables."""
        true = self.known.amounts.get
        here = dict(self.new.amounts())
        shown = self.of_measure.within(self.domain)
        published = {self.plain(box): true(box) or here[box] for box in shown}
        hidden = self.of_measure.secrets_within(self.domain)
        secrets = {self.plain(box): true(box) or here[box] for box in hidden}
        counts = self.known_counts.boxes
        for table in self.new_counts:
            counts = counts.grown(table.published(), ())
        aligned = self._aligned(counts.within(self.domain))
        return MeasureBoxes(
            published,
            {box: amount for box, amount in secrets.items() if box not in published},
            {box for box in shown if self.having not in dict(box)},
            {box: records for box, records in aligned if self.having not in dict(box)},
            {self.plain(box): records for box, records in aligned if self.having in dict(box)},
        )

    def _aligned(self, counts: Mapping[Box, int]) -> list[tuple[Box, int]]:
        """Counts of boxes that cut nothing that the measure's boxes do not tell apart."""
        masks = self.of_measure.masks_within(self.domain)
        parts = {name: classes(full, masks[name]) for name, full in self.codes.items()}
        known = dict[tuple[str, int], bool]()
        for names in counts:
            for name, mask in names:
                if (name, mask) not in known:
                    known[name, mask] = name == self.having or _is_union(mask, parts[name])
        return [(box, records) for box, records in counts.items() if all(known[pair] for pair in box)]


def _is_union(mask: int, parts: Iterable[int]) -> bool:
    """Whether a mask cuts none of some parts."""
    return all(part & mask in (0, part) for part in parts)
