"""Distance-based record linkage: how many masked records lie nearest to the record that they were made from.

An intruder who has the original values of some people links each masked record to the nearest of them.
Sources: Handbook on SDC, 3.3.8.1; Pagliuca and Seri (1999); Domingo-Ferrer and Torra (2001); Gower (1971) for
mixed variables; Herranz, Nin, Rodriguez and Tassa, *Revisiting distance-based record linkage* (2015) for one
to one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.positions import at_positions
from sdcgate.methods.risk.keys import Keys, checked_codes, group_keys

TIE = 1e-9
"""Relative difference to which two distances are the same."""
LARGEST_ASSIGNMENT = 5_000
"""Records that are assigned one to one: the distances of all pairs are held."""
LARGEST_NUMBER = 1e150
"""Numbers whose squares can be summed."""
_ENTRIES = 2_000_000
"""Neighbours that are held at once."""
_ASKED = 5_000
"""Masked records that are looked up at once."""


class Metric(Enum):
    """How the differences of variables add up; the number is that of the Minkowski distance."""

    MANHATTAN = 1
    """Sum of w |difference|."""
    EUCLIDEAN = 2
    """Root of the sum of w (difference)^2."""


class Scale(Enum):
    """What one unit of a number's difference is."""

    OWN = "own"
    """Each file by its own mean and standard deviation: what an intruder does who has both files."""
    ORIGINAL = "original"
    """The standard deviation of the original."""
    RANGE = "range"
    """The range over both files together: with `Metric.MANHATTAN` Gower's distance times the weights."""
    NONE = "none"
    """As it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """The variables of a file that both files have, in the same order in both."""

    numbers: FloatArray = field(repr=False)
    """Shape (records, numbers), finite; (records, 0) where there are none."""
    codes: IntArray = field(repr=False)
    """Categories, shape (records, categories); -1 is missing, a category like others."""
    blocks: IntArray | None = field(default=None, repr=False)
    """Categories that must agree, shape (records, variables); None where any two records may be linked."""

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Matches by record: one row a masked record."""

    linked: IntArray = field(repr=False)
    """A nearest original record, -1 where its block has none."""
    distances: FloatArray = field(repr=False)
    """Distance to it, infinite where there is none."""
    second: FloatArray = field(repr=False)
    """Distance to the original record that is second nearest, the same where there are ties: how sure a link
    is; infinite where there is none."""
    ties: IntArray = field(repr=False)
    """Original records at that distance."""
    correct: FloatArray = field(repr=False)
    """Chance that the link is right: 1/ties where the true original is among them, else 0."""

    @property
    def expected_matches(self) -> float:
        """Expected number of right links."""
        return float(self.correct.sum())

    @property
    def rate(self) -> float:
        """Expected share of the masked records that are linked rightly; 0 where there are none."""
        return self.expected_matches / len(self.correct) if len(self.correct) else 0.0


def link_by_distance(
    original: Records,
    masked: Records,
    metric: Metric = Metric.EUCLIDEAN,
    scale: Scale = Scale.OWN,
    weights: FloatArray | None = None,
    truth: IntArray | None = None,
    heed: Callable[[], None] | None = None,
) -> Links:
    """Links of every masked record to its nearest original records.

    A number counts by its scaled difference, a category 1 where it differs; `weights` (numbers +
    categories,), 1 by default, multiply |difference| or its square. `truth` (masked records,) has the
    position of the original that a record was made from, -1 where there is none; by default the files have
    the same order. Found by a k-d tree a block: memory grows with the records, not with the pairs; many
    categories make it slow. `heed` is called before each part that is looked up: it may raise to end it.

    Raises ValueError where the files do not fit together, and for numbers that are not finite.
    """
    here, there = _points(original, masked, metric, scale, weights)
    own = checked_truth(truth, len(original), len(masked))
    count = len(masked)
    links = Links(
        np.full(count, -1),
        np.full(count, np.inf),
        np.full(count, np.inf),
        np.zeros(count, dtype=np.int64),
        np.zeros(count),
    )
    for candidates, asking in _blocks(original, masked):
        _link_block(here[candidates], candidates, there[asking], asking, metric, links, heed or _go_on)
    known = np.flatnonzero((own >= 0) & (links.ties > 0))
    difference = np.abs(there[known] - here[own[known]])
    away = (difference**metric.value).sum(axis=1) ** (1.0 / metric.value)
    nearest = away <= links.distances[known] * (1.0 + TIE)
    if original.blocks is not None and masked.blocks is not None:
        nearest &= (original.blocks[own[known]] == masked.blocks[known]).all(axis=1)
    links.correct[known[nearest]] = 1.0 / links.ties[known[nearest]]
    return links


