"""A joint system made small, without changing what it tells of a secret.

- From each known sum others that lie within it, apart from each other, are subtracted: the same equations
  with fewer entries. A total whose parts are known is gone.
- What is then a single column is told; a sum of nothing empties all its columns.
- Columns that stand in the same sums are one.
- Columns that no sum and no secret links, through any number of others, are parts: each is a system by
  itself. A part in which no equation rests on anything fresh tells what it told before.

Nothing is left out that could tell more: dropped are equations that follow from others, and whole parts.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.joint_system import JointSystem, Sums, first_alike, numbered, summed

TOLERANCE = 1e-6
"""A sum so close to nothing is nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Of which secrets it is asked what fresh sums tell: flags of secrets and of known sums."""

    asked: BoolArray = field(repr=False)
    fresh: BoolArray = field(repr=False)
    """Known sums that are not looked at for the first time are not fresh."""
    fresh_secrets: BoolArray = field(repr=False)
    """Secrets of which it was not known before that they are not empty."""
    empty_too: bool = False
    """Whether secrets that published zeros empty wholly are asked for, too."""


def everything_of(system: JointSystem) -> Question:
    """All secrets are asked for, and all that is known is fresh."""
    secrets = np.ones(system.secret.shape[0], dtype=np.bool_)
    return Question(secrets, np.ones(system.known.shape[0], dtype=np.bool_), secrets, empty_too=True)


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """What is left to search."""

    system: JointSystem = field(repr=False)
    """The columns that are not told, in parts where a fresh sum may tell something of an asked secret."""
    sure: FloatArray = field(repr=False)
    """What told columns add to each secret, shape (secrets,)."""
    touched: BoolArray = field(repr=False)
    """Asked secrets of which something fresh may tell anything, shape (secrets,)."""
    fresh: BoolArray = field(repr=False)
    """Known sums of it that rest on something fresh, shape (known sums,)."""
    fresh_secrets: BoolArray = field(repr=False)
    """Secrets of which `sure` does, shape (secrets,)."""
    possible: bool
    """False where the known sums contradict each other."""


@dataclass(frozen=True, slots=True, eq=False)
class Subtracted:
    """Known sums less others: row `rows[k]` has lost the original row `less[k]`."""

    system: JointSystem = field(repr=False)
    rows: IntArray = field(repr=False)
    less: IntArray = field(repr=False)

    def prices(self, prices: FloatArray) -> FloatArray:
        """The prices of the original sums, shape (known sums,), for prices of these."""
        lost = np.bincount(self.less, prices[self.rows], len(prices))
        return np.asarray(prices - lost, dtype=np.float64)


def subtracted(system: JointSystem) -> Subtracted:
    """From each known sum others that lie within it and apart, the large ones first, are subtracted."""
    from sdcgate.methods.tables.subtraction_loops import subtract_all

    known = system.known
    # They nearly are in order: a stable sort of one key sees that.
    by_row = np.argsort(known.rows * known.shape[1] + known.columns, kind="stable")
    rows, columns = known.rows[by_row].astype(np.int64), known.columns[by_row].astype(np.int64)
    starts = np.searchsorted(rows, np.arange(known.shape[0] + 1)).astype(np.int64)
    # Of equal sums the first stands for all.
    order = np.lexsort((-np.arange(known.shape[0]), -np.diff(starts)))
    lost, less, left = subtract_all(starts, columns, order, system.kinds, known.shape[1])
    counts = system.counts - np.bincount(lost, system.counts[less], known.shape[0])
    factors = None if known.factors is None else known.factors[by_row][left]
    sums = Sums(rows[left], columns[left], known.shape, factors)
    combined = lost >= system.plain
    places = lost[combined] - system.plain, less[combined] - system.plain
    slack = system.slack + np.bincount(places[0], system.slack[places[1]], len(system.slack))
    smaller = replace(system, counts=counts, known=sums, limits=0, slack=slack)
    return Subtracted(smaller, lost, less)


def reduced(system: JointSystem, question: Question, floors: bool) -> Reduced:
    """The system with no more than a question needs; `floors` where secrets are known not to be empty."""
    smaller = subtracted(system)
    known, secret = smaller.system.known, system.secret
    fresh = question.fresh.copy()
    np.logical_or.at(fresh, smaller.rows, question.fresh[smaller.less])
    told = _told(smaller.system, fresh)
    free = np.isnan(told.values)
    values = np.where(free, 0.0, told.values)
    open_rows = np.bincount(known.rows[free[known.columns]], minlength=known.shape[0]) > 0
    left = smaller.system.counts - known.of(values)
    most_off = TOLERANCE + np.concatenate([np.zeros(system.plain), smaller.system.slack])
    off = (np.abs(left) > most_off) & ~open_rows
    possible = bool(not off.any() and np.all(values >= -TOLERANCE))
    linking = np.ones(secret.shape[0], dtype=np.bool_) if floors else question.asked
    fresh_sure = np.bincount(secret.rows, told.fresh_columns[secret.columns], secret.shape[0]) > 0
    marked = fresh_sure | question.fresh_secrets if floors else fresh_sure
    sums = _together(known, told.fresh, secret, linking, marked, free)
    part = _parts(sums, known.shape[1])
    touched = np.zeros(known.shape[1], dtype=np.bool_)
    touched[part[sums.columns[sums.fresh[sums.rows]]]] = True
    asked = np.zeros(known.shape[1], dtype=np.bool_)
    asked[part[secret.columns[question.asked[secret.rows]]]] = True
    kept = free & touched[part] & asked[part]
    hit = question.empty_too & (np.bincount(secret.rows, minlength=secret.shape[0]) == 0)
    hit[secret.rows[(touched[part] & free)[secret.columns] | told.fresh_columns[secret.columns]]] = True
    rows, searched = _of_columns(smaller.system, left, kept, linking)
    return Reduced(searched, secret.of(values), question.asked & hit, told.fresh[rows], fresh_sure, possible)


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    values: FloatArray
    """Of the columns, NaN where they are not told."""
    fresh: BoolArray
    """Rows that rest on something fresh."""
    fresh_columns: BoolArray
    """Told columns that do."""


def _told(system: JointSystem, fresh: BoolArray) -> _Told:
    """Columns that known sums without factors tell, one after the other."""
    known = system.known
    plain = np.arange(known.shape[0]) < system.plain
    values, fresh = np.full(known.shape[1], np.nan), fresh.copy()
    fresh_columns = np.zeros(known.shape[1], dtype=np.bool_)
    left = system.counts.copy()
    while True:
        free = np.isnan(values)[known.columns]
        entries = np.bincount(known.rows[free], minlength=known.shape[0])
        empty = (entries > 0) & (np.abs(left) <= TOLERANCE)
        new = free & (plain & (empty | (entries == 1)))[known.rows]
        if not new.any():
            return _Told(values, fresh, fresh_columns)
        rows, columns = known.rows[new], known.columns[new]
        values[columns] = np.where(empty[rows], 0.0, left[rows])
        # A column that an old sum tells as well is told all the same.
        fresh_columns[columns] = True
        fresh_columns[columns[~fresh[rows]]] = False
        now = free & ~np.isnan(values)[known.columns]
        told = values[known.columns[now]]
        told = told if known.factors is None else told * known.factors[now]
        left -= np.bincount(known.rows[now], told, known.shape[0])
        np.logical_or.at(fresh, known.rows[now], fresh_columns[known.columns[now]])


@dataclass(frozen=True, slots=True, eq=False)
class _Links:
    rows: IntArray
    columns: IntArray
    fresh: BoolArray
    """Rows that rest on something fresh."""


def _together(
    known: Sums, fresh: BoolArray, secret: Sums, linking: BoolArray, marked: BoolArray, free: BoolArray
) -> _Links:
    """The free columns of known sums and of secrets that link them, as rows of one array."""
    shown, hidden = free[known.columns], free[secret.columns] & linking[secret.rows]
    return _Links(
        np.concatenate([known.rows[shown], known.shape[0] + secret.rows[hidden]]),
        np.concatenate([known.columns[shown], secret.columns[hidden]]),
        np.concatenate([fresh, marked]),
    )


def _parts(links: _Links, columns: int) -> IntArray:
    """For each column the least column that it is linked with, shape (columns,)."""
    from sdcgate.methods.tables.subtraction_loops import linked

    return linked(links.rows, links.columns, len(links.fresh), columns)


def _of_columns(
    system: JointSystem, left: FloatArray, kept: BoolArray, linking: BoolArray
) -> tuple[IntArray, JointSystem]:
    """The system of some columns, those in the same sums one, and which known sums it has.

    `left` is what told columns leave of these.
    """
    known, secret = system.known, system.secret
    shown, hidden = kept[known.columns], kept[secret.columns]
    rows = np.concatenate([known.rows[shown], known.shape[0] + secret.rows[hidden & linking[secret.rows]]])
    columns = np.concatenate([known.columns[shown], secret.columns[hidden & linking[secret.rows]]])
    if known.factors is not None:
        # Columns with other factors in a sum are not alike.
        rows[: np.count_nonzero(shown)], _ = numbered(known.rows[shown], known.factors[shown])
        rows[np.count_nonzero(shown) :] += len(known.rows)
    first = first_alike(rows, columns, known.shape[1])
    chosen = first == np.arange(known.shape[1])
    shown, hidden = chosen[known.columns], chosen[secret.columns] & linking[secret.rows]
    place = np.cumsum(chosen) - 1
    live = np.flatnonzero(np.bincount(known.rows[shown], minlength=known.shape[0]))
    row = np.full(known.shape[0], -1)
    row[live] = np.arange(len(live))
    size = int(chosen.sum())
    factors = None if known.factors is None else known.factors[shown]
    combined = live[live >= system.plain] - system.plain
    return live, JointSystem(
        tuple(system.published[int(number)] for number in live),
        left[live],
        Sums(row[known.rows[shown]], place[known.columns[shown]], (len(live), size), factors),
        Sums(secret.rows[hidden], place[secret.columns[hidden]], (secret.shape[0], size)),
        system.room,
        held=None if system.held is None else summed(system.held, first, known.shape[1])[chosen],
        slack=system.slack[combined],
        scales=system.scales[combined],
        same=system.same[combined],
        rounded=system.rounded[combined],
    )


def warm_up() -> None:
    """Load the compiled loops: call before a service says that it is ready to audit tables."""
    import sdcgate.methods.tables.atom_loops
    import sdcgate.methods.tables.product_loops
    import sdcgate.methods.tables.subtraction_loops  # noqa: F401
