"""Linear sensitivity measures: a weight for each rank of the contributors of a cell.

S = w_1 x_1 + w_2 x_2 + ... + w_n x_n + w_rest (x_(n+1) + x_(n+2) + ...), where x_1 >= x_2 >= ... are the
contributions of single respondents to a cell; the cell is sensitive if S > 0. Dominance, the p% rule and the
prior-posterior rule are such measures. Sources: Skinner, Statistical Disclosure Control for Survey Data,
2.2.1, R_c and eq. (1); that weights which never rise with the rank make the union of two insensitive cells
insensitive: Cox, Linear sensitivity measures in statistical disclosure control (1981), J. Statist. Plann.
Inference 5.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.sensitivity import CLOSE


@dataclass(frozen=True, slots=True)
class LinearMeasure:
    """Weights of the largest contributors, the largest first, and of all others.

    Weights never rise with the rank and `rest` is negative: then more contributors never make a cell
    sensitive, and the union of insensitive cells is insensitive. Raises ValueError where they are not so.
    """

    weights: tuple[float, ...]
    rest: float

    def __post_init__(self) -> None:
        if wrong := misweighted(self.weights, self.rest):
            raise ValueError(wrong)

    @property
    def ranks(self) -> int:
        """How many of the largest contributors have a weight of their own."""
        return len(self.weights)


def misweighted(weights: tuple[float, ...], rest: float) -> str:
    """What is wrong with the weights of a linear measure; empty where nothing is."""
    if not weights or not all(map(isfinite, (*weights, rest))):
        return "give at least one weight, and finite ones"
    if not rest < 0:
        return "the weight of the rest must be negative: many small contributors protect"
    if not weights[0] > 0:
        return "the weight of the largest contributor must be positive: without it no cell is sensitive"
    if any(after > before for before, after in zip(weights, (*weights[1:], rest), strict=True)):
        return "weights must not rise with the rank: the union of two safe cells could be unsafe"
    return ""


def dominance_measure(n: int, share: float) -> LinearMeasure:
    """(n,k) dominance as a linear measure: 1 - k for the n largest, -k for all others."""
    return LinearMeasure((1.0 - share,) * n, -share)


def prior_posterior_measure(p: float, q: float = 1.0, coalition: int = 1) -> LinearMeasure:
    """The (p,q) rule as a linear measure: p for the largest, 0 for the coalition, -q for all others.

    `coalition` respondents, the largest but one, know their own contributions; of all others anybody knows
    the contribution to within the share q beforehand. With q = 1 it is the p% rule (Skinner 2.2.1, eq. 1).
    """
    return LinearMeasure((p, *(0.0,) * coalition), -q)


def linear_sensitivity(measure: LinearMeasure, largest: FloatArray, totals: FloatArray) -> FloatArray:
    """S of each cell, shape (cells,); in the unit of the contributions times that of the weights.

    `largest` holds the largest contributions, largest first, shape (cells, ranks) with at least the ranks of
    the measure; `totals` the sums of all contributions, shape (cells,). None may be negative.
    """
    positive, negative = _parts(measure, largest, totals)
    sensitivity: FloatArray = positive - negative
    return sensitivity


def linearly_sensitive(measure: LinearMeasure, largest: FloatArray, totals: FloatArray) -> BoolArray:
    """Cells with S > 0, those within 1e-9 relative of it and those with NaN among them; shape (cells,).

    A cell without contributions, or with zeros only, is not sensitive. Shapes as for `linear_sensitivity`.
    """
    positive, negative = _parts(measure, largest, totals)
    unsafe: BoolArray = ~(totals == 0) & ~(positive < negative * (1 - CLOSE))
    return unsafe


def _parts(measure: LinearMeasure, largest: FloatArray, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What makes the cell sensitive and what protects it.

    The first is not negative. The second may be where `largest` are upper bounds of the contributions to a
    part of a cell; then it protects nothing.
    """
    if largest.shape[1] < measure.ranks:
        raise ValueError(f"linear sensitivity measure: give at least {measure.ranks} ranks a cell")
    ranked = largest[:, : measure.ranks]
    weights = np.array(measure.weights)
    others = totals - ranked.sum(axis=1)
    positive: FloatArray = ranked @ np.maximum(weights, 0.0)
    negative: FloatArray = ranked @ np.maximum(-weights, 0.0) - measure.rest * others
    return positive, negative
