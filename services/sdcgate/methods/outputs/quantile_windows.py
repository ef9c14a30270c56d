"""The quantiles that a released quantile regression averages over.

The coefficients of one quantile are solved from as many records as it has parameters: with a dummy for each
category they are single records' values, as percentiles are. A percentile that leaves is the mean of a window
of units; so is the plane: the mean of the planes at quantiles one unit of the smallest category apart.
"""

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import number_of_units
from sdcgate.methods.outputs.design import Design, Indicator
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError


def window(quantile: float, units: int, smallest: int) -> FloatArray:
    """So many quantiles about one, a unit of the smallest category apart, with as many units on either side.

    ModelProblemError where the category has not units enough for that.
    """
    if units <= 1:
        return np.array([quantile])
    found = quantile + (np.arange(units) - (units - 1) / 2) / smallest
    beside = units / smallest
    if found[0] < beside or found[-1] > 1.0 - beside:
        message = "has too few units beside it in a category; ask one nearer to 0.5, or coarser factors"
        raise ModelProblemError([ModelProblem("quantile", message)])
    return np.asarray(found, dtype=np.float64)


def smallest_category(design: Design, values: FloatArray, units: IntArray) -> int:
    """Units of the smallest category of any term, its reference among them; all where there is no factor."""
    least = number_of_units(units)
    of_terms: dict[int, list[int]] = {}
    for place, column in enumerate(design.columns):
        # A measure that is 0 for a few people makes no category of them.
        if any(isinstance(part, Indicator) for part in column.parts):
            of_terms.setdefault(column.term, []).append(place)
    for places in of_terms.values():
        patterns = values[:, places] != 0
        rest = ~patterns.any(axis=1)
        for chosen in (*patterns.T, rest):
            if chosen.any():
                least = min(least, number_of_units(units[chosen]))
    return least
