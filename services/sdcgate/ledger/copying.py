"""Copies of a ledger's database, each of one moment of it, made and restored by the database's own means.

SQLite: its online backup, so that a facility may write meanwhile. PostgreSQL: pg_dump and pg_restore, which
must be on the path and no older than the server.
"""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, inspect, select
from sqlalchemy.engine import URL, make_url

from sdcgate.ledger import database
from sdcgate.ledger.errors import LedgerError, LedgerUnavailable
from sdcgate.ledger.heads import flush_to_disk

SQLITE_COPY = "ledger.sqlite"
POSTGRESQL_COPY = "ledger.dump"


class CopyRefused(LedgerError):
    """The database cannot be copied, or restored, as it was asked."""


def copy_name(url: str) -> str:
    """Name of the file that a copy of this database is."""
    return SQLITE_COPY if _is_sqlite(url) else POSTGRESQL_COPY


def copy_database(url: str, folder: Path) -> Path:
    """Copy the database as it is at one moment; the copy is a file that only its owner reads.

    Raises:
        CopyRefused: there is a copy in the folder, or pg_dump is missing or failed.
        LedgerUnavailable: the database does not answer.
    """
    copy = folder / copy_name(url)
    try:
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise CopyRefused(f"{copy} is there already") from None
    if _is_sqlite(url):
        _back_up(Path(str(make_url(url).database)), copy)
    else:
        _run("pg_dump", url, "--format=custom", f"--schema={_schema(url)}", f"--file={copy}")
    return copy


def restore_database(copy: Path, url: str) -> None:
    """Put a copy where the database is to be, which must be empty: nothing is ever overwritten.

    Raises:
        CopyRefused: it is not empty, the copy is of the other kind of database, or pg_restore failed.
        LedgerUnavailable: the database does not answer.
    """
    require_empty(copy, url)
    if not _is_sqlite(url):
        schema = _schema(url)
        where = (f"--schema={schema}", "--no-owner", "--no-privileges")
        _run("pg_restore", url, "--single-transaction", "--exit-on-error", *where, str(copy))
        if not _tables(url):
            raise CopyRefused(f"the copy has no tables of schema {schema}: restore it to the schema it is of")
        return
    place = Path(str(make_url(url).database))
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Renamed when it is whole: a restore that was interrupted leaves no ledger cut short.
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        shutil.copyfile(copy, draft)
        flush_to_disk(draft)
        draft.rename(place)
    finally:
        draft.unlink(missing_ok=True)


def require_empty(copy: Path, url: str) -> None:
    """Refuse a place for a copy that holds something, or is of the other kind of database.

    Raises:
        CopyRefused: saying what to do.
        LedgerUnavailable: the database does not answer.
    """
    if copy.name != copy_name(url):
        kind = "SQLite" if copy.name == SQLITE_COPY else "PostgreSQL"
        raise CopyRefused(
            f"the copy is of a {kind} ledger: set SDCGATE_LEDGER_URL to a database of that kind"
        )
    if not _is_sqlite(url):
        if _tables(url):
            raise CopyRefused("the ledger's database is not empty: make an empty one, or another schema")
        return
    place = Path(str(make_url(url).database))
    there = [file.name for file in place.parent.glob(f"{place.name}*")]
    if there:
        raise CopyRefused(f"there is a ledger already: move {', '.join(sorted(there))} out of {place.parent}")


def _back_up(source: Path, target: Path) -> None:
    try:
        with (
            closing(sqlite3.connect(source.absolute().as_uri() + "?mode=ro", uri=True)) as original,
            closing(sqlite3.connect(target)) as copy,
        ):
            original.backup(copy)
            # A file by itself, without the write-ahead log that stands beside a ledger in use.
            copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise LedgerUnavailable(f"{source} cannot be copied ({type(error).__name__})") from None
    flush_to_disk(target)


def _run(tool: str, url: str, *arguments: str) -> None:
    program = shutil.which(tool)
    if program is None:
        raise CopyRefused(f"{tool} is not on the path: install the client programs of PostgreSQL")
    where, environment = _connection(make_url(url))
    done = subprocess.run(  # noqa: S603 (no shell, and the arguments are ours)
        [program, f"--dbname={where}", "--no-password", *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # What it says may quote a row.
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        raise CopyRefused(f"{tool} ended with {done.returncode}; it must be no older than the server")


def _connection(address: URL) -> tuple[str, dict[str, str]]:
    """How to reach a PostgreSQL, for its tools; a password by the environment, as others see arguments."""
    from psycopg.conninfo import make_conninfo

    arguments: dict[str, Any] = address.translate_connect_args(username="user", database="dbname")
    arguments |= address.query
    password = arguments.pop("password", None)
    return make_conninfo("", **arguments), {} if password is None else {"PGPASSWORD": password}


def _schema(url: str) -> str:
    with _read(url) as connection:
        return str(connection.scalar(select(func.current_schema())))


def _tables(url: str) -> list[str]:
    with _read(url) as connection:
        return inspect(connection).get_table_names()


@contextmanager
def _read(url: str) -> Iterator[Connection]:
    engine = database.connect(url)
    try:
        with database.reading(engine) as connection:
            yield connection
    finally:
        engine.dispose()


def _is_sqlite(url: str) -> bool:
    return make_url(url).get_backend_name() == "sqlite"
