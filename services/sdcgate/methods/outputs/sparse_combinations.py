"""Combinations of vectors, such as of sums over records, that vanish nearly everywhere.

The rows of a matrix are where combinations may vanish, its columns what is combined.
"""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray

NOTHING = 1e-9
"""Parts that are smaller than this cancel."""


MOST_UNEVEN = 1e6
"""Condition of a basis beyond which nothing is told apart from something too badly."""


class TooMany(Exception):
    """There are more combinations than can be looked at."""


def independent_columns(parts: FloatArray) -> IntArray:
    """The columns that do not follow from those before them, by their places in order."""
    left = np.asarray(np.linalg.qr(parts, mode="r"))
    kept: list[int] = []
    for column in range(left.shape[1]):
        if len(kept) == len(left):
            break
        # Of a triangle only rows that an earlier dependent column has left over are in question.
        rank, end = len(kept), min(column + 1, len(left))
        below = np.abs(left[rank:end, column])
        if below.max(initial=0.0) <= NOTHING:
            continue
        row = rank + int(below.argmax())
        left[[rank, row]] = left[[row, rank]]
        factors = left[rank + 1 : end, column] / left[rank, column]
        left[rank + 1 : end, column:] -= np.outer(factors, left[rank, column:])
        kept.append(column)
    return np.array(kept, dtype=np.int64)


def vanishing(parts: FloatArray) -> FloatArray:
    """A basis of the combinations of columns that vanish in all rows, shape (columns, combinations)."""
    if not len(parts):
        return np.eye(parts.shape[1])
    # There are more rows than columns: their triangle has the same combinations, and is smaller.
    _, sizes, directions = np.linalg.svd(np.asarray(np.linalg.qr(parts, mode="r")))
    basis: FloatArray = directions[int((sizes > NOTHING).sum()) :].T
    return basis


def systematic(parts: FloatArray, rows: IntArray) -> FloatArray | None:
    """Weights of the columns by which each combination alone is 1 in one of some rows, 0 in the others.

    Args:
        parts: shape (all rows, columns).
        rows: such rows, as many as columns.

    Returns:
        Shape (columns, columns); None where some combination is nearly nothing in all of the rows.
    """
    if len(rows) < parts.shape[1] or np.linalg.cond(parts[rows]) > MOST_UNEVEN:
        return None
    return np.asarray(np.linalg.inv(parts[rows]), dtype=np.float64)


