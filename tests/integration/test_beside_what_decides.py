"""Two variables that a third decides on the axes of one table: the third does not tell what is withheld."""

import pytest

from house import build, cells, people_descriptor, verdict
from sdcgate.engine.queries import Region
from sdcgate.facility.boxes import expanded_region
from sdcgate.facility.pace import Pace
from sdcgate.methods.tables.boxes import NOBODY
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

TOWNS = {
    "t1": ("city", "north"),
    "t2": ("country", "north"),
    "t3": ("city", "south"),
    "t4": ("country", "south"),
}
"""Type and part of each town."""
PEOPLE = {"t1": (14, 4), "t2": (60, 50), "t3": (70, 55), "t4": (80, 65)}
"""Of each town those who answered yes, and those who answered no."""


@pytest.fixture
def house(tmp_path):
    return town_house(tmp_path, TOWNS, PEOPLE)


def town_house(tmp_path, towns, people):
    lines = ["town,type,part,answer"]
    for town, of_town in people.items():
        for answer, count in zip(("yes", "no"), of_town, strict=True):
            lines += [",".join((town, *towns[town], answer))] * count
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    house = build(tmp_path, policy="five-safes")
    codes = {
        "town": list(towns),
        "type": ["city", "country"],
        "part": ["north", "south"],
        "answer": ["yes", "no"],
    }
    house.engine.register(people_descriptor(codes))
    return house


def ask(house, **request):
    return house.ask(dataset="people", **request)


def test_towns_do_not_tell_what_is_withheld_by_type_and_part(house):
    withheld = cells(ask(house, rows=["type"], columns=["part"], layers=["answer"]))
    assert withheld["city", "north", "yes"] == withheld["city", "north", "no"] == (None,)
    assert withheld["city", "north", "_T"] == (18,)
    with_t1 = ask(house, rows=["answer"], town=["t1", "t2", "t3"], answer=["yes"])
    without = ask(house, rows=["answer"], town=["t2", "t3"], answer=["yes"])
    told = [cells(one) for one in (with_t1, without) if verdict(one).startswith("RELEASED")]
    assert told == [{("yes",): (None,), ("_T",): (None,)}] * 2


def test_a_town_is_not_told_by_the_types_and_parts_of_others(tmp_path):
    """The cities of the south are t3 and t5, of whom four said yes: t3 by itself would tell them."""
    more = {**PEOPLE, "t5": (4, 30)}
    house = town_house(tmp_path, {**TOWNS, "t5": ("city", "south")}, more)
    shown = cells(ask(house, rows=["type"], columns=["part"], answer=["yes"]))
    assert shown["city", "south"] == (74,)
    alone = ask(house, rows=["answer"], town=["t3"], answer=["yes"])
    assert verdict(alone) == "REFUSED" or cells(alone)["yes",] == (None,)


@pytest.mark.parametrize(
    ("rows", "columns", "layers"),
    [
        (["type"], ["part"], ["answer"]),
        (["type"], ["answer"], ["part"]),
        (["answer", "type"], [], ["part"]),
        (["part"], ["answer", "type"], []),
    ],
)
def test_cells_of_types_and_parts_are_towns_wherever_they_stand(house, rows, columns, layers):
    """Each table is in the order it was asked in, and what it withholds no table by towns tells."""
    answered = ask(house, rows=rows, columns=columns, layers=layers)
    table = answered.decision.table
    names = [*rows, *columns, *layers]
    assert [dimension.variable for dimension in table.dimensions] == names
    places = list(zip(*(dimension.cells for dimension in table.dimensions), strict=True))
    assert places == sorted(places)
    found, by_town = cells(answered), cells(ask(house, rows=["town"], columns=["answer"]))
    hidden = 0
    for town, of_town in TOWNS.items():
        for answer, people in zip(("yes", "no"), PEOPLE[town], strict=True):
            codes = {"answer": answer} | dict(zip(("type", "part"), of_town, strict=True))
            cell = found[tuple(codes[name] for name in names)]
            hidden += cell == (None,)
            assert cell in [(people,), (None,)]
            assert cell == (people,) or by_town[town, answer] == (None,)
    assert hidden >= 2


def test_percentages_are_of_the_rows_that_were_asked_for(house):
    answered = ask(
        house,
        rows=["type"],
        columns=["answer"],
        layers=["part"],
        figures=["RECORDS", "ROW_PERCENT", "COLUMN_PERCENT"],
        town=["t2", "t3", "t4"],
    )
    found = cells(answered)
    for (kind, answer, part), figures in found.items():
        if figures[0] is not None and found[kind, "_T", part][0] and found["_T", answer, part][0]:
            in_row, in_column = found[kind, "_T", part][0], found["_T", answer, part][0]
            assert figures[1] == pytest.approx(100 * figures[0] / in_row, abs=0.05)
            assert figures[2] == pytest.approx(100 * figures[0] / in_column, abs=0.05)
    assert found["country", "no", "south"] == (
        65,
        pytest.approx(44.8, abs=0.05),
        pytest.approx(54.2, abs=0.05),
    )


def test_cells_that_nobody_can_be_in_are_no_part_of_what_withheld_ones_are_together(house):
    """No town is a city and a country town: such a cell may be withheld beside others, and adds nobody."""
    dataset = house.engine.dataset("people")
    some = (("town", 0b0001),)
    region = expanded_region(dataset, Region((NOBODY, some), (NOBODY,)))
    assert region == Region((some,))
    nobody = expanded_region(dataset, Region((NOBODY,)))
    found = house.engine.region_facts(dataset, (region, nobody), (), 1)
    assert found.units.tolist() == [18, 0]


def test_a_share_is_answered_by_what_everybody_is_and_something_else(tmp_path):
    """All are men, so whatever they work in decides that; ages stand between the two."""
    lines = ["sex,age,job", *(f"m,{'yo'[place % 2]},{'ab'[place % 3 == 0]}" for place in range(300))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    house = build(tmp_path, policy="israel-cbs")
    house.engine.register(people_descriptor({"sex": "fm", "age": "yo", "job": "ab"}, []))
    asked = pb.QueryStatisticRequest(dataset="people", kind=statistic_pb2.STATISTIC_KIND_PROPORTION)
    asked.having.variable = "job"
    asked.having.codes.append("b")
    for name in ("sex", "age"):
        asked.groups.add(variable=name)
    answered = house.facility.query_statistic(house.researcher, asked, Pace(60.0))
    assert verdict(answered) == "RELEASED"
    (share,) = answered.decision.statistic.figures
    assert [round(value, 3) for value in share.values] == [0.333, 0.333]
