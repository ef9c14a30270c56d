"""Survival curves, tests and correlations as their users ask for them: by REST, client and command."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.duration.survfunc import SurvfuncRight
from typer.testing import CliRunner

from patients import descriptor, patients
from sdcgate.cli import main
from sdcgate_client import Client, InvalidRequest, format_answer
from served_house import ServedHouse

STATISTICS = "/v1/datasets/patients/statistics"
DIGITS = 5e-4


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return patients()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Iterator[ServedHouse]:
    made = ServedHouse(tmp_path_factory.mktemp("patients"))
    try:
        people.to_csv(made.settings.data_root / "patients.csv", index=False)
        assert made.register(descriptor()).status_code == 201
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def client(house: ServedHouse) -> Client:
    return Client(house.supervisor.url, house.keys["ada"])


def test_a_survival_curve_is_that_of_statsmodels(house: ServedHouse, people: pd.DataFrame) -> None:
    body = {
        "kind": "KAPLAN_MEIER",
        "measure": "month",
        "having": {"variable": "status", "codes": ["ill"]},
    }
    first, again = house.send("POST", STATISTICS, body), house.send("POST", STATISTICS, body)

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    curves = {curve["name"]: curve for curve in first.json()["statistic"]["curves"]}
    peer = SurvfuncRight(people["month"], people["status"] == "ill")
    assert curves["survival"]["x"] == peer.surv_times.tolist()
    assert curves["survival"]["y"] == pytest.approx(peer.surv_prob, rel=DIGITS)
    assert curves["survival_error"]["y"] == pytest.approx(peer.surv_prob_se, rel=DIGITS)


def test_the_client_asks_tests_and_shows_them(client: Client, people: pd.DataFrame) -> None:
    answer = client.statistic("patients", "t_test", "income", having={"sex": "f"}, groups="plan")

    assert answer.statistic is not None
    for group in answer.statistic.groups[:3]:
        some = people[people["plan"] == group.codes[0]]
        samples = (some.loc[some["sex"] == sex, "income"] for sex in ("f", "m"))
        assert group.figures["t"] == pytest.approx(stats.ttest_ind(*samples, equal_var=False)[0], rel=DIGITS)
    assert "T_TEST of income" in format_answer(answer)
    correlations = client.statistic("patients", "correlations", measures=["income", "wealth"])
    assert correlations.to_pandas()["correlation(income,wealth)"][0] == pytest.approx(
        np.corrcoef(people["income"], people["wealth"])[0, 1], rel=DIGITS
    )


def test_the_command_lists_the_steps_of_a_curve(house: ServedHouse) -> None:
    asked = ["patients", "kaplan_meier", "month", "--having", "status=ill", "--groups", "sex"]
    where = ["--url", house.supervisor.url, "--api-key", house.keys["ada"]]
    shown = CliRunner().invoke(main, ["query", "statistic", *asked, *where])

    assert shown.exit_code == 0, shown.output
    assert "standard error" in shown.output
    assert len([line for line in shown.output.splitlines() if line.startswith(("f  ", "m  "))]) == 2 + 2 * 8


def test_an_analysis_of_variance_by_the_command_has_a_line_a_figure(house: ServedHouse) -> None:
    asked = ["patients", "analysis_of_variance", "income", "--factors", "sex,plan"]
    where = ["--url", house.supervisor.url, "--api-key", house.keys["ada"]]
    shown = CliRunner().invoke(main, ["query", "statistic", *asked, *where])

    assert shown.exit_code == 0, shown.output
    assert [line.split()[0] for line in shown.output.splitlines() if line.startswith("F(")] == [
        "F(sex)",
        "F(plan)",
        "F(sex:plan)",
    ]


def test_a_portals_own_curve_with_a_step_of_two_is_found_unsafe(house: ServedHouse) -> None:
    facts = {
        "groups": {"units": [120, 90], "records": [120, 90]},
        "bounds": [{"name": "step", "closeness": [4.0, 3.5]}],
        "implied": [
            {"name": "events", "cells": 3, "units": [12, 15, 11, 14, 2, 13]},
            {"name": "left", "cells": 4, "units": [0, 0, 0, 82, 0, 0, 0, 61]},
        ],
    }
    units = {"units": 10, "consequence": "PROTECT"}
    rules = {
        "cells": {
            "minimum_units": units,
            "p_percent": {"share": 0.1, "coalition": 1, "consequence": "PROTECT"},
        }
    }
    body = {"kind": "KAPLAN_MEIER", "facts": facts, "rules": rules}
    answer = house.send("POST", "/v1/risk:assessStatistic", body, key="portal")

    assert answer.status_code == 200, answer.text
    found = answer.json()["findings"]
    assert [(one["rule"], one["cells"], one["measure"]) for one in found] == [
        ("IMPLIED_TABLE", [1], "events")
    ]
    del facts["implied"]
    bare = house.send("POST", "/v1/risk:assessStatistic", body, key="portal").json()
    assert bare["unchecked"] == ["IMPLIED_TABLE"]


def test_everything_that_is_wrong_is_told_with_paths(client: Client) -> None:
    with pytest.raises(InvalidRequest) as caught:
        client.statistic(
            "patients", "kaplan_meier", "age", measures=["income"], factors=["sex"], weighted=True
        )
    told = str(caught.value)
    for path in ("measure", "having", "measures", "factors", "weighted"):
        assert path in told
