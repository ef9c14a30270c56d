"""Cheaper patterns than a proved one, for an effort that is counted and so the same on every machine."""

import numpy as np

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.bounding import Bounding
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.proved_pattern import Protection
from sdcgate.methods.tables.solver import Deadline

EFFORT, EFFORT_BY_CELL = 400.0, 1.6
"""Effort that is spent where nothing else is said."""


def ordinary_effort(cells: int) -> float:
    """Effort, about milliseconds, for a table of so many cells where nothing else is said."""
    return EFFORT + EFFORT_BY_CELL * cells


def cheaper(
    problem: Problem, unsafe: BoolArray, found: Protection, deadline: Deadline, effort: float
) -> Protection:
    """A cheaper pattern than a proved one that withholds the unsafe cells, shape (cells,), or the same.

    `effort`, about milliseconds, is spent at most, and no more than the deadline has to spare.
    """
    effort = min(effort, deadline.spare - deadline.effort)
    nothing_beside = not (found.withheld & ~unsafe).any()
    known = problem.unbounded(unsafe) or np.any(unsafe & problem.wholly_known)
    if found.proof is not Proof.PROVED or nothing_beside or known or effort <= 0:
        return found
    search = Bounding(problem, unsafe, found, deadline.within(effort))
    search.run()
    return search.best
