"""Persons of a panel whose records follow from what left before: how many persons there are does not."""

import itertools

import pytest

from house import build, cells, people_descriptor, verdict
from sdcgate.policy.loading import parse_policy

POLICY = parse_policy("""
name: counts
version: "1"
description: A minimum of units in a cell
defaults:
  rules:
    minimum_units: {units: 10, consequence: protect}
  dimensions: {maximum: 3, maximum_filters: 2, filters_count: false, consequence: refuse}
  protection: {method: suppression, sum_width: 0.1, time_limit_ms: 15000, unproved: refer}
  output: {digits: 1, maximum_cells: 100000}
  differencing: {consequence: refuse}
access_levels: {public: {}, licensed: {}, remote: {}, on-site: {}}
""")
PERSONS = {("f", "n"): 5, ("f", "s"): 2, ("f", "w"): 3, ("m", "n"): 40, ("m", "s"): 40, ("m", "w"): 40}


@pytest.fixture
def house(tmp_path):
    """Each person has a record in both waves."""
    lines, ids = ["id,sex,region,wave"], itertools.count()
    for (sex, region), number in PERSONS.items():
        for person in itertools.islice(ids, number):
            lines += [f"{person},{sex},{region},{wave}" for wave in ("w1", "w2")]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    house = build(tmp_path, policies={"counts": POLICY}, policy="counts")
    wave = {"name": "wave", "identifying": "NO", "varies_within_unit": True}
    wave["levels"] = [{"codes": [{"code": "w1"}, {"code": "w2"}]}]
    codes = {"sex": ["f", "m"], "region": ["n", "s", "w"]}
    unit = {"column": "id", "label": "person"}
    house.engine.register(people_descriptor(codes, variables=[wave], panel=True, unit=unit))
    return house


def ask(house, *rows, **filters):
    return house.ask(dataset="people", rows=rows, **filters)


def test_units_that_bound_a_withheld_count_are_kept_back_though_their_records_are_known(house):
    """Ten are women. If that is told one to nine of them are of the south, as somebody is of the west."""
    for region in ("s", "w"):
        assert cells(ask(house, "sex", region=[region]))["f",] == (None,)
    for wave in ("w1", "w2"):
        # Records of all women follow, and are no news: 20.
        assert cells(ask(house, "sex", wave=[wave]))["f",] == (10.0,)
    # A withheld cell of women would not hide them: all others are men, whose number can be told.
    assert verdict(ask(house, "sex", "wave")) == "REFUSED"


def test_a_table_anew_leaves_as_before_where_its_units_left(house):
    """Nothing new is told by it: withheld stays what was, and no more."""
    asked = ask(house, "sex", region=["s"])
    assert cells(asked)["f",] == (None,)
    again = ask(house, "sex", "wave", region=["s"])
    assert cells(again)["f", "_T"] == (None,)
    turned = ask(house, "wave", "sex", region=["s"])
    assert {codes[::-1]: figures for codes, figures in cells(turned).items()} == cells(again)
