"""The correlation of an adjusted table with the true one, and planes that hold all tables of a wanted one.

Demanding it is one of Cox, Kelly and Patil's conditions of quality (2004, Balancing quality and
confidentiality for multivariate tabular data, PSD 2004, LNCS 3050), who fix it by linear conditions that are
sufficient. Tables of correlation r or more are a second-order cone: planes that touch it leave none out.
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.adjustment_program import Cut

SAME = 1e-9
"""By how much a correlation may miss what is asked."""


def correlation(true: FloatArray, published: FloatArray, cells: BoolArray) -> float:
    """Pearson's correlation over some cells; NaN where either does not vary. Shapes (cells,)."""
    first, second = _centred(true[cells]), _centred(published[cells])
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / size if size > 0 else float("nan")


def correlation_plane(
    true: FloatArray, published: FloatArray, cells: BoolArray, wanted: float, unit: float
) -> Cut:
    """What the changes, in units, to every table of the wanted correlation r fulfil, and to this one do not.

    With p and t the centred published and true values, r |p| <= p't / |t|, and |p| is at least p'q for any q
    of length 1: here the direction of this table's p.
    """
    first, second = _centred(true[cells]), _centred(published[cells])
    length = float(np.linalg.norm(second))
    towards = second / length if length > 0 else np.zeros(len(second))
    slopes = np.zeros(len(true))
    slopes[cells] = _centred(first / np.linalg.norm(first) - wanted * towards)
    scale = float(np.abs(slopes).max()) or 1.0
    return Cut(slopes / scale, -float(slopes @ true) / unit / scale)


def _centred(values: FloatArray) -> FloatArray:
    centred: FloatArray = values - values.mean()
    return centred
