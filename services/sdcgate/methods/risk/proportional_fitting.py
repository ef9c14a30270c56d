"""Iterative proportional fitting of margins to the table of all possible keys.

A margin that does not contain a variable can be fitted on the table summed over that variable: the factors
are the same. A round deals the variables into groups, sums the whole table over one group, fits the margins
that are without it on the smaller table in the same way, multiplies the factors into the whole one, and goes
on with the next group. All two-way margins of 8 variables take 3 passes over the whole table in place of 28,
all three-way ones 4 in place of 56.
"""

from dataclasses import dataclass, field
from math import prod

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray

MAXIMUM_ROUNDS = 200
MOST_VISITS = 3e10
"""Visits of cells that a fit may take: about a minute. It is a bound of work, not of the clock, so that the
same file has the same fit on every machine."""


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """Sums over all variables but some."""

    variables: tuple[int, ...]
    counts: FloatArray = field(repr=False)
    """Row-major over the variables, shape (cells of the margin,)."""

    @classmethod
    def of_keys(
        cls, variables: tuple[int, ...], shape: tuple[int, ...], codes: IntArray, counts: FloatArray
    ) -> "Margin":
        """The margin of keys with `codes` (K, variables) and `counts` (K,)."""
        cells = prod(shape[variable] for variable in variables)
        found = np.bincount(codes @ strides(variables, shape), counts, cells)
        return cls(variables, found.astype(np.float64))

    def of_table(self, means: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        """The same margin of a table of means."""
        sums = np.zeros(len(self.counts))
        table = _Table(means, shape)
        table.visit(sums, strides(self.variables, shape))
        return sums


@dataclass(frozen=True, slots=True)
class Fitted:
    """How a fit ended."""

    rounds: int
    deviation: float
    """Largest difference between a fitted margin and its count, in records."""
    converged: bool
    """Whether that is within the tolerance."""
    visits: float
    """Cells that were visited."""


def proportional_fit(
    means: FloatArray,
    shape: tuple[int, ...],
    margins: list[Margin],
    tolerance: float,
    rounds: int = MAXIMUM_ROUNDS,
    most_visits: float = MOST_VISITS,
) -> Fitted:
    """Scale means in place, shape (cells,), until their margins are those given.

    It ends after so many rounds, or before the round in which more than `most_visits` cells would be visited,
    but never before the first one; `converged` says whether the margins were met by then.
    """
    cycle = _Cycle.over(tuple(range(len(shape))), shape, margins)
    table = _Table(means, shape)
    deviation, done = np.inf, 0
    affordable = max(1, int((most_visits - len(means)) // max(cycle.visits, 1.0)))
    while done < min(rounds, affordable) and not deviation <= tolerance:
        deviation = cycle.run(table)
        done += 1
    table.finish()
    return Fitted(done, float(deviation), bool(deviation <= tolerance), done * cycle.visits + len(means))


def strides(variables: tuple[int, ...], shape: tuple[int, ...]) -> IntArray:
    """By how much a cell of a margin moves with each variable of the table, 0 for those summed over."""
    found = np.zeros(len(shape), dtype=np.int64)
    size = 1
    for variable in reversed(variables):
        found[variable] = size
        size *= shape[variable]
    return found


class _Table:
    """Means, with factors that the next visit multiplies into them."""

    def __init__(self, means: FloatArray, shape: tuple[int, ...]) -> None:
        self._means = means
        self._axes = np.array(shape, dtype=np.int64)
        self._factors = np.ones(1)
        self._strides = np.zeros(len(shape), dtype=np.int64)

    def visit(self, sums: FloatArray, sum_strides: IntArray) -> None:
        """Multiply the factors in, and add the means to the sums of a margin."""
        from sdcgate.methods.risk.table_loops import scale_and_sum

        scale_and_sum(self._means, self._axes, self._factors, self._strides, sums, sum_strides)
        self._factors, self._strides = np.ones(1), np.zeros_like(self._strides)

    def scale(self, factors: FloatArray, factor_strides: IntArray) -> None:
        """Have the next visit multiply factors of a margin in."""
        self._factors, self._strides = factors, factor_strides

    def finish(self) -> None:
        """Multiply what is left in."""
        self.visit(np.zeros(1), np.zeros_like(self._strides))


@dataclass(frozen=True, slots=True)
class _Cycle:
    """A round over one table: margins fitted on it, and cycles over smaller tables for the others."""

    shape: tuple[int, ...]
    margins: tuple[tuple[FloatArray, IntArray], ...]
    """Counts, and strides on this table."""
    parts: tuple[tuple["_Cycle", IntArray], ...]
    """Cycles, and strides of their tables on this one."""
    visits: float

    @classmethod
    def over(cls, variables: tuple[int, ...], sizes: tuple[int, ...], margins: list[Margin]) -> "_Cycle":
        """The cycle over the table of some variables, named in order; `sizes` of all variables."""
        shape = tuple(sizes[variable] for variable in variables)
        places = {variable: place for place, variable in enumerate(variables)}

        def own_strides(names: tuple[int, ...]) -> IntArray:
            return strides(tuple(places[name] for name in names), shape)

        here, parts = list[Margin](), list[tuple[_Cycle, IntArray]]()
        for names, own in _shared_out(variables, sizes, margins):
            if len(own) == 1:
                here += own
            else:
                parts.append((cls.over(names, sizes, own), own_strides(names)))
        return cls(
            shape=shape,
            margins=tuple((margin.counts, own_strides(margin.variables)) for margin in here),
            parts=tuple(parts),
            visits=float(prod(shape)) * (len(here) + len(parts))
            + sum(part.visits + prod(part.shape) for part, _ in parts),
        )

    def run(self, table: _Table) -> float:
        """Fit each margin once; the largest difference that was met. Factors are left for the next visit."""
        deviation = 0.0
        for counts, own_strides in self.margins:
            sums = np.zeros(len(counts))
            table.visit(sums, own_strides)
            deviation = max(deviation, float(np.abs(sums - counts).max()))
            table.scale(factors_to(counts, sums), own_strides)
        for part, own_strides in self.parts:
            before = np.zeros(prod(part.shape))
            table.visit(before, own_strides)
            after = before.copy()
            smaller = _Table(after, part.shape)
            deviation = max(deviation, part.run(smaller))
            smaller.finish()
            table.scale(factors_to(after, before), own_strides)
        return deviation


def _shared_out(
    variables: tuple[int, ...], sizes: tuple[int, ...], margins: list[Margin]
) -> list[tuple[tuple[int, ...], list[Margin]]]:
    """Margins shared out to smaller tables, each with its variables, such that a round visits fewest cells.

    Variables are dealt into groups of about the same number of cells, and each smaller table leaves one group
    out. A margin of r variables is in at least one of the tables of r + 1 groups.
    """
    cells = float(prod(sizes[variable] for variable in variables))
    best, least = [(margin.variables, [margin]) for margin in margins], cells * len(margins)
    largest = max((len(margin.variables) for margin in margins), default=0)
    for number in range(2, min(largest + 1, len(variables)) + 1):
        groups = _dealt(variables, sizes, number)
        own: list[list[Margin]] = [[] for _ in groups]
        for margin in margins:
            free = (place for place, group in enumerate(groups) if group.isdisjoint(margin.variables))
            place = next(free, None)
            if place is None:
                break
            own[place].append(margin)
        else:
            shared = [(_together(one), one) for one in own if one]
            visits = sum(
                cells + (len(one) > 1) * (len(one) + 2.0) * prod(sizes[name] for name in names)
                for names, one in shared
            )
            if visits < least:
                best, least = shared, visits
    return best


def _dealt(variables: tuple[int, ...], sizes: tuple[int, ...], number: int) -> list[set[int]]:
    """Variables in so many groups, the largest first, each to the group of fewest cells so far."""
    groups, cells = [set[int]() for _ in range(number)], [1] * number
    for variable in sorted(variables, key=lambda one: -sizes[one]):
        place = cells.index(min(cells))
        groups[place].add(variable)
        cells[place] *= sizes[variable]
    return [group for _, group in sorted(zip(cells, groups, strict=True), key=lambda one: -one[0])]


def _together(margins: list[Margin]) -> tuple[int, ...]:
    return tuple(sorted({variable for margin in margins for variable in margin.variables}))


def factors_to(wanted: FloatArray, sums: FloatArray) -> FloatArray:
    """What a margin's cells are to be multiplied by, 0 where nothing is expected."""
    factors: FloatArray = np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
    return factors
