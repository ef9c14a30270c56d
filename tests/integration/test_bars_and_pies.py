"""Bars and pies of what was released: over REST, as SVG and PNG, and with nothing that was withheld."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from house import build, people_descriptor, person, table_request, verdict
from sdcgate.cli import main
from sdcgate.facility.errors import Conflict, InvalidRequest, NotFound
from sdcgate.facility.pace import Pace
from sdcgate.facility.query_pictures import drawn
from sdcgate_client import Client
from sdcgate_client import InvalidRequest as Refused
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2, table_pb2
from served_house import ServedHouse

PLACES = {"city": 400, "town": 250, "village": 120, "hill": 3, "coast": 60}
SVG = "{http://www.w3.org/2000/svg}"


def people() -> pd.DataFrame:
    number = sum(PLACES.values())
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "id": np.arange(number),
            "place": np.repeat(list(PLACES), list(PLACES.values())),
            "sex": np.arange(number) % 2,
            "income": np.round(rng.normal(3000, 400, number)),
        }
    )


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("people")
    people().to_csv(folder / "people.csv", index=False)
    made = build(folder, policy="five-safes")
    measures = [{"name": "income", "lower_bound": 0, "upper_bound": 10000}]
    made.engine.register(people_descriptor({"place": PLACES, "sex": "01"}, measures, unit={"column": "id"}))
    yield made
    made.facility.close()


def table(house: Any, **asked: Any) -> pb.Decision:
    found = table_request("people", **asked)
    return house.facility.query_table(house.researcher, found, Pace(60.0)).decision


def draw(house: Any, decision: pb.Decision, kind: str = "BARS", **more: Any) -> pb.DrawQueryResponse:
    asked = pb.DrawQueryRequest(
        query=decision.query, kind=pb.PictureKind.Value(f"PICTURE_KIND_{kind}"), **more
    )
    return house.facility.draw_query(house.researcher, asked, Pace(60.0))


def problems(house: Any, decision: pb.Decision, kind: str, **more: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidRequest) as caught:
        draw(house, decision, kind, **more)
    return [(problem.path, problem.message) for problem in caught.value.problems]


def bars(svg: str) -> dict[str, float]:
    """Lengths of the bars by the names beside them, None of a name without one."""
    root = ElementTree.fromstring(svg)
    heights = {float(one.get("y")) + 8: float(one.get("width")) for one in root.iter(f"{SVG}rect")}
    names = [
        one
        for one in root.iter(f"{SVG}text")
        if one.get("text-anchor") == "end" and float(one.get("x")) < 150
    ]
    return {one.text: heights.get(float(one.get("y")) - 4) for one in names}


def test_bars_are_as_long_as_the_figures_that_left(house) -> None:
    decision = table(house, rows=["sex"], figures=["UNITS", "MEAN:income"])

    svg = draw(house, decision).svg

    lengths, (units, _) = bars(svg), decision.table.figures
    shown = dict(zip(decision.table.dimensions[0].codes, units.values, strict=True))
    assert lengths["0"] / lengths["1"] == pytest.approx(shown["0"] / shown["1"], rel=0.01)
    assert set(lengths) == {"0", "1", "missing"}
    assert lengths["missing"] == 0
    means = bars(draw(house, decision, figure=1).svg)
    assert means["0"] == pytest.approx(means["1"], rel=0.1)


def test_bars_are_labelled_with_the_figures_as_they_left(house) -> None:
    decision = table(house, rows=["sex"], figures=["UNITS", "SUM:income"])
    sums = decision.table.figures[1].values[:2]
    assert min(sums) > 999
    texts = [one.text for one in ElementTree.fromstring(draw(house, decision, figure=1).svg)]
    assert {f"{value:.0f}" for value in sums} <= {*texts}


def test_a_code_that_is_withheld_has_no_bar_and_no_figure(house) -> None:
    """Nor has the one that is withheld with it, and nothing in the drawing adds up to them."""
    decision = table(house, rows=["place"])
    assert verdict(decision) == "RELEASED_PROTECTED"
    statuses = dict(zip(decision.table.dimensions[0].codes, decision.table.statuses, strict=True))
    hidden = {code for code, status in statuses.items() if status == table_pb2.CELL_STATUS_WITHHELD}
    assert "hill" in hidden
    assert len(hidden) > 1

    svg = draw(house, decision).svg

    lengths = bars(svg)
    assert {code for code, length in lengths.items() if length is None} == hidden
    assert svg.count(">x</text>") == len(hidden)
    assert "x: not shown" in svg
    numbers = {float(text) for text in re.findall(r">(\d+)</text>", svg)}
    assert numbers == {0.0, *(float(PLACES[code]) for code in PLACES if code not in hidden)}


def test_a_pie_with_something_withheld_is_refused(house) -> None:
    decision = table(house, rows=["place"])
    ((path, message),) = problems(house, decision, "PIE")
    assert path == "kind"
    assert "draw bars" in message
    assert not re.search(r"\d", message)


def test_a_pie_has_the_shares_of_the_figures_that_left(house) -> None:
    decision = table(house, rows=["place"], place=["city", "town", "village"])

    svg = draw(house, decision, "PIE").svg

    root = ElementTree.fromstring(svg)
    assert len(list(root.iter(f"{SVG}path"))) == 3
    legend = [one.text for one in root.iter(f"{SVG}text") if "%" in (one.text or "")]
    whole = 400 + 250 + 120
    assert legend == [f"{place}: {100 * PLACES[place] / whole:.3g}%" for place in ("city", "town", "village")]


def test_means_tables_of_two_variables_and_too_high_figures_are_no_pie(house) -> None:
    means = table(house, rows=["sex"], figures=["UNITS", "MEAN:income"])
    assert problems(house, means, "PIE", figure=1) == [
        ("kind", "Its figures make up no total that it shows; draw BARS.")
    ]
    assert problems(house, means, "BARS", figure=2)[0][0] == "figure"
    without_total = table(house, rows=["sex"], margins=False)
    assert problems(house, without_total, "PIE")[0][0] == "kind"
    crossed = table(house, rows=["sex"], columns=["place"], place=["city", "town"])
    assert problems(house, crossed, "BARS")[0][0] == "query"


def test_a_picture_is_made_of_the_answer_alone(house) -> None:
    """Whoever has the answer can make it, bit by bit."""
    decision = table(house, rows=["place"])
    read = pb.Decision.FromString(decision.SerializeToString())
    for status in (table_pb2.CELL_STATUS_WITHHELD,):
        at = list(read.table.statuses).index(status)
        assert read.table.figures[0].values[at] == 0
    asked = pb.DrawQueryRequest(query=decision.query, kind=pb.PICTURE_KIND_BARS)
    assert drawn(read, asked) == draw(house, decision).svg


def test_shares_of_groups_are_bars_and_no_pie(house) -> None:
    asked = pb.QueryStatisticRequest(dataset="people", kind=statistic_pb2.STATISTIC_KIND_PROPORTION)
    asked.having.CopyFrom(pb.FilterRequest(variable="sex", codes=["1"]))
    asked.groups.add(variable="place")
    decision = house.facility.query_statistic(house.researcher, asked, Pace(60.0)).decision

    svg = draw(house, decision).svg

    shown = dict(zip(decision.statistic.figures[0].groups, decision.statistic.figures[0].values, strict=True))
    lengths = bars(svg)
    assert lengths["hill"] is None
    assert {place for place, length in lengths.items() if length} == {
        [*PLACES][group] for group in shown if group < len(PLACES)
    }
    assert problems(house, decision, "PIE")[0][0] == "kind"


def test_what_was_refused_or_is_somebody_elses_cannot_be_drawn(house) -> None:
    asked = pb.QueryStatisticRequest(
        dataset="people", kind=statistic_pb2.STATISTIC_KIND_MAXIMUM, measure="income"
    )
    refused = house.facility.query_statistic(house.researcher, asked, Pace(60.0)).decision
    assert verdict(refused) == "REFUSED"
    with pytest.raises(Conflict):
        draw(house, refused)
    decision = table(house, rows=["sex"])
    of_another = pb.DrawQueryRequest(query=decision.query, kind=pb.PICTURE_KIND_BARS)
    with pytest.raises(NotFound):
        house.facility.draw_query(person("researcher", "eve"), of_another, Pace(60.0))


def test_a_png_is_the_same_drawing(house) -> None:
    decision = table(house, rows=["sex"])
    found = draw(house, decision, png=True)
    assert found.png.startswith(b"\x89PNG\r\n\x1a\n")
    width, _ = struct.unpack(">II", found.png[16:24])
    assert width == 960
    assert b"tEXt" not in found.png
    assert draw(house, decision, png=True).png == found.png


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    made = ServedHouse(tmp_path_factory.mktemp("served"))
    try:
        assert made.register_randhie().status_code == 201
        yield made
    finally:
        made.stop()


def test_pictures_come_over_rest_to_the_client_and_the_command(served: ServedHouse, tmp_path: Path) -> None:
    client = Client(served.supervisor.url, served.keys["ada"])
    answer = client.table("randhie", rows="site", figures=["units", "total_percent"])

    pie = client.picture(answer.query, "pie", figure=1, png=True)

    assert pie.svg.startswith("<svg ")
    assert pie.svg.count("<path") == 6
    assert pie.png.startswith(b"\x89PNG")
    with pytest.raises(Refused):
        client.picture(answer.query, "cake")
    file = tmp_path / "bars.png"
    where = ["--url", served.supervisor.url, "--api-key", served.keys["ada"]]
    shown = CliRunner().invoke(main, ["query", "picture", answer.query, str(file), *where])
    assert shown.exit_code == 0, shown.output
    assert file.read_bytes().startswith(b"\x89PNG")
