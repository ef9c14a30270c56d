"""Special uniques: which few values make a record unique (SUDA), and how risky that makes it.

A minimal sample unique (MSU) of a record is a set of key variables on which the record is alone in the
sample, though it is on no smaller part of the set. Who is unique on two variables is more likely to be unique
in the population than who needs seven. Sources: Handbook on SDC, 3.3.7; Elliot, Manning and Ford (2002),
Elliot et al. (2005); Skinner and Elliot (2002) for the DIS measure.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations
from math import comb, prod

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.risk.keys import checked_codes, group_keys

_LARGEST = 1 << 62
LARGEST_SEARCH = 200_000
"""Subsets of the key variables that are searched."""
MOST_VARIABLES = 27
"""Key variables up to which DIS-SUDA ranks by scores: its exponent is 0 for 28, and above 0 beyond."""


class Scaling(Enum):
    """What an MSU of size i adds to its record's score, of m variables and sets of at most M."""

    SUBSETS = "subsets"
    """(2^(m - i) - 1) / C(m, i): the share of larger sets that hold it; sdcMicro's default."""
    PATHS = "paths"
    """prod over j = i ... M - 1 of (m - j): ways to grow it to size M; the original score."""


@dataclass(frozen=True, slots=True, eq=False)
class SpecialUniques:
    """SUDA of a file; one row a record."""

    scores: FloatArray = field(repr=False)
    """SUDA score, 0 where the record has no MSU, shape (records,)."""
    smallest: IntArray = field(repr=False)
    """Size of the record's smallest MSU, 0 where it has none, shape (records,)."""
    sizes: IntArray = field(repr=False)
    """Number of MSUs of sizes 1, 2, ... M, shape (records, M)."""
    contributions: FloatArray = field(repr=False)
    """Share of the score from MSUs that hold a variable, 0 to 1, shape (records, variables)."""

    @property
    def of_variables(self) -> FloatArray:
        """Share of all scores from MSUs that hold a variable, shape (variables,)."""
        total = float(self.scores.sum())
        shares: FloatArray = self.scores @ self.contributions
        return shares / total if total else shares


def special_uniques(
    codes: IntArray,
    maximum_size: int | None = None,
    scaling: Scaling = Scaling.SUBSETS,
    heed: Callable[[], None] | None = None,
) -> SpecialUniques:
    """All minimal sample uniques of up to `maximum_size` variables, all m by default, and their scores.

    `codes` (records, variables); missing (-1) is a category. Sets are searched by size; a record that is
    unique on a part of a set agrees with nobody on the set, and leaves the search of all that hold it.
    Memory is a byte for each key and set of one size, at worst. `heed` is called before each set: it may
    raise to end the search.

    Raises ValueError for wrong codes, a size out of range, and more than `LARGEST_SEARCH` sets.
    """
    columns = checked_codes(codes)
    variables = columns.shape[1]
    largest = variables if maximum_size is None else maximum_size
    if not 1 <= largest <= variables:
        raise ValueError(f"maximum_size: must be 1 to the {variables} key variables")
    sets = sum(comb(variables, size) for size in range(1, largest + 1))
    if sets > LARGEST_SEARCH:
        raise ValueError(
            f"there are {sets} sets of variables to search; lower maximum_size or leave some out"
        )
    keys = group_keys(columns)
    own = np.ascontiguousarray(columns[keys.first].T.astype(np.int64) + 1)
    sizes = np.zeros((len(keys), largest), dtype=np.int64)
    weighted = np.zeros((len(keys), variables))
    total = np.zeros(len(keys))
    settled: dict[tuple[int, ...], BoolArray] = {(): np.zeros(len(keys), dtype=np.bool_)}
    for size in range(1, largest + 1):
        value = score_of(size, variables, largest, scaling)
        level: dict[tuple[int, ...], BoolArray] = {}
        for chosen in combinations(range(variables), size):
            if heed is not None:
                heed()
            below = np.logical_or.reduce([settled[chosen[:at] + chosen[at + 1 :]] for at in range(size)])
            if below.all():
                level[chosen] = below
                continue
            unique = _alone(own, chosen, keys.counts, below)
            sizes[unique, size - 1] += 1
            total[unique] += value
            weighted[np.ix_(unique, np.array(chosen, dtype=np.int64))] += value
            level[chosen] = below | unique
        settled = level
    shares = np.divide(weighted, total[:, None], out=np.zeros_like(weighted), where=total[:, None] > 0)
    smallest = np.where(sizes.any(axis=1), sizes.astype(bool).argmax(axis=1) + 1, 0)
    at = keys.group
    return SpecialUniques(total[at], smallest[at], sizes[at], shares[at])


