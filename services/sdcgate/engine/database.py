"""What the engine asks of a database: SQL of Ibis expressions, compiled once, and its rows as Arrow."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.dialects import Dialect

if TYPE_CHECKING:
    import pyarrow as pa

_COMPILED = 1024


class ComputationFailed(RuntimeError):
    """A query could not be run. The database's own words are left out: they may hold values."""


class ComputationInterrupted(ComputationFailed):
    """The time of whoever asked was over, or he had gone, before the query ended."""

    def __init__(self) -> None:
        super().__init__("The time for this query is over; nothing was decided. Try again with more.")


class Database(Protocol):
    """A database that many threads may use at once."""

    @property
    def dialect(self) -> Dialect:
        """What it speaks."""

    def attach(self, dataset: Dataset) -> None:
        """Make a snapshot's records readable by their `view_name`, for the calling thread."""

    def compiled(self, key: Hashable, build: Callable[[], Any]) -> str:
        """SQL of an Ibis expression; built and compiled once for a key."""

    def run(self, sql: str, tables: Mapping[str, "pa.Table"] | None = None) -> "pa.Table":
        """The rows of a query; `tables`, of 64-bit numbers, can be named in it.

        Raises:
            ComputationFailed: the query could not be run.
            ComputationInterrupted: nobody waits for it any more (`patience.waiting`); the next one runs.
        """

    def close(self) -> None:
        """End all connections."""


class CompiledQueries:
    """The SQL of the expressions that were asked for last, in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._known: OrderedDict[Hashable, str] = OrderedDict()
        self._lock = threading.Lock()

    def compiled(self, key: Hashable, build: Callable[[], Any]) -> str:
        """SQL of an Ibis expression; built and compiled once for a key."""
        with self._lock:
            sql = self._known.get(key)
            if sql is None:
                import ibis

                sql = self._known[key] = str(ibis.to_sql(build(), dialect=self._dialect.value))
                if len(self._known) > _COMPILED:
                    self._known.popitem(last=False)
            else:
                self._known.move_to_end(key)
            return sql
