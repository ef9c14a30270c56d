"""Withheld counts beside means of a measure of which everybody knows the least and the greatest value."""

import pytest

from attack.populations import SCORES
from house import build, cells, people_descriptor, verdict
from sdcgate.cli.ledger_audit import describe
from sdcgate.facility.ledger_audit import audit_source
from sdcgate.facility.policies import Policies
from sdcgate.methods.tables.joint_history import Standing
from sdcgate.policy.loading import load_policies

OLD_OF_T1 = frozenset({"age old", "town t1"})


def house_of(folder, least, greatest):
    lines = ["age,town,score"]
    for (age, town), (people, score) in SCORES.items():
        apart = -1.0 if score == 20 else 0.5
        lines += [f"{age},{town},{score + apart * (number % 2)}" for number in range(people)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    house = build(folder, policy="israel-cbs")
    measure = {"name": "score", "decimals": 1, "lower_bound": least, "upper_bound": greatest}
    codes = {"age": ["old", "mid", "young"], "town": ["t1", "t2", "t3"]}
    house.engine.register(people_descriptor(codes, [measure]))
    return house


def ask(house, *rows, columns=(), figures=("UNITS", "MEAN:score")):
    return house.ask(dataset="people", rows=rows, columns=columns, figures=figures)


def means(answered):
    assert verdict(answered).startswith("RELEASED")
    return {codes: figures[1] for codes, figures in cells(answered).items()}


def test_a_mean_near_the_least_value_is_kept_back_where_few_could_be_of_those_who_have_the_most(tmp_path):
    """Of 10 to 20 the 70 old have 1365, 35 less than 20 each; the 68 in t1 have 734, 54 more than 10 each.

    So no more than (35 + 54) / 10 of the old are in t1: eight at most, where ten are required.
    """
    house = house_of(tmp_path, 10, 20)
    both = cells(ask(house, "age", columns=["town"], figures=["UNITS"]))
    assert both["old", "t1"] == (None,)
    assert None not in means(ask(house, "age")).values()
    assert None in [mean for (town,), mean in means(ask(house, "town")).items() if town != "t3"]


@pytest.mark.parametrize("bounds", [(0, 20000), (None, 20), (10, None)])
def test_means_leave_where_single_values_may_be_far_from_them(tmp_path, bounds):
    house = house_of(tmp_path, *bounds)
    ask(house, "age", columns=["town"], figures=["UNITS"])
    assert None not in means(ask(house, "age")).values()
    assert None not in means(ask(house, "town")).values()


def test_the_ledgers_audit_says_by_which_sums_a_count_is_told_too_closely(tmp_path):
    """Where means leave before the counts nothing can be kept back: that few of t1 are old was told."""
    house = house_of(tmp_path, 10, 20)
    assert None not in means(ask(house, "age")).values()
    assert None not in means(ask(house, "town")).values()
    both = cells(ask(house, "age", columns=["town"], figures=["UNITS"]))
    assert both["old", "t1"] == (None,)
    policies = Policies(house.ledger, load_policies(), "israel-cbs")
    audited = audit_source(house.ledger, house.engine, policies, "people", 20_000, 60.0)
    said = describe(audited)
    counted = [one for one in audited.quantities if one.quantity == "records"]
    assert counted[0].of(Standing.REFUTED) == 0
    (beside,) = (one for one in audited.quantities if one.quantity == "records beside score")
    told = {frozenset(beside.words(cell.box).split(", ")): cell for cell in beside.cells}[OLD_OF_T1]
    assert (told.lowest, told.highest) == (0.0, 8.0)
    assert sum(term.factor * term.amount for term in told.above) == pytest.approx(8.9)
    assert f"{beside.words(told.box)} lies between 0 and 8" in said
    assert "at most  8.9 = 5.4 (score above the least: town t1) + 3.5 (score below the most: age old)" in said


def test_measures_that_some_lack_are_asked_beside_one_that_everybody_has(tmp_path):
    lines = ["age,town,score,bonus"]
    for (age, town), (people, _) in SCORES.items():
        lines += [f"{age},{town},{place % 7},{'' if place % 3 else place % 5}" for place in range(people)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    house = build(tmp_path, policy="israel-cbs")
    bounds = {"decimals": 0, "lower_bound": 0, "upper_bound": 9}
    codes = {"age": ["old", "mid", "young"], "town": ["t1", "t2", "t3"]}
    measures = [{"name": name, **bounds} for name in ("score", "bonus")]
    house.engine.register(people_descriptor(codes, measures))
    ask(house, "age", columns=["town"], figures=["UNITS"])
    assert None not in means(ask(house, "age", figures=["UNITS", "MEAN:score"])).values()
    assert None not in means(ask(house, "town", figures=["UNITS", "MEAN:bonus"])).values()
    assert None not in means(ask(house, "age", figures=["UNITS", "MEAN:bonus"])).values()
