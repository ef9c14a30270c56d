"""How far each secret sum can be moved from what is true: most are seen to be uncertain enough by that alone.

What is true agrees with everything that is known. From there each secret is moved up and down along the
direction that changes it most for the change of the amounts relative to what they are, as affine scaling does
(Dikin, Soviet Mathematics Doklady 8, 1967; Barnes, Mathematical Programming 36, 1986, section 2), up to where
an amount would be negative. One factorisation serves all secrets, and each end of each move is a complete
solution. Amounts that are nothing in truth stay so: what is not seen far enough apart here may still be.
"""

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
import scipy.sparse

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.joint_system import JointSystem, Sums
from sdcgate.methods.tables.solver import FEASIBILITY, Deadline

AT_ONCE = 256
"""Secrets that are moved together, so that memory does not grow with their number."""
MOST_SUMS = 3_000
"""With more sums than these no factorisation is begun: it takes the third power of their number."""
SINGULAR = 1e-13
"""What is added to the diagonal of ones: sums may follow from others."""
NEVER = 1e-12
"""A relative change so small is none."""


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
    system: JointSystem, held: FloatArray, floor: FloatArray, asked: BoolArray, until: Deadline
) -> Moved:
    """The least and the greatest value that moves from `held` give each secret.

    Args:
        system: all that is known.
        held: amounts that agree with it, shape (columns,).
        floor: what each secret is known to have at least, shape (secrets,); 0 where nothing is known.
        asked: secrets that are moved, shape (secrets,); of the others it is noted where these take them.
        until: no further secrets are moved then.
    """
    known, secret = (_weighted(sums, held) for sums in (system.known, system.secret))
    values = secret.sum(axis=1)
    found = Moved(values.copy(), values.copy())
    start = _Start(known, secret, values, floor, FEASIBILITY + system.room)
    factor = start.factorised() if known.shape[0] <= MOST_SUMS else None
    if factor is None:
        return found
    places = np.flatnonzero(asked)
    for first in range(0, len(places), AT_ONCE):
        if until.over:
            break
        start.note(start.ways(places[first : first + AT_ONCE], factor), found)
    return found


def _weighted(sums: Sums, held: FloatArray) -> scipy.sparse.csr_array:
    """Sums of relative changes: of the amounts that are something, each weighted by what it is."""
    there = np.flatnonzero(held > 0)
    entries = (held[sums.columns], (sums.rows, sums.columns))
    whole = scipy.sparse.csr_array(entries, shape=sums.shape)
    return scipy.sparse.csr_array(whole[:, there])


@dataclass(frozen=True, slots=True, eq=False)
class _Start:
    """What is true, as sums of relative changes: all of them 1 is all amounts doubled."""

    known: scipy.sparse.csr_array
    secret: scipy.sparse.csr_array
    values: FloatArray
    """Of the secrets."""
    floor: FloatArray
    room: float
    """What takes more than this off a known sum, by rounding, is no solution."""

    def factorised(self) -> FloatArray | None:
        """Cholesky's factor of the known sums' products, each of length 1; None if there is none."""
        lengths = self.lengths()
        unit = self.known / lengths[:, None]
        products = np.asarray((unit @ unit.T).toarray(), dtype=np.float64)
        products[np.diag_indices(len(products))] += SINGULAR
        try:
            factor = scipy.linalg.cholesky(products, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            return None
        return np.asarray(factor * lengths[:, None], dtype=np.float64)

    def lengths(self) -> FloatArray:
        """Of the known sums, 1 for those of nothing; shape (known sums,)."""
        squares = np.asarray((self.known * self.known).sum(axis=1), dtype=np.float64)
        return np.where(squares > 0.0, np.sqrt(squares), 1.0)

    def ways(self, places: IntArray, factor: FloatArray) -> FloatArray:
        """The ways to move some secrets, a column each, that change no known sum; (amounts, secrets)."""
        ways = np.asarray(self.secret[places].T.toarray(), dtype=np.float64)
        left = np.arange(len(places))
        # What rounding left of the known sums is taken off a second time, where it is too much.
        for _ in range(2):
            right = self.known @ ways[:, left]
            ways[:, left] -= self.known.T @ scipy.linalg.cho_solve(
                (factor, True), right, overwrite_b=True, check_finite=False
            )
            left = left[self._off(ways[:, left]) > self.room]
            if not len(left):
                break
        return ways

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
