"""Boxes that nobody is in: those of which it was told, and those that were withheld."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.empty_boxes import BoxIndex


@dataclass(frozen=True, slots=True, eq=False)
class Nobody:
    """What has left of boxes that nobody is in; never changed, `grown` gives another."""

    told: BoxIndex = field(default_factory=BoxIndex, repr=False)
    """Those that were published to be empty, or are taken for known to be."""
    sure: BoxIndex = field(default_factory=BoxIndex, repr=False)
    """Those that were."""
    withheld: BoxIndex = field(default_factory=BoxIndex, repr=False)
    """Those that an answer withheld."""

    def grown(self, told: Iterable[Box], sure: Iterable[Box], withheld: Iterable[Box]) -> "Nobody":
        """With more boxes."""
        return Nobody(self.told.grown(told), self.sure.grown(sure), self.withheld.grown(withheld))

    def surely(self) -> "Nobody":
        """The same with what was told for sure."""
        return replace(self, told=self.sure)

    def follows(self, box: Box, full: Mapping[str, int]) -> bool:
        """Whether it follows that nobody is in a box: `full` has the full mask of every variable."""
        return box == NOBODY or self.told.covers(box, full)
