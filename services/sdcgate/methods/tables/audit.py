"""The audit of a pattern of withheld cells, as an intruder would try it.

What he can exclude is decided by linear and integer programs; what he cannot, by witnesses that anybody can
check. First many cells are tried at once: tables that move away from the true one in as many of the not yet
proved cells as possible, with directions varied from one to the next. What is left is settled cell by cell
by its smallest and greatest possible value (the intruder's problem of Fischetti and Salazar, Management
Science 47, 2001), with integers wherever real numbers do not settle it.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.intruder import Possibilities, record_bounds
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.quantities import RECORDS, SUMS, UNITS, quantities_of
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.witnesses import (
    Tables,
    Witnesses,
    agreeing,
    as_witnesses,
    needed,
    no_tables,
    no_witnesses,
    reach,
    required,
    true_sums,
    verify,
)

INTEGRAL = 1e-6
MARGIN = 1e-2
"""By how much more than required sums are moved, so that rounding does not undo a proof."""
SWEEPS = 12
STALE = 3
TURNS = 3
MULTIPLES = (1, 2, 3, 4, 6)


@dataclass(frozen=True, slots=True)
class Leak:
    """A quantity of a withheld cell that the intruder can bound too narrowly, and his bounds."""

    cell: int
    quantity: int
    lower: float = field(repr=False)
    upper: float = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """What an audit found: `unprotected` are withheld cells too narrow or not proved, shape (cells,).

    `leaks` say of those that are shown to be too narrow what can be worked out; quantities have the numbers
    of the intruder's programs.
    """

    proof: Proof
    witnesses: Witnesses = field(repr=False)
    unprotected: BoolArray = field(repr=False)
    leaks: tuple[Leak, ...] = field(default=(), repr=False)


def audit(problem: Problem, withheld: BoolArray, time_limit: float) -> Audit:
    """Audit a pattern, shape (cells,), within `time_limit` seconds.

    PROVED if witnesses prove every withheld cell, REFUTED if some cell is shown to be too narrow, UNPROVED
    in all other cases. Raises ValueError if the pattern does not have one flag a cell.
    """
    if np.shape(withheld) != (len(problem.facts),):
        raise ValueError(f"withheld: {np.shape(withheld)} flags for {len(problem.facts)} cells")
    return audited(problem, withheld, Deadline(time_limit))


def audited(problem: Problem, withheld: BoolArray, deadline: Deadline) -> Audit:
    """As `audit`, until a deadline."""
    search = Search(problem, withheld, no_tables(problem))
    search.run(deadline)
    return search.verdict()


class Search:
    """A search for witnesses of one pattern, begun with tables that are known to be possible."""

    def __init__(self, problem: Problem, withheld: BoolArray, tables: Tables) -> None:
        self.problem = problem
        self.withheld = withheld.astype(np.bool_)
        self.tables = tables
        self._required = required(problem, self.withheld)
        self._widths = self._required.widths
        self._farthest = self._required.farthest
        self._highest, self._lowest = reach(problem, tables)
        self.refuted: BoolArray = self.withheld & problem.wholly_known
        self._leaks = {
            (quantity, int(cell)): (0.0, 0.0)
            for cell in np.flatnonzero(self.refuted)
            for quantity in range(SUMS + len(problem.facts.measures))
            if quantity != UNITS or not problem.units_follow
        }
        """How far the quantities that are too narrow can move down and up, at most."""
        self._asked = self.withheld & ~problem.wholly_known
        self.hopeless = bool(problem.unbounded(self.withheld)) or bool(
            np.any(problem.facts.units < problem.floors(self.withheld))
        )
        own = () if problem.units_follow else (UNITS,)
        self._counts = (RECORDS, *own)
        self._measures = tuple(range(len(problem.facts.measures)))
        self._models: dict[tuple[int, ...], Possibilities] = {}
        self._tried = np.zeros_like(self._widths, dtype=np.bool_)
        self._holed = len(problem.told) > 0
        """Whether a count may be possible that lies beyond one that is not."""
        self._coupled = problem.told.couples(problem.unknown_quantities(self.withheld))

    def run(self, deadline: Deadline) -> None:
        """Find what can be found before the deadline."""
        if self.hopeless or not self.withheld.any():
            return
        self.sweep(deadline)
        while not deadline.over and len(left := self.unsettled()):
            self.settle(int(left[0, 0]), int(left[0, 1]), deadline)

    def narrow(self) -> BoolArray:
        """What is not yet wide enough, shape (2 + measures, cells); known cells are left out."""
        narrow: BoolArray = self._required.unmet(self._highest, self._lowest) & self._asked
        return narrow

    def verdict(self) -> Audit:
        """The finding, its witnesses verified once more as anybody would."""
        witnesses = no_witnesses(self.problem)
        if not self.hopeless:
            tables = needed(self.problem, self.withheld, self.tables)
            witnesses = as_witnesses(self.problem, self.withheld, tables)
        unprotected = verify(self.problem, self.withheld, witnesses)
        if not unprotected.any():
            return Audit(Proof.PROVED, witnesses, unprotected)
        refuted = bool((self.refuted & unprotected).any())
        leaks = tuple(self._leak(*pair) for pair in sorted(self._leaks, key=lambda pair: pair[::-1]))
        return Audit(Proof.REFUTED if refuted else Proof.UNPROVED, witnesses, unprotected, leaks)

    def _leak(self, quantity: int, cell: int) -> Leak:
        """What can be worked out of a quantity that is too narrow."""
        down, up = self._leaks[quantity, cell]
        truth = float(quantities_of(self.problem.facts)[quantity, cell])
        return Leak(cell, quantity, truth - down, truth + up)

    def model(self, *quantities: int) -> Possibilities:
        """The program over these quantities, made once."""
        if quantities not in self._models:
            self._models[quantities] = Possibilities(self.problem, self.withheld, quantities)
        return self._models[quantities]

    def offer(self, moves: list[FloatArray], deadline: Deadline) -> None:
        """Enter moves of counts, deviations of shape (1 or 2, cells), where they prove something.

        Units move as the records where they are not told apart.
        """
        cells = self.model(*self._counts).cells
        told = [move[[0, -1]][: len(self._counts)] for move in moves]
        wholes = [self._whole(move[:, cells].reshape(-1)) for move in told]
        changes = [whole for whole in wholes if whole is not None]
        if not changes:
            return
        tables = self._with_true_sums(np.array(changes))
        agree = agreeing(self.problem, self.withheld, tables)
        self.add(tables.chosen(agree))
        for change in np.array(changes)[~agree] if self._measures else ():
            self._add_counts(change, deadline)

    def _with_true_sums(self, changes: IntArray) -> Tables:
        """Tables with changed counts of the unknown cells, shape (tables, counts of cells), and true sums."""
        cells, problem = self.model(*self._counts).cells, self.problem
        changes = changes.reshape(len(changes), len(self._counts), -1)
        records = np.tile(problem.facts.records, (len(changes), 1))
        units = np.tile(problem.facts.units, (len(changes), 1))
        records[:, cells] += changes[:, 0]
        units[:, cells] += changes[:, -1]
        return Tables(records, units, np.tile(true_sums(problem)[:, None], (1, len(changes), 1)))

    def sweep(self, deadline: Deadline) -> None:
        """Find tables that move as many cells as possible by their width at once."""
        self._sweep_counts(deadline)
        for measure in self._measures:
            self._sweep_sums(measure, deadline)

    def _sweep_counts(self, deadline: Deadline) -> None:
        """Tables that lie a width apart in as many counts as possible, integers where vertices are none."""
        model, width = self.model(*self._counts), float(self.problem.count_width)
        rows, bounds, whole = list(self._counts), model.bounds(), False
        for turn in range(SWEEPS):
            wanted = self.narrow()[rows][:, model.cells]
            if not wanted.any() or deadline.over:
                return
            # Records and units go the same way, as far as tables found already do not reach.
            way = directions(model.size, turn)
            highest, lowest = self._highest[rows][:, model.cells], self._lowest[rows][:, model.cells]
            aims = np.where(wanted, way, 0.0).reshape(-1)
            left = np.where(way > 0, width + lowest, width - highest).reshape(-1)
            left = np.where(aims != 0, left, width)
            progress = self._swept(model, aims, left, bounds, whole, deadline)
            if progress == 0 and not whole:
                whole = True
                progress = self._swept(model, aims, left, bounds, whole, deadline)
            if progress < width * len(rows):
                return

    def _swept(
        self,
        model: Possibilities,
        aims: FloatArray,
        widths: FloatArray,
        bounds: tuple[FloatArray, FloatArray],
        whole: bool,
        deadline: Deadline,
    ) -> float:
        """Enter the table that goes farthest as it is aimed; returns how much wider narrow counts are."""
        moved = model.reach(aims, widths, bounds, deadline, whole)
        changes = None if moved is None else self._whole(moved)
        before = self._spread()
        if changes is not None:
            self._add_counts(changes, deadline)
        return self._spread() - before

    def _spread(self) -> float:
        """How wide all counts are known to be together, none wider than required."""
        rows = list(self._counts)
        wide = np.minimum(self._highest - self._lowest, self._widths)[rows]
        return float(wide[:, self._asked].sum())

    def _add_counts(
        self, moved: IntArray, deadline: Deadline, aimed: tuple[int, FloatArray | None] = (0, None)
    ) -> bool:
        """Enter a table of counts with sums that fit; returns whether it proves anything new.

        `aimed` is a measure, and what to maximise of it.
        """
        if self._coupled:
            return self._add_jointly(moved, aimed, deadline)
        cells, tables = self.model(*self._counts).cells, self._with_true_sums(moved[None])
        for measure in self._measures:
            aim = aimed[1] if measure == aimed[0] else None
            fitting = self._fitting_sums(measure, moved[: len(cells)], aim, deadline)
            if fitting is None:
                return False
            tables.sums[measure, 0, cells] = fitting
        return self.add(tables)

    def _add_jointly(self, moved: IntArray, aimed: tuple[int, FloatArray | None], deadline: Deadline) -> bool:
        """As `_add_counts`, where published ratios tie sums to counts or to each other: all sums at once."""
        model = self._everything()
        lower, upper = model.bounds()
        lower[: len(moved)] = upper[: len(moved)] = moved
        cost, (measure, aim) = np.zeros(len(lower)), aimed
        if aim is not None:
            cost[model.block(SUMS + measure)] = aim
        values = model.maximise(cost, (lower, upper), deadline)
        if values is None:
            return False
        values = model.polished(values, lower, upper)
        tables = self._with_true_sums(moved[None])
        for number in self._measures:
            sums = values[model.block(SUMS + number)] * model.scales[number]
            tables.sums[number, 0, model.cells] += sums
        return self.add(tables)

    def _fitting_sums(
        self, measure: int, moved: IntArray, aim: FloatArray | None, deadline: Deadline
    ) -> FloatArray | None:
        """Sums of the unknown cells that go with changed records: the true ones if nothing is aimed at."""
        model = self.model(SUMS + measure)
        truth = self.problem.facts.measures[measure].sums[model.cells]
        lower, upper = model.bounds(moved)
        if aim is None and np.all((lower <= 0) & (upper >= 0)):
            return truth
        cost = np.zeros(len(moved)) if aim is None else aim
        if aim is not None:
            limit = 2 * (1 + MARGIN) * self._farthest[SUMS + measure, model.cells] / model.scales[measure]
            near = (aim != 0) & (not self._holed)
            lower = np.where(near, np.maximum(lower, -limit), lower)
            upper = np.where(near, np.minimum(upper, limit), upper)
        values = model.maximise(cost, (lower, upper), deadline)
        return (
            None if values is None else truth + model.polished(values, lower, upper) * model.scales[measure]
        )

    def _sweep_sums(self, measure: int, deadline: Deadline) -> None:
        """Tables with the true counts and other sums."""
        model = self.model(SUMS + measure)
        widths = (1 + MARGIN) * self._farthest[SUMS + measure, model.cells] / model.scales[measure]
        bounds, stale = model.bounds(), 0
        for turn in range(SWEEPS):
            wanted = self.narrow()[SUMS + measure][model.cells]
            if not wanted.any() or stale >= STALE or deadline.over:
                return
            side = self._required.sides(self._highest, self._lowest)[SUMS + measure][model.cells]
            aims = np.where(wanted, np.where(side != 0, side, directions(len(wanted), turn)), 0.0)
            values = model.reach(aims, widths, bounds, deadline)
            found = values is not None and self._add_sums(model, measure, values)
            stale = 0 if found else stale + 1

    def _add_sums(self, model: Possibilities, measure: int, values: FloatArray) -> bool:
        """Enter a table with the true counts and a measure's sums moved, in the program's units."""
        facts, sums = self.problem.facts, true_sums(self.problem)
        sums[measure, model.cells] += model.polished(values, *model.bounds()) * model.scales[measure]
        return self.add(Tables(facts.records[None], facts.units[None], sums[:, None]))

    def add(self, tables: Tables) -> bool:
        """Enter tables that agree with what is known and widen a narrow cell; whether that proves one."""
        if len(tables) == 0 or not np.all(agreeing(self.problem, self.withheld, tables)):
            return False
        narrow, added = self.narrow(), np.zeros(len(tables), dtype=np.bool_)
        for table in range(len(tables)):
            highest, lowest = reach(self.problem, tables.chosen(np.array([table])))
            highest, lowest = np.maximum(self._highest, highest), np.minimum(self._lowest, lowest)
            if np.any((highest - lowest > self._highest - self._lowest)[self.narrow()]):
                added[table], self._highest, self._lowest = True, highest, lowest
        self.tables = self.tables.joined(tables.chosen(added))
        return bool(np.any(narrow & ~self.narrow()))

    def unsettled(self) -> IntArray:
        """What is narrow and was not tried yet, as pairs (quantity, cell)."""
        pairs: IntArray = np.argwhere(self.narrow() & ~self._tried & ~self.refuted)
        return pairs

    def refute(self, cells: BoolArray, ranges: tuple[FloatArray, FloatArray]) -> None:
        """Enter withheld cells of which the records are known to be too narrow, shape (cells,).

        `ranges` are the least and the greatest deviation of each cell's records.
        """
        self.refuted |= cells & self.withheld
        lower, upper = ranges
        for cell in np.flatnonzero(cells & self.withheld).tolist():
            self._leaks.setdefault((RECORDS, cell), (-float(lower[cell]), float(upper[cell])))

    def settle(self, quantity: int, cell: int, deadline: Deadline, integers: bool = True) -> None:
        """Try to prove one quantity of one cell, or show that it is too narrow, by integers too if told."""
        self._tried[quantity, cell] = True
        stages = [stage for stage in self._stages(quantity) if integers or not stage[1]]
        if self._too_narrow_at(quantity, cell, stages, deadline):
            self.refuted[cell] = True

    def _stages(self, quantity: int) -> list[tuple[Possibilities, bool]]:
        """Programs that settle a quantity, each with whether counts must be integers; the quick one first."""
        counts = self.model(*self._counts)
        if not self._measures:
            return [(counts, False), (counts, True)]
        whole = self._everything()
        if quantity < SUMS:
            return [(counts, False), (whole, False), (whole, True)]
        return [(self.model(quantity), False), (whole, False), (whole, True)]

    def _everything(self) -> Possibilities:
        """The program over counts and all measures."""
        return self.model(*self._counts, *(SUMS + measure for measure in self._measures))

    def _too_narrow_at(
        self, quantity: int, cell: int, stages: list[tuple[Possibilities, bool]], deadline: Deadline
    ) -> bool:
        """Try to widen one quantity of one cell; returns whether a stage shows that to be impossible.

        The first stage of a sum leaves all counts as they are, so that what it shows is not the last word.
        """
        for model, integers in stages:
            if quantity >= SUMS and RECORDS in model.quantities and not integers:
                self._refit(quantity - SUMS, cell, deadline)
            ends, farther = [], False
            for direction in (1.0, -1.0):
                if not self.narrow()[quantity, cell]:
                    return False
                bounds, cost = self._aim_at(model, quantity, cell, direction)
                if integers and self._holed:
                    farther |= not self._widen(model, bounds, cost, deadline)
                values = (model.maximise_integer if integers else model.maximise)(cost, bounds, deadline)
                if values is None:
                    return False
                ends.append(float(cost @ values))
                farther |= self._may_go_farther(model, values, integers)
                found = len(self.tables)
                self._enter(model, values, quantity, cost, deadline)
                if len(self.tables) == found and not integers:
                    self._move(model, quantity, cell, direction * ends[-1], deadline)
            if not self.narrow()[quantity, cell]:
                return False
            last_word = len(stages) == 1 or RECORDS in model.quantities
            if last_word and not farther and self._shows_narrow(model, quantity, cell, ends):
                self._leaks[quantity, cell] = self._in_full(model, quantity, ends)
                return True
        return False

    def _refit(self, measure: int, cell: int, deadline: Deadline) -> None:
        """Move a sum as far as it goes beside the counts of the tables with most and fewest records there."""
        model = self.model(SUMS + measure)
        order = np.argsort(self.tables.records[:, cell], kind="stable")
        tables = self.tables.chosen(order[[-1, 0]] if len(order) else order)
        aim = np.zeros(model.size)
        for records, units in zip(tables.records, tables.units, strict=True):
            changes = [records - self.problem.facts.records, units - self.problem.facts.units]
            moved = np.concatenate([change[model.cells] for change in changes[: len(self._counts)]])
            for direction in (1.0, -1.0):
                if self.narrow()[SUMS + measure, cell]:
                    aim[np.searchsorted(model.cells, cell)] = direction
                    self._add_counts(moved, deadline, aimed=(measure, aim))

    def _move(self, model: Possibilities, quantity: int, cell: int, step: float, deadline: Deadline) -> None:
        """Move a count of a cell by the whole part of a step, and all others as little as possible.

        A vertex of few moves is integer as a rule where that of any others is not.
        """
        step = float(np.trunc(step + np.sign(step) * INTEGRAL))
        if quantity >= SUMS or step == 0:
            return
        lower, upper = model.bounds()
        column = model.block(quantity).start + int(np.searchsorted(model.cells, cell))
        lower[column] = upper[column] = step
        found = len(self.tables)
        for turn in range(TURNS):
            # Costs that differ lead to other vertices where the first is none of integers.
            costs = 1.0 + 0.5 * turn * directions(len(lower), turn)
            values = model.cheapest(np.maximum(costs, 0.1), (lower, upper), deadline)
            if values is not None:
                self._enter(model, values, quantity, np.zeros(len(values)), deadline)
            if values is None or len(self.tables) > found:
                return

    def _aim_at(
        self, model: Possibilities, quantity: int, cell: int, direction: float
    ) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
        """Bounds and cost for one end of one cell; no farther than it needs to go."""
        lower, upper = model.bounds()
        column = model.block(quantity).start + int(np.searchsorted(model.cells, cell))
        width = self._width(model, quantity, cell)
        lower[column], upper[column] = max(lower[column], -width), min(upper[column], width)
        cost = np.zeros(len(lower))
        cost[column] = direction
        return (lower, upper), cost

    def _widen(
        self,
        model: Possibilities,
        bounds: tuple[FloatArray, FloatArray],
        cost: FloatArray,
        deadline: Deadline,
    ) -> bool:
        """Let a column go as far as real numbers go, in place: whole ones may reach that, and nothing before.

        Returns whether they end anywhere; if not it may go on beyond what is looked at.
        """
        values = model.maximise(cost, model.bounds(), deadline)
        if values is None or model.at_search_bound(values):
            return False
        column, end = int(np.flatnonzero(cost)[0]), float(cost @ values)
        if cost[column] > 0:
            bounds[1][column] = max(bounds[1][column], np.ceil(end))
        else:
            bounds[0][column] = min(bounds[0][column], -np.ceil(end))
        return True

    def _width(self, model: Possibilities, quantity: int, cell: int) -> float:
        """As far as a quantity of a cell need move, in the units of the program's columns."""
        if quantity < SUMS:
            return float(self.problem.count_width)
        return (1 + MARGIN) * float(self._farthest[quantity, cell]) / model.scales[quantity - SUMS]

    def _shows_narrow(self, model: Possibilities, quantity: int, cell: int, ends: list[float]) -> bool:
        """Whether the greatest moves up and down together are less than the width, or one than its level."""
        if quantity < SUMS:
            return sum(float(np.floor(end + INTEGRAL)) for end in ends) < float(self.problem.count_width)
        place, scale = (quantity, cell), model.scales[quantity - SUMS]
        need = self._required
        width = (1 + MARGIN) * float(need.widths[place]) / scale
        levels = [float(side[place]) / scale * (1 - MARGIN) for side in (need.above, need.below)]
        return sum(ends) < width * (1 - 2 * MARGIN) or any(np.array(ends) < levels)

    def _may_go_farther(self, model: Possibilities, values: FloatArray, integers: bool) -> bool:
        """Whether a best table may be best only because sums are searched within narrower bounds than known.

        Real numbers could only go on from such a bound; of integers nothing follows from where they are.
        """
        if integers:
            measures = [quantity - SUMS for quantity in model.quantities if quantity >= SUMS]
            return not all(record_bounds(self.problem, measure)[2] for measure in measures)
        return model.at_search_bound(values)

    def _in_full(self, model: Possibilities, quantity: int, ends: list[float]) -> tuple[float, float]:
        """Greatest moves down and up: whole numbers of counts, and sums in their own units."""
        up, down = ends
        if quantity < SUMS:
            return float(np.floor(down + INTEGRAL)), float(np.floor(up + INTEGRAL))
        scale = model.scales[quantity - SUMS]
        return max(down, 0.0) * scale, max(up, 0.0) * scale

    def _enter(
        self, model: Possibilities, values: FloatArray, quantity: int, cost: FloatArray, deadline: Deadline
    ) -> None:
        """Enter a solution for one quantity, if its counts are integers."""
        if RECORDS not in model.quantities:
            self._add_sums(model, quantity - SUMS, values)
            return
        counts = self._whole(values[: len(self._counts) * model.size])
        if counts is not None:
            aim = cost[model.block(quantity)] if quantity >= SUMS else None
            self._add_counts(counts, deadline, aimed=(quantity - SUMS, aim))

    def _whole(self, moved: FloatArray) -> IntArray | None:
        """Moves of all counts as integers, or None. Units alone that are none are moved as the records.

        Fractions are multiplied out where that is possible: what cancels out does so many times over.
        """
        records = slice(len(moved) // len(self._counts))
        for times in MULTIPLES:
            near = np.rint(times * moved)
            integral = np.abs(times * moved - near) <= times * INTEGRAL
            if integral.all():
                return near.astype(np.int64)
            if integral[records].all():
                return np.tile(near[records], len(self._counts)).astype(np.int64)
        return None


def directions(count: int, turn: int) -> FloatArray:
    """Ups and downs that differ from turn to turn, the same in every run: 1 or -1, shape (count,)."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64((2 * turn + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.where((mixed >> np.uint64(61)) & np.uint64(1), 1.0, -1.0)
