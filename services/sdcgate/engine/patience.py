"""How long whoever asked waits for what a database computes, and what ends once nobody does.

Who answers a call says once how much time is left; databases look at it wherever they compute.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from sdcgate.engine.database import ComputationInterrupted

LOOK_SECONDS = 0.1
"""How often is looked whether somebody still waits."""
IDLE_LOOKS = 50


def _for_ever() -> float:
    return math.inf


_left: ContextVar[Callable[[], float]] = ContextVar("sdcgate_engine_left", default=_for_ever)


def seconds_left() -> float:
    """Seconds for which whoever asked still waits; infinite where nobody said."""
    return _left.get()()


@contextmanager
def waiting(left: Callable[[], float]) -> Iterator[None]:
    """What is computed meanwhile is for somebody who waits for `left()` more seconds."""
    token = _left.set(left)
    try:
        yield
    finally:
        _left.reset(token)


@contextmanager
def to_the_end() -> Iterator[None]:
    """What is computed meanwhile is not given up: later callers need it, too, and would begin it again."""
    with waiting(_for_ever):
        yield


def still_waited_for() -> None:
    """Raises ComputationInterrupted where nobody waits any more."""
    if seconds_left() <= 0:
        raise ComputationInterrupted()


class Interrupter:
    """Interrupts what runs once nobody waits for it: one thread looks, as long as anything runs."""

    def __init__(self) -> None:
        self._running: dict[int, _Running] = {}
        self._number = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._sleeps = False

    @contextmanager
    def over(self, interrupt: Callable[[], None]) -> Iterator[Callable[[], bool]]:
        """Calls `interrupt`, once, when the time of whoever asked is over; the value tells whether it did.

        It must not block, and is not called after the block has ended. Raises ComputationInterrupted where
        the time is over now.
        """
        still_waited_for()
        left = _left.get()
        if left is _for_ever:
            yield lambda: False
            return
        running = _Running(left, interrupt)
        with self._changed:
            number = self._number = self._number + 1
            self._running[number] = running
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="engine-time", daemon=True)
                self._thread.start()
            elif self._sleeps:
                self._changed.notify()
        try:
            yield lambda: running.interrupted
        finally:
            with self._changed:
                del self._running[number]

    def _look(self) -> None:
        idle = 0
        with self._changed:
            while True:
                # To be woken costs queries more than a look now and then: it sleeps only after a while.
                self._sleeps = idle > IDLE_LOOKS
                self._changed.wait(None if self._sleeps else LOOK_SECONDS)
                idle = 0 if self._running else idle + 1
                self._interrupt_what_nobody_waits_for()

    def _interrupt_what_nobody_waits_for(self) -> None:
        # A function of its own: no variable of a thread that sleeps holds on to what has run.
        for running in self._running.values():
            running.look()


class _Running:
    """Something that runs for somebody."""

    def __init__(self, left: Callable[[], float], interrupt: Callable[[], None]) -> None:
        self._left = left
        self._interrupt = interrupt
        self.interrupted = False

    def look(self) -> None:
        """Interrupt it where nobody waits for it."""
        if not self.interrupted and self._left() <= 0:
            self.interrupted = True
            # Whatever it says: who looks must not end by it.
            with suppress(Exception):
                self._interrupt()
