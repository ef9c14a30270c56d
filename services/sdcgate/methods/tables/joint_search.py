"""The search for how far apart each withheld amount of one joint system can be.

First secrets are moved from what is true (`joint_moves`), those that can only move together (`joint_alike`)
by one of them. Then linear programs move many at once, in directions that vary; what is then not yet wide
enough is settled one by one. What a program cannot settle is told as such.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.directions import directions
from sdcgate.methods.tables.joint_alike import alike
from sdcgate.methods.tables.joint_moves import Metric, agrees, moved, raised
from sdcgate.methods.tables.joint_prices import proved
from sdcgate.methods.tables.joint_system import TOLERANCE, JointSystem, distance
from sdcgate.methods.tables.joint_whole import in_whole_numbers
from sdcgate.methods.tables.solver import FEASIBILITY, INFINITY, Deadline, Program, Rows

SWEEPS = 60
FEW = 4
"""So many secrets are settled one by one rather than swept, and a sweep that settles no more is the last."""
STRIDE = 60
"""Pivots of a sweep after which it leaves alone what is settled by then."""
MANY = 8
"""Of more secrets than these it is looked which are alike."""
EXACT = 0.1
"""The share of their room by which sums may be off where they are to be exact."""
LARGE, HUGE = 1_000, 2_000
"""Systems of so many sums are begun, and swept, by the interior-point method, which needs no basis."""


class Explained(Enum):
    """Of which narrow secrets the prices of known sums are wanted."""

    NONE = auto()
    ONE_OF_ALIKE = auto()
    """Of those that can only move together one is enough."""
    EACH = auto()


@dataclass(frozen=True, slots=True, eq=False)
class JointIntervals:
    """What joint programs show of each secret, in the order of the system's; shape (secrets,) each."""

    narrow: BoolArray = field(repr=False)
    """Refuted: its bounds, in whole numbers where all is whole, are less than the width apart."""
    unproved: BoolArray = field(repr=False)
    """Neither refuted nor shown to be wide."""
    told_before: BoolArray = field(repr=False)
    """Narrow ones that are seen to be so by sums alone that are not fresh; others may be, too."""
    supposed: BoolArray = field(repr=False)
    """Narrow ones that are only taken to be: no two tables in whole numbers were found, nor that none are."""
    lowest: FloatArray = field(repr=False)
    """Least value that was reached; where `narrow`, the bound."""
    highest: FloatArray = field(repr=False)
    looked_at: BoolArray = field(repr=False)
    """Those that were looked at: nothing is said of others, they are neither narrow nor unproved."""
    used: dict[int, FloatArray] = field(default_factory=dict, repr=False)
    """For each narrow secret that is explained the prices of the known sums at both bounds, shape
    (2, known sums)."""

    @property
    def refuted(self) -> BoolArray:
        """Narrow ones that are shown to be, shape (secrets,)."""
        return self.narrow & ~self.supposed


def rows_of(system: JointSystem, floor: FloatArray) -> Rows:
    """The known sums as rows of a program, and the secrets where any has a floor, shape (secrets,)."""
    rows = Rows()
    known, rooms = system.known, system.rooms
    first = rows.start(system.counts - rooms, system.counts + rooms)
    rows.put(first + known.rows, known.columns, 1.0 if known.factors is None else known.factors)
    if (floor > 0).any():
        first = rows.start(floor, np.full(len(floor), INFINITY))
        rows.put(first + system.secret.rows, system.secret.columns, 1.0)
    return rows


