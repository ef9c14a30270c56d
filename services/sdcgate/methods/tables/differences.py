"""The differences that a table itself offers: a known sum minus its known parts is what is withheld of it."""

import numpy as np

from sdcgate.methods.cells import Axis, BoolArray, IntArray, additive_relations, number_of_cells


def line_residuals(axes: tuple[Axis, ...], unknown: BoolArray) -> list[tuple[int, IntArray]]:
    """For each sum of the table whose total is known: the total's cell and its unknown parts.

    `unknown` (cells,) marks the cells that do not leave, withheld or absent. Sums without unknown parts
    give nothing; of sums with the same unknown parts only the first is kept. The records, weights and sums
    of each union can be computed from what leaves, so the rules must hold for the union as for a cell; its
    units must be counted in the data. The parts of one sum differ in one variable: their union is a box.

    Raises ValueError where `unknown` does not fit the axes.
    """
    cells = number_of_cells(axes)
    if unknown.shape != (cells,):
        raise ValueError(f"unknown: {cells} cells, but an array of shape {unknown.shape}")
    relations = additive_relations(axes)
    unknown_parts = unknown[relations.children].astype(np.int64)
    before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(unknown_parts)])
    open_parts = before[relations.offsets[1:]] - before[relations.offsets[:-1]]
    found: dict[bytes, tuple[int, IntArray]] = {}
    for relation in np.flatnonzero((open_parts > 0) & ~unknown[relations.parents]):
        parts = relations.parts(int(relation))
        parts = np.sort(parts[unknown[parts]])
        found.setdefault(parts.tobytes(), (int(relations.parents[relation]), parts))
    return list(found.values())
