"""What is known of cells before they leave: bounds from the boxes around and within them that have left.

A cell has no more records than a box that it lies in, and no fewer than one that lies in it. So do its units;
and it has no more records than all units around it can have there. Where a filter leaves most of a
published cell, these bounds are close: a cell withheld beside others there hides less than its size promises.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.joint_boxes import RECORDS, UNITS, Counts, JointBoxes
from sdcgate.methods.tables.panel_links import Panel


@dataclass(frozen=True, slots=True, eq=False)
class AprioriBounds:
    """The least and the most records, and units, that cells can have; shape (2, cells) each."""

    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)

    def closer_than(self, width: float, truths: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Where the least, and the most, is less than a width from the truth; shape (2, cells) each.

        Numbers that the two tell more closely than that are left out: they were told before.
        """
        open_ = self.upper - self.lower >= width
        return open_ & (truths - self.lower < width), open_ & (self.upper - truths < width)


def apriori_bounds(
    cells: Sequence[Box],
    filters: Mapping[str, int],
    boxes: JointBoxes,
    panel: Panel | None,
    full: Mapping[str, int],
) -> AprioriBounds:
    """Bounds of a table's cells by boxes with the same codes on its axes, and other filters.

    Args:
        cells: the table's cells.
        filters: what it restricts beside its axes, with the mask of each variable.
        boxes: everything that has left.
        panel: how units have several records; None where they have one each.
        full: full mask of every variable.
    """
    lower, upper = np.zeros((2, len(cells))), np.full((2, len(cells)), np.inf)
    for place, box in enumerate(cells):
        if box == NOBODY:
            continue
        axes = tuple(pair for pair in box if pair[0] not in filters)
        for counts in _around(axes, filters, boxes):
            upper[:, place] = np.minimum(upper[:, place], _most(box, counts, panel, full))
        for part, counts in _within(axes, filters, boxes):
            lower[:, place] = np.maximum(lower[:, place], _least((*axes, *part), counts, panel, full))
    return AprioriBounds(lower, upper)


def _most(box: Box, around: Counts, panel: Panel | None, full: Mapping[str, int]) -> tuple[float, float]:
    """The most records and units of a box, by what was told of one around it."""
    records = around.records if around.told & RECORDS else np.inf
    units = around.units if around.told & UNITS else np.inf
    return min(records, _each(box, panel, full) * units), min(records, units)


def _least(within: Box, told: Counts, panel: Panel | None, full: Mapping[str, int]) -> tuple[float, float]:
    """The least records and units of a box, by what was told of one within it."""
    records = told.records if told.told & RECORDS else 0
    units = told.units if told.told & UNITS else 0
    return max(records, units), max(units, -(-records // _each(within, panel, full)))


def _each(box: Box, panel: Panel | None, full: Mapping[str, int]) -> int:
    """How many records a unit has in a box at most."""
    return 1 if panel is None else panel.most(panel.parts(box)[1], full)


def _around(axes: Box, filters: Mapping[str, int], boxes: JointBoxes) -> Iterator[Counts]:
    """Published boxes with some codes on the axes, and filters at least as wide."""
    on_axes, names = frozenset(dict(axes)), frozenset(filters)
    for restricted, shown in boxes.published.items():
        if on_axes <= restricted <= on_axes | names:
            for part, counts in shown.parted(names).get(axes, ()):
                if all(not filters[name] & ~mask for name, mask in part):
                    yield counts


def _within(axes: Box, filters: Mapping[str, int], boxes: JointBoxes) -> Iterator[tuple[Box, Counts]]:
    """Published boxes with some codes on the axes, and filters as narrow, on one more variable at most."""
    on_axes, names = frozenset(dict(axes)), frozenset(filters)
    for restricted, shown in boxes.published.items():
        others = restricted - on_axes
        if on_axes <= restricted and names <= others and len(others - names) <= 1:
            for part, counts in shown.parted(others).get(axes, ()):
                if all(not mask & ~filters.get(name, mask) for name, mask in part):
                    yield part, counts
