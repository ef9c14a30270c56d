"""What fresh boxes tell, together with all that left, of withheld ones: of counts, or of a measure's sums."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Held
from sdcgate.methods.tables.combined_sums import Decided
from sdcgate.methods.tables.joint_boxes import Variables
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals, told_by
from sdcgate.methods.tables.joint_reduction import Question, everything_of
from sdcgate.methods.tables.joint_scopes import Scope
from sdcgate.methods.tables.joint_search import Explained, JointIntervals
from sdcgate.methods.tables.joint_sums import Measured
from sdcgate.methods.tables.joint_system import JointSystem, joint_system
from sdcgate.methods.tables.solver import Deadline


class Truth(Protocol):
    """What people have in truth, by joint codes of variables; None where it is not known."""

    def held(self, units: bool, variables: Variables, needed: bool = False) -> Held | None:
        """In units or in records; `needed` where sums of what variables decide tell of these."""

    def measured(self, quantity: str, variables: Variables) -> Measured | None:
        """Of a measure."""

    def layered(self, variables: Variables, layers: Sequence[Box]) -> Sequence[Held] | None:
        """In records, and then, for each layer, in units that have a record in it."""

    def decided(self, quantity: str) -> Sequence[Decided]:
        """By which variables a quantity is decided, as everybody knows."""


class Unknown:
    """Nothing is known of what people have in truth."""

    def held(self, units: bool, variables: Variables, needed: bool = False) -> Held | None:  # noqa: ARG002
        """Not known."""
        return None

    def measured(self, quantity: str, variables: Variables) -> Measured | None:  # noqa: ARG002
        """Not known."""
        return None

    def layered(self, variables: Variables, layers: Sequence[Box]) -> Sequence[Held] | None:  # noqa: ARG002
        """Not known."""
        return None

    def decided(self, quantity: str) -> Sequence[Decided]:  # noqa: ARG002
        """Not known."""
        return ()


UNKNOWN = Unknown()


class JointlyUnproved(Exception):
    """What all releases tell together could not be found out in time."""


@dataclass(frozen=True, slots=True, eq=False)
class SeenWide:
    """Withheld boxes of one scope that nothing about to leave tells too closely; they grow."""

    settled: set[Box] = field(default_factory=set, repr=False)
    """They are not looked at any more."""
    wide: set[Box] = field(default_factory=set, repr=False)
    """Those that nothing at all does: the others could have been told before."""
    told: set[Box] = field(default_factory=set, repr=False)
    """Others that were told too closely before, whatever is about to leave: not looked at any more either."""
    narrow: set[Box] = field(default_factory=set, repr=False)
    """Others that were not, but that what an earlier turn was to leave told too closely."""

    def add(self, boxes: Set[Box]) -> None:
        """Note boxes that nothing at all tells too closely."""
        self.settled.update(boxes)
        self.wide.update(boxes)

    def note(self, boxes: Sequence[Box], apart: BoolArray, looked_at: BoolArray) -> None:
        """Note those of some that are far enough apart; what was looked at is so whatever is known."""
        self.settled.update(boxes[place] for place in np.flatnonzero(apart).tolist())
        self.wide.update(boxes[place] for place in np.flatnonzero(apart & looked_at).tolist())


Wide = dict[Hashable, SeenWide]
"""Withheld boxes that were seen to be uncertain enough, scope by scope.

