"""PostgreSQL as the engine's database: rows come and go as Arrow, over as many connections as are in use."""

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from sdcgate.engine.database import CompiledQueries, ComputationFailed, ComputationInterrupted
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.dialects import Dialect
from sdcgate.engine.patience import seconds_left, still_waited_for, to_the_end
from sdcgate.engine.postgresql_connections import UNSETTLED_SECONDS, Connection, Errand, Errands

if TYPE_CHECKING:
    import pyarrow as pa

_WIDE_DIGITS = 38
_QUERY_CANCELED = "57014"


class PostgresqlDatabase:
    """A PostgreSQL by its libpq address; a connection that broke is opened again.

    Queries end with the time of whoever asked (`patience.waiting`), also where the server is frozen; what it
    is told in a transaction does not.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._queries = CompiledQueries(Dialect.POSTGRESQL)
        self._errands = Errands()
        self._idle: list[Connection] = []
        self._closed = False
        self._lock = threading.Lock()

    @property
    def dialect(self) -> Dialect:
        """What it speaks."""
        return Dialect.POSTGRESQL

    def attach(self, dataset: Dataset) -> None:
        """Nothing is to be done: the table of a snapshot has its `view_name`."""

    def compiled(self, key: Hashable, build: Callable[[], Any]) -> str:
        """SQL of an Ibis expression; built and compiled once for a key."""
        return self._queries.compiled(key, build)

    def run(self, sql: str, tables: Mapping[str, "pa.Table"] | None = None) -> "pa.Table":
        """The rows of a query; `tables`, of 64-bit numbers, can be named in it. Raises ComputationFailed."""
        given = dict(tables or {})
        asked, arguments = _with_tables(sql, given), _as_arguments(given)
        rows: pa.Table = self._errands.run(lambda errand: self._computed(errand, asked, arguments))
        return rows

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A cursor whose changes are all made at the end, or none. Raises ComputationFailed."""
        try:
            with (
                to_the_end(),
                closing(Connection(self._url, autocommit=False)) as connection,
                connection.raw.cursor() as cursor,
            ):
                connection.limit(cursor)
                yield cursor
                connection.raw.commit()
        except _errors() as error:
            raise _failed(error) from None

    def close(self) -> None:
        """End the connections that nobody uses; the others end with what they compute."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _computed(self, errand: Errand, sql: str, arguments: "pa.RecordBatch | None") -> "pa.Table":
        try:
            if (idle := self._idle_one()) is not None:
                try:
                    return self._asked(idle, errand, sql, arguments)
                except _errors() as error:
                    if _was_cancelled(error):
                        raise
                # The server may have been started again since it was used last; nothing was changed.
                still_waited_for()
            return self._asked(Connection(self._url), errand, sql, arguments)
        except _errors() as error:
            raise _failed(error) from None

    def _asked(
        self, connection: Connection, errand: Errand, sql: str, arguments: "pa.RecordBatch | None"
    ) -> "pa.Table":
        try:
            with errand.using(connection):
                rows = _answer(connection, sql, arguments)
        except BaseException:
            connection.close()
            raise
        self._give_back(connection, errand)
        return rows

    def _idle_one(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: Connection, errand: Errand) -> None:
        with self._lock:
            if not (self._closed or errand.is_left):
                self._idle.append(connection)
                return
        connection.close()


def _errors() -> tuple[type[Exception], ...]:
    """What the driver raises, and Arrow where a figure has more digits than its numbers hold."""
    from adbc_driver_manager import Error
    from pyarrow import ArrowException

    return Error, ArrowException


def _was_cancelled(error: Exception) -> bool:
    return getattr(error, "sqlstate", None) == _QUERY_CANCELED


def _failed(error: Exception) -> ComputationFailed:
    if not _was_cancelled(error):
        return ComputationFailed(f"the engine's query failed: {type(error).__name__}")
    # By us or by the server's limit: the time is over, or the operator allows no more.
    if seconds_left() <= UNSETTLED_SECONDS:
        return ComputationInterrupted()
    return ComputationFailed("the engine's query took longer than its database allows")


def _with_tables(sql: str, tables: Mapping[str, "pa.Table"]) -> str:
    """The query with each table made of one array a column, which are its arguments."""
    if not tables:
        return sql
    made, number = [], count(1)
    for name, table in tables.items():
        arrays = ", ".join(f"${next(number)}::{_array_of(column)}" for column in table.columns)
        columns = ", ".join(f'"{column}"' for column in table.column_names)
        made.append(f'"{name}" AS (SELECT * FROM unnest({arrays}) AS given ({columns}))')  # noqa: S608
    return f"WITH {', '.join(made)} SELECT * FROM ({sql}) AS answer"  # noqa: S608


def _array_of(column: "pa.ChunkedArray") -> str:
    import pyarrow as pa

    return "float8[]" if pa.types.is_floating(column.type) else "bigint[]"


def _as_arguments(tables: Mapping[str, "pa.Table"]) -> "pa.RecordBatch | None":
    import pyarrow as pa

    columns = [column.combine_chunks() for table in tables.values() for column in table.columns]
    if not columns:
        return None
    arrays = [pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column) for column in columns]
    return pa.record_batch(arrays, names=[f"argument{place}" for place in range(len(arrays))])


def _answer(connection: Connection, sql: str, arguments: "pa.RecordBatch | None") -> "pa.Table":
    import pyarrow as pa

    with connection.raw.cursor() as cursor:
        connection.limit(cursor)
        cursor.execute(sql, arguments)
        rows = cursor.fetch_arrow_table()
    return pa.table(
        {name: _plain(column) for name, column in zip(rows.column_names, rows.columns, strict=True)}
    )


def _plain(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Wide integers, and lists of them, which come as texts, as numbers."""
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        return pa.chunked_array([_numbers(chunk) for chunk in column.chunks], type=_wide())
    if pa.types.is_list(column.type) and isinstance(column.type.value_type, pa.BaseExtensionType):
        lists = [
            pa.ListArray.from_arrays(chunk.offsets, _numbers(chunk.values), mask=chunk.is_null())
            for chunk in column.chunks
        ]
        return pa.chunked_array(lists, type=pa.list_(_wide()))
    return column


def _wide() -> "pa.DataType":
    import pyarrow as pa

    return pa.decimal128(_WIDE_DIGITS, 0)


def _numbers(texts: "pa.ExtensionArray") -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    digits = pc.max(pc.utf8_length(pc.utf8_ltrim(texts.storage, "-"))).as_py()
    # Arrow converts what is too long to something, without a word.
    if digits is not None and digits > _WIDE_DIGITS:
        raise pa.ArrowInvalid("a sum has too many digits")
    return texts.storage.cast(_wide())
