"""Where models are fitted and statistics computed: processes of their own, within time and memory."""

import resource
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TimedOut
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from sdcgate.facility.errors import TimeOver, Unavailable
from sdcgate.facility.fair_places import FairPlaces

T = TypeVar("T")

OOM_SCORE = Path("/proc/self/oom_score_adj")
"""How readily the kernel ends this process; proc(5). Linux only."""
TOO_LONG = (
    "A model or statistic may take {seconds:g} seconds, waiting included; nothing was decided. Ask for less, "
    "or come again when less is asked at once."
)
ENDED = "The computation was ended from outside; nothing was decided. Try again."
LEAST_SECONDS = 0.001
"""What is left to a function whose time ends as it begins."""


class FitFailed(RuntimeError):
    """A fit, or a statistic, ended with an error that nobody foresaw."""


@dataclass(frozen=True, slots=True)
class Failed:
    """What a worker tells of an exception: its name. An exception itself may not survive the way."""

    error: str


@dataclass(frozen=True, slots=True)
class FittingLimits:
    """What fits, and statistics, may take of a machine."""

    workers: int = 2
    """How many run at the same time, each in a process of its own."""
    seconds: float = 60.0
    """No one takes longer, however much time its caller has."""
    memory_bytes: int = 4 << 30
    """Address space of each."""
    calls: int = 4
    """Models of all researchers that are answered at once: each takes a thread of the house meanwhile."""


def nothing() -> None:
    """What a worker does before its first function where it need not do anything."""


class FittingRoom:
    """Runs functions in worker processes, each within a time and a memory limit; started when first needed.

    A worker that exceeds its time is killed with whatever it is doing, and another takes its place; so does
    one that exceeds its memory or dies. Nothing else is harmed by that. Whose functions wait for which:
    `FairPlaces`.
    """

    def __init__(self, limits: FittingLimits | None = None, prepare: Callable[[], None] = nothing) -> None:
        """`prepare` loads in each worker what its functions need."""
        self.limits = limits or FittingLimits()
        """Workers, time and memory."""
        self.asked = 0
        """Fits that run or wait for a worker."""
        self._workers = [_Worker(self.limits.memory_bytes, prepare) for _ in range(self.limits.workers)]
        self._places = FairPlaces(self._workers)
        self._lock = threading.Lock()

    @property
    def workers(self) -> int:
        """Fits that run at the same time."""
        return self.limits.workers

    def run(self, function: Callable[..., T], *given: Any, seconds: float) -> T:
        """What a function of a module returns, in so many seconds or those of the limits; waiting counts.

        That a worker begins counts as the caller's time only: that it has to is nobody's question.

        Raises:
            TimeOver: it was not ready in time.
            Unavailable: its worker ran out of memory or died.
            FitFailed: the function raised something.
        """
        if seconds <= 0:
            raise TimeOver
        try:
            return self._ran(function, *given, seconds=min(seconds, self.limits.seconds), patience=seconds)
        except TimeOver:
            if seconds <= self.limits.seconds:
                raise
            # Its caller had more, and more would not have helped.
            raise TimeOver(TOO_LONG.format(seconds=self.limits.seconds)) from None

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.close()

    def _ran(self, function: Callable[..., T], *given: Any, seconds: float, patience: float) -> T:
        began = monotonic()
        with self._counted(), self._places.taken(seconds) as worker:
            waited = monotonic() - began
            worker.wait_until_ready(patience - waited)
            left = min(seconds - waited, patience - (monotonic() - began))
            return worker.ran(function, *given, seconds=max(left, LEAST_SECONDS))

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self.asked += 1
        try:
            yield
        finally:
            with self._lock:
                self.asked -= 1


class _Worker:
    """A process, and another one in its place once it is ended."""

    def __init__(self, memory_bytes: int, prepare: Callable[[], None]) -> None:
        self._memory = memory_bytes
        self._prepare = prepare
        self._pool: ProcessPool | None = None
        self._ready: Future[Any] | None = None
        self._closed = False
        self._lock = threading.Lock()

    def wait_until_ready(self, seconds: float) -> None:
        """Wait until a function could begin; raises as `FittingRoom.run`.

        A worker for whom nobody waits any longer goes on beginning, for whoever comes next.
        """
        self._started()
        if self._ready is None or self._ready.done():
            return
        try:
            self._ready.result(timeout=max(seconds, LEAST_SECONDS))
        except TimedOut:
            raise TimeOver from None
        except (ProcessExpired, BrokenProcessPool):
            raise Unavailable(ENDED) from None

    def ran(self, function: Callable[..., T], *given: Any, seconds: float) -> T:
        """What a function returns; raises as `FittingRoom.run`."""
        future = self._started().schedule(_returned, args=(function, *given), timeout=seconds)
        try:
            # A little longer than the worker has: its end is told by whoever ends it.
            found: T | Failed = future.result(timeout=seconds + 1.0)
        except TimedOut:
            future.cancel()  # type: ignore[no-untyped-call]
            self._begin_anew()
            raise TimeOver from None
        except (ProcessExpired, BrokenProcessPool):
            self._begin_anew()
            raise Unavailable(ENDED) from None
        if not isinstance(found, Failed):
            return found
        if found.error == MemoryError.__name__:
            raise Unavailable("This needs more memory than one question may take; ask for less.")
        # Its own words may hold values.
        raise FitFailed(f"a computation ended with {found.error}")

    def close(self) -> None:
        """End it for good."""
        with self._lock:
            self._closed = True
            self._end()

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.stop()  # type: ignore[no-untyped-call]
            self._pool.join()
            self._pool = None

    def _started(self) -> ProcessPool:
        with self._lock:
            if self._closed:
                raise Unavailable("The facility is ending; try again in a moment.")
            if self._pool is not None and not self._pool.active:
                # A worker that cannot even take in what it is given ends the pool, which does not recover.
                self._end()
            if self._pool is None:
                # Not forked from here: the house has threads, and its workers must not have its memory. A
                # pool for each worker, so that one that ends takes no other with it.
                self._pool = ProcessPool(
                    1,
                    initializer=_limited,
                    initargs=[self._memory],
                    context=get_context("spawn"),
                )
                self._ready = self._pool.schedule(_returned, args=(self._prepare,))
            return self._pool

    def _begin_anew(self) -> None:
        """Let the process that takes the place of an ended one load what it needs, before it is asked."""
        with self._lock:
            if not self._closed and self._pool is not None and self._pool.active:
                self._ready = self._pool.schedule(_returned, args=(self._prepare,))


def _returned(function: Callable[..., T], *given: Any) -> T | Failed:
    try:
        return function(*given)
    except MemoryError:
        # numpy's own kind of it has another name.
        return Failed(MemoryError.__name__)
    except Exception as error:
        return Failed(type(error).__name__)


def _limited(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    # Where the machine itself runs out of memory, the kernel is to end a worker and not the facility.
    with suppress(OSError):
        OOM_SCORE.write_text("1000")
