"""Sums of powers as quantities of their own: what a variance tells is kept apart from sums and counts."""

import re

POWER = re.compile(r"power([2-8]):(.+)", re.DOTALL)

Bounds = tuple[float | None, float | None]
"""What everybody knows single values to be at least and at most."""


def power_of(measure: str, order: int) -> str:
    """The quantity of sums of a measure's powers."""
    return f"power{order}:{measure}"


def power_parts(quantity: str) -> tuple[str, int]:
    """The measure of a quantity and the power of it that is summed; 1 of any other quantity."""
    found = POWER.fullmatch(quantity)
    return (found[2], int(found[1])) if found is not None else (quantity, 1)


def power_words(quantity: str) -> str:
    """A quantity as a person would say it: income^2."""
    measure, order = power_parts(quantity)
    return f"{measure}^{order}" if order > 1 else quantity


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
