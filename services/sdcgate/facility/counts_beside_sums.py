"""Which cells of a table tell, by a measure's sums beside counts, how many a withheld cell has.

What counts tell by themselves is asked in `joint_audit`, what of a measure's withheld sums in `joint_sums`.
With bounds of single values on both sides sums bound counts as well: where the people of the west have 20
each, or nearly so, and those in trade next to nothing, hardly anybody in the west is in trade.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from sdcgate.facility.joint_look import Extent, JointlyUnproved, Wide, Width, covering
from sdcgate.facility.joint_sums import MOST_ATOMS, MeasureHistory, variables
from sdcgate.facility.knowledge import KnownQuantity, ReleasedTable
from sdcgate.facility.powers import Bounds
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Held
from sdcgate.methods.tables.counts_beside_sums import Required, close_counts, count_bounds, wide_by_one_part
from sdcgate.methods.tables.joint_intervals import told_by
from sdcgate.methods.tables.joint_moves import agrees
from sdcgate.methods.tables.joint_reduction import Question
from sdcgate.methods.tables.joint_sums import (
    PART,
    ROOM,
    Amounts,
    Measured,
    counts_beside,
    in_all_parts,
    of_all_parts,
)
from sdcgate.methods.tables.joint_system import JointSystem, joint_system
from sdcgate.methods.tables.solver import Deadline


def telling_counts(
    quantity: str,
    known: KnownQuantity,
    known_counts: KnownQuantity,
    new: Sequence[ReleasedTable],
    new_counts: Sequence[ReleasedTable],
    bounds: Bounds,
    width: Width,
    extent: Extent,
    wide: Wide | None = None,
) -> BoolArray:
    """Published cells without which a measure's sums tell no withheld count too closely, shape (cells,).

    Without bounds on both sides sums tell of a count no more than that somebody is there.

    Args:
        quantity: the measure.
        known: what has left of it.
        known_counts: what has left of counts.
        new: the new tables' sums of it, in the states that they would leave in; none where they have none.
        new_counts: their counts, in theirs; of the same cells.
        bounds: what everybody knows single values to be at least and at most.
        width: how uncertain a withheld count must stay.
        extent: when to give up, and what people have in truth; how many codes are looked at is `MOST_ATOMS`.
        wide: what earlier turns of the same table have seen to be uncertain enough; it grows.

    Raises:
        JointlyUnproved: it cannot be told in time.
    """
    low, high = bounds
    first = new_counts[0].table
    kept_back = np.zeros(len(first), dtype=np.bool_)
    nothing_before = known.empty and known_counts.empty
    hides = known_counts.boxes.secret or any(table.withheld() for table in new_counts)
    # What a table tells by itself its own proof knows.
    if low is None or high is None or nothing_before or not hides or (known.empty and not new):
        return kept_back
    history = MeasureHistory.of(quantity, known, known_counts, new, new_counts)
    domain, finer = history.domain_of_counts(variables(new_counts), MOST_ATOMS)
    told_first = history.told_first(domain, [(known, new), (known_counts, new_counts)], finer)
    hidden = {
        history.counted(box)
        for table in new_counts
        for box in table.withheld()
        if not known_counts.boxes.withheld(box)
    }
    if not (told_first or (width.floor and hidden)):
        return kept_back
    boxes, codes = history.within(domain, finer), history.codes(domain)
    if not (boxes.uncounted and boxes.published):
        return kept_back
    found = counts_beside(boxes, (low, high), codes)
    measured = extent.truth.measured(quantity, frozenset(codes))
    key = ("counts", width, found.rest_on, tuple(sorted(codes.items())), finer)
    look = _Look(
        found,
        frozenset(codes) | {PART},
        found.published.keys() & set(chain.from_iterable(map(in_all_parts, told_first))),
        hidden,
        Required(width.least, width.floor, found.record),
        extent.deadline,
        measured,
        None if measured is None else found.held(measured),
    )
    told = set(known.told.get(key, ()))
    blamed = look.blamed(told, {} if wide is None else wide, key)
    if told:
        known.told[key] = frozenset(told)
    cells = {
        history.plain(box): cell for table in (*new, *new_counts) for cell, box in enumerate(table.boxes)
    }
    which = [{cells[of_all_parts(box)] for box in rows} for rows in blamed]
    kept_back[covering(which, first.records)] = True
    return kept_back


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    found: Amounts
    domain: frozenset[str]
    fresh: set[Box]
    hidden: set[Box]
    required: Required
    deadline: Deadline
    measured: Measured | None = field(repr=False)
    held: Held | None = field(repr=False)

    def blamed(self, told: set[Box], wide: Wide, key: tuple[object, ...]) -> list[set[Box]]:
        """For counts that fresh boxes help to bound too closely these boxes.

        `told` are counts that were too close before, `wide` those that an earlier turn has seen far enough
        apart: neither are looked at any more. Both grow.
        """
        seen = wide.setdefault(key, set())
        secrets = self._all(told)
        asked = np.array([box not in told and box not in seen for box in secrets], dtype=np.bool_)
        if not asked.any():
            return []
        system = self._system(secrets)
        question = Question(
            asked,
            np.array([box in self.fresh for box in system.published], dtype=np.bool_),
            np.array([box in self.hidden for box in secrets], dtype=np.bool_),
        )
        question = replace(question, asked=asked & ~self._seen_wide(system, secrets, asked))
        if not question.asked.any():
            return []
        close, unproved = close_counts(system, self.required, self.deadline, question)
        self._settled(unproved)
        seen.update(box for place, box in enumerate(secrets) if asked[place] and not close[place])
        if not close.any():
            return []
        secrets, close = self._only(secrets, close)
        system = self._system(secrets)
        now = count_bounds(system, self.required, self.deadline, close)
        self._settled(now.unproved)
        before = self._before(secrets, now.narrow)
        told.update(secrets[place] for place in np.flatnonzero(before).tolist())
        rows = [
            {box for row in told_by(now.found, place) if (box := system.published[row]) in self.fresh}
            for place in np.flatnonzero(now.narrow & ~before).tolist()
        ]
        if not all(rows):
            # It is the withholding that tells, as nothing withheld is empty.
            raise JointlyUnproved
        return rows

    def _seen_wide(self, system: JointSystem, secrets: Sequence[Box], asked: BoolArray) -> BoolArray:
        """Counts that are wide whatever sums tell, where what is true agrees with what is known."""
        if self.measured is None or system.held is None:
            return np.zeros_like(asked)
        floors = np.full(len(secrets), self.required.floor * self.required.record)
        if not agrees(system, system.held, floors):
            return np.zeros_like(asked)
        codes = {name: mask for name, mask in self.found.full.items() if name in self.domain - {PART}}
        return wide_by_one_part(
            self.found, self.measured, secrets, codes, self.required, asked, self.deadline
        )

    def _all(self, told: set[Box]) -> list[Box]:
        """Of what is told already nothing is known but its sums, or that it is not empty."""
        return [box for box in self.found.secrets if self.required.floor or box not in told]

    def _only(self, secrets: list[Box], chosen: BoolArray) -> tuple[list[Box], BoolArray]:
        """The chosen ones, and the others where it is known that they are not empty."""
        if self.required.floor:
            return secrets, chosen
        return [secrets[place] for place in np.flatnonzero(chosen).tolist()], chosen[chosen]

    def _before(self, secrets: list[Box], narrow: BoolArray) -> BoolArray:
        """Which of the narrow counts were so without anything fresh, shape (secrets,)."""
        if not narrow.any():
            return narrow
        old = {box: amount for box, amount in self.found.published.items() if box not in self.fresh}
        system = joint_system(self.domain, old, secrets, self.found.full, room=ROOM, held=self.held)
        fresh = np.array([box in self.hidden for box in secrets], dtype=np.bool_)
        before = count_bounds(system, self.required, self.deadline, narrow, fresh)
        self._settled(before.unproved)
        return before.narrow

    def _system(self, secrets: Sequence[Box]) -> JointSystem:
        """All that is known; fresh empty boxes are sums as well, so that what they tell can be seen."""
        found = self.found
        return joint_system(
            self.domain, found.published, secrets, found.full, self.fresh, ROOM, held=self.held
        )

    def _settled(self, unproved: BoolArray) -> None:
        if unproved.any() or self.deadline.missed:
            raise JointlyUnproved
