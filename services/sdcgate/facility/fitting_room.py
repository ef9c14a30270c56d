"""Where models are fitted: processes of their own, so that a fit takes nobody else's memory or time."""

import resource
import threading
from collections.abc import Callable
from concurrent.futures import TimeoutError as TimedOut
from multiprocessing import get_context
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from sdcgate.facility.errors import TimeOver, Unavailable

T = TypeVar("T")


class FittingRoom:
    """Runs functions in worker processes, each within a time and a memory limit; started when first needed.

    A worker that exceeds its time is killed with whatever it is doing, and another takes its place.
    """

    def __init__(self, workers: int = 1, memory_bytes: int = 4 << 30) -> None:
        self._workers = workers
        self._memory = memory_bytes
        self._pool: ProcessPool | None = None
        self._lock = threading.Lock()

    def run(self, function: Callable[..., T], *given: Any, seconds: float) -> T:
        """What a function of a module returns.

        Raises:
            TimeOver: it was not ready in time.
            Unavailable: its worker ran out of memory or died.
            Exception: what the function itself raises.
        """
        if seconds <= 0:
            raise TimeOver()
        future = self._started().schedule(function, args=given, timeout=seconds)
        try:
            # A little longer than the worker has: its end is told by whoever ends it.
            found: T = future.result(timeout=seconds + 1.0)
        except TimedOut:
            future.cancel()
            raise TimeOver() from None
        except MemoryError:
            raise Unavailable("The model needs more memory than a fit may take; ask a smaller one.") from None
        except ProcessExpired:
            raise Unavailable("The fit was ended from outside; nothing was decided. Try again.") from None
        return found

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            if self._pool is not None:
                self._pool.stop()
                self._pool.join()
                self._pool = None

    def _started(self) -> ProcessPool:
        with self._lock:
            if self._pool is None:
                # Not forked from here: the house has threads, and its workers must not have its memory.
                self._pool = ProcessPool(
                    self._workers,
                    initializer=_limited,
                    initargs=[self._memory],
                    context=get_context("spawn"),
                )
            return self._pool


def _limited(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
