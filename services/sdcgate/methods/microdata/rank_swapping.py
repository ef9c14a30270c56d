"""Rank swapping: each value changes places with one whose rank is not far from its own.

Moore, "Controlled data swapping techniques for masking public use microdata sets", U.S. Bureau of the Census,
1996; Handbook on Statistical Disclosure Control, 3.4.2.4. Their p is a percentage; here it is a share.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray

_ROOM = 1e-9
"""Rounding of a share times values that still counts as the whole number."""


@dataclass(frozen=True, slots=True, eq=False)
class RankSwapping:
    """Whose value each record gets. It undoes the protection: it must never leave with the changed file."""

    sources: IntArray = field(repr=False)
    """The record whose value each one gets; itself where it keeps its own, shape (records,)."""
    ranks: IntArray = field(repr=False)
    """Rank of each record's own value from 0, -1 where it is missing, shape (records,)."""
    window: int
    """The most by which ranks of two values that change places differ."""


def rank_swap(values: FloatArray, share: float, random: np.random.Generator) -> RankSwapping:
    """Choose the values that change places.

    Values are ranked, equal ones in random order. From the lowest upwards each value that has not been
    swapped yet changes places with one drawn from those not swapped yet whose rank is higher by at most
    `share` of the number of values. Missing values (NaN) keep their places and have no rank.

    `values` has the shape (records,). Raises ValueError where `share` is not above 0 and at most 1, or where
    it is less than one rank, so that no value could be swapped.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"values must have the shape (records,), not {values.shape}")
    if not 0.0 < share <= 1.0:
        raise ValueError("is a share of the values, above 0 and at most 1: 0.05 for 5%")
    present = np.flatnonzero(~np.isnan(values))
    window = int(share * len(present) + _ROOM)
    if window < 1:
        raise ValueError(f"is less than one rank: give at least 1/{max(len(present), 1)}")
    order = present[np.lexsort((random.random(len(present)), values[present]))]
    partners = _partners(random.random(len(order)).tolist(), window)
    sources = np.arange(len(values))
    sources[order] = order[np.array(partners, dtype=np.int64)]
    ranks = np.full(len(values), -1, dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return RankSwapping(sources.astype(np.int64), ranks, window)


def _partners(draws: list[float], window: int) -> list[int]:
    """The rank that each rank changes places with, itself where none is left within the window.

    `draws` are uniform on [0, 1), one a rank. The ranks within reach that are still free are kept unordered
    with the place of each, so that one is drawn, or taken out, in one step.
    """
    ranks = len(draws)
    partners = list(range(ranks))
    free, place = list(range(min(window + 1, ranks))), list(range(ranks))

    def take(rank: int) -> None:
        last = free.pop()
        if last != rank:
            free[place[rank]] = last
            place[last] = place[rank]

    for rank in range(ranks):
        entering = rank + window
        if rank and entering < ranks:
            place[entering] = len(free)
            free.append(entering)
        if partners[rank] != rank:
            continue
        take(rank)
        if free:
            other = free[int(draws[rank] * len(free))]
            take(other)
            partners[rank], partners[other] = other, rank
    return partners
