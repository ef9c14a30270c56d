"""Snapshots as tables of a real PostgreSQL are immutable, verified and versioned like those in files."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
import sqlalchemy

from house import COPY
from postgresql_server import empty_database, running_server, start, stop
from sdcgate.engine import CellQuery, Engine, SnapshotDamaged, UnknownDataset
from sdcgate.engine import parse_descriptor as parse
from sdcgate.engine.database import ComputationFailed
from sdcgate.engine.snapshot_tables import METADATA

PEOPLE = "id,region,sex\n1,north,f\n2,south,m\n3,north,m\n"
SHUFFLED = "id,region,sex\n3,north,m\n1,north,f\n2,south,m\n"
SECRET = bytes(range(32))
TABLE = CellQuery((("region", ""),))
NORTH_SOUTH_WEST = [2, 1, 0, 0, 3]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as made:
        yield made


@pytest.fixture
def url(server: str) -> str:
    return empty_database(server)


@pytest.fixture
def open_engine(url: str, tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """Engines on the same schema, with the file people.csv."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    opened: list[Engine] = []

    def make(secret: bytes = SECRET) -> Engine:
        opened.append(Engine(tmp_path, tmp_path / "unused", secret, url=url))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()


def execute(url: str, *statements: str) -> list[list[object]]:
    """What statements of the database's owner give."""
    address = url.replace("postgresql://", "postgresql+psycopg://")
    database = sqlalchemy.create_engine(address, isolation_level="AUTOCOMMIT")
    found = []
    with database.connect() as connection:
        for statement in statements:
            result = connection.execute(sqlalchemy.text(statement))
            found.append([row[0] for row in result] if result.returns_rows else [])
    database.dispose()
    return found


def test_the_same_content_is_the_same_version_and_a_change_is_the_next(open_engine, people, tmp_path):
    engine = open_engine()
    first = engine.register(parse(people()))
    (tmp_path / "people.csv").write_text(SHUFFLED)
    again = engine.register(parse(people()))
    (tmp_path / "people.csv").write_text(PEOPLE + "4,west,f\n")
    newest = engine.register(parse(people()))
    assert [(one.created, one.dataset.version) for one in (first, again, newest)] == [
        (True, 1),
        (False, 1),
        (True, 2),
    ]
    assert engine.compute(engine.dataset("people", 1), TABLE).facts.units.tolist() == NORTH_SOUTH_WEST
    assert engine.compute(engine.dataset("people"), TABLE).facts.units.tolist() == [2, 1, 1, 0, 4]
    with pytest.raises(UnknownDataset, match="no version 3"):
        engine.dataset("people", 3)


def test_another_engine_reads_what_was_registered_and_nothing_lies_in_the_store(
    open_engine, people, tmp_path
):
    dataset = open_engine().register(parse(people())).dataset
    (tmp_path / "people.csv").unlink()
    other = open_engine()
    found = other.dataset("people")
    assert (found.n_units, found.descriptor, found.content_hash) == (
        3,
        dataset.descriptor,
        dataset.content_hash,
    )
    assert other.warm_up() == []
    assert other.compute(found, TABLE).facts.units.tolist() == NORTH_SOUTH_WEST
    assert not (tmp_path / "unused").exists()


def test_the_longest_names_are_told_apart(open_engine, people):
    engine = open_engine()
    names = [f"{'a' * 63}{last}" for last in "xy"]
    for name in names:
        engine.register(parse(people(name=name, source=name, **COPY)))
    assert [dataset.name for dataset in engine.datasets()] == names
    for name in names:
        assert engine.compute(engine.dataset(name), TABLE).facts.units.tolist() == NORTH_SOUTH_WEST


@pytest.mark.parametrize(
    "change",
    [
        'UPDATE "people@1" SET v0_l0 = 1',
        'DELETE FROM "people@1" WHERE v0_l0 = 1',
        'INSERT INTO "people@1" SELECT * FROM "people@1"',
        'TRUNCATE "people@1"',
    ],
)
def test_the_database_refuses_every_change_of_a_snapshot(open_engine, people, url, change):
    open_engine().register(parse(people()))
    with pytest.raises(sqlalchemy.exc.DatabaseError, match="never changed"):
        execute(url, change)
    # Its owner can take the trigger away; then the hash tells.
    execute(url, 'ALTER TABLE "people@1" DISABLE TRIGGER USER', change)
    engine = open_engine()
    with pytest.raises(SnapshotDamaged, match="people v1: the data table was changed"):
        engine.compute(engine.dataset("people"), TABLE)


