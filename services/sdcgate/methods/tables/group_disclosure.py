"""Group disclosure: a table that tells what everybody of a group has in common.

Who knows that a person belongs to a line of the table learns the sensitive category if (nearly) the whole
line is in it, however large the line. Source: attribute disclosure in Skinner, Statistical
Disclosure Control for Survey Data, 2.1; with a share of 0.9 it is the output checkers' rule that no class
holds more than 90% of its group.
"""

import numpy as np

from sdcgate.methods.cells import MISSING, TOTAL, Axis, BoolArray, IntArray, number_of_cells, shape_of
from sdcgate.methods.tables.sensitivity import CLOSE


def group_disclosing(axes: tuple[Axis, ...], units: IntArray, share: float) -> BoolArray:
    """Cells of lines in which one category of a sensitive variable holds at least the share of the units.

    `units` are the cells' units, row-major over the axes, shape (cells,). A line runs along a sensitive axis
    with all other codes fixed, totals included. Its units are those of its `_T`, or the sum of its codes
    that are part of no other where the axis has none. Every code but `_T` and `_U` is a category, a group of
    codes too; missing is none, nor is a code that it does no harm to have (`Axis.harmless`). In a disclosing
    line all cells but the total are unsafe: the zeros say the same as the full cell. Empty lines are safe.
    Raises ValueError where `units` does not fit the axes.
    """
    if units.shape != (number_of_cells(axes),):
        raise ValueError(f"units {units.shape} must be one value for each of {number_of_cells(axes)} cells")
    unsafe = np.zeros(shape_of(axes), dtype=np.bool_)
    grid = units.reshape(shape_of(axes))
    for position, axis in enumerate(axes):
        if axis.sensitive:
            lines = np.moveaxis(grid, position, -1)
            np.moveaxis(unsafe, position, -1)[...] |= _disclosing_lines(axis, lines, share)
    return unsafe.reshape(-1)


def _disclosing_lines(axis: Axis, lines: IntArray, share: float) -> BoolArray:
    """Unsafe cells of lines along one axis, which is the last of `lines`."""
    is_total = np.array([code == TOTAL for code in axis.codes], dtype=np.bool_)
    harmless = {TOTAL, MISSING, *axis.harmless}
    is_category = np.array([code not in harmless for code in axis.codes], dtype=np.bool_)
    if is_total.any():
        totals = lines[..., is_total].max(axis=-1)
    else:
        totals = lines[..., np.array([above == -1 for above in axis.parents], dtype=np.bool_)].sum(axis=-1)
    most = lines[..., is_category].max(axis=-1, initial=0)
    disclosing = (totals > 0) & ~(most < share * totals * (1 - CLOSE))
    unsafe: BoolArray = disclosing[..., np.newaxis] & ~is_total
    return unsafe
