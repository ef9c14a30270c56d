"""How far each secret sum can be moved from what is true: most are seen to be uncertain enough by that alone.

What is true agrees with everything that is known. From there each secret is moved up and down along the
direction that changes it most for the chi-squared distance that the amounts go, up to where one would be
negative: a step of affine scaling, where distances are those of relative changes (Dikin, Soviet Mathematics
Doklady 8, 1967; Barnes, Mathematical Programming 36, 1986, section 2), which suits amounts of very different
size less. One factorisation serves all secrets, and each end of each move is a complete solution.

Amounts that are nothing stay so. So what is true is `raised` first for secrets that these moves leave open.
"""

from copy import copy
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
import scipy.sparse

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.joint_system import JointSystem, Sums
from sdcgate.methods.tables.solver import FEASIBILITY, Deadline
from sdcgate.methods.tables.splitmix import finalised

AT_ONCE = 32
"""Secrets that are moved together, so that what they move stays near the processor."""
MOST_SUMS = 3_000
"""With more sums than these no factorisation is begun: it takes the third power of their number."""
SINGULAR = 1e-11
"""What is added to the diagonal of ones, as sums may follow from others; with less rounding may be more."""
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


def agrees(
    system: JointSystem, amounts: FloatArray, floor: FloatArray, least: FloatArray | float = 0.0
) -> bool:
    """Whether amounts, shape (columns,), keep to all that is known, and secrets to their floors.

    `least` is what amounts are at least, of all or of each.
    """
    sums, secrets = system.known.of(amounts), system.secret.of(amounts)
    below = min((amounts - least).min(initial=0.0), (secrets - floor)[floor > 0].min(initial=0.0))
    off = (np.abs(sums - system.counts) - system.rooms).max(initial=0.0)
    return bool(below >= -FEASIBILITY and off <= FEASIBILITY)


def moved(
    system: JointSystem,
    held: FloatArray,
    floor: FloatArray,
    asked: BoolArray,
    until: Deadline,
    enough: float | FloatArray = np.inf,
    metric: "Metric | None" = None,
) -> Moved:
    """The least and the greatest value that moves from `held` give each secret.

    Args:
        system: all that is known.
        held: amounts that agree with it, shape (columns,).
        floor: what each secret is known to have at least, shape (secrets,); 0 where nothing is known.
        asked: secrets that are moved, shape (secrets,); of the others it is noted where these take them.
        until: no further secrets are moved then.
        enough: secrets that the moves of others show to be so uncertain are not moved, of all or of each.
        metric: of amounts where these are something; of `held` itself unless given.
    """
    values = system.secret.of(held)
    found = Moved(values.copy(), values.copy())
    metric = Metric.at(system, held) if metric is None else metric
    if metric is None:
        return found
    position = _Position(metric, held[metric.there], values, floor, FEASIBILITY + system.room)
    # Neighbours move alike: in any other order those moved first show more of the rest.
    left = np.flatnonzero(asked)
    left = left[np.argsort(finalised(left.astype(np.uint64)))]
    while len(left) and not until.over:
        position.note(metric.ways(left[:AT_ONCE], position.room), found)
        apart = system.apart(found.lowest, found.highest)
        left = left[AT_ONCE:]
        left = left[(apart < enough)[left]]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Raised:
    """Amounts that are something where they can be, and a metric to move them by."""

    amounts: FloatArray = field(repr=False)
    """Shape (columns,)."""
    metric: "Metric" = field(repr=False)