class Search:
    """What is found out of the secrets of one system, one step after the other."""

    def __init__(
        self,
        system: JointSystem,
        width: float | FloatArray,
        floor: int | FloatArray,
        deadline: Deadline,
        asked: BoolArray,
        explained: Explained,
        old: BoolArray | None,
    ) -> None:
        self._system, self._deadline, self._asked = system, deadline, asked
        self._explained, self._old = explained, old
        self.secrets = system.secret.shape[0]
        self._width = np.broadcast_to(np.asarray(width, dtype=np.float64), (self.secrets,))
        self._lowest = np.full(self.secrets, np.inf)
        self._highest = np.full(self.secrets, -np.inf)
        self._narrow, self._told_before, self._supposed = np.zeros((3, self.secrets), dtype=np.bool_)
        self._kind, self._size = np.arange(self.secrets), np.ones(self.secrets)
        self._first = np.ones(self.secrets, dtype=np.bool_)
        """Of those that are alike the one that has to be the widest: if it is, all are."""
        self._used: dict[int, FloatArray] = {}
        # Known sums are to bound the columns, so that their prices tell what does; others lie far away.
        far = 10.0 * (float(np.max(width, initial=0.0)) + system.counts.max(initial=0.0))
        self._least, self._most = np.zeros(system.columns), np.full(system.columns, far)
        self._floor = np.broadcast_to(np.asarray(floor, dtype=np.float64), (self.secrets,))
        rows = rows_of(system, self._floor)
        # Of sums that have room the dual method finds the first corner in half the time.
        self._program = Program(rows, system.columns, primal=True, begun_dual=not system.whole)
        self._begun = len(system.counts) < LARGE
        self._exact = False

    @property
    def close(self) -> BoolArray:
        """Asked secrets that have not been seen far enough apart."""
        apart = self._system.apart(self._lowest, self._highest)
        close: BoolArray = self._asked & (apart < self._width) & ~self._narrow
        return close

    @property
    def _open(self) -> BoolArray:
        """Of the close ones that are alike the first; where that is settled, as halves are none, all."""
        close = self.close
        first = close & self._first
        left: BoolArray = close & ~np.isin(self._kind, self._kind[first])
        return first | left

    def begin(self) -> None:
        """Begin with what is true, where it is given and agrees with what is known."""
        held = self._system.held
        if held is None:
            return
        if not agrees(self._system, held, self._floor):
            self._begin_beyond(held)
            return
        # Moves of counts leave so many open that most of a kind would be moved, each by itself.
        if self._system.whole:
            self._compare()
        if not (self._explaining or self._bound):
            self._move(held)
        if not self._system.whole:
            self._compare()
        if not self.close.any():
            return
        off = max(FEASIBILITY, EXACT * self._system.room)
        begun = self._begin_at(held, self._least, off)
        self._begun |= begun
        if begun and not self._system.whole and not self._floored:
            self._keep_to_sums()
        self._program.loosen()

    def _begin_beyond(self, held: FloatArray) -> None:
        """Begin by a corner near what is true, where all that this lacks to be a solution is a bound.

        From there it takes a few pivots to one that is.
        """
        least = np.minimum(self._least, held)
        if agrees(self._system, held, self._floor, least):
            self._begin_at(held, least, FEASIBILITY)
            self._program.loosen()

    def _begin_at(self, held: FloatArray, least: FloatArray, off: float) -> bool:
        """Begin at a corner near amounts, of columns that are at least so much; whether there is one."""
        sums = [self._system.known.of(held)]
        if self._floored:
            sums.append(self._system.secret.of(held))
        program, known = self._program, np.concatenate(sums)
        return program.begin_at(held, known, least, self._most, self._deadline, off, free=self._bound)

    @property
    def _explaining(self) -> bool:
        """Whether what is asked for is narrow as a rule, and prices are wanted: no solution shows it wide."""
        return self._explained is not Explained.NONE

    @property
    def _bound(self) -> bool:
        """Whether most sums of whole numbers have room of their own, which moves do not use: few get far."""
        return self._system.whole and 2 * len(self._system.slack) > len(self._system.counts)

    def _move(self, held: FloatArray) -> None:
        """Move what is close from what is true, and from near it."""
        self._move_from(held)
        # Where all must have somebody, those who have one hold every move back. And of whole numbers, of
        # which a part does not count, most that is left needs a corner all the same.
        if self.close.any() and not self._floored and not self._system.whole:
            inside = raised(self._system, held, self._deadline)
            if inside is not None:
                self._move_from(inside.amounts, inside.metric)

    def _move_from(self, amounts: FloatArray, metric: Metric | None = None) -> None:
        """Move what is close, one of those alike, from amounts that agree with what is known."""
        asked = self._open
        found = moved(self._system, amounts, self._floor, asked, self._deadline, self._width, metric)
        self._note_ends(found.lowest, found.highest)

    def _compare(self) -> None:
        """Find out which of the close ones are alike, where they are many.

        What known sums tell is narrow, whatever room they have: that stands for rounding only.
        """
        close = np.flatnonzero(self.close)
        # What sums with factors tell they tell up to their room.
        alone = self._explained is Explained.EACH or self._floored or len(self._system.slack)
        if alone or len(close) <= MANY:
            return
        found = alike(self._system)
        if found is None:
            return
        told = self.close & (found.size == 0.0)
        if self._explained is Explained.NONE:
            self._narrow |= told
        # What is told is told by sums of its own.
        self._kind = np.where(told, -1 - self._kind, found.kind)
        self._size = np.where(told, 1.0, np.maximum(found.size, TOLERANCE))
        widest_first = close[np.lexsort((close, -(self._width / self._size)[close]))]
        _, first = np.unique(self._kind[widest_first], return_index=True)
        self._first = np.zeros(self.secrets, dtype=np.bool_)
        self._first[widest_first[first]] = True

    def left(self) -> list[int]:
        """Those that are close, one of each kind first."""
        close = np.flatnonzero(self.close)
        return [int(secret) for secret in close[np.argsort(~self._first[close], kind="stable")]]

    def _tell(self, secret: int, prices: FloatArray, ends: tuple[float, float]) -> None:
        """Note that a secret is narrow, as it lies between ends, and those that are alike."""
        self._narrow[secret] = True
        self._used[secret] = prices
        if self._old is not None:
            before = self._proved(secret, prices, self._old)
            self._told_before[secret] = self._is_close(secret, before)
        apart = float(distance(np.array(ends[0]), np.array(ends[1]), self._system.whole))
        beside = self._size / self._size[secret]
        with_it = (self._kind == self._kind[secret]) & self.close & (beside * apart < self._width)
        if self._system.whole:
            # Of others it would be a share of a whole number.
            with_it &= np.abs(beside - 1.0) <= TOLERANCE
        self._narrow |= with_it

    def _keep_to_sums(self) -> None:
        """Move what is close, one by one, by solutions with the very sums that what is true has.

        With the room that sums have, corners lie where it is used up everywhere, hundreds of pivots away.
        """
        self._exact = True
        for secret in self.left():
            if not self.close[secret]:
                continue
            prices = self._apart(secret)
            if prices is None:
                break
            ends = self._proved(secret, prices)
            if self.close[secret] and self._is_close(secret, ends):
                self._tell(secret, prices, ends)
        self._exact = False

    def sweep_all(self) -> None:
        """Move all that are close at once, up and down, as long as that settles many."""
        begun = self._begun
        if begun and self._explaining:
            return
        inside = not begun and len(self._system.counts) >= HUGE
        for turn in range(SWEEPS):
            before = int(np.count_nonzero(self._open))
            if before == 0 or (before <= FEW and begun):
                return
            way = directions(self.secrets, turn // 2) * (-1.0 if turn % 2 else 1.0)
            corner = not inside or before <= FEW
            if begun:
                found = self._climbed(way)
            else:
                cost = self._of_open(way)
                found = self._program.from_inside(cost, self._least, self._most, self._deadline, corner)
                begun = corner
                if found is None or not agrees(self._system, found, self._floor):
                    # The simplex method finds its own way.
                    begun, found = True, self._maximise(cost)
            if found is None:
                return
            self._note(found)
            # Every second sweep goes the other way.
            if turn % 2 and before - np.count_nonzero(self._open) <= FEW:
                if begun:
                    return
                inside = False

    def _of_open(self, way: FloatArray) -> FloatArray:
        """The cost of moving what is open in some directions, shape (columns,)."""
        return self._system.secret.spread(np.where(self._open, way, 0.0))

    def _climbed(self, way: FloatArray) -> FloatArray | None:
        """Move what is open, leaving alone on the way what has gone far enough; None where that failed.

        Corners on the way are solutions, too: who has gone far enough holds the others back.
        """
        while True:
            cost = self._of_open(way)
            found, best = self._program.climb(cost, self._least, self._most, self._deadline, STRIDE)
            if found is None or best:
                return found
            if agrees(self._system, found, self._floor):
                self._note(found)
            if not self._open.any():
                return found

    def settle(self, secret: int) -> bool:
        """Tell whether one secret is wide or narrow; False where that failed."""
        prices = self._apart(secret)
        if prices is not None and self.close[secret]:
            self._tell(secret, prices, (float(self._lowest[secret]), float(self._highest[secret])))
        return prices is not None

    def keep_to_whole_numbers(self) -> None:
        """Take what is wide, but was not seen to be in whole numbers, for narrow.

        Only sums with factors leave so few of them.
        """
        system = self._system
        asked = self._asked & ~self._narrow
        if not (system.whole and asked.any() and not system.rounded.all()):
            return
        rows = rows_of(system, self._floor)
        found = in_whole_numbers(system, rows, self._width, self._floor, asked, self._deadline)
        self._supposed = found.supposed
        for secret in np.flatnonzero(found.narrow).tolist():
            self._narrow[secret] = True
            self._used[secret] = self._beside(secret)
        self._lowest = np.where(asked, found.lowest, self._lowest)
        self._highest = np.where(asked, found.highest, self._highest)

    def _beside(self, secret: int) -> FloatArray:
        """Known sums that have a column of a secret, as though they were what bounds it at both ends."""
        known, hidden = self._system.known, self._system.secret
        columns = np.isin(known.columns, hidden.columns[hidden.rows == secret])
        touching = np.bincount(known.rows[columns], minlength=known.shape[0]) > 0
        return np.tile(touching.astype(np.float64), (2, 1))

    def _apart(self, secret: int) -> FloatArray | None:
        """Move one secret up and down until it is wide enough; prices of known sums, None where it failed."""
        chosen, prices = np.zeros(self.secrets), np.zeros((2, len(self._system.counts)))
        for place, direction in enumerate((1.0, -1.0)):
            chosen[secret] = direction
            found = self._maximise(self._system.secret.spread(chosen))
            if found is None:
                return None
            self._note(found)
            if not self.close[secret]:
                break
            prices[place] = self._program.prices[: len(self._system.counts)]
        return prices

    def _proved(self, secret: int, prices: FloatArray, by: BoolArray | None = None) -> tuple[float, float]:
        """Between what a secret must lie, by prices of known sums, or of some of them."""
        return proved(self._system, secret, prices, self._most, by)

    def _is_close(self, secret: int, ends: tuple[float, float]) -> bool:
        """Whether what lies between ends is not as far apart as a secret's values must be."""
        least, greatest = (np.full(self.secrets, end) for end in ends)
        return bool(self._system.apart(least, greatest)[secret] < self._width[secret])

    @property
    def _floored(self) -> bool:
        """Whether any secret must have somebody."""
        return bool((self._floor > 0).any())

    def _maximise(self, cost: FloatArray) -> FloatArray | None:
        found = self._program.maximise(cost, self._least, self._most, self._deadline)
        if found is None or not self._exact:
            return found
        found = np.maximum(found, 0.0)
        return found if agrees(self._system, found, self._floor) else None

    def _note(self, found: FloatArray) -> None:
        """Note the values of a solution."""
        values = self._system.secret.of(found)
        self._note_ends(values, values)

    def _note_ends(self, lowest: FloatArray, highest: FloatArray) -> None:
        np.minimum(self._lowest, lowest, out=self._lowest)
        np.maximum(self._highest, highest, out=self._highest)

    def result(self, unproved: BoolArray) -> JointIntervals:
        """What was found."""
        unproved = unproved & ~self._narrow
        ends = self._lowest, self._highest
        seen = self._narrow, unproved, self._told_before, self._supposed
        return JointIntervals(*seen, *ends, self._asked, self._used)
