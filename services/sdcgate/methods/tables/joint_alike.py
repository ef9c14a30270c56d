"""Secret sums that can only move together: what is told of one of them is told of all.

A secret that differs from a multiple of another only by known sums has that multiple of its range, in every
solution. So what known sums tell is taken off (a projection, over all amounts alike), and secrets of which
the same is left, but for a factor, are alike. Where many tables have left they are many: of a variable that
a few groups leave uncertain, all that was ever withheld of these groups.

What is left is compared by a few sums of it with random weights, which are the same in every run. Two that
differ and agree in these would be taken to be as narrow as each other, never to be wide.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.tables.joint_moves import Metric
from sdcgate.methods.tables.joint_system import JointSystem

WEIGHTINGS = 4
SAME = 1e-7
"""By how much random sums of what is left may differ, as a share of their length."""
NOTHING = 1e-8
"""What is left of a secret that known sums tell, as a share of its own length."""


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Which secrets move together; shape (secrets,) each."""

    kind: IntArray
    """The same number for those that do."""
    size: FloatArray = field(repr=False)
    """How far each goes beside the others of its kind; 0 where known sums tell it."""


def alike(system: JointSystem) -> Alike | None:
    """The secrets of a system that move together; None where that cannot be found out."""
    metric = Metric.at(system, np.ones(system.columns))
    if metric is None:
        return None
    weights = np.random.default_rng(0).standard_normal((system.columns, WEIGHTINGS))
    left = np.asarray(metric.secret @ metric.projected(weights, 0.0), dtype=np.float64)
    size = np.sqrt((left**2).sum(axis=1))
    columns = np.bincount(system.secret.rows, minlength=system.secret.shape[0])
    size[size <= NOTHING * np.sqrt(columns)] = 0.0
    way = left / np.where(size > 0.0, size, 1.0)[:, None] * np.where(left[:, :1] < 0.0, -1.0, 1.0)
    _, kind = np.unique(np.rint(way / SAME).astype(np.int64), axis=0, return_inverse=True)
    return Alike(kind.reshape(-1), size)