def components(parts: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows and columns that have to do with each other, of combinations as `systematic` makes them.

    No combination with the fewest rows goes beyond one of these (the components of a matroid: Oxley, Matroid
    Theory, 2011, section 4.1).
    """
    runs, rank = parts.shape
    rows, columns = np.nonzero(parts)
    size = (runs + rank, runs + rank)
    graph = coo_array((np.ones(len(rows)), (rows, columns + runs)), shape=size)
    number, labels = connected_components(graph, directed=False)
    for label in range(number):
        own = np.flatnonzero(labels[runs:] == label)
        if len(own):
            yield np.flatnonzero(labels[:runs] == label), own


def light_combinations(parts: FloatArray, weights: FloatArray, limits: FloatArray, most: int) -> FloatArray:
    """Combinations of light rows, all that no other does with fewer of the same rows, and some others.

    What is in light rows has of one of several disjoint bases of the rows no more than that one's share of
    the limit, whatever the shares are (Zimmermann's bound on weights of codes: Betten et al.,
    Error-Correcting Linear Codes, 2006, section 1.8), where few columns of the systematic form make it up. Of
    t of these it is determined, up to a factor, by t - 1 rows in which it vanishes (the circuits of a
    matroid: Oxley, 2011, section 1.1).

    Args:
        parts: shape (rows, columns), no column of which follows from others.
        weights: of the rows, one or several for each, shape (kinds, rows); none is negative.
        limits: what the rows of a light combination weigh less than, by one kind at least; shape (kinds,).
        most: sets of columns, and combinations of these, that are looked at.

    Returns:
        What each combination takes of the columns, shape (combinations, columns).

    Raises:
        TooMany: if there would be more.
    """
    bases = list(_disjoint_bases(parts, weights[0]))
    # In heavy rows a large share of the limit is few rows, and in light ones a small one.
    total = sum(float(weights[0, pivots].sum()) for _, pivots in bases)
    found, left = [np.empty((0, parts.shape[1]))], most
    for form, pivots in bases:
        columns = parts @ form
        columns[np.abs(columns) <= NOTHING] = 0.0
        share = weights[0, pivots].sum() / total
        for own in _light_sets(columns != 0, pivots, weights, limits, share, most):
            directions = _directions(columns[:, own])
            left -= comb(len(directions), len(own) - 1)
            if left < 0:
                raise TooMany
            found.append(_determined(directions) @ form[:, own].T)
    return np.vstack(found)


def _disjoint_bases(parts: FloatArray, weights: FloatArray) -> Iterator[tuple[FloatArray, IntArray]]:
    """Systematic forms by rows that no other has, heavy ones first, and these rows; one at least."""
    rows = np.argsort(-weights, kind="stable")
    while len(rows) >= parts.shape[1]:
        pivots = rows[independent_columns(parts[rows].T)]
        form = systematic(parts, pivots)
        if form is None:
            return
        yield form, pivots
        rows = rows[~np.isin(rows, pivots)]


def _light_sets(
    something: BoolArray,
    pivots: IntArray,
    weights: FloatArray,
    limits: FloatArray,
    share: float,
    most: int,
) -> Iterator[IntArray]:
    """Sets of columns of a systematic form of which a light combination may be made.

    `something` says where the columns are not 0. In their own rows the limit is only a share of itself. A row
    where one column of a set is something and all others nothing is something in their combination, until
    another column is added: where such rows are too heavy, one of any that are too heavy together has to get
    one. Columns without a common row make up no such combination.
    """
    own, many = weights[:, pivots], something.sum(axis=1) / np.maximum(weights[0], NOTHING)
    waiting = [frozenset([place]) for place in range(len(pivots))]
    seen = set(waiting)
    while waiting:
        chosen = np.array(sorted(waiting.pop()), dtype=np.int64)
        if not (own[:, chosen].sum(axis=1) < limits * share).any():
            continue
        taken = something[:, chosen].sum(axis=1)
        certain = np.flatnonzero(taken == 1)
        certain = certain[np.argsort(many[certain], kind="stable")]
        heavy = np.all(np.cumsum(weights[:, certain], axis=1) >= limits[:, None], axis=0)
        if heavy.any():
            rows = certain[: int(heavy.argmax()) + 1]
        else:
            yield chosen
            rows = np.flatnonzero(taken)
        further: BoolArray = something[rows].sum(axis=0) > 0
        further[chosen] = False
        more = {frozenset([*chosen.tolist(), column]) for column in np.flatnonzero(further).tolist()} - seen
        seen |= more
        waiting += more
        if len(seen) > most:
            raise TooMany


def _directions(columns: FloatArray) -> FloatArray:
    """The rows of some columns, where several are something, that differ by more than a factor."""
    rows = columns[(columns != 0).sum(axis=1) > 1]
    first = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)]
    directions: FloatArray = np.unique((rows / first[:, None]).round(9) + 0.0, axis=0)
    return directions


def _determined(directions: FloatArray) -> FloatArray:
    """Weights with which a combination vanishes in as many independent rows as determine it."""
    rank = directions.shape[1]
    if rank == 1:
        return np.ones((1, 1))
    chosen = np.array(list(combinations(range(len(directions)), rank - 1)), dtype=np.int64)
    _, sizes, found = np.linalg.svd(directions[chosen.reshape(-1, rank - 1)])
    # Where less than t - 1 are independent others are, with which they are tried as well.
    weights: FloatArray = found[sizes[:, -1] > NOTHING, -1]
    return weights
