"""Analysis of variance of a linear model from its cross-products: no record is looked at.

Sequential sums of squares (type I) take terms in the order of the design; partial ones (type II) what a term
adds to all terms that do not contain it: Fisher (1925); Nelder (1977), A reformulation of linear models,
JRSS A 140(1).
"""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import CrossProducts
from sdcgate.methods.outputs.design import Design
from sdcgate.methods.outputs.formula import Term, term_text
from sdcgate.methods.outputs.linear_algebra import gram
from sdcgate.methods.outputs.ols import solve_least_squares
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError


class SumsOfSquares(IntEnum):
    """How the explained sum of squares is divided among terms; the numbers are their usual types."""

    SEQUENTIAL = 1
    PARTIAL = 2


@dataclass(frozen=True, slots=True, eq=False)
class AnovaTable:
    """A line a term, arrays of shape (terms,). Hidden from repr: may be withheld."""

    terms: tuple[str, ...]
    degrees: IntArray
    sums: FloatArray = field(repr=False)
    statistics: FloatArray = field(repr=False)
    """F: mean square of the term over that of the residuals."""
    p_values: FloatArray = field(repr=False)
    residual_degrees: int
    residual_sum: float = field(repr=False)


def analysis_of_variance(sums: CrossProducts, design: Design, kind: SumsOfSquares) -> AnovaTable:
    """The table of a design with a constant; ModelProblemError as least squares has it, and without one."""
    from scipy.special import fdtrc

    if design.constant is None:
        message = "an analysis of variance has a constant: leave `- 1` out"
        raise ModelProblemError([ModelProblem("formula", message)])
    solution = solve_least_squares(sums, design)
    residual_degrees = sums.records - len(design.columns)
    if residual_degrees < 1 or solution.residual_sum <= 0:
        raise ModelProblemError([ModelProblem("formula", "nothing is left to test the terms against")])
    numbers = [number for number, term in enumerate(design.terms) if term]
    of_term = {number: _columns(design, {number}) for number in numbers}
    explained = np.array([_added(sums, design, number, kind) for number in numbers])
    degrees = np.array([len(of_term[number]) for number in numbers], dtype=np.int64)
    statistics = explained / degrees / (solution.residual_sum / residual_degrees)
    return AnovaTable(
        tuple(term_text(design.terms[number]) for number in numbers),
        degrees,
        explained,
        statistics,
        fdtrc(degrees, residual_degrees, statistics),
        residual_degrees,
        solution.residual_sum,
    )


def _added(sums: CrossProducts, design: Design, number: int, kind: SumsOfSquares) -> float:
    """What a term explains beyond those that it is compared with."""
    if kind is SumsOfSquares.SEQUENTIAL:
        others = set(range(number))
    else:
        others = {at for at, term in enumerate(design.terms) if not _contains(term, design.terms[number])}
    return _explained(sums, _columns(design, others | {number})) - _explained(sums, _columns(design, others))


def _contains(whole: Term, part: Term) -> bool:
    return set(part) <= set(whole)


def _columns(design: Design, terms: set[int]) -> list[int]:
    return [place for place, column in enumerate(design.columns) if column.term in terms and column.parts]


def _explained(sums: CrossProducts, columns: list[int]) -> float:
    """Sum of squares about the mean that columns explain beside a constant."""
    if not columns:
        return 0.0
    with_outcome = sums.centred[columns, -1]
    return float(with_outcome @ gram(sums.centred[np.ix_(columns, columns)]).solve(with_outcome))
