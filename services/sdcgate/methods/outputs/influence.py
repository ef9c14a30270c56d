"""How a model's coefficients rest on single units, in blocks of records.

With working weights w and A = (X'WX)^-1, the residuals of column j on all others are r_j = X a_j / a_jj
(Frisch, Waugh and Lovell), a record's share of the information on coefficient j is w r_j^2 a_jj (partial
leverage: Velleman and Welsch 1981), its leverage w x'Ax, and leaving it out moves the coefficients by
A x u / (1 - leverage), u being its score (exact in least squares: Belsley, Kuh and Welsch 1980, section
2.1; one step from the estimate otherwise: Pregibon 1981). A unit's records are taken together: their shares,
leverages and scores are summed, which for several records is an upper bound of their joint leverage. Columns
are taken about their means where there is a constant, so that those far from 0 keep their digits.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import BLOCK
from sdcgate.methods.outputs.linear_algebra import Gram, gram
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError

ALL_BUT_ONE = 1e-10
"""A unit whose leverage is nearer to 1 than this cannot be left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Working:
    """A fit as the weighted least squares of its last step, by record; it never leaves the process."""

    values: FloatArray = field(repr=False)
    """Shape (records, columns)."""
    weights: FloatArray | None = field(repr=False)
    """Shape (records,); None where all are 1."""
    scores: FloatArray = field(repr=False)
    """Weight times residual of the working outcome, shape (records,)."""
    dispersion: float | None = field(default=None, repr=False)
    """Variance of the scores beyond their weight; None: estimated, without the unit in question."""


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """How units influence coefficients."""

    largest_shares: FloatArray = field(repr=False)
    """Cumulated share of the k largest units, shape (columns, n)."""
    dfbetas: FloatArray = field(repr=False)
    """Shape (columns,)."""
    maximum_leverage: float = field(repr=False)
    condition: float = field(repr=False)
    residual_share: float | None = field(repr=False)
    """The largest unit's share of the squared residuals, by how much less would be left without it; None
    where their variance is not estimated."""


def influence_of(working: Working, units: IntArray, largest: int) -> Influence:
    """Shares of the `largest` units, the largest DFBETAS and the largest leverage.

    `units` has each record's unit as a number from 0. ModelProblemError where the columns are not of full
    rank with these weights.
    """
    centre, constant = _centre(working)
    system = gram(_weighted_cross(working, centre))
    # Coefficients of the columns themselves from those of the columns about their centre.
    back = np.eye(len(centre))
    if constant is not None:
        back[constant] -= centre
    try:
        inverse = system.inverse()
    except np.linalg.LinAlgError:
        message = "its columns follow from each other where the fit gives weight: it cannot be checked"
        raise ModelProblemError([ModelProblem("formula", message)]) from None
    to_columns = inverse @ back.T
    diagonal = np.diag(back @ to_columns)
    columns = len(diagonal)
    freedom = len(units) - columns
    rest = _residual_sum(working)
    variance = rest / max(freedom - 1, 1) if working.dispersion is None else working.dispersion
    top = np.zeros((largest, columns))
    moved = np.zeros(columns)
    maximum_leverage = largest_square = 0.0
    for block, starts in _blocks_of_units(units):
        values = working.values[block] - centre
        weights = np.ones(len(values)) if working.weights is None else working.weights[block]
        scores = working.scores[block]
        leverage = _by_unit(weights * np.einsum("ij,ij->i", values @ inverse, values), starts)
        projected = values @ to_columns
        shares = _by_unit(weights[:, None] * projected**2 / diagonal, starts)
        shift = np.abs(_by_unit(projected * scores[:, None], starts)) / np.sqrt(diagonal)
        left = 1.0 - leverage
        if working.dispersion is None:
            squares = _by_unit(_over(scores**2, weights), starts)
            held = squares / np.where(left > 0, left, 1.0)
            largest_square = max(largest_square, float(held.max()))
            spread = np.sqrt(np.maximum(rest - held, 0.0) / max(freedom - 1, 1))
        else:
            spread = np.full(len(left), np.sqrt(working.dispersion))
        top = _largest(np.vstack([top, shares]), largest)
        moved = np.maximum(moved, _moved(shift, left * spread, shares, np.sqrt(variance)))
        maximum_leverage = max(maximum_leverage, float(leverage.max()))
    share = None
    if working.dispersion is None:
        share = min(largest_square / rest, 1.0) if rest > 0 else 1.0
    condition = _condition(system, centre, constant)
    # Where few hold everything, rounding may find them to hold a little more.
    shares = np.minimum(np.cumsum(top, axis=0).T, 1.0)
    return Influence(shares, moved, maximum_leverage, condition, share)


