"""Two variables that a third decides on the axes of one table: the third does not tell what is withheld."""

import pytest

from house import build, cells, people_descriptor, verdict

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
    lines = ["town,type,part,answer"]
    for town, of_town in PEOPLE.items():
        for answer, people in zip(("yes", "no"), of_town, strict=True):
            lines += [",".join((town, *TOWNS[town], answer))] * people
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    house = build(tmp_path, policy="five-safes")
    codes = {
        "town": list(TOWNS),
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
