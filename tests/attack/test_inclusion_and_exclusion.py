"""Everybody, less those outside a group, less those outside another, and those outside both: a few."""

import itertools

import pytest

from house import build, cells, reasons, verdict, with_randhie
from registered_again import ATOMS, register

OTHER_SITES = ["1", "3", "4", "5", "6"]
OTHER_PLANS = [str(plan) for plan in range(1, 20) if plan != 17]
CONDITIONS = ({}, {"site": OTHER_SITES}, {"plan": OTHER_PLANS}, {"site": OTHER_SITES, "plan": OTHER_PLANS})
"""All that is asked but one leave the six persons of plan 17 in site 2 in the fourth year unknown."""
ROWS = ("female", "idp", "hlthg", "coins")


@pytest.fixture
def house(tmp_path):
    return with_randhie(tmp_path)


@pytest.mark.parametrize(
    "order", [*itertools.permutations(CONDITIONS)][::5], ids=lambda o: f"{len(o[0])}{len(o[-1])}"
)
def test_six_persons_are_not_what_four_tables_of_others_leave(house, order):
    answers = [house.ask(rows=[row], **asked, year=["4"]) for row, asked in zip(ROWS, order, strict=True)]
    assert [verdict(answer) for answer in answers[:3]].count("REFUSED") == 0
    told = [cells(answer).get(("_T",)) if answer.decision.HasField("table") else None for answer in answers]
    assert None in told or (None,) in told


def test_what_would_tell_six_persons_is_refused_like_any_other_difference(house):
    *before, last = (house.ask(rows=["female"], **asked, year=["4"]) for asked in CONDITIONS)
    assert [verdict(answer) for answer in before] == ["RELEASED"] * 3
    assert (verdict(last), reasons(last)) == ("REFUSED", ["DIFFERENCING"])


def test_complements_of_large_groups_are_told(house):
    for site, plan in ((["1"], ["8"]), (["1"], None), (None, ["8"]), (None, None)):
        asked = {} if site is None else {"site": [code for code in "123456" if code not in site]}
        asked |= {} if plan is None else {"plan": [str(n) for n in range(1, 20) if str(n) not in plan]}
        assert verdict(house.ask(rows=["female"], **asked, year=["4"])) == "RELEASED"


def test_those_of_all_ages_but_one_are_not_what_three_tables_leave(tmp_path):
    """The west less its women less its men of one age: three men. Other tables told ages apart before."""
    house = build(tmp_path)
    of = {("west", "m", "0"): 50, ("west", "m", "20"): 1, ("west", "m", "40"): 1, ("west", "m", "60"): 1}
    people = {f"{codes}{at}": codes for codes in ATOMS for at in range(of.get(codes, 50))}
    assert register(house, tmp_path, people) == 1
    harmless = [(["age"], {}), (["region", "age"], {"sex": ["f"]})]
    telling = [(["region"], {"sex": ["f"]}), (["region"], {}), (["region", "sex"], {"age": ["0"]})]
    answers = [house.ask(dataset="people", rows=rows, **filters) for rows, filters in (*harmless, *telling)]
    assert [verdict(answer) for answer in answers[:4]] == ["RELEASED"] * 4
    assert verdict(answers[4]) == "RELEASED_PROTECTED"
    assert cells(answers[4])["west", "m"] == (None,)
    assert cells(answers[4])["west", "_T"] == (None,)
