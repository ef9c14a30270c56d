"""Protecting a table by other values: cell keys or rounding, what that loses, and whether it hides enough.

Whoever sees the values is taken to know the method, its parameters and tables, but no keys: of each count an
interval, that counts and keys add up, and whatever the problem says is known from elsewhere. An unsafe count
is hidden if it can be either of two that are `count_width` apart. Of sums nothing is proved, nor of counts
beside them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray, KeyArray, leaf_cells
from sdcgate.methods.tables.adjustment import AdjustedTable
from sdcgate.methods.tables.cell_key import (
    SumNoise,
    counts_behind_noise,
    fractions_of_keys,
    noise_of_counts,
    noisy_sums,
    noisy_weight_sums,
)
from sdcgate.methods.tables.controlled_rounding import ControlledTable, controlled_rounding
from sdcgate.methods.tables.feasible import feasible_counts
from sdcgate.methods.tables.key_sums import NoisyCounts, beside_key_sums
from sdcgate.methods.tables.problem import MOST_RECORDS, Problem, Proof
from sdcgate.methods.tables.ptable import PTable
from sdcgate.methods.tables.rounding import (
    Intervals,
    behind_nearest,
    behind_neighbours,
    behind_small_counts,
    interval_classes,
    nearest_multiples,
    random_multiples,
)
from sdcgate.methods.tables.small_counts import small_count_rounding
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.utility import Utility, table_utility

LARGEST_SUM = 1e150
FINEST = 2.0**40
"""How many bases the largest sum may have."""


class RoundingKind(IntEnum):
    """Ways of rounding; the numbers are the wire's."""

    UNSPECIFIED = 0
    NEAREST = 1
    RANDOM = 2
    CONTROLLED = 3
    SMALL_COUNTS = 4
    INTERVALS = 5


@dataclass(frozen=True, slots=True, eq=False)
class CellKeys:
    """Noise by cell keys, shape (cells,); without `sums` the sums of measures are left out."""

    keys: KeyArray = field(repr=False)
    table: PTable
    sums: SumNoise | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """Rounding of the counts, or of the sums of one measure (its number).

    RANDOM needs `keys`, 64 random bits a cell; `released`, for CONTROLLED, are rounded values that have left
    already, NaN where none has.
    """

    kind: RoundingKind
    base: float
    measure: int | None = None
    keys: KeyArray | None = field(default=None, repr=False)
    released: FloatArray | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedFact:
    """A fact of all cells as it may be published: values, or intervals; `utility` is confidential."""

    fact: str
    values: FloatArray | None = field(repr=False)
    intervals: Intervals | None = field(default=None, repr=False)
    utility: Utility | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Perturbed:
    """What may be published in place of a table; `unprotected` unsafe cells are not shown to be hidden.

    `unchecked` are published facts of which nothing is proved.
    """

    facts: tuple[PerturbedFact, ...]
    proof: Proof
    unprotected: BoolArray = field(repr=False)
    unchecked: tuple[str, ...]
    rounded: ControlledTable | None = None
    adjusted: AdjustedTable | None = None


def with_cell_keys(
    problem: Problem, unsafe: BoolArray, method: CellKeys, seconds: float, counts: str = "units"
) -> Perturbed:
    """Give the units of a table noise, with them weighted counts and, if asked, sums.

    `counts` says what the units are called. Only where nothing but them leaves anything is proved.

    Each measure with sums needs as many largest contributions as there are shares. Raises ValueError where
    there are fewer.
    """
    facts = problem.facts
    units = facts.units
    fractions = fractions_of_keys(method.keys)
    noise = noise_of_counts(units, fractions, method.table)
    found = [(counts, units.astype(np.float64), (units + noise).astype(np.float64))]
    for name in ("weight_sums", "unit_weight_sums"):
        weights = getattr(facts, name)
        if weights is not None and weights.size:
            found.append((name, weights, noisy_weight_sums(weights, units, noise)))
    if method.sums is not None:
        for measure in facts.measures:
            noisy = noisy_sums(measure.sums, measure.largest, method.keys, method.sums, unsafe, measure.name)
            found.append((f"sums of {measure.name}", measure.sums, noisy))
    changed = tuple(
        PerturbedFact(name, noisy, utility=table_utility(problem.axes, true, noisy))
        for name, true, noisy in found
    )
    unchecked = tuple(name for name, _, _ in found[1:])
    if unchecked:
        # They tell of the counts too: the noisy weighted count over the noisy count is the true mean weight.
        return Perturbed(changed, Proof.UNPROVED, unsafe.copy(), unchecked)
    lower, upper, every = counts_behind_noise(units, units + noise, method.table)
    behind = Intervals(lower.astype(np.float64), upper.astype(np.float64))
    deadline = Deadline(seconds)
    proof, unprotected = hidden(problem, unsafe, units, behind, seconds / 2)
    if proof is Proof.REFUTED and not every:
        proof = Proof.UNPROVED
    keyed = NoisyCounts(units, units + noise, fractions, method.table, problem.known)
    asked = unsafe & ~unprotected & ~problem.known
    beside = beside_key_sums(problem.equations, keyed, asked, problem.count_width, deadline)
    if beside.refuted:
        proof = Proof.REFUTED
    elif proof is Proof.PROVED and beside.cells.any():
        proof = Proof.UNPROVED
    return Perturbed(changed, proof, unprotected | beside.cells, ())


