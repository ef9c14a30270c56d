"""Controlled tabular adjustment: cells that tell too much move far enough, all others as little as can be.

Dandekar and Cox 2002, Synthetic tabular data: an alternative to complementary cell suppression; Castro 2006,
Minimum-distance controlled perturbation methods for large-scale tabular data protection, EJOR 171; Hundepool
et al. 2012, Statistical Disclosure Control, 4.6. Demands on totals, single cells and the correlation with the
true table: Cox, Kelly and Patil 2004, Balancing quality and confidentiality for multivariate tabular data,
PSD 2004, LNCS 3050; a correlation is a second-order cone here, approached by planes that leave nothing out.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import (
    Axis,
    BoolArray,
    FloatArray,
    additive_relations,
    leaf_cells,
    number_of_cells,
)
from sdcgate.methods.tables.adjustment_correlation import SAME, correlation, correlation_plane
from sdcgate.methods.tables.adjustment_demands import (
    DEMANDS,
    Demands,
    Weighting,
    check_shapes,
    check_values,
    demand_problems,
    gaps_of,
    weights,
)
from sdcgate.methods.tables.adjustment_program import (
    EXACT,
    AdjustmentProgram,
    Cut,
    Moves,
    balanced_directions,
)
from sdcgate.methods.tables.controlled_rounding import Found
from sdcgate.methods.tables.protection_levels import Levels
from sdcgate.methods.tables.solver import Best, Deadline

MOST_PLANES = 200
"""Planes in a row with the same directions after which other directions are sought."""
FIRST_SHARE, BLAME_SHARE = 0.25, 0.2
"""Shares of the time for directions without a search, and for saying why there is no table."""


@dataclass(frozen=True, slots=True, eq=False)
class AdjustedTable:
    """An adjusted table, shape (cells,); none where `found` is INFEASIBLE or UNKNOWN."""

    found: Found
    values: FloatArray | None = field(repr=False)
    distance: float
    """Weighted sum of absolute changes over all cells, totals too."""
    least_distance: float
    """No table that fulfils the demands is nearer than this."""
    correlation: float
    """Of published and true values over inner cells; NaN where either does not vary."""
    stuck: BoolArray = field(repr=False)
    """Cells that must move and cannot, whatever the others do, shape (cells,)."""
    too_strict: tuple[str, ...] = ()
    """Where there is no table: demands without any one of which there is one."""


def controlled_adjustment(
    axes: tuple[Axis, ...],
    values: FloatArray,
    levels: Levels,
    must_move: BoolArray,
    seconds: float,
    weighting: Weighting = Weighting.UNIT,
    demands: Demands | None = None,
    whole: bool = False,
) -> AdjustedTable:
    """The nearest additive table in which each cell of `must_move` lies beyond its upper or lower level.

    `values`, shape (cells,), must add up. Zeros stay, what is not negative stays so, and with `whole` whole
    numbers stay whole. Without `most_change` no value moves by more than twice the sum of all levels.

    Raises ValueError where shapes do not fit, values are not finite or do not add up, a cell that must move
    has no level or a demand makes no sense.
    """
    demands = Demands() if demands is None else demands
    table = _Table(axes, values, levels, must_move, weighting, whole, demands)
    deadline = Deadline(seconds * (1 - BLAME_SHARE))
    result = table.adjust(demands, deadline)
    if result.found is not Found.INFEASIBLE:
        return result
    deadline = Deadline(seconds * BLAME_SHARE)
    asked = [name for name in DEMANDS if getattr(demands, name) is not None]
    blamed = [name for name in asked if table.has_any(replace(demands, **{name: None}), deadline)]
    if table.has_any(replace(demands, most_change=10 * table.reach(demands)), deadline):
        blamed.append("most_change")
    return replace(result, too_strict=tuple(blamed))


class _Table:
    """A table in units of its largest level, so that tolerances mean the same for all tables."""

    def __init__(
        self,
        axes: tuple[Axis, ...],
        values: FloatArray,
        levels: Levels,
        must_move: BoolArray,
        weighting: Weighting,
        whole: bool,
        demands: Demands,
    ) -> None:
        cells = number_of_cells(axes)
        check_shapes(cells, values, must_move, levels.upper, levels.lower)
        check_shapes(cells, demands.lower, demands.upper, demands.released)
        self._relations = additive_relations(axes)
        self._inner = leaf_cells(axes)
        check_values(self._relations, values, whole)
        for name, what in demand_problems(demands, values[self._inner], whole):
            raise ValueError(f"{name} {what}")
        self._values, self._whole = values, whole
        self._moved = must_move & (values != 0)
        nothing = np.zeros(cells)
        self._up, self._down = (
            np.where(self._moved, nothing if level is None else level, 0.0)
            for level in (levels.upper, levels.lower)
        )
        sizes = np.maximum(self._up, self._down)
        if not np.all(np.isfinite(sizes)) or min(self._up.min(), self._down.min()) < 0:
            raise ValueError("levels must be finite and not negative")
        if np.any(self._moved & ((self._up == 0) | (self._down == 0))):
            raise ValueError("cells that must move must have levels above 0 on both sides")
        if whole:
            self._up, self._down = np.ceil(self._up), np.ceil(self._down)
        self._unit = 1.0 if whole else float(sizes.max(initial=0.0)) or 1.0
        self._sum_of_levels = float(np.maximum(self._up, self._down).sum())
        self._weights = weights(values, weighting)

    def reach(self, demands: Demands) -> float:
        """The most by which a value may change."""
        return 2 * self._sum_of_levels if demands.most_change is None else demands.most_change

    def _moves(self, demands: Demands) -> Moves:
        """How far each cell may move, in units."""
        values = self._values
        up = np.where(values == 0, 0.0, self.reach(demands))
        down = np.where(values >= 0, np.minimum(up, np.abs(values)), up)
        shares = (
            (demands.margin_share, ~self._inner),
            (demands.cell_share, ~self._moved),
        )
        for share, concerned in shares:
            if share is not None:
                most = np.where(concerned, share * np.abs(values), np.inf)
                up, down = np.minimum(up, most), np.minimum(down, most)
        if demands.upper is not None:
            up = np.minimum(up, demands.upper - values)
        if demands.lower is not None:
            down = np.minimum(down, values - demands.lower)
        if self._whole:
            up, down = np.floor(up + EXACT), np.floor(down + EXACT)
        released = np.full(len(values), np.nan) if demands.released is None else demands.released
        fixed = ~np.isnan(released)
        change = np.where(fixed, released - values, 0.0)
        unit = self._unit
        return Moves(
            up / unit, down / unit, self._moved, self._up / unit, self._down / unit, fixed, change / unit
        )

    def _contradicted(self, moves: Moves) -> BoolArray:
        """Cells of which a demand cannot be fulfilled, whatever the others do."""
        outside = np.where(
            moves.fixed,
            (moves.change > moves.up + EXACT) | (-moves.change > moves.down + EXACT),
            (moves.up < 0) | (moves.down < 0),
        )
        return moves.stuck | outside

    def _program(
        self, demands: Demands, moves: Moves, planes: tuple[Cut, ...], whole: bool
    ) -> AdjustmentProgram:
        share = demands.moved_share
        most = None if share is None else int(share * len(self._values) + SAME)
        scale = float(self._weights.max(initial=0.0)) or 1.0
        return AdjustmentProgram(self._relations, moves, self._weights / scale, whole, most, planes)

    def has_any(self, demands: Demands, deadline: Deadline) -> bool:
        """Whether a table that fulfils the demands is found."""
        moves = self._moves(demands)
        if self._contradicted(moves).any():
            return False
        found = self._program(demands, moves, (), self._whole).best(deadline, nearest=False)
        if found.values is None:
            return False
        if demands.correlation is None:
            return True
        return self.adjust(demands, deadline).values is not None

    def adjust(self, demands: Demands, deadline: Deadline) -> AdjustedTable:
        """The nearest table under demands; planes are added until the correlation is as asked."""
        moves = self._moves(demands)
        stuck = self._contradicted(moves)
        if stuck.any():
            return AdjustedTable(Found.INFEASIBLE, None, np.inf, np.inf, np.nan, stuck)
        planes: tuple[Cut, ...] = ()
        nearest, distance, least = None, np.inf, 0.0
        while True:
            search = self._search(demands, moves, planes, deadline)
            if search.infeasible:
                return AdjustedTable(Found.INFEASIBLE, None, np.inf, np.inf, np.nan, stuck)
            least = max(least, search.least)
            missing = [table for table in search.tables if not self._similar(table, demands)]
            refined, planes = self._refined(missing, demands, moves, planes, deadline)
            for table in (*search.tables, *refined):
                if self._similar(table, demands) and self._distance(table) < distance:
                    nearest, distance = table, self._distance(table)
            if not missing or self._proved(distance, least) or deadline.over:
                return self._result(nearest, distance, least)

    def _refined(
        self,
        tables: list[FloatArray],
        demands: Demands,
        moves: Moves,
        planes: tuple[Cut, ...],
        deadline: Deadline,
    ) -> tuple[list[FloatArray], tuple[Cut, ...]]:
        """Tables of the wanted correlation with the directions of others, and the planes that led there."""
        refined: list[FloatArray] = []
        for start in tables:
            rising = (start > self._values)[moves.moved]
            latest: FloatArray | None = start
            for _ in range(MOST_PLANES):
                if latest is None or self._similar(latest, demands):
                    break
                planes += (self._plane(latest, demands),)
                found = self._program(demands, moves, planes, whole=False).best(deadline, rising)
                latest = None if found.values is None else self._values + self._unit * found.values
            if latest is not None:
                last = self._program(demands, moves, planes, self._whole).best(deadline, rising)
                refined += self._tables([last], moves)
        return refined, planes

    def _plane(self, table: FloatArray, demands: Demands) -> Cut:
        wanted = demands.correlation or 0.0
        return correlation_plane(self._values, table, self._inner, wanted, self._unit)

    def _search(
        self, demands: Demands, moves: Moves, planes: tuple[Cut, ...], deadline: Deadline
    ) -> "_Searched":
        """Tables within the planes, and how near any of them can be.

        Directions by balance alone come first, then the best ones for values that need not be whole, and only
        where these leave a doubt the integer program of all cells.
        """
        free = self._program(demands, moves, planes, whole=False)
        whole = self._program(demands, moves, planes, whole=True) if self._whole else free
        share = deadline.left() * FIRST_SHARE
        found = [whole.best(Deadline(share), balanced_directions(self._relations, moves))]
        best = free.best(deadline if not self._whole else Deadline(2 * share))
        found.append(best)
        infeasible, bound = best.infeasible, best.bound
        if self._whole and not infeasible and best.values is not None:
            found.append(whole.best(Deadline(share), best.values[moves.moved] > 0))
        tables = self._tables(found, moves)
        least = self._distance_of_bound(bound)
        nearest = min((self._distance(table) for table in tables), default=np.inf)
        if self._whole and not infeasible and not self._proved(nearest, least):
            best = whole.best(deadline)
            tables += self._tables([best], moves)
            infeasible = best.infeasible
            least = max(least, self._distance_of_bound(best.bound))
        return _Searched(tables, least, infeasible)

    def _result(self, nearest: FloatArray | None, distance: float, least: float) -> AdjustedTable:
        nothing = np.zeros(len(self._values), dtype=np.bool_)
        if nearest is None:
            return AdjustedTable(Found.UNKNOWN, None, np.inf, least, np.nan, nothing)
        found = Found.OPTIMAL if self._proved(distance, least) else Found.FEASIBLE
        least = distance if found is Found.OPTIMAL else min(least, distance)
        return AdjustedTable(
            found, nearest, distance, least, correlation(self._values, nearest, self._inner), nothing
        )

    def _proved(self, distance: float, least: float) -> bool:
        smallest = self._unit * float(self._weights.max(initial=0.0))
        return bool(np.isfinite(distance) and distance - least <= EXACT * max(distance, smallest))

    def _distance(self, table: FloatArray) -> float:
        return float((self._weights * np.abs(table - self._values)).sum())

    def _distance_of_bound(self, bound: float) -> float:
        """What a solver's bound says of distances."""
        scale = float(self._weights.max(initial=0.0)) or 1.0
        return max(0.0, -bound * self._unit * scale) if np.isfinite(bound) else 0.0

    def _tables(self, found: list[Best], moves: Moves) -> list[FloatArray]:
        """The tables of solutions, without those that are off: the solver's tolerances are not ours."""
        below = np.where(moves.fixed, moves.change, -moves.down)
        above = np.where(moves.fixed, moves.change, moves.up)
        tables: list[FloatArray] = []
        for solution in found:
            change = solution.values
            if change is None:
                continue
            if self._whole:
                change = np.rint(change)
            far = (change >= moves.least_up - EXACT) | (-change >= moves.least_down - EXACT)
            inside = (change >= below - EXACT) & (change <= above + EXACT)
            change = np.clip(change, below, above)
            gaps = np.abs(gaps_of(self._relations, change))
            if np.all(inside & (far | ~moves.moved)) and not np.any(gaps > EXACT):
                tables.append(self._values + self._unit * change)
        return tables

    def _similar(self, table: FloatArray, demands: Demands) -> bool:
        wanted = demands.correlation
        return wanted is None or correlation(self._values, table, self._inner) >= wanted - SAME


@dataclass(frozen=True, slots=True, eq=False)
class _Searched:
    """Tables that were found, the least distance that any can have, and whether there is none."""

    tables: list[FloatArray] = field(repr=False)
    least: float
    infeasible: bool