def test_a_table_that_was_rewritten_is_verified_again(open_engine, people, url):
    engine = open_engine()
    dataset = engine.register(parse(people())).dataset
    assert engine.compute(dataset, TABLE).facts.units.tolist() == NORTH_SOUTH_WEST
    execute(url, 'VACUUM FULL "people@1"')
    assert engine.compute(dataset, TABLE).facts.units.tolist() == NORTH_SOUTH_WEST
    execute(url, 'ALTER TABLE "people@1" DISABLE TRIGGER USER', 'UPDATE "people@1" SET v0_l0 = 1')
    execute(url, 'VACUUM FULL "people@1"')
    with pytest.raises(SnapshotDamaged, match="changed"):
        engine.compute(dataset, TABLE)
    execute(url, 'DROP TABLE "people@1"')
    with pytest.raises(SnapshotDamaged, match="gone"):
        engine.compute(dataset, TABLE)
    assert [str(damaged) for damaged in engine.warm_up()] == ["people v1: the data table is gone"]


def test_changed_metadata_and_another_secret_are_refused(open_engine, people, url):
    open_engine().register(parse(people()))
    with pytest.raises(SnapshotDamaged, match="secret"):
        open_engine(b"x" * 32).dataset("people")
    execute(url, f"UPDATE {METADATA} SET metadata = replace(metadata, '\"n_units\": 3', '\"n_units\": 9')")
    with pytest.raises(SnapshotDamaged, match="metadata were changed"):
        open_engine().dataset("people")


def test_a_crash_while_writing_leaves_no_version(open_engine, people, url, monkeypatch):
    engine = open_engine()

    def crash(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("sdcgate.engine.snapshot_tables.sealed", crash)
        with pytest.raises(KeyboardInterrupt):
            engine.register(parse(people()))
    assert engine.datasets() == []
    assert execute(url, "SELECT to_regclass('\"people@1\"')") == [[None]]
    assert engine.register(parse(people())).dataset.version == 1


def test_versions_that_two_processes_write_at_once_are_two(open_engine, people):
    together = Barrier(2)

    def register(label: str) -> int:
        engine = open_engine()
        together.wait(20)
        return engine.register(parse(people(label=label))).dataset.version

    with ThreadPoolExecutor(2) as threads:
        written = list(threads.map(register, ["one", "other"]))
    assert sorted(written) == [1, 2]


def test_a_server_that_was_started_again_is_asked_again(open_engine, people, server):
    engine = open_engine()
    dataset = engine.register(parse(people())).dataset
    assert engine.compute(dataset, TABLE).facts.units.tolist() == NORTH_SOUTH_WEST
    stop(server)
    try:
        with pytest.raises(ComputationFailed) as raised:
            engine.compute(dataset, TABLE)
    finally:
        start(server)
    assert "people" not in str(raised.value)
    assert "postgres" not in str(raised.value)
    assert engine.compute(dataset, TABLE).facts.units.tolist() == NORTH_SOUTH_WEST


@pytest.mark.parametrize("wrong", ["4711 / 0", "'4711'::boolean::int", "4711 * 1e40::numeric"])
def test_a_failure_does_not_tell_the_figure_that_it_failed_on(open_engine, wrong):
    database = open_engine()._database
    with pytest.raises(ComputationFailed) as raised:
        database.run(f"SELECT {wrong} AS figure")
    assert "4711" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert database.run("SELECT 12345678901234567890123456789::numeric AS figure").to_pylist() == [
        {"figure": 12345678901234567890123456789}
    ]


def test_many_threads_ask_at_once(open_engine, people):
    engine = open_engine()
    dataset = engine.register(parse(people())).dataset
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: engine.compute(dataset, TABLE).facts.units.tolist(), range(64)))
    assert answers == [NORTH_SOUTH_WEST] * 64


def test_an_address_of_no_known_engine_is_refused(tmp_path):
    with pytest.raises(ValueError, match="postgresql://"):
        Engine(tmp_path, tmp_path, SECRET, url="mysql://secret@host/db")


def test_an_engine_whose_extra_is_not_installed_says_which(tmp_path, monkeypatch):
    monkeypatch.setattr("sdcgate.engine.backends.find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r"sdcgate\[postgresql\]"):
        Engine(tmp_path, tmp_path, SECRET, url="postgresql://secret@host/db")
