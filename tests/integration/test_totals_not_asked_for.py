"""Totals that a table was asked without: it is protected as if they left, and who asks for them gets news."""

import pytest

from house import build, cells, people_descriptor
from sdcgate.policy.loading import parse_policy

POLICY = parse_policy("""
name: sums
version: "1"
description: A minimum of units in a cell, and sums that stay uncertain by a tenth
defaults:
  rules:
    minimum_units: {units: 3, consequence: protect}
  dimensions: {maximum: 3, maximum_filters: 2, filters_count: false, consequence: refuse}
  protection: {method: suppression, sum_width: 0.1, time_limit_ms: 15000, unproved: refer}
  output: {digits: 1, maximum_cells: 100000}
  differencing: {consequence: refuse}
access_levels: {public: {}, licensed: {}, remote: {}, on-site: {}}
""")
VALUES = {"r1": [4, 5], "r2": [9] * 40, "r3": [11] * 57, "r4": [3, 2, 4, 3, 5, 3, 1]}


@pytest.fixture
def house(tmp_path):
    lines = [f"{region},{value}" for region, values in VALUES.items() for value in values]
    (tmp_path / "people.csv").write_text("\n".join(["region,score", *lines]) + "\n")
    house = build(tmp_path, policies={"sums": POLICY}, policy="sums")
    halves = [{"code": "n", "parts": ["r1", "r2"]}, {"code": "s", "parts": ["r3", "r4"]}]
    levels = [
        {"name": "region", "codes": [{"code": code} for code in VALUES]},
        {"name": "halves", "codes": halves},
    ]
    region = {"name": "region", "identifying": "NO", "levels": levels}
    score = {"name": "score", "decimals": 0, "lower_bound": 0, "upper_bound": 20}
    house.engine.register(people_descriptor({}, [score], variables=[region]))
    return house


def test_a_total_that_was_not_asked_for_is_news_to_a_table_that_shows_it(house):
    """All have 1017, of which r2 has 360 and r3 627: r4 has 30 at most, and the south between 627 and 657.

    A tenth of its 648 is required, so that of south and total only one can leave.
    """
    figures = ["RECORDS", "SUM:score"]
    parts = cells(house.ask(dataset="people", rows=["region"], figures=figures, margins=False))
    assert (parts["r2",], parts["r3",], parts["r4",]) == ((40, 360), (57, 627), (None, None))
    halves = cells(house.ask(dataset="people", rows=["region:halves"], figures=figures))
    assert (halves["n",], halves["s",], halves["_T",]) == ((None, None), (None, None), (None, None))


def test_a_total_that_was_shown_before_is_shown_again(house):
    figures = ["RECORDS", "SUM:score"]
    first = cells(house.ask(dataset="people", rows=["region"], figures=figures))
    assert first["_T",] == (106, 1017)
    halves = cells(house.ask(dataset="people", rows=["region:halves"], figures=figures))
    assert (halves["n",], halves["s",], halves["_T",]) == ((None, None), (None, None), (106, 1017))
