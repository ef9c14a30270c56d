"""What cells of one table tell by subtraction, where nothing between them is published line by line.

The total and one inner cell may both be shown and the totals of its row and its column be withheld. What the
total has beyond the inner cell is a group like any other.
"""

from pathlib import Path

import pytest

from house import House, build, cells, people_descriptor, verdict

Of = dict[tuple[str, str], list[int]]
"""Values of the people of each region and branch."""
HEALTH = {
    "name": "health",
    "identifying": "NO",
    "sensitive": True,
    "levels": [{"codes": [{"code": "well", "harmless": True}, {"code": "ill"}]}],
}


def around(value: int, people: int) -> list[int]:
    return [value + place % 5 - 2 for place in range(people)]


def registered(folder: Path, values: Of, measure: str = "income") -> House:
    """A house with a value of each person, or with their health where it is 0 or 1."""
    rows = [
        f"{region}{branch}{place},{region},{branch},{value if measure else ('well', 'ill')[value]}"
        for (region, branch), own in values.items()
        for place, value in enumerate(own)
    ]
    (folder / "people.csv").write_text("\n".join([f"id,region,branch,{measure or 'health'}", *rows]) + "\n")
    house = build(folder)
    house.engine.register(described(values, measure))
    return house


def described(values: Of, measure: str = "income"):
    """The people by region and branch."""
    axes = {
        "region": tuple(dict.fromkeys(r for r, _ in values)),
        "branch": tuple(dict.fromkeys(b for _, b in values)),
    }
    income = {"name": measure, "decimals": 0, "lower_bound": 0, "upper_bound": 100_000}
    unit = {"column": "id", "label": "person"}
    return people_descriptor(axes, [income] if measure else [], [] if measure else [HEALTH], unit=unit)


def incomes(house: House) -> dict[tuple[str, ...], tuple[float | None, ...]]:
    answer = house.ask(dataset="people", rows=["region"], columns=["branch"], figures=["UNITS", "SUM:income"])
    assert verdict(answer) == "RELEASED_PROTECTED"
    return cells(answer)


ONE_RICH = {
    ("north", "a"): around(20, 50),
    ("north", "b"): [5000, *around(25, 20)],
    ("south", "a"): around(70, 50),
    ("south", "b"): around(25, 20),
}


def test_what_the_total_has_beyond_an_inner_cell_is_not_dominated(tmp_path):
    """All but the north's a have 9,499, of which one has 5,000: more than half."""
    told = incomes(registered(tmp_path, ONE_RICH))
    everybody = sum(map(sum, ONE_RICH.values()))
    assert 5000 / (everybody - sum(ONE_RICH["north", "a"])) > 0.5
    assert told["_T", "_T"][1] in (everybody, None)
    assert None in (told["_T", "_T"][1], told["north", "a"][1])


def test_nor_are_more_cells_withheld_for_it_than_lie_around_the_one_with_the_rich(tmp_path):
    told = incomes(registered(tmp_path, ONE_RICH))
    withheld = {cell for cell, (units, _) in told.items() if units is None}
    assert withheld == {("north", "b"), ("north", "_T"), ("_T", "b"), ("_T", "_T")}


def spread(region: str, branch: str, place: int) -> int:
    """Values of which none dominates."""
    poor = (region, branch) == ("north", "a")
    return (100 if poor else 2000) + (place * 37 + len(region) * 11 + ord(branch)) % 23 * (3 if poor else 90)


def test_nor_told_of_a_few_who_came_between_two_versions(tmp_path):
    before = {
        (region, branch): [spread(region, branch, place) for place in range(people)]
        for (region, branch), people in {
            ("north", "a"): 600, ("north", "b"): 5, ("north", "c"): 40,
            ("south", "a"): 5, ("south", "b"): 60, ("south", "c"): 40,
            ("west", "a"): 40, ("west", "b"): 40, ("west", "c"): 4000,
        }.items()
    }  # fmt: skip
    house = registered(tmp_path, before)
    first = incomes(house)
    came = {**before, ("north", "a"): before["north", "a"] + [2500 + place * 130 for place in range(10)]}
    came["south", "b"] = [*before["south", "b"], 3217]
    house = again(tmp_path, house, came)
    second = incomes(house)
    shown = [told[cell] for told in (first, second) for cell in (("_T", "_T"), ("north", "a"))]
    # Ten came to the north's a, and one elsewhere.
    assert second["_T", "_T"][0] == first["_T", "_T"][0] + 11
    assert (None, None) in shown


