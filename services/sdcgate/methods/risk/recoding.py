"""Recodings of a key compared by risk and loss of information, and the best one under a bound.

Coarser codes lower the risk and the value of a file. Israel CBS compared seven keys of one survey by expected
matches, loss of entropy and loss of between-group variance (Shlomo, Accessing Microdata via the Internet,
2003, IV, Table 3 and Figure 4), and asked for the worst table that a user could build from a file (V). A
recoding here is a level of each variable; level 0 is the finest.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import combinations
from math import comb, prod

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.individual import individual_risk
from sdcgate.methods.risk.keys import checked_codes, checked_weights, group_keys, weight_sums

LARGEST_SEARCH = 100_000
"""Recodings that are measured before a search gives up, and tables that are."""

Recoding = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """A file's distinct keys with the levels of their variables."""

    levels: tuple[tuple[IntArray, ...], ...] = field(repr=False)
    """For each variable and level the code of each distinct key, shape (K,)."""
    counts: FloatArray = field(repr=False)
    """Records of each distinct key."""
    population: FloatArray = field(repr=False)
    """Sum of their weights."""
    sums: FloatArray | None = field(default=None, repr=False)
    """Sum of the variable of interest over their records, less its mean and in units of its largest value."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Risk and information of a recoding."""

    recoding: Recoding
    key_cells: int
    sample_uniques: int
    population_uniques: float
    """Expected sample uniques that are unique in the population, by the design: sum of p_k over them."""
    expected_matches: float
    """tau_2 by the design: sum of r_k over sample uniques."""
    share: float
    """tau_2 as a share of the records."""
    maximum: float
    """Largest r_k."""
    entropy: float
    """Of the distribution of records over keys, in bits."""
    entropy_share: float
    """As a share of the finest recoding's."""
    between_share: float | None
    """Between-group variance of the variable of interest as a share of the finest's; None without one."""


def lattice(
    codes: IntArray,
    weights: FloatArray | None,
    levels: Sequence[Sequence[IntArray]],
    interest: FloatArray | None = None,
) -> Lattice:
    """The recodings of a file.

    `codes` (records, variables), -1 missing, which stays a category of its own at every level; `levels[v]`
    the coarser levels of variable v from fine to coarse, each an array that gives the code of every finest
    code; `weights` (records,) or None; `interest` (records,) a finite variable of interest.

    Raises ValueError where a level does not hold every code, or divides what a finer level joins.
    """
    columns = checked_codes(codes)
    keys = group_keys(columns)
    own = columns[keys.first].astype(np.int64)
    if len(levels) != own.shape[1]:
        raise ValueError(f"levels: must be one list a variable, {own.shape[1]}, not {len(levels)}")
    found = []
    for variable, coarser in enumerate(levels):
        finest = own[:, variable]
        steps = [finest]
        for place, mapping in enumerate(coarser):
            if len(mapping) <= int(finest.max(initial=-1)):
                raise ValueError(
                    f"levels[{variable}][{place}]: must give a code for every code of the variable"
                )
            step = np.append(np.asarray(mapping, dtype=np.int64), -1)[finest]
            if _divides(steps[-1], step):
                raise ValueError(f"levels[{variable}][{place}]: divides codes that the level before it joins")
            steps.append(step)
        found.append(tuple(steps))
    sums = None
    if interest is not None:
        if interest.shape != (len(columns),) or not np.isfinite(interest).all():
            raise ValueError(f"interest: must be a finite number a record, {len(columns)}")
        sums = np.bincount(keys.group, _comparable(interest), len(keys)).astype(np.float64)
    checked = None if weights is None else checked_weights(weights, len(columns))
    return Lattice(tuple(found), keys.counts.astype(np.float64), weight_sums(keys, checked), sums)


def measure(file: Lattice, recoding: Recoding, finest: Measured | None = None) -> Measured:
    """Risk and information of a recoding; shares against `finest`, which is measured where it is not given.

    Raises ValueError for a level that a variable does not have.
    """
    if finest is None and any(recoding):
        finest = measure(file, (0,) * len(file.levels))
    group, counts, population = _grouped(file, range(len(recoding)), recoding)
    risks = _risks(counts, population)
    single = counts == 1
    shares = counts / counts.sum()
    entropy = float(-(shares * np.log2(shares)).sum())
    between = _between(file, group, counts)
    tau = float(risks[single].sum())
    return Measured(
        recoding=recoding,
        key_cells=len(counts),
        sample_uniques=int(single.sum()),
        population_uniques=float(np.minimum(1.0 / population[single], 1.0).sum()),
        expected_matches=tau,
        share=tau / float(counts.sum()),
        maximum=float(risks.max()),
        entropy=entropy,
        entropy_share=1.0 if finest is None or finest.entropy == 0 else entropy / finest.entropy,
        between_share=None if between is None else _share_of_finest(file, between),
    )


@dataclass(frozen=True, slots=True)
class RecodingSearch:
    """What a search of the lattice found."""

    best: Measured | None
    """The safe recoding that keeps the most entropy; None where none was found."""
    measured: tuple[Measured, ...] = field(repr=False)
    """All that were measured on the way, the finest first."""
    finished: bool
    """Whether nothing better can be there: without it `best` is None as the search gave up."""


