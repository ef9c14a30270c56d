"""DuckDB in memory over the snapshots' Parquet files, for many threads: views, cursors, compiled queries."""

import threading
import warnings
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdcgate.engine.aggregation import view_name
from sdcgate.engine.database import CompiledQueries, ComputationFailed, ComputationInterrupted
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.dialects import Dialect
from sdcgate.engine.patience import Interrupter
from sdcgate.engine.snapshot_files import data_file

if TYPE_CHECKING:
    import pyarrow as pa


class DuckdbDatabase:
    """One DuckDB instance; each thread has a cursor of its own. Never a database file.

    It may read what lies in `store` only; what does not fit in memory spills to `spill`, or `store/.spill`.
    """

    def __init__(
        self,
        store: Path,
        threads: int | None = None,
        memory_limit: str | None = None,
        spill: Path | None = None,
    ) -> None:
        self._store = store
        self._spill = spill or store / ".spill"
        self._settings: dict[str, Any] = {"threads": threads, "memory_limit": memory_limit}
        self._connection: Any = None
        self._views: set[str] = set()
        self._queries = CompiledQueries(Dialect.DUCKDB)
        self._interrupter = Interrupter()
        self._lock = threading.RLock()
        self._local = threading.local()

    @property
    def dialect(self) -> Dialect:
        """What it speaks."""
        return Dialect.DUCKDB

    def attach(self, dataset: Dataset) -> None:
        """Make a snapshot's file readable by its `view_name`, for all threads."""
        name = view_name(dataset)
        with self._lock:
            if name not in self._views:
                file = str(data_file(self._store, dataset))
                quoted_name, quoted_file = name.replace('"', '""'), file.replace("'", "''")
                self._open().con.execute(
                    f"CREATE OR REPLACE VIEW \"{quoted_name}\" AS SELECT * FROM read_parquet('{quoted_file}')"  # noqa: S608
                )
                self._views.add(name)

    def compiled(self, key: Hashable, build: Callable[[], Any]) -> str:
        """SQL of an Ibis expression; built and compiled once for a key."""
        return self._queries.compiled(key, build)

    def run(self, sql: str, tables: Mapping[str, "pa.Table"] | None = None) -> "pa.Table":
        """The rows of a query; `tables` can be named in it. Raises ComputationFailed."""
        import duckdb

        cursor = self._cursor()
        with self._interrupter.over(cursor.interrupt) as interrupted:
            for name, table in (tables or {}).items():
                cursor.register(name, table)
            try:
                return cursor.execute(sql).to_arrow_table()
            except duckdb.Error as error:
                # A cursor with a broken result refuses all that follows.
                self._local.cursor = None
                if interrupted():
                    raise ComputationInterrupted() from None
                raise ComputationFailed(f"the engine's query failed: {type(error).__name__}") from None
            finally:
                for name in tables or {}:
                    cursor.unregister(name)

    def close(self) -> None:
        """Ends the instance and all its cursors."""
        with self._lock:
            if self._connection is not None:
                self._connection.disconnect()
            self._connection = None
            self._views.clear()
            self._local = threading.local()

    def _open(self) -> Any:
        with self._lock:
            if self._connection is None:
                import ibis

                # sql() would spare a copy of the rows but bind each query twice; the rows are aggregates.
                warnings.filterwarnings(
                    "ignore", message="Arrow output on a DB-API result", category=UserWarning
                )
                self._spill.mkdir(mode=0o700, parents=True, exist_ok=True)
                connection = ibis.duckdb.connect()
                wanted = {
                    **self._settings,
                    "temp_directory": str(self._spill),
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                    "parquet_metadata_cache": True,
                    "python_enable_replacements": False,
                    "allowed_directories": [str(self._store)],
                    "enable_external_access": False,
                }
                for name, value in wanted.items():
                    if value is not None:
                        connection.con.execute(f"SET {name} = ?", [value])
                self._connection = connection
            return self._connection

    def _cursor(self) -> Any:
        cursor = getattr(self._local, "cursor", None)
        if cursor is None:
            with self._lock:
                cursor = self._local.cursor = self._open().con.cursor()
        return cursor
