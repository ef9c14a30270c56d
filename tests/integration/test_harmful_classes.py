"""Nobody of a group is healthy: whatever they have, and in however many tables it is asked, it is not told.

All forty of trade c in the west have flu or gout, half of them each; elsewhere half are well.
"""

import itertools

import pytest

from house import build, cells, people_descriptor, verdict

CODES = {"region": ("north", "south", "west"), "trade": "abcd", "sex": "fm"}
LEVELS = [
    {
        "name": "illness",
        "codes": [{"code": "none", "harmless": True}, {"code": "flu"}, {"code": "gout"}],
    },
    {
        "name": "status",
        "codes": [
            {"code": "well", "parts": ["none"], "harmless": True},
            {"code": "ill", "parts": ["flu", "gout"]},
        ],
    },
]
GROUP = "west", "c"
PEOPLE = 40


def illnesses(region, trade):
    """What each person of a region and a trade has."""
    if (region, trade) == GROUP:
        return ["flu", "gout"] * (PEOPLE // 2)
    return ["none", "flu", "none", "gout", "none", "none"] * 20


def register(house, folder, of=illnesses, levels=LEVELS):
    lines = ["region,trade,sex,ill"]
    for region, trade in itertools.product(CODES["region"], CODES["trade"]):
        lines += [f"{region},{trade},{'fm'[at // 2 % 2]},{ill}" for at, ill in enumerate(of(region, trade))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    ill = {"name": "ill", "identifying": "NO", "sensitive": True, "levels": levels}
    house.engine.register(people_descriptor(CODES, variables=[ill]))
    return house


@pytest.fixture
def house(tmp_path):
    return register(build(tmp_path), tmp_path)


def told(answered, *group):
    """Figures of a group's cells that left, by their codes; neither those of totals nor of who is missing."""
    shown = cells(answered) if answered.decision.HasField("table") else {}
    return {
        code: figure
        for code, (figure,) in shown.items()
        if figure is not None and set(group) <= set(code) and not {"_T", "_U"} & set(code)
    }


@pytest.mark.parametrize("order", [("illness", "status"), ("status", "illness")])
@pytest.mark.parametrize("between", [{}, {"rows": ["region", "sex"], "columns": ["ill:illness"]}])
def test_neither_level_tells_of_a_group_of_ill_people_in_whatever_order(house, order, between):
    asked = {"dataset": "people", "rows": ["region", "trade"]}
    for level in order:
        assert not told(house.ask(**asked, columns=[f"ill:{level}"]), *GROUP)
        if between:
            house.ask(dataset="people", **between)
    withheld = cells(house.ask(**asked))
    assert withheld[GROUP] == (PEOPLE,)


def test_nor_do_tables_of_everybody_of_the_one_illness_and_of_the_other(house):
    asked = {"dataset": "people", "rows": ["region"], "columns": ["trade"]}
    assert told(house.ask(**asked), *GROUP) == {GROUP: PEOPLE}
    assert not told(house.ask(**asked, ill=["flu"]), *GROUP)
    assert not told(house.ask(**asked, ill=["gout"]), *GROUP)


@pytest.mark.parametrize("ill", [["none"], ["flu", "gout"]])
def test_nor_does_a_table_of_the_well_or_the_ill(house, ill):
    asked = {"dataset": "people", "rows": ["region"], "columns": ["trade"]}
    assert not told(house.ask(**asked, ill=ill), *GROUP)


@pytest.mark.parametrize("level", ["illness", "status"])
def test_nor_does_one_that_shows_only_the_ill(house, level):
    chosen = {"ill__status": ["ill"]} if level == "status" else {"ill": ["flu", "gout"]}
    asked = {"dataset": "people", "rows": ["region", "trade"], "columns": [f"ill:{level}"]}
    answered = house.ask(**asked, **chosen)
    assert not told(answered, *GROUP)
    assert cells(answered).get((*GROUP, "_T"), (None,)) == (None,)


def test_that_the_rest_did_not_answer_hides_nobody(tmp_path):
    def half_answered(region, trade):
        return ["gout", ""] * (PEOPLE // 2) if (region, trade) == GROUP else illnesses(region, trade)

    house = register(build(tmp_path), tmp_path, half_answered)
    asked = {"dataset": "people", "rows": ["region", "trade"], "columns": ["ill"]}
    assert not told(house.ask(**asked), *GROUP)
    by_filter = {**asked, "columns": []}
    assert not told(house.ask(**by_filter, ill=["gout"]), *GROUP)
    assert not told(house.ask(**by_filter, ill=["none"]), *GROUP)


def test_a_group_that_is_only_mostly_ill_is_told(tmp_path):
    def mostly(region, trade):
        return ["none", *["flu", "gout"] * 4] * 12 if (region, trade) == GROUP else illnesses(region, trade)

    house = register(build(tmp_path), tmp_path, mostly)
    asked = {"dataset": "people", "rows": ["region", "trade"], "columns": ["ill:status"]}
    answered = house.ask(**asked)
    assert verdict(answered) == "RELEASED"
    assert cells(answered)[*GROUP, "ill"] == (96,)


FAITHS = [
    {"name": "church", "codes": [{"code": code} for code in ("roman", "old", "reformed", "sunni")]},
    {
        "name": "faith",
        "codes": [
            {"code": "catholic", "parts": ["roman", "old"]},
            {"code": "other", "parts": ["reformed", "sunni"]},
        ],
    },
]


@pytest.mark.parametrize("order", [("church", "faith"), ("faith", "church")])
def test_a_code_of_a_coarser_level_is_not_told_by_the_finer_one(tmp_path, order):
    def churches(region, trade):
        others = () if (region, trade) == GROUP else ("reformed", "sunni")
        return ["roman", "old", *others] * 20

    house = register(build(tmp_path), tmp_path, churches, FAITHS)
    for level in order:
        answered = house.ask(dataset="people", rows=["region", "trade"], columns=[f"ill:{level}"])
        assert not told(answered, *GROUP)
        assert len(told(answered, "north", "a")) == (4 if level == "church" else 2)


OLD_ARE_ILL = {
    ("north", "young"): {"none": 60, "flu": 30, "gout": 30, "": 20},
    ("north", "old"): {"none": 40, "flu": 20, "gout": 20, "": 20},
    ("south", "young"): {"none": 50, "flu": 30, "gout": 30},
    ("south", "old"): {"none": 40, "flu": 30, "gout": 20},
    ("west", "young"): {"none": 60, "flu": 30, "gout": 30},
    ("west", "old"): {"flu": 15, "gout": 15},
}
WEST = "west"


@pytest.fixture
def by_age(tmp_path):
    """All the old of the west are ill, half of them of each."""
    return by_region_and_age(tmp_path, OLD_ARE_ILL)


def by_region_and_age(tmp_path, people):
    house = build(tmp_path)
    lines = ["region,age,ill"]
    for (region, age), sizes in people.items():
        lines += [f"{region},{age},{ill}" for ill, size in sizes.items() for _ in range(size)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    ill = {"name": "ill", "identifying": "NO", "sensitive": True, "levels": LEVELS}
    codes = {"region": CODES["region"], "age": ("young", "old")}
    house.engine.register(people_descriptor(codes, variables=[ill]))
    return house


def asked_of(house, *questions):
    """What is told of the ill, and of the well, of the west by each table; its other cells may leave."""
    return [told(house.ask(dataset="people", rows=["region"], **question), WEST) for question in questions]


ALL, YOUNG = {}, {"age": ["young"]}


@pytest.mark.parametrize("people", [(ALL, YOUNG), (YOUNG, ALL)])
@pytest.mark.parametrize("levels", [*itertools.product(("illness", "status"), repeat=2)])
def test_that_all_who_are_left_by_subtraction_are_ill_is_not_told(by_age, people, levels):
    columns = [{"columns": [f"ill:{level}"], **one} for level, one in zip(levels, people, strict=True)]
    first, second = asked_of(by_age, *columns)
    assert first
    assert not second


@pytest.mark.parametrize("people", [(ALL, YOUNG), (YOUNG, ALL)])
def test_nor_by_filters_for_the_well(by_age, people):
    first, second = asked_of(by_age, *({**one, "ill": ["none"]} for one in people))
    assert first == {(WEST,): 60}
    assert not second


def test_nor_by_filters_for_each_illness_and_both(by_age):
    sick = ({"ill": ["flu"]}, {"ill": ["gout"]}, {"ill__status": ["ill"]})
    of_all = asked_of(by_age, *sick, {})
    assert of_all[0] == {(WEST,): 45}
    assert of_all[-1] == {(WEST,): 150}
    assert not any(asked_of(by_age, *({**one, **YOUNG} for one in sick)))


@pytest.mark.parametrize("people", [(ALL, YOUNG), (YOUNG, ALL)])
def test_people_of_whom_some_are_well_are_told_by_subtraction(tmp_path, people):
    house = by_region_and_age(tmp_path, OLD_ARE_ILL | {(WEST, "old"): {"none": 10, "flu": 15, "gout": 15}})
    for one in people:
        answered = house.ask(dataset="people", rows=["region"], columns=["ill"], **one)
        assert verdict(answered) == "RELEASED"


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
def test_nor_by_inclusion_and_exclusion_of_the_ill(by_age, order):
    """Everybody, those outside the region, those not old, and those who are neither: each by one illness."""
    outside = {"region": ["north", "south"]}
    filters = [{}, outside, YOUNG, {**outside, **YOUNG}]
    answers = [by_age.ask(dataset="people", columns=["ill:illness"], **filters[place]) for place in order]
    shown = [cells(answered) for answered in answers if answered.decision.HasField("table")]
    full = [one for one in shown if all(one[code,] != (None,) for code in ("none", "flu", "gout"))]
    assert 0 < len(full) < 4


MANY_AND_FEW = {
    ("north", "young"): {"none": 300, "flu": 200, "gout": 200},
    ("south", "young"): {"none": 11, "flu": 12, "gout": 12},
    ("west", "young"): {"flu": 200, "gout": 200},
    ("west", "old"): {"none": 250, "flu": 200, "gout": 200},
    ("north", "old"): {"none": 250, "flu": 200, "gout": 200},
    ("south", "old"): {"none": 11, "flu": 12, "gout": 12},
}


def test_nor_is_it_of_the_people_of_two_regions_that_are_withheld_together(tmp_path):
    """All the young of the west are ill. With the few of the south they would be nearly all of both."""
    house = by_region_and_age(tmp_path, MANY_AND_FEW)
    shown = cells(house.ask(dataset="people", rows=["region"], columns=["ill"], layers=["age"]))
    assert shown["_T", "_T", "_T"] == (sum(sum(sizes.values()) for sizes in MANY_AND_FEW.values()),)
    for ill in ("none", "flu", "gout"):
        hidden = [region for region in CODES["region"] if shown[region, ill, "young"] == (None,)]
        assert hidden != ["south", "west"]
