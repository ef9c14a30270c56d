"""What percentages, shares and means told of two counts, or of a sum and a count, together.

They are noted with the table beneath, by the places of its cells, and between the ends that rounding leaves.
Where both are told for sure by themselves there is nothing to note.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.told_shares import Share
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


def _none() -> IntArray:
    return np.zeros(0, dtype=np.int64)


def _nothing() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """Figures that are a cell's count as a share of another's; or a measure's sum by a cell's own count."""

    parts: IntArray = field(default_factory=_none, repr=False)
    """Cells of which the share is told, all those of one ratio together, shape (parts,)."""
    of: IntArray = field(default_factory=_none, repr=False)
    """Which ratio each is of, shape (parts,)."""
    wholes: IntArray = field(default_factory=_none, repr=False)
    """The cell that each ratio is a share of, shape (ratios,)."""
    low: FloatArray = field(default_factory=_nothing, repr=False)
    """Rounding leaves values from here on, shape (ratios,)."""
    high: FloatArray = field(default_factory=_nothing, repr=False)

    def shares(self, boxes: Sequence[Box], records: IntArray) -> Iterator[Share]:
        """They as shares of boxes, where these are those of the cells and have so many records."""
        parts: list[list[Box]] = [[] for _ in self.wholes]
        for cell, number in zip(self.parts.tolist(), self.of.tolist(), strict=True):
            # A code that nobody has adds nobody.
            if boxes[cell] != NOBODY:
                parts[number].append(boxes[cell])
        columns = (self.wholes.tolist(), self.low.tolist(), self.high.tolist(), records[self.wholes].tolist())
        for those, whole, low, high, count in zip(parts, *columns, strict=True):
            if those and boxes[whole] != NOBODY:
                yield Share(reduce(_union, those), boxes[whole], low, high, count)

    def among(self, cells: BoolArray) -> "Ratios":
        """Those of which both the parts and the whole are among some cells, shape (cells,)."""
        kept = cells[self.wholes]
        kept[self.of[~cells[self.parts]]] = False
        chosen, numbers = kept[self.of], np.cumsum(kept) - 1
        return Ratios(
            self.parts[chosen], numbers[self.of[chosen]], self.wholes[kept], self.low[kept], self.high[kept]
        )

    def message(self) -> release_pb2.ToldRatios | None:
        """As the ledger keeps them; None where there are none."""
        if not len(self.wholes):
            return None
        return release_pb2.ToldRatios(
            parts=self.parts.tolist(),
            of=self.of.tolist(),
            wholes=self.wholes.tolist(),
            low=self.low.tolist(),
            high=self.high.tolist(),
        )

    @classmethod
    def kept(cls, kept: release_pb2.ToldRatios) -> "Ratios":
        """What the ledger kept."""
        parts, of, wholes = (np.array(which, dtype=np.int64) for which in (kept.parts, kept.of, kept.wholes))
        low, high = (np.array(ends, dtype=np.float64) for ends in (kept.low, kept.high))
        return cls(parts, of, wholes, low, high)


NO_RATIOS = Ratios()


def one_each(
    parts: IntArray, wholes: IntArray, low: FloatArray, high: FloatArray, chosen: BoolArray
) -> Ratios:
    """Ratios of one part each: the chosen ones of some, all of shape (ratios,)."""
    numbers = np.arange(np.count_nonzero(chosen))
    return Ratios(parts[chosen], numbers, wholes[chosen], low[chosen], high[chosen])


def together(ratios: Sequence[Ratios]) -> Ratios:
    """All of several."""
    if len(ratios) == 1:
        return ratios[0]
    before = np.cumsum([0, *(len(one.wholes) for one in ratios)])
    return Ratios(
        np.concatenate([_none(), *(one.parts for one in ratios)]),
        np.concatenate([_none(), *(one.of + first for one, first in zip(ratios, before[:-1], strict=True))]),
        np.concatenate([_none(), *(one.wholes for one in ratios)]),
        np.concatenate([_nothing(), *(one.low for one in ratios)]),
        np.concatenate([_nothing(), *(one.high for one in ratios)]),
    )


def _union(one: Box, other: Box) -> Box:
    """The box of two that differ by one variable."""
    masks = dict(other)
    return tuple((name, mask | masks[name]) for name, mask in one if name in masks)
