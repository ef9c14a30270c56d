"""Scatter of two measures as hexagonal bins: counts of units, small ones withheld, on a grid of the policy's.

The grid's size comes from released percentiles of both measures and the policy's number of bins, never from a
caller: a bin that could be moved or scaled at will would cut out one unit.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.households import Households
from sdcgate.methods.outputs.implied_tables import units_by_group
from sdcgate.methods.outputs.percentiles import Percentiles
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.tables.sensitivity import CLOSE

ACROSS = 20
"""Hexagons across the range between the outermost released percentiles."""
_ROOT3 = 3.0**0.5


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A hexagonal grid: middle and width of a hexagon in the units of each measure."""

    middle: tuple[float, float]
    width: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class HexagonalBins:
    """Hexagons of one group that may be shown, each array of shape (bins,)."""

    x: FloatArray = field(repr=False)
    """Middles."""
    y: FloatArray = field(repr=False)
    units: IntArray = field(repr=False)
    withheld_units: int = field(repr=False)
    """Units of all hexagons that are withheld: 0, or at least the minimum (and of households theirs) in at
    least two hexagons."""


def grid_of(x: Percentiles, y: Percentiles, group: int, across: int = ACROSS) -> Grid | None:
    """The grid of a group; None where a measure has not two different percentiles."""
    spans = []
    for found in (x, y):
        values = found.values[group][found.available[group]]
        if len(values) < 2 or values[0] == values[-1]:
            return None
        spans.append((float(values.mean()), float(values[-1] - values[0]) / across))
    return Grid((spans[0][0], spans[1][0]), (spans[0][1], spans[1][1]))


def hexagonal_bins(
    x: Sample, y: FloatArray, group: int, grid: Grid, minimum: int, households: float = 0.0
) -> HexagonalBins:
    """Units by hexagon of one group; hexagons with fewer units or households than the minima are withheld.

    So are the smallest of the others until what is withheld is at least the minima: the group's total, which
    is known, tells the sum of what is withheld. A unit with records in several hexagons counts in each.
    `y` are the second measure's values of the same records. Households are counted where the sample has any.
    """
    inside = np.flatnonzero(x.groups == group)
    column, row = _hexagons(
        (x.values[inside] - grid.middle[0]) / grid.width[0], (y[inside] - grid.middle[1]) / grid.width[1]
    )
    hexagons, places = np.unique(np.stack([column, row]), axis=1, return_inverse=True)
    places = places.reshape(-1)
    units = units_by_group(places, hexagons.shape[1], x.units[inside])
    homes = None if x.households is None or not households else x.households.part(inside)
    withheld = _withheld(units, minimum, places, homes, households * (1 - CLOSE))
    shown = hexagons[:, ~withheld]
    odd = shown[1] % 2
    return HexagonalBins(
        grid.middle[0] + grid.width[0] * (shown[0] + odd / 2),
        grid.middle[1] + grid.width[1] * shown[1] * _ROOT3 / 2,
        units[~withheld].astype(np.int64),
        int(units[withheld].sum()),
    )


def _hexagons(x: FloatArray, y: FloatArray) -> tuple[IntArray, IntArray]:
    """Column and row of the nearest middle; odd rows are half a hexagon to the right."""
    rows = np.floor(y / (_ROOT3 / 2))[np.newaxis] + np.arange(2)[:, np.newaxis]
    odd = rows % 2
    columns = np.round(x - odd / 2)
    apart = (x - odd / 2 - columns) ** 2 + (y - rows * _ROOT3 / 2) ** 2
    nearest = apart.argmin(axis=0)[np.newaxis]
    column = np.take_along_axis(columns, nearest, axis=0)[0]
    row = np.take_along_axis(rows, nearest, axis=0)[0]
    return column.astype(np.int64), row.astype(np.int64)


def _withheld(
    units: IntArray, minimum: int, places: IntArray, homes: Households | None, fewest_homes: float
) -> BoolArray:
    """Hexagons that are withheld, shape (bins,); `places` are those of the records."""
    withheld: BoolArray = units < minimum
    if homes is not None:
        withheld |= homes.at_places(places, len(units)) < fewest_homes
    for smallest in np.argsort(units, kind="stable"):
        if not withheld.any():
            break
        together = np.flatnonzero(withheld[places])
        of_homes = np.inf if homes is None else homes.part(together).within(0, len(together))
        if units[withheld].sum() >= minimum and of_homes >= fewest_homes:
            break
        withheld[smallest] = True
    return withheld
