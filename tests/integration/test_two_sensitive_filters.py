"""Conditions on two sensitive variables, one of them shown as well: what all of a group have is not told."""

import itertools

import pytest

from house import build, cells, people_descriptor, verdict

REGIONS = ("north", "south")
SMOKERS = {"none": 30, "flu": 20, "gout": 60}
"""Of sixty people of a region with each illness so many smoke: all who have gout."""
PEOPLE = 60


def sensitive(name, codes):
    listed = [{"code": code, "harmless": code == "none"} for code in codes]
    return {"name": name, "identifying": "NO", "sensitive": True, "levels": [{"codes": listed}]}


@pytest.fixture
def house(tmp_path):
    lines = ["region,ill,habit"]
    for region, (ill, smokers) in itertools.product(REGIONS, SMOKERS.items()):
        lines += [f"{region},{ill},{'smokes' if at < smokers else 'none'}" for at in range(PEOPLE)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    variables = [sensitive("ill", SMOKERS), sensitive("habit", ("none", "smokes"))]
    made = build(tmp_path)
    made.engine.register(people_descriptor({"region": REGIONS}, variables=variables))
    yield made
    made.facility.close()


def shown(answered):
    """Figures of somebody that left."""
    if not answered.decision.HasField("table"):
        return {}
    return {code: figure for code, (figure,) in cells(answered).items() if figure}


@pytest.mark.parametrize("margins", [True, False])
def test_what_some_of_two_groups_have_is_told(house, margins):
    asked = {"dataset": "people", "rows": ["ill"], "habit": ["smokes"], "margins": margins}
    answered = house.ask(**asked, ill=["none", "flu"])
    assert verdict(answered) == "RELEASED"
    assert shown(answered)["flu",] == 2 * SMOKERS["flu"]
    # That all in a table have flu is what its filter says.
    assert verdict(house.ask(**asked, ill=["flu"])) == "REFUSED"


@pytest.mark.parametrize("margins", [True, False])
def test_what_all_of_a_group_have_is_not(house, margins):
    answered = house.ask(dataset="people", rows=["ill"], ill=["gout"], habit=["smokes"], margins=margins)
    assert shown(answered) == {}


def test_nor_is_it_beside_others_of_whom_it_may_be(house):
    asked = {"dataset": "people", "rows": ["ill"], "columns": ["region"], "habit": ["smokes"]}
    told = shown(house.ask(**asked, ill=["flu", "gout"]))
    assert not [code for code in told if "gout" in code]
