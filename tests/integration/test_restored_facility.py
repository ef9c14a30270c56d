"""A facility whose ledger was lost and restored from yesterday's backup, as its operator lives through it."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy
from typer.testing import CliRunner, Result

from postgresql_server import empty_database, programs, running_server
from sdcgate.cli import main
from sdcgate.cli.supervisor import SERVICES, Supervisor
from served_house import ServedHouse, table_body

PROBLEM_JSON = "application/problem+json"
BEFORE = {"rows": ["site"], "figures": ["UNITS"]}
AFTER = {"rows": ["plan"], "figures": ["UNITS"]}
THEN = {"rows": ["female"], "figures": ["UNITS"]}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "sqlite":
        return ""
    server = request.getfixturevalue("server")
    monkeypatch.setenv("PATH", f"{programs(server)}{os.pathsep}{os.environ['PATH']}")
    return empty_database(server)


class Unready:
    """The services of a house as an init system starts them: it does not wait until they are ready."""

    def __init__(self, house: ServedHouse) -> None:
        self._key = house.keys["ada"]
        self._supervisor = Supervisor(house.settings, house.supervisor._environment)
        self._started: dict[str, dict[str, str]] = {}

    def start(self) -> None:
        for name in SERVICES:
            ready = self._supervisor._ready_file(name)
            ready.unlink(missing_ok=True)
            self._supervisor._processes[name] = self._supervisor._spawn(name)
            until = time.monotonic() + 60
            while not ready.exists():
                self._supervisor._check_alive()
                assert time.monotonic() < until
                time.sleep(0.05)
            self._started[name] = json.loads(ready.read_text())

    def stop(self) -> None:
        self._supervisor.stop()

    def facility_is_ready(self) -> bool:
        asked = httpx.get(f"http://{self._started['facility']['metrics']}/readyz", timeout=20)
        assert asked.status_code in (200, 503)
        return asked.status_code == 200

    def ask(self, table: dict[str, Any]) -> httpx.Response:
        url = f"http://{self._started['gateway']['address']}/v1/datasets/randhie/tables"
        headers = {"Authorization": f"Bearer {self._key}"}
        return httpx.post(url, json=table_body(**table), headers=headers, timeout=60)


@contextmanager
def unready(house: ServedHouse) -> Iterator[Unready]:
    started = Unready(house)
    try:
        started.start()
        yield started
    finally:
        started.stop()


def head(house: ServedHouse) -> int:
    with house.ledger() as ledger:
        return ledger.head().sequence


def lose(house: ServedHouse, url: str) -> None:
    if not url:
        for file in house.settings.state_dir.glob("ledger.sqlite*"):
            file.unlink()
        return
    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        schema = connection.scalar(sqlalchemy.text("SELECT current_schema()"))
        connection.execute(sqlalchemy.text(f"DROP SCHEMA {schema} CASCADE"))
        connection.execute(sqlalchemy.text(f"CREATE SCHEMA {schema}"))
    engine.dispose()


def test_it_answers_nothing_new_until_the_lost_releases_are_acknowledged(
    ledger_url: str, tmp_path: Path
) -> None:
    common = {"ledger_url": ledger_url} if ledger_url else {}
    house = ServedHouse(tmp_path, common)
    environment = {"SDCGATE_STATE_DIR": str(house.settings.state_dir), "SDCGATE_LEDGER_URL": ledger_url}

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["ledger", *arguments], env=environment)

    try:
        assert house.register_randhie().status_code == 201
        kept = house.ask(**BEFORE)
        made = run("backup", str(tmp_path / "copy"), "--keys", str(tmp_path / "keys"))
        assert made.exit_code == 0, made.output
        lost = house.ask(**AFTER)
        assert (kept.status_code, lost.status_code) == (201, 201)
    finally:
        house.stop()
    lose(house, ledger_url)
    refused = run("restore", str(tmp_path / "copy"))
    assert refused.exit_code == 1
    assert "no new query answered" in refused.stderr

    with house.ledger() as ledger:
        assert "was signed" in str(ledger.refusal())

    with unready(house) as started:
        # Not ready, so that no replica is sent a query: `serve all` would not come up.
        assert started.facility_is_ready() is False
        before = head(house)
        for asked in (AFTER, THEN):
            response = started.ask(asked)
            assert (response.status_code, response.headers["content-type"]) == (503, PROBLEM_JSON)
            assert "acknowledge the loss" in response.json()["detail"]
            assert "table" not in response.json()
        # What the backup has is told as ever.
        old = started.ask(BEFORE)
        assert (old.status_code, old.json()) == (200, kept.json())
        assert started.facility_is_ready() is False
        assert head(house) == before

        assert run("acknowledge-loss", "--author", "olga", "--note", "the disk died").exit_code == 0
        # The facility that runs goes on, without a restart.
        assert started.facility_is_ready() is True
        answered = started.ask(AFTER)
        assert answered.status_code == 201
        assert answered.json()["query"] != lost.json()["query"]
        assert head(house) > before
    restarted = ServedHouse(tmp_path, common, house.keys)
    try:
        again = restarted.ask(**BEFORE)
        assert (again.status_code, again.json()) == (200, kept.json())
        assert restarted.ask(**THEN).status_code == 201
        assert restarted.send("GET", lost.headers["location"]).status_code == 404
    finally:
        restarted.stop()
    verified = run("verify")
    assert verified.exit_code == 0, verified.output
    assert "olga acknowledges that event" in verified.stdout
