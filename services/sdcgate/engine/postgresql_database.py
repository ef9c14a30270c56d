"""PostgreSQL as the engine's database: rows come and go as Arrow, over a connection for each thread."""

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from sdcgate.engine.database import CompiledQueries, ComputationFailed
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.dialects import Dialect

if TYPE_CHECKING:
    import pyarrow as pa

_WIDE_DIGITS = 38


class PostgresqlDatabase:
    """A PostgreSQL by its libpq address; a connection that broke is opened again."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._queries = CompiledQueries(Dialect.POSTGRESQL)
        self._local = threading.local()
        self._open: list[Any] = []
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
        again = getattr(self._local, "connection", None) is not None
        while True:
            try:
                return _answer(self._connection(), asked, arguments)
            except _errors() as error:
                self._drop()
                if not again:
                    raise _failed(error) from None
                # The server may have been started again since this thread asked last; nothing was changed.
                again = False

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A cursor whose changes are all made at the end, or none. Raises ComputationFailed."""
        try:
            with _connect(self._url, autocommit=False) as connection, connection.cursor() as cursor:
                yield cursor
                connection.commit()
        except _errors() as error:
            raise _failed(error) from None

    def close(self) -> None:
        """End all connections."""
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()
            self._local = threading.local()

    def _connection(self) -> Any:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = _connect(self._url, autocommit=True)
            with self._lock:
                self._open.append(connection)
        return connection

    def _drop(self) -> None:
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            with self._lock:
                self._open.remove(connection)
            connection.close()


def _connect(url: str, autocommit: bool) -> Any:
    from adbc_driver_postgresql import dbapi

    return dbapi.connect(url, autocommit=autocommit)


def _errors() -> tuple[type[Exception], ...]:
    """What the driver raises, and Arrow where a figure has more digits than its numbers hold."""
    from adbc_driver_manager import Error
    from pyarrow import ArrowException

    return Error, ArrowException


def _failed(error: Exception) -> ComputationFailed:
    return ComputationFailed(f"the engine's query failed: {type(error).__name__}")


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


def _answer(connection: Any, sql: str, arguments: "pa.RecordBatch | None") -> "pa.Table":
    import pyarrow as pa

    with connection.cursor() as cursor:
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
