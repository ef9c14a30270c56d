"""Perturbation tables: with what probability a count i leaves as j = i + v.

Marley and Leaver (2011), A Method for Confidentialising User-Defined Tables, ISI World Statistics Congress,
ask for noise without bias, of fixed variance V and at most D, that never makes a count negative; Giessing
(2016), Computational Issues in the Design of Transition Probabilities, PSD 2016, LNCS 9867, section 2, takes
of all such distributions the one of greatest entropy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.tables.entropy import EntropyError, maximum_entropy
from sdcgate.methods.tables.solver import Deadline, Program, Rows

MOST_NOISE = 30
MOST_DEVIATIONS = 12.0
"""Noise of more standard deviations than this never occurs, and is no protection."""
STAY_STEP = 0.05
"""By how much the probability to stay is lowered, again and again, in a row that cannot reach V with it."""
ROOM = 1e-6
"""By how much V must exceed the least possible variance."""
SECONDS = 10.0


class PTableError(ValueError):
    """A perturbation table that cannot be, or is not sound; `problems` has all that is wrong: where, what."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{where} {what}" if where else what for where, what in problems))


@dataclass(frozen=True, slots=True)
class NoiseParameters:
    """What noise is wanted.

    `maximum_noise` (D) is the most by which a count changes, `variance` (V) the variance of the change. No
    count leaves as 1 to `largest_blocked_count` (js). A count stays what it is with at least
    `stay_probabilities` (p_stay): one for all counts, or one for each count from 1 on, the last for all that
    follow; none is 0. Where V cannot be reached with it, it is lowered in steps of 0.05.
    Where `monotone`, larger decreases are no likelier than smaller ones.

    Raises PTableError, naming the fields.
    """

    maximum_noise: int
    variance: float
    largest_blocked_count: int = 0
    stay_probabilities: tuple[float, ...] = ()
    monotone: bool = True

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise PTableError(problems)

    def _problems(self) -> Iterator[tuple[str, str]]:
        most, blocked = self.maximum_noise, self.largest_blocked_count
        if not 1 <= most <= MOST_NOISE:
            yield "maximum_noise", f"must be from 1 to {MOST_NOISE}"
            return
        largest = most * (most + 1) / 3
        if not 0 < self.variance <= largest:
            of_what = f"that of equally likely changes by up to {most}"
            yield "variance", f"must be greater than 0 and at most {largest:.6g}, {of_what}"
        elif most > MOST_DEVIATIONS * self.variance**0.5:
            yield "maximum_noise", f"must be at most {MOST_DEVIATIONS:g} times the square root of variance"
        if not 0 <= blocked < most:
            yield "largest_blocked_count", "must be at least 0 and less than maximum_noise"
            return
        if len(self.stay_probabilities) > self.last_count:
            yield "stay_probabilities", f"must be at most one for each count from 1 to {self.last_count}"
        for place, stay in enumerate(self.stay_probabilities):
            if not 0 <= stay < 1:
                yield f"stay_probabilities[{place}]", "must be at least 0 and less than 1"

    @property
    def last_count(self) -> int:
        """The count from which on all counts have the same noise, which is symmetric."""
        blocked = self.largest_blocked_count
        return self.maximum_noise + (blocked + 1 if blocked else 0)

    def stay(self, count: int) -> float:
        """The least probability that a count stays what it is."""
        if not self.stay_probabilities:
            return 0.0
        return self.stay_probabilities[min(count, len(self.stay_probabilities)) - 1]


@dataclass(frozen=True, slots=True, eq=False)
class PTable:
    """Noise by count, a row each: count `counts` (i) changes by `noise` (v) with its probability.

    Rows are in blocks of the same count, from 0 without a gap; the last block is that of all greater counts.
    Within a block `upper` are the cumulated probabilities, the last one 1.
    """

    counts: IntArray
    noise: IntArray
    probabilities: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)

    @property
    def last_count(self) -> int:
        """The greatest count that has a block of its own."""
        return int(self.counts[-1])

    @property
    def maximum_noise(self) -> int:
        """The most by which any count changes."""
        return int(np.abs(self.noise).max())

    def block(self, count: int) -> slice:
        """The rows of a count."""
        wanted = min(count, self.last_count)
        first, end = np.searchsorted(self.counts, [wanted, wanted + 1])
        return slice(int(first), int(end))

    def variances(self) -> FloatArray:
        """Variance of the noise of each count from 0 to the last, shape (counts,)."""
        squares = self.probabilities * self.noise.astype(np.float64) ** 2
        return np.bincount(self.counts, weights=squares).astype(np.float64)


def table_from_rows(counts: IntArray, noise: IntArray, probabilities: FloatArray) -> PTable:
    """A table of rows in order, blocks one after the other."""
    upper = np.zeros(len(counts))
    for count in np.unique(counts):
        rows = counts == count
        upper[rows] = np.cumsum(probabilities[rows])
        upper[np.flatnonzero(rows)[-1]] = 1.0
    return PTable(counts, noise, probabilities, upper)


