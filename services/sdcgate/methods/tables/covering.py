"""Boxes that are unions of a table's inner cells: where the box has left, the sum of these is known."""

from collections.abc import Iterable
from itertools import product

import numpy as np

from sdcgate.methods.cells import IntArray
from sdcgate.methods.tables.boxes import NOBODY, Box, BoxTable


def covered_by_cells(table: BoxTable, boxes: Iterable[Box]) -> tuple[IntArray, ...]:
    """For each box that is a union of inner cells of a table and no cell of it: those cells, ascending.

    The last code of every axis is its total. Boxes with other filters are no unions of cells.
    """
    axes = [(name, masks, _Coverings(masks[:-1])) for name, masks in table.axes]
    found: dict[bytes, IntArray] = {}
    for box in boxes:
        masks = dict(box)
        if box == NOBODY or any(masks.pop(name, table.full[name]) != mask for name, mask in table.fixed):
            continue
        wanted = [masks.pop(name, table.full[name]) for name, _, _ in axes]
        if masks or all(mask in own for mask, (_, own, _) in zip(wanted, axes, strict=True)):
            continue
        parts = [coverings.of(mask) for mask, (_, _, coverings) in zip(wanted, axes, strict=True)]
        if all(parts):
            codes = np.array(list(product(*parts)), dtype=np.int64)
            cells = np.sort(np.ravel_multi_index(tuple(codes.T), table.shape)).astype(np.int64)
            found.setdefault(cells.tobytes(), cells)
    return tuple(found.values())


class _Coverings:
    """The codes of an axis whose union is a mask."""

    def __init__(self, masks: tuple[int, ...]) -> None:
        self._masks = masks
        self._known: dict[int, list[int]] = {}

    def of(self, mask: int) -> list[int]:
        """Those codes; none where no codes are exactly the mask."""
        if mask not in self._known:
            inside = [code for code, part in enumerate(self._masks) if part and not part & ~mask]
            union = 0
            for code in inside:
                union |= self._masks[code]
            self._known[mask] = inside if union == mask else []
        return self._known[mask]
