"""Bars and pies of the parts of a one-way table as it leaves, as SVG.

A part that is withheld has a mark in the place of its bar. A pie would show it as what is left of the circle:
of such parts there is none.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.outputs.shapes import FILL, INK, Labels, drawing, released_number, stroke, text

WIDTH, LEFT, RIGHT, TOP, STEP = 480, 150, 70, 36, 22
MOST_BARS, MOST_SLICES = 60, 12
LETTER = 7
"""Width of a digit at most."""
LONGEST = 24
"""Letters of a name that fit beside its bar."""
WITHHELD = "x"
_COLOURS = ("#6b8fb3", "#c9822f", "#5b8c5a", "#9b6b9e", "#b5533c", "#7a7a7a")
_PALER = (1.0, 0.55)
"""Opacities: twelve slices have six colours, each twice."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Parts of a table: arrays of shape (parts,). What is not shown has no value."""

    names: tuple[str, ...]
    values: FloatArray = field(repr=False)
    """NaN of what is not shown."""

    @property
    def shown(self) -> BoolArray:
        """Which parts have a value."""
        return np.isfinite(self.values)


class NoPictureError(ValueError):
    """Why the parts cannot be drawn so, and what to ask instead; it tells no value."""


def bars_picture(parts: Parts, labels: Labels) -> str:
    """A bar a part from 0 on, with its value; NoPictureError for none or too many of them."""
    if not parts.shown.any():
        raise NoPictureError("nothing of it is shown")
    if len(parts.names) > MOST_BARS:
        raise NoPictureError(f"at most {MOST_BARS} codes are drawn; ask a coarser level")
    ends = np.append(parts.values[parts.shown], 0.0)
    lowest, reach = float(ends.min()), float(ends.max() - ends.min())
    # As they leave: a rounded label would say something else than the answer.
    figures = [released_number(value) if np.isfinite(value) else WITHHELD for value in parts.values.tolist()]
    room = WIDTH - LEFT - max(RIGHT, 10 + LETTER * max(map(len, figures)))

    def x(value: float) -> float:
        return LEFT + room * (value - lowest) / (reach or 1.0)

    bottom = TOP + STEP * len(parts.names)
    shapes = [stroke(x(0.0), TOP, x(0.0), bottom)]
    for place, (name, value, figure) in enumerate(
        zip(parts.names, parts.values.tolist(), figures, strict=True)
    ):
        middle = TOP + STEP * (place + 0.5)
        shapes.append(text(LEFT - 6, middle + 4, _short(name), "end"))
        if figure == WITHHELD:
            shapes.append(text(x(0.0) + 4, middle + 4, WITHHELD, "start"))
            continue
        start, end = sorted((x(0.0), x(value)))
        shapes.append(
            f'<rect x="{start:.1f}" y="{middle - 8:.1f}" width="{end - start:.1f}" height="16" '
            f'fill="{FILL}" stroke="{INK}" stroke-width="0.5"/>'
        )
        shapes.append(text(end + 4, middle + 4, figure, "start"))
    words = [text(WIDTH / 2, 18, labels.title, "middle"), text(WIDTH / 2, bottom + 18, labels.x, "middle")]
    if not parts.shown.all():
        words.append(text(WIDTH - 8, bottom + 18, f"{WITHHELD}: not shown", "end"))
    return drawing(WIDTH, bottom + 28, [*shapes, *words])


def pie_picture(parts: Parts, labels: Labels) -> str:
    """A slice a part, with its share.

    Raises:
        NoPictureError: a part is not shown, so that the rest of the circle would tell it; one is below 0, all
            are 0, or there are too many.
    """
    if not parts.shown.all():
        raise NoPictureError("parts of it are not shown, and a pie would show them as its rest; draw bars")
    if len(parts.names) > MOST_SLICES:
        raise NoPictureError(f"a pie has at most {MOST_SLICES} slices; draw bars, or ask a coarser level")
    if (parts.values < 0).any() or not parts.values.sum() > 0:
        raise NoPictureError("its figures are no parts of a whole; draw bars")
    shares = parts.values / parts.values.sum()
    turns = np.concatenate([[0.0], np.cumsum(shares)])
    height = max(250, TOP + STEP * len(parts.names) + 30)
    centre, radius = (130.0, TOP + 90.0), 90.0
    shapes = []
    for place, (name, share) in enumerate(zip(parts.names, shares.tolist(), strict=True)):
        fill = f'fill="{_COLOURS[place % 6]}" fill-opacity="{_PALER[place // 6]:g}"'
        look = f'{fill} stroke="{INK}" stroke-width="0.5"'
        if share > 0:
            shapes.append(_slice(centre, radius, float(turns[place]), share, look))
        y = TOP + STEP * place
        shapes.append(f'<rect x="260" y="{y:.1f}" width="12" height="12" {look}/>')
        shapes.append(text(280, y + 10, f"{_short(name)}: {100 * share:.3g}%", "start"))
    words = [text(WIDTH / 2, 18, labels.title, "middle"), text(130, height - 10, labels.x, "middle")]
    return drawing(WIDTH, height, [*shapes, *words])


def _slice(centre: tuple[float, float], radius: float, start: float, share: float, look: str) -> str:
    """From a turn on, clockwise from above."""
    if share > 1 - 1e-9:
        return f'<circle cx="{centre[0]:.1f}" cy="{centre[1]:.1f}" r="{radius:.1f}" {look}/>'
    ends = []
    for turn in (start, start + share):
        angle = 2 * np.pi * turn
        ends.append(f"{centre[0] + radius * np.sin(angle):.1f},{centre[1] - radius * np.cos(angle):.1f}")
    large = int(share > 0.5)
    path = f"M{centre[0]:.1f},{centre[1]:.1f} L{ends[0]} A{radius:.1f},{radius:.1f} 0 {large} 1 {ends[1]} Z"
    return f'<path d="{path}" {look}/>'


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}\u2026"
