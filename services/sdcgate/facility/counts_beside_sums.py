"""Which cells of a table tell, by a measure's sums beside counts, how many a withheld cell has.

What counts tell by themselves is asked in `joint_audit`, what of a measure's withheld sums in `joint_sums`.
With bounds of single values on both sides sums bound counts as well: where the people of the west have 20
each, or nearly so, and those in trade next to nothing, hardly anybody in the west is in trade.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np

from sdcgate.facility.boxes import having_variable
from sdcgate.facility.joint_look import Extent, JointlyUnproved, SeenWide, Wide, Width, covering
from sdcgate.facility.joint_sums import (
    MOST_ATOMS,
    MeasureHistory,
    as_counted,
    domain_of_counts,
)
from sdcgate.facility.leaving import Leaving
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Held
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.counts_beside_sums import (
    Required,
    close_counts,
    count_bounds,
    told_by_counts,
)
from sdcgate.methods.tables.counts_wide import wide_in_all
from sdcgate.methods.tables.joint_boxes import Variables
from sdcgate.methods.tables.joint_intervals import told_by
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


@dataclass(frozen=True, slots=True, eq=False)
class OfMeasure:
    """What has left of a measure, and what is about to."""

    quantity: str
    leaving: Leaving = field(repr=False)
    """Its sums in new tables, none where these have none, and what has left of it."""
    bounds: tuple[float, float]
    """What everybody knows single values to be at least and at most."""
    wide: Wide = field(repr=False)
    """Counts that earlier turns of the same table have seen to be uncertain enough; it grows."""
    only: Set[Box] | None = None
    """Boxes of parts (`joint_sums`) that are asked for, where all is doubted that was not told for sure."""
    doubted: Set[Box] = frozenset()
    """Boxes of counts that are asked for as well."""

    def asked(self, marked: Mapping[Box, Box]) -> set[Box]:
        """Those that are asked for of withheld counts, by boxes of parts."""
        if self.only is None:
            return set(marked)
        return {part for part, box in marked.items() if part in self.only or box in self.doubted}

    def as_counted(self, box: Box) -> Box:
        """A box of parts as the one of counts that it stands for."""
        return as_counted(box, having_variable(self.quantity))

    def in_doubt(self, only: Set[Box], doubted: Set[Box]) -> "OfMeasure":
        """The same with what was told for sure before, and nothing taken for known."""
        return replace(self, leaving=self.leaving.in_doubt, only=only, doubted=doubted)


def telling_counts(
    measures: Sequence[OfMeasure],
    of_counts: Leaving,
    width: Width,
    extent: Extent,
    doubted: set[Box] | None = None,
) -> BoolArray:
    """Published cells without which sums of a measure tell no withheld count too closely, shape (cells,).

    Those of the first measure of which any do: without them others may.

    Args:
        measures: those with bounds of single values on both sides: without, sums tell of a count no more than
            that somebody is there.
        of_counts: the new tables' counts, of the same cells, and what has left of counts.
        width: how uncertain a withheld count must stay.
        extent: when to give up, and what people have in truth; how many codes are looked at is `MOST_ATOMS`.
        doubted: withheld boxes that were perhaps told before; it grows.

    Raises:
        JointlyUnproved: it cannot be told in time.
    """
    # What a table tells by itself its own proof knows.
    uncounted = of_counts.known.empty
    telling = [
        one for one in measures if not (one.leaving.known.empty and (uncounted or not one.leaving.tables))
    ]
    if not (telling and of_counts.hides):
        return np.zeros(len(of_counts.tables[0].table), dtype=np.bool_)
    kept_back, told = _telling(telling, of_counts, width, extent)
    unsure = [one for one in telling if not (one.leaving.certain and of_counts.certain)]
    if doubted is not None:
        for one in unsure:
            doubted.update(map(one.as_counted, told.get(one.quantity, ())))
    before = of_counts.unshared(of_counts.doubted)
    again = [
        one.in_doubt(only, before) for one in unsure if (only := told.get(one.quantity, set())) or before
    ]
    if again and not kept_back.any():
        # What may have been told before is looked at again by what was for sure.
        kept_back |= _telling(again, of_counts.in_doubt, width, extent)[0]
    return kept_back


def _telling(
    telling: Sequence[OfMeasure], of_counts: Leaving, width: Width, extent: Extent
) -> tuple[BoolArray, dict[str, set[Box]]]:
    """Cells to keep back, and of each measure the counts that may have been told before."""
    first = of_counts.tables[0].table
    kept_back = np.zeros(len(first), dtype=np.bool_)
    histories = [MeasureHistory.of(one.quantity, one.leaving, of_counts) for one in telling]
    within = domain_of_counts(histories, of_counts.variables, MOST_ATOMS)
    beside = [_Beside(one, history, *within) for one, history in zip(telling, histories, strict=True)]
    looks = [one.look(width, extent) for one in beside]
    asked = [look for look in looks if look is not None and look.news]
    for together in _alike(asked):
        _see_wide(together)
        # What was told for sure is mostly found here; what was perhaps told is known, and not asked for.
        if any(look.beside.measure.only is not None for look in together):
            _see_told(together, extent)
        if len(together) > 1 and any(look.found.combined for look in together):
            # What holds a count back with the means of one measure need not with those of another.
            for look in together:
                _see_wide([look])
    for look in asked:
        if blamed := look.blamed():
            which = [look.beside.history.cells(rows) for rows in blamed]
            kept_back[covering(which, first.records, extent.kept_back, width.floor)] = True
            break
    return kept_back, {
        one.measure.quantity: set(one.marked) if look is None else look.doubted()
        for one, look in zip(beside, looks, strict=True)
    }


@dataclass(frozen=True, eq=False)
class _Beside:
    """A measure beside counts, within some variables."""

    measure: OfMeasure
    history: MeasureHistory
    names: Variables
    finer: bool
    """Whether counts may cut finer than the measure's boxes do."""

    @cached_property
    def domain(self) -> Variables:
        """The variables that are looked at, and whether records have the measure."""
        return self.names | {self.history.having}

    @cached_property
    def marked(self) -> Mapping[Box, Box]:
        """Withheld counts within them, by boxes of parts."""
        return self.history.marked(self.domain, self.finer)

    def look(self, width: Width, extent: Extent) -> "_Look | None":
        """What is to be asked; None where the measure tells nothing, or nothing new."""
        one, history, domain, marked = self.measure, self.history, self.domain, self.marked
        of_counts = history.of_counts
        fresh = history.first_within(domain, one.leaving.told_first | of_counts.told_first, self.finer)
        hidden = marked.keys() & set(map(history.counted, of_counts.withheld_first))
        if not (fresh or hidden or one.leaving.combined_first):
            return None
        boxes, codes = history.within(domain, self.finer), history.codes(domain)
        if not (marked and (boxes.published or boxes.combined)):
            return None
        found = counts_beside(replace(boxes, uncounted=marked.keys()), one.bounds, codes)
        together = {told.told_by for told in found.combined} & one.leaving.told_first
        notes = history.notes
        key = ("counts", width, one.only is None, found.rest_on, tuple(sorted(codes.items())), self.finer)
        wide = one.wide.setdefault(key, SeenWide())
        wide.told.update(notes.get(key, ()))
        return _Look(
            self,
            found,
            {box: records for box, records in boxes.records.items() if box not in fresh},
            [one for one in boxes.counted if all(of_all_parts(box) == box for box, _ in one.parts)],
            codes,
            one.asked(marked),
            together | (found.published.keys() & set(chain.from_iterable(map(in_all_parts, fresh)))),
            hidden,
            Required(width.least, width.floor, found.record),
            extent.deadline,
            extent.truth.measured(one.quantity, frozenset(codes)),
            key,
            notes,
            wide,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    beside: _Beside
    found: Amounts
    counts: Mapping[Box, int] = field(repr=False)
    """Counts that were told before, by boxes without parts."""
    counted: Sequence[CombinedSum] = field(repr=False)
    """What was told of several of them together."""
    codes: Mapping[str, int]
    """Full masks of the variables that are looked at."""
    asked: set[Box]
    """The secrets that are asked for."""
    fresh: set[Box]
    hidden: set[Box]
    required: Required
    deadline: Deadline
    measured: Measured | None = field(repr=False)
    key: tuple[object, ...]
    notes: dict[Hashable, frozenset[Box]] = field(repr=False)
    wide: SeenWide
    """Counts that are seen to be wide, or were told before: neither are looked at any more."""

    @property
    def told(self) -> set[Box]:
        """Counts that were too close before; they grow."""
        return self.wide.told

    @property
    def news(self) -> bool:
        """Whether anything new is known: that nothing withheld is empty, or what fresh boxes tell."""
        return bool(self.fresh or (self.required.floor and self.hidden))

    def open(self) -> set[Box]:
        """Counts of which it is asked how close they are."""
        return self.asked - self.told - self.wide.settled

    def doubted(self) -> set[Box]:
        """Counts that are not seen to be wide, whatever was noted of them before."""
        return self.asked - self.wide.wide

    def blamed(self) -> list[set[Box]]:
        """For counts that fresh boxes help to bound too closely these boxes."""
        open_boxes = self.open()
        if not open_boxes:
            return []
        secrets, held = self._all(), None if self.measured is None else self.found.held(self.measured)
        system = self._system(secrets, held)
        asked = np.array([box in open_boxes for box in secrets], dtype=np.bool_)
        question = Question(
            asked,
            np.array([box in self.fresh for box in system.published], dtype=np.bool_),
            np.array([box in self.hidden for box in secrets], dtype=np.bool_),
        )
        found = close_counts(system, self.required, self.deadline, question)
        # What was told before is so for ever: who asks again need not find it out again.
        self.note(secrets[place] for place in np.flatnonzero(found.told_before).tolist())
        self._settled(found.unproved)
        close = found.narrow & ~found.told_before
        self.wide.note(secrets, asked & ~found.narrow, found.looked_at)
        if not close.any():
            return []
        secrets, close = self._only(secrets, close)
        before = self._before(secrets, held, close)
        self.note(secrets[place] for place in np.flatnonzero(before).tolist())
        # What was narrow before is so now: where all were, nothing fresh is to blame.
        if not (close & ~before).any():
            return []
        system = self._system(secrets, held)
        now = count_bounds(system, self.required, self.deadline, close & ~before)
        self._settled(now.unproved)
        rows = [
            {box for row in told_by(now, place) if (box := system.published[row]) in self.fresh}
            for place in np.flatnonzero(now.narrow).tolist()
        ]
        if not all(rows):
            # It is the withholding that tells, as nothing withheld is empty.
            raise JointlyUnproved
        return rows

    def note(self, boxes: Iterable[Box]) -> None:
        """Note that counts are too close whatever happens to the new tables."""
        self.told.update(boxes)
        if self.told:
            self.notes[self.key] = frozenset(self.told)

    def _all(self) -> list[Box]:
        """Of what is told already nothing is known but its sums, or that it is not empty."""
        return [box for box in self.found.secrets if self.required.floor or box not in self.told]

    def _only(self, secrets: list[Box], chosen: BoolArray) -> tuple[list[Box], BoolArray]:
        """The chosen ones, and the others where it is known that they are not empty."""
        if self.required.floor:
            return secrets, chosen
        return [secrets[place] for place in np.flatnonzero(chosen).tolist()], chosen[chosen]

    def _before(self, secrets: list[Box], held: Held | None, close: BoolArray) -> BoolArray:
        """Which of the close counts were narrow without anything fresh, shape (secrets,)."""
        old = {box: amount for box, amount in self.found.published.items() if box not in self.fresh}
        combined = [one for one in self.found.combined if one.told_by not in self.fresh]
        full = self.found.full
        system = joint_system(self._domain, old, secrets, full, room=ROOM, held=held, combined=combined)
        fresh = np.array([box in self.hidden for box in secrets], dtype=np.bool_)
        before = count_bounds(system, self.required, self.deadline, close, fresh)
        self._settled(before.unproved)
        return before.narrow

    def _system(self, secrets: Sequence[Box], held: Held | None) -> JointSystem:
        """All that is known; fresh empty boxes are sums as well, so that what they tell can be seen."""
        found = self.found
        return joint_system(
            self._domain,
            found.published,
            secrets,
            found.full,
            self.fresh,
            ROOM,
            held=held,
            combined=found.combined,
        )

    @property
    def _domain(self) -> Variables:
        return frozenset(self.codes) | {PART}

    def _settled(self, unproved: BoolArray) -> None:
        if unproved.any() or self.deadline.missed:
            raise JointlyUnproved


def _alike(looks: Sequence[_Look]) -> list[list[_Look]]:
    """Looks at the same variables: having another measure may be one of them."""
    alike: dict[frozenset[str], list[_Look]] = {}
    for look in looks:
        alike.setdefault(frozenset(look.codes), []).append(look)
    return [*alike.values()]


def _see_wide(looks: Sequence[_Look]) -> None:
    """Note which counts are wide whatever the sums of any measure tell, where what is true is known.

    Measures that look at the same variables are asked at once.
    """
    known = [(look, measured) for look in looks if (measured := look.measured) is not None and look.open()]
    if not known:
        return
    first, open_boxes = known[0][0], set[Box]().union(*(look.open() for look, _ in known))
    boxes, amounts = sorted(set(map(of_all_parts, open_boxes))), [(one.found, truth) for one, truth in known]
    wide, agreeing = wide_in_all(amounts, boxes, first.codes, first.required, first.deadline)
    apart = {boxes[place] for place in np.flatnonzero(wide).tolist()}
    seen = {box for box in open_boxes if of_all_parts(box) in apart}
    for (look, _), agrees in zip(known, agreeing, strict=True):
        if agrees:
            look.wide.add(look.open() & seen)


def _see_told(looks: Sequence[_Look], extent: Extent) -> None:
    """Note which counts known counts alone told before, so that no measure's sums have to be asked."""
    first, *others = looks
    known = set(first.counts).intersection(*(look.counts for look in others))
    old = {box: records for box, records in first.counts.items() if box in known}
    open_boxes = set[Box]().union(*(look.open() for look in looks))
    boxes = sorted(box for box in open_boxes if of_all_parts(box) == box)
    if not boxes:
        return
    marked = [box for box in first.found.secrets if box not in first.hidden and of_all_parts(box) == box]
    held = extent.truth.held(False, frozenset(first.codes))
    codes, required, deadline = first.codes, first.required, first.deadline
    in_all = set.intersection(*({one.told_by for one in look.counted} for look in looks))
    together = [one for one in first.counted if one.told_by in in_all]
    told = told_by_counts(old, boxes, marked, codes, required, deadline, held, together)
    seen = {boxes[place] for place in np.flatnonzero(told).tolist()}
    for look in looks:
        look.note(seen.intersection(look.open()))
