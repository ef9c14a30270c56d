"""What is known of a quantity, and what tables that are about to leave add to it: each asked once."""

from collections.abc import Hashable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sdcgate.facility.decided_sums import DecidedTable
from sdcgate.facility.knowledge import KnownQuantity, ReleasedTable
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_boxes import RECORDS, SURELY, UNITS, JointBoxes, Variables
from sdcgate.methods.tables.modular import unhurried
from sdcgate.methods.tables.span import SpanBudgetExceeded


@dataclass(frozen=True, eq=False)
class Leaving:
    """Tables of one quantity in the states that they would leave in, and all that left of it before.

    Several questions are asked of the same at a time: what one has found out the others take from here.
    """

    known: KnownQuantity
    """What has left."""
    tables: Sequence[ReleasedTable] = ()
    """Tables of the same cells; none where tables about to leave have nothing of the quantity."""
    decided: Sequence[DecidedTable] = ()
    """Sums of the same cells that tell of the quantity, as variables decide what is summed."""
    _shared: dict[Variables, JointBoxes] = field(default_factory=dict, init=False, repr=False)
    _within: dict[Variables, dict[Box, int]] = field(default_factory=dict, init=False, repr=False)
    _secrets: dict[Variables, list[Box]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def boxes(self) -> JointBoxes:
        """All boxes that left or were withheld, those of the tables among them."""
        boxes = self.known.boxes
        for new in self.tables:
            boxes = boxes.grown(new.published(), new.withheld())
        return boxes.combining(one for table in self.decided for one in table.sums())

    @cached_property
    def full(self) -> Mapping[str, int]:
        """Full mask of every variable that occurs."""
        full = dict(self.known.shapes.full)
        for new in self.tables:
            full |= new.table.full
        for sums in self.decided:
            full |= sums.decided.full
        return full

    @cached_property
    def variables(self) -> Variables:
        """All variables of the tables."""
        return frozenset(name for new in self.tables for name in new.table.variables())

    @cached_property
    def deciding(self) -> Sequence[Variables]:
        """The variables that decide what is summed, each set once: a total restricts none of them."""
        return list(dict.fromkeys(sums.decided.variables for sums in self.decided))

    @cached_property
    def certain(self) -> bool:
        """Whether all that left, and is about to, tells all its figures for sure."""
        new = [*self.tables, *(sums.table for sums in self.decided)]
        return self.known.sure is None and all(table.certain for table in new)

    @cached_property
    def in_doubt(self) -> "Leaving":
        """The same with what was told for sure before, and nothing taken for known."""
        return Leaving(
            self.known.surely(),
            [new.taking_nothing() for new in self.tables],
            [sums.taking_nothing() for sums in self.decided],
        )

    def unshared(self, boxes: Set[Box]) -> Set[Box]:
        """Those of some boxes of which no share was told for sure: the others are taken for known."""
        return boxes - self.known.shared

    @property
    def notes(self) -> dict[Hashable, frozenset[Box]]:
        """What is noted of the quantity as told; nothing that is to stay where shares are looked at.

        Only some of these are, others as more come: what some told others may not.
        """
        return {} if self.boxes.shares else self.known.told

    @property
    def hides(self) -> bool:
        """Whether anything was withheld, or is now, be it taken for known."""
        return bool(self.known.surely().boxes.secret) or any(
            new.withheld() or new.told.cells for new in self.tables
        )

    @cached_property
    def tells(self) -> bool:
        """Whether the tables tell any figure for sure: those beneath statistics and models do not."""
        figures = [table.figures for table in self.tables]
        return any(one is None or bool((one >> SURELY).any()) for one in figures)

    @cached_property
    def doubted(self) -> Set[Box]:
        """Withheld boxes that were perhaps told before, and those that tables take for known."""
        return self.known.doubted.union(*(table.doubted() for table in self.tables))

    @cached_property
    def withheld_first(self) -> Set[Box]:
        """Boxes that the tables withhold, and that were not withheld before."""
        return {box for new in self.tables for box in new.withheld() if not self.known.boxes.withheld(box)}

    @cached_property
    def told_first(self) -> Set[Box]:
        """Boxes of which the tables tell the records or the sum, and nothing told them before.

        That nobody is in a box is no news where nobody is in a larger one.
        """
        return self._told_first(RECORDS) | self.combined_first

    @cached_property
    def combined_first(self) -> Set[Box]:
        """By what the tables tell of several boxes together that nothing told before."""
        return self.boxes.combined.keys() - self.known.boxes.combined.keys()

    @cached_property
    def units_first(self) -> Set[Box]:
        """The same of units."""
        return self._told_first(UNITS)

    @cached_property
    def computable(self) -> Set[Box]:
        """Boxes of the tables whose amounts can be computed from what has left: they say nothing new."""
        found: set[Box] = set()
        with suppress(SpanBudgetExceeded):
            for new in self.tables:
                inside = self.known.derivable(new, unhurried)
                found.update(new.boxes[cell] for cell in np.flatnonzero(inside).tolist())
        return found

    def within(self, variables: Set[str]) -> Mapping[Box, int]:
        """Published boxes that restrict no other variables, with their records."""
        occurring = self.boxes.variables & variables
        if occurring not in self._within:
            self._within[occurring] = self._beside_shares(occurring).within(occurring)
        return self._within[occurring]

    def shares_within(self, variables: Set[str]) -> list[CombinedSum]:
        """What shares tell of published boxes together, beside their records."""
        boxes = self._beside_shares(self.boxes.variables & variables)
        return [one for told, one in boxes.combined.items() if told not in self.boxes.combined]

    def _beside_shares(self, variables: Variables) -> JointBoxes:
        """The boxes with what shares tell within some variables."""
        if variables not in self._shared:
            self._shared[variables] = self.boxes.with_shares(variables, self.told_first)
        return self._shared[variables]

    def secrets_within(self, variables: Set[str]) -> Sequence[Box]:
        """Withheld boxes that restrict no other variables, and whose records, or sum, never left."""
        occurring = self.boxes.variables & variables
        if occurring not in self._secrets:
            self._secrets[occurring] = self.boxes.secrets_within(occurring)
        return self._secrets[occurring]

    @cached_property
    def _told_more(self) -> list[tuple[Box, int]]:
        """Published boxes of the tables and what they tell of each, but for those within an empty one."""
        return [
            (box, counts.told)
            for new in self.tables
            for (box, counts), nobody in zip(new.cells(), self.known.empty_cells(new).tolist(), strict=True)
            if counts.told and not nobody
        ]

    def _told_first(self, told: int) -> Set[Box]:
        before = self.known.boxes
        return {box for box, now in self._told_more if now & told and not before.told(box) & told}
