"""Whether the columns of a model separate its outcome, so that its likelihood has no maximum.

Albert and Anderson (1984), On the existence of maximum likelihood estimates in logistic regression models,
Biometrika 71(1): there is none where some combination of the columns is nowhere below 0 for one class,
nowhere above 0 for the other, and not 0 for somebody. Of counts with a logarithmic link (Correia, Guimaraes
and Zylkin 2019, Verifying the existence of maximum likelihood estimates for generalized linear models,
arXiv:1903.01633): where it is 0 for all that have some, and nowhere above 0 for those that have none. Either
is a linear program (Konis 2007).
"""

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.fits import Family, ModelData

OF_EVENTS = frozenset({Family.LOGIT, Family.PROBIT})
OF_COUNTS = frozenset({Family.POISSON, Family.NEGATIVE_BINOMIAL})
MOST_ROWS = 50_000
"""Distinct rows that are looked at: of more it is not told whether they are separated."""
SECONDS = 10.0
APART = 1e-6
"""How far from 0 the combination has to be for somebody, columns being at most 1."""


def separated(data: ModelData, family: Family) -> bool:
    """Whether the columns separate the outcome; False where it is not known."""
    if family in OF_EVENTS | OF_COUNTS:
        signed, held = _program(data, family)
        return _is_separated(signed, held)
    if data.classes:
        return _by_one_column(data)
    return False


def _program(data: ModelData, family: Family) -> tuple[FloatArray, FloatArray]:
    """Rows whose combination must not be below 0, and rows for which it has to be 0."""
    scale = np.abs(data.values).max(axis=0, initial=0.0)
    values = data.values / np.where(scale > 0, scale, 1.0)
    if family in OF_EVENTS:
        sign = np.where(data.outcome > 0, 1.0, -1.0)
        return np.unique(values * sign[:, None], axis=0), np.zeros((0, values.shape[1]))
    some = data.outcome > 0
    return np.unique(-values[~some], axis=0), np.unique(values[some], axis=0)


def _is_separated(signed: FloatArray, held: FloatArray) -> bool:
    if not len(signed) or len(signed) + len(held) > MOST_ROWS:
        return False
    from scipy.optimize import linprog

    found = linprog(
        -signed.sum(axis=0),
        A_ub=-signed,
        b_ub=np.zeros(len(signed)),
        A_eq=held if len(held) else None,
        b_eq=np.zeros(len(held)) if len(held) else None,
        bounds=(-1.0, 1.0),
        method="highs",
        options={"time_limit": SECONDS},
    )
    return bool(found.status == 0 and (signed @ found.x).max() > APART)


def _by_one_column(data: ModelData) -> bool:
    """Whether all who are not at a column's least value, or all who are, lack a class that others have."""
    positions = data.outcome.astype(np.int64)
    for column in data.values.T:
        least = column == column.min()
        for side in (least, ~least):
            classes = np.bincount(positions[side], minlength=len(data.classes))
            if side.any() and np.any(classes == 0):
                return True
    return False
