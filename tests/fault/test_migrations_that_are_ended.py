"""SIGTERM and SIGKILL while the ledger is migrated: it is as before or as after; the next start ends it."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy

from old_ledger import EVENTS, FIRST, copy_as_old, write_new_ledger
from postgresql_server import empty_database, running_server
from sdcgate.cli.ledger_place import opened
from sdcgate.ledger import database
from sdcgate.servers.settings import Settings
from trials import seed, trials

MIGRATE, SERVE = ("ledger", "migrate"), ("serve", "facility")
SIGNALS = (signal.SIGTERM, signal.SIGKILL)
MANY = 60
WAITING = (
    "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation "
    "WHERE NOT granted AND relname = 'queries'"
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with events, at the newest migration."""
    state = tmp_path_factory.mktemp("written") / "state"
    write_new_ledger(state)
    return state


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as made:
        yield made


class OldState:
    """A copy of the state folder of an earlier sdcgate, its ledger on SQLite or at an address."""

    def __init__(self, written: Path, folder: Path, url: str = "") -> None:
        self.state = folder / "state"
        shutil.copytree(written, self.state)
        for file in self.state.glob("ledger.sqlite*"):
            file.unlink()
        self.settings = Settings(
            state_dir=self.state, data_root=folder, **({"ledger_url": url} if url else {})
        )
        copy_as_old(written, self.settings.ledger_address())

    def start(self, *command: str) -> "subprocess.Popen[bytes]":
        """A command of the newest sdcgate on it."""
        environment = {
            **os.environ,
            "SDCGATE_STATE_DIR": str(self.state),
            "SDCGATE_DATA_ROOT": str(self.settings.data_root),
            "SDCGATE_FACILITY__PORT": "0",
            "SDCGATE_FACILITY__METRICS_PORT": "0",
        }
        if self.settings.ledger_url:
            environment["SDCGATE_LEDGER_URL"] = self.settings.ledger_url
        with (self.state / "said").open("ab") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "sdcgate.cli", *command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                process_group=0,
            )

    def migration(self) -> str | None:
        """What the database is at."""
        engine = database.connect(self.settings.ledger_address())
        try:
            return database.migration_of(engine)
        finally:
            engine.dispose()

    def is_whole_after_the_next_start(self) -> None:
        """Assert that a migration without any help ends well, and that all is as it was written."""
        assert self.start(*MIGRATE).wait(120) == 0, (self.state / "said").read_text()
        assert self.migration() == database.newest_migration()
        with opened(self.settings) as ledger:
            report = ledger.verify()
        assert (report.faults, report.heads_behind, report.events) == ((), 0, EVENTS)


@contextmanager
def held_up(url: str) -> Iterator[sqlalchemy.Engine]:
    """Somebody reads a table, so that a migration on PostgreSQL stops halfway, its first changes made."""
    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as reader:
        reader.execute(sqlalchemy.text("LOCK TABLE queries IN ACCESS SHARE MODE"))
        yield engine
    engine.dispose()


def wait_until_halfway(engine: sqlalchemy.Engine, process: "subprocess.Popen[bytes]") -> None:
    """Until the migration waits for the table that is read."""
    deadline = time.monotonic() + 120
    with engine.connect() as connection:
        while not connection.scalar(sqlalchemy.text(WAITING)):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("command", [MIGRATE, SERVE], ids=" ".join)
def test_a_migration_that_is_ended_halfway_changed_nothing(written, server, command, number, tmp_path, tell):
    url = empty_database(server)
    old = OldState(written, tmp_path, url)
    with held_up(url) as engine:
        process = old.start(*command)
        wait_until_halfway(engine, process)
        os.killpg(process.pid, number)
        if number is signal.SIGKILL:
            process.wait(60)
    # Who is told to end may do so when the database answers.
    code = process.wait(60)
    assert old.migration() in (FIRST, database.newest_migration())
    if number is signal.SIGKILL or code < 0:
        assert old.migration() == FIRST
    found = old.migration()
    old.is_whole_after_the_next_start()
    tell(f"{number.name} halfway through {' '.join(command)}", 1, exit_code=code, migration=found)


def duration(written: Path, folder: Path, url: str) -> float:
    """Seconds that a migration takes which nobody ends, its start included."""
    folder.mkdir()
    old, began = OldState(written, folder, url), time.monotonic()
    assert old.start(*MIGRATE).wait(120) == 0
    return time.monotonic() - began


@pytest.mark.parametrize("ledger", ["sqlite", "postgresql"])
@pytest.mark.parametrize("ends", [2, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_migration_that_is_ended_at_any_instant_is_made_or_not(
    written, server, ledger, ends, tmp_path, tell
):
    wanted, rng = (trials(ends) if ends == MANY else ends), random.Random(seed(ends))
    found: Counter[str] = Counter()

    def url() -> str:
        return empty_database(server) if ledger == "postgresql" else ""

    longest = duration(written, tmp_path / "undisturbed", url())
    for trial in range(wanted):
        (tmp_path / str(trial)).mkdir()
        old, number = OldState(written, tmp_path / str(trial), url()), SIGNALS[trial % 2]
        process = old.start(*MIGRATE)
        # Most of the time goes by before the first change.
        time.sleep(longest * rng.uniform(0.4, 1.1))
        if process.poll() is None:
            os.killpg(process.pid, number)
        ended = process.wait(60) < 0
        migration = old.migration()
        assert migration in (FIRST, database.newest_migration())
        found[f"{'ended' if ended else 'was done'}, at {migration}"] += 1
        old.is_whole_after_the_next_start()
        shutil.rmtree(tmp_path / str(trial))
    assert not [outcome for outcome in found if outcome == f"was done, at {FIRST}"]
    tell(f"SIGTERM, SIGKILL during a migration, ledger on {ledger}", wanted, **found)
