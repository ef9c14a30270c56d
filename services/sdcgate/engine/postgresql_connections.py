"""Connections to PostgreSQL: given up where the server is silent, and left alone where it is frozen.

A server that is frozen on a machine that answers keeps a connection for as long as it likes, and nothing that
is sent to it ends that. So a query for somebody who waits for some time only runs in a thread of its own, and
the thread of the caller leaves it there when his time is over.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any
from urllib.parse import parse_qsl, urlencode

from sdcgate.engine.database import ComputationFailed, ComputationInterrupted
from sdcgate.engine.patience import LOOK_SECONDS, seconds_left, still_waited_for

SILENCE = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""Seconds, and milliseconds at last, after which a server that is silent on the network is gone."""
LONGEST_SECONDS = 1800.0
"""How long a statement may take that serves all later callers, such as the hash of a snapshot."""
UNSETTLED_SECONDS = 1.0
"""A time limit of the server's that is later than ours by less than this is left as it is."""
CANCEL_SECONDS = 0.1
"""How long a query that was cancelled is waited for before it is left alone."""
MOST_LEFT = 32
"""Queries that nobody waits for any more and that have not ended: with more of them no other one begins."""


def patient(url: str) -> str:
    """The address with limits for silence; what it says itself goes before."""
    query = url.partition("?")[2]
    said = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
    added = urlencode({name: value for name, value in SILENCE.items() if name not in said})
    return f"{url}{'&' if '?' in url else '?'}{added}"


class Connection:
    """A connection, and the limit that it has set for statements."""

    def __init__(self, url: str, autocommit: bool = True) -> None:
        from adbc_driver_postgresql import dbapi

        self.raw: Any = dbapi.connect(patient(url), autocommit=autocommit)
        with self.raw.cursor() as cursor:
            cursor.execute("SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'")
            milliseconds = cursor.fetchone()[0]
        self._longest = milliseconds / 1000.0 if milliseconds else LONGEST_SECONDS
        """What the operator says, in the address or of the role, goes before."""
        self._limit = math.inf

    def limit(self, cursor: Any) -> None:
        """Let the server end the next statement by itself when nobody waits for it any more."""
        wanted = min(seconds_left(), self._longest)
        if not wanted <= self._limit <= wanted + UNSETTLED_SECONDS:
            cursor.execute(f"SET statement_timeout = {max(1, math.ceil(wanted * 1000))}")
            self._limit = wanted

    def close(self) -> None:
        """End it."""
        self.raw.close()


class Errand:
    """A query on its way, which whoever waits for it may leave."""

    def __init__(self) -> None:
        self.is_left = False
        """Whether nobody waits any more: its connection is cancelled, and must not be used again."""
        self.ended = threading.Event()
        self._connection: Connection | None = None
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: Exception | None = None

    @contextmanager
    def using(self, connection: Connection) -> Iterator[None]:
        """What runs meanwhile on a connection can be cancelled; afterwards nothing touches it any more."""
        with self._lock:
            if self.is_left:
                raise ComputationInterrupted()
            self._connection = connection
        try:
            yield
        finally:
            with self._lock:
                self._connection = None
            if self.is_left:
                self._cancelled.wait()

    def go(self, work: Callable[["Errand"], Any]) -> None:
        """Do the work and keep what came of it."""
        try:
            self._value = work(self)
        except Exception as error:
            self._error = error

    def leave(self) -> None:
        """Wait no longer, and have cancelled what runs."""
        with self._lock:
            self.is_left = True
            connection = self._connection
            if connection is None:
                self._cancelled.set()
                return
        # A server that is frozen takes no request to cancel either: nobody waits for that.
        threading.Thread(target=self._cancel, args=(connection,), name="engine-cancel", daemon=True).start()

    def result(self) -> Any:
        """The value, once it has ended; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._value

    def _cancel(self, connection: Connection) -> None:
        with suppress(Exception):
            connection.raw.adbc_cancel()
        self._cancelled.set()


class Errands:
    """Sends queries off, and comes back when they have ended or nobody waits for them any more."""

    def __init__(self) -> None:
        self._alone: set[Errand] = set()
        self._lock = threading.Lock()

    def run(self, work: Callable[[Errand], Any]) -> Any:
        """What the work returns.

        Raises ComputationInterrupted where the time of whoever asked is over before, ComputationFailed where
        too many that were left alone have not ended, and what the work raises.
        """
        still_waited_for()
        errand = Errand()
        if seconds_left() == math.inf:
            return work(errand)
        if len(self._alone) >= MOST_LEFT:
            raise ComputationFailed("the engine's database does not answer")
        go = threading.Thread(
            target=copy_context().run, args=(self._go, errand, work), name="engine-query", daemon=True
        )
        go.start()
        while not errand.ended.wait(min(max(seconds_left(), 0.0), LOOK_SECONDS)):
            if seconds_left() <= 0:
                errand.leave()
                errand.ended.wait(CANCEL_SECONDS)
                with self._lock:
                    if not errand.ended.is_set():
                        self._alone.add(errand)
                raise ComputationInterrupted()
        return errand.result()

    def _go(self, errand: Errand, work: Callable[[Errand], Any]) -> None:
        errand.go(work)
        with self._lock:
            errand.ended.set()
            self._alone.discard(errand)
