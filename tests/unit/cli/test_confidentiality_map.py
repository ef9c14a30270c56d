"""`sdcgate map`: the theoretical R-U map as text, JSON, a page and a plot of its own."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from sdcgate.cli import main

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*words: str) -> Result:
    return CliRunner().invoke(main, ["map", *words])


def test_two_halves_keep_64_percent_of_the_information_and_noise_as_useful_is_less_risky() -> None:
    shown = drawn("--mean", "3000", "--standard-deviation", "900", "--cut-offs", "3000", "--noise", "900")
    assert shown.exit_code == 0, shown.output
    text = re.sub(r"\s+", " ", shown.stdout)
    assert "2 classes 63.7% 2.752 542.5 680 1.752" in text
    assert "900 50.0% 1 900" in text


def test_the_points_are_those_that_the_service_answers(tmp_path: Path) -> None:
    told = json.loads(drawn("--cut-offs", "-1,1", "--json").stdout)
    (point,) = told["recodings"]
    assert point["cut_offs"] == [-1.0, 1.0]
    assert point["risk"] == pytest.approx(1 / (1 - point["utility"]), rel=1e-12)
    assert told["noise"] == []


def test_the_plot_is_a_file_of_its_own_and_part_of_the_page(tmp_path: Path) -> None:
    svg, page = tmp_path / "map.svg", tmp_path / "map.html"
    assert drawn("--svg", str(svg), "--html", str(page)).exit_code == 0
    title = ElementTree.parse(svg).getroot().findtext(f"{SVG}title")
    assert title.startswith("R-U map: full points are recodings, hollow ones noise. Up: risk")
    points = ElementTree.parse(svg).getroot().findall(f"{SVG}circle")
    assert len(points) == 29
    assert sum(one.get("class") == "hollow" for one in points) == 20
    assert page.read_text().count("<circle") == 29


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cut-offs", "2,1"), "must be finite and increase strictly"),
        (("--cut-offs", "1,x"), "write numbers, separated by commas"),
        (("--noise", "-1"), "noise: must be above 0 and finite"),
        (("--standard-deviation", "0"), "standard_deviation: must be above 0"),
    ],
)
def test_what_is_no_map_is_told(words: tuple[str, ...], message: str) -> None:
    shown = drawn(*words)
    assert shown.exit_code == 2
    assert message in shown.output
