"""Policies as an agency meets them: files in a folder, four processes, REST, signals, metrics."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from typer.testing import CliRunner

from census_people import census, descriptor, write
from house import RANDHIE
from sdcgate.cli import main
from sdcgate.policy.files import BUNDLED
from sdcgate_client import Client, NotFound
from served_house import ServedHouse

TEXT = (BUNDLED / "israel-cbs.yaml").read_text().replace("name: israel-cbs", "name: ours")


class Agency:
    """A house whose policy lies in a folder, and who edits it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "policies"
        self.folder.mkdir()
        self.write("10")
        self.house = ServedHouse(
            folder,
            common={"policy_dir": self.folder, "default_policy": "ours"},
            facility={"policy_poll_seconds": 0.1},
        )

    def write(self, units: str) -> None:
        draft = self.folder / ".draft"
        draft.write_text(TEXT.replace("minimum_units: {units: 10,", f"minimum_units: {{units: {units},"))
        draft.replace(self.folder / "ours.yaml")

    def hang_up(self) -> None:
        os.kill(self.house.supervisor.processes["facility"], signal.SIGHUP)

    def units(self, place: str = "datasets/randhie", key: str = "ada") -> str:
        answer = self.house.send("GET", f"/v1/{place}/policy", key=key)
        assert answer.status_code == 200, answer.text
        (value,) = [s["value"] for s in answer.json()["settings"] if s["name"] == "rules.minimum_units"]
        return value

    def problems(self, key: str) -> list[str]:
        return self.house.send("GET", "/v1/status", key=key).json()["policy_problems"]

    def metric(self, name: str) -> str:
        text = httpx.get(self.house.metrics_address("facility") + "/metrics").text
        (line,) = [line for line in text.splitlines() if line.startswith(f"sdcgate_policy_{name} ")]
        return line.rpartition(" ")[2]


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agency]:
    made = Agency(tmp_path_factory.mktemp("agency"))
    try:
        descriptor = yaml.safe_load(RANDHIE.read_text())
        assert made.house.register(descriptor).status_code == 201
        yield made
    finally:
        made.house.stop()


def until(found: Callable[[], Any], wanted: Any) -> None:
    deadline = time.monotonic() + 20
    while found() != wanted:
        assert time.monotonic() < deadline, (found(), wanted)
        time.sleep(0.05)


def test_a_changed_file_applies_to_the_next_query_and_the_old_answer_keeps_its_policy(agency: Agency) -> None:
    house = agency.house
    before = house.ask(rows=["site"], columns=["plan"]).json()
    assert agency.units() == "{units: 10, consequence: protect}"
    agency.write("40")
    until(agency.units, "{units: 40, consequence: protect}")
    asked = house.ask(rows=["site"], columns=["plan"])
    # Cells of ten to forty persons have left. That cannot be taken back, but they are not shown again.
    assert (asked.status_code, asked.json()["verdict"]) == (201, "RELEASED_PROTECTED")
    shown = asked.json()["table"]["columns"]["units"]
    assert min(units for units in shown if units) >= 40
    assert min(units for units in before["table"]["columns"]["units"] if units) < 40
    assert asked.json()["policy"]["hash"] != before["policy"]["hash"]
    assert agency.units(f"queries/{before['query']}") == "{units: 10, consequence: protect}"
    assert agency.units(f"queries/{asked.json()['query']}") == "{units: 40, consequence: protect}"
    assert house.send("GET", f"/v1/queries/{before['query']}").json()["decision"] == before
    agency.write("10")
    until(agency.units, "{units: 10, consequence: protect}")
    again = house.ask(rows=["site"], columns=["plan"])
    assert (again.status_code, again.json()) == (200, before)
    agency.house.kill("facility")
    agency.house.restart("facility")
    until(lambda: house.send("GET", "/v1/status").status_code, 200)
    assert agency.units(f"queries/{asked.json()['query']}") == "{units: 40, consequence: protect}"


def test_a_broken_file_keeps_the_old_policy_and_shouts_to_operators_without_ending_readiness(
    agency: Agency,
) -> None:
    agency.write("few")
    until(lambda: len(agency.problems("olga")), 1)
    assert "ours.yaml" in agency.problems("olga")[0]
    assert "minimum_units.units: input should be a valid integer" in agency.problems("olga")[0]
    for nobody in ("ada", "grace", "stefan"):
        assert agency.problems(nobody) == []
    assert agency.metric("reload_failed") == "1.0"
    assert agency.metric('reloads_total{result="failed"}') == "1.0"
    assert httpx.get(agency.house.metrics_address("facility") + "/readyz").status_code == 200
    assert agency.house.ask(rows=["female"]).status_code == 201
    assert agency.units() == "{units: 10, consequence: protect}"
    assert "policies NOT loaded: those from before go on" in [
        line["event"] for line in agency.house.log("facility") if line["level"] == "error"
    ]
    agency.hang_up()
    until(lambda: agency.metric('reloads_total{result="failed"}'), "2.0")
    agency.write("15")
    agency.hang_up()
    until(agency.units, "{units: 15, consequence: protect}")
    assert (agency.problems("olga"), agency.metric("reload_failed")) == ([], "0.0")


