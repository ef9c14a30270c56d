"""Whether an outcome can be what its family needs: the descriptor is asked, never the data.

That a population has a 0, a number below 0 or one that is not whole may be one person's value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.methods.outputs.fits import Family
from sdcgate.methods.outputs.formula import Numeric, Survival
from sdcgate.methods.outputs.transformations import TRANSFORMATIONS
from sdcgate.wire.problems import FieldProblem

COUNTS = frozenset({Family.POISSON, Family.NEGATIVE_BINOMIAL})
"""Families of counts."""
RISING = frozenset({"log", "log1p", "sqrt", "cube"})
WHOLE = frozenset({"", "square", "cube"})
"""Transformations of whole numbers that are whole."""
NEEDED = {
    Family.GAMMA: "is above 0: one that the descriptor declares a lower_bound above 0 for",
    Family.COX: "is never below 0: a time that the descriptor declares a lower_bound of 0 or above for",
    **dict.fromkeys(
        COUNTS, "is a count: one that the descriptor declares a lower_bound of 0 and no decimals for"
    ),
}


@dataclass(frozen=True, slots=True)
class _Bounds:
    lowest: float
    highest: float
    whole: bool


def outcome_out_of_bounds(
    dataset: Dataset, family: Family, outcome: object, codes: Sequence[str]
) -> list[FieldProblem]:
    """An outcome that is not declared to be what its family needs.

    `codes` are those that the filter leaves of an outcome whose codes are numbers.
    """
    of_time = isinstance(outcome, Survival)
    number = outcome.time if isinstance(outcome, Survival) else outcome
    if not isinstance(number, Numeric) or family not in NEEDED or of_time is not (family is Family.COX):
        return []
    declared = _transformed(number.transformation, _declared(dataset, number, codes))
    if family is Family.GAMMA:
        wrong = declared.lowest <= 0
    elif family is Family.COX:
        wrong = declared.lowest < 0
    else:
        wrong = declared.lowest < 0 or not declared.whole
    name = number.text if number.transformation else number.measure
    message = f"This kind of model needs an outcome that {NEEDED[family]}; {name} is none."
    return [FieldProblem("formula", message)] if wrong else []


def _declared(dataset: Dataset, number: Numeric, codes: Sequence[str]) -> _Bounds:
    if number.measure in dataset.profiles:
        measure = dataset.measure(number.measure)
        lowest = -math.inf if measure.lower_bound is None else measure.lower_bound
        highest = math.inf if measure.upper_bound is None else measure.upper_bound
        return _Bounds(lowest, highest, not measure.decimals)
    # Codes are public, and used as numbers where they are whole.
    numbers = [float(code) for code in codes]
    return _Bounds(min(numbers, default=-math.inf), max(numbers, default=math.inf), True)


def _transformed(transformation: str, of: _Bounds) -> _Bounds:
    """Bounds of a function of a number; those of a spline are not known."""
    whole = of.whole and transformation in WHOLE
    with np.errstate(all="ignore"):
        if not transformation:
            return of
        if transformation in RISING:
            lowest, highest = TRANSFORMATIONS[transformation].evaluate(np.array([of.lowest, of.highest]))
            return _Bounds(float(lowest), float(highest), whole)
        if transformation == "square":
            return _Bounds(max(of.lowest, 0.0) ** 2, math.inf, whole)
        if transformation == "inverse" and of.lowest >= 0:
            # Never 0, however large the number is.
            return _Bounds(max(1.0 / of.highest, math.ulp(0.0)), math.inf, whole)
    return _Bounds(-math.inf, math.inf, False)
