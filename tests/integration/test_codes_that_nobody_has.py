"""A table of people who were withheld before: that nobody of them has a code is news."""

import pytest

from house import build, cells, people_descriptor, reasons, verdict
from sdcgate.facility.in_process import LocalProtection
from sdcgate.policy.loading import load_policies

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


ZEROS_SHOWN = """
name: zeros-shown
version: "1"
description: Empty cells are published.
defaults:
  rules: {minimum_units: {units: 10, consequence: protect}}
  dimensions: {maximum: 3, maximum_filters: 3, filters_count: false, consequence: refuse}
  protection: {method: suppression, sum_width: 0.1, time_limit_ms: 15000, unproved: refer}
  output: {digits: 1, maximum_cells: 1000}
  differencing: {consequence: refuse}
access_levels: {public: {}, licensed: {}, remote: {}, on-site: {}}
"""


def made(tmp_path, **options):
    lines = ["here,group,region"]
    lines += [f"before,{name},r{1 + place % 2}" for name, people in BEFORE.items() for place in range(people)]
    lines += [f"since,{name},r{1 + place % 4}" for name in ("b2", "b3") for place in range(90)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    house = build(tmp_path, **options)
    codes = {"here": ["before", "since"], "group": list(BEFORE)}
    house.engine.register(people_descriptor(codes, variables=[REGION]))
    return house


@pytest.fixture
def house(tmp_path):
    return made(tmp_path, policy="five-safes")


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


@pytest.fixture
def zeros_shown(tmp_path):
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "zeros-shown.yaml").write_text(ZEROS_SHOWN)
    return {"policies": load_policies(tmp_path / "policies"), "policy": "zeros-shown"}


def test_zeros_that_tell_and_that_no_policy_withholds_keep_the_table_back(tmp_path, zeros_shown):
    house = made(tmp_path, **zeros_shown)
    assert cells(ask(house, rows=["group"], region=["r1", "r2", "r4"]))["b1",] == (14,)
    assert cells(ask(house, rows=["group"], here=["before"]))["b1",] == (None,)
    third = ask(house, rows=["here"], columns=["region:part"], group=["b1"])
    # A withheld zero would be taken for somebody.
    assert (verdict(third), reasons(third)) == ("REFUSED", ["DIFFERENCING"])


class CountedProtection(LocalProtection):
    calls = 0

    def protect_table(self, *asked):
        self.calls += 1
        return super().protect_table(*asked)


def test_that_people_who_were_withheld_are_in_another_box_is_new_and_proved(tmp_path, zeros_shown):
    service = CountedProtection()
    house = made(tmp_path, protection=service, **zeros_shown)
    assert cells(ask(house, rows=["group"], here=["before"]))["b1",] == (None,)
    calls = service.calls
    # All of them are in the north; as a withheld cell has somebody, that some are was not known.
    ask(house, rows=["group"], here=["before"], group=["b1"], region__part=["north"])
    assert service.calls > calls
