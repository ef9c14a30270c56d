"""Models as their users ask for them: by REST, by the Python client, and judged without the facility."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels
import statsmodels.formula.api as smf

from certified import is_certified
from sdcgate.servers.openapi_examples import BODIES
from sdcgate_client import Client, InvalidRequest, format_answer
from served_house import ServedHouse

MODELS = "/v1/datasets/randhie/models"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    made = ServedHouse(tmp_path_factory.mktemp("models"))
    try:
        assert made.register_randhie().status_code == 201
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    file = Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv"
    return pd.read_csv(file).assign(age=lambda frame: np.floor(frame["xage"]))


@pytest.fixture(scope="module")
def client(house: ServedHouse) -> Client:
    return Client(house.supervisor.url, house.keys["ada"])


def test_a_new_model_is_201_and_asked_again_200_with_the_same_answer(house: ServedHouse) -> None:
    body = {"kind": "LINEAR", "formula": "meddol ~ female + numeric(age)"}

    first = house.send("POST", MODELS, body)
    again = house.send("POST", MODELS, {**body, "formula": "meddol ~ numeric(age) + C(female)"})

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert first.headers["location"] == f"/v1/queries/{first.json()['query']}"
    shown = house.send("GET", first.headers["location"]).json()
    assert shown["model_request"]["formula"] == body["formula"]
    public_key = house.send("GET", "/v1/status").json()["public_key"]
    assert is_certified(first.json(), public_key)


@pytest.mark.parametrize(
    ("kind", "formula", "theirs"),
    [
        ("linear", "meddol ~ C(site)", lambda d: smf.ols("meddol ~ C(site)", d)),
        (
            "logit",
            'C(hlthp, event="1") ~ female + numeric(age)',
            lambda d: smf.logit("hlthp ~ C(female) + age", d),
        ),
        (
            "probit",
            'C(hlthp, event="1") ~ female + numeric(age)',
            lambda d: smf.probit("hlthp ~ C(female) + age", d),
        ),
        ("poisson", "mdvis ~ female + site", lambda d: smf.poisson("mdvis ~ C(female) + C(site)", d)),
    ],
)
def test_each_kind_has_statsmodels_estimates_to_the_digits_that_leave(
    client: Client, people: pd.DataFrame, kind: str, formula: str, theirs
) -> None:
    answer = client.model("randhie", kind, formula)

    assert answer.verdict == "RELEASED"
    fitted = theirs(people).fit(disp=0)
    shown = sorted(one.estimate for one in answer.model.coefficients)
    assert shown == pytest.approx(sorted(fitted.params), rel=6e-4)
    errors = sorted(one.standard_error for one in answer.model.coefficients)
    assert errors == pytest.approx(sorted(fitted.bse), rel=6e-4)


def test_an_answer_can_be_read_as_text_and_as_a_data_frame(client: Client) -> None:
    answer = client.model("randhie", "linear", "meddol ~ household_size")

    frame = answer.to_pandas().set_index("name")
    assert frame.loc["household_size[T.2]", "status"] == "PUBLISHED"
    hidden = frame[frame["status"] == "WITHHELD"]
    assert len(hidden)
    assert hidden["estimate"].isna().all()
    text = format_answer(answer)
    assert "LINEAR  meddol ~ 1 + household_size" in text
    assert "x: withheld" in text


def test_what_is_wrong_with_a_formula_is_told_with_its_place(client: Client, house: ServedHouse) -> None:
    with pytest.raises(InvalidRequest) as refused:
        client.model("randhie", "linear", "meddol ~ log(lincome - 3.7) + sitee")
    assert "formula: At character" in str(refused.value)
    assert "sitee" in str(refused.value)
    assert "did you mean site" in str(refused.value)
    for formula in (
        "meddol ~ __import__('os').system('id')",
        "=cmd|' /C calc'!A0",
        "meddol ~ (" + "a+" * 900,
        "~",
        "\x00",
    ):
        answer = house.send("POST", MODELS, {"kind": "LINEAR", "formula": formula})
        assert answer.status_code == 400, formula


def test_formulas_that_blow_up_are_told_before_anything_is_computed(house: ServedHouse) -> None:
    many = [
        "site",
        "plan",
        "year",
        "female",
        "education",
        "household_size",
        "child",
        "hlthg",
        "hlthf",
        "hlthp",
    ]
    for formula in (
        f"meddol ~ {'*'.join(many)}",
        f"meddol ~ ({'+'.join(many)})**20",
        f"meddol ~ {':'.join(many)}",
    ):
        answer = house.send("POST", MODELS, {"kind": "LINEAR", "formula": formula})
        assert answer.status_code in (201, 400), answer.text
        if answer.status_code == 201:
            assert answer.json()["verdict"] == "REFUSED"
            assert answer.json()["reasons"][0]["code"] == "MAXIMUM_DIMENSIONS"


def test_an_alternative_is_a_request_that_is_answered_as_it_stands(
    client: Client, house: ServedHouse
) -> None:
    refused = client.model("randhie", "multinomial_logit", "household_size ~ female", project="mine")

    assert refused.verdict == "REFUSED"
    (alternative,) = refused.alternatives
    coarser = 'C(household_size, level="groups") ~ 1 + female'
    assert alternative["model"]["formula"] == coarser
    assert not alternative["model"]["project"]
    text = format_answer(refused)
    assert f"MULTINOMIAL_LOGIT {coarser}" in text
    assert ("would be released: " if alternative["judged"] else "could be asked: ") in text
    answered = house.send("POST", MODELS, alternative["model"])
    assert answered.status_code == 201
    assert answered.json()["verdict"] == "RELEASED"


def test_a_model_of_somebody_else_is_judged_without_a_trace(house: ServedHouse) -> None:
    answer = house.send("POST", "/v1/risk:assessModel", BODIES["AssessModel"])

    assert answer.status_code == 200
    (finding,) = answer.json()["findings"]
    assert (finding["rule"], finding["columns"], finding["figure"]) == ("MINIMUM_UNITS", [1], 4)


def test_figures_that_somebody_else_printed_are_held_against_each_other(house: ServedHouse) -> None:
    south = {"name": "region[T.s]", "estimate": 1.5, "standard_error": 0.5, "statistic": 4.0}
    printed = {"kind": "LINEAR", "coefficients": [south], "fit": [{"statistic": "AIC", "value": 812.4}]}
    body = {**BODIES["AssessModel"], "printed": printed, "significant_digits": 3}

    found = house.send("POST", "/v1/risk:assessModel", body).json()

    assert [(one.get("coefficient"), one["figure"]) for one in found["printed"]] == [
        (0, "estimate"),
        (0, "statistic"),
        (None, "AIC"),
    ]
    assert found["unverified"] == ["estimate", "standard_error", "AIC"]


def test_rules_on_models_that_no_policy_could_have_are_told(house: ServedHouse) -> None:
    rules = {
        "influence": {"largest": 99, "share": 5.0, "consequence": "REFUSE"},
        "residual_degrees": {"count": 0, "consequence": "REFUSE"},
    }

    answer = house.send("POST", "/v1/risk:assessModel", {**BODIES["AssessModel"], "rules": rules})

    assert answer.status_code == 400
    paths = {problem["path"] for problem in answer.json()["errors"]}
    assert paths == {"rules.influence.largest", "rules.influence.share", "rules.residual_degrees.count"}


def test_figures_of_a_statistic_that_somebody_else_printed_are_held_against_each_other(
    house: ServedHouse,
) -> None:
    printed = [{"name": "mean", "groups": [0, 1], "values": [5.25, 7.0]}]
    body = {
        "kind": "MEAN",
        "facts": {"groups": {"units": [120, 4], "records": [120, 4]}},
        "rules": {"cells": {"minimum_units": {"units": 10, "consequence": "PROTECT"}}},
        "printed": printed,
        "significant_digits": 2,
    }

    found = house.send("POST", "/v1/risk:assessStatistic", body).json()

    assert [(one["figure"], one["groups"]) for one in found["printed"]] == [("mean", [1]), ("mean", [0])]
    assert (found["unverified"], found["absent"]) == (["mean"], ["measures"])


def test_facts_that_contradict_each_other_are_told_all_at_once(house: ServedHouse) -> None:
    facts = {**BODIES["AssessModel"]["facts"], "records": 3, "outcome_units": [500]}
    facts["columns"] = [{**facts["columns"][0], "term": 9, "largest_shares": [0.5, 0.2]}]

    answer = house.send("POST", "/v1/risk:assessModel", {**BODIES["AssessModel"], "facts": facts})

    assert answer.status_code == 400
    paths = {problem["path"] for problem in answer.json()["errors"]}
    assert paths == {
        "facts.units",
        "facts.residual_degrees",
        "facts.outcome_units",
        "facts.columns[0].term",
        "facts.columns[0].largest_shares",
    }
