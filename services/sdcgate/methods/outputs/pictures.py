"""Pictures of protected data as SVG: nothing is drawn that is not in the data that leave with the picture.

Written by hand, as a drawing is some fifty elements: a plotting library would weigh more than the services,
keep fonts and metadata in the file, and draw what it thinks fit (the last bin, outliers, a date). Numbers at
the axes have three significant digits, places in the drawing tenths of a point.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.distributions import BoxPlot, Density, Histogram
from sdcgate.methods.outputs.hexagonal_bins import Grid, HexagonalBins
from sdcgate.methods.outputs.shapes import FILL, INK, Labels, drawing, number, stroke, text

WIDTH, HEIGHT, MARGIN = 480, 320, 60
_ROOT3 = 3.0**0.5


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the axes reach."""

    left: float
    right: float
    bottom: float
    top: float

    def x(self, value: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (value - self.left) / (self.right - self.left)

    def y(self, value: float) -> float:
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (value - self.bottom) / (self.top - self.bottom)


def histogram_picture(histogram: Histogram, labels: Labels) -> str:
    """Bars between edges with areas as shares; what lies below the first and above the last is in words."""
    edges, shares = histogram.edges, histogram.shares[1:-1]
    heights = shares / np.maximum(np.diff(edges), np.finfo(np.float64).tiny)
    frame = _frame(edges, np.append(heights, 0.0))
    bars = [
        f'<rect x="{frame.x(left):.1f}" y="{frame.y(height):.1f}" '
        f'width="{frame.x(right) - frame.x(left):.1f}" height="{frame.y(0) - frame.y(height):.1f}" '
        f'fill="{FILL}" stroke="{INK}" stroke-width="0.5"/>'
        for left, right, height in zip(edges, edges[1:], heights, strict=False)
    ]
    below, above = 100 * histogram.shares[0], 100 * histogram.shares[-1]
    note = text(WIDTH - MARGIN, MARGIN - 6, f"{below:.3g}% below, {above:.3g}% above", "end")
    return _picture(frame, labels, [*bars, note])


def density_picture(density: Density, labels: Labels) -> str:
    """The curve."""
    frame = _frame(density.values, np.append(density.densities, 0.0))
    return _picture(frame, labels, [_line(frame, density.values, density.densities)])


def step_picture(times: FloatArray, heights: FloatArray, start: float, labels: Labels) -> str:
    """A curve that is `start` at first and has each height from its time on."""
    frame = _frame(np.append(times, 0.0), np.append(heights, start))
    x = np.append(0.0, np.repeat(times, 2))
    y = np.append(np.repeat(np.append(start, heights[:-1]), 2), heights[-1])
    return _picture(frame, labels, [_line(frame, x, y)])


def lorenz_picture(points: Sequence[float], shares: FloatArray, labels: Labels) -> str:
    """The curve through the points that are released, and the diagonal."""
    there = np.isfinite(shares)
    frame = _Frame(0.0, 1.0, 0.0, 1.0)
    x = np.concatenate([[0.0], np.array(points)[there], [1.0]])
    y = np.concatenate([[0.0], shares[there], [1.0]])
    ends = np.array([0.0, 1.0])
    return _picture(frame, labels, [_line(frame, ends, ends, dashed=True), _line(frame, x, y)])


def box_plot_picture(boxes: BoxPlot, names: Sequence[str], labels: Labels) -> str:
    """A box for each group that has one; whiskers are percentiles, and there are no outliers."""
    there = np.flatnonzero(np.isfinite(boxes.medians))
    every = np.concatenate([boxes.lower[there], boxes.upper[there]])
    frame = _frame(np.array([-0.5, max(len(there), 1) - 0.5]), every)
    shapes: list[str] = []
    for place, group in enumerate(there):
        shapes += _box(frame, place, boxes, int(group))
        shapes.append(text(frame.x(place), HEIGHT - MARGIN + 14, names[int(group)], "middle"))
    return _picture(frame, labels, shapes, numbers_below=False)


def hexagon_picture(bins: HexagonalBins, grid: Grid, labels: Labels) -> str:
    """Hexagons that may be shown, darker the more units they have."""
    frame = _frame(_reach(bins.x, grid.width[0]), _reach(bins.y, grid.width[1]))
    most = bins.units.max(initial=1)
    corners = np.deg2rad(np.arange(30, 390, 60))
    shapes = []
    for x, y, units in zip(bins.x, bins.y, bins.units, strict=True):
        outline = " ".join(
            f"{frame.x(x + grid.width[0] / _ROOT3 * np.cos(corner)):.1f},"
            f"{frame.y(y + grid.width[1] / _ROOT3 * np.sin(corner)):.1f}"
            for corner in corners
        )
        shapes.append(
            f'<polygon points="{outline}" fill="{FILL}" fill-opacity="{0.15 + 0.85 * units / most:.2f}"/>'
        )
    return _picture(frame, labels, shapes)


def _reach(middles: FloatArray, width: float) -> FloatArray:
    return np.concatenate([middles - width, middles + width]) if len(middles) else np.array([0.0, width])


def _box(frame: _Frame, place: int, boxes: BoxPlot, group: int) -> list[str]:
    def level(values: FloatArray) -> float:
        return frame.y(float(values[group]))

    left, middle, right = frame.x(place - 0.3), frame.x(place), frame.x(place + 0.3)
    top, bottom = level(boxes.third_quartiles), level(boxes.first_quartiles)
    return [
        stroke(middle, level(boxes.lower), middle, bottom),
        stroke(middle, level(boxes.upper), middle, top),
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
        f'fill="{FILL}" stroke="{INK}"/>',
        stroke(left, level(boxes.medians), right, level(boxes.medians), 2),
    ]


def _frame(x: FloatArray, y: FloatArray) -> _Frame:
    """Axes that reach over all values; a little where all are the same."""
    left, right, bottom, top = float(x.min()), float(x.max()), float(y.min(initial=0)), float(y.max())
    return _Frame(left, right if right > left else left + 1, bottom, top if top > bottom else bottom + 1)


def _line(frame: _Frame, x: FloatArray, y: FloatArray, dashed: bool = False) -> str:
    points = " ".join(f"{frame.x(at):.1f},{frame.y(height):.1f}" for at, height in zip(x, y, strict=True))
    dashes = ' stroke-dasharray="4 4"' if dashed else ""
    return f'<polyline points="{points}" fill="none" stroke="{INK}"{dashes}/>'


def _picture(frame: _Frame, labels: Labels, shapes: Sequence[str], numbers_below: bool = True) -> str:
    below, left = HEIGHT - MARGIN, MARGIN
    axes = [stroke(left, below, WIDTH - MARGIN, below), stroke(left, below, left, MARGIN)]
    numbers = [
        text(left - 4, below, number(frame.bottom), "end"),
        text(left - 4, MARGIN + 4, number(frame.top), "end"),
    ]
    if numbers_below:
        numbers += [
            text(left, below + 14, number(frame.left), "middle"),
            text(WIDTH - MARGIN, below + 14, number(frame.right), "middle"),
        ]
    words = [
        text(WIDTH / 2, 18, labels.title, "middle"),
        text(WIDTH / 2, HEIGHT - 10, labels.x, "middle"),
        text(14, HEIGHT / 2, labels.y, "middle", turned=True),
    ]
    return drawing(WIDTH, HEIGHT, [*shapes, *axes, *numbers, *words])