def raised(system: JointSystem, held: FloatArray, until: Deadline) -> Raised | None:
    """Amounts near `held` that agree with what is known and are something where they can be.

    A little is put where nothing is, and what that adds to the known sums is taken off again with the least
    chi-squared change of all amounts, as weights are calibrated (Deville and Sarndal, Journal of the American
    Statistical Association 87, 1992, section 1). Where an amount then is nothing or less, nothing is put.

    Args:
        system: all that is known; secrets may be empty.
        held: amounts that agree with it, shape (columns,).
        until: not tried any more then.

    Returns:
        None where that fails, or nothing can be put anywhere.
    """
    added = _room_for_more(system, held)
    for _ in range(TRIES):
        if until.over or not added.any():
            return None
        metric = Metric.at(system, held + added)
        if metric is None:
            return None
        there = metric.there
        share = (added[there] / metric.weights)[:, None]
        change = np.zeros(system.columns)
        change[there] = metric.weights * metric.projected(share, FEASIBILITY + system.room)[:, 0]
        wrong = (added > 0) & (change <= KEPT * added)
        if not wrong.any():
            less = held > 0
            most = float((-change[less] / held[less]).max(initial=0.0))
            found = held + min(1.0, STRIDE / max(most, NEVER)) * change
            agreed = agrees(system, found, np.zeros(system.secret.shape[0])) and (found[there] > 0).all()
            return Raised(found, metric) if agreed else None
        added[wrong] = 0.0
    return None


def _room_for_more(system: JointSystem, held: FloatArray) -> FloatArray:
    """What is put where nothing is held: a share of the least known sum around it, by its empty columns."""
    known, empty = system.known, held <= 0
    among = np.bincount(known.rows[empty[known.columns]], minlength=known.shape[0])
    share = RAISED * known.of(held) / np.maximum(among, 1)
    least, plain = np.full(system.columns, np.inf), known.rows < system.plain
    np.minimum.at(least, known.columns[plain], share[known.rows[plain]])
    return np.where(empty & np.isfinite(least), least, 0.0)


def _among(sums: Sums, there: IntArray) -> scipy.sparse.csr_array:
    """Sums of some columns, shape (sums, those columns)."""
    place = np.full(sums.shape[1], -1)
    place[there] = np.arange(len(there))
    kept = np.flatnonzero(place[sums.columns] >= 0)
    kept = kept[np.argsort(sums.rows[kept], kind="stable")]
    ends = np.cumsum(np.bincount(sums.rows[kept], minlength=sums.shape[0]))
    starts = np.concatenate([[0], ends]).astype(np.int64)
    entries = (sums.times(np.ones(len(sums.rows)))[kept], place[sums.columns[kept]], starts)
    return scipy.sparse.csr_array(entries, shape=(sums.shape[0], len(there)))


def _with_entries(sums: scipy.sparse.csr_array, entries: FloatArray) -> scipy.sparse.csr_array:
    """The same with other entries."""
    found = copy(sums)
    found.data = entries
    return found


