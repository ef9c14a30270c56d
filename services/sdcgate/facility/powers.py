"""Sums of powers and functions as quantities of their own: a variance is kept apart from sums and counts."""

import re
from dataclasses import dataclass, replace

import numpy as np

from sdcgate.methods.outputs.function_sums import FUNCTIONS
from sdcgate.methods.outputs.transformations import TRANSFORMATIONS

POWER = re.compile(r"power([2-8]):(.+)", re.DOTALL)
WEIGHTED = "weighted^"
OF_FUNCTION = re.compile(rf"({'|'.join(sorted(FUNCTIONS))})\^([12]):(.+)", re.DOTALL)

Bounds = tuple[float | None, float | None]
"""What everybody knows single values to be at least and at most."""


@dataclass(frozen=True, slots=True)
class Summed:
    """What is summed: a power of a measure, or of a function of it."""

    measure: str
    order: int = 1
    function: str = ""
    """As formulas name it; empty of the measure itself."""
    weighted: bool = False
    """Whether weights that variables decide are in the sums: they are told of by the values as they are."""

    @property
    def plain(self) -> bool:
        """Whether it is the measure as it is, or any other quantity."""
        return self.order == 1 and not self.function and not self.weighted

    @property
    def quantity(self) -> str:
        """What sums of it are known as."""
        if self.weighted:
            return WEIGHTED + replace(self, weighted=False).quantity
        if self.function:
            return f"{self.function}^{self.order}:{self.measure}"
        return self.measure if self.order == 1 else power_of(self.measure, self.order)

    @property
    def words(self) -> str:
        """As a person would say it: income^2, log(income), weighted income^2."""
        if self.weighted:
            return f"weighted {replace(self, weighted=False).words}"
        name = f"{self.function}({self.measure})" if self.function else self.measure
        return f"{name}^{self.order}" if self.order > 1 else name

    def bounds(self, bounds: Bounds) -> Bounds:
        """What everybody knows it to be at least and at most, as he knows the measure's bounds."""
        found = function_bounds(bounds, self.function) if self.function else bounds
        return power_bounds(found, self.order) if self.order > 1 else found


def power_of(measure: str, order: int) -> str:
    """The quantity of sums of a measure's powers."""
    return f"power{order}:{measure}"


def summed_in(quantity: str) -> Summed:
    """What is summed in a quantity; of any other one the quantity itself."""
    if quantity.startswith(WEIGHTED):
        return replace(summed_in(quantity.removeprefix(WEIGHTED)), weighted=True)
    if (found := POWER.fullmatch(quantity)) is not None:
        return Summed(found[2], int(found[1]))
    if (found := OF_FUNCTION.fullmatch(quantity)) is not None:
        return Summed(found[3], int(found[2]), found[1])
    return Summed(quantity)


def function_bounds(bounds: Bounds, function: str) -> Bounds:
    """What everybody knows a function of a value to be at least and at most, where it is a number there."""

    def at(end: float | None) -> float | None:
        known = TRANSFORMATIONS[function]
        if end is None or known.outside(np.array([end]))[0]:
            return None
        return float(known.evaluate(np.array([end]))[0])

    low, high = (at(end) for end in bounds)
    # The inverse of an amount above 0 falls; all others rise.
    return (0.0 if high is None else high, low) if function == "inverse" else (low, high)


def power_bounds(bounds: Bounds, order: int) -> Bounds:
    """What everybody knows a value's power to be at least and at most, as he knows the value's bounds."""
    low, high = bounds
    if order % 2:
        return (None if low is None else low**order, None if high is None else high**order)
    if low is None or high is None:
        nearest = next((end for end, out in ((low, 1), (high, -1)) if end is not None and end * out > 0), 0.0)
        return nearest**order, None
    crosses = low <= 0 <= high
    ends = sorted((low**order, high**order))
    return (0.0 if crosses else ends[0], ends[1])