def again(folder: Path, house: House, values: Of) -> House:
    """The same house with another version of its people."""
    rows = [
        f"{region}{branch}{place},{region},{branch},{value}"
        for (region, branch), own in values.items()
        for place, value in enumerate(own)
    ]
    (folder / "people.csv").write_text("\n".join(["id,region,branch,income", *rows]) + "\n")
    assert house.engine.register(described(values)).dataset.version == 2
    return house


def ill(many: int, share: float) -> list[int]:
    return [int(place < round(many * share)) for place in range(many)]


def test_nor_nearly_all_of_one_category(tmp_path):
    """Of 700 all but the north's a are ill in 464 of 500 cases."""
    values = {
        ("north", "a"): ill(200, 0.1),
        ("north", "b"): ill(50, 0.92),
        ("south", "a"): ill(50, 0.92),
        ("south", "b"): ill(400, 0.93),
    }
    house = registered(tmp_path, values, measure="")
    answer = house.ask(
        dataset="people", rows=["region"], columns=["branch"], layers=["health"], figures=["UNITS"]
    )
    told = cells(answer)
    left = [told[*where, code][0] for where in (("_T", "_T"), ("north", "a")) for code in ("ill", "_T")]
    if None not in left:
        assert (left[0] - left[2]) / (left[1] - left[3]) < 0.9
    assert verdict(answer).startswith("RELEASED")


NEITHER = {
    ("north", "a"): around(200, 200), ("north", "b"): around(50, 20), ("north", "c"): around(50, 20),
    ("south", "a"): around(50, 20), ("south", "b"): [5000, *around(20, 20)], ("south", "c"): around(20, 20),
    ("west", "a"): around(50, 20), ("west", "b"): around(20, 20), ("west", "c"): around(50, 40),
}  # fmt: skip


@pytest.mark.parametrize("total_first", [False, True])
def test_who_is_in_neither_of_two_lines_is_judged_in_the_first_table_as_well(tmp_path, total_first):
    """The total less the first row and the first column, and the cell of both: one has 61% of it."""
    house = registered(tmp_path, NEITHER)
    if total_first:
        assert verdict(house.ask(dataset="people", figures=["UNITS", "SUM:income"])) == "RELEASED"
    answer = house.ask(dataset="people", rows=["region"], columns=["branch"], figures=["UNITS", "SUM:income"])
    told = cells(answer)
    four = [told.get(cell, (None, None))[1] for cell in CROSSING]
    if None not in four:
        assert 5000 / (four[0] - four[1] - four[2] + four[3]) <= 0.5
    # One more cell is withheld, and the table is no longer refused for it.
    assert verdict(answer) == "RELEASED_PROTECTED"
    assert sum(figures[1] is not None for figures in told.values()) >= len(told) / 2


CROSSING = (("_T", "_T"), ("north", "_T"), ("_T", "a"), ("north", "a"))


@pytest.mark.parametrize("total_first", [False, True])
def test_and_so_is_its_health(tmp_path, total_first):
    shares = {
        ("north", "a"): (400, 0.1), ("north", "b"): (12, 0.5), ("north", "c"): (150, 0.3),
        ("south", "a"): (12, 0.5), ("south", "b"): (150, 0.95), ("south", "c"): (100, 0.95),
        ("west", "a"): (150, 0.3), ("west", "b"): (100, 0.95), ("west", "c"): (50, 0.92),
    }  # fmt: skip
    house = registered(tmp_path, {where: ill(*one) for where, one in shares.items()}, measure="")
    if total_first:
        assert verdict(house.ask(dataset="people", rows=["health"])) == "RELEASED"
    answer = house.ask(dataset="people", rows=["region"], columns=["branch"], layers=["health"])
    told = cells(answer)
    lines = [[told.get((*cell, code), (None,))[0] for cell in CROSSING] for code in ("ill", "_T")]
    if not any(None in line for line in lines):
        sick, all_ = (line[0] - line[1] - line[2] + line[3] for line in lines)
        assert sick / all_ < 0.9
