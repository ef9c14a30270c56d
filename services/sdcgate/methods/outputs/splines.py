"""Splines with knots from the descriptor, as piecewise polynomials that numpy and SQL can both evaluate.

B-splines: de Boor (1978), A Practical Guide to Splines, chapter IX; the first of them is left out, as the
constant is their sum. Natural cubic splines: Hastie, Tibshirani and Friedman (2009), The Elements of
Statistical Learning, equations (5.4) and (5.5), without the constant, over the range of the outer knots.
"""

from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Spline:
    """What a descriptor registers for a measure: inner knots between the outer two, and the kind.

    A natural spline is cubic between the outer knots and linear beyond them. A B-spline is defined between
    them only. Of degree 0 there is none: its columns would be indicators of intervals.
    """

    lower: float
    upper: float
    knots: tuple[float, ...]
    natural: bool = True
    degree: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.degree <= 5:
            raise ValueError("a spline has a degree from 1 to 5")
        if self.natural and (self.degree != 3 or not self.knots):
            raise ValueError("a natural spline is cubic and has at least one inner knot")
        rising = (self.lower, *self.knots, self.upper)
        if not np.all(np.isfinite(rising)) or np.any(np.diff(rising) <= 0):
            raise ValueError("knots rise strictly between the lower and the upper one")

    def outside(self, values: FloatArray) -> BoolArray:
        """Values that the spline is not defined for."""
        if self.natural:
            return ~np.isfinite(values)
        return ~((values >= self.lower) & (values <= self.upper))


@dataclass(frozen=True, slots=True)
class PiecewisePolynomial:
    """From `starts[i]` up to the next start: the sum over k of `coefficients[i][k] (x - starts[i])^k`.

    The first piece goes on below its start, the last one without end.
    """

    starts: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]

    def evaluate(self, values: FloatArray) -> FloatArray:
        """Its value at each of the values."""
        starts, table = np.array(self.starts), np.array(self.coefficients)
        piece = np.maximum(np.searchsorted(starts, values, side="right") - 1, 0)
        beyond = values - starts[piece]
        result = table[piece, -1]
        for power in range(table.shape[1] - 2, -1, -1):
            result = result * beyond + table[piece, power]
        return np.asarray(result, dtype=np.float64)


def spline_columns(spline: Spline) -> tuple[PiecewisePolynomial, ...]:
    """The columns of a spline; with the constant they are of full rank."""
    return _natural(spline) if spline.natural else _b_splines(spline)


def _b_splines(spline: Spline) -> tuple[PiecewisePolynomial, ...]:
    from scipy.interpolate import BSpline, PPoly

    outer = [spline.lower] * (spline.degree + 1), [spline.upper] * (spline.degree + 1)
    knots = np.array([*outer[0], *spline.knots, *outer[1]])
    starts = (spline.lower, *spline.knots)
    columns = []
    for number in range(1, len(knots) - spline.degree - 1):
        unit = np.zeros(len(knots) - spline.degree - 1)
        unit[number] = 1.0
        pieces = PPoly.from_spline(BSpline(knots, unit, spline.degree))
        inner = slice(spline.degree, spline.degree + len(starts))
        columns.append(_polynomial(starts, pieces.c[::-1, inner].T))
    return tuple(columns)


def _natural(spline: Spline) -> tuple[PiecewisePolynomial, ...]:
    knots = np.array([spline.lower, *spline.knots, spline.upper])
    span = spline.upper - spline.lower
    # in t = (x - lower) / span the columns are of order one, however large the measure is
    at = (knots - spline.lower) / span
    starts = (spline.lower - span, *knots)
    straight = np.column_stack([np.append(-1.0, at), np.full(len(starts), 1.0 / span)])
    columns = [_polynomial(starts, straight)]
    last = _difference(at, len(at) - 2, span)
    for number in range(len(at) - 2):
        curved = _difference(at, number, span) - last
        columns.append(_polynomial(starts, np.vstack([np.zeros(4), curved])))
    return tuple(columns)


def _difference(at: FloatArray, number: int, span: float) -> FloatArray:
    """d_k of (5.5): the difference of the cubes truncated at knot k and at the last, by their distance."""
    cubes = _truncated_cube(at, number) - _truncated_cube(at, len(at) - 1)
    return np.asarray(cubes / (at[-1] - at[number]) / span ** np.arange(4), dtype=np.float64)


def _truncated_cube(at: FloatArray, number: int) -> FloatArray:
    """Coefficients, a row a piece, in powers of the distance from the piece's own start."""
    shift = at - at[number]
    rows = np.column_stack([shift**3, 3 * shift**2, 3 * shift, np.ones(len(at))])
    rows[:number] = 0.0
    return np.asarray(rows, dtype=np.float64)


def _polynomial(starts: tuple[float, ...], coefficients: FloatArray) -> PiecewisePolynomial:
    return PiecewisePolynomial(
        tuple(float(point) for point in starts),
        tuple(tuple(float(number) for number in row) for row in coefficients),
    )