@lru_cache(maxsize=32)
def ptable(parameters: NoiseParameters) -> PTable:
    """The perturbation table of greatest entropy.

    Zero stays zero. Where no noise of a small count can have the variance V, because it cannot become
    negative, its noise is that of greatest entropy at all, with less variance.

    Raises PTableError where V is too small for some count.
    """
    counts, noise, probabilities = [0], [0], [1.0]
    for count in range(1, parameters.last_count + 1):
        changes = _changes(parameters, count)
        found = _row(parameters, count, changes)
        for change, probability in zip(changes.tolist(), found.tolist(), strict=True):
            if probability > 0:
                counts.append(count)
                noise.append(change)
                probabilities.append(probability)
    return table_from_rows(np.array(counts), np.array(noise), np.array(probabilities))


def _changes(parameters: NoiseParameters, count: int) -> IntArray:
    """By what a count may change."""
    most = parameters.maximum_noise
    left = np.arange(max(0, count - most), count + most + 1)
    allowed = (left == 0) | (left > parameters.largest_blocked_count)
    changes: IntArray = left[allowed] - count
    return changes


def _row(parameters: NoiseParameters, count: int, changes: IntArray) -> FloatArray:
    """Probabilities of a count's changes: with the greatest chance to stay that reaches V, or else with none.

    The smaller that chance the more the noise can vary, so that half of the chances are ruled out at once.
    """
    stays = _stays(parameters.stay(count) if 0 in changes else 0.0)
    first, last = 0, len(stays) - 1
    while first < last:
        middle = (first + last) // 2
        found = _with_stay(parameters, changes, stays[middle])
        if found is not None and float(found @ changes**2) > parameters.variance - ROOM:
            last = middle
        else:
            first = middle + 1
    found = _with_stay(parameters, changes, stays[first])
    if found is None:
        least = _least_variance(changes, *_inequalities(parameters, changes, 0.0))
        raise PTableError([("variance", _too_small(count, least))])
    return found


def _stays(most: float) -> list[float]:
    """Probabilities to stay that are tried: the wanted one, then lower ones down to 0."""
    steps = int(np.ceil(round(most / STAY_STEP, 9)))
    return [max(0.0, round(most - step * STAY_STEP, 10)) for step in range(steps + 1)]


def _with_stay(parameters: NoiseParameters, changes: IntArray, stay: float) -> FloatArray | None:
    """The distribution of greatest entropy with a probability to stay; None where V is too small for any."""
    rows, limits = _inequalities(parameters, changes, stay)
    least = _least_variance(changes, rows, limits)
    if least is None or parameters.variance <= least + ROOM:
        return None
    return _of_greatest_entropy(changes, rows, limits)


def _too_small(count: int, least: float | None) -> str:
    if least is None:
        return f"is not to blame: count {count} can have no noise with mean 0, take a greater maximum_noise"
    return f"must be greater than {least:.6g}, the least that noise of count {count} with mean 0 can have"


def _inequalities(
    parameters: NoiseParameters, changes: IntArray, stay: float
) -> tuple[FloatArray, FloatArray]:
    """Rows and bounds of what must not be exceeded, the variance first."""
    rows, limits = [changes.astype(np.float64) ** 2], [parameters.variance]
    if 0 in changes:
        at = int(np.flatnonzero(changes == 0)[0])
        if parameters.monotone:
            for smaller in range(at):
                row = np.zeros(len(changes))
                row[smaller], row[smaller + 1] = 1.0, -1.0
                rows.append(row)
                limits.append(0.0)
        if stay > 0:
            row = np.zeros(len(changes))
            row[at] = -1.0
            rows.append(row)
            limits.append(-stay)
    return np.array(rows), np.array(limits)


def _least_variance(changes: IntArray, rows: FloatArray, limits: FloatArray) -> float | None:
    """The least variance of noise with mean 0 under all inequalities but the first; None if there is none."""
    n = len(changes)
    rows, limits = rows[1:], limits[1:]
    constraints = Rows()
    sums = np.array([1.0, 0.0])
    first = constraints.start(sums, sums)
    columns = np.arange(n)
    for number, row in enumerate((np.ones(n), changes.astype(np.float64))):
        constraints.put(np.full(n, first + number), columns, row)
    more = constraints.start(np.full(len(rows), -np.inf), limits)
    for number, row in enumerate(rows):
        constraints.put(np.full(n, more + number), columns, row)
    program = Program(constraints, n)
    square = changes.astype(np.float64) ** 2
    found = program.maximise(-square, np.zeros(n), np.ones(n), Deadline(SECONDS))
    return None if found is None else float(found @ square)


def _of_greatest_entropy(changes: IntArray, rows: FloatArray, limits: FloatArray) -> FloatArray:
    try:
        found = maximum_entropy(changes[None, :].astype(np.float64), np.zeros(1), rows, limits)
    except EntropyError as error:
        raise PTableError([("variance", "is too near to the least that is possible")]) from error
    return found
