"""A table of which a cell differs from one that left by a filter only, and by too few."""

from importlib.resources import files
from pathlib import Path

import pytest

from house import House, build, cells, people_descriptor, reasons, verdict
from sdcgate.policy.loading import parse_policy

TEXT = (files("sdcgate.policy") / "bundled" / "israel-cbs.yaml").read_text()
HELD = "differencing: {consequence: refuse}"
WITHHELD = parse_policy(TEXT.replace(HELD, "differencing: {consequence: refuse, filters: withheld}"))
OLD = {"north": 4, "south": 30, "west": 25, "east": 40}


def registered(folder: Path, **options) -> House:
    """A hundred young people in each town, and some old ones."""
    rows = ["town,age"]
    for town, old in OLD.items():
        rows += [f"{town},young"] * 100 + [f"{town},old"] * old
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    house = build(folder, **options)
    house.engine.register(people_descriptor({"town": tuple(OLD), "age": ("young", "old")}))
    return house


def of_young_first(house: House):
    """All by town, once the young ones have left: four of the north are the difference."""
    young = house.ask(dataset="people", rows=["town"], age=["young"])
    assert {figures[0] for cell, figures in cells(young).items() if cell[0] in OLD} == {100}
    return house.ask(dataset="people", rows=["town"])


def test_it_is_held_as_the_policy_says(tmp_path):
    answer = of_young_first(registered(tmp_path))
    assert verdict(answer) == "REFUSED"
    assert reasons(answer) == ["DIFFERENCING"]


def test_or_leaves_without_that_cell_and_what_tells_it(tmp_path):
    house = registered(tmp_path, policies={"own": WITHHELD}, policy="own")
    answer = of_young_first(house)
    assert verdict(answer) == "RELEASED_PROTECTED"
    told = {cell[0]: figures[0] for cell, figures in cells(answer).items() if cell[0] in {*OLD, "_T"}}
    assert told["north"] is None
    hidden = [town for town, people in told.items() if people is None]
    assert len(hidden) == 2
    assert all(people == 100 + OLD[town] for town, people in told.items() if people and town in OLD)


@pytest.mark.parametrize("policy", ["held", "withheld"])
def test_either_way_nobody_learns_of_four(tmp_path, policy):
    house = registered(tmp_path, policies={"held": parse_policy(TEXT), "withheld": WITHHELD}, policy=policy)
    of_young_first(house)
    old = house.ask(dataset="people", rows=["town"], age=["old"])
    assert cells(old).get(("north",), (None,)) == (None,)
