"""A condition on a sensitive variable that the table shows: that nobody of an age fulfils it is not told."""

import pytest

from house import build, cells, people_descriptor

AGES = {"young": (0, 20, 20), "middle": (60, 50, 40), "old": (50, 30, 50)}
"""How many are healthy, have flu and gout. Nobody is very old."""
ILLNESSES = ("none", "flu", "gout")
EVERYBODY_SEES = {("oldest", "none"): (0.0,), ("oldest", "_T"): (0.0,)}


@pytest.fixture
def house(tmp_path):
    people = [
        f"{age},{ill}"
        for age, of in AGES.items()
        for ill, size in zip(ILLNESSES, of, strict=True)
        for _ in range(size)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["age,ill", *people]) + "\n")
    listed = [{"code": code, "harmless": code == "none"} for code in ILLNESSES]
    ill = {"name": "ill", "identifying": "NO", "sensitive": True, "levels": [{"codes": listed}]}
    made = build(tmp_path)
    made.engine.register(people_descriptor({"age": (*AGES, "oldest")}, variables=[ill]))
    yield made
    made.facility.close()


@pytest.mark.parametrize("figure", ["UNITS", "TOTAL_PERCENT"])
def test_that_none_of_the_young_are_healthy_is_not_told_by_a_table_of_the_healthy(house, figure):
    asked = {"dataset": "people", "rows": ["age"], "columns": ["ill"], "ill": ["none"]}
    found = cells(house.ask(**asked, figures=[figure]))
    assert found["young", "none"] == found["young", "_T"] == (None,)
    # Nobody is there, whatever they had: that stays.
    assert EVERYBODY_SEES.items() <= found.items()


def test_nor_is_it_where_some_of_the_ill_are_shown_beside_them(house):
    asked = {"dataset": "people", "rows": ["age"], "columns": ["ill"], "figures": ["UNITS"]}
    found = cells(house.ask(**asked, ill=["none", "flu"]))
    assert found["young", "none"] == (None,)
