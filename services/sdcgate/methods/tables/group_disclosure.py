"""Group disclosure: a table that tells what everybody of a group has in common.

Who knows that a person belongs to a line of the table learns the sensitive category if (nearly) the whole
line is in it, however large the line. Source: attribute disclosure in Skinner, Statistical
Disclosure Control for Survey Data, 2.1; with a share of 0.9 it is the output checkers' rule that no class
holds more than 90% of its group.
"""

import numpy as np

from sdcgate.methods.cells import MISSING, TOTAL, Axis, BoolArray, IntArray, number_of_cells, shape_of
from sdcgate.methods.tables.sensitivity import CLOSE


def group_disclosing(
    axes: tuple[Axis, ...], units: IntArray, share: float, structural_zeros: BoolArray | None = None
) -> BoolArray:
    """Cells of lines in which one category of a sensitive variable holds at least the share of the units.

    `units` are the cells' units, row-major over the axes, shape (cells,). A line runs along a sensitive axis
    with all other codes fixed, totals included. Its units are those of its `_T`, or the sum of its codes
    that are part of no other where the axis has none. Every code but `_T` and `_U` is a category, a group of
    codes too; missing is none, nor is a code that it does no harm to have (`Axis.harmless`). In a disclosing
    line all cells but the total are unsafe: the zeros say the same as the full cell. Empty lines are safe,
    and so are lines in which all finest codes but one are `structural_zeros`, shape (cells,): that nobody can
    have them everybody knows beforehand. Raises ValueError where `units` does not fit the axes.
    """
    disclosing: BoolArray = group_widths(axes, units, share, structural_zeros) > 0
    return disclosing


def group_widths(
    axes: tuple[Axis, ...], units: IntArray, share: float, structural_zeros: BoolArray | None = None
) -> IntArray:
    """How many units fewer in its fullest category would make a cell's line safe; 0 where it is safe.

    So many units an intruder must hold it possible that the withheld counts are off. Arguments, shape and
    errors as for `group_disclosing`.
    """
    if units.shape != (number_of_cells(axes),):
        raise ValueError(f"units {units.shape} must be one value for each of {number_of_cells(axes)} cells")
    shape = shape_of(axes)
    impossible = np.zeros(len(units), dtype=np.bool_) if structural_zeros is None else structural_zeros
    widths = np.zeros(shape, dtype=np.int64)
    for position, axis in enumerate(axes):
        if axis.sensitive:
            lines = np.moveaxis(units.reshape(shape), position, -1)
            known = np.moveaxis(impossible.reshape(shape), position, -1)
            view = np.moveaxis(widths, position, -1)
            view[...] = np.maximum(view, _line_widths(axis, lines, known, share))
    return widths.reshape(-1)


def _line_widths(axis: Axis, lines: IntArray, impossible: BoolArray, share: float) -> IntArray:
    """Widths of cells of lines along one axis, which is the last of `lines`."""
    is_total = np.array([code == TOTAL for code in axis.codes], dtype=np.bool_)
    harmless = {TOTAL, MISSING, *axis.harmless}
    is_category = np.array([code not in harmless for code in axis.codes], dtype=np.bool_)
    is_finest = np.array([code not in axis.parents for code in range(len(axis.codes))], dtype=np.bool_)
    if is_total.any():
        totals = lines[..., is_total].max(axis=-1)
    else:
        totals = lines[..., np.array([above == -1 for above in axis.parents], dtype=np.bool_)].sum(axis=-1)
    most = lines[..., is_category].max(axis=-1, initial=0)
    least = share * totals * (1 - CLOSE)
    # Where everybody knows that only one code is possible, its count tells nothing.
    finest = impossible[..., is_finest]
    known_before = finest.any(axis=-1) & ((~finest).sum(axis=-1) <= 1)
    disclosing = (totals > 0) & ~(most < least) & ~known_before
    missed = np.where(disclosing, np.floor(most - least).astype(np.int64) + 1, 0)
    widths: IntArray = missed[..., np.newaxis] * ~is_total
    return widths
