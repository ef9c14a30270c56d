"""Between what an intruder knows each withheld value to lie: the intervals of a pattern, by linear programs.

Counts are taken for real numbers and rounded inwards, so that an interval is the intruder's own or wider.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.intruder import RECORDS, SUMS, UNITS, Possibilities
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.solver import Deadline

WHOLE = 1e-6
FAR = 100.0
"""A value that can move by this many times the largest of its kind counts as unbounded."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Between what a quantity of a withheld cell lies; quantities are numbered as in the intruder's programs.

    An end is None where nothing bounds it, or nothing was found in time.
    """

    cell: int
    quantity: int
    lower: float | None = field(repr=False)
    upper: float | None = field(repr=False)


def withheld_intervals(problem: Problem, withheld: BoolArray, deadline: Deadline) -> list[Interval]:
    """The intervals of what is withheld and not known, quantity by quantity, cell by cell.

    Raises ValueError if `withheld` does not have one flag a cell.
    """
    if np.shape(withheld) != (len(problem.facts),):
        raise ValueError(f"withheld: {np.shape(withheld)} flags for {len(problem.facts)} cells")
    own = () if problem.units_follow else (UNITS,)
    counts = (RECORDS, *own)
    found = list(_intervals(Possibilities(problem, withheld, counts), counts, deadline))
    for measure in range(len(problem.facts.measures)):
        model = Possibilities(problem, withheld, (*counts, SUMS + measure))
        found += _intervals(model, (SUMS + measure,), deadline)
    return found


def _intervals(model: Possibilities, quantities: tuple[int, ...], deadline: Deadline) -> Iterator[Interval]:
    """Those of some quantities of a program."""
    facts, bounds = model.problem.facts, model.bounds()
    truths = (facts.records, facts.units, *(measure.sums for measure in facts.measures))
    for quantity in quantities:
        known = model.problem.known_quantities[quantity]
        scale = model.scales[quantity - SUMS] if quantity >= SUMS else 1.0
        far = FAR * max(1.0, float(np.abs(truths[quantity]).max(initial=0.0)) / scale)
        for place, cell in enumerate(model.cells.tolist()):
            if not model.withheld[cell] or known[cell]:
                continue
            column = model.block(quantity).start + place
            ends = [_end(model, column, way, far, bounds, deadline) for way in (-1.0, 1.0)]
            lower, upper = (None if end is None else truths[quantity][cell] + end * scale for end in ends)
            if quantity < SUMS:
                lower = None if lower is None else float(np.ceil(lower - WHOLE))
                upper = None if upper is None else float(np.floor(upper + WHOLE))
            yield Interval(cell, quantity, lower, upper)


def _end(
    model: Possibilities,
    column: int,
    way: float,
    far: float,
    bounds: tuple[FloatArray, FloatArray],
    deadline: Deadline,
) -> float | None:
    """How far a column can move in a direction; None where nothing is known to stop it."""
    lower, upper = bounds[0].copy(), bounds[1].copy()
    lower[column], upper[column] = max(lower[column], -far), min(upper[column], far)
    cost = np.zeros(len(lower))
    cost[column] = way
    values = model.maximise(cost, (lower, upper), deadline)
    if values is None or abs(values[column]) >= far * (1 - WHOLE):
        return None
    return None if model.at_search_bound(values) else float(values[column])
