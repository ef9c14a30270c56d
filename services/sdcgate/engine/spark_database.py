"""Spark as the engine's database: workers read the snapshots' Parquet files, cells come back as Arrow."""

import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
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

CONNECT = "sc://"
_SETTINGS = {
    # A sum beyond its type is an error, never a wrong figure.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
_OF_THE_CONTEXT = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.executor.syncLogLevel.enabled": "true",
}
"""What a Spark Connect server has settled before we come. Logs and the page on jobs may hold values."""


class SparkDatabase:
    """Spark by the address of its master or Spark Connect server; each thread has a session of its own.

    The workers must see the files under `store` at the same path as the facility.
    """

    def __init__(self, url: str, store: Path) -> None:
        self._url = url
        self._store = store
        self._queries = CompiledQueries(Dialect.SPARK)
        self._interrupter = Interrupter()
        self._first: Any = None
        self._local = threading.local()
        self._lock = threading.Lock()

    @property
    def dialect(self) -> Dialect:
        """What it speaks."""
        return Dialect.SPARK

    def attach(self, dataset: Dataset) -> None:
        """Make a snapshot's file readable by its `view_name`, for the calling thread."""
        session, name = self._session(), view_name(dataset)
        if name not in self._local.views:
            try:
                records = session.read.parquet(str(data_file(self._store, dataset)))
                records.withColumns({"unit_key": _signed("unit_key")}).createOrReplaceTempView(f"`{name}`")
            except Exception as error:
                raise self._failed(error) from None
            self._local.views.add(name)

    def compiled(self, key: Hashable, build: Callable[[], Any]) -> str:
        """SQL of an Ibis expression; built and compiled once for a key."""
        import ibis

        # Known by name, the backend has its options, without which it writes no double.
        _ = ibis.pyspark
        return self._queries.compiled(key, build)

    def run(self, sql: str, tables: Mapping[str, "pa.Table"] | None = None) -> "pa.Table":
        """The rows of a query; `tables`, of 64-bit numbers, can be named in it. Raises ComputationFailed."""
        session = self._session()
        with self._interrupter.over(lambda: _interrupt(session)) as interrupted:
            try:
                for name, table in (tables or {}).items():
                    session.createDataFrame(table).createOrReplaceTempView(name)
                rows: pa.Table = session.sql(sql).toArrow()
                for name in tables or {}:
                    session.catalog.dropTempView(name)
            except Exception as error:
                failed = self._failed(error)
                raise (ComputationInterrupted() if interrupted() else failed) from None
        if interrupted():
            # What is still on its way to end it must not end the next one.
            self._local.session = None
        return rows

    def close(self) -> None:
        """End the sessions and what runs them."""
        with self._lock:
            if self._first is not None:
                self._first.stop()
            self._first = None
            self._local = threading.local()

    def _session(self) -> Any:
        session = getattr(self._local, "session", None)
        if session is None:
            try:
                session = self._patient(self._started().newSession())
                for name, value in _SETTINGS.items():
                    session.conf.set(name, value)
            except Exception as error:
                raise self._failed(error) from None
            self._local.session, self._local.views = session, set()
        return session

    def _started(self) -> Any:
        with self._lock:
            if self._first is None:
                from pyspark.sql import SparkSession

                # Its lines repeat what failed, with the values that it failed on.
                logging.getLogger("SQLQueryContextLogger").disabled = True
                builder = SparkSession.builder
                if self._url.startswith(CONNECT):
                    self._first = self._patient(builder.remote(self._url).create())
                else:
                    builder = builder.appName("sdcgate")
                    for name, value in _OF_THE_CONTEXT.items():
                        builder = builder.config(name, value)
                    self._first = builder.master(self._url).getOrCreate()
            return self._first

    def _patient(self, session: Any) -> Any:
        """The session, which gives a Spark Connect server up after some seconds and not after ten minutes."""
        if self._url.startswith(CONNECT):
            from pyspark.sql.connect.client.retries import DefaultPolicy

            session.client.set_retry_policies([DefaultPolicy(max_retries=4, max_backoff=2000)])
        return session

    def _failed(self, error: Exception) -> ComputationFailed:
        """What Spark, its JVM or the network said has no common type; a new session is opened next time."""
        self._local.session = None
        return ComputationFailed(f"the engine's query failed: {type(error).__name__}")


def _interrupt(session: Any) -> None:
    """End what the session runs; in a thread of its own, as it is a call that waits for Spark's driver."""
    threading.Thread(target=_interrupted, args=(session,), name="engine-cancel", daemon=True).start()


def _interrupted(session: Any) -> None:
    # A driver that does not answer this has ended the query in any case, or is waited for like before.
    with suppress(Exception):
        session.interruptAll()


def _signed(key: str) -> Any:
    """A 64-bit key, which Spark reads as a decimal number, as the signed integer of the same bits."""
    from pyspark.sql import functions

    return functions.expr(f"CAST(IF({key} >= {2**63}BD, {key} - {2**64}BD, {key}) AS BIGINT)")
