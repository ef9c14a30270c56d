"""PNG of a drawing: the drawing and nothing else, the same bytes each time, with its texts."""

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import ttf_opensans

from sdcgate.facility.statistic_png import OPEN_SANS, ZOOM, Font, rendered
from sdcgate.methods.outputs import pictures
from sdcgate.methods.outputs.distributions import Histogram

BINS = Histogram(np.array([0.0, 1, 2, 4, 8]), np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.1]))
LABELS = pictures.Labels("Dayton", "income")
DRAWING = pictures.histogram_picture(BINS, LABELS)


def chunks(png: bytes) -> list[bytes]:
    """The kinds of a PNG's parts."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    found, at = [], 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        found.append(png[at + 4 : at + 8])
        at += 12 + length
    return found


def test_the_same_data_are_the_same_bytes_and_nothing_else_is_in_them():
    first, second = rendered([DRAWING, DRAWING], OPEN_SANS)
    assert first == second == rendered([pictures.histogram_picture(BINS, LABELS)], OPEN_SANS)[0]
    assert set(chunks(first)) == {b"IHDR", b"IDAT", b"IEND"}
    assert struct.unpack(">II", first[16:24]) == (pictures.WIDTH * ZOOM, pictures.HEIGHT * ZOOM)


def test_other_data_or_texts_are_other_bytes():
    other = pictures.histogram_picture(replace(BINS, shares=BINS.shares[::-1]), LABELS)
    renamed = pictures.histogram_picture(BINS, replace(LABELS, title="Seattle"))
    assert len(set(rendered([DRAWING, other, renamed], OPEN_SANS))) == 3


def test_texts_are_drawn_with_the_named_font_whatever_the_machine_has():
    silent, own, bold = (
        rendered([DRAWING], font)[0]
        for font in (
            Font(family="A family that no font here has"),
            OPEN_SANS,
            Font(Path(ttf_opensans.OPENSANS_BOLD.path)),
        )
    )
    assert len({silent, own, bold}) == 3
    assert len(own) > len(silent)


def test_a_text_cannot_draw_or_fetch_anything(tmp_path):
    secret = tmp_path / "secret.svg"
    secret.write_text('<svg xmlns="http://www.w3.org/2000/svg"><rect width="480" height="320"/></svg>')
    hostile = f'</text><image href="{secret}" width="480" height="320"/><text>'
    drawn = pictures.histogram_picture(BINS, replace(LABELS, x=hostile))
    assert "<image" not in drawn
    assert rendered([drawn], Font(family="none")) == rendered([DRAWING], Font(family="none"))
