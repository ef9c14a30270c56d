"""The cheapest pattern of withheld cells, or how far from it the cheapest one found can be."""

from dataclasses import replace

import numpy as np

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.bounding import EXACTNESS, Bounding
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.proved_pattern import Protection
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.suppression import best_in_time
from sdcgate.methods.tables.witnesses import Witnesses

HEURISTIC_SHARE = 0.2
"""Share of the time that the first pattern may take."""


def protect_exactly(
    problem: Problem, unsafe: BoolArray, time_limit: float, known_witnesses: Witnesses | None = None
) -> Protection:
    """Find the cheapest pattern that can be proved, or the best one found and a bound of all prices.

    As `best_in_time`, which finds the first pattern, in `time_limit` seconds all together: how far it comes
    depends on the machine. The result is optimal where its `gap` is 0. Prices are bounded for patterns that
    `audit` can prove. Raises ValueError if `unsafe` does not have one flag a cell.
    """
    deadline = Deadline(time_limit)
    first = Deadline(HEURISTIC_SHARE * time_limit)
    found = best_in_time(problem, unsafe, first, known_witnesses)
    unsafe = unsafe.astype(np.bool_)
    if problem.unbounded(unsafe) or np.any(unsafe & problem.wholly_known):
        return found
    search = Bounding(problem, unsafe, found, deadline)
    search.run()
    best = search.best
    if best.proof is Proof.UNPROVED:
        return replace(best, in_time=not (first.missed or deadline.missed))
    if best.proof is not Proof.PROVED:
        return best
    least = best.price if search.least >= best.price * (1 - EXACTNESS) else search.least
    return replace(best, least_price=least)