def search_recodings(
    file: Lattice,
    maximum_share: float,
    most: int = LARGEST_SEARCH,
    heed: Callable[[], None] | None = None,
) -> RecodingSearch:
    """Search the recoding that keeps the most entropy with tau_2 at most this share of the records.

    A coarser key has no sample unique that a finer one has not, and those that stay keep their weight: tau_2
    and entropy both fall as codes are joined. So recodings are taken up by entropy, the finest first, each
    one's coarser neighbours after it, and the first that is safe is the best; most are never looked at. The
    search gives up before it measures more than `most`. `heed` is called before each: it may raise.

    Raises ValueError for a share that is not from 0 to 1.
    """
    if not 0.0 <= maximum_share <= 1.0:
        raise ValueError("maximum_share: must be 0 to 1")
    finest = measure(file, (0,) * len(file.levels))
    waiting = [(-finest.entropy, finest.recoding)]
    known = {finest.recoding: finest}
    while waiting:
        found = known[heappop(waiting)[1]]
        if found.share <= maximum_share:
            return RecodingSearch(found, tuple(known.values()), True)
        for coarser in _coarser(file, found.recoding):
            if coarser in known:
                continue
            if len(known) >= most:
                return RecodingSearch(None, tuple(known.values()), False)
            if heed is not None:
                heed()
            known[coarser] = measure(file, coarser, finest)
            heappush(waiting, (-known[coarser].entropy, coarser))
    return RecodingSearch(None, tuple(known.values()), True)


def best_recoding(file: Lattice, maximum_share: float) -> Measured | None:
    """The recoding that keeps the most entropy with tau_2 at most this share of the records, if there is one.

    Raises ValueError for a share that is not from 0 to 1, ArithmeticError after `LARGEST_SEARCH` recodings.
    """
    search = search_recodings(file, maximum_share)
    if not search.finished:
        raise ArithmeticError(f"no safe recoding among the first {LARGEST_SEARCH}; join codes first")
    return search.best


@dataclass(frozen=True, slots=True)
class WorstTable:
    """The table of a file with the most expected matches."""

    variables: tuple[int, ...]
    expected_matches: float
    sample_uniques: int
    key_cells: int


def worst_table(file: Lattice, dimensions: int, recoding: Recoding | None = None) -> WorstTable:
    """The table of at most `dimensions` variables in which tau_2 is largest (Shlomo 2003, V).

    One more variable never lowers tau_2, so tables of exactly so many variables are compared. They are taken
    up by an upper bound, the risk of as many uniques as they have cells; those below the best are left out.

    Raises ValueError for dimensions out of range, or too many tables.
    """
    variables = len(file.levels)
    if not 1 <= dimensions <= variables:
        raise ValueError(f"dimensions: must be 1 to {variables}")
    if comb(variables, dimensions) > LARGEST_SEARCH:
        raise ValueError(f"there are {comb(variables, dimensions)} such tables; leave variables out")
    chosen = recoding or (0,) * variables
    sizes = [len(np.unique(levels[level])) for levels, level in zip(file.levels, chosen, strict=True)]
    risks = _risks(file.counts, file.population)
    most = np.sort(risks[file.counts == 1])[::-1].cumsum()
    tables = [(prod(sizes[v] for v in table), table) for table in combinations(range(variables), dimensions)]
    best = WorstTable((), -1.0, 0, 0)
    for cells, table in sorted(tables, reverse=True):
        bound = float(most[min(cells, len(most)) - 1]) if len(most) else 0.0
        if bound <= best.expected_matches:
            continue
        _, counts, population = _grouped(file, table, chosen)
        single = counts == 1
        tau = float(_risks(counts, population)[single].sum())
        if tau > best.expected_matches:
            best = WorstTable(table, tau, int(single.sum()), len(counts))
    return best


def _divides(finer: IntArray, coarser: IntArray) -> bool:
    """Whether a code of the finer column stands beside several of the coarser one; -1 is a code."""
    beside = np.zeros(int(finer.max(initial=-1)) + 2, dtype=np.int64)
    beside[finer] = coarser
    return bool((beside[finer] != coarser).any())


def _comparable(interest: FloatArray) -> FloatArray:
    """The variable without its mean and its scale, which shares do not have: no square of it overflows."""
    scale = float(np.abs(interest).max(initial=0.0)) or 1.0
    scaled = interest / scale
    return np.asarray(scaled - scaled.mean(), dtype=np.float64)


def _grouped(
    file: Lattice, variables: Sequence[int], recoding: Recoding
) -> tuple[IntArray, FloatArray, FloatArray]:
    for variable in variables:
        if not 0 <= recoding[variable] < len(file.levels[variable]):
            raise ValueError(
                f"recoding: variable {variable} has levels 0 to {len(file.levels[variable]) - 1}"
            )
    columns = np.stack([file.levels[variable][recoding[variable]] for variable in variables], axis=1)
    group = group_keys(columns).group
    counts = np.bincount(group, file.counts).astype(np.float64)
    return group, counts, np.bincount(group, file.population).astype(np.float64)


def _risks(counts: FloatArray, population: FloatArray) -> FloatArray:
    return individual_risk(counts.astype(np.int64), np.minimum(counts / population, 1.0))


def _between(file: Lattice, group: IntArray, counts: FloatArray) -> float | None:
    if file.sums is None:
        return None
    means = np.bincount(group, file.sums) / counts
    return float(counts @ (means - file.sums.sum() / counts.sum()) ** 2)


def _share_of_finest(file: Lattice, between: float) -> float:
    finest = _between(file, np.arange(len(file.counts)), file.counts)
    return between / finest if finest else 1.0


def _coarser(file: Lattice, recoding: Recoding) -> Iterator[Recoding]:
    for variable, level in enumerate(recoding):
        if level + 1 < len(file.levels[variable]):
            yield (*recoding[:variable], level + 1, *recoding[variable + 1 :])
