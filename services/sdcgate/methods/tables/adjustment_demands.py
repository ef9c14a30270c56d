"""What is asked of an adjusted table, and whether that makes sense."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, Relations
from sdcgate.methods.tables.problem import ADDITION_ERROR


class Weighting(IntEnum):
    """What a change of one costs in a cell of value a; the numbers are the wire's."""

    UNSPECIFIED = 0
    UNIT = 1
    """1 for all."""
    RELATIVE = 2
    """1 / |a|."""
    ROOT = 3
    """1 / sqrt |a|."""


@dataclass(frozen=True, slots=True, eq=False)
class Demands:
    """What must hold of the published table; None where nothing is asked.

    No value changes by more than `most_change`, no total by more than `margin_share` of its absolute value,
    no cell but those that must move by more than `cell_share` of its own. At most `moved_share` of all cells
    change. Over inner cells the correlation of published and true values is at least `correlation`. Each
    value is from `lower` to `upper`; `released` are values that have left and bind, NaN where none has;
    shape (cells,).
    """

    most_change: float | None = None
    margin_share: float | None = None
    cell_share: float | None = None
    moved_share: float | None = None
    correlation: float | None = None
    lower: FloatArray | None = field(default=None, repr=False)
    upper: FloatArray | None = field(default=None, repr=False)
    released: FloatArray | None = field(default=None, repr=False)


DEMANDS = ("margin_share", "cell_share", "moved_share", "correlation", "lower", "upper", "released")
"""The demands that may be the reason why there is no table."""


def weights(values: FloatArray, weighting: Weighting) -> FloatArray:
    """What a change of one costs in each cell, shape (cells,). Raises ValueError where none is told."""
    sizes = np.where(values == 0, 1.0, np.abs(values))
    match weighting:
        case Weighting.UNIT:
            return np.ones(len(values))
        case Weighting.RELATIVE:
            return 1 / sizes
        case Weighting.ROOT:
            return 1 / np.sqrt(sizes)
        case _:
            raise ValueError("the weighting of the distance must be told")


def check_shapes(cells: int, *columns: FloatArray | BoolArray | None) -> None:
    """Raise ValueError unless every column that is given has one value a cell."""
    if any(column is not None and column.shape != (cells,) for column in columns):
        raise ValueError(f"must be one value for each of {cells} cells")


def check_values(relations: Relations, values: FloatArray, whole: bool) -> None:
    """Raise ValueError unless values are finite, whole where they must be, and add up."""
    if not np.all(np.isfinite(values)):
        raise ValueError("values must be finite")
    if whole and np.any(values != np.rint(values)):
        raise ValueError("values must be whole numbers where they are to stay whole")
    room = ADDITION_ERROR * np.abs(values).max(initial=0.0)
    if np.any(np.abs(gaps_of(relations, values)) > room):
        raise ValueError("values must add up")


def demand_problems(demands: Demands, inner: FloatArray, whole: bool) -> Iterator[tuple[str, str]]:
    """What makes no sense, as (demand, what is wrong); `inner` are the true values of inner cells."""
    for name in ("most_change", "margin_share", "cell_share", "moved_share"):
        asked = getattr(demands, name)
        if asked is not None and not (np.isfinite(asked) and asked >= 0):
            yield name, "must be finite and not negative"
    wanted = demands.correlation
    if wanted is not None and not -1 <= wanted <= 1:
        yield "correlation", "must be from -1 to 1"
    elif wanted is not None and np.ptp(inner) == 0:
        yield "correlation", "must be unset: it has no meaning where all inner cells are equal"
    lower, upper, released = demands.lower, demands.upper, demands.released
    if lower is not None and np.isnan(lower).any():
        yield "lower", "must be numbers"
    if upper is not None and np.isnan(upper).any():
        yield "upper", "must be numbers"
    if released is not None:
        left = released[~np.isnan(released)]
        if not np.all(np.isfinite(left)) or (whole and np.any(left != np.rint(left))):
            yield "released", "must be finite, and whole numbers where values are to stay whole"


def gaps_of(relations: Relations, values: FloatArray) -> FloatArray:
    """By how much each total exceeds the sum of its parts."""
    if not len(relations):
        return np.zeros(0)
    gaps: FloatArray = values[relations.parents] - np.add.reduceat(
        values[relations.children], relations.offsets[:-1]
    )
    return gaps
