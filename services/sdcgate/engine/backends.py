"""Where snapshots lie and where their queries run, by the engine's address."""

from importlib.util import find_spec
from pathlib import Path

from sdcgate.engine.database import Database
from sdcgate.engine.snapshot import Snapshots

POSTGRESQL = ("postgresql://", "postgres://")


def open_backend(
    url: str,
    store: Path,
    secret: bytes,
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
    spill: Path | None = None,
) -> tuple[Snapshots, Database]:
    """The snapshots and the database of an address.

    - Empty: files under `store`, and DuckDB with `threads`, `memory_limit` and `spill`.
    - `postgresql://...`: tables of a PostgreSQL, and that PostgreSQL.

    Raises:
        ValueError: the address is none of these, or the extra that it needs is not installed.
    """
    if url.startswith(POSTGRESQL):
        _need("adbc_driver_postgresql", "postgresql")
        from sdcgate.engine.postgresql_database import PostgresqlDatabase
        from sdcgate.engine.snapshot_tables import SnapshotTables

        postgresql = PostgresqlDatabase(url)
        return SnapshotTables(postgresql, secret), postgresql
    if url:
        raise ValueError(f"the engine's address does not begin with {POSTGRESQL[0]}; empty is DuckDB")
    from sdcgate.engine.duckdb_database import DuckdbDatabase
    from sdcgate.engine.snapshot_files import SnapshotFiles

    return SnapshotFiles(store, secret), DuckdbDatabase(store, threads, memory_limit, spill)


def _need(module: str, extra: str) -> None:
    if find_spec(module) is None:
        raise ValueError(f"this engine needs an extra that is not installed: pip install 'sdcgate[{extra}]'")