def test_the_client_and_the_command_explain_a_policy(agency: Agency) -> None:
    house = agency.house
    query = house.ask(rows=["child"]).json()["query"]
    with Client(house.supervisor.url, house.keys["ada"]) as ada:
        shown = ada.policy(query=query)
        assert shown["policy"]["name"] == "ours"
        assert ada.policy(dataset="randhie")["policy"] == shown["policy"]
    with Client(house.supervisor.url, house.keys["bob"]) as bob, pytest.raises(NotFound):
        bob.policy(query=query)
    environment = {"SDCGATE_URL": house.supervisor.url, "SDCGATE_API_KEY": house.keys["ada"]}
    told = CliRunner().invoke(main, ["policy", "explain", "--query", query], env=environment)
    assert told.exit_code == 0
    assert f"Policy ours, access level remote, dataset randhie\n{shown['policy']['hash']}\n" in told.stdout
    assert (
        "\nrules.p_percent: {share: 0.1, coalition: 2, consequence: protect}\n  A cell in which the 2 largest"
        in told.stdout
    )
    wrong = CliRunner().invoke(main, ["policy", "explain"], env=environment)
    assert (wrong.exit_code, wrong.stderr) == (2, "name a dataset or a query, and not both\n")


def test_an_address_takes_either_a_dataset_or_a_query(agency: Agency) -> None:
    for path in ("datasets/randhie/policy?query=q-1", "queries/q-1/policy?dataset=randhie"):
        answer = agency.house.send("GET", f"/v1/{path}")
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["message"] == "is not known in the address"
    assert agency.house.send("GET", "/v1/datasets/nobody/policy").status_code == 404
    assert agency.house.send("GET", "/v1/queries/q-1/policy").status_code == 404


def test_the_ledger_holds_and_verifies_what_was_loaded(agency: Agency) -> None:
    with agency.house.ledger() as ledger:
        assert ledger.verify().ok


def test_a_facility_does_not_start_with_a_broken_policy_or_without_its_default(tmp_path: Path) -> None:
    environment = {"SDCGATE_STATE_DIR": str(tmp_path / "state"), "SDCGATE_DEFAULT_POLICY": "theirs"}
    result = CliRunner().invoke(main, ["serve", "facility"], env=environment)
    assert result.exit_code == 1
    assert "the default policy theirs is not among the policies: cell-key" in result.stderr
    (tmp_path / "ours.yaml").write_text(TEXT.replace("units: 10", "units: few"))
    environment = {"SDCGATE_STATE_DIR": str(tmp_path / "other"), "SDCGATE_POLICY_DIR": str(tmp_path)}
    result = CliRunner().invoke(main, ["serve", "facility"], env=environment)
    assert result.exit_code == 1
    assert "ours.yaml cannot be used" in result.stderr


def test_a_dataset_under_cell_keys_is_answered_with_noise(agency: Agency) -> None:
    write(census(), agency.house.settings.data_root)
    assert agency.house.register({**descriptor(), "policy": "cell-key"}).status_code == 201
    asked = {"rows": ["region"], "columns": ["age"], "figures": ["UNITS", "MEAN:income"]}
    answer, again = agency.house.ask("census", **asked), agency.house.ask("census", key="bob", **asked)
    assert (answer.status_code, again.status_code) == (201, 200), answer.text
    columns = answer.json()["table"]["columns"]
    assert answer.json()["verdict"] == "RELEASED_PROTECTED"
    assert set(columns["status"]) == {"PERTURBED"}
    assert not {1, 2} & set(columns["units"])
    assert None in columns["mean_income"]
    assert columns == again.json()["table"]["columns"]
    refused = agency.house.ask(
        "census", rows=["region"], figures=["WEIGHTED_MEAN:income", "UNITS"], region=["f"]
    )
    assert refused.json()["verdict"] == "REFUSED"
    with Client(agency.house.supervisor.url, agency.house.keys["ada"]) as ada:
        assert "all figures with noise" in str(ada.table("census", rows=["region"], columns=["age"]))