def with_rounding(
    problem: Problem, unsafe: BoolArray, method: Rounding, seconds: float, counts: str = "records"
) -> Perturbed:
    """Round the records of a table, or the sums of a measure. `counts` says what the records are called.

    Raises ValueError where base, keys or released values do not fit.
    """
    facts = problem.facts
    for where, what in _wrong_base(problem, method):
        raise ValueError(f"{where} {what}")
    if method.measure is not None:
        measure = facts.measures[method.measure]
        true, fact = measure.sums.astype(np.float64), f"sums of {measure.name}"
    else:
        true, fact = facts.records.astype(np.float64), counts
    changed, rounded = _rounded(problem, true, method, seconds / 2)
    if changed is None:
        return Perturbed((), Proof.UNPROVED, unsafe.copy(), (), rounded)
    if isinstance(changed, Intervals):
        of_fact = PerturbedFact(fact, None, intervals=changed)
    else:
        of_fact = PerturbedFact(fact, changed, utility=table_utility(problem.axes, true, changed))
    if method.measure is not None:
        return Perturbed((of_fact,), Proof.UNPROVED, unsafe.copy(), (fact,), rounded)
    behind = _behind(problem, changed, method, rounded)
    proof, unprotected = hidden(problem, unsafe, facts.records, behind, seconds / 2)
    return Perturbed((of_fact,), proof, unprotected, (), rounded)


def _rounded(
    problem: Problem, true: FloatArray, method: Rounding, seconds: float
) -> tuple[FloatArray | Intervals | None, ControlledTable | None]:
    """Rounded values or intervals, and what is known of a table that was sought."""
    match method.kind:
        case RoundingKind.NEAREST:
            return nearest_multiples(true, method.base), None
        case RoundingKind.INTERVALS:
            return interval_classes(true, method.base, whole=method.measure is None), None
        case RoundingKind.RANDOM:
            if method.keys is None:
                raise ValueError("random rounding needs keys")
            return random_multiples(true, method.base, method.keys), None
        case RoundingKind.CONTROLLED:
            found = controlled_rounding(problem.axes, true, method.base, seconds, method.released)
            return found.values, found
        case RoundingKind.SMALL_COUNTS:
            if method.measure is not None:
                raise ValueError("only counts are rounded where they are small")
            counts = problem.facts.records
            found = small_count_rounding(problem.axes, counts, int(method.base), seconds)
            return found.values, found
        case _:
            raise ValueError("the kind of rounding must be told")


def _behind(
    problem: Problem, changed: FloatArray | Intervals, method: Rounding, rounded: ControlledTable | None
) -> Intervals:
    """The counts behind rounded ones."""
    base = int(method.base)
    if isinstance(changed, Intervals):
        return changed
    if method.kind is RoundingKind.NEAREST:
        return behind_nearest(changed, base)
    if method.kind is RoundingKind.SMALL_COUNTS:
        return behind_small_counts(changed, leaf_cells(problem.axes), base)
    steps = np.full(len(changed), 1 if rounded is None else rounded.steps, dtype=np.int64)
    if method.released is not None:
        # What has left before went as far as it had to, and not as far as this table has to.
        left = ~np.isnan(method.released)
        steps[left] = np.abs(changed - problem.facts.records)[left] // base + 1
    return behind_neighbours(changed, base, steps)


def hidden(
    problem: Problem, unsafe: BoolArray, true: IntArray, behind: Intervals, seconds: float
) -> tuple[Proof, BoolArray]:
    """Whether each unsafe count is hidden by the intervals it is known to lie in, and which may not be."""
    if true is not problem.facts.records and not (problem.units_additive or problem.units_follow):
        # What units of parts say about those of a total is no equation, and may not be left out.
        return Proof.UNPROVED, unsafe.copy()
    known = Intervals(
        np.where(problem.known, true, behind.lower), np.where(problem.known, true, behind.upper)
    )
    found = feasible_counts(
        problem.equations, true, known, unsafe & ~problem.known, problem.count_width, seconds
    )
    return found.proof, found.unprotected


def misfits(problem: Problem, method: CellKeys | Rounding) -> Iterator[tuple[str, str]]:
    """What of a problem and a method does not go together, as (field, what is wrong)."""
    yield from unchangeable(problem)
    changed: tuple[int, ...] = ()
    if isinstance(method, Rounding):
        yield from _wrong_base(problem, method)
        changed = () if method.measure is None else (method.measure,)
    elif method.sums is not None:
        changed = tuple(range(len(problem.facts.measures)))
        yield from _too_few_contributions(problem, len(method.sums.shares))
    for place in changed:
        if np.abs(problem.facts.measures[place].sums).max(initial=0.0) > LARGEST_SUM:
            yield f"problem.facts.measures[{place}].sums", f"must not exceed {LARGEST_SUM:g}"


def unchangeable(problem: Problem) -> Iterator[tuple[str, str]]:
    """What of a problem keeps every method from changing values, as (field, what is wrong)."""
    if problem.absent.any():
        yield "problem.absent", "must be empty: only complete tables are changed"
    if problem.costs is not None:
        yield "problem.costs", "must be empty: they are of withholding"


def _wrong_base(problem: Problem, method: Rounding) -> Iterator[tuple[str, str]]:
    base = method.base
    if method.measure is None:
        if not 2 <= base <= MOST_RECORDS or base != round(base):
            yield "rounding.base", "must be a whole number from 2 to 2^40 where counts are rounded"
        return
    largest = np.abs(problem.facts.measures[method.measure].sums).max(initial=0.0)
    if not 0 < base <= LARGEST_SUM or largest > base * FINEST:
        yield "rounding.base", f"must be at most {LARGEST_SUM:g}, and at least the largest sum over 2^40"


def _too_few_contributions(problem: Problem, ranks: int) -> Iterator[tuple[str, str]]:
    for place, measure in enumerate(problem.facts.measures):
        given = measure.largest.shape[1] if measure.largest.ndim == 2 else 0
        if given < ranks or len(measure.largest) != len(problem.facts):
            path = f"problem.facts.measures[{place}].largest"
            yield path, f"must have the {ranks} largest contributions of each cell, one a share"
