"""Between what an intruder knows each withheld value to lie: the intervals of a pattern, by linear programs.

Counts are taken for real numbers and rounded inwards, so that an interval is the intruder's own or wider.
Where whole numbers are asked for, integer programs draw it in as far as there is time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.intruder import Possibilities, record_bounds
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.quantities import RECORDS, SUMS, UNITS, quantities_of
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.witnesses import Tables, agreeing

WHOLE = 1e-6
NOTHING = 1e-12
"""Share of the scale of sums below which nothing is left of one but what addition errs by."""
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
    exact: bool = False
    """Whether it is shown that tables of whole numbers reach both ends, and none goes beyond."""


def withheld_intervals(
    problem: Problem, withheld: BoolArray, deadline: Deadline, integral: bool = False
) -> list[Interval]:
    """The intervals of what is withheld and not known, quantity by quantity, cell by cell.

    Those of real numbers come first; `integral` ones are drawn in while there is time. Raises ValueError if
    `withheld` does not have one flag a cell.
    """
    if np.shape(withheld) != (len(problem.facts),):
        raise ValueError(f"withheld: {np.shape(withheld)} flags for {len(problem.facts)} cells")
    own = () if problem.units_follow else (UNITS,)
    counts = (RECORDS, *own)
    measures = tuple(SUMS + measure for measure in range(len(problem.facts.measures)))
    if len(problem.told):
        # A published ratio may tell of any quantity by any other one.
        together = Possibilities(problem, withheld, (*counts, *measures))
        found = list(_intervals(together, (*counts, *measures), deadline))
    else:
        # Sums tell of counts, and through these of other sums, wherever values have bounds on both sides.
        closed = tuple(measure for measure in measures if record_bounds(problem, measure - SUMS)[2])
        together = Possibilities(problem, withheld, (*counts, *closed))
        found = list(_intervals(together, counts, deadline))
        for measure in measures:
            model = together
            if measure not in closed:
                model = Possibilities(problem, withheld, (*counts, *closed, measure))
            found += _intervals(model, (measure,), deadline)
    if not integral:
        return found
    whole = _WholeNumbers(problem, withheld, counts, measures)
    return [whole.drawn_in(one, deadline) for one in found]


def _intervals(model: Possibilities, quantities: tuple[int, ...], deadline: Deadline) -> Iterator[Interval]:
    """Those of some quantities of a program."""
    facts, bounds = model.problem.facts, model.bounds()
    truths = quantities_of(facts)
    for quantity in quantities:
        known = model.problem.known_quantities[quantity]
        scale = model.scales[quantity - SUMS] if quantity >= SUMS else 1.0
        far = FAR * max(1.0, float(np.abs(truths[quantity]).max(initial=0.0)) / scale)
        for place, cell in enumerate(model.cells.tolist()):
            if not model.withheld[cell] or known[cell]:
                continue
            column = model.block(quantity).start + place
            ends = [_end(model, column, way, far, bounds, deadline) for way in (-1.0, 1.0)]
            truth = float(truths[quantity][cell])
            lower, upper = (None if end is None else _plain(truth + end * scale, scale) for end in ends)
            if quantity < SUMS:
                # A little below 0 rounds up to -0.0, which is no count.
                lower = None if lower is None else float(np.ceil(lower - WHOLE)) + 0.0
                upper = None if upper is None else float(np.floor(upper + WHOLE))
            yield Interval(cell, quantity, lower, upper)


def _plain(value: float, scale: float) -> float:
    """A value, and 0 where addition left next to nothing of it."""
    return value if abs(value) > NOTHING * scale else 0.0


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
    open_ended = model.at_search_bound(values) and not _within_search(model, column, values, bounds, deadline)
    return None if open_ended else float(values[column])


def _within_search(
    model: Possibilities,
    column: int,
    values: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    deadline: Deadline,
) -> bool:
    """Whether a column is where it is in a table, too, in which no sum lies where only the search ends.

    Then nothing goes beyond, as programs are convex: other sums were there that have no end themselves.
    """
    # Without an end of its own the cost would go on for ever along counts that have none.
    lower = np.maximum(bounds[0], np.minimum(values, -FAR))
    upper = np.minimum(bounds[1], np.maximum(values, FAR))
    lower[column] = upper[column] = values[column]
    found = model.maximise(model.away_from_search_bounds(), (lower, upper), deadline)
    return found is not None and not model.at_search_bound(found)


class _WholeNumbers:
    """Draws intervals in to what tables reach in which counts are whole numbers."""

    def __init__(
        self, problem: Problem, withheld: BoolArray, counts: tuple[int, ...], measures: tuple[int, ...]
    ) -> None:
        self._problem, self._withheld, self._counts = problem, withheld, counts
        self._truths = quantities_of(problem.facts)
        models = [Possibilities(problem, withheld, counts)]
        if measures:
            models.append(Possibilities(problem, withheld, (*counts, *measures)))
        self._models = models
        self._bounded = all(record_bounds(problem, measure - SUMS)[2] for measure in measures)

    def drawn_in(self, one: Interval, deadline: Deadline) -> Interval:
        """An interval drawn in; as it is, and not exact, where time did not suffice."""
        lower, reached_below = self._end(one, -1.0, one.lower, deadline)
        upper, reached_above = self._end(one, 1.0, one.upper, deadline)
        return Interval(one.cell, one.quantity, lower, upper, reached_below and reached_above)

    def _end(
        self, one: Interval, way: float, end: float | None, deadline: Deadline
    ) -> tuple[float | None, bool]:
        """An end drawn in as far as may be, and whether a table reaches it.

        Without sums more is possible than with them; with sums that are searched within narrower bounds than
        known, less. Where the two meet that is the end.
        """
        if end is None:
            return None, False
        truth = float(self._truths[one.quantity, one.cell])
        for model in self._models:
            if one.quantity not in model.quantities or deadline.over:
                continue
            column = model.block(one.quantity).start + int(np.searchsorted(model.cells, one.cell))
            scale = model.scales[one.quantity - SUMS] if one.quantity >= SUMS else 1.0
            lower, upper = model.bounds()
            # As far as the end found already, or programs go on where nothing is to be had.
            limit = (end - truth) / scale + (way * WHOLE if one.quantity >= SUMS else 0.0)
            lower[column], upper[column] = (
                max(lower[column], min(limit, 0)),
                min(upper[column], max(limit, 0)),
            )
            cost = np.zeros(len(lower))
            cost[column] = way
            best = model.best_integer(cost, (lower, upper), deadline)
            if best.values is None:
                continue
            whole_truth = model is self._models[-1]
            if self._bounded or not whole_truth:
                bound = _plain(truth + way * best.bound * scale, scale)
                end = way * min(way * end, way * self._drawn(bound, way, one))
            reached = self._reached(model, best.values, cost, deadline) if whole_truth else None
            if reached is not None and way * (end - truth - reached[column] * scale) <= WHOLE * scale:
                return end, True
        return end, False

    def _drawn(self, end: float, way: float, one: Interval) -> float:
        """An end as a whole number, if it is a count's."""
        if one.quantity >= SUMS:
            return end
        return float(np.floor(end + WHOLE) if way > 0 else np.ceil(end - WHOLE))

    def _reached(
        self, model: Possibilities, values: FloatArray, cost: FloatArray, deadline: Deadline
    ) -> FloatArray | None:
        """A solution made precise, if it then is a table that agrees with all that is known; else None."""
        counts = len(self._counts) * model.size
        lower, upper = model.bounds()
        lower[:counts] = upper[:counts] = np.rint(values[:counts])
        found: FloatArray | None = lower
        if len(lower) > counts:
            found = model.maximise(cost, (lower, upper), deadline)
        if found is None:
            return None
        found = model.polished(found, lower, upper)
        table = self._truths.copy()
        for quantity in model.quantities:
            scale = model.scales[quantity - SUMS] if quantity >= SUMS else 1.0
            table[quantity, model.cells] += found[model.block(quantity)] * scale
        records = np.rint(table[[RECORDS]]).astype(np.int64)
        units = records if self._problem.units_follow else np.rint(table[[UNITS]]).astype(np.int64)
        tables = Tables(records, units, table[SUMS:, None])
        return found if agreeing(self._problem, self._withheld, tables).all() else None