It serves one table on its way: there each turn withholds more than the one before, so that what was uncertain
enough stays so.
"""


@dataclass(frozen=True, slots=True)
class Width:
    """How uncertain a withheld count must stay."""

    least: int
    """Least distance of two values that it must be able to have."""
    floor: int
    """What everybody knows it to have at least."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much may be looked at, and how long."""

    atoms: int
    """Joint codes of the variables that are looked at together, beyond the table's own."""
    deadline: Deadline
    truth: Truth = UNKNOWN
    """To begin with."""
    kept_back: int = 1
    """So many cells are kept back at least for each box that is told too closely, if there are."""


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """Boxes that a table about to leave adds, and how uncertain what is withheld must stay."""

    fresh: Set[Box]
    """Published boxes that are new, or of which a most is told now."""
    hidden: Set[Box]
    """Withheld ones that are."""
    widths: Callable[[Sequence[Box]], float | FloatArray] = field(repr=False)
    """Least distance of two values that each of some withheld boxes must be able to have."""
    floor: int
    """What everybody knows these to have at least."""
    deadline: Deadline
    room: float = 0.0
    """By how much published amounts may be off; 0 for counts."""
    wide: Wide = field(default_factory=dict, repr=False)
    """What earlier turns of the same table have seen; it grows."""
    held: Callable[[Variables], Held | None] = field(default=lambda _: None, repr=False)
    """What people have in truth of the joint codes of variables, where it is known."""
    only: Set[Box] | None = None
    """The withheld boxes that are asked for; all where it is None."""
    beside: Mapping[Box, float] = field(default_factory=dict, repr=False)
    """Other withheld boxes, not asked for, of which everybody knows that they have so much at least."""
    open: set[Box] = field(default_factory=set, repr=False)
    """Withheld boxes that are not seen to be uncertain enough within some scope; it grows."""
    seen_wide: set[Box] = field(default_factory=set, repr=False)
    """Those that are seen to be uncertain enough within some scope, whatever is known; it grows."""

    def noted(
        self, scope: Scope, notes: dict[Hashable, frozenset[Box]], required: Hashable
    ) -> list[set[Box]]:
        """As `blamed`, with what is noted as told of a scope, and noting what is found.

        Each scope has its own notes: what follows in one need not in another, and which tables a process has
        judged before must not count.

        Raises:
            JointlyUnproved: it cannot be told in time.
        """
        key = (required, scope.extent)
        wide = self.wide.setdefault(key, SeenWide())
        wide.told.update(notes.get(key, ()))
        found = self.blamed(scope, wide)
        if wide.told:
            notes[key] = frozenset(wide.told)
        self.open.update(box for box in scope.secrets if box not in wide.wide)
        self.seen_wide.update(wide.wide)
        return found

    def doubted(self, hidden: Set[Box]) -> set[Box]:
        """Boxes, some newly withheld ones among them, that may have been told before.

        They are those that are not seen to be wide: which of these are noted as told must not count.
        """
        return self.open | (hidden - self.seen_wide)

    def blamed(self, scope: Scope, wide: SeenWide) -> list[set[Box]]:
        """For withheld boxes that fresh ones help to bound too closely, one of those alike: these.

        `wide` are boxes that were too close before, or that an earlier turn has seen far enough apart:
        neither are looked at any more. They grow.

        Raises:
            JointlyUnproved: it cannot be told in time.
        """
        shown = scope.published.keys() | scope.limits.keys() | {one.told_by for one in scope.combined}
        if not (self.fresh & shown or ((self.floor or self.beside) and self.hidden)):
            return []
        # Of what is told already nothing is known but its sums, or that it is not empty.
        secrets = [box for box in scope.secrets if self.floor or box not in wide.told]
        settled = wide.told | wide.settled
        if self.only is not None:
            settled.update(box for box in secrets if box not in self.only)
        asked = np.array([box not in settled for box in secrets], dtype=np.bool_)
        again = asked & np.array([box in wide.narrow for box in secrets], dtype=np.bool_)
        newly, supposed = self._newly_narrow(scope, secrets, asked & ~again, wide)
        narrow, by_factors = again | newly, self._told_after_all(scope, secrets, supposed, wide)
        if not narrow.any():
            return by_factors
        if not self.floor:
            # Others tell nothing; and prices must not rest on which of them were noted before.
            secrets, again = [secrets[place] for place in np.flatnonzero(narrow).tolist()], again[narrow]
            narrow = narrow[narrow]
        found, blamed = self._explained(scope, secrets, narrow)
        apart = narrow & ~found.narrow[: len(secrets)]
        if not all(blamed) or (apart & ~again).any():
            if again.any():
                # Fresh ones need not be why any more: that is found out from the beginning.
                wide.narrow.clear()
                return self.blamed(scope, wide)
            # It is the withholding that tells, as nothing withheld is empty: no cell can be kept back for it.
            raise JointlyUnproved
        wide.add({secrets[place] for place in np.flatnonzero(apart).tolist()})
        return [*blamed, *by_factors]

    def _newly_narrow(
        self, scope: Scope, secrets: Sequence[Box], asked: BoolArray, wide: SeenWide
    ) -> tuple[BoolArray, BoolArray]:
        """Asked boxes that fresh ones help to bound too closely, shape (secrets,); what is found is noted.

        And those that are only supposed to have been told before, by sums with factors that left: they are
        taken for a little more than they tell (`by_factors`), and fresh ones may tell the rest.
        """
        narrow, before, looked_at = self._narrow(scope, secrets, asked)
        if narrow.any():
            before |= self._before(scope, secrets, narrow & ~before)
        earlier = any(one.of and one.told_by not in self.fresh for one in scope.combined)
        supposed = asked & (before | ~looked_at) & earlier
        wide.note(secrets, asked & ~narrow & ~supposed, looked_at)
        wide.told.update(secrets[place] for place in np.flatnonzero(before & ~supposed).tolist())
        narrow &= ~before
        wide.narrow.update(secrets[place] for place in np.flatnonzero(narrow).tolist())
        return narrow, supposed

    def _told_after_all(
        self, scope: Scope, secrets: Sequence[Box], supposed: BoolArray, wide: SeenWide
    ) -> list[set[Box]]:
        """What is blamed for boxes that are supposed to be told, where fresh ones are why they are.

        As linear programs have the sums with factors; what these leave wide counts as told.
        """
        if not supposed.any():
            return []
        narrow, before, _ = self._narrow(scope, secrets, supposed, parted=False)
        wide.settled.update(secrets[place] for place in np.flatnonzero(supposed & ~narrow).tolist())
        before |= self._before(scope, secrets, narrow & ~before, parted=False)
        wide.told.update(secrets[place] for place in np.flatnonzero(before).tolist())
        narrow &= ~before
        if not narrow.any():
            return []
        _, blamed = self._explained(scope, secrets, narrow, parted=False)
        if not all(blamed):
            raise JointlyUnproved
        return blamed

    def _explained(
        self, scope: Scope, secrets: Sequence[Box], narrow: BoolArray, parted: bool = True
    ) -> tuple[JointIntervals, list[set[Box]]]:
        """How closely narrow boxes are told, and for one of those alike each the fresh ones that bound it."""
        system, asked = self._system(scope, secrets), self._with_others(narrow)
        widths, floors, wanted = self._widths(secrets), self._floors(secrets), Explained.ONE_OF_ALIKE
        found = self._settled(joint_intervals(system, widths, floors, self.deadline, asked, wanted, parted))
        return found, [
            {box for row in told_by(found, secret) if (box := system.published[row]) in self.fresh}
            for secret in sorted(found.used)
        ]

    def _system(self, scope: Scope, secrets: Sequence[Box]) -> JointSystem:
        """All that is known; fresh empty boxes are sums as well, so that what they tell can be seen."""
        return joint_system(
            scope.domain,
            scope.published,
            [*secrets, *self.beside],
            scope.full,
            self.fresh,
            self.room,
            scope.limits,
            self.held(scope.domain),
            scope.combined,
        )

    def _narrow(
        self, scope: Scope, secrets: Sequence[Box], asked: BoolArray, parted: bool = True
    ) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Asked boxes that are told too closely, where fresh ones can be why, shape (secrets,).

        And those of them that are seen to have been so without anything fresh, and what was looked at.
        """
        if not asked.any():
            return asked.copy(), asked.copy(), asked
        system = self._system(scope, secrets)
        question = Question(
            self._with_others(asked),
            np.array([box in self.fresh for box in system.published], dtype=np.bool_),
            np.array([box in self.hidden for box in (*secrets, *self.beside)], dtype=np.bool_),
        )
        widths, floors = self._widths(secrets), self._floors(secrets)
        found = self._settled(joint_bounds(system, widths, floors, self.deadline, question, parted))
        own = slice(len(secrets))
        return found.narrow[own], found.told_before[own], found.looked_at[own]

    def _before(
        self, scope: Scope, secrets: Sequence[Box], narrow: BoolArray, parted: bool = True
    ) -> BoolArray:
        """Which of the narrow boxes were so without anything fresh, shape (secrets,)."""
        if not narrow.any():
            return narrow
        before = {box: amount for box, amount in scope.published.items() if box not in self.fresh}
        limits = {box: most for box, most in scope.limits.items() if box not in self.fresh}
        combined = [one for one in scope.combined if one.told_by not in self.fresh]
        others, held = [*secrets, *self.beside], self.held(scope.domain)
        floors = np.where([box in self.hidden for box in others], 0.0, self._floors(secrets))
        system = joint_system(
            scope.domain,
            before,
            others,
            scope.full,
            room=self.room,
            limits=limits,
            held=held,
            combined=combined,
        )
        question = replace(everything_of(system), asked=self._with_others(narrow))
        widths = self._widths(secrets)
        found = self._settled(joint_bounds(system, widths, floors, self.deadline, question, parted))
        # What is only supposed to have been told is not given up.
        return found.refuted[: len(secrets)]

    def _with_others(self, asked: BoolArray) -> BoolArray:
        """Flags of secrets and of those beside them, which are not asked for."""
        return np.append(asked, np.zeros(len(self.beside), dtype=np.bool_))

    def _widths(self, secrets: Sequence[Box]) -> FloatArray:
        """The widths of secrets and of those beside them."""
        own = np.broadcast_to(np.asarray(self.widths(secrets), dtype=np.float64), (len(secrets),))
        return np.append(own, np.zeros(len(self.beside)))

    def _floors(self, secrets: Sequence[Box]) -> FloatArray:
        """What secrets and those beside them are known to have at least."""
        others = np.array([*self.beside.values()], dtype=np.float64)
        return np.append(np.full(len(secrets), float(self.floor)), others)

    def _settled(self, found: JointIntervals) -> JointIntervals:
        """What was found, if it is everything and no time was short: another way leads to other prices."""
        if found.unproved.any() or self.deadline.missed:
            raise JointlyUnproved
        return found


def covering(blamed: Sequence[Set[int]], records: IntArray, each: int = 1, floor: int = 0) -> list[int]:
    """Cells of which so many at least are among those blamed for `each` secret: few, and small ones.

    With a `floor`, which everything withheld has at least, no empty ones where others are blamed, too.
    """
    taken = [{cell for cell in cells if records[cell]} or cells if floor else cells for cells in blamed]
    wanted, chosen = [(cells, each) for cells in taken], list[int]()
    while wanted := [(cells, left) for cells, left in wanted if cells and left]:
        counts = Counter(cell for cells, _ in wanted for cell in cells)
        best = max(counts, key=lambda cell: (counts[cell] / (1.0 + float(records[cell])), -cell))
        chosen.append(best)
        wanted = [(cells - {best}, left - (best in cells)) for cells, left in wanted]
    return chosen
