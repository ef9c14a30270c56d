"""What makes a model impossible whoever is asked: it is said so, and holds nothing back from anybody."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import (
    House,
    build,
    model_request,
    people_descriptor,
    person,
    reasons,
    verdict,
    with_randhie,
)
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.pace import Pace
from served_house import ServedHouse

BOB = person("researcher", "bob")


def ask(house: House, formula: str, kind: str = "LINEAR", caller: Any = None, **more: Any) -> Any:
    asked = model_request(formula, kind, **more)
    return house.facility.query_model(caller or house.researcher, asked, Pace(120.0))


@pytest.fixture(params=["five-safes", "israel-cbs"])
def house(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    made = with_randhie(tmp_path, policy=request.param)
    yield made
    made.facility.close()


def test_a_variable_that_another_decides_in_all_records_holds_no_model_back(house: House) -> None:
    """Few people lack education: a model of all others tells much of them, if it tells anything."""
    refused = ask(house, "mdvis ~ numeric(education) + plan + coins")

    assert (verdict(refused), reasons(refused)) == ("REFUSED", ["NOT_ESTIMABLE"])
    (reason,) = refused.decision.reasons
    assert "coins follows from plan" in reason.message
    assert reason.suggestion == "Leave plan or coins out."
    assert verdict(ask(house, "mdvis ~ female", caller=BOB)) == "RELEASED"
    assert verdict(ask(house, "mdvis ~ coins", caller=BOB)) == "RELEASED"


def test_it_is_refused_the_same_in_every_population_and_before_any_record_is_looked_at(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask(house, "mdvis ~ plan + coins")
    monkeypatch.setattr(house.engine, "compute", None)
    monkeypatch.setattr(house.engine, "compute_together", None)
    monkeypatch.setattr(house.engine, "records", None)

    others = [
        ask(house, "mdvis ~ plan + coins", year=["1"]),
        ask(house, "mdvis ~ plan + numeric(coins)", site=["2"]),
        ask(house, "meddol ~ numeric(coins) + plan", kind="FIXED_EFFECTS", groups="plan"),
    ]

    for answered in (first, *others):
        assert (verdict(answered), reasons(answered)) == ("REFUSED", ["NOT_ESTIMABLE"])
        assert answered.decision.reasons[0].message == first.decision.reasons[0].message


def test_so_is_an_outcome_that_a_term_decides(house: House) -> None:
    refused = ask(house, "numeric(coins) ~ plan", education=[str(years) for years in range(26)])

    assert (verdict(refused), reasons(refused)) == ("REFUSED", ["NOT_ESTIMABLE"])
    (reason,) = refused.decision.reasons
    assert "coins follows from plan" in reason.message
    assert reason.suggestion == "Ask another outcome than coins, or another term than plan."
    assert verdict(ask(house, "mdvis ~ female", caller=BOB)) == "RELEASED"


def test_the_models_named_in_its_place_leave_one_of_both_out(house: House) -> None:
    refused = ask(house, "mdvis ~ female + plan + coins")

    formulas = [one.model.formula for one in refused.decision.alternatives]
    assert formulas
    assert not any("plan" in formula and "coins" in formula for formula in formulas)


@pytest.fixture
def people(tmp_path: Path) -> Any:
    """600 people; region follows from place but for so many, and for some of those alone who lack h."""
    houses = []

    def made(exceptions: int, lacking: int = 0) -> House:
        folder = tmp_path / f"people{len(houses)}"
        folder.mkdir()
        rng = np.random.default_rng(11)
        place = np.array(list("abcdef"))[np.arange(600) % 6]
        region = np.where(np.isin(place, ["a", "b", "c"]), "n", "s")
        region[:exceptions] = np.where(region[:exceptions] == "n", "s", "n")
        h = rng.choice(["x", "y"], 600).astype(object)
        h[:lacking] = None
        y = rng.normal(50, 9, 600).round(1)
        pd.DataFrame({"place": place, "region": region, "h": h, "y": y}).to_csv(
            folder / "people.csv", index=False
        )
        house = build(folder, policy="five-safes")
        measures = [{"name": "y", "decimals": 1, "lower_bound": 0, "upper_bound": 10000}]
        house.engine.register(people_descriptor({"place": "abcdef", "region": "ns", "h": "xy"}, measures))
        houses.append(house)
        return house

    yield made
    for house in houses:
        house.facility.close()


@pytest.mark.parametrize("exceptions", [0, 1, 9])
def test_that_few_break_the_rule_shows_nowhere(people: Any, exceptions: int) -> None:
    """Else a refusal in a part, and none with few people more, would tell that these break it."""
    house = people(exceptions, lacking=exceptions)

    told = [
        ask(house, formula, dataset="people")
        for formula in ("y ~ place + region + h", "y ~ place + region", "y ~ h + region + place")
    ]

    wanted = "In all or nearly all records of people region follows from place: no model can have both."
    assert [reasons(one) for one in told] == [["NOT_ESTIMABLE"]] * 3
    assert [one.decision.reasons[0].message for one in told] == [wanted] * 3
    assert verdict(ask(house, "y ~ place", dataset="people", caller=BOB)) == "RELEASED"


def test_where_enough_break_the_rule_the_model_is_fitted(people: Any) -> None:
    house = people(exceptions=90)

    assert verdict(ask(house, "y ~ place + region", dataset="people")) == "RELEASED"


@pytest.mark.parametrize(
    ("formula", "instruments", "most", "least"),
    [
        ("mdvis ~ female", "1", 0, 1),
        ("mdvis ~ numeric(age) + female + income", "female + site", None, None),
        ("mdvis ~ numeric(age) + female + income", "female", 0, 2),
        ("mdvis ~ income + numeric(age)", "female", 1, 2),
    ],
)
def test_fewer_instruments_than_terms_are_a_mistake_in_the_request(
    house: House, formula: str, instruments: str, most: int | None, least: int | None
) -> None:
    if most is None:
        assert "NOT_ESTIMABLE" not in reasons(ask(house, formula, "TWO_STAGE", instruments=instruments))
        return
    with pytest.raises(InvalidRequest) as wrong:
        ask(house, formula, "TWO_STAGE", instruments=instruments)

    (problem,) = wrong.value.problems
    assert problem.path == "instruments"
    assert f"{most} for {least}." in problem.message
    assert verdict(ask(house, "mdvis ~ female", caller=BOB)) == "RELEASED"


def test_it_is_so_over_the_wire(tmp_path: Path) -> None:
    served = ServedHouse(tmp_path)
    try:
        assert served.register_randhie().status_code == 201
        path = "/v1/datasets/randhie/models"
        decided = {"kind": "LINEAR", "formula": "mdvis ~ numeric(education) + plan + coins"}
        few = {"kind": "TWO_STAGE", "formula": "mdvis ~ female", "instruments": "1"}

        refused = served.send("POST", path, decided)
        wrong = served.send("POST", path, few)
        answered = served.send("POST", path, {"kind": "LINEAR", "formula": "mdvis ~ female"})
    finally:
        served.stop()

    assert (refused.status_code, refused.json()["verdict"]) == (201, "REFUSED")
    assert [reason["code"] for reason in refused.json()["reasons"]] == ["NOT_ESTIMABLE"]
    assert "coins follows from plan" in refused.json()["reasons"][0]["message"]
    assert wrong.status_code == 400
    assert '"instruments"' in wrong.text
    assert (answered.status_code, answered.json()["verdict"]) == (201, "RELEASED")
