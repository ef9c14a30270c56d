"""Inequalities that every pattern of withheld cells obeys, from the duals of the intruder's linear programs.

How far a cell can move under a pattern is a linear program whose right-hand sides are the pattern, so that
any of its duals bounds it by a sum over the withheld cells: the capacity inequalities of Fischetti and
Salazar (Management Science 47, 2001), their coefficients cut down to what is required, as x is 0 or 1.
Each quantity is looked at alone, as real numbers, with the bounds that follow for it whatever the others
are: that leaves something out, so that what the inequalities bound from below is below the truth.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.problem import SMALLEST_WIDTH, Problem
from sdcgate.methods.tables.quantities import RECORDS, SUMS, UNITS
from sdcgate.methods.tables.solver import INFINITY, Deadline, Program, Rows

DENOMINATOR = 24
"""Duals are rounded to fractions of this: any dual bounds, and whole numbers add up without an error."""
SPARE, LEAST_SPARE = 0.0, 1e-7
"""Share of what is required that a published cell may move in the search, so that duals spare cells that are
not needed; for shares of withheld cells, and for patterns."""
VIOLATED = 1e-4
"""By how much a pattern must break an inequality to be told it; it says at least 1."""
CARE = 1e-2
"""Share of a required width of sums that is not asked for, as witnesses may err by less."""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """If `cell` is withheld, `values` of the withheld among `cells` sum to at least 1."""

    cell: int
    cells: IntArray = field(repr=False)
    values: FloatArray = field(repr=False)


class Attacker:
    """The intruder's programs of one quantity, and the cuts that their duals give.

    `candidates` may be withheld beside the unsafe cells; both shape (cells,).
    """

    def __init__(self, problem: Problem, unsafe: BoolArray, candidates: BoolArray, quantity: int) -> None:
        self.quantity = quantity
        always = unsafe | problem.absent
        free = (always | candidates) & ~problem.known_quantities[quantity]
        self.cells: IntArray = np.flatnonzero(free)
        self._always = always[self.cells]
        self._asked = (unsafe | candidates)[self.cells] & ~problem.absent[self.cells]
        scale = problem.scale(quantity - SUMS, free) if quantity >= SUMS else 1.0
        self._above, self._below = (ends[self.cells] / scale for ends in _reach(problem, unsafe, quantity))
        self.needs = tuple(need[self.cells] / scale for need in _requirements(problem, quantity))
        """Width, and levels above and below, shape (free cells,) each."""
        of = problem.equations_of(quantity)
        place = np.full(len(problem.facts), -1, dtype=np.int64)
        place[self.cells] = np.arange(len(self.cells))
        kept = place[of.cells] >= 0
        used, self._row = np.unique(of.rows[kept], return_inverse=True)
        self._column, self._sign = place[of.cells[kept]], of.signs[kept]
        self._rows = len(used)
        rows = Rows()
        rows.start(np.zeros(self._rows), np.zeros(self._rows))
        rows.put(self._row, self._column, self._sign)
        self._program = Program(rows, len(self.cells), primal=True)
        # Bounds and costs change from cell to cell. Networks, cells of at most two sums, are mended fast from
        # the last basis; others are sooner begun by what is feasible already.
        self.network = bool(np.all(np.bincount(self._column, minlength=1) <= 2))
        self._ends_program = Program(rows, len(self.cells), primal=not self.network)

    def fractional_cuts(self, shares: FloatArray, deadline: Deadline) -> list[Cut]:
        """Cuts that shares of withheld cells break, shape (cells,), none of which the pattern need be.

        What is looked at is the difference of two tables, no cell of which need differ by more than required;
        first in single sums, which take no program.
        """
        held = np.where(self._always, 1.0, shares[self.cells])
        found = self._cuts_of_sums(held, deadline)
        if found:
            return found
        settled = np.zeros(len(self.cells), dtype=np.bool_)
        room = self._above + self._below
        for place in np.flatnonzero(self._asked & (held > VIOLATED) & (self.needs[0] > 0)):
            if settled[place] or deadline.over:
                continue
            need = float(self.needs[0][place])
            ends = np.minimum(room, need) * np.where(self._always, 1.0, held + SPARE)
            most = min(need, float(room[place]))
            moved, duals = self._farthest(self._program, int(place), 1.0, most, (-ends, ends), deadline)
            if moved is None or duals is None:
                continue
            if self.quantity < SUMS:
                settled |= np.abs(moved) >= (1 - VIOLATED) * need * held
            cost = self._reduced(int(place), 1.0, duals)
            cut = self._cut(int(place), need, _priced(np.abs(cost), room), held)
            found += [cut] if cut else []
        return found

    def cuts_of_ends(self, shares: FloatArray, deadline: Deadline) -> list[Cut]:
        """Cuts that shares of withheld cells break, shape (cells,), by how far each cell can go up and down.

        They say more than differences where cells can go farther up than down, and take two programs each.
        """
        held = np.where(self._always, 1.0, shares[self.cells])
        widest = max(float(need.max(initial=0.0)) for need in self.needs)
        ends = -np.minimum(self._below, widest) * held, np.minimum(self._above, widest) * held
        return self._two_sided(held, ends, self._ends_program, VIOLATED, deadline)

    def cuts(self, withheld: BoolArray, deadline: Deadline) -> list[Cut]:
        """Cuts that a pattern breaks, shape (cells,): none if real numbers do not speak against it."""
        held = np.where(self._always | withheld[self.cells], 1.0, 0.0)
        found = self._cuts_of_sums(held, deadline)
        spare = LEAST_SPARE * max(float(need.max(initial=0.0)) for need in self.needs)
        ends = (
            -np.where(held > 0, self._below, np.minimum(spare, self._below)),
            np.where(held > 0, self._above, np.minimum(spare, self._above)),
        )
        return found + self._two_sided(held, ends, self._program, 0.0, deadline)

    def _two_sided(
        self,
        held: FloatArray,
        ends: tuple[FloatArray, FloatArray],
        program: Program,
        least: float,
        deadline: Deadline,
    ) -> list[Cut]:
        """Cuts of what is asked of each cell of which more than `least` is held, by its ends."""
        found: list[Cut] = []
        reached = np.zeros((2, len(self.cells)))
        for place in np.flatnonzero(self._asked & (held > least)):
            width, above, below = (float(need[place]) for need in self.needs)
            reach, share = reached[:, place], float(held[place]) * (1 - VIOLATED * (held[place] < 1))
            met = reach.sum() >= share * width and reach[0] >= share * above and reach[1] >= share * below
            if met or deadline.over or not max(width, above, below):
                continue
            priced = []
            for direction, room in ((1.0, self._above), (-1.0, self._below)):
                most = min(max(width, above, below), float(room[place]))
                moved, duals = self._farthest(program, int(place), direction, most, ends, deadline)
                if moved is None or duals is None:
                    break
                reached[0], reached[1] = np.maximum(reached[0], moved), np.maximum(reached[1], -moved)
                cost = self._reduced(int(place), direction, duals)
                up, down = np.maximum(cost, 0.0), np.maximum(-cost, 0.0)
                priced.append(_priced(up, self._above) + _priced(down, self._below))
            if len(priced) == 2:
                asked = ((width, priced[0] + priced[1]), (above, priced[0]), (below, priced[1]))
                some = [self._cut(int(place), need, prices, held) for need, prices in asked if need > 0]
                found += [cut for cut in some if cut]
        return found

    def _cuts_of_sums(self, held: FloatArray, deadline: Deadline) -> list[Cut]:
        """A withheld cell must have others in each of its sums: those of these cuts that the shares break."""
        room = self._above + self._below
        moving = np.where(room > 0, held, 0.0)[self._column]
        others = np.bincount(self._row, weights=moving, minlength=self._rows)[self._row] - moving
        asked = (self._asked & (self.needs[0] > 0))[self._column]
        found: list[Cut] = []
        for entry in np.flatnonzero(asked & (others < held[self._column] - VIOLATED)):
            if deadline.over:
                break
            place, duals = int(self._column[entry]), np.zeros(self._rows, dtype=np.int64)
            duals[self._row[entry]] = DENOMINATOR * self._sign[entry]
            cost = np.abs(self._reduced(place, 1.0, duals))
            cut = self._cut(place, float(self.needs[0][place]), _priced(cost, room), held)
            found += [cut] if cut else []
        return found

    def _farthest(
        self,
        program: Program,
        place: int,
        direction: float,
        most: float,
        ends: tuple[FloatArray, FloatArray],
        deadline: Deadline,
    ) -> tuple[FloatArray | None, IntArray | None]:
        """The move that takes a cell farthest, but no farther than `most`, and its duals in 24ths."""
        lower, upper = ends[0].copy(), ends[1].copy()
        lower[place], upper[place] = (0.0, most) if direction > 0 else (-most, 0.0)
        cost = np.zeros(len(self.cells))
        cost[place] = direction
        moved = program.maximise(cost, lower, upper, deadline)
        if moved is None:
            return None, None
        return moved, np.rint(DENOMINATOR * program.prices).astype(np.int64)

    def _reduced(self, place: int, direction: float, duals: IntArray) -> FloatArray:
        """What a step of each cell adds to the bound, exactly."""
        cost = np.zeros(len(self.cells), dtype=np.int64)
        cost[place] = DENOMINATOR * int(direction)
        np.subtract.at(cost, self._column, self._sign * duals[self._row])
        return cost / DENOMINATOR

    def _cut(self, place: int, need: float, priced: FloatArray, held: FloatArray) -> Cut | None:
        """The cut of what each withheld cell adds, if it is one and the shares break it."""
        least = need - float(priced[self._always].sum())
        others = ~self._always
        if not self._always[place]:
            least -= float(priced[place])
            others[place] = False
        if not least > VIOLATED * need:
            return None
        others &= priced > 0
        values = np.minimum(priced[others] / least, 1.0)
        if values @ held[others] >= held[place] - VIOLATED:
            return None
        return Cut(int(self.cells[place]), self.cells[others], values)


def attackers(problem: Problem, unsafe: BoolArray, candidates: BoolArray) -> list[Attacker]:
    """Those of every quantity that has to be proved and adds up, be it along some axes."""
    sums = range(SUMS, SUMS + len(problem.facts.measures))
    own_units = len(problem.unit_equations) > 0 and not problem.units_follow
    quantities = (RECORDS, *((UNITS,) if own_units else ()), *sums)
    found = [Attacker(problem, unsafe, candidates, quantity) for quantity in quantities]
    return [one for one in found if any(need.any() for need in one.needs)]


def _priced(costs: FloatArray, room: FloatArray) -> FloatArray:
    """Costs times room, which may be infinite; nothing where there is no cost."""
    return np.multiply(costs, room, out=np.zeros_like(room), where=costs > 0)


def _reach(problem: Problem, unsafe: BoolArray, quantity: int) -> tuple[FloatArray, FloatArray]:
    """How far a quantity of a withheld cell can be above and below the truth, at most; (cells,) each."""
    facts = problem.facts
    floors = problem.floors(~problem.absent | unsafe)
    endless = np.full(len(facts), INFINITY)
    if quantity < SUMS:
        truth = facts.records if quantity == RECORDS else facts.units
        return endless, np.maximum(truth - floors, 0).astype(np.float64)
    measure = facts.measures[quantity - SUMS]
    counted = problem.known_quantities[RECORDS]
    least = np.maximum(floors - problem.missing(quantity - SUMS), 0)
    ends = []
    for bound, sign in ((measure.upper_bound, 1.0), (measure.lower_bound, -1.0)):
        far = endless.copy()
        if bound is not None:
            # Where records are not known their least number bounds only what does not grow with them.
            grows = sign * bound > 0
            valid = np.where(counted, measure.valid_records, least)
            with np.errstate(over="ignore"):
                end = np.maximum(sign * (bound * valid - measure.sums), 0.0)
            far = np.where(counted | (not grows), end, INFINITY)
        ends.append(far)
    return ends[0], ends[1]


def _requirements(problem: Problem, quantity: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What is required of a quantity of each cell at least, whatever the pattern: width, above, below."""
    nothing = np.zeros(len(problem.facts))
    known = problem.known_quantities[quantity]
    if quantity < SUMS:
        width = np.where(known, 0.0, float(problem.count_width))
        return width, nothing, nothing
    measure = quantity - SUMS
    sizes = np.abs(problem.facts.measures[measure].sums)
    width = (1 - CARE) * max(problem.sum_width, SMALLEST_WIDTH) * sizes
    # Levels are lowered by a share of the largest unknown sum, which is one of these.
    lowered = SMALLEST_WIDTH * max(sizes.max(initial=0.0), problem.scale(measure, np.ones_like(known)))
    sides = [
        nothing if levels is None else np.maximum((1 - CARE) * levels[measure] - lowered, 0.0)
        for levels in (problem.upper_levels, problem.lower_levels)
    ]
    return (np.where(known, 0.0, width), *(np.where(known, 0.0, side) for side in sides))  # type: ignore[return-value]
