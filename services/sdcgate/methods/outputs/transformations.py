"""Transformations of measures that a formula may name: none has a constant that a researcher could choose.

`log(income - 4092.70)` against `log(income - 4093.06)` can differ by one person; whoever may write neither
constant cannot ask for either.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray

SPLINE = "spline"


@dataclass(frozen=True, slots=True)
class Transformation:
    """A function of one measure, and the values it is defined for."""

    name: str
    evaluate: Callable[[FloatArray], FloatArray]
    lowest: float = -np.inf
    lowest_included: bool = True

    def outside(self, values: FloatArray) -> BoolArray:
        """Values that it is not defined for; NaN is one of them."""
        if self.lowest_included:
            return ~(values >= self.lowest)
        return ~(values > self.lowest)


def _square(values: FloatArray) -> FloatArray:
    return values * values


def _cube(values: FloatArray) -> FloatArray:
    return values * values * values


def _inverse(values: FloatArray) -> FloatArray:
    return 1.0 / values


TRANSFORMATIONS = MappingProxyType(
    {
        known.name: known
        for known in (
            Transformation("log", np.log, 0.0, lowest_included=False),
            Transformation("log1p", np.log1p, -1.0, lowest_included=False),
            Transformation("sqrt", np.sqrt, 0.0),
            Transformation("square", _square),
            Transformation("cube", _cube),
            Transformation("inverse", _inverse, 0.0, lowest_included=False),
        )
    }
)
"""By name. `spline` is not among them: it makes several columns (`splines`)."""
