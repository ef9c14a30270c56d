"""The threshold rule: combinations of values that too few have, over chosen combinations of key variables.

Handbook on Statistical Disclosure Control, 3.3.4 (mu-ARGUS), after the nosy neighbour: somebody is recognised
who is rare with respect to a few visible variables, so that every combination of a few has to occur often.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from itertools import combinations, product
from math import prod

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.risk.keys import (
    Missing,
    checked_codes,
    checked_weights,
    group_keys,
    radices,
    weight_sums,
)

LARGEST_WORK = 2e10
"""Records times combinations that are still looked at: some minutes."""
_DENSE = 1 << 16
"""Cells of a table that is counted in place of being grouped, whatever the number of records."""


class Base(Enum):
    """What a minimum counts."""

    SAMPLE = "sample"
    """Units in the file."""
    POPULATION = "population"
    """Units in the population, estimated by the sum of the weights."""


class Identifying(IntEnum):
    """How far an intruder may be taken to know a variable; each class is part of those below it."""

    NO = 0
    YES = 1
    VERY = 2
    EXTREMELY = 3


@dataclass(frozen=True, slots=True)
class ClassMinimum:
    """How often the values of all combinations of keys must occur that have one of each class."""

    classes: tuple[Identifying, ...]
    minimum: int


@dataclass(frozen=True, slots=True)
class Combination:
    """Key variables, by their columns, that are looked at together, and how often each value has to occur."""

    keys: tuple[int, ...]
    minimum: int
    """A value that occurs is safe if at least so many have it. mu-ARGUS' and sdcMicro's threshold t, at which
    a value is still unsafe, is minimum t + 1."""


@dataclass(frozen=True, slots=True, eq=False)
class CombinationFindings:
    """What the rule finds in one combination. Values that are rare are hidden from repr."""

    keys: tuple[int, ...]
    minimum: int
    cells: int
    """Values of the combination that occur."""
    unsafe_cells: int
    unsafe_units: int
    codes: IntArray = field(repr=False)
    """The unsafe values, the rarest first and at most as many as were asked for, shape (named, keys)."""
    frequencies: FloatArray = field(repr=False)
    """How often each of these occurs, in the sample or in the population, shape (named,)."""


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdFindings:
    """What the rule finds in a file."""

    combinations: tuple[CombinationFindings, ...]
    unsafe_cells: int
    """Over all combinations: what is rare in one is rare in each larger one, and counted again."""
    violations: IntArray
    """In how many combinations each unit is unsafe, shape (units,)."""

    @property
    def unsafe_units(self) -> int:
        """Units that are unsafe in any combination."""
        return int((self.violations > 0).sum())


def combinations_up_to(keys: int, minimums: Sequence[int]) -> tuple[Combination, ...]:
    """All combinations of 1, 2, ... of so many keys, with the minimum of their size: minimums[0] for one."""
    return tuple(
        Combination(chosen, minimum)
        for size, minimum in enumerate(minimums, start=1)
        for chosen in combinations(range(keys), size)
    )


def combinations_by_class(
    identifying: Sequence[Identifying], classes: Sequence[Identifying], minimum: int
) -> tuple[Combination, ...]:
    """All combinations of different keys, one of each class: (EXTREMELY, VERY, YES) for researchers' files.

    A key belongs to its class and to those below: an extremely identifying key is an identifying one too.
    """
    members = [[key for key, own in enumerate(identifying) if own >= wanted] for wanted in classes]
    chosen = {tuple(sorted(keys)) for keys in product(*members) if len(set(keys)) == len(classes)}
    return tuple(Combination(keys, minimum) for keys in sorted(chosen))


def threshold_rule(
    codes: IntArray,
    combined: Sequence[Combination],
    base: Base = Base.SAMPLE,
    weights: FloatArray | None = None,
    missing: Missing = Missing.CATEGORY,
    named: int = 100,
    heed: Callable[[], None] | None = None,
) -> ThresholdFindings:
    """Which values of which combinations occur less often than their minimum, and whose they are.

    `codes` (units, keys), -1 where missing: a value like others, or with `Missing.WILDCARD` one that agrees
    with all, so that a unit is looked at by what it has. `base` says whether minimums count units of the file
    or their weights, `weights` (units,) finite and above 0; without weights the file is the population.
    Of each combination at most `named` unsafe values are listed. Values that nobody has are safe. `heed` is
    called before each combination: it may raise to end the work.

    Raises ValueError where codes, weights or combinations are wrong, or combinations are too many.
    """
    columns = checked_codes(codes)
    _check_combinations(combined, columns.shape)
    counted = None if weights is None else checked_weights(weights, len(columns))
    tables = _Tables(columns, counted if base is Base.POPULATION else None)
    violations = np.zeros(len(columns), dtype=np.int64)
    found = []
    for combination in combined:
        if heed is not None:
            heed()
        table = tables.of(combination.keys)
        if missing is Missing.WILDCARD:
            table = _with_wildcards(table)
        unsafe = (table.counts > 0) & ~(table.frequencies >= combination.minimum)
        if unsafe.any():
            violations += unsafe[table.cell]
        found.append(_findings(combination, table, unsafe, named))
    return ThresholdFindings(tuple(found), sum(one.unsafe_cells for one in found), violations)


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A combination's cells: the position of each unit's, and units, frequency and codes of each."""

    cell: IntArray
    counts: IntArray
    frequencies: FloatArray
    shape: tuple[int, ...] = ()
    codes: IntArray | None = None

    def codes_of(self, cells: IntArray) -> IntArray:
        """Codes of some cells, shape (cells, keys)."""
        if self.codes is not None:
            return self.codes[cells]
        return np.column_stack(np.unravel_index(cells, self.shape)).astype(np.int64) - 1


