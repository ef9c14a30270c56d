"""A facility whose ledger was lost and restored from yesterday's backup, as its operator lives through it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy
from typer.testing import CliRunner, Result

from postgresql_server import empty_database, programs, running_server
from sdcgate.cli import main
from served_house import ServedHouse

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

    # Not ready, so that no replica is sent a query: `serve all` would not come up.
    with house.ledger() as ledger:
        assert "was signed" in str(ledger.refusal())

    assert run("acknowledge-loss", "--author", "olga", "--note", "the disk died").exit_code == 0
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
