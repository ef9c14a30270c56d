"""Bars and pies of parts: what is drawn, and what is refused."""

from xml.etree import ElementTree

import numpy as np
import pytest

from sdcgate.methods.outputs.part_pictures import NoPictureError, Parts, bars_picture, pie_picture
from sdcgate.methods.outputs.shapes import Labels

LABELS = Labels("place", "units")


def parts(*values: float) -> Parts:
    return Parts(tuple(f"p{place}" for place in range(len(values))), np.array(values, dtype=np.float64))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ((1.0, np.nan), "as its rest"),
        ((1.0, -1.0), "no parts of a whole"),
        ((0.0, 0.0), "no parts of a whole"),
        (tuple(range(1, 14)), "at most 12 slices"),
    ],
)
def test_what_no_pie_may_show_is_refused(values, why) -> None:
    with pytest.raises(NoPictureError, match=why):
        pie_picture(parts(*values), LABELS)


def test_bars_of_nothing_or_of_too_many_are_refused() -> None:
    with pytest.raises(NoPictureError, match="nothing of it is shown"):
        bars_picture(parts(np.nan, np.nan), LABELS)
    with pytest.raises(NoPictureError, match="at most 60 codes"):
        bars_picture(parts(*range(61)), LABELS)


def test_a_pie_of_one_is_a_circle() -> None:
    svg = pie_picture(parts(0.0, 5.0), LABELS)
    assert svg.count("<circle") == 1
    assert "p1: 100%" in svg
    assert "p0: 0%" in svg


def test_slices_end_where_the_next_begin() -> None:
    svg = pie_picture(parts(1, 2, 5), LABELS)
    paths = [one.get("d") for one in ElementTree.fromstring(svg) if one.tag.endswith("path")]
    ends = [(path.split(" ")[1][1:], path.split(" ")[-2]) for path in paths]
    assert [end for _, end in ends] == [start for start, _ in ends[1:]] + [ends[0][0]]
    assert [path.split(" ")[4] for path in paths] == ["0", "0", "1"]


def test_bars_below_zero_end_at_zero() -> None:
    svg = bars_picture(parts(-2, 5), LABELS)
    below, above = (one for one in ElementTree.fromstring(svg) if one.tag.endswith("rect"))
    end = float(below.get("x")) + float(below.get("width"))
    assert end == pytest.approx(float(above.get("x")), abs=0.11)
    assert float(above.get("width")) / float(below.get("width")) == pytest.approx(2.5, rel=0.01)


def test_names_are_escaped_and_cut() -> None:
    named = Parts(("<script>", "a" * 40), np.array([1.0, 2.0]))
    for svg in (bars_picture(named, LABELS), pie_picture(named, LABELS)):
        assert "&lt;script&gt;" in svg
        assert "a" * 24 not in svg
