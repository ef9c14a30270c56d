"""How far apart whole numbers of people can be, where sums with factors leave only some of them.

Of three towns that weigh 103.37, 117.91 and 131.05 people number and weight leave a line of possible counts,
and of whole numbers on it perhaps a single one: a knapsack whose items have such weights has one solution as
a rule. Linear programs do not see that. So a secret that they find far enough apart is shown to be so by
complete tables in whole numbers, from the true one on; where none are found it counts as told.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.directions import directions
from sdcgate.methods.tables.joint_moves import agrees
from sdcgate.methods.tables.joint_system import TOLERANCE, JointSystem, Sums, numbered
from sdcgate.methods.tables.solver import INFINITY, Deadline, Program, Rows

SWEEPS = 12
FEW, MOST_NODES = 20, 200
"""So many secrets are looked at one by one, and so many nodes for each of their ends."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeNumbers:
    """What complete tables in whole numbers show of secrets, shape (secrets,) each."""

    lowest: FloatArray = field(repr=False)
    """Least value that was reached; where `narrow`, and not only supposed, the bound."""
    highest: FloatArray = field(repr=False)
    narrow: BoolArray = field(repr=False)
    """There are no two tables in which they are a width apart, or none were found."""
    supposed: BoolArray = field(repr=False)
    """None were found, and there may be some."""


def as_it_is(system: JointSystem) -> tuple[JointSystem, IntArray]:
    """The system, of which each sum comes from itself."""
    return system, np.arange(len(system.counts))


def by_factors(system: JointSystem) -> tuple[JointSystem, IntArray]:
    """The system with a sum of its own for all columns that have the same factor in a sum of the same.

    They are as what is true has them; where that is not given, or amounts are no whole numbers, the system
    stays as it is. It is a little more than sums with factors tell: nearly what they do in whole numbers, and
    no harder than plain sums are. Returns for each of its sums, too, which of the system's it comes from.
    """
    known, held = system.known, system.held
    if known.factors is None or held is None or not (system.whole and (system.same >= 0).any()):
        return as_it_is(system)
    told = np.concatenate([np.zeros(system.plain, dtype=np.bool_), system.same >= 0])
    parted = told[known.rows]
    part, own = numbered(known.rows[parted], known.factors[parted])
    kept = np.flatnonzero(~told)
    # Plain sums are the first, and those with factors that are left the last.
    row = np.concatenate([kept[kept < system.plain], own, kept[kept >= system.plain]])
    place = np.full(len(told), -1)
    place[row[: system.plain]] = np.arange(system.plain)
    place[row[system.plain + len(own) :]] = np.arange(system.plain + len(own), len(row))
    rows = np.where(parted, 0, place[known.rows])
    rows[parted] = system.plain + part
    factors = np.where(parted, 1.0, known.factors)
    sums = Sums(rows, known.columns, (len(row), system.columns), factors)
    counts = system.counts[row]
    new = slice(system.plain, system.plain + len(own))
    counts[new] = np.rint(sums.of(held))[new]
    published = tuple(system.published[at] for at in row.tolist())
    left = ~told[system.plain :]
    if not left.any():
        sums = replace(sums, factors=None)
    return (
        replace(
            system,
            published=published,
            counts=counts,
            known=sums,
            slack=system.slack[left],
            scales=system.scales[left],
            same=system.same[left],
            rounded=system.rounded[left],
        ),
        row,
    )


def in_whole_numbers(
    system: JointSystem, rows: Rows, width: FloatArray, floor: FloatArray, asked: BoolArray, until: Deadline
) -> WholeNumbers:
    """Which of some secrets can be two whole numbers a width apart.

    Args:
        system: all that is known.
        rows: the same as constraints.
        width: the least distance that is required of each secret, shape (secrets,).
        floor: what each is known to have at least, shape (secrets,).
        asked: the secrets, shape (secrets,).
        until: what is not shown by then is supposed to be narrow.
    """
    search = _Search(system, width, floor, asked, until)
    whole = np.ones(system.columns, dtype=np.bool_)
    rough = Program(rows, system.columns, whole, rough=True)
    search.sweep(rough, others_move=system.held is None)
    search.sweep(rough, others_move=True)
    exact = Program(rows, system.columns, whole, most_nodes=MOST_NODES)
    for secret in np.flatnonzero(search.close)[:FEW].tolist():
        search.settle(exact, secret)
    supposed = search.close & ~search.narrow
    return WholeNumbers(search.lowest, search.highest, search.narrow | supposed, supposed)


class _Search:
    def __init__(
        self, system: JointSystem, width: FloatArray, floor: FloatArray, asked: BoolArray, until: Deadline
    ) -> None:
        self._system, self._width, self._floor = system, width, floor
        self._asked, self._until = asked, until
        self.lowest, self.highest = np.full(len(asked), INFINITY), np.full(len(asked), -INFINITY)
        self.narrow = np.zeros(len(asked), dtype=np.bool_)
        self._least = np.zeros(system.columns)
        self._most = np.full(system.columns, system.counts.max(initial=0.0) + float(width.max(initial=0.0)))
        if system.held is not None:
            self._note(system.held)

    @property
    def close(self) -> BoolArray:
        """Asked secrets that were not seen far enough apart."""
        close: BoolArray = self._asked & ~(self.highest - self.lowest >= self._width)
        return close

    def sweep(self, program: Program, others_move: bool) -> None:
        """Move all that are close at once, up and down; people outside of withheld boxes may stay."""
        least, most, hidden = self._least, self._most, self._system.secret
        if not others_move and self._system.held is not None:
            free = np.bincount(hidden.columns, minlength=self._system.columns) > 0
            least = np.where(free, least, self._system.held)
            most = np.where(free, most, self._system.held)
        for turn in range(SWEEPS):
            before = int(np.count_nonzero(self.close))
            if not before:
                return
            way = directions(len(self._asked), turn // 2) * (-1.0 if turn % 2 else 1.0)
            cost = hidden.spread(np.where(self.close, way, 0.0))
            found = program.maximise(cost, least, most, self._until)
            if found is not None:
                self._note(found)
            if turn % 2 and before == np.count_nonzero(self.close):
                return

    def settle(self, program: Program, secret: int) -> None:
        """Move one secret up and down as far as it goes."""
        chosen, ends = np.zeros(len(self._asked)), []
        for way in (1.0, -1.0):
            if not self.close[secret]:
                return
            chosen[secret] = way
            cost = self._system.secret.spread(chosen)
            best = program.best(cost, self._least, self._most, self._until)
            if best.values is not None:
                self._note(best.values)
            ends.append(way * (np.floor(best.bound + TOLERANCE) if np.isfinite(best.bound) else INFINITY))
        if self.close[secret] and ends[0] - ends[1] < self._width[secret]:
            self.narrow[secret] = True
            self.lowest[secret], self.highest[secret] = ends[1], ends[0]

    def _note(self, amounts: FloatArray) -> None:
        """Note the values of a complete table, if it is one."""
        whole = np.rint(amounts)
        if agrees(self._system, whole, self._floor):
            values = self._system.secret.of(whole)
            np.minimum(self.lowest, values, out=self.lowest)
            np.maximum(self.highest, values, out=self.highest)
