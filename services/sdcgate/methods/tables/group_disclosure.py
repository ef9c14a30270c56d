"""Group disclosure: a table that tells what everybody of a group has in common.

Who knows that a person belongs to a line of the table learns the sensitive category if (nearly) the whole
line is in it, however large the line; and no less if the line lies in several categories that all do harm.
Source: attribute disclosure in Skinner, Statistical Disclosure Control for Survey Data, 2.1; with a share of
0.9 it is the output checkers' rule that no class holds more than 90% of its group.
"""

import numpy as np

from sdcgate.methods.cells import (
    MISSING,
    TOTAL,
    Axis,
    BoolArray,
    FloatArray,
    IntArray,
    number_of_cells,
    shape_of,
)
from sdcgate.methods.tables.sensitivity import CLOSE


def group_disclosing(
    axes: tuple[Axis, ...], units: IntArray, share: float, structural_zeros: BoolArray | None = None
) -> BoolArray:
    """Cells of lines in which a harmful class of a sensitive variable holds at least the share of the units.

    `units` are the cells' units, row-major over the axes, shape (cells,). A line runs along a sensitive axis
    with all other codes fixed, totals included. Its units are those of its `_T`, or the sum of its codes
    that are part of no other where the axis has none, without those who are missing (`_U`): of all who have
    answered the class is told. A class is every code but `_T` and `_U`, a group of codes too, that does harm
    to have (not in `Axis.harmless`); all codes together that do harm, where others do none: that nobody is
    healthy tells that all are ill; and each of `Axis.classes`. In a disclosing line all cells but the total
    are unsafe: the zeros say the same as the full cell. Empty lines are safe, and so is a class beside which
    all finest codes are `structural_zeros`, shape (cells,): that nobody can have them everybody knows
    beforehand. Raises ValueError where `units` does not fit the axes.
    """
    disclosing: BoolArray = group_widths(axes, units, share, structural_zeros) > 0
    return disclosing


def group_widths(
    axes: tuple[Axis, ...], units: IntArray, share: float, structural_zeros: BoolArray | None = None
) -> IntArray:
    """How many units fewer in its fullest class would make a cell's line safe; 0 where it is safe.

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
    is_valid = _finest(axis)
    if is_total.any():
        totals = lines[..., is_total].max(axis=-1)
    else:
        totals = lines[..., np.array([above == -1 for above in axis.parents], dtype=np.bool_)].sum(axis=-1)
    missing = lines[..., np.array([code == MISSING for code in axis.codes], dtype=np.bool_)].sum(axis=-1)
    answered = totals - missing
    # Where units have several codes, more may have answered than were never missing.
    base = np.maximum(answered, lines[..., is_valid].max(axis=-1, initial=0))
    least = share * base * (1 - CLOSE)
    possible = (~impossible & is_valid).sum(axis=-1)
    harmless = np.array([code in {TOTAL, MISSING, *axis.harmless} for code in axis.codes], dtype=np.bool_)
    singles = lines[..., is_valid & ~harmless].max(axis=-1, initial=0)
    # Where everybody knows that only one code is possible, its count tells nothing.
    one_code = (possible <= 1) & (possible < is_valid.sum())
    missed = _missed(singles, least, (base > 0) & ~one_code)
    for within in harmful_unions(axis):
        # Who has no code outside a union has one inside: where units have several codes, always.
        outside = is_valid & ~within
        inside = np.maximum(lines[..., within].max(axis=-1), answered - lines[..., outside].sum(axis=-1))
        known_before = impossible[..., outside].all(axis=-1)
        missed = np.maximum(missed, _missed(inside, least, (base > 0) & ~known_before))
    widths: IntArray = missed[..., np.newaxis] * ~is_total
    return widths


def _missed(inside: IntArray, least: FloatArray, judged: BoolArray) -> IntArray:
    """How many units of lines are too many inside a class, shape (lines,); 0 where it is safe."""
    disclosing = judged & ~(inside < least)
    return np.where(disclosing, np.floor(inside - least).astype(np.int64) + 1, 0)


def harmful_unions(axis: Axis) -> list[BoolArray]:
    """Classes of several codes that it does harm to be known to be in, each of shape (codes,).

    A class has every finest code and every group of codes that lies inside it.
    """
    is_valid = _finest(axis)
    harmless = {TOTAL, MISSING, *axis.harmless}
    groups = {*axis.parents} - {-1}
    unions = [{place} for place in sorted(groups) if axis.codes[place] not in harmless]
    harmful = {place for place in np.flatnonzero(is_valid).tolist() if axis.codes[place] not in harmless}
    if harmful and len(harmful) < is_valid.sum():
        unions.append(harmful)
    unions += [set(codes) for codes in axis.classes if codes]
    closed = (_closed(axis, codes) for codes in unions)
    # That somebody has any code at all tells nothing.
    return [within for within in closed if (is_valid & ~within).any()]


def _finest(axis: Axis) -> BoolArray:
    """Codes that have no parts and are neither the total nor missing, shape (codes,)."""
    groups = {*axis.parents}
    return np.array(
        [place not in groups and code not in (TOTAL, MISSING) for place, code in enumerate(axis.codes)],
        dtype=np.bool_,
    )


def _closed(axis: Axis, codes: set[int]) -> BoolArray:
    """Some codes with all their parts, and the groups all of whose parts are among them; shape (codes,)."""
    within = np.zeros(len(axis.codes), dtype=np.bool_)
    within[list(codes)] = True
    parts = axis.parts()
    for _ in parts:
        for whole, of in parts:
            within[of] |= within[whole]
            within[whole] |= axis.codes[whole] != TOTAL and bool(within[of].all())
    return within
