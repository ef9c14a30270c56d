"""Neighbourhoods of the keys that occur: who is near whom on ordered variables, and local polynomials.

`smoothing` is made of these. Nothing here is larger than the keys that occur: cells that nobody is in enter
by sums over whole boxes, which are products over the variables.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.keys import Keys, group_keys

DEGREES = (0, 1, 2)
LARGEST_PRIOR = 1e12
SMALLEST = 1e-290
MOST_WORK = 2e9
"""Neighbours, guessed, up to which a width is used."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """How far a key's neighbours are, and what is fitted over them."""

    width: int | None
    """Largest distance c on each ordinal variable, in categories; the weight of a distance x is
    1 - (x / (c + 1))^2, and the product of these over the variables. None: any distance, weight 1."""
    degree: int = 0
    """Of the polynomial of the logarithm: 0 a constant, 1 a slope on each variable, 2 a curvature too."""
    prior: float = 1.0
    """Records, spread as the base expects, that are added."""

    def __post_init__(self) -> None:
        if self.width is not None and self.width < 1:
            raise ValueError("width must be at least 1")
        if self.degree not in DEGREES or (self.width is None and self.degree):
            raise ValueError("degree must be 0, 1 or 2, and 0 where the width has no bound")
        if not 0.0 <= self.prior <= LARGEST_PRIOR:
            raise ValueError(f"prior must be 0 to {LARGEST_PRIOR:.0e} records")


@dataclass(frozen=True, slots=True, eq=False)
class KeyField:
    """The keys in the order in which neighbours lie together: by nominal group, then along the axes."""

    order: IntArray = field(repr=False)
    """Keys in that order, shape (K,)."""
    counts: FloatArray = field(repr=False)
    codes: IntArray = field(repr=False)
    """Categories on the ordinal variables, -1 missing, shape (K, axes)."""
    group_end: IntArray = field(repr=False)
    """The first place after a key's nominal group, shape (K,)."""
    base: FloatArray = field(repr=False)
    """Expected counts where all variables are independent of each other, shape (K,)."""
    shares: FloatArray = field(repr=False)
    """Share of each category of an axis, shape (axes, most categories)."""
    known: FloatArray = field(repr=False)
    """Share of the records that have a value on each axis, shape (axes,)."""
    categories: IntArray = field(repr=False)

    @classmethod
    def of(cls, keys: Keys, codes: IntArray, axes: list[int]) -> "KeyField":
        """`codes` (K, variables) of each key, and which variables are ordered."""
        variables = codes.shape[1]
        nominal = [variable for variable in range(variables) if variable not in axes]
        records = float(keys.counts.sum())
        base = np.full(len(keys), records)
        margins = []
        for variable in range(variables):
            shifted = codes[:, variable] + 1
            margin = np.bincount(shifted, keys.counts) / records
            base *= margin[shifted]
            margins.append(margin[1:])
        # Long axes first: a window on them leaves the fewest keys to look at.
        axes = sorted(axes, key=lambda axis: -len(margins[axis]))
        group = group_keys(codes[:, nominal]).group if nominal else np.zeros(len(keys), dtype=np.int64)
        order = np.lexsort((*(codes[:, axis] for axis in reversed(axes)), group))
        group = group[order]
        categories = np.array([len(margins[axis]) for axis in axes], dtype=np.int64)
        shares = np.zeros((len(axes), max(1, int(categories.max()))))
        for row, axis in enumerate(axes):
            shares[row, : len(margins[axis])] = margins[axis]
        return cls(
            order=order,
            counts=keys.counts[order].astype(np.float64),
            codes=np.ascontiguousarray(codes[order][:, axes]),
            group_end=np.searchsorted(group, group, side="right").astype(np.int64),
            base=base[order],
            shares=shares,
            known=shares.sum(axis=1),
            categories=categories,
        )

    def widths(self, candidates: tuple[int, ...]) -> tuple[int, ...]:
        """Those that differ from each other here, and have neighbours few enough to be looked at."""
        longest, groups = int(self.categories.max()), np.unique(self.group_end)
        largest = float(np.diff(groups, prepend=0).max())
        kept = []
        for width in candidates:
            box = float(np.prod(np.minimum(2.0 * width + 1.0, np.maximum(self.categories, 1))))
            bears = len(self.counts) * min(box, largest) <= MOST_WORK
            if width == 1 or (width < longest and bears):
                kept.append(width)
        return tuple(kept)

    def sums(self, asked: IntArray, width: int | None) -> FloatArray:
        """Weighted sums over the neighbours of some places, ascending; see `neighbour_sums`."""
        from sdcgate.methods.risk.neighbour_loops import neighbour_sums

        if width is not None:
            return neighbour_sums(self.codes, self.counts, self.group_end, asked, _weights(width))
        running = np.concatenate([[0.0], np.cumsum(self.counts)])
        begin = np.searchsorted(self.group_end, self.group_end[asked], side="left")
        others = running[self.group_end[asked]] - running[begin] - self.counts[asked]
        found = np.zeros((len(asked), 2 + 2 * self.codes.shape[1]))
        found[:, 0] = found[:, 1] = np.maximum(others, 0.0)
        return found

    def ratios(
        self, asked: IntArray, base: FloatArray, sums: FloatArray, neighbourhood: Neighbourhood
    ) -> FloatArray:
        """How many times a base there is in some places, shape (asked,), see `local_ratios`."""
        from sdcgate.methods.risk.neighbour_loops import local_ratios

        if neighbourhood.width is None:
            own = self.codes[asked]
            at = np.take_along_axis(self.shares.T, np.maximum(own, 0), axis=0)
            # Of hundreds of axes the product would be 0: what the whole group has is beyond all counts then.
            whole = base / np.maximum(np.where(own < 0, 1.0 - self.known, at).prod(axis=1), SMALLEST)
            expected = np.maximum(whole - base, 0.0) + neighbourhood.prior
            records = sums[:, 0] + neighbourhood.prior
            found: FloatArray = np.divide(records, expected, out=np.ones(len(asked)), where=expected > 0)
            return found
        return local_ratios(
            self.codes[asked],
            sums,
            base,
            _weights(neighbourhood.width),
            self.shares,
            self.categories,
            neighbourhood.degree,
            neighbourhood.prior,
        )


def _weights(width: int) -> FloatArray:
    weights: FloatArray = 1.0 - (np.arange(width + 1) / (width + 1.0)) ** 2
    return weights