def _products(sums: scipy.sparse.csr_array, weighted: scipy.sparse.csr_array) -> FloatArray:
    """Products of weighted sums with sums, shape (sums, sums); of those above the diagonal nothing."""
    from sdcgate.methods.tables.product_loops import products

    starts, columns = sums.indptr.astype(np.int64), sums.indices.astype(np.int64)
    return products(starts, columns, sums.data, weighted.data, sums.shape[1]).T


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """How far amounts go, relative to weights, and the changes of them that keep all known sums."""

    there: IntArray
    """Columns that may change."""
    weights: FloatArray = field(repr=False)
    """Of these: the square of a change counts as the inverse of its column's weight."""
    known: scipy.sparse.csr_array
    """Which of them lie in known sums, each sum divided by its length; weighted: sums of relative changes."""
    turned: scipy.sparse.csc_array
    """The same, not weighted, a row for each column."""
    lengths: FloatArray = field(repr=False)
    asked: scipy.sparse.csr_array
    """Which lie in secrets."""
    secret: scipy.sparse.csr_array
    """The same, weighted."""
    factor: FloatArray = field(repr=False)
    """Cholesky's, of the known sums' products."""

    @classmethod
    def at(cls, system: JointSystem, amounts: FloatArray) -> "Metric | None":
        """That of chi-squared changes of amounts, shape (columns,); None where there is none."""
        if system.known.shape[0] > MOST_SUMS:
            return None
        there = np.flatnonzero(amounts > 0)
        weights = amounts[there]
        inside, asked = (_among(sums, there) for sums in (system.known, system.secret))
        squares = inside if system.known.factors is None else _with_entries(inside, inside.data**2)
        added = np.asarray(squares @ weights, dtype=np.float64)
        lengths = np.where(added > 0.0, np.sqrt(np.maximum(added, 0.0)), 1.0)
        inside = _with_entries(inside, inside.data * np.repeat(1.0 / lengths, np.diff(inside.indptr)))
        known, secret = (_with_entries(sums, sums.data * weights[sums.indices]) for sums in (inside, asked))
        of_rows = _products(inside, known)
        of_rows[np.diag_indices(len(of_rows))] += SINGULAR
        try:
            factor = scipy.linalg.cholesky(of_rows, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            return None
        return cls(there, weights, known, inside.T, lengths, asked, secret, factor)

    def ways(self, places: IntArray, room: float) -> FloatArray:
        """Ways to move some secrets, a column each, as `projected`; shape (columns there, secrets)."""
        chosen = self.asked[places]
        ways = np.zeros((len(self.there), len(places)))
        ways[chosen.indices, np.repeat(np.arange(len(places)), np.diff(chosen.indptr))] = 1.0
        return self.projected(ways, room)

    def projected(self, ways: FloatArray, room: float) -> FloatArray:
        """Relative changes, shape (columns there, ways), without what changes known sums.

        What rounding leaves of the known sums is taken off a second time where it is more than `room` at
        the end of a way.
        """
        self._project(ways)
        step = 1.0 / np.maximum(
            np.minimum(-ways.min(axis=0, initial=0.0), ways.max(axis=0, initial=0.0)), NEVER
        )
        off = np.flatnonzero(step * self.off(ways) > room)
        if len(off):
            again = ways[:, off]
            self._project(again)
            ways[:, off] = again
        return ways

    def off(self, ways: FloatArray) -> FloatArray:
        """By how much each of some ways changes known sums, at most; shape (ways,)."""
        changed = np.abs(self.known @ ways) * self.lengths[:, None]
        return np.asarray(changed.max(axis=0, initial=0.0), dtype=np.float64)

    def _project(self, ways: FloatArray) -> None:
        right = self.known @ ways
        ways -= self.turned @ scipy.linalg.cho_solve(
            (self.factor, True), right, overwrite_b=True, check_finite=False
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Position:
    """Where moves begin."""

    metric: Metric
    amounts: FloatArray = field(repr=False)
    """Of the columns that may change, all more than nothing."""
    values: FloatArray = field(repr=False)
    """Of the secrets."""
    floor: FloatArray = field(repr=False)
    room: float
    """What takes more than this off a known sum, by rounding, is no solution."""

    def note(self, ways: FloatArray, found: Moved) -> None:
        """Go each way as far as amounts stay positive and secrets above their floors; note what they are."""
        changes, bounded = self.metric.secret @ ways, self.floor > 0
        above = np.maximum((self.values - self.floor)[bounded], 0.0)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(changes[bounded] == 0.0, 0.0, changes[bounded] / above)
        off = self.metric.off(ways)
        relative = ways if self._own else ways * (self.metric.weights / self.amounts)[:, None]
        for sign in (1.0, -1.0):
            most = np.maximum(
                -(sign * relative).min(axis=0, initial=0.0), -(sign * shares).min(axis=0, initial=0.0)
            )
            step = np.where(most > NEVER, 1.0 / np.maximum(most, NEVER), 0.0)
            step[~(step * off <= self.room)] = 0.0
            ends = self.values[:, None] + sign * step * changes
            np.minimum(found.lowest, ends.min(axis=1), out=found.lowest)
            np.maximum(found.highest, ends.max(axis=1), out=found.highest)

    @property
    def _own(self) -> bool:
        """Whether amounts are their own weights."""
        return np.array_equal(self.metric.weights, self.amounts)
