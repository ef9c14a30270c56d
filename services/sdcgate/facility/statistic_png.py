"""Drawings as PNG: the very SVG with one font, so that a drawing has the same bytes on every machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ZOOM = 2
"""Pixels for each point of the drawing, so that texts can be read on a page."""


@dataclass(frozen=True, slots=True)
class Font:
    """What texts of drawings are set in; the machine's own fonts play no part."""

    file: Path | None = None
    """A TrueType font; Open Sans of the extra `png` where none is named."""
    family: str = "Open Sans"
    """What the font calls its family."""


OPEN_SANS = Font()
NO_PNG = "This facility draws no PNG (it lacks the extra `png`); leave it out and take the SVG."


def can_render() -> bool:
    """Whether the extra `png` is installed."""
    return all(find_spec(name) is not None for name in ("resvg_py", "ttf_opensans"))


def rendered(drawings: Sequence[str], font: Font) -> list[bytes]:
    """Each SVG as PNG on white, without metadata; signs that the font does not have are boxes."""
    import resvg_py
    import ttf_opensans

    file = font.file or ttf_opensans.OPENSANS_REGULAR.path
    return [
        resvg_py.svg_to_bytes(
            svg_string=svg,
            background="white",
            zoom=ZOOM,
            skip_system_fonts=True,
            font_files=[str(file)],
            sans_serif_family=font.family,
        )
        for svg in drawings
    ]
