"""What formulas about a dataset may name, from its descriptor alone."""

import re
from functools import lru_cache

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.methods.cells import MISSING
from sdcgate.methods.outputs.splines import Spline
from sdcgate.methods.outputs.transformations import TRANSFORMATIONS
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,8})")


@lru_cache(maxsize=256)
def vocabulary(dataset: Dataset) -> Vocabulary:
    """Variables with their levels, measures, and variables whose finest codes are whole numbers as such.

    A transformation may be named where everybody knows that it is defined for every value: whether a record
    is lost by it must not depend on the data.
    """
    variables, measures = [], []
    for declared in dataset.descriptor.variables:
        levels = dataset.levels(declared.name)
        variables.append(
            Categorical(
                declared.name,
                tuple(Level(level.name, tuple(c for c in level.codes if c != MISSING)) for level in levels),
            )
        )
        numbers = code_numbers(dataset, declared.name)
        if numbers is not None:
            measures.append(Measured(declared.name, _defined(float(np.nanmin(numbers))), of_codes=True))
    for measure in dataset.descriptor.measures:
        knots = measure.knots
        spline = Spline(knots[0], knots[-1], knots[1:-1]) if knots else None
        measures.append(Measured(measure.name, _defined(measure.lower_bound), spline))
    return Vocabulary(tuple(variables), tuple(measures))


def code_numbers(dataset: Dataset, variable: str) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """What the finest codes of a variable are as numbers, NaN where missing; None where they are not all."""
    codes = dataset.levels(variable)[0].codes
    if not all(code == MISSING or _INTEGER.fullmatch(code) for code in codes):
        return None
    return np.array([np.nan if code == MISSING else float(code) for code in codes])


def _defined(lowest: float | None) -> tuple[str, ...]:
    """Transformations that are defined for every value from the lowest on; None: any value."""
    value = np.array([-np.inf if lowest is None else lowest])
    return tuple(name for name, known in TRANSFORMATIONS.items() if not known.outside(value)[0])
