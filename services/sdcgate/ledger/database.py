"""The ledger's database: SQLite or PostgreSQL, its transactions and its migrations."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, func, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, IntegrityError

from sdcgate.ledger.errors import LedgerUnavailable, SchemaUnknown

SCRIPTS = "sdcgate.ledger:migrations"
APPEND_LOCK = 0x5DC6A7E
"""PostgreSQL's advisory lock that all writers of a ledger take."""

WAIT_SECONDS = 10
PATIENCE = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""Seconds, and milliseconds at last, after which a PostgreSQL that is silent on the network is gone.

By itself the network would wait for hours, and all threads of the facility with it.
"""
MANY_ROWS = 8
_WRITES = "sdcgate_writes"


def connect(url: str) -> Engine:
    """An engine with the settings that the ledger relies on; makes no connection yet.

    Raises:
        ValueError: the URL is of neither database.
    """
    address = make_url(url)
    # Statements hold withheld values: no error text may show their parameters.
    if address.get_backend_name() == "sqlite":
        return _sqlite(address)
    if address.get_backend_name() == "postgresql":
        address = address.set(drivername="postgresql+psycopg")
        # What the URL says itself goes before.
        patience = {name: value for name, value in PATIENCE.items() if name not in address.query}
        return create_engine(address, hide_parameters=True, pool_pre_ping=True, connect_args=patience)
    raise ValueError("the ledger's URL must begin with sqlite:/// or postgresql://")


def _sqlite(address: URL) -> Engine:
    if address.database in {None, "", ":memory:"}:
        raise ValueError("the ledger needs a file: sqlite:///path/to/ledger.db")
    engine = create_engine(address, hide_parameters=True, connect_args={"timeout": WAIT_SECONDS})
    path = Path(str(address.database))
    making = threading.Lock()

    @event.listens_for(engine, "do_connect")
    def make_private(*_: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Only a missing file is opened here: closing it again would drop this process's locks on it (POSIX),
        # and another process's last connection would then throw the write-ahead log away under us.
        with making, suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:
        # The driver must not begin transactions of its own: two of them could read the same head.
        connection.isolation_level = None
        for setting in ("journal_mode=WAL", "synchronous=FULL", "recursive_triggers=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that no other writer's overlaps with.

    Raises:
        LedgerUnavailable: the database does not answer, or another writer takes too long.
    """
    with _reported(), engine.connect() as connection:
        connection.execution_options(**{_WRITES: True})
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'"))
                connection.execute(select(func.pg_advisory_xact_lock(APPEND_LOCK)))
            yield connection


@contextmanager
def reading(engine: Engine, *, snapshot: bool = False) -> Iterator[Connection]:
    """A connection to read from; with `snapshot` all statements see the same moment.

    Raises:
        LedgerUnavailable: the database does not answer.
    """
    with _reported(), engine.connect() as connection:
        if snapshot and engine.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            yield connection


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows whose values stand in the order of the table's columns; many by the driver's fast way.

    Raises:
        LedgerUnavailable: the driver reports an error.
    """
    names = [column.name for column in table.columns]
    columns = ", ".join(names)
    if len(rows) < MANY_ROWS:
        if rows:
            connection.execute(table.insert(), [dict(zip(names, row, strict=True)) for row in rows])
    elif connection.dialect.name == "sqlite":
        marks = ", ".join("?" for _ in names)
        insert = f"INSERT INTO {table.name} ({columns}) VALUES ({marks})"  # noqa: S608 (our own names)
        connection.exec_driver_sql(insert, list(rows))
    else:
        _copy(connection, f"COPY {table.name} ({columns}) FROM STDIN", rows)


def _copy(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except connection.dialect.loaded_dbapi.Error as error:
        # This way round SQLAlchemy the driver's text would quote the row.
        raise LedgerUnavailable(f"the ledger's database refused rows ({type(error).__name__})") from None


def reclaim(engine: Engine) -> None:
    """Have the database let go, in its files, of what was removed from it, as far as it does so by itself.

    SQLite overwrites what it deletes (secure_delete) and empties its log here; PostgreSQL frees the space for
    other rows.

    Raises:
        LedgerUnavailable: the database does not answer.
    """
    with _reported(), engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        else:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text("VACUUM blobs"))


def upgrade(engine: Engine) -> None:
    """Bring the database to the newest migration; one that is there already stays untouched.

    Raises:
        SchemaUnknown: the database is at a migration that this version of sdcgate does not know.
        LedgerUnavailable: the database does not answer.
    """
    from alembic import command
    from alembic.config import Config

    if migration_of(engine) == newest_migration():
        return
    configuration = Config()
    configuration.set_main_option("script_location", SCRIPTS)
    with writing(engine) as connection:
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, "head")


def migration_of(engine: Engine) -> str | None:
    """Migration that the database is at; None where it is empty.

    Raises:
        SchemaUnknown: it is one that this version of sdcgate does not know.
    """
    from alembic.migration import MigrationContext

    with reading(engine) as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    known = {script.revision for script in _scripts().walk_revisions()}
    if current is not None and current not in known:
        raise SchemaUnknown(
            f"the ledger's database is at migration {current}; this version of sdcgate knows them up to "
            f"{newest_migration()}: start the newer sdcgate that migrated it, or give another database"
        )
    return current


def newest_migration() -> str | None:
    """Newest migration of this version of sdcgate."""
    newest: str | None = _scripts().get_current_head()
    return newest


def _scripts() -> Any:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    configuration = Config()
    configuration.set_main_option("script_location", SCRIPTS)
    return ScriptDirectory.from_config(configuration)


@contextmanager
def _reported() -> Iterator[None]:
    # The driver's own text may quote a row, so only the kind of the error is passed on.
    try:
        yield
    except IntegrityError as error:
        kind = type(error.orig).__name__
        raise LedgerUnavailable(
            f"the ledger's database refused a row ({kind}); nothing was recorded"
        ) from None
    except DBAPIError as error:
        kind = type(error.orig).__name__
        raise LedgerUnavailable(f"the ledger's database does not answer as it should ({kind})") from None
