"""Who weighs what in a cell, as its plain and weighted figures tell together where two weights meet in it.

A variable may decide the weights: everybody of one stratum weighs 3, of the other 10. Of 20 people who weigh
67 one is of the second, whether or not any table shows strata: two equations of two unknowns. So a table
with weighted figures is judged, and recorded, as though it showed the people of either weight in each such
cell. Where three weights meet there is one equation too few, unless others tell more: that the linear span
knows (`decided_sums`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from sdcgate.engine.queries import Region
from sdcgate.facility.boxes import marks_of_boxes, quantities
from sdcgate.facility.differencing import TooManyDifferences
from sdcgate.facility.inspector import Inspector
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.facility.plan import WEIGHTED, Plan
from sdcgate.methods.cells import BoolArray, Facts, FloatArray, IntArray, MeasureFacts, State
from sdcgate.methods.tables.boxes import NOBODY, Box, BoxTable, intersection
from sdcgate.methods.tables.combined_sums import Decided

Values = TypeVar("Values", IntArray, FloatArray)
MOST = 4_000
"""Groups of one weight that are counted for one table."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightClasses:
    """What a table tells of the people of either weight in its cells."""

    unsafe: BoolArray = field(repr=False)
    """Cells of which the people of one weight break a rule, shape (cells,)."""
    tables: tuple[tuple[ReleasedTable, ...], ...] = field(default=(), repr=False)
    """The same cells with the people of one weight alone, as though all left; of each its quantities."""
    decided: tuple[Decided, ...] = field(default=(), repr=False)
    """By which variables weights are of which two meet in a cell."""
    measures: frozenset[str] = frozenset()
    """Those of which sums show with weights."""

    @property
    def all_tables(self) -> list[ReleasedTable]:
        """The tables of both weights."""
        return [table for tables in self.tables for table in tables]

    def judging(self, inspector: Inspector) -> Inspector:
        """One that judges of a region the people of either weight, too, where two weights meet in it."""
        return replace(inspector, also=partial(_also, inspector, self)) if self.decided else inspector


NO_WEIGHT_CLASSES = WeightClasses(np.zeros(0, dtype=np.bool_))


def weight_classes(
    plan: Plan, counts: ReleasedTable, decided: Sequence[Decided], inspector: Inspector
) -> WeightClasses:
    """What a table with weighted figures tells of the people of either weight in its cells.

    Args:
        plan: the table.
        counts: its cells.
        decided: by which variables the weights are, as everybody knows.
        inspector: counts and judges groups by the rules of cells.

    Raises:
        TooManyDifferences: more groups than `MOST` would have to be counted.
    """
    unsafe = np.zeros(len(counts.boxes), dtype=np.bool_)
    if plan.beneath or not plan.with_weights:
        # Weighted shares and models are judged by what they tell of withheld cells.
        return WeightClasses(unsafe)
    meeting, tables = list[Decided](), list[tuple[ReleasedTable, ...]]()
    shown = frozenset(one.measure for one in plan.figures if one.statistic in WEIGHTED and one.measure)
    measures = [name for name in plan.measures if name in shown]
    for one in decided:
        sides = _sides([(box,) for box in counts.boxes], one)
        chosen = [cell for cell, side in enumerate(sides) if side and counts.table.records[cell]]
        if not chosen:
            continue
        if 2 * len(chosen) > MOST:
            raise TooManyDifferences(f"more than {MOST} groups of one weight to count")
        meeting.append(one)
        regions = [Region(sides[cell][of]) for of in (0, 1) for cell in chosen]
        judged = inspector.unsafe(regions, measures)
        unsafe[np.array(chosen)[np.flatnonzero(judged) % len(chosen)]] = True
        if len(one.variables) == 1:
            facts = inspector.count(regions, measures)
            tables += _tables(counts, one, np.array(chosen), facts)
    return WeightClasses(unsafe, tuple(tables), tuple(meeting), shown)