def score_of(size: int, variables: int, maximum_size: int, scaling: Scaling) -> float:
    """What one MSU of a size adds to a score."""
    if scaling is Scaling.SUBSETS:
        larger: int = 2 ** (variables - size) - 1
        return larger / comb(variables, size)
    paths: int = prod(variables - taken for taken in range(size, maximum_size))
    return float(paths)


def dis(codes: IntArray, fraction: float) -> float:
    """DIS: the chance that a unique match with the file is correct, n_1 pi / (n_1 pi + 2 n_2 (1 - pi)).

    `fraction` pi, above 0 and at most 1. It is theta_U of Skinner and Elliot (2002), as in `uniqueness`;
    0 where the file has no uniques.

    Raises ValueError for a fraction out of range.
    """
    if not 0.0 < fraction <= 1.0:
        raise ValueError("fraction must be above 0 and at most 1")
    counts = group_keys(codes).counts
    uniques, pairs = float(np.sum(counts == 1)), float(np.sum(counts == 2))
    return uniques * fraction / (uniques * fraction + 2.0 * pairs * (1.0 - fraction)) if uniques else 0.0


def dis_suda(codes: IntArray, found: SpecialUniques, fraction: float) -> FloatArray:
    """DIS-SUDA: the DIS measure shared out to records by their scores, shape (records,).

    1/p_i - 1 = (1/DIS - 1) s_i^-a / mean of s^-a, over records with a score s, so that 1/p has the mean
    1/DIS. 0 without a score. The handbook (3.3.7) calls the method heuristic and prints no formula: this one
    and a = 1.4 - 0.05 m for m variables are what the outputs of sdcMicro's suda2 agree with.

    Raises ValueError for a fraction out of range, and for more than `MOST_VARIABLES`.
    """
    if found.contributions.shape[1] > MOST_VARIABLES:
        raise ValueError(
            f"its exponent 1.4 - 0.05 m ranks by scores only up to {MOST_VARIABLES} key variables: take fewer"
        )
    measure = dis(codes, fraction)
    confidence = np.zeros(len(found.scores))
    scored = found.scores > 0
    if not measure or not scored.any():
        return confidence
    inverse = found.scores[scored] ** -(1.4 - 0.05 * found.contributions.shape[1])
    confidence[scored] = 1.0 / (1.0 + (1.0 / measure - 1.0) * inverse / inverse.mean())
    return confidence


def _alone(own: IntArray, chosen: tuple[int, ...], counts: IntArray, settled: BoolArray) -> BoolArray:
    """Keys that one record alone has on the chosen variables, among those that are not settled."""
    from sdcgate.methods.risk.unique_loops import alone

    columns = own[list(chosen)]
    strides, product = np.zeros(len(chosen), dtype=np.int64), 1
    for place, radix in enumerate(columns.max(axis=1).tolist()):
        strides[place] = product
        product *= radix + 1
        if product > _LARGEST:
            return _alone_of_many(columns, counts, settled)
    return alone(columns, counts, strides, settled, product)


def _alone_of_many(columns: IntArray, counts: IntArray, settled: BoolArray) -> BoolArray:
    """The same where combinations are too many to be numbered."""
    active = np.flatnonzero(~settled)
    groups = group_keys(columns[:, active].T).group
    records = np.bincount(groups, counts[active])
    found = np.zeros(len(settled), dtype=np.bool_)
    found[active] = records[groups] == 1
    return found
