"""How closely all that has left, taken together, tells each withheld count: the joint audit of one system.

Linear programs over the counts of atoms find the least and the greatest value of a secret sum, as Fischetti
and Salazar (Journal of the American Statistical Association 95, 2000) do for one table. First many secrets
are moved at once, in directions that vary; what is then not yet wide enough is settled one by one. What a
program cannot settle is told as such.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.audit import directions
from sdcgate.methods.tables.joint_system import JointSystem, told_columns, without_columns
from sdcgate.methods.tables.solver import INFINITY, Deadline, Program, Rows

SWEEPS = 60
FEW = 4
"""So many secrets are settled one by one rather than swept, and a sweep that settles no more is the last."""
TOLERANCE = 1e-6
"""A bound so close to a whole number is that number."""


@dataclass(frozen=True, slots=True, eq=False)
class JointIntervals:
    """What joint programs show of each secret, in the order of the system's; shape (secrets,) each."""

    narrow: BoolArray = field(repr=False)
    """Refuted: its whole-number bounds are less than the width apart."""
    unproved: BoolArray = field(repr=False)
    """Neither refuted nor shown to be wide."""
    lowest: FloatArray = field(repr=False)
    """Least value that was reached; where `narrow`, the bound."""
    highest: FloatArray = field(repr=False)
    used: dict[int, FloatArray] = field(default_factory=dict, repr=False)
    """For each narrow secret the prices of the known sums at both bounds, shape (2, known sums)."""


def joint_bounds(system: JointSystem, width: int, floor: int, deadline: Deadline) -> JointIntervals:
    """As `joint_intervals`, and quicker, but not by which sums a secret is told."""
    values = told_columns(system)
    sure = system.secret.of(np.nan_to_num(values))
    found = joint_intervals(without_columns(system, values), width, floor - sure, deadline)
    return JointIntervals(found.narrow, found.unproved, found.lowest + sure, found.highest + sure)


def joint_intervals(
    system: JointSystem, width: int, floor: int | FloatArray, deadline: Deadline
) -> JointIntervals:
    """Which secrets are told more closely than to `width`.

    Args:
        system: everything that is known jointly.
        width: the least distance of two values that a secret must be able to have.
        floor: the least count that everybody knows a secret to have.
        deadline: what is not settled by then is unproved.
    """
    if not system.columns:
        return _of_nobody(system, floor)
    search = _Search(system, width, floor, deadline)
    if not search.begin():
        return search.result(np.ones(search.secrets, dtype=np.bool_))
    left = np.count_nonzero(search.close)
    for turn in range(SWEEPS):
        if left <= FEW or not search.sweep(turn):
            break
        before, left = left, np.count_nonzero(search.close)
        if before - left <= FEW:
            break
    unproved = np.zeros(search.secrets, dtype=np.bool_)
    for secret in np.flatnonzero(search.close).tolist():
        unproved[secret] = not search.settle(secret)
    return search.result(unproved)


def _of_nobody(system: JointSystem, floor: int | FloatArray) -> JointIntervals:
    """Everything is told, or published to be empty, so that every secret is."""
    secrets, known = system.secret.shape[0], system.known.shape[0]
    possible = bool(np.all(np.asarray(floor) <= TOLERANCE)) and not system.counts.any()
    narrow = np.full(secrets, possible)
    nothing = np.zeros(secrets)
    used = {int(secret): np.zeros((2, known)) for secret in np.flatnonzero(narrow)}
    return JointIntervals(narrow, ~narrow, nothing, nothing, used)


class _Search:
    def __init__(self, system: JointSystem, width: int, floor: int | FloatArray, deadline: Deadline) -> None:
        self._system, self._width, self._deadline = system, width, deadline
        self.secrets = system.secret.shape[0]
        self._lowest = np.full(self.secrets, np.inf)
        self._highest = np.full(self.secrets, -np.inf)
        self._narrow = np.zeros(self.secrets, dtype=np.bool_)
        self._used: dict[int, FloatArray] = {}
        rows = Rows()
        first = rows.start(system.counts, system.counts)
        rows.put(first + system.known.rows, system.known.columns, 1.0)
        least = np.broadcast_to(np.asarray(floor, dtype=np.float64), (self.secrets,))
        if (least > 0).any():
            first = rows.start(least, np.full(self.secrets, INFINITY))
            rows.put(first + system.secret.rows, system.secret.columns, 1.0)
        self._program = Program(rows, system.columns, primal=True)
        # Known sums are to bound the columns, so that their prices tell what does; others lie far away.
        far = 10.0 * (width + system.counts.max(initial=0.0))
        self._least, self._most = np.zeros(system.columns), np.full(system.columns, far)

    @property
    def close(self) -> BoolArray:
        """Secrets that have not been seen far enough apart."""
        close: BoolArray = ~(self._highest - self._lowest >= self._width - TOLERANCE) & ~self._narrow
        return close

    def begin(self) -> bool:
        """Find any solution; False where there is none in time."""
        return self._run(np.zeros(self._system.columns)) is not None

    def sweep(self, turn: int) -> bool:
        """Move all that are close at once; False where that failed."""
        way = np.where(self.close, directions(self.secrets, turn), 0.0)
        return self._run(self._system.secret.spread(way)) is not None

    def settle(self, secret: int) -> bool:
        """Tell whether one secret is wide or narrow; False where that failed."""
        chosen = np.zeros(self.secrets)
        prices = []
        for direction in (1.0, -1.0):
            chosen[secret] = direction
            if self._run(self._system.secret.spread(chosen)) is None:
                return False
            if not self.close[secret]:
                return True
            prices.append(self._program.prices[: len(self._system.counts)])
        low, high = np.ceil(self._lowest[secret] - TOLERANCE), np.floor(self._highest[secret] + TOLERANCE)
        if high - low < self._width:
            self._narrow[secret] = True
            self._used[secret] = np.array(prices)
        return bool(self._narrow[secret])

    def _run(self, cost: FloatArray) -> FloatArray | None:
        found = self._program.maximise(cost, self._least, self._most, self._deadline)
        if found is not None:
            values = self._system.secret.of(found)
            np.minimum(self._lowest, values, out=self._lowest)
            np.maximum(self._highest, values, out=self._highest)
        return found

    def result(self, unproved: BoolArray) -> JointIntervals:
        """What was found."""
        return JointIntervals(self._narrow, unproved & ~self._narrow, self._lowest, self._highest, self._used)


def told_by(intervals: JointIntervals, secret: int) -> IntArray:
    """Positions of the known sums that bound a narrow secret."""
    prices = intervals.used[secret]
    return np.flatnonzero((np.abs(prices) > TOLERANCE).any(axis=0))
