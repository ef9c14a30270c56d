"""Cells in which nobody can be, as they lie within a box that was published to be empty.

Adding and subtracting does not find them: it is as counts are not negative that nothing has no parts.
"""

from collections.abc import Iterable

import numpy as np

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.boxes import Box, BoxTable


def within_empty(table: BoxTable, empty: Iterable[Box]) -> BoolArray:
    """Cells of a table that lie within one of the empty boxes, shape (cells,)."""
    found = np.zeros(table.shape, dtype=np.bool_)
    names = [name for name, _ in table.axes]
    fixed = dict(table.fixed)
    for box in empty:
        inside = np.ones(table.shape, dtype=np.bool_)
        for name, mask in box:
            if name in names:
                axis = names.index(name)
                codes = np.array([not part & ~mask for part in table.axes[axis][1]], dtype=np.bool_)
                inside &= codes.reshape([-1 if place == axis else 1 for place in range(len(names))])
            else:
                inside &= not fixed.get(name, table.full.get(name, -1)) & ~mask
        found |= inside
    return found.reshape(-1)
