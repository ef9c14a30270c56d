"""Where snapshots lie and where their queries run, by the engine's address."""

from importlib.util import find_spec
from pathlib import Path

from sdcgate.engine.database import Database
from sdcgate.engine.snapshot import Snapshots

POSTGRESQL = ("postgresql://", "postgres://")
SPARK = ("spark://", "k8s://", "yarn", "local", "sc://")


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
    - `spark://...`, `k8s://...`, `yarn` or `local...`: files under `store`, and Spark with this master;
      `sc://...`: with this Spark Connect server.

    Raises:
        ValueError: the address is none of these, or the extra that it needs is not installed.
    """
    if url.startswith(POSTGRESQL):
        _need("adbc_driver_postgresql", "postgresql")
        from sdcgate.engine.postgresql_database import PostgresqlDatabase
        from sdcgate.engine.snapshot_tables import SnapshotTables

        postgresql = PostgresqlDatabase(url)
        return SnapshotTables(postgresql, secret), postgresql
    from sdcgate.engine.snapshot_files import SnapshotFiles

    if url.startswith(SPARK):
        _need("pyspark", "spark")
        from sdcgate.engine.spark_database import SparkDatabase

        return SnapshotFiles(store, secret), SparkDatabase(url, store)
    if url:
        known = ", ".join((POSTGRESQL[0], *SPARK))
        raise ValueError(f"the engine's address begins with none of {known}; empty is DuckDB")
    from sdcgate.engine.duckdb_database import DuckdbDatabase

    return SnapshotFiles(store, secret), DuckdbDatabase(store, threads, memory_limit, spill)


def _need(module: str, extra: str) -> None:
    if find_spec(module) is None:
        raise ValueError(f"this engine needs an extra that is not installed: pip install 'sdcgate[{extra}]'")
