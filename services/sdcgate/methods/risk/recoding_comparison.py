"""Recodings of a file side by side: risk, loss of information, the best under a bound, who may have which.

For each candidate file behind a system the rows of Israel CBS's tables 1 and 3 (Shlomo, Accessing Microdata
via the Internet, 2003, III and IV), the points of its R-U map (Figure 4), the worst table that a user could
build (V), and the widest access level whose bounds hold.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb, prod

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.file_options import NO_WEIGHTS
from sdcgate.methods.risk.microdata import KeyVariable, UnitFile
from sdcgate.methods.risk.recoding import (
    LARGEST_SEARCH,
    Lattice,
    Measured,
    Recoding,
    WorstTable,
    lattice,
    measure,
    search_recodings,
    worst_table,
)

USUAL_RECODINGS = 3000
LARGEST_COMPARISON = 300_000_000
"""Units times recodings: a minute or so."""


@dataclass(frozen=True, slots=True)
class AccessBound:
    """Up to what risk a file may have an access level."""

    name: str
    maximum_share: float
    """tau_2 as a share of the units."""
    maximum_risk: float = 1.0
    """Largest risk of a unit."""

    def allows(self, file: Measured) -> bool:
        """Whether a recoding is within both bounds."""
        return file.share <= self.maximum_share and file.maximum <= self.maximum_risk


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """What an agency chooses."""

    maximum_share: float = 0.01
    """tau_2 as a share of the units that the best recoding may have; Israel CBS takes 1%."""
    maximum_recodings: int | None = None
    """Recodings that are measured, in the search and for the map; None: `USUAL_RECODINGS`, fewer of a large
    file."""
    access: tuple[AccessBound, ...] = ()
    """Access levels, the widest first."""
    table_dimensions: int | None = None
    """Dimensions of the worst table of each recoding; None: it is not looked for."""

    def check(self, variables: int) -> None:
        """Raises ValueError with all that is out of range."""
        problems = []
        if not 0 <= self.maximum_share <= 1:
            problems.append("maximum_share must be 0 to 1")
        if self.maximum_recodings is not None and not 1 <= self.maximum_recodings <= LARGEST_SEARCH:
            problems.append(f"maximum_recodings must be 1 to {LARGEST_SEARCH}")
        if self.table_dimensions is not None and not 1 <= self.table_dimensions <= variables:
            problems.append(f"table_dimensions must be 1 to {variables}, the key variables")
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, slots=True)
class ComparedRecoding:
    """A row of the comparison, a point of the R-U map."""

    measured: Measured
    frontier: bool
    """Whether no other that was measured has less risk and as much information, or as little and more."""
    access: str
    """The widest access level whose bounds hold; empty where none does."""
    worst_table: WorstTable | None


@dataclass(frozen=True, slots=True)
class RecodingComparison:
    """Recodings of the key, with risk and information."""

    levels: tuple[tuple[str, ...], ...]
    """Names of the levels of each key variable, from fine to coarse; the first is the variable's own."""
    possible: int
    """Recodings of the whole lattice."""
    evaluated: int
    """Recodings that the search for the best measured."""
    finished: bool
    """Whether the search came to its end: the best is the best of all, or there is none."""
    bound: float
    """tau_2 as a share of the units that a recoding may have."""
    best: Measured | None
    """The one that keeps the most entropy under the bound."""
    rows: tuple[ComparedRecoding, ...] = field(repr=False)
    """All recodings where they are few, else those near the finest and those that the search measured."""

    @property
    def measured(self) -> tuple[Measured, ...]:
        """What was measured, the finest first."""
        return tuple(row.measured for row in self.rows)


def compare_recodings(
    units: UnitFile, options: ComparisonOptions, heed: Callable[[], None] | None = None
) -> RecodingComparison:
    """Compare the recodings of a file by the coarser levels of its key variables.

    `heed` is called before each recoding is measured; it may raise to end it. Raises ValueError where nothing
    tells how many people stand for a unit, where a key variable varies between waves, for options out of
    range, and for more worst tables than can be looked for.
    """
    options.check(len(units.keys))
    if units.weights is None:
        raise ValueError(NO_WEIGHTS)
    _check_waves(units.keys)
    most = _most(units.keys, len(units), options)
    coarser = [[codes for _, codes in key.coarser] for key in units.keys]
    file = lattice(units.codes, units.weights, coarser, units.interest)
    return _compared(file, units.keys, most, options, heed)


