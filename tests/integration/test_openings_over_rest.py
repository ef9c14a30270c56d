"""That a checker opens a query, with its true cells, is an event of the ledger; what others read is none."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from typer.testing import CliRunner

from house import person, table_request, with_randhie
from printed_results import CHART, zipped
from sdcgate.cli import main
from sdcgate.facility.pace import Pace
from sdcgate.ledger.bundles import Selection, export
from sdcgate.ledger.errors import LedgerUnavailable
from sdcgate.ledger.ledger import Ledger
from sdcgate.servers.decision_log.entries import by_name, entry_of
from served_house import ServedHouse


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    served = ServedHouse(tmp_path_factory.mktemp("openings"))
    try:
        served.register_randhie().raise_for_status()
        yield served
    finally:
        served.stop()


def referred(house: ServedHouse, name: str) -> str:
    """A query that waits for a checker: a chart, which nobody can compute again."""
    files = [("options", (None, b"{}", "application/json")), ("results", ("r.zip", zipped({name: CHART})))]
    answer = house.send("POST", "/v1/datasets/randhie/results", None, "ada", files=files).json()
    query: str = answer["outputs"][0]["decision"]["query"]
    return query


def openings(house: ServedHouse, query: str) -> list[dict[str, Any]]:
    with house.ledger() as ledger:
        events = ledger.events_after(0, 10_000)
        assert ledger.verify().faults == ()
    return [
        {**event.body, "entry": entry_of(event, by_name)}
        for event in events
        if event.body["kind"] == "opening" and event.body["query"] == query
    ]


def test_a_checker_who_opens_a_referred_query_is_recorded_with_the_moment(house) -> None:
    query = referred(house, "a.png")
    assert openings(house, query) == []
    before = datetime.now(UTC)

    shown = house.send("GET", f"/v1/queries/{query}", key="grace")

    assert shown.status_code == 200
    assert "checker" in shown.json()
    (opening,) = openings(house, query)
    assert opening["reviewer"] == "grace"
    assert opening["author"]
    moment = datetime.fromisoformat(opening["recorded_at"])
    assert before - timedelta(seconds=1) <= moment <= datetime.now(UTC)
    entry = opening["entry"]
    assert {name: entry[name] for name in ("kind", "query", "reviewer")} == {
        "kind": "opening",
        "query": query,
        "reviewer": "grace",
    }


def test_each_opening_is_one_also_by_the_command_and_after_the_decision(house) -> None:
    query = referred(house, "b.png")
    where = ["--url", house.supervisor.url, "--api-key", house.keys["grace"]]
    assert CliRunner().invoke(main, ["review", "show", query, *where]).exit_code == 0
    review = {"approve": False, "note": "what does it show?"}
    house.send("POST", f"/v1/queries/{query}:review", review, "grace").raise_for_status()
    assert house.send("GET", f"/v1/queries/{query}", key="grace").status_code == 200
    assert len(openings(house, query)) == 2


def test_what_others_read_and_what_has_left_is_no_opening(house) -> None:
    query = referred(house, "c.png")
    released = house.ask(rows=["site"]).json()["query"]
    for key in ("ada", "audrey"):
        house.send("GET", f"/v1/queries/{query}", key=key)
        house.send("GET", f"/v1/queries/{released}", key=key)
    assert house.send("GET", f"/v1/queries/{released}/picture?kind=BARS", key="grace").status_code == 200
    assert house.send("GET", "/v1/queries", key="grace").status_code == 200
    assert house.send("GET", "/v1/queries/q-none", key="grace").status_code == 404
    assert openings(house, query) == openings(house, released) == []


def test_an_auditors_bundle_says_who_opened_what(house, tmp_path: Path) -> None:
    query = referred(house, "d.png")
    house.send("GET", f"/v1/queries/{query}", key="grace").raise_for_status()
    now = datetime.now(UTC)
    with house.ledger() as ledger:
        export(
            ledger,
            tmp_path / "audit.zip",
            Selection(now - timedelta(days=1), now + timedelta(days=1), "randhie", False),
        )
    lines = ZipFile(tmp_path / "audit.zip").read("events.jsonl").decode().splitlines()
    said = [line.get("said", {}) for line in map(json.loads, lines)]
    (opening,) = [one for one in said if one.get("kind") == "opening" and one.get("query") == query]
    assert opening["reviewer"] == "grace"


def test_what_cannot_be_recorded_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = with_randhie(tmp_path)
    asked = table_request(rows=["site"])
    query = house.facility.query_table(house.researcher, asked, Pace(60.0)).decision.query

    def out_of_reach(*_: object) -> None:
        raise LedgerUnavailable("the ledger is out of reach")

    monkeypatch.setattr(Ledger, "append", out_of_reach)

    with pytest.raises(LedgerUnavailable):
        house.facility.get_query(person("checker", "carla"), query)
    assert house.facility.get_query(house.researcher, query).decision.query == query
    house.facility.close()