class _Tables:
    """Counts of combinations of some columns; those that follow each other share their beginning."""

    def __init__(self, columns: IntArray, weights: FloatArray | None) -> None:
        self._columns = columns
        self._weights = weights
        self._radices = radices(columns)
        self._begun: tuple[tuple[int, ...], IntArray] = ((), np.zeros(len(columns), dtype=np.int64))

    def of(self, keys: tuple[int, ...]) -> _Table:
        """The table of a combination."""
        shape = tuple(self._radices[key] for key in keys)
        if prod(shape) <= max(_DENSE, len(self._columns)):
            return self._counted(keys, shape)
        chosen = self._columns[:, keys]
        groups = group_keys(chosen)
        frequencies = weight_sums(groups, self._weights)
        return _Table(groups.group, groups.counts, frequencies, codes=chosen[groups.first])

    def _counted(self, keys: tuple[int, ...], shape: tuple[int, ...]) -> _Table:
        """All cells of the product, empty ones among them: quick where they are few."""
        if self._begun[0] != keys[:-1]:
            numbers = np.zeros(len(self._columns), dtype=np.int64)
            for key in keys[:-1]:
                numbers = numbers * self._radices[key] + self._columns[:, key] + 1
            self._begun = (keys[:-1], numbers)
        cell = self._begun[1] * shape[-1]
        cell += self._columns[:, keys[-1]]
        cell += 1
        counts = np.bincount(cell, minlength=prod(shape))
        frequencies = counts if self._weights is None else np.bincount(cell, self._weights, len(counts))
        return _Table(cell, counts, frequencies.astype(np.float64), shape)


def _with_wildcards(table: _Table) -> _Table:
    """The table with the frequencies of all cells that agree with each."""
    from sdcgate.methods.risk.wildcards import compatible_frequencies

    occurring = np.flatnonzero(table.counts)
    frequencies = np.zeros(len(table.counts))
    _, frequencies[occurring] = compatible_frequencies(
        table.codes_of(occurring), table.counts[occurring], table.frequencies[occurring]
    )
    return replace(table, frequencies=frequencies)


def _findings(combination: Combination, table: _Table, unsafe: BoolArray, named: int) -> CombinationFindings:
    cells = np.flatnonzero(unsafe)
    rarest = cells[np.argsort(table.frequencies[cells], kind="stable")[:named]]
    return CombinationFindings(
        keys=combination.keys,
        minimum=combination.minimum,
        cells=int((table.counts > 0).sum()),
        unsafe_cells=len(cells),
        unsafe_units=int(table.counts[cells].sum()),
        codes=table.codes_of(rarest),
        frequencies=table.frequencies[rarest],
    )


def _check_combinations(combined: Sequence[Combination], shape: tuple[int, ...]) -> None:
    units, keys = shape
    for place, combination in enumerate(combined):
        if not combination.keys or len(set(combination.keys)) != len(combination.keys):
            raise ValueError(f"combinations[{place}] must name different keys, at least one")
        if not all(0 <= key < keys for key in combination.keys):
            raise ValueError(f"combinations[{place}] must name keys from 0 to {keys - 1}")
        if combination.minimum < 1:
            raise ValueError(f"combinations[{place}] must name a minimum of at least 1")
    if len(combined) * units > LARGEST_WORK:
        raise ValueError(
            f"combinations: {len(combined)} of them for {units} units are more than can be looked at: "
            "take fewer keys or smaller combinations"
        )
