"""Proof over all variables at once: complete tables that agree with everything that ever left.

The joint audit looks at every joint code of few variables. Of all variables there are too many; here only
some joint codes have people: those that occur together in the data, which agree with everything as they are,
and others that the prices of the linear programs ask for (columns as they are needed: Gilmore and Gomory,
Operations Research 9, 1961). That nobody has the others is more than an intruder knows. So what is wide here
is wide for him, whatever he combines; of what is not nothing is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.boxes import Box, bits
from sdcgate.methods.tables.combinations import Combinations
from sdcgate.methods.tables.directions import directions
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals
from sdcgate.methods.tables.joint_reduction import Subtracted, everything_of, subtracted
from sdcgate.methods.tables.joint_search import rows_of
from sdcgate.methods.tables.joint_system import (
    TOLERANCE,
    JointSystem,
    Sums,
    distance,
    first_alike,
    summed,
    with_lacking,
)
from sdcgate.methods.tables.solver import Deadline, Program

MOST_ENTRIES = 20_000_000
"""Beyond so many combinations in published boxes, each counted in every box, nothing is tried."""
ROUNDS = 12
IDLE = 3
"""After so many rounds that neither settled anything nor found a column it is over."""
SWEEPS = 4
"""Programs of a round, every second the other way."""
FEW = 10
"""So many secrets are moved one by one."""
MOVED, CHANGED = 60, 40_000
"""Combinations tried as columns in a round: for each secret that is left, and beside."""
MOST_NEW = 4_000
PRICED = 20
"""Secrets, of those that are narrow within some combinations, of which it is asked why."""


@dataclass(frozen=True, slots=True, eq=False)
class Everything:
    """All that has left of one quantity, whatever variables it takes."""

    published: Mapping[Box, float] = field(repr=False)
    """Boxes with their amounts."""
    limits: Mapping[Box, float] = field(repr=False)
    """Other boxes with the most that they may have."""
    secrets: Sequence[Box] = field(repr=False)
    widths: FloatArray = field(repr=False)
    """How far apart two values of each secret must be able to lie, shape (secrets,)."""
    floor: float | FloatArray = 0.0
    """What everybody knows withheld boxes to have at least, all or each, those that are no secrets last."""
    withheld: Sequence[Box] = ()
    """These others."""
    room: float = 0.0
    """By how much published amounts may be off; 0 for counts."""


def wide_over_everything(
    known: Everything,
    occurring: Combinations,
    rng: np.random.Generator,
    deadline: Deadline,
    held: FloatArray | None = None,
) -> BoolArray:
    """Secrets of which two complete tables show that they can be two values a width apart; (secrets,).

    Args:
        known: all that has left.
        occurring: the combinations that people have. Boxes may restrict these variables only.
        rng: draws the further combinations that are tried.
        deadline: what is not shown by then is not.
        held: what has each of the combinations in truth, shape (combinations,), where it is known: a search
            begins with it then, and tells secrets one by one; else all are moved at once.
    """
    search = _Search(known, deadline)
    pool, held = search.possible(occurring, held)
    idle = 0
    for turn in range(ROUNDS):
        system = search.system(pool, held)
        before = np.count_nonzero(search.open)
        if system is None or not len(system.columns) or not before or deadline.over:
            break
        prices = search.sweep(system, turn) if held is None else search.settle(system.original, rng)
        if not prices:
            break
        own = pool.of(system.columns)
        pool = search.priced(own, prices, rng)
        if system.original.held is not None:
            # Of its columns the combinations come first; of those that are new nobody has any.
            held = np.zeros(len(pool.codes))
            held[: len(own.codes)] = system.original.held[: len(own.codes)]
        nothing = np.count_nonzero(search.open) == before and len(pool.codes) == len(own.codes)
        idle = idle + 1 if nothing else 0
        if idle == IDLE:
            break
    return ~search.open


@dataclass(frozen=True, slots=True, eq=False)
class _System:
    """A program over some combinations."""

    subtracted: Subtracted
    columns: IntArray
    """The combinations that are its columns: one of all that lie in the same boxes."""
    original: JointSystem


@dataclass(frozen=True, slots=True, eq=False)
class _Prices:
    weights: FloatArray
    """By which withheld boxes were moved, shape (withheld,)."""
    prices: FloatArray
    """Of published boxes, shape (published,)."""


class _Search:
    def __init__(self, known: Everything, deadline: Deadline) -> None:
        self._known, self._deadline = known, deadline
        self._shown = [*(box for box, amount in known.published.items() if amount), *known.limits]
        self._empty = [box for box, amount in known.published.items() if not amount]
        amounts = [amount for amount in known.published.values() if amount]
        self._amounts = np.array([*amounts, *known.limits.values()], dtype=np.float64)
        self._hidden = [*known.secrets, *known.withheld]
        self._floors = np.broadcast_to(np.asarray(known.floor, dtype=np.float64), (len(self._hidden),))
        self._lowest = np.full(len(known.secrets), np.inf)
        self._highest = np.full(len(known.secrets), -np.inf)
        self._shown_wide = np.zeros(len(known.secrets), dtype=np.bool_)

    @property
    def open(self) -> BoolArray:
        """Secrets that have not been seen far enough apart, shape (secrets,)."""
        apart = distance(self._lowest, self._highest, self._known.room == 0.0)
        close: BoolArray = (apart < self._known.widths) & ~self._shown_wide
        return close

    def possible(
        self, pool: Combinations, held: FloatArray | None = None
    ) -> tuple[Combinations, FloatArray | None]:
        """Those that no published zero empties, each once, and what has each of these."""
        codes, place = np.unique(pool.codes, axis=0, return_inverse=True)
        pool, possible = replace(pool, codes=codes), np.ones(len(codes), dtype=np.bool_)
        for box in self._empty:
            possible &= ~pool.inside(box)
        if held is None:
            return pool.of(possible), None
        return pool.of(possible), summed(held, place.reshape(-1), len(codes))[possible]

    def system(self, pool: Combinations, held: FloatArray | None = None) -> _System | None:
        """The program over some combinations; None where it is too large. `held` is what has each."""
        rows, columns = pool.entries([*self._shown, *self._hidden])
        if len(rows) > MOST_ENTRIES:
            return None
        first = first_alike(rows, columns, len(pool.codes))
        chosen = first == np.arange(len(first))
        kept, place = chosen[columns], np.cumsum(chosen) - 1
        rows, columns, size = rows[kept], place[columns[kept]], int(chosen.sum())
        shown, lacking = rows < len(self._shown), np.arange(len(self._known.limits))
        first_limit = len(self._shown) - len(lacking)
        # What a limited box lacks of the most that it may have is an amount by itself.
        sums = Sums(
            np.concatenate([rows[shown], first_limit + lacking]),
            np.concatenate([columns[shown], size + lacking]),
            (len(self._shown), size + len(lacking)),
        )
        hidden = Sums(rows[~shown] - len(self._shown), columns[~shown], (len(self._hidden), sums.shape[1]))
        people = None
        if held is not None:
            people = summed(held, np.where(first < 0, -1, place[first]), size)
            limits = self._known.limits
            people = with_lacking(people, rows[shown], columns[shown], first_limit, limits)
        original = JointSystem(tuple(self._shown), self._amounts, sums, hidden, self._known.room, held=people)
        return _System(subtracted(original), np.flatnonzero(chosen), original)

    def settle(self, system: JointSystem, rng: np.random.Generator) -> list[_Prices]:
        """Note which secrets are wide though nobody has other combinations; the prices by which some are not.

        It begins with what is true.
        """
        others = len(self._known.withheld)
        asked = np.append(self.open, np.zeros(others, dtype=np.bool_))
        widths = np.append(self._known.widths, np.zeros(others))
        somebody = np.bincount(system.secret.rows, minlength=len(asked)) > 0
        if (self._floors[~somebody] > 0).any():
            # Nobody can be in a box that everybody knows not to be empty.
            return []
        question = replace(everything_of(system), asked=asked)
        found = joint_bounds(system, widths, self._floors, self._deadline, question)
        wide = asked & ~(found.narrow | found.unproved | found.supposed)
        self._shown_wide |= wide[: len(self.open)]
        narrow = np.flatnonzero(found.narrow)
        if not len(narrow):
            return []
        few = np.zeros_like(asked)
        few[rng.permutation(narrow)[:PRICED]] = True
        told = joint_intervals(system, widths, self._floors, self._deadline, few)
        return [
            _Prices(sign * (np.arange(len(asked)) == secret), prices)
            for secret, both in told.used.items()
            for sign, prices in zip((1.0, -1.0), both, strict=True)
        ]

    def sweep(self, system: _System, turn: int) -> list[_Prices]:
        """Move what is open, up and down; the prices of each time. None where a program failed.

        What a program says counts only if it keeps to all that is known.
        """
        smaller = system.subtracted.system
        program = Program(rows_of(smaller, self._floors), smaller.columns, primal=True)
        least = np.zeros(smaller.columns)
        # Known sums are to bound the columns, so that their prices tell what does; others lie far away.
        far = 10.0 * (self._amounts.max(initial=1.0) + self._known.widths.max(initial=0.0))
        most = np.full(smaller.columns, far)
        found: list[_Prices] = []
        few = np.count_nonzero(self.open) <= FEW
        for step in range(2 * FEW if few else SWEEPS):
            if not self.open.any():
                break
            weights = self._way(turn, step)
            values = program.from_inside(
                smaller.secret.spread(weights), least, most, self._deadline, corner=False
            )
            if values is None or not self._agrees(smaller, values):
                return []
            self._note(system.original.secret.of(values))
            prices = system.subtracted.prices(program.prices[: len(self._shown)])
            found.append(_Prices(weights, prices))
        return found

    def _way(self, turn: int, step: int) -> FloatArray:
        """In which direction each withheld box is moved, shape (withheld,): 1, -1, or 0."""
        weights, still = np.zeros(len(self._hidden)), np.flatnonzero(self.open)
        if len(still) <= FEW:
            weights[still[step // 2 % len(still)]] = 1.0
        else:
            weights[still] = directions(len(self._hidden), turn * SWEEPS + step // 2)[still]
        return -weights if step % 2 else weights

    def _agrees(self, system: JointSystem, values: FloatArray) -> bool:
        """Whether a solution keeps to all that is known."""
        least = min(values.min(initial=0.0), (system.secret.of(values) - self._floors).min(initial=0.0))
        off = np.abs(system.known.of(values) - system.counts).max(initial=0.0)
        return bool(least >= -TOLERANCE and off <= TOLERANCE + self._known.room)

    def _note(self, amounts: FloatArray) -> None:
        """Note what secrets amount to in a solution."""
        asked = amounts[: len(self._known.secrets)]
        self._lowest = np.minimum(self._lowest, asked)
        self._highest = np.maximum(self._highest, asked)

    def priced(self, pool: Combinations, prices: Sequence[_Prices], rng: np.random.Generator) -> Combinations:
        """The combinations and more of them, by which secrets may be moved further."""
        tried, _ = self.possible(self._tried(pool, rng))
        # What each would add to what a program moved, less what it takes from what is known.
        worth = np.zeros((len(prices), len(tried.codes)))
        for place, box in enumerate(self._shown):
            cost = np.array([one.prices[place] for one in prices])
            if np.abs(cost).max() > TOLERANCE:
                worth[:, tried.inside(box)] -= cost[:, None]
        for place, box in enumerate(self._known.secrets):
            gain = np.array([one.weights[place] for one in prices])
            if gain.any():
                worth[:, tried.inside(box)] += gain[:, None]
        best = worth.max(axis=0)
        order = np.argsort(-best, kind="stable")[:MOST_NEW]
        new = tried.codes[order[best[order] > TOLERANCE]]
        return replace(pool, codes=np.concatenate([pool.codes, new]))

    def _tried(self, pool: Combinations, rng: np.random.Generator) -> Combinations:
        """Combinations moved into the boxes that are open, changed within them, and changed anywhere."""
        tried = [_changed(pool.codes[rng.integers(0, len(pool.codes), CHANGED)], pool, rng)]
        for place in np.flatnonzero(self.open).tolist():
            box = self._known.secrets[place]
            tried.append(_moved(pool.codes[rng.integers(0, len(pool.codes), MOVED)], pool, box, rng))
            within = np.flatnonzero(pool.inside(box))
            if len(within):
                tried.append(_changed(pool.codes[rng.choice(within, MOVED)], pool, rng))
        return replace(pool, codes=np.concatenate(tried))


def _changed(codes: IntArray, pool: Combinations, rng: np.random.Generator) -> IntArray:
    """Combinations with one variable's code taken from another combination."""
    found, rows = codes.copy(), np.arange(len(codes))
    variable = rng.integers(0, len(pool.variables), len(codes))
    found[rows, variable] = pool.codes[rng.integers(0, len(pool.codes), len(codes)), variable]
    return found


def _moved(codes: IntArray, pool: Combinations, box: Box, rng: np.random.Generator) -> IntArray:
    """Combinations with codes of a box in place of others."""
    found = codes.copy()
    for name, mask in box:
        column = found[:, pool.variables.index(name)]
        flags = bits(mask, max(mask.bit_length(), int(column.max(initial=0)) + 1))
        outside = np.flatnonzero(~flags[column])
        column[outside] = rng.choice(np.flatnonzero(flags), len(outside))
    return found
