"""The quantities of a cell by number: records, units, and the sum of each measure."""

import numpy as np

from sdcgate.methods.cells import Facts, FloatArray

RECORDS, UNITS, SUMS = 0, 1, 2
"""Measure m is SUMS + m."""


def quantities_of(facts: Facts) -> FloatArray:
    """True values of all quantities, shape (2 + measures, cells)."""
    columns = (facts.records, facts.units, *(measure.sums for measure in facts.measures))
    return np.array(columns, dtype=np.float64)
