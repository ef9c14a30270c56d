"""What it costs to withhold a cell beside the unsafe ones: its own cost, and its shares."""

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray


def costs(own: FloatArray, shares: IntArray) -> FloatArray:
    """Costs of the cells of a table, shape (cells,): their `own`, and those of their shares.

    `shares` names for each percentage the cell that each cell is a share of, shape (percentages, cells): a
    withheld denominator takes its shares along.
    """
    total = own.copy()
    for denominator in shares:
        others = denominator != np.arange(len(own))
        total += np.bincount(denominator[others], weights=own[others], minlength=len(own))
    return total