def link_one_to_one(
    original: Records,
    masked: Records,
    metric: Metric = Metric.EUCLIDEAN,
    scale: Scale = Scale.OWN,
    weights: FloatArray | None = None,
    truth: IntArray | None = None,
) -> Links:
    """Links of all masked records to different originals, with the least sum of distances.

    An intruder who knows that the files hold the same people. Arguments as in `link_by_distance`. Of several
    assignments with the least sum one is found, and `correct` is 1 or 0. Blocks are not used.

    Raises ValueError as it does, for more than `LARGEST_ASSIGNMENT` records, for fewer originals than masked.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    if max(len(original), len(masked)) > LARGEST_ASSIGNMENT:
        raise ValueError(f"at most {LARGEST_ASSIGNMENT} records can be assigned one to one: take a sample")
    if len(masked) > len(original):
        raise ValueError("masked must have no more records than original to be assigned one to one")
    here, there = _points(original, masked, metric, scale, weights)
    own = checked_truth(truth, len(original), len(masked))
    distances = cdist(there, here, "minkowski", p=metric.value)
    rows, linked = linear_sum_assignment(distances)
    linked = linked.astype(np.int64)
    second = np.full(len(masked), np.inf)
    if len(original) > 1:
        second = np.partition(distances, 1, axis=1)[:, 1]
    ones = np.ones(len(masked), dtype=np.int64)
    return Links(linked, distances[rows, linked], second, ones, (linked == own).astype(np.float64))


def _go_on() -> None:
    """Nobody ends it."""


def _points(
    original: Records, masked: Records, metric: Metric, scale: Scale, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """The records as points between which the metric is the plain Minkowski distance, shape (records, axes).

    A category that differs is 1 apart: each of its values has an axis of its own, on which it lies at w/2
    (Manhattan) or at the root of w/2 (Euclidean).
    """
    first, second = _checked(original, "original"), _checked(masked, "masked")
    if first[0].shape[1] != second[0].shape[1] or first[1].shape[1] != second[1].shape[1]:
        raise ValueError("original and masked must have the same variables")
    width = first[0].shape[1]
    weight = _checked_weights(weights, width + first[1].shape[1])
    factor = weight ** (1.0 / metric.value)
    ours, theirs = _scaled(first[0], second[0], scale)
    axes = [(ours * factor[:width], theirs * factor[:width])]
    for place in range(first[1].shape[1]):
        values = np.unique(np.concatenate([first[1][:, place], second[1][:, place]]))
        height = (weight[width + place] / 2.0) ** (1.0 / metric.value)
        ours, theirs = ((codes[:, [place]] == values) * height for codes in (first[1], second[1]))
        axes.append((ours, theirs))
    return np.hstack([a for a, _ in axes]), np.hstack([b for _, b in axes])


def _scaled(original: FloatArray, masked: FloatArray, scale: Scale) -> tuple[FloatArray, FloatArray]:
    """Numbers in units of the scale; a variable that does not vary tells nobody apart and becomes 0."""
    if scale is Scale.NONE:
        return original, masked
    if scale is Scale.OWN:
        return _standardised(original), _standardised(masked)
    if scale is Scale.ORIGINAL:
        unit = _inverse(original.std(axis=0))
    else:
        unit = _inverse(np.ptp(np.vstack([original, masked]), axis=0))
    return original * unit, masked * unit


def _standardised(numbers: FloatArray) -> FloatArray:
    """Numbers with mean 0 and standard deviation 1."""
    centred: FloatArray = numbers - numbers.mean(axis=0)
    return centred * _inverse(numbers.std(axis=0))


def _inverse(units: FloatArray) -> FloatArray:
    """1/u, and 0 where u is."""
    return np.divide(1.0, units, out=np.zeros_like(units), where=units > 0)


def _link_block(
    here: FloatArray,
    candidates: IntArray,
    there: FloatArray,
    asking: IntArray,
    metric: Metric,
    links: Links,
    heed: Callable[[], None],
) -> None:
    """Write the links of the masked records of one block: equal points are looked at once."""
    from scipy.spatial import cKDTree

    places, points = distinct_points(here), distinct_points(there)
    tree = cKDTree(here[places.first], balanced_tree=False)
    left, reach = np.arange(len(points)), 4
    nearest, ties = np.zeros(len(points), dtype=np.int64), np.zeros(len(points), dtype=np.int64)
    smallest, second = np.zeros(len(points)), np.full(len(points), np.inf)
    while len(left):
        reach = min(reach, len(places))
        again = []
        for part in np.array_split(left, max(len(left) * reach // _ENTRIES, len(left) // _ASKED) + 1):
            heed()
            distances, at = tree.query(there[points.first[part]], k=list(range(1, reach + 1)), p=metric.value)
            tied = distances <= distances[:, :1] * (1.0 + TIE)
            ties[part] = np.where(tied, places.counts[at], 0).sum(axis=1)
            nearest[part], smallest[part] = at[:, 0], distances[:, 0]
            alone = places.counts[at[:, 0]] == 1
            if reach > 1:
                second[part] = np.where(alone, distances[:, 1], distances[:, 0])
            else:
                second[part[~alone]] = distances[~alone, 0]
            again.append(part[tied[:, -1]] if reach < len(places) else part[:0])
        left, reach = np.concatenate(again), reach * 4
    own = points.group
    links.linked[asking] = candidates[places.first[nearest[own]]]
    links.distances[asking] = smallest[own]
    links.second[asking] = second[own]
    links.ties[asking] = ties[own]


def distinct_points(points: FloatArray) -> Keys:
    """Points (points, axes) grouped by equality."""
    if not points.shape[1]:
        return group_keys(np.zeros((len(points), 1), dtype=np.int64))
    codes = [np.unique(column, return_inverse=True)[1] for column in points.T]
    return group_keys(np.column_stack(codes).astype(np.int64))


def _blocks(original: Records, masked: Records) -> list[tuple[IntArray, IntArray]]:
    """Original and masked records of each block that has both."""
    if (original.blocks is None) != (masked.blocks is None):
        raise ValueError("blocks must be given for both files or for none")
    if original.blocks is None or masked.blocks is None:
        return [(np.arange(len(original)), np.arange(len(masked)))]
    here, there = checked_codes(original.blocks), checked_codes(masked.blocks)
    if here.shape != (len(original), there.shape[1]) or len(there) != len(masked):
        raise ValueError("blocks must have a row a record and the same variables in both files")
    keys = group_keys(np.vstack([here, there]))
    order = np.argsort(keys.group, kind="stable")
    parts = np.split(order, np.cumsum(keys.counts)[:-1])
    pairs = ((part[part < len(here)], part[part >= len(here)] - len(here)) for part in parts)
    return [(ours, theirs) for ours, theirs in pairs if len(ours) and len(theirs)]


def _checked(records: Records, name: str) -> tuple[FloatArray, IntArray]:
    """Numbers and codes of a file. Raises ValueError where they are none."""
    numbers = np.asarray(records.numbers)
    if numbers.ndim != 2 or numbers.dtype.kind not in "iuf":
        raise ValueError(f"numbers of {name} must be numbers of the shape (records, variables)")
    numbers = numbers.astype(np.float64)
    fit = np.asarray((np.abs(numbers) <= LARGEST_NUMBER).all(axis=1))
    wrong = at_positions(
        ~fit,
        f"numbers of {name} must be finite, at most {LARGEST_NUMBER:g}: leave out or fill in missing ones",
    )
    if wrong:
        raise ValueError(wrong[0])
    codes = np.asarray(records.codes)
    if codes.ndim != 2 or codes.dtype.kind != "i" or len(codes) != len(numbers):
        raise ValueError(f"codes of {name} must be integers of the shape (records, variables)")
    if not len(numbers):
        raise ValueError(f"{name} must have at least one record")
    if not numbers.shape[1] + codes.shape[1]:
        raise ValueError(f"{name} must have at least one variable")
    return numbers, codes


def _checked_weights(weights: FloatArray | None, variables: int) -> FloatArray:
    """Weights of the variables. Raises ValueError where one is negative or not finite."""
    if weights is None:
        return np.ones(variables)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (variables,):
        raise ValueError(f"weights must be one number a variable, of which there are {variables}")
    if not (np.isfinite(values) & (values >= 0)).all() or not values.any():
        raise ValueError("weights must be finite, 0 or above, and not all 0")
    return values


def checked_truth(truth: IntArray | None, originals: int, masked: int) -> IntArray:
    """Position of each masked record's original, -1 where it has none.

    Raises ValueError where a position is out of range, and where none are given for files of unequal length.
    """
    if truth is None:
        if originals != masked:
            raise ValueError("truth must be given where the files have different numbers of records")
        return np.arange(masked)
    places = np.asarray(truth)
    if places.shape != (masked,) or places.dtype.kind != "i":
        raise ValueError("truth must be one position a masked record, -1 where there is none")
    wrong = at_positions((places < -1) | (places >= originals), "truth must be a position of original or -1")
    if wrong:
        raise ValueError(wrong[0])
    return places
