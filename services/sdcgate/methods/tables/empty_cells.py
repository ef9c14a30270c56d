"""Empty cells that would tell where few units are.

Four people of a trade are in one of three towns. Their cell is withheld, as is the number of them all; if the
other towns show that nobody there has the trade, the withheld cell is where they live.
"""

import numpy as np

from sdcgate.methods.cells import Axis, BoolArray, IntArray, additive_relations


def empty_beside_few(axes: tuple[Axis, ...], units: IntArray, records: IntArray, minimum: int) -> BoolArray:
    """Empty cells that are parts of a total of fewer than the minimum of units, or of such a cell; (cells,).

    `units` and `records` have the shape (cells,). Withheld together with the total and the other parts, they
    are told by nothing apart from these.
    """
    relations = additive_relations(axes)
    chosen = np.zeros(len(units), dtype=np.bool_)
    whole = (units > 0) & (units < minimum)
    while True:
        found = chosen.copy()
        for row in np.flatnonzero(whole[relations.parents]).tolist():
            parts = relations.parts(row)
            found[parts[records[parts] == 0]] = True
        if np.array_equal(found, chosen):
            return chosen
        chosen, whole = found, whole | found
