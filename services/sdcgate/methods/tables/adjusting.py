"""Controlled tabular adjustment of a table to protect: its levels, its bounds, and whether it hides enough.

A count below the minimum is published as 0 or as the minimum and more. So whoever knows the method knows of a
published 0 that the count is at most `most_change`, of one below the minimum that the count is not, and of
any other that it is not 0 and at most `most_change` away; of sums nothing is proved.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, leaf_cells
from sdcgate.methods.tables.adjustment import AdjustedTable, controlled_adjustment
from sdcgate.methods.tables.adjustment_demands import Demands, Weighting, demand_problems
from sdcgate.methods.tables.perturbation import (
    LARGEST_SUM,
    Perturbed,
    PerturbedFact,
    hidden,
    unchangeable,
)
from sdcgate.methods.tables.problem import MOST_RECORDS, Problem, Proof
from sdcgate.methods.tables.protection_levels import Levels
from sdcgate.methods.tables.rounding import Intervals
from sdcgate.methods.tables.utility import table_utility

USUAL_CHANGE = 2
"""Counts change by at most so many times the minimum where nothing is said."""
SLACK = 1e-5
"""By how much more than its share a count may seem to have changed."""


@dataclass(frozen=True, slots=True, eq=False)
class Adjustment:
    """Controlled tabular adjustment of the counts, or of the sums of one measure (its number).

    Counts need a `minimum`: those above 0 and below it are unsafe, and go to 0 or to it and above.
    """

    weighting: Weighting
    measure: int | None = None
    minimum: int = 0
    demands: Demands = field(default_factory=Demands)


def with_adjustment(
    problem: Problem, unsafe: BoolArray, method: Adjustment, seconds: float, counts: str = "records"
) -> Perturbed:
    """Adjust the records of a table, or the sums of a measure. `counts` says what the records are called.

    Counts below the minimum go to 0, or to it and above; other unsafe ones move by the count width. Unsafe
    sums move by the problem's levels, and at least by the width it wants; what is known from elsewhere need
    not move. Raises ValueError where method and problem do not fit.
    """
    for where, what in adjustment_misfits(problem, method):
        raise ValueError(f"{where} {what}")
    if method.measure is None:
        return _with_counts(problem, unsafe, method, seconds, counts)
    measure = problem.facts.measures[method.measure]
    sums, fact = measure.sums.astype(np.float64), f"sums of {measure.name}"
    moved = unsafe & ~problem.known_quantities[2 + method.measure]
    width = problem.sum_widths(unsafe)[method.measure]
    levels = Levels(
        *(_at_least(width, side, method.measure) for side in (problem.upper_levels, problem.lower_levels))
    )
    found = controlled_adjustment(
        problem.axes, sums, levels, moved, seconds, method.weighting, method.demands
    )
    return Perturbed(
        _facts(problem, fact, sums, found), Proof.UNPROVED, unsafe.copy(), (fact,), adjusted=found
    )


def _with_counts(
    problem: Problem, unsafe: BoolArray, method: Adjustment, seconds: float, counts: str
) -> Perturbed:
    true, minimum = problem.facts.records, method.minimum
    small = (true > 0) & (true < minimum)
    width = np.full(len(true), problem.count_width)
    levels = Levels(
        upper=np.where(small, minimum - true, width).astype(np.float64),
        lower=np.where(small, true, width).astype(np.float64),
    )
    demands = method.demands
    reach = USUAL_CHANGE * float(minimum) if demands.most_change is None else demands.most_change
    demands = replace(demands, most_change=reach)
    unsafe = unsafe | (small & ~problem.known)
    moved = unsafe & ~problem.known
    found = controlled_adjustment(
        problem.axes,
        true.astype(np.float64),
        levels,
        moved,
        seconds / 2,
        method.weighting,
        demands,
        whole=True,
    )
    if found.values is None:
        return Perturbed((), Proof.UNPROVED, unsafe.copy(), (), adjusted=found)
    facts = _facts(problem, counts, true.astype(np.float64), found)
    if demands.moved_share is not None or demands.correlation is not None:
        # Whoever knows that few cells changed, or little, knows more than intervals can say.
        return Perturbed(facts, Proof.UNPROVED, unsafe.copy(), (), adjusted=found)
    behind = _behind(problem, found.values, moved, minimum, demands)
    proof, unprotected = hidden(problem, unsafe, true, behind, seconds / 2)
    return Perturbed(facts, proof, unprotected, (), adjusted=found)


def _behind(
    problem: Problem, published: FloatArray, moved: BoolArray, minimum: int, demands: Demands
) -> Intervals:
    """The counts behind adjusted ones, for one who knows all demands.

    Where safe cells must stay near, he is taken to know which cells had to move, and which were small.
    """
    reach = np.floor(demands.most_change or 0.0)
    nothing = published == 0
    least = np.where(published < minimum, float(minimum), np.maximum(1.0, published - reach))
    least = np.where(nothing, 0.0, least)
    most = published + reach
    near = np.zeros(len(published), dtype=np.bool_)
    if demands.cell_share is not None:
        small = moved & (problem.facts.records < minimum)
        most = np.where(small, np.minimum(most, minimum - 1.0), most)
        near = ~moved
        least = np.where(near & ~nothing, np.maximum(least, minimum), least)
    for share, cells in ((demands.cell_share, near), (demands.margin_share, ~leaf_cells(problem.axes))):
        if share is not None:
            least = np.where(cells, np.maximum(least, np.ceil((published - SLACK) / (1 + share))), least)
        if share is not None and share < 1:
            most = np.where(cells, np.minimum(most, np.floor((published + SLACK) / (1 - share))), most)
    if demands.lower is not None:
        least = np.maximum(least, np.ceil(demands.lower))
    if demands.upper is not None:
        most = np.minimum(most, np.floor(demands.upper))
    return Intervals(least, most)


def _at_least(width: FloatArray, levels: FloatArray | None, measure: int) -> FloatArray:
    return width if levels is None else np.maximum(width, levels[measure])


def _facts(problem: Problem, fact: str, true: FloatArray, found: AdjustedTable) -> tuple[PerturbedFact, ...]:
    if found.values is None:
        return ()
    return (PerturbedFact(fact, found.values, utility=table_utility(problem.axes, true, found.values)),)


def adjustment_misfits(problem: Problem, method: Adjustment) -> Iterator[tuple[str, str]]:
    """What of a problem and an adjustment does not go together, as (field, what is wrong)."""
    yield from unchangeable(problem)
    if method.measure is None:
        if not 2 <= method.minimum <= MOST_RECORDS:
            yield "adjustment.minimum", "must be from 2 to 2^40 where counts are adjusted"
        values = problem.facts.records.astype(np.float64)
    else:
        if method.minimum:
            yield "adjustment.minimum", "must be 0: it is for counts, sums move by their levels"
        values = problem.facts.measures[method.measure].sums
        if np.abs(values).max(initial=0.0) > LARGEST_SUM:
            path = f"problem.facts.measures[{method.measure}].sums"
            yield path, f"must not exceed {LARGEST_SUM:g}"
    inner = values[leaf_cells(problem.axes)]
    for name, what in demand_problems(method.demands, inner, whole=method.measure is None):
        yield f"adjustment.{name}", what