def _also(
    inspector: Inspector, classes: WeightClasses, regions: Sequence[Region], measures: Sequence[str]
) -> BoolArray:
    """Regions of which the people of one weight break a rule, or which are unsafe for another reason."""
    unsafe = np.zeros(len(regions), dtype=np.bool_)
    if inspector.also is not None:
        unsafe |= inspector.also(regions, measures)
    weighted = [name for name in measures if name in classes.measures]
    for one in classes.decided:
        sides = _sides([region.inside for region in regions], one)
        chosen = [place for place, side in enumerate(sides) if side]
        parts = [Region(side, regions[place].outside) for place in chosen for side in sides[place]]
        judged = inspector.unsafe(parts, weighted)
        unsafe[[chosen[part // 2] for part in np.flatnonzero(judged).tolist()]] = True
    return unsafe


def _sides(unions: Sequence[Sequence[Box]], decided: Decided) -> list[tuple[tuple[Box, ...], ...]]:
    """Of each union of boxes those of one weight, and of the other; none where not just two meet in it."""
    kept: dict[Box, list[tuple[Box, float]]] = {}
    found = []
    for boxes in unions:
        parts: dict[float, list[Box]] = {}
        for box in boxes:
            within = tuple(pair for pair in box if pair[0] in decided.variables)
            if within not in kept:
                kept[within] = _weighing(within, decided)
            for part, weight in kept[within]:
                inside = intersection(box, part)
                if inside != NOBODY:
                    parts.setdefault(weight, []).append(inside)
        found.append(tuple(tuple(parts[weight]) for weight in sorted(parts)) if len(parts) == 2 else ())
    return found


def _weighing(within: Box, decided: Decided) -> list[tuple[Box, float]]:
    """The parts of a box of the deciding variables, each with its weight."""
    parts = ((intersection(within, part), weight) for part, weight in decided.parts)
    return [(inside, weight) for inside, weight in parts if inside != NOBODY]


def _tables(
    counts: ReleasedTable, decided: Decided, chosen: IntArray, facts: Facts
) -> list[tuple[ReleasedTable, ...]]:
    """The people of either weight as tables of the same cells: counts, and sums that leave with weights.

    `facts` are of the chosen cells, first with the lower weight and then with the higher.
    """
    ((name, full),) = decided.full.items()
    found = []
    for of in (0, 1):

        def side(mask: int, of: int = of) -> int:
            ((*two,),) = _sides([[((name, mask),)]], decided)
            return sum(dict(part)[name] for part in two[of]) if two else 0

        own = _placed(facts, chosen, of, len(counts.boxes))
        found.append(tuple(quantities(_restricted(counts.table, name, full, side, own), own)))
    return found


def _placed(facts: Facts, chosen: IntArray, of: int, cells: int) -> Facts:
    """Facts of the chosen cells at their places, nobody elsewhere."""
    rows = np.arange(len(chosen)) + of * len(chosen)

    def placed(values: Values) -> Values:
        whole = np.zeros((cells, *values.shape[1:]), dtype=values.dtype)
        whole[chosen] = values[rows]
        return whole

    def measure(one: MeasureFacts) -> MeasureFacts:
        return MeasureFacts(
            name=one.name,
            sums=placed(one.sums),
            valid_records=placed(one.valid_records),
            valid_units=placed(one.valid_units),
            largest=placed(one.largest),
            absolute_sums=placed(one.absolute_sums),
            minima=placed(one.minima),
            maxima=placed(one.maxima),
            lower_bound=one.lower_bound,
            upper_bound=one.upper_bound,
        )

    return Facts(
        units=placed(facts.units),
        records=placed(facts.records),
        households=None if facts.households is None else placed(facts.households),
        holdings=None if facts.holdings is None else placed(facts.holdings),
        measures=tuple(map(measure, facts.measures)),
    )


def _restricted(table: BoxTable, name: str, full: int, side: Callable[[int], int], own: Facts) -> BoxTable:
    """A table's cells with the codes of one weight alone."""
    axes, fixed = dict(table.axes), dict(table.fixed)
    if name in axes:
        axes[name] = tuple(side(mask) for mask in axes[name])
    else:
        fixed[name] = side(fixed.get(name, full))
    whole = replace(
        table,
        axes=tuple(axes.items()),
        fixed=tuple(sorted(fixed.items())),
        full={**table.full, name: full},
        states=np.full(len(table), State.PUBLISHED, dtype=np.int64),
        records=own.records,
    )
    # Where all have the weight they are the cell's records.
    return replace(whole, marks=marks_of_boxes(whole, own.records != table.records, "weight"))
