"""The ledger's database, copied and restored by its own means; SQLite and a real PostgreSQL."""

import os
import threading
from pathlib import Path

import pytest
import sqlalchemy

from postgresql_server import empty_database, programs
from sdcgate.ledger import copying
from sdcgate.ledger.copying import CopyRefused, copy_database, restore_database
from sdcgate.ledger.ledger import Ledger, LedgerTruncated
from sdcgate.ledger.schema import blobs, boxes, events, queries, releases


@pytest.fixture(autouse=True)
def postgresql_tools_on_the_path(postgresql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{programs(postgresql)}{os.pathsep}{os.environ['PATH']}")


def emptied(url: str) -> None:
    """What a lost disk leaves: no file, or an empty schema."""
    address = sqlalchemy.make_url(url)
    if address.get_backend_name() == "sqlite":
        Path(str(address.database)).unlink()
        return
    engine = sqlalchemy.create_engine(address.set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        schema = connection.scalar(sqlalchemy.text("SELECT current_schema()"))
        connection.execute(sqlalchemy.text(f"DROP SCHEMA {schema} CASCADE"))
        connection.execute(sqlalchemy.text(f"CREATE SCHEMA {schema}"))
    engine.dispose()


def test_a_restored_copy_without_the_newest_releases_is_refused_until_the_loss_is_acknowledged(
    open_ledger, history: Ledger, url, make_decision, tmp_path
):
    copy = copy_database(url, tmp_path)
    assert copy.stat().st_mode & 0o077 == 0
    late = make_decision()
    history.append_decision(late, 10)
    history.append_decision(make_decision(), 12)
    history.close()
    emptied(url)
    restore_database(copy, url)
    restored = open_ledger()
    assert restored.head().sequence == 11
    assert restored.query("q-0001").answer == b"the answer 1"
    assert [(one.sequence, one.message) for one in restored.verify().faults] == [
        (12, "events 12 to 13 are missing")
    ]
    with pytest.raises(LedgerTruncated, match="head 13 was signed"):
        restored.append_decision(make_decision(), 10)
    restored.acknowledge_truncation("olga", "the disk of Monday night")
    restored.append_decision(make_decision(), 10)
    report = restored.verify()
    assert report.ok
    assert [(one.first, one.last, one.sequence, one.author, one.note) for one in report.losses] == [
        (12, 13, 12, "olga", "the disk of Monday night")
    ]


def test_a_copy_that_lacks_nothing_goes_on_at_once(
    open_ledger, history: Ledger, url, make_decision, tmp_path
):
    copy = copy_database(url, tmp_path)
    history.close()
    emptied(url)
    restore_database(copy, url)
    restored = open_ledger()
    assert restored.verify().ok
    assert restored.verify().losses == ()
    assert restored.append_decision(make_decision(), 10).sequence == 12


def test_what_was_restored_still_cannot_be_changed_or_deleted(open_ledger, history: Ledger, url, tmp_path):
    copy = copy_database(url, tmp_path)
    history.close()
    emptied(url)
    restore_database(copy, url)
    restored = open_ledger()
    for table in (events, blobs, queries, releases, boxes):
        with pytest.raises(sqlalchemy.exc.DBAPIError), restored._engine.begin() as connection:
            connection.execute(table.delete())


def test_a_copy_taken_while_decisions_are_made_is_a_ledger_without_a_fault(
    open_ledger, history: Ledger, url, make_decision, tmp_path, heads_path
):
    stop, made = threading.Event(), [10]

    def decide() -> None:
        while not stop.is_set():
            made.append(history.append_decision(make_decision(), made[-1]).sequence)

    deciding = threading.Thread(target=decide)
    deciding.start()
    while len(made) < 5:
        assert deciding.is_alive()
    copy = copy_database(url, tmp_path)
    reached = made[-1]
    stop.set()
    deciding.join()
    history.close()
    emptied(url)
    restore_database(copy, url)
    heads_path.unlink()
    restored = open_ledger()
    assert restored.verify().ok
    assert 14 <= restored.head().sequence <= reached + 1


def test_nothing_is_overwritten(history: Ledger, url, tmp_path):
    copy = copy_database(url, tmp_path)
    with pytest.raises(CopyRefused, match="there already"):
        copy_database(url, tmp_path)
    with pytest.raises(CopyRefused, match=r"there is a ledger already|not empty"):
        restore_database(copy, url)
    assert history.verify().ok


def test_a_copy_of_the_other_kind_of_database_is_told_apart(url, tmp_path):
    other = copying.POSTGRESQL_COPY if url.startswith("sqlite") else copying.SQLITE_COPY
    with pytest.raises(CopyRefused, match="set SDCGATE_LEDGER_URL"):
        restore_database(tmp_path / other, url)


def test_without_the_tools_of_postgresql_it_is_said_what_to_install(postgresql, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CopyRefused, match="pg_dump is not on the path"):
        copy_database(postgresql, tmp_path)


def test_a_dump_restored_to_another_schema_is_no_empty_ledger(postgresql, key_ring, heads_path, tmp_path):
    url = empty_database(postgresql)
    Ledger.open(url, key_ring, heads_path).close()
    copy = copy_database(url, tmp_path)
    with pytest.raises(CopyRefused, match="no tables of schema"):
        restore_database(copy, empty_database(postgresql))