def compare_counted_recodings(
    codes: IntArray,
    counts: IntArray,
    weight_sums: FloatArray,
    keys: tuple[KeyVariable, ...],
    options: ComparisonOptions,
) -> RecodingComparison:
    """Compare the recodings of units that were counted by their values, as `compare_recodings`.

    `codes` (rows, keys) are distinct, each row with its units in `counts` and the sum of their weights in
    `weight_sums`, both (rows,).
    """
    options.check(len(keys))
    _check_waves(keys)
    most = _most(keys, len(codes), options)
    coarser = [[mapped for _, mapped in key.coarser] for key in keys]
    levels = lattice(codes, None, coarser).levels
    file = Lattice(levels, counts.astype(np.float64), weight_sums)
    return _compared(file, keys, most, options, None)


def _check_waves(keys: tuple[KeyVariable, ...]) -> None:
    if any(key.wave is not None for key in keys):
        raise ValueError("key variables vary between waves: recodings are compared for one wave only")


def _compared(
    file: Lattice,
    keys: tuple[KeyVariable, ...],
    most: int,
    options: ComparisonOptions,
    heed: Callable[[], None] | None,
) -> RecodingComparison:
    search = search_recodings(file, options.maximum_share, most, heed)
    measured = {one.recoding: one for one in search.measured}
    finest = search.measured[0]
    for recoding in _shown(file, most):
        if len(measured) >= most:
            break
        if recoding not in measured:
            if heed is not None:
                heed()
            measured[recoding] = measure(file, recoding, finest)
    frontier = _frontier(list(measured.values()))
    return RecodingComparison(
        levels=tuple((key.name, *(name for name, _ in key.coarser)) for key in keys),
        possible=_possible(keys),
        evaluated=len(search.measured),
        finished=search.finished,
        bound=options.maximum_share,
        best=search.best,
        rows=tuple(
            ComparedRecoding(
                one,
                recoding in frontier,
                next((bound.name for bound in options.access if bound.allows(one)), ""),
                _worst(file, recoding, options.table_dimensions, heed),
            )
            for recoding, one in sorted(measured.items())
        ),
    )


def _possible(keys: tuple[KeyVariable, ...]) -> int:
    return prod(len(key.coarser) + 1 for key in keys)


def _most(keys: tuple[KeyVariable, ...], units: int, options: ComparisonOptions) -> int:
    """Recodings that may be measured. Raises ValueError where more are asked for than can be."""
    dimensions = options.table_dimensions
    tables = 0 if dimensions is None else comb(len(keys), dimensions)
    if tables > LARGEST_SEARCH:
        raise ValueError(
            f"table_dimensions: there are {tables} tables, more than {LARGEST_SEARCH}: ask for smaller ones"
        )
    largest = max(1, LARGEST_COMPARISON // units)
    if tables:
        largest = min(largest, LARGEST_SEARCH // tables)
    if options.maximum_recodings is None:
        return min(USUAL_RECODINGS, largest)
    if min(_possible(keys), options.maximum_recodings) > largest:
        raise ValueError(
            f"maximum_recodings: of this file at most {largest} can be measured; join codes, or take a sample"
        )
    return options.maximum_recodings


def _shown(file: Lattice, most: int) -> list[Recoding]:
    """All recodings where they are few; else the coarsest, and those of one or two steps from the finest."""
    steps = [range(len(levels)) for levels in file.levels]
    if prod(map(len, steps)) <= most:
        return list(product(*steps))
    found = {tuple(levels[-1] for levels in steps): None}
    for size in (1, 2):
        for places in combinations(range(len(steps)), size):
            if len(found) >= most:
                break
            for chosen in product(*(steps[place][1:] for place in places)):
                levels = dict(zip(places, chosen, strict=True))
                found[tuple(levels.get(place, 0) for place in range(len(steps)))] = None
    return list(found)


def _frontier(measured: list[Measured]) -> set[Recoding]:
    """Recodings that no other beats: by risk upwards, those with more entropy than all before."""
    found, most = set(), -1.0
    for one in sorted(measured, key=lambda one: (one.expected_matches, -one.entropy)):
        if one.entropy > most:
            found.add(one.recoding)
            most = one.entropy
    return found


def _worst(
    file: Lattice, recoding: Recoding, dimensions: int | None, heed: Callable[[], None] | None
) -> WorstTable | None:
    if dimensions is None:
        return None
    if heed is not None:
        heed()
    return worst_table(file, dimensions, recoding)
