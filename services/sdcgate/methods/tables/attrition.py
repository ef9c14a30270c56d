"""Attrition: unit counts of nested cells that tell, subtracted, how few are in the larger one only.

Of a clinic with 60 patients in two years and 57 in the second, three left after the first. Where a variable
varies within units, such as the year, that number counts no records of a part, and no rule sees it there.
"""

from collections.abc import Set

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray, State
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.nesting import Nested, nested_within


def few_apart(outer_units: IntArray, inner_units: IntArray, minimum: int) -> BoolArray:
    """Nested pairs of which some units, but fewer than the minimum, are in the outer cell only; (pairs,)."""
    apart = outer_units - inner_units
    return (apart > 0) & (apart < minimum)


def attrition_within(
    table: BoxTable, units: IntArray, minimum: int, varying: Set[str], held: BoolArray
) -> BoolArray:
    """Cells of a table that a cell around them tells too much beside, shape (cells,).

    Pairs of which a cell is `held` already tell nothing. Of the others the inner cell is taken, the largest
    first: where it is withheld its parts may stay.

    Args:
        table: the cells as boxes; all count as published.
        units: of the cells, shape (cells,).
        minimum: units that a group must have to be told of.
        varying: variables that vary within a unit. Over all others units add up.
        held: cells that do not leave, shape (cells,).
    """
    pairs = nested_within(table, tuple(State))
    inner, outer = pairs.new_cells, pairs.old_cells
    apart = few_apart(units[outer], units[inner], minimum) & _differ_in(table, pairs, varying)
    taken = held.copy()
    for place in sorted(np.flatnonzero(apart).tolist(), key=lambda place: (-units[inner[place]], place)):
        if not taken[inner[place]] and not taken[outer[place]]:
            taken[inner[place]] = True
    return taken & ~held


def _differ_in(table: BoxTable, pairs: Nested, varying: Set[str]) -> BoolArray:
    """Pairs of cells of one table with different codes of a variable that varies, shape (pairs,)."""
    shape = tuple(len(masks) for _, masks in table.axes)
    found = np.zeros(len(pairs), dtype=np.bool_)
    if shape:
        codes = zip(
            np.unravel_index(pairs.new_cells, shape), np.unravel_index(pairs.old_cells, shape), strict=True
        )
        for (name, _), (mine, theirs) in zip(table.axes, codes, strict=True):
            if name in varying:
                found |= mine != theirs
    return found
