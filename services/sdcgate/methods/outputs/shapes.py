"""Lines, texts and numbers of drawings as SVG, what is named in them, and the drawing around them."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

INK, FILL = "#1f2937", "#6b8fb3"


@dataclass(frozen=True, slots=True)
class Labels:
    """Texts of a picture, as they come from the descriptor: they are escaped."""

    title: str = ""
    x: str = ""
    y: str = ""


def names_of(codes: Sequence[str], labels: Sequence[str]) -> tuple[str, ...]:
    """Labels where there are any, else codes."""
    return tuple(label or code for code, label in zip(codes, labels or codes, strict=True))


def stroke(x: float, y: float, to_x: float, to_y: float, width: float = 1) -> str:
    """A line."""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" '
        f'stroke="{INK}" stroke-width="{width:g}"/>'
    )


def text(x: float, y: float, words: str, anchor: str, turned: bool = False) -> str:
    """Words, escaped."""
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{escape(words)}</text>'


def number(value: float) -> str:
    """A number at an axis: three significant digits, without an exponent unless it is very large or small."""
    digits = f"{value:.3g}"
    return f"{float(digits):.12g}" if 1e-4 <= abs(value) < 1e7 else digits


def released_number(value: float) -> str:
    """A number as the answer has it, to the last digit: the shortest that is read as the same."""
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else repr(value)


def drawing(width: int, height: int, shapes: Sequence[str]) -> str:
    """The SVG; nothing is in it but the shapes."""
    drawn = "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11" fill="{INK}">\n{drawn}\n</svg>\n'
    )
