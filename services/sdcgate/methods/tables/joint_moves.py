"""How far each secret sum can be moved from what is true: most are seen to be uncertain enough by that alone.

What is true agrees with everything that is known. From there each secret is moved up and down along the
direction that changes it most for the chi-squared distance that the amounts go, up to where one would be
negative: a step of affine scaling, where distances are those of relative changes (Dikin, Soviet Mathematics
Doklady 8, 1967; Barnes, Mathematical Programming 36, 1986, section 2), which suits amounts of very different
size less. One factorisation serves all secrets, and each end of each move is a complete solution.

Amounts that are nothing stay so. So what is true is `raised` first for secrets that these moves leave open.
"""

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
import scipy.sparse

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.joint_system import JointSystem, Sums, distance
from sdcgate.methods.tables.solver import FEASIBILITY, Deadline
from sdcgate.methods.tables.splitmix import finalised

AT_ONCE = 32
"""Secrets that are moved together, so that what they move stays near the processor."""
MOST_SUMS = 3_000
"""With more sums than these no factorisation is begun: it takes the third power of their number."""
SINGULAR = 1e-13
"""What is added to the diagonal of ones: sums may follow from others."""
NEVER = 1e-12
"""A relative change so small is none."""
RAISED = 0.1
"""The share of a known sum that is put, at most, into its columns of which nothing is held."""
KEPT = 1e-6
"""What keeps a smaller share of what was put there cannot be more than nothing."""
TRIES = 4
"""As amounts that cannot be more than nothing are found by trying."""
STRIDE = 0.9
"""The share of the way to where an amount would be nothing that is gone."""


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Values of each secret that complete solutions have, shape (secrets,)."""

    lowest: FloatArray = field(repr=False)
    highest: FloatArray = field(repr=False)


def agrees(system: JointSystem, amounts: FloatArray, floor: FloatArray) -> bool:
    """Whether amounts, shape (columns,), keep to all that is known, and secrets to their floors."""
    sums, secrets = system.known.of(amounts), system.secret.of(amounts)
    least = min(amounts.min(initial=0.0), (secrets - floor)[floor > 0].min(initial=0.0))
    off = np.abs(sums - system.counts).max(initial=0.0)
    return bool(least >= -FEASIBILITY and off <= system.room + FEASIBILITY)


def moved(
    system: JointSystem,
    held: FloatArray,
    floor: FloatArray,
    asked: BoolArray,
    until: Deadline,
    enough: float | FloatArray = np.inf,
) -> Moved:
    """The least and the greatest value that moves from `held` give each secret.

    Args:
        system: all that is known.
        held: amounts that agree with it, shape (columns,).
        floor: what each secret is known to have at least, shape (secrets,); 0 where nothing is known.
        asked: secrets that are moved, shape (secrets,); of the others it is noted where these take them.
        until: no further secrets are moved then.
        enough: secrets that the moves of others show to be so uncertain are not moved, of all or of each.
    """
    start = _Start.at(system, held, floor)
    found = Moved(start.values.copy(), start.values.copy())
    factor = start.factorised()
    if factor is None:
        return found
    # Neighbours move alike: in any other order those moved first show more of the rest.
    left = np.flatnonzero(asked)
    left = left[np.argsort(finalised(left.astype(np.uint64)))]
    while len(left) and not until.over:
        start.note(start.ways(left[:AT_ONCE], factor), found)
        apart = distance(found.lowest, found.highest, system.whole)
        left = left[AT_ONCE:]
        left = left[(apart < enough)[left]]
    return found


def raised(system: JointSystem, held: FloatArray, until: Deadline) -> FloatArray | None:
    """Amounts near `held` that agree with what is known and are something where they can be.

    A little is put where nothing is, and what that adds to the known sums is taken off again with the least
    chi-squared change of all amounts, as weights are calibrated (Deville and Sarndal, Journal of the American
    Statistical Association 87, 1992, section 1). Where an amount then is nothing or less, nothing is put.

    Args:
        system: all that is known; secrets may be empty.
        held: amounts that agree with it, shape (columns,).
        until: not tried any more then.

    Returns:
        The amounts, shape (columns,); None where that fails, or nothing can be put anywhere.
    """
    added = _room_for_more(system, held)
    for _ in range(TRIES):
        if until.over or not added.any():
            return None
        change = _taken_off(system, held, added)
        if change is None:
            return None
        wrong = (added > 0) & (change <= KEPT * added)
        if not wrong.any():
            less = held > 0
            most = float((-change[less] / held[less]).max(initial=0.0))
            found = held + min(1.0, STRIDE / max(most, NEVER)) * change
            return found if agrees(system, found, np.zeros(system.secret.shape[0])) else None
        added[wrong] = 0.0
    return None


def _taken_off(system: JointSystem, held: FloatArray, added: FloatArray) -> FloatArray | None:
    """What is added, (columns,), with the least change that keeps the known sums; None where that fails."""
    more = held + added
    start = _Start.at(system, more, np.zeros(system.secret.shape[0]))
    factor = start.factorised()
    if factor is None:
        return None
    there = np.flatnonzero(more > 0)
    change = np.zeros(system.columns)
    change[there] = more[there] * start.projected((added[there] / more[there])[:, None], factor)[:, 0]
    return change


def _room_for_more(system: JointSystem, held: FloatArray) -> FloatArray:
    """What is put where nothing is held: a share of the least known sum around it, by its empty columns."""
    known, empty = system.known, held <= 0
    among = np.bincount(known.rows[empty[known.columns]], minlength=known.shape[0])
    share = RAISED * known.of(held) / np.maximum(among, 1)
    least = np.full(system.columns, np.inf)
    np.minimum.at(least, known.columns, share[known.rows])
    return np.where(empty & np.isfinite(least), least, 0.0)


def _among(sums: Sums, there: IntArray) -> scipy.sparse.csr_array:
    """Sums of some columns, shape (sums, those columns)."""
    place = np.full(sums.shape[1], -1)
    place[there] = np.arange(len(there))
    kept = place[sums.columns] >= 0
    entries = (np.ones(np.count_nonzero(kept)), (sums.rows[kept], place[sums.columns[kept]]))
    return scipy.sparse.csr_array(entries, shape=(sums.shape[0], len(there)))


@dataclass(frozen=True, slots=True, eq=False)
class _Start:
    """Amounts to move from, and sums of relative changes of those that are something."""

    inside: scipy.sparse.csr_array
    """Which amounts lie in known sums."""
    known: scipy.sparse.csr_array
    """The same, each weighted by what it is: sums of relative changes."""
    asked: scipy.sparse.csr_array
    """Which lie in secrets."""
    secret: scipy.sparse.csr_array
    values: FloatArray
    """Of the secrets."""
    floor: FloatArray
    room: float
    """What takes more than this off a known sum, by rounding, is no solution."""

    @classmethod
    def at(cls, system: JointSystem, amounts: FloatArray, floor: FloatArray) -> "_Start":
        """At amounts, shape (columns,), of a system."""
        there = np.flatnonzero(amounts > 0)
        weights = amounts[there]
        inside, asked = (_among(sums, there) for sums in (system.known, system.secret))
        known, secret = (scipy.sparse.csr_array(sums * weights) for sums in (inside, asked))
        return cls(inside, known, asked, secret, asked @ weights, floor, FEASIBILITY + system.room)

    def factorised(self) -> FloatArray | None:
        """Cholesky's factor of the known sums' products, each of length 1; None if there is none."""
        if self.known.shape[0] > MOST_SUMS:
            return None
        lengths = self.lengths()
        products = np.asarray((self.known @ self.inside.T).toarray(), dtype=np.float64)
        products /= lengths[:, None] * lengths
        products[np.diag_indices(len(products))] += SINGULAR
        try:
            factor = scipy.linalg.cholesky(products, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            return None
        return np.asarray(factor * lengths[:, None], dtype=np.float64)

    def lengths(self) -> FloatArray:
        """Of the known sums, 1 for those of nothing; shape (known sums,)."""
        amounts = np.asarray(self.known.sum(axis=1), dtype=np.float64)
        return np.where(amounts > 0.0, np.sqrt(amounts), 1.0)

    def ways(self, places: IntArray, factor: FloatArray) -> FloatArray:
        """The ways to move some secrets, a column each, that change no known sum; (amounts, secrets)."""
        return self.projected(np.asarray(self.asked[places].T.toarray(), dtype=np.float64), factor)

    def projected(self, ways: FloatArray, factor: FloatArray) -> FloatArray:
        """Relative changes, shape (amounts, ways), without what changes known sums."""
        self._project(ways, factor)
        # What rounding left of the known sums is taken off a second time, where it is too much.
        off = np.flatnonzero(self._off(ways) > self.room)
        if len(off):
            again = ways[:, off]
            self._project(again, factor)
            ways[:, off] = again
        return ways

    def _project(self, ways: FloatArray, factor: FloatArray) -> None:
        right = self.known @ ways
        ways -= self.inside.T @ scipy.linalg.cho_solve(
            (factor, True), right, overwrite_b=True, check_finite=False
        )

    def _off(self, ways: FloatArray) -> FloatArray:
        """By how much known sums are off, at most, where ways are gone to their ends; shape (ways,)."""
        step = 1.0 / np.maximum(np.minimum(-ways.min(axis=0), ways.max(axis=0)), NEVER)
        return np.asarray(step * np.abs(self.known @ ways).max(axis=0, initial=0.0))

    def note(self, ways: FloatArray, found: Moved) -> None:
        """Go each way as far as amounts stay positive and secrets above their floors; note what they are."""
        changes, bounded = self.secret @ ways, self.floor > 0
        above = np.maximum((self.values - self.floor)[bounded], 0.0)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(changes[bounded] == 0.0, 0.0, changes[bounded] / above)
        off = np.abs(self.known @ ways).max(axis=0, initial=0.0)
        for sign in (1.0, -1.0):
            most = np.maximum(-(sign * ways).min(axis=0), -(sign * shares).min(axis=0, initial=0.0))
            step = np.where(most > NEVER, 1.0 / np.maximum(most, NEVER), 0.0)
            step[~(step * off <= self.room)] = 0.0
            ends = self.values[:, None] + sign * step * changes
            np.minimum(found.lowest, ends.min(axis=1), out=found.lowest)
            np.maximum(found.highest, ends.max(axis=1), out=found.highest)
