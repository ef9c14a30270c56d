"""A table of people who were withheld before: that nobody of them has a code is news."""

import pytest

from house import build, cells, people_descriptor, verdict

BEFORE = {"b1": 14, "b2": 4, "b3": 200}
"""How many of each group were here before; nobody of the first came since, and all of it is in the north."""
REGION = {
    "name": "region",
    "identifying": "NO",
    "levels": [
        {"name": "region", "codes": [{"code": code} for code in ("r1", "r2", "r3", "r4")]},
        {
            "name": "part",
            "codes": [{"code": "north", "parts": ["r1", "r2"]}, {"code": "south", "parts": ["r3", "r4"]}],
        },
    ],
}


@pytest.fixture
def house(tmp_path):
    lines = ["here,group,region"]
    lines += [f"before,{name},r{1 + place % 2}" for name, people in BEFORE.items() for place in range(people)]
    lines += [f"since,{name},r{1 + place % 4}" for name in ("b2", "b3") for place in range(90)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    house = build(tmp_path, policy="five-safes")
    codes = {"here": ["before", "since"], "group": list(BEFORE)}
    house.engine.register(people_descriptor(codes, variables=[REGION]))
    return house


def ask(house, **request):
    return house.ask(dataset="people", **request)


def test_zeros_of_an_old_table_in_another_form_do_not_tell_what_it_withholds(house):
    assert cells(ask(house, rows=["group"], region=["r1", "r2", "r4"]))["b1",] == (14,)
    before = cells(ask(house, rows=["group"], here=["before"]))
    assert before == {("b1",): (None,), ("b2",): (None,), ("b3",): (200,), ("_U",): (0,), ("_T",): (218,)}
    # Were it shown that nobody of the group is in the south or came since, 14 were withheld, and 4 beside.
    third = ask(house, rows=["here"], columns=["region:part"], group=["b1"])
    shown = cells(third) if verdict(third).startswith("RELEASED") else {}
    assert (0,) not in (shown.get(("_T", "south")), shown.get(("since", "_T")))
