"""A difference of released cells has enough households, however large they are and whoever moved."""

import pandas as pd
import pytest

from house import build, cells, people_descriptor, reasons, verdict
from sdcgate.policy.loading import parse_policy

POLICY = parse_policy(
    """
name: homes
version: "1"
description: for tests
defaults:
  rules:
    minimum_units: {units: 3, consequence: protect}
    minimum_households: {households: 3, consequence: protect}
  dimensions: {maximum: 3, maximum_filters: 3, filters_count: false, consequence: refuse}
  protection: {method: suppression, sum_width: 0.1, time_limit_ms: 30000, unproved: refer}
  output: {digits: 6, maximum_cells: 1000}
  differencing: {consequence: refuse}
access_levels: {public: {}, licensed: {}, remote: {}, on-site: {}}
"""
)
CODES = {"town": ["x", "y"], "sex": ["f", "m"], "age": ["young", "old"]}
OTHERS = [("f", "old"), ("m", "young"), ("m", "old")]
YOUNG = ("x", "f", "young")


def asked_twice(folder, records: list[tuple]) -> tuple[str, list[str]]:
    """What is said of young women by town, after all people by town; in other homes there are two each."""
    elsewhere = [("y", sex, age) for sex in "fm" for age in CODES["age"]]
    records = records + [(*box, f"{box}{n}", f"{box}{n // 2}") for box in elsewhere for n in range(60)]
    frame = pd.DataFrame(records, columns=[*CODES, "id", "home"])
    frame.to_csv(folder / "people.csv", index=False)
    house = build(folder, policies={"homes": POLICY}, policy="homes")
    unit = {"column": "id", "label": "person"}
    panel = bool(frame["id"].duplicated().any())
    house.engine.register(
        people_descriptor(
            CODES, unit=unit, household={"column": "home"}, **({"panel": True} if panel else {})
        )
    )
    assert verdict(house.ask(dataset="people", rows=["town"])) == "RELEASED"
    answer = house.ask(dataset="people", rows=["town"], sex=["f"], age=["young"])
    return verdict(answer), reasons(answer)


@pytest.mark.parametrize("people", [60, 150, 3000])
def test_a_whole_barracks_is_one_household(tmp_path, people):
    """All but the young women of a town live in it."""
    barracks = [("x", *OTHERS[n % 3], f"b{n}", "barracks") for n in range(people)]
    families = [(*YOUNG, f"w{n}", f"w{n // 2}") for n in range(60)]
    assert asked_twice(tmp_path, barracks + families) == ("REFUSED", ["DIFFERENCING"])


def test_people_who_moved_are_of_more_households_than_there_are_people(tmp_path):
    """Three women had five homes each, counted as three: thirty others of one home seem to be of 13."""
    home = [("x", *OTHERS[n % 3], f"b{n}", "home") for n in range(30)]
    moving = [(*YOUNG, f"w{n}", f"w{n}-{wave}") for n in range(3) for wave in range(5)]
    assert asked_twice(tmp_path, home + moving) == ("REFUSED", ["DIFFERENCING"])


def test_whose_home_nobody_knows_is_no_home_more_in_a_difference(tmp_path):
    """They may be of the two families, so that all but the young women of a town are of two homes."""
    families = [("x", *OTHERS[n % 3], f"b{n}", f"home {n % 2}" if n < 12 else "") for n in range(14)]
    women = [(*YOUNG, f"w{n}", f"w{n // 2}") for n in range(60)]
    assert asked_twice(tmp_path, families + women) == ("REFUSED", ["DIFFERENCING"])


@pytest.mark.parametrize("homeless", [0, 1, 12])
def test_whose_home_nobody_knows_is_no_home_more_in_a_cell(tmp_path, homeless):
    """Two families of a town, and others who may be of them."""
    families = [("x", f"b{n}", f"home {n % 2}") for n in range(12)]
    families += [("x", f"unknown {n}", "") for n in range(homeless)]
    others = [(town, f"{town}{n}", f"{town}{n // 2}") for town in "yz" for n in range(60)]
    frame = pd.DataFrame(families + others, columns=["town", "id", "home"])
    frame.to_csv(tmp_path / "people.csv", index=False)
    house = build(tmp_path, policies={"homes": POLICY}, policy="homes")
    unit = {"column": "id", "label": "person"}
    house.engine.register(people_descriptor({"town": "xyz"}, unit=unit, household={"column": "home"}))
    answer = house.ask(dataset="people", rows=["town"])
    assert verdict(answer) == "RELEASED_PROTECTED"
    assert cells(answer)["x",] == (None,)
