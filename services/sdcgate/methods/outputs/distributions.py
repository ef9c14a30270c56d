"""Pictures of a distribution as data: histogram, density and box plot, all computed from percentiles.

They tell nothing that the released percentiles of the same group do not tell: there are no cut points of a
caller's, no outliers and no least or greatest value. A histogram by the codes of a variable is a table.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.percentiles import Percentiles

CURVE = 101
"""Points of a density curve."""
BOX = (0.25, 0.5, 0.75)
"""Without these a group has no box."""


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Bins of one group between its released percentiles, the outermost two open."""

    edges: FloatArray = field(repr=False)
    """Edges between bins, ascending, shape (bins - 1,)."""
    shares: FloatArray = field(repr=False)
    """Share of the population in each bin, shape (bins,), the first below all edges, the last above."""


@dataclass(frozen=True, slots=True, eq=False)
class BoxPlot:
    """Box plot figures of groups, each shape (groups,); NaN where not released. There are no outliers."""

    whisker_points: tuple[tuple[float, float], ...]
    """Percentiles of each group's whiskers: the outermost that it has."""
    lower: FloatArray = field(repr=False)
    first_quartiles: FloatArray = field(repr=False)
    medians: FloatArray = field(repr=False)
    third_quartiles: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """A density curve of one group."""

    values: FloatArray = field(repr=False)
    densities: FloatArray = field(repr=False)


def histogram(found: Percentiles, group: int) -> Histogram | None:
    """The histogram between a group's percentiles; None where it has none.

    Of equal percentiles only the last is an edge: half of a group with the value 0 makes no bin of its own.
    """
    there = found.available[group]
    points, values = np.array(found.points)[there], found.values[group][there]
    if not len(points):
        return None
    kept = np.append(np.diff(values) > 0, True)
    edges, at = values[kept], points[kept]
    return Histogram(edges, np.diff(np.concatenate([[0.0], at, [1.0]])))


def density(found: Percentiles, group: int) -> Density | None:
    """A kernel estimate from a group's percentiles; None where it has fewer than three.

    The percentiles stand for the shares of the population around them; kernels are normal, with Silverman's
    bandwidth (Density Estimation, 1986, 3.4.2) by the number of percentiles, not of records.
    """
    there = found.available[group]
    points, values = np.array(found.points)[there], found.values[group][there]
    if len(points) < 3:
        return None
    borders = np.concatenate([[0.0], (points[1:] + points[:-1]) / 2, [1.0]])
    masses = np.diff(borders)
    mean = masses @ values
    spread = float(np.sqrt(masses @ (values - mean) ** 2))
    if spread == 0:
        return None
    bandwidth = 0.9 * spread * len(points) ** -0.2
    at = np.linspace(values[0] - 2 * bandwidth, values[-1] + 2 * bandwidth, CURVE)
    kernels = np.exp(-0.5 * ((at[:, np.newaxis] - values) / bandwidth) ** 2)
    heights = kernels @ masses / (bandwidth * np.sqrt(2 * np.pi))
    return Density(at, heights)


def box_plot(found: Percentiles) -> BoxPlot:
    """Quartiles, median, and the outermost percentiles as whiskers, of each group that has all three."""
    places = [found.points.index(point) if point in found.points else -1 for point in BOX]
    columns = [
        found.values[:, place] if place >= 0 else np.full(len(found.values), np.nan) for place in places
    ]
    whole = np.isfinite(np.array(columns)).all(axis=0)
    lower, upper, points = np.full(len(whole), np.nan), np.full(len(whole), np.nan), []
    for group in range(len(whole)):
        there = np.flatnonzero(found.available[group])
        if not whole[group]:
            points.append((np.nan, np.nan))
            continue
        lower[group], upper[group] = found.values[group, there[0]], found.values[group, there[-1]]
        points.append((found.points[there[0]], found.points[there[-1]]))
    quartiles = [np.where(whole, column, np.nan) for column in columns]
    return BoxPlot(tuple(points), lower, quartiles[0], quartiles[1], quartiles[2], upper)