def _moved(shift: FloatArray, by: FloatArray, shares: FloatArray, most: float) -> FloatArray:
    """The largest shift of each coefficient; infinite where a unit that cannot be left out informs it.

    `most` is what nothing in `by` is above.
    """
    possible = by > ALL_BUT_ONE * most
    largest = np.max(shift[possible] / by[possible, None], axis=0, initial=0.0)
    informed = np.any(shares[~possible] > ALL_BUT_ONE, axis=0)
    return np.where(informed, np.inf, largest)


def _centre(working: Working) -> tuple[FloatArray, int | None]:
    """What is taken out of the columns before their digits are lost, and which column is the constant.

    Means where there is a constant, which is left as it is: the fit is the same about any centre.
    """
    values, weights = working.values, working.weights
    ones = (column for column in np.flatnonzero(values[0] == 1.0) if np.all(values[:, column] == 1.0))
    constant = next(ones, None)
    if constant is None:
        return np.zeros(values.shape[1]), None
    total = float(len(values) if weights is None else weights.sum())
    centre = np.asarray((values.sum(axis=0) if weights is None else weights @ values) / total)
    centre[constant] = 0.0
    return centre, int(constant)


def _condition(system: Gram, centre: FloatArray, constant: int | None) -> float:
    """Of the columns as they are."""
    if constant is None:
        return system.condition
    forth = np.eye(len(centre))
    forth[constant] += centre
    centred = system.scaled * np.outer(system.scale, system.scale)
    return gram(forth.T @ centred @ forth).condition


def _weighted_cross(working: Working, centre: FloatArray) -> FloatArray:
    columns = working.values.shape[1]
    total = np.zeros((columns, columns))
    for start in range(0, len(working.scores), BLOCK):
        block = working.values[start : start + BLOCK] - centre
        weights = working.weights
        weighted = block if weights is None else block * weights[start : start + BLOCK, None]
        total += block.T @ weighted
    return (total + total.T) / 2


def _residual_sum(working: Working) -> float:
    squares = working.scores**2
    return float(np.sum(squares if working.weights is None else _over(squares, working.weights)))


def _over(numbers: FloatArray, weights: FloatArray) -> FloatArray:
    return np.divide(numbers, weights, out=np.zeros_like(numbers), where=weights > 0)


def _blocks_of_units(units: IntArray) -> Iterator[tuple[IntArray | slice, IntArray | None]]:
    """Blocks of records in the order of units, none of which is torn, with where each unit starts in them.

    No starts where each record is a unit of its own.
    """
    rising = np.all(units[1:] >= units[:-1])
    order = None if rising else np.argsort(units, kind="stable")
    sorted_units = units if order is None else units[order]
    first = np.flatnonzero(np.append(True, sorted_units[1:] != sorted_units[:-1]))
    alone = len(first) == len(units)
    start = 0
    while start < len(units):
        at = int(np.searchsorted(first, start + BLOCK))
        end = int(first[at]) if at < len(first) else len(units)
        block = slice(start, end) if order is None else order[start:end]
        inside = None if alone else first[np.searchsorted(first, start) : np.searchsorted(first, end)] - start
        yield block, inside
        start = end


def _by_unit(numbers: FloatArray, starts: IntArray | None) -> FloatArray:
    return numbers if starts is None else np.asarray(np.add.reduceat(numbers, starts, axis=0))


def _largest(numbers: FloatArray, count: int) -> FloatArray:
    """The largest numbers of each column, largest first."""
    if len(numbers) > count:
        numbers = np.partition(numbers, len(numbers) - count, axis=0)[-count:]
    return np.sort(numbers, axis=0)[::-1]
