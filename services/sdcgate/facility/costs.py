"""What it costs to withhold a cell beside the unsafe ones: its records, and the shares that fall with it."""

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray


def costs(records: IntArray, shares: IntArray) -> FloatArray:
    """Costs of the cells of a table, shape (cells,): records plus one, of the cell and of its shares.

    `shares` names for each percentage the cell that each cell is a share of, shape (percentages, cells): a
    withheld denominator takes its shares along.
    """
    own = (records + 1).astype(np.float64)
    total = own.copy()
    for denominator in shares:
        others = denominator != np.arange(len(own))
        total += np.bincount(denominator[others], weights=own[others], minlength=len(own))
    return total
