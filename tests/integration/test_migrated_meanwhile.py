"""The ledger is migrated while a facility of the version before works on it: it goes on, and all is whole.

The version before is this one's ledger on the schema of the migration before; what its statements meet on the
newest schema is tried for the schemas of all versions before.
"""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy
from alembic import command
from alembic.config import Config

from old_ledger import EVENTS, FIRST, copy_as_old, decision, write_new_ledger
from postgresql_server import empty_database, running_server
from sdcgate.cli.ledger_place import opened
from sdcgate.ledger import database
from sdcgate.ledger.ledger import Ledger
from sdcgate.servers.settings import Settings

LAST = [f"{number:04}" for number in range(int(FIRST), int(str(database.newest_migration())))]
"""All migrations but the newest."""
MANY = 12
"""More than after which psycopg prepares a statement in the server."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("written") / "state"
    write_new_ledger(state)
    return state


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return ""
    return empty_database(request.getfixturevalue("server"))


def old_settings(written: Path, folder: Path, url: str, migration: str) -> Settings:
    """Of a copy of the state folder whose ledger is at an earlier migration."""
    state = folder / "state"
    shutil.copytree(written, state)
    for file in state.glob("ledger.sqlite*"):
        file.unlink()
    settings = Settings(state_dir=state, data_root=folder, **({"ledger_url": url} if url else {}))
    copy_as_old(written, settings.ledger_address(), migration)
    return settings


def migrate(settings: Settings) -> None:
    """As the chart's job does, in a process of its own."""
    environment = {
        **os.environ,
        "SDCGATE_STATE_DIR": str(settings.state_dir),
        "SDCGATE_DATA_ROOT": str(settings.data_root),
        **({"SDCGATE_LEDGER_URL": settings.ledger_url} if settings.ledger_url else {}),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "sdcgate.cli", "ledger", "migrate"],
        env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr


class Deciding:
    """Decides query after query and reads each back, until it is told to stop."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._stop = ledger, threading.Event()
        self.enough = threading.Event()
        self.decided: list[int] = []
        self.failed: list[Exception] = []
        self._thread = threading.Thread(target=self._decide)

    def __enter__(self) -> "Deciding":
        self._thread.start()
        assert self.enough.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)

    def _decide(self) -> None:
        number = EVENTS
        while not self._stop.wait(0.005):
            try:
                self._ledger.append_decision(decision(number), 0)
                found = self._ledger.query(f"q-{number:04}")
                assert found is not None
                assert found.answer == b"the answer %d" % number
                assert self._ledger.box_states(f"households-{number}", [b"box a"])
            except Exception as error:
                self.failed.append(error)
                break
            self.decided.append(number)
            number += 1
            if len(self.decided) == MANY:
                self.enough.set()
        self.enough.set()


def test_a_facility_of_the_version_before_goes_on_while_the_ledger_is_migrated(
    written: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = old_settings(written, tmp_path, url, LAST[-1])
    at = database.connect(settings.ledger_address())
    with monkeypatch.context() as patched:
        # Opened before there was a newer schema.
        patched.setattr(Ledger, "upgrade", lambda _: None)
        with opened(settings) as before:
            assert database.migration_of(at) == LAST[-1]
            with Deciding(before) as deciding:
                migrate(settings)
                assert database.migration_of(at) == database.newest_migration()
                then = len(deciding.decided)
                deciding.enough.clear()
                while len(deciding.decided) < then + MANY and not deciding.failed:
                    deciding.enough.wait(0.05)
            assert deciding.failed == []
            report = before.verify()
            assert (report.faults, report.heads_behind) == ((), 0)
            assert report.events == EVENTS + len(deciding.decided)
    at.dispose()
    with opened(settings) as after:
        assert after.verify().events == report.events
        assert after.query(f"q-{EVENTS:04}") is not None


GIVEN_UP = {"approvals": [("query_id",)]}
"""Keys that a later schema cannot keep: since 0008 a query is approved first anew once that was taken back.

Two replicas of before that record a first approval at one instant are both heard: neither releases anything.
"""


@pytest.mark.parametrize("migration", LAST)
def test_the_newest_schema_takes_what_every_version_before_writes_and_has_what_it_reads(
    written: Path, url: str, migration: str, tmp_path: Path
) -> None:
    """Columns and keys of an earlier schema are there as they were; what was added may be left out."""
    engine = database.connect(old_settings(written, tmp_path, url, migration).ledger_address())
    before = _schema(engine)
    configuration = Config()
    configuration.set_main_option("script_location", database.SCRIPTS)
    with database.writing(engine) as connection:
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, "head")
    now = _schema(engine)
    engine.dispose()
    for table, (columns, unique) in before.items():
        newest, newest_unique = now[table]
        assert columns.items() <= newest.items(), table
        assert [key for key in unique if key not in GIVEN_UP.get(table, ())] == newest_unique, table
        for name in newest.keys() - columns.keys():
            _, nullable, default = newest[name]
            assert nullable or default is not None, f"{table}.{name}"


Columns = dict[str, tuple[str, bool, str | None]]


def _schema(engine: sqlalchemy.Engine) -> dict[str, tuple[Columns, list[tuple[str, ...]]]]:
    """Of each table its columns (type, may be null, default) and what must be unique."""
    found = sqlalchemy.inspect(engine)
    return {
        table: (
            {
                one["name"]: (str(one["type"]), bool(one["nullable"]), one["default"])
                for one in found.get_columns(table)
            },
            sorted(tuple(one["column_names"]) for one in found.get_unique_constraints(table)),
        )
        for table in found.get_table_names()
    }
